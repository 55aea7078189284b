"""Facts, their versions, and who waits for them.

Rule of the file: one kind of versioned fact stands for flags, successes and pauses; claims, slots and workers are read
under fact names too.  Whoever parks on versions that moved meanwhile is due at once; whoever parked before is woken by
the next take, a thousand rows at a time.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from noonmark.core.lifecycle import waits_under
from noonmark.core.model import Fact, Occurrence
from noonmark.stores.sqlite.transaction import Reads, Transaction

WOKEN_AT_ONCE = 1000

_SET = (
    "INSERT INTO fact VALUES (?1, 1, ?2, ?3, ?4) ON CONFLICT (name) DO UPDATE SET version = version + 1,"
    " value = excluded.value, set_at = excluded.set_at, actor = excluded.actor WHERE value IS NOT excluded.value"
)
_STORED = "SELECT version, value, set_at, actor FROM fact WHERE name = ?"
_PAUSE = "SELECT pause_version, paused, paused_at, resumed_at, pause_reason FROM job WHERE name = ?"


class _Question:
    """A query for one row, its columns named once: they are the names in the fact's value, too."""

    def __init__(self, columns: str, rest: str) -> None:
        self.sql = f"SELECT {columns} {rest}"
        self.names = tuple(column.strip().rpartition(".")[2] for column in columns.split(","))


_CLAIM = _Question(
    "c.occurrence_id, o.state, c.generation, o.origin, o.job, o.ended_at",
    "FROM claim c JOIN occurrence o ON o.id = c.occurrence_id WHERE c.key = ?",
)
_SLOT = _Question("occurrence_id, since", "FROM slot WHERE name = ?")
_WORKER = _Question("host, pid, process_started, boot_id, until, ended_at", "FROM worker WHERE id = ?")


def write(tx: Transaction, name: str, value: object, actor: str) -> int:
    """Set or clear a fact and return its version; a value it already has changes nothing."""
    text = None if value is None else json.dumps(value, ensure_ascii=False, sort_keys=True)
    known = tx.execute(_STORED, (name,)).fetchone()
    if known is None and text is None:
        return 0
    before = tx.connection.total_changes()
    tx.execute(_SET, (name, text, tx.now, actor))
    if tx.connection.total_changes() == before:
        return int(known[0]) if known else 0
    wake(tx, name)
    return int(known[0]) + 1 if known else 1


def wake(tx: Transaction, name: str) -> None:
    """Leave word for the next take that whoever waits for this fact is due."""
    before = tx.connection.total_changes()
    tx.execute(
        "INSERT OR IGNORE INTO wake SELECT ?1 WHERE EXISTS (SELECT 1 FROM waiter WHERE fact = ?1)",
        (name,),
    )
    if tx.connection.total_changes() != before:
        tx.due(0)


def moved(tx: Transaction, seen: Mapping[str, int]) -> tuple[str, ...]:
    """Return the names whose version is another one now."""
    return tuple(name for name, version in seen.items() if read(tx.connection, name).version != version)


def wait_for(tx: Transaction, row: Occurrence, seen: Mapping[str, int]) -> None:
    """Let the row be woken when one of the facts leaves the version that was seen."""
    tx.many(
        "INSERT OR IGNORE INTO waiter VALUES (?, ?, ?)",
        [(name, waits_under(name, version, row), row.id) for name, version in seen.items()],
    )


def forget_waiting(tx: Transaction, occurrence_id: int) -> None:
    """The row waits for nothing any more."""
    tx.execute("DELETE FROM waiter WHERE occurrence_id = ?", (occurrence_id,))


def wake_waiting(tx: Transaction) -> bool:
    """Make due what waits for facts that moved, at most a thousand rows; True when some are left for the next take.

    Whoever parked after the fact moved saw the new version and sleeps on; rows that park again would else be woken for
    ever.
    """
    budget = WOKEN_AT_ONCE
    for (name,) in tx.execute("SELECT fact FROM wake ORDER BY fact").fetchall():
        if not budget:
            return True
        version = read(tx.connection, name).version
        waiting = tx.execute(
            "SELECT occurrence_id FROM waiter WHERE fact = ? AND version < ? ORDER BY version, occurrence_id LIMIT ?",
            (name, version, budget + 1),
        ).fetchall()
        left = len(waiting) > budget
        woken = waiting[:budget]
        budget -= len(woken)
        tx.many(
            "UPDATE occurrence SET waits = 0, due_at = min(due_at, ?) WHERE id = ? AND due_at IS NOT NULL"
            " AND holder = ''",
            [(tx.now, row[0]) for row in woken],
        )
        tx.many("DELETE FROM waiter WHERE occurrence_id = ?", woken)
        if not left:
            tx.execute("DELETE FROM wake WHERE fact = ?", (name,))
    return tx.execute("SELECT 1 FROM wake LIMIT 1").fetchone() is not None


def read(connection: Reads, name: str) -> Fact:
    """Return one fact as it is now; version 0 where there is none."""
    kind, _, rest = name.partition(":")
    reader = _READERS.get(kind)
    if reader is not None:
        return reader(connection, name, rest)
    row = connection.execute(_STORED, (name,)).fetchone()
    if row is None:
        return Fact(name=name)
    version, value, set_at, actor = row
    return Fact(
        name=name, version=version, value=None if value is None else json.loads(value), set_at=set_at, actor=actor
    )


def _key(connection: Reads, name: str, key: str) -> Fact:
    value = _named(connection, _CLAIM, key)
    return Fact(name=name) if value is None else Fact(name=name, version=value["generation"] + 1, value=value)


def _slot(connection: Reads, name: str, _rest: str) -> Fact:
    return _unversioned(name, _named(connection, _SLOT, name))


def _pause(connection: Reads, name: str, job: str) -> Fact:
    row = connection.execute(_PAUSE, (job,)).fetchone()
    if row is None:
        return Fact(name=name)
    version, paused, paused_at, resumed_at, reason = row
    value = {"paused": paused == 1, "paused_at": paused_at, "resumed_at": resumed_at, "reason": reason}
    return Fact(name=name, version=version, value=value)


def _worker(connection: Reads, name: str, worker: str) -> Fact:
    return _unversioned(name, _named(connection, _WORKER, worker))


def _named(connection: Reads, question: _Question, argument: str) -> dict[str, Any] | None:
    """Return the one row of an answer by column name; None when there is none."""
    row = connection.execute(question.sql, (argument,)).fetchone()
    return None if row is None else dict(zip(question.names, row, strict=True))


def _unversioned(name: str, value: dict[str, Any] | None) -> Fact:
    """Return what is there or not there, and never compared."""
    return Fact(name=name) if value is None else Fact(name=name, version=1, value=value)


_READERS = {"key": _key, "slot": _slot, "pause": _pause, "worker": _worker}
