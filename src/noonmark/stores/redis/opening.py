"""Opening a namespace: look at the server first, refuse what would lose jobs, make or check the namespace.

Rule of the file: nothing is written before every reason to refuse was looked for.
"""

from __future__ import annotations

import logging
import uuid

from noonmark.ports.clock import Clock
from noonmark.ports.doctor import raise_if_refused
from noonmark.stores.redis import errors, health
from noonmark.stores.redis.address import parse
from noonmark.stores.redis.connection import Link
from noonmark.stores.redis.store import RedisStore

SHAPE = 1
"""Version of the keys' layout; a namespace of a newer one is refused, never guessed at."""
_LOG = logging.getLogger("noonmark.stores.redis")


def open_redis(url: str, *, clock: Clock | None = None) -> RedisStore:
    """Open the namespace that a URL names.

    Args:
        url: ``redis://user:password@host:6379/0?namespace=noonmark``, also ``rediss://``, ``valkey://``, ``valkeys://``,
            ``redis+sentinel://host:26379,host:26379/service``, ``redis+cluster://host:7000,host:7001/``.
        clock: replaces the server's time, for tests.

    Raises:
        StoreUrlError: the URL cannot be read.
        StoreUnreachable: nobody answers there.
        StoreUnusable: the server would lose jobs, or a person must act first; the message says how.
    """
    address = parse(url)
    link = Link(address, at_once=2)
    try:
        with errors.translating(link.url):
            server = health.look(link)
        found = health.findings(server, address)
        raise_if_refused(link.url, found)
        _make_or_check(link, address.prefix)
        for finding in found:
            if finding.level == "warn":  # a worker's log says it at once; whoever has no log asks the doctor
                _LOG.log(
                    logging.WARNING if _LOG.hasHandlers() else logging.INFO,
                    "%s: %s %s",
                    link.url,
                    finding.sentence,
                    finding.remedy,
                )
    finally:
        link.close()
    sharded = server.is_cluster and server.version >= health.KNOWS_SHARDED
    return RedisStore(
        address,
        clock=clock,
        promises=health.promises(server, address),
        sharded=sharded,
        wait=health.wait_for(server, address),
    )


def _make_or_check(link: Link, prefix: str) -> None:
    """Give a new namespace its name and shape, once, whoever comes first.

    Raises:
        StoreUnusable: it was written by a newer noonmark.
    """
    meta = f"{prefix}meta"
    replies = link.ask_all(
        [
            ("HSETNX", meta, "store_id", uuid.uuid4().hex),
            ("HSETNX", meta, "shape", SHAPE),
            ("HGET", meta, "shape"),
        ]
    )
    for reply in replies:
        if isinstance(reply, Exception):
            raise errors.translated(link.url, reply)
    shape = int(replies[-1])
    if shape > SHAPE:
        raise errors.unusable(
            link.url,
            f"its namespace was written by a newer noonmark (shape {shape}, this one knows {SHAPE})",
            "Upgrade noonmark on this machine, or name another namespace.",
        )
