"""Opening a namespace: look at the server first, refuse what would lose jobs, make or check the namespace.

Rule of the file: nothing is written before every reason to refuse was looked for, and nothing at all for who only looks.
"""

from __future__ import annotations

import logging
import uuid

from noonmark.ports.clock import Clock
from noonmark.ports.doctor import absent, raise_if_refused
from noonmark.ports.store import StoreUnreachable
from noonmark.stores.redis import durability, errors, health, spoken
from noonmark.stores.redis.address import Address, parse
from noonmark.stores.redis.connection import Link
from noonmark.stores.redis.server import look
from noonmark.stores.redis.store import RedisStore

SHAPE = 1
"""Version of the keys' layout; a namespace of a newer one is refused, never guessed at."""
_LOG = logging.getLogger("noonmark.stores.redis")


KNOWS_SHARDED = (7, 0)
LOOKED_AT_ONCE, LOOKS = 1_000, 30
"""Keys a round, and rounds, in which other namespaces are looked for when the one that was named is not there."""


def open_redis(url: str, *, clock: Clock | None = None, create: bool = True) -> RedisStore:
    """Open the namespace that a URL names.

    Args:
        url: ``redis://user:password@host:6379/0?namespace=noonmark``, also ``rediss://``, ``valkey://``, ``valkeys://``,
            ``redis+sentinel://host:26379,host:26379/service``, ``redis+cluster://host:7000,host:7001/``.
        clock: replaces the server's time, for tests.
        create: False = a namespace that is not there is told, not made.

    Raises:
        StoreUrlError: the URL cannot be read.
        StoreAbsent: there is no such namespace, and none was to be made.
        StoreUnreachable: nobody answers there.
        StoreUnusable: the server would lose jobs, or a person must act first; the message says how.
    """
    address = parse(url)
    link = Link(address, at_once=2)
    try:
        if address.tls:
            spoken.refuse_plain(address)
        try:
            with errors.translating(link.url):
                server = look(link, address)
        except StoreUnreachable as error:
            if not address.tls:
                spoken.refuse_tls(address, error)
            raise
        found = health.findings(server, address)
        if address.kind != "single" and durability.lacks_replicas(server, address):
            # Here somebody promotes replicas and brings others back: a failover may be under way, so it is waited for.
            raise errors.unreachable(
                link.url, f"only {server.in_step} of {address.replicas} replicas answer (durability=failover)"
            )
        raise_if_refused(link.url, [finding for finding in found if finding.code not in health.PASSING])
        if not create and link.ask("HGET", f"{address.prefix}meta", "store_id") is None:
            nothing = absent(link.url, "namespace", address.namespace, _namespaces(link, address))
            nothing.findings, nothing.promises = tuple(found), frozenset(durability.promises(server, address))
            raise nothing
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
    sharded = server.is_cluster and server.version >= KNOWS_SHARDED
    return RedisStore(
        address,
        clock=clock,
        promises=durability.promises(server, address),
        sharded=sharded,
        wait=durability.wait_for(server, address),
    )


def _namespaces(link: Link, address: Address) -> set[str]:
    """Return the names of namespaces on this server, found among a bounded number of its keys."""
    found: set[str] = set()
    cursor = "0"
    for _ in range(LOOKS):
        cursor, keys = link.ask("SCAN", cursor, "MATCH", "noonmark:{*}:meta", "COUNT", LOOKED_AT_ONCE)
        found |= {key.removeprefix("noonmark:{").removesuffix("}:meta") for key in keys}
        if str(cursor) == "0":
            break
    return found - {address.namespace}


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
