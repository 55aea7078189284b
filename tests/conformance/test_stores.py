"""Every store noonmark ships keeps the port, case by case, and no case is skipped in silence."""

from __future__ import annotations

from pathlib import Path

from noonmark.ports.clock import Clock
from noonmark.ports.store import Store
from noonmark.stores.memory import MemoryStore
from noonmark.testing.suite import StoreSuite


class TestMemory(StoreSuite):
    """The executable model of the port."""

    processes = 0

    def open_store(self, name: str, folder: Path, clock: Clock | None = None) -> Store:  # noqa: ARG002
        return MemoryStore(clock)


class TestSqlite(StoreSuite):
    """One file, several processes."""

    def open_store(self, name: str, folder: Path, clock: Clock | None = None) -> Store:
        from noonmark.stores.sqlite import SqliteStore

        return SqliteStore(folder / f"{name}.db", clock=clock, synchronous="OFF")

    def url_of(self, name: str, folder: Path) -> str:
        return f"sqlite:///{folder}/{name}.db?synchronous=NORMAL"
