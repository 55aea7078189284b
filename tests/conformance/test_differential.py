"""SQLite answers what the memory store answers, whatever is asked in whatever order."""

from __future__ import annotations

import os
from pathlib import Path

from hypothesis import HealthCheck, settings

from noonmark.ports.clock import Clock
from noonmark.ports.store import Store
from noonmark.stores.memory import MemoryStore
from noonmark.testing.lockstep import Lockstep

EXAMPLES = int(os.environ.get("NOONMARK_DIFFERENTIAL_EXAMPLES", "40"))
"""More examples, with fresh seeds, for a night's run; the default repeats itself exactly."""

SETTINGS = settings(
    max_examples=EXAMPLES,
    stateful_step_count=50,
    deadline=None,
    database=None,
    derandomize="NOONMARK_DIFFERENTIAL_EXAMPLES" not in os.environ,
    suppress_health_check=list(HealthCheck),
)


class ModelAndModel(Lockstep):
    """Shows that the machine itself is sound: a difference here is one of the machine."""

    def make_stores(self, folder: Path, clock: Clock) -> tuple[Store, Store]:  # noqa: ARG002
        return MemoryStore(clock), MemoryStore(clock)


class ModelAndSqlite(Lockstep):
    """The model and the store that people use."""

    def make_stores(self, folder: Path, clock: Clock) -> tuple[Store, Store]:
        from noonmark.stores.sqlite import SqliteStore

        return MemoryStore(clock), SqliteStore(folder / "noonmark.db", clock=clock, synchronous="OFF")


TestTheModelAgreesWithItself = ModelAndModel.TestCase
TestTheModelAgreesWithItself.settings = SETTINGS
TestSqliteAgreesWithTheModel = ModelAndSqlite.TestCase
TestSqliteAgreesWithTheModel.settings = SETTINGS
