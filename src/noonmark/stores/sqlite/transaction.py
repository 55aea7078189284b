"""One writing transaction: its time, its counts, and what it made due.

Rule of the file: everything a verb learns or changes goes through the transaction, so that counts, the high-water mark
and the wake-up are written or sent once per transaction, not once per row.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from noonmark.core.model import FAR, Micros, State
from noonmark.stores.sqlite.drivers import AnyConnection

_EARLIEST = "SELECT min(due_at) FROM occurrence WHERE due_at IS NOT NULL AND worker = ''"


class Reads(Protocol):
    """A connection, for those who only read; what comes back is what the file holds."""

    def execute(self, statements: str, bindings: Any = None, /) -> Any:
        """Run a statement and return a cursor of its rows."""
        ...


class Transaction:
    """What a verb works with.  ``now`` is the store's time of the whole transaction, UTC microseconds."""

    __slots__ = ("_counts", "_earliest", "_known", "connection", "execute", "freed", "many", "now", "timed")

    def __init__(self, connection: AnyConnection, now: Micros, *, timed: bool) -> None:
        self.connection = connection
        self.execute: Callable[..., Any] = connection.execute
        self.many: Callable[..., Any] = connection.executemany
        self.now = now
        self.timed = timed  # by the store's own clock, not by a test's ``at``
        self.freed: set[str] = set()  # overlap slots that were left
        self._counts: dict[str, int] = {}
        self._earliest = FAR
        known: Any = connection.execute(_EARLIEST).get
        self._known: Micros = FAR if known is None else known

    def due(self, moment: Micros, worker: str = "") -> None:
        """Note that a row is due at this moment now; a row of one worker is always news to it."""
        if worker:
            self._earliest = -1
        elif moment < self._earliest:
            self._earliest = moment

    @property
    def is_news(self) -> bool:
        """True when something became due earlier than any listener can know."""
        return self._earliest < self._known

    def count(self, name: str, by: int = 1) -> None:
        """Add to a durable count."""
        self._counts[name] = self._counts.get(name, 0) + by

    def moved(self, before: str | None, after: State, rows: int = 1) -> None:
        """Count rows that changed their state (``before`` None: new rows)."""
        if before != after:
            if before is not None:
                self.count(f"state:{before}", -rows)
            self.count(f"state:{after}", rows)

    def finish(self) -> None:
        """Write the counts and the high-water mark; called once, just before the commit."""
        changed: Sequence[tuple[str, int]] = [item for item in self._counts.items() if item[1]]
        if changed:
            self.many(
                "INSERT INTO counter VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = value + excluded.value",
                changed,
            )
        if self.timed:
            self.execute("UPDATE clock SET mark = ? WHERE mark < ?", (self.now, self.now))

    def one(self, sql: str, bindings: Sequence[Any] = ()) -> tuple[Any, ...] | None:
        """Return the first row, or None."""
        return self.execute(sql, tuple(bindings)).fetchone()  # type: ignore[no-any-return]
