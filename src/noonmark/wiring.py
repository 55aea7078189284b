"""From a URL to a store: the one module that names concrete stores.

Rule of the file: a store is imported when it is asked for, so that nobody pays for one that is not used.
"""

from __future__ import annotations

import difflib
import importlib
import os
from importlib import metadata
from pathlib import Path
from urllib.parse import parse_qsl, unquote

from noonmark.ports.clock import Clock
from noonmark.ports.store import Store, StoreUrlError

DEFAULT_URL = "sqlite:///.noonmark/noonmark.db"
"""Where the store is when neither an argument nor NOONMARK_URL says so: a folder beside the work."""

_SERVERS = {
    "postgresql": ("noonmark.stores.postgres", "open_postgres", "postgres"),
    "postgres": ("noonmark.stores.postgres", "open_postgres", "postgres"),
    "redis": ("noonmark.stores.redis", "open_redis", "redis"),
    "rediss": ("noonmark.stores.redis", "open_redis", "redis"),
    "redis+sentinel": ("noonmark.stores.redis", "open_redis", "redis"),
    "redis+cluster": ("noonmark.stores.redis", "open_redis", "redis"),
    "valkey": ("noonmark.stores.redis", "open_redis", "redis"),
    "valkeys": ("noonmark.stores.redis", "open_redis", "redis"),
}
"""Scheme -> module, function of (url, clock=...), and the extra that installs its driver."""

ENTRY_POINTS = "noonmark.stores"
"""Where other distributions name their stores: the entry point's name is the scheme, its object such a function."""

_KNOWN = ("sqlite", "memory", *_SERVERS)
_SYNCHRONOUS = ("FULL", "NORMAL")


def store_url(url: str | None = None) -> str:
    """Return the URL in force: the argument, else NOONMARK_URL, else a SQLite file in ``.noonmark/``."""
    return url or os.environ.get("NOONMARK_URL", "").strip() or DEFAULT_URL


def open_store(url: str | None = None, *, clock: Clock | None = None) -> Store:
    """Open the store at ``url``.

    Args:
        url: ``sqlite:///relative.db``, ``sqlite:////absolute.db`` (``?synchronous=NORMAL`` trades the last moments
            before a power cut for speed) or ``memory://``; None = NOONMARK_URL, or a file in ``.noonmark/``.
        clock: replaces the machine's clocks, for tests.

    Raises:
        StoreUrlError: no such store, with what to write instead.
        StoreUnusable, StoreUnreachable: the store is there but does not serve.
    """
    chosen = store_url(url)
    scheme, separator, rest = chosen.partition("://")
    scheme = scheme.lower()
    if not separator:
        raise StoreUrlError(
            f'"{shown(chosen)}" is no store URL; write sqlite:///{shown(chosen)} for a SQLite file of that name, or memory://'
        )
    if scheme == "sqlite":
        return _open_sqlite(rest, clock)
    if scheme == "memory":
        from noonmark.stores.memory import MemoryStore

        return MemoryStore(clock=clock)
    if scheme in _SERVERS:
        return _open_server(scheme, chosen, clock)
    for point in metadata.entry_points(group=ENTRY_POINTS, name=scheme):
        opened: Store = point.load()(chosen, clock=clock)
        return opened
    close = difflib.get_close_matches(scheme, _KNOWN, n=1)
    meant = f"did you mean {close[0]}://? " if close else ""
    raise StoreUrlError(f'there is no store "{scheme}://"; {meant}known: {", ".join(f"{name}://" for name in _KNOWN)}')


def _open_server(scheme: str, url: str, clock: Clock | None) -> Store:
    module, function, extra = _SERVERS[scheme]
    try:
        opener = getattr(importlib.import_module(module), function)
    except ModuleNotFoundError as missing:
        raise StoreUrlError(
            f"{scheme}:// needs the package {missing.name}; install it with: pip install 'noonmark[{extra}]'"
        ) from None
    store: Store = opener(url, clock=clock)
    return store


def shown(url: str) -> str:
    """Return the URL without a password, for messages."""
    head, separator, rest = url.partition("://")
    if not separator or "@" not in rest:
        return url
    return f"{head}://***@{rest.rpartition('@')[2]}"


def _open_sqlite(rest: str, clock: Clock | None) -> Store:
    place, _, query = rest.partition("?")
    if not place.startswith("/"):
        host = place.partition("/")[0]
        raise StoreUrlError(
            f'sqlite has no host "{host}"; write sqlite:///{place} (three slashes) for a relative path, '
            "four slashes for an absolute one"
        )
    name = unquote(place[1:])
    if not name or name == ":memory:" or name.endswith("/"):
        raise StoreUrlError(
            "the URL names no file; write sqlite:///noonmark.db, or memory:// for a store that ends with the process"
        )
    if "\0" in name:
        raise StoreUrlError("the path has a NUL character; write sqlite:///noonmark.db")
    synchronous = "FULL"
    for option, value in parse_qsl(query, keep_blank_values=True):
        if option != "synchronous":
            raise StoreUrlError(f'sqlite has no option "{option}"; known: synchronous=FULL, synchronous=NORMAL')
        if value.upper() not in _SYNCHRONOUS:
            raise StoreUrlError(
                f"synchronous={value} is not possible; use FULL (survives a power cut) "
                "or NORMAL (survives a crash of the process)"
            )
        synchronous = value.upper()
    path = Path(name)
    _make_own_folder(path.parent)
    from noonmark.stores.sqlite import SqliteStore

    return SqliteStore(path, clock=clock, synchronous=synchronous)


def _make_own_folder(folder: Path) -> None:
    """Make ``.noonmark/`` where it is wanted, hidden from version control; other folders are their owners' business."""
    if folder.is_dir():
        return
    if folder.name != ".noonmark":
        if folder.exists():
            raise StoreUrlError(f"{folder} is no folder; choose another path")
        raise StoreUrlError(f"there is no folder {folder}; make it (mkdir -p {folder}) or choose another path")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / ".gitignore").write_text("*\n", encoding="utf-8")
    except OSError as error:
        raise StoreUrlError(
            f"{folder} cannot be made: {error.strerror}; choose another path with NOONMARK_URL"
        ) from None
