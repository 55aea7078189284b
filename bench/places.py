"""The stores that are measured, each fresh, on this machine, and with the durability that its figure is quoted for."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from noonmark.testing.servers import start_postgres, start_redis

EVERYSEC = {"appendonly": "yes", "appendfsync": "everysec"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """One fresh store, and a folder for what the measuring leaves."""

    url: str
    folder: Path
    server: str  # what serves it, with its version
    durability: str  # class and the setting that gives it


@contextmanager
def sqlite() -> Iterator[Place]:
    """A file."""
    with _folder() as folder:
        yield Place(
            url=f"sqlite:///{folder}/bench.db",
            folder=folder,
            server="SQLite in the process",
            durability="host-crash (synchronous=FULL)",
        )


@contextmanager
def postgres(version: str | None = None) -> Iterator[Place]:
    """A PostgreSQL server as it is installed: fsync and synchronous_commit are on."""
    with _folder() as folder, start_postgres(version) as server:
        yield Place(url=server.url, folder=folder, server=str(server), durability="host-crash (synchronous_commit=on)")


@contextmanager
def redis(kind: str) -> Iterator[Place]:
    """A server of the Redis family with an append-only file that is written out every second."""
    with _folder() as folder, start_redis(kind=kind, options=EVERYSEC) as server:
        yield Place(
            url=server.url, folder=folder, server=str(server), durability="process-crash (appendfsync everysec)"
        )


MAKERS: dict[str, Callable[[], AbstractContextManager[Place]]] = {
    "sqlite": sqlite,
    "postgres": postgres,
    "valkey": partial(redis, "valkey"),
    "redis": partial(redis, "redis"),
}
"""By the names that the command line knows."""


@contextmanager
def _folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="noonmark-bench-") as folder:
        yield Path(folder)
