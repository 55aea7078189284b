"""The archive: everything that a file holds, page by page, out of it and into another.

Rule of the file: a kind of record is one question (``_KINDS``) with the key it is paged by, and one statement that puts
such a record in unless it is there.  Counts of states are kept as the rows go in, as every other writer keeps them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields
from typing import Any

from noonmark.core.model import Alert, Attempt, LedgerLine, State
from noonmark.core.values import dataclass
from noonmark.ports.archive import KINDS, Import, Page, Record, highest_id
from noonmark.stores.sqlite import errors, facts
from noonmark.stores.sqlite.activating import JOB_COLUMNS
from noonmark.stores.sqlite.rows import FIELDS
from noonmark.stores.sqlite.transaction import Reads, Transaction

_STATE = "import"
"""Name in ``meta`` of how far a copy into this file has come."""
_BOOLEANS = frozenset({"claimed", "frontier", "gated", "looking", "cancel_requested", "paused"})
_ALERT, _ATTEMPT, _LEDGER = (tuple(part.name for part in fields(kind)) for kind in (Alert, Attempt, LedgerLine))
_COUNTERS = "name IN ('stale_refused', 'duplicates_refused') AND value <> 0"


@dataclass(frozen=True, slots=True)
class _Kind:
    """Where a kind of record lives: its table, its fields (columns, unless an expression is named), its paging key."""

    table: str
    names: tuple[str, ...]
    key: tuple[str, ...]
    where: str = ""
    columns: Mapping[str, str] | None = None
    into: str = ""  # the statement that puts it in; "" = plainly, unless it is there

    def read(self) -> str:
        """Return the question for the records after a key, in the order of that key."""
        asked = ", ".join((self.columns or {}).get(name, name) for name in self.names)
        after = f"({', '.join(self.key)}) > ({', '.join('?' * len(self.key))})"
        condition = f"{self.where} AND {after}" if self.where else after
        order = ", ".join(self.key)
        return f"SELECT {order}, {asked} FROM {self.table} WHERE {condition} ORDER BY {order} LIMIT ?"

    def first(self) -> str:
        """Return the same question for the first records of the kind."""
        asked = ", ".join((self.columns or {}).get(name, name) for name in self.names)
        condition = f" WHERE {self.where}" if self.where else ""
        order = ", ".join(self.key)
        return f"SELECT {order}, {asked} FROM {self.table}{condition} ORDER BY {order} LIMIT ?"

    def write(self) -> str:
        """Return the statement that puts a record in unless it is there."""
        if self.into:
            return self.into
        return (
            f"INSERT OR IGNORE INTO {self.table} ({', '.join(self.names)}) VALUES ({', '.join('?' * len(self.names))})"
        )


_KINDS: dict[str, _Kind] = {
    "job": _Kind("job", tuple(JOB_COLUMNS.split(", ")), ("name",)),
    "revision": _Kind(
        "job_revision", ("name", "rule", "digest", "revision", "effective_at", "event", "actor", "at"), ("seq",)
    ),
    "occurrence": _Kind(
        "occurrence",
        (*FIELDS, "slot", "run_fence", "run_worker", "answered"),
        ("id",),
        columns={"run_worker": "iif(run_fence = 0, '', run_worker)"},
    ),
    "claim": _Kind("claim", ("key", "generation", "occurrence_id"), ("key",)),
    "slot": _Kind("slot", ("name", "occurrence_id", "since"), ("name",)),
    "fact": _Kind("fact", ("name", "version", "value", "set_at", "actor"), ("name",)),
    "waiter": _Kind("waiter", ("fact", "version", "occurrence_id"), ("fact", "version", "occurrence_id")),
    "attempt": _Kind("attempt", _ATTEMPT, ("occurrence_id", "fence")),
    "outcome": _Kind("outcome", ("occurrence_id", "fence"), ("occurrence_id", "fence")),
    "note": _Kind("note", ("occurrence_id", "kind", "name", "value", "fence", "at"), ("rowid",)),
    "alert": _Kind("alert", _ALERT, ("id",)),
    "ledger": _Kind("ledger", _LEDGER, ("seq",)),
    "counter": _Kind(
        "counter",
        ("name", "value"),
        ("name",),
        where=_COUNTERS,
        into="INSERT INTO counter VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value",
    ),
}


# -- out ------------------------------------------------------------------------------------------


def store_id(connection: Reads) -> str:
    """Return the name that the file was given when it was made."""
    return str(connection.execute("SELECT value FROM meta WHERE name = 'store_id'").fetchone()[0])


def export_page(connection: Reads, cursor: str, limit: int) -> Page:
    """Read at most ``limit`` records from the cursor on; see the port."""
    kind, after = _place(cursor)
    records: list[Record] = []
    for name in KINDS[KINDS.index(kind) :]:
        shape = _KINDS[name]
        question, bindings = (shape.read(), tuple(after)) if after else (shape.first(), ())
        rows = connection.execute(question, (*bindings, limit - len(records))).fetchall()
        width = len(shape.key)
        records += [_record(name, shape, row[width:]) for row in rows]
        if len(records) >= limit:
            return Page(records=tuple(records), cursor=json.dumps([name, *rows[-1][:width]]))
        after = []
    return Page(records=tuple(records), cursor=None)


def _place(cursor: str) -> tuple[str, list[Any]]:
    """Read a cursor: the kind, and the key of its last record that was read."""
    if not cursor or cursor in KINDS:
        return cursor or KINDS[0], []
    try:
        kind, *after = json.loads(cursor)
        if len(after) != len(_KINDS[kind].key):
            raise ValueError
    except (ValueError, TypeError, KeyError):
        raise ValueError(f"{cursor!r} is no place in this archive") from None
    return kind, after


def _record(kind: str, shape: _Kind, row: Sequence[Any]) -> Record:
    plain = dict(zip(shape.names, row, strict=True))
    for name in _BOOLEANS.intersection(plain):
        plain[name] = plain[name] == 1
    if kind == "fact" and plain["value"] is not None:
        plain["value"] = json.loads(plain["value"])
    return Record(kind=kind, fields=plain)


def count_records(connection: Reads) -> dict[str, int]:
    """Count the records of each kind."""
    counts = {}
    for name, shape in _KINDS.items():
        condition = f" WHERE {shape.where}" if shape.where else ""
        counts[name] = int(connection.execute(f"SELECT count(*) FROM {shape.table}{condition}").fetchone()[0])
    return counts


# -- in -------------------------------------------------------------------------------------------


def import_state(connection: Reads) -> Import | None:
    """Return how far a copy into this file has come."""
    row = connection.execute("SELECT value FROM meta WHERE name = ?", (_STATE,)).fetchone()
    return None if row is None else Import(**json.loads(row[0]))


def import_page(tx: Transaction, path: str, source: str, page: Page) -> None:
    """Write a page and remember its cursor; see the port."""
    state = import_state(tx.connection)
    _check_target(tx, path, source, state)
    if state is not None and state.cursor is None:
        return  # complete: whoever sends the last page again missed the answer
    for kind in KINDS:
        records = [record for record in page.records if record.kind == kind]
        if records:
            _WRITERS.get(kind, _put_all)(tx, _KINDS[kind], records)
    _go_on_above(tx, highest_id(page))
    if page.cursor is None:
        _complete(tx)
    reached = json.dumps({"source": source, "cursor": page.cursor})
    tx.execute(
        "INSERT INTO meta VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value", (_STATE, reached)
    )


def _go_on_above(tx: Transaction, highest: int) -> None:
    """Give new occurrences no id that something copied speaks of, whether its row came along or not."""
    if not tx.execute(
        "UPDATE sqlite_sequence SET seq = max(seq, ?) WHERE name = 'occurrence' RETURNING 1", (highest,)
    ).fetchall():
        tx.execute("INSERT INTO sqlite_sequence VALUES ('occurrence', ?)", (highest,))


def _check_target(tx: Transaction, path: str, source: str, state: Import | None) -> None:
    remedy = "Name a file that is not there yet."
    if state is None:
        held = next((name for name, count in count_records(tx.connection).items() if count), None)
        if held is not None:
            raise errors.unusable(path, f"nothing can be copied into it: it holds records already ({held})", remedy)
    elif state.source != source:
        raise errors.unusable(path, f"it holds a copy of another store ({state.source})", remedy)


def _put_all(tx: Transaction, shape: _Kind, records: Iterable[Record]) -> None:
    tx.many(shape.write(), [_bindings(shape, record) for record in records])


def _bindings(shape: _Kind, record: Record) -> tuple[Any, ...]:
    return tuple(int(value) if isinstance(value, bool) else value for value in map(record.fields.get, shape.names))


def _put_occurrences(tx: Transaction, shape: _Kind, records: Iterable[Record]) -> None:
    statement = f"{shape.write()} RETURNING state, due_at, worker"
    for state, due_at, worker in tx.many(statement, [_bindings(shape, record) for record in records]).fetchall():
        tx.moved(None, State(state))
        if due_at is not None:
            tx.due(due_at, worker)


def _put_facts(tx: Transaction, shape: _Kind, records: Iterable[Record]) -> None:
    for record in records:
        value = record.fields["value"]
        text = None if value is None else json.dumps(value, ensure_ascii=False, sort_keys=True)
        tx.execute(shape.write(), _bindings(shape, Record(kind="fact", fields={**record.fields, "value": text})))


def _put_waiters(tx: Transaction, shape: _Kind, records: Sequence[Record]) -> None:
    """Put in who waits; a row that was written to the source after its page was read must keep no take busy."""
    ids = [record.fields["occurrence_id"] for record in records]
    there = {
        row[0] for row in tx.many("UPDATE occurrence SET waits = 1 WHERE id = ? RETURNING id", [(id_,) for id_ in ids])
    }
    _put_all(tx, shape, [record for record in records if record.fields["occurrence_id"] in there])


def _put_jobs(tx: Transaction, shape: _Kind, records: Iterable[Record]) -> None:
    _put_all(tx, shape, records)
    tx.count("rules_version")  # whoever works here already reads its rules again


_WRITERS: dict[str, Callable[[Transaction, _Kind, Sequence[Record]], None]] = {
    "job": _put_jobs,
    "occurrence": _put_occurrences,
    "fact": _put_facts,
    "waiter": _put_waiters,
}


def _complete(tx: Transaction) -> None:
    """Wake what waits for facts that moved, and let the rows of workers that did not come along end."""
    for (name,) in tx.execute("SELECT DISTINCT fact FROM waiter WHERE fact NOT GLOB 'slot:*'").fetchall():
        moved = tx.execute(
            "SELECT 1 FROM waiter WHERE fact = ? AND version <> ?", (name, facts.read(tx.connection, name).version)
        ).fetchone()
        if moved is not None:
            facts.wake(tx, name)
    tx.execute(
        "INSERT OR IGNORE INTO worker (id, name, host, pid, process_started, boot_id, started_at, seen_at, until,"
        " ended_at, tzdata, version, wall_offset, jobs, gone_at)"
        " SELECT DISTINCT worker, worker, '', 0, '', '', ?1, ?1, ?1, ?1, '', '', 0, '[]', ?1 FROM occurrence"
        " WHERE worker <> '' AND due_at IS NOT NULL",
        (tx.now,),
    )
    tx.due(tx.now)
