"""The whole conformance suite, run on the store of this folder: ``python -m pytest test_counted_store.py``."""

from __future__ import annotations

from pathlib import Path

from counted_store import open_counted

from noonmark.ports.clock import Clock
from noonmark.ports.store import Store
from noonmark.testing.suite import StoreSuite


class TestCountedStore(StoreSuite):
    """Every promise of the port, with every call failing once, in lock-step with the model, and under contention."""

    processes = 3

    def open_store(self, name: str, folder: Path, clock: Clock | None = None) -> Store:
        return open_counted(self.url_of(name, folder), clock=clock)

    def url_of(self, name: str, folder: Path) -> str:
        return f"counted:///?store=sqlite:///{folder}/{name}.db"
