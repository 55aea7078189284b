"""The archive: everything that a schema holds, page by page, out of it and into another.

Rule of the file: a kind of record is one question (``_KINDS``) with the key it is paged by, and one statement that puts a
page of such records in unless they are there.  Agenda, failures and counts are made of the rows as they go in.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from noonmark.core.model import OPEN_STATES, Alert, Attempt, LedgerLine, Micros
from noonmark.ports.archive import KINDS, Import, Page, Record, highest_id
from noonmark.stores.postgres import errors, writing
from noonmark.stores.postgres.arrays import numbers, switches, texts, unescaped
from noonmark.stores.postgres.desk import JOB_COLUMNS
from noonmark.stores.postgres.exchange import Row
from noonmark.stores.postgres.link import Session
from noonmark.stores.postgres.rows import FIELDS, Line, fresh
from noonmark.stores.postgres.transaction import Transaction

_BOOLEANS = frozenset({"claimed", "frontier", "gated", "looking", "cancel_requested", "paused"})
_NUMBERS = frozenset(
    {"id", "generation", "due_at", "scheduled_for", "not_before", "not_after", "expires_at", "revision", "attempt",
     "takeovers", "lost", "fence", "created_at", "started_at", "first_started_at", "ended_at", "duplicate_of",
     "range_until", "range_count", "priority", "run_fence", "answered", "effective_at", "pause_version", "paused_at",
     "resumed_at", "at", "occurrence_id", "since", "version", "set_at", "number", "level", "opened_at", "updated_at",
     "count", "closed_at", "seq", "last_at"}
)  # fmt: skip
_ALERT, _ATTEMPT, _LEDGER = (tuple(part.name for part in fields(kind)) for kind in (Alert, Attempt, LedgerLine))
_COUNTED = ("stale_refused", "duplicates_refused")
_SEQUENCES = (("ledger", "seq"), ("alert", "id"))


@dataclass(frozen=True, slots=True)
class _Kind:
    """Where a kind of record lives: its table, its fields (columns, unless an expression is named), its paging key."""

    table: str
    names: tuple[str, ...]
    key: tuple[str, ...]
    where: str = ""
    columns: Mapping[str, str] | None = None

    def read(self, *, goes_on: bool) -> str:
        """Return the question for the first records, or for those after a key, in the order of that key."""
        asked = ", ".join((self.columns or {}).get(name, name) for name in self.names)
        order = ", ".join(self.key)
        conditions = [self.where] if self.where else []
        if goes_on:
            after = ", ".join(f"${n}::{_type(name)}" for n, name in enumerate(self.key, 2))
            conditions.append(f"({order}) > ({after})")
        condition = f" WHERE {' AND '.join(conditions)}" if conditions else ""
        return f"SELECT {order}, {asked} FROM ~{self.table}{condition} ORDER BY {order} LIMIT $1::bigint"

    def write(self) -> str:
        """Return the statement that puts records in unless they are there, one array per field, in their order."""
        arrays = ", ".join(f"${n}::{_type(name)}[]" for n, name in enumerate(self.names, 1))
        names = ", ".join(self.names)
        return (
            f"INSERT INTO ~{self.table} ({names}) SELECT {names} FROM unnest({arrays}) WITH ORDINALITY"
            f" AS n ({names}, place) ORDER BY place ON CONFLICT DO NOTHING"
        )


def _type(name: str) -> str:
    return "bigint" if name in _NUMBERS else "boolean" if name in _BOOLEANS else "text"


_KINDS: dict[str, _Kind] = {
    "job": _Kind("job", tuple(JOB_COLUMNS.split(", ")), ("name",)),
    "revision": _Kind(
        "job_revision", ("name", "rule", "digest", "revision", "effective_at", "event", "actor", "at"), ("seq",)
    ),
    "occurrence": _Kind(
        "occurrence",
        (*FIELDS, "slot", "run_fence", "run_worker", "answered"),
        ("id",),
        columns={"run_worker": "CASE WHEN run_fence = 0 THEN '' ELSE run_worker END"},
    ),
    "claim": _Kind("claim", ("key", "generation", "occurrence_id"), ("key",)),
    "slot": _Kind("slot", ("name", "occurrence_id", "since"), ("name",), where="occurrence_id <> 0"),
    "fact": _Kind("fact", ("name", "version", "value", "set_at", "actor"), ("name",), where="version > 0"),
    "waiter": _Kind("waiter", ("fact", "version", "occurrence_id"), ("fact", "version", "occurrence_id")),
    "attempt": _Kind("attempt", _ATTEMPT, ("occurrence_id", "fence")),
    "outcome": _Kind("outcome", ("occurrence_id", "fence"), ("occurrence_id", "fence")),
    "note": _Kind("note", ("occurrence_id", "kind", "name", "value", "fence", "at"), ("occurrence_id", "seq")),
    "alert": _Kind("alert", _ALERT, ("id",)),
    "ledger": _Kind("ledger", _LEDGER, ("seq",)),
}
_COUNTERS = (
    "SELECT name, sum(value)::bigint FROM ~counter WHERE name = ANY($1::text[]) GROUP BY name HAVING sum(value) <> 0"
    " ORDER BY name"
)
_STORE_ID = "SELECT value FROM ~meta WHERE name = 'store_id'"
_STATE = "SELECT value FROM ~meta WHERE name = 'import'"
_LOCK = "SELECT pg_advisory_xact_lock(hashtextextended($1::text, 1))"
_MISSED = (
    "SELECT DISTINCT w.fact FROM ~waiter AS w WHERE w.version <> coalesce("
    "(SELECT f.version FROM ~fact AS f WHERE f.name = w.fact), (SELECT j.pause_version FROM ~job AS j"
    " WHERE 'pause:' || j.name = w.fact), w.version)"
)
_LEFT_BEHIND = (
    "INSERT INTO ~worker (id, name, host, pid, process_started, boot_id, started_at, seen_at, until, ended_at, tzdata,"
    " version, wall_offset, jobs, gone_at) SELECT DISTINCT worker, worker, '', 0, '', '', $1::bigint, $1::bigint,"
    " $1::bigint, $1::bigint, '', '', 0, '[]', $1::bigint FROM ~agenda WHERE worker <> '' ON CONFLICT DO NOTHING"
)
_ABOVE = "SELECT setval('~occurrence_id_seq', greatest(last_value, $1::bigint)) FROM ~occurrence_id_seq"
_REACHED = "INSERT INTO ~meta VALUES ('import', $1::text) ON CONFLICT (name) DO UPDATE SET value = excluded.value"


# -- out ------------------------------------------------------------------------------------------


def store_id(session: Session) -> str:
    """Return the name that the schema was given when it was made."""
    return str(session.ask((_STORE_ID, ()))[0][0][0])


def export_page(session: Session, cursor: str, limit: int) -> Page:
    """Read at most ``limit`` records from the cursor on; see the port."""
    kind, after = _place(cursor)
    records: list[Record] = []
    for name in KINDS[KINDS.index(kind) :]:
        if name == "counter":
            done = after[0] if after else ""
            counted = [(key, value) for key, value in _counters(session) if key > done]
            records += [Record(kind=name, fields={"name": key, "value": value}) for key, value in counted]
            break
        shape = _KINDS[name]
        params = (limit - len(records), *(after or ()))
        [rows] = session.ask((shape.read(goes_on=bool(after)), params))
        width = len(shape.key)
        records += [_record(name, shape, row[width:]) for row in rows]
        if len(records) >= limit:
            return Page(records=tuple(records), cursor=json.dumps([name, *map(_whole, rows[-1][:width])]))
        after = []
    if len(records) > limit:
        records = records[:limit]
        return Page(records=tuple(records), cursor=json.dumps(["counter", records[-1].fields["name"]]))
    return Page(records=tuple(records), cursor=None)


def _counters(session: Session) -> list[Row]:
    return session.ask((_COUNTERS, (texts(_COUNTED),)))[0]


def _place(cursor: str) -> tuple[str, list[Any]]:
    """Read a cursor: the kind, and the key of its last record that was read."""
    if not cursor or cursor in KINDS:
        return cursor or KINDS[0], []
    try:
        kind, *after = json.loads(cursor)
        if len(after) != (1 if kind == "counter" else len(_KINDS[kind].key)):
            raise ValueError
    except (ValueError, TypeError, KeyError):
        raise ValueError(f"{cursor!r} is no place in this archive") from None
    return kind, after


def _whole(value: Any) -> Any:
    return unescaped(value) if isinstance(value, str) else value


def _record(kind: str, shape: _Kind, row: Sequence[Any]) -> Record:
    plain = dict(zip(shape.names, map(_whole, row), strict=True))
    if kind == "fact" and plain["value"] is not None:
        plain["value"] = json.loads(plain["value"])
    return Record(kind=kind, fields=plain)


def count_records(session: Session) -> dict[str, int]:
    """Count the records of each kind."""
    asked = [(f"SELECT count(*) FROM ~{shape.table} WHERE {shape.where or 'true'}", ()) for shape in _KINDS.values()]
    counts = {name: int(rows[0][0]) for name, rows in zip(_KINDS, session.ask(*asked), strict=True)}
    return counts | {"counter": len(_counters(session))}


# -- in -------------------------------------------------------------------------------------------


def import_state(session: Session) -> Import | None:
    """Return how far a copy into this schema has come."""
    [rows] = session.ask((_STATE, ()))
    return Import(**json.loads(unescaped(rows[0][0]))) if rows else None


def import_page(session: Session, source: str, page: Page, now: Micros) -> None:
    """Write a page and remember its cursor; see the port."""
    session.begin((_LOCK, (session.address.schema,)))
    state = import_state(session)
    _check_target(session, source, state)
    if state is not None and state.cursor is None:
        session.drop_transaction()
        return  # complete: whoever sends the last page again missed the answer
    tx = Transaction(session, now, timed=False)
    for kind in KINDS:
        records = [record for record in page.records if record.kind == kind]
        if records:
            _WRITERS.get(kind, _put_all)(tx, kind, records)
    if (highest := highest_id(page)) > 0:
        tx.later(_ABOVE, highest)
    if page.cursor is None:
        _complete(tx)
    tx.later(_REACHED, json.dumps({"source": source, "cursor": page.cursor}))
    tx.finish()


def _check_target(session: Session, source: str, state: Import | None) -> None:
    where, remedy = session.address.shown, "Name another schema in the URL: ?schema=NAME."
    if state is None:
        held = next((name for name, count in count_records(session).items() if count), None)
        if held is not None:
            raise errors.unusable(where, f"nothing can be copied into it: it holds records already ({held})", remedy)
    elif state.source != source:
        raise errors.unusable(where, f"it holds a copy of another store ({state.source})", remedy)


def _put_all(tx: Transaction, kind: str, records: Sequence[Record]) -> None:
    shape = _KINDS[kind]
    columns = [_column(name, [record.fields.get(name) for record in records]) for name in shape.names]
    tx.ask((shape.write(), tuple(columns)))


def _column(name: str, values: list[Any]) -> str:
    if name in _BOOLEANS:
        return switches(values)
    return numbers(values) if name in _NUMBERS else texts(values)


def _put_occurrences(tx: Transaction, kind: str, records: Sequence[Record]) -> None:
    shape = _KINDS[kind]
    columns = [_column(name, [record.fields.get(name) for record in records]) for name in shape.names]
    [written] = tx.ask((f"{shape.write()} RETURNING id", tuple(columns)))
    new = {row[0] for row in written}
    lines = [
        Line(fresh(*(record.fields.get(name) for name in FIELDS)), is_changed=True)
        for record in records
        if record.fields["id"] in new
    ]
    for line in lines:
        if line.row.state not in OPEN_STATES:
            tx.count(f"state:{line.row.state}")
    writing.write_agenda(tx, lines)


def _put_facts(tx: Transaction, kind: str, records: Sequence[Record]) -> None:
    plain = []
    for record in records:
        value = record.fields["value"]
        text = None if value is None else json.dumps(value, ensure_ascii=False, sort_keys=True)
        plain.append(Record(kind=kind, fields={**record.fields, "value": text}))
    _put_all(tx, kind, plain)


def _put_waiters(tx: Transaction, kind: str, records: Sequence[Record]) -> None:
    """Put in who waits; a row that was written to the source after its page was read must keep no take busy."""
    ids = numbers(sorted({record.fields["occurrence_id"] for record in records}))
    [found] = tx.ask(("SELECT id FROM ~occurrence WHERE id = ANY($1::bigint[])", (ids,)))
    there = {row[0] for row in found}
    _put_all(tx, kind, [record for record in records if record.fields["occurrence_id"] in there])
    tx.later("UPDATE ~occurrence SET waits = true WHERE id = ANY($1::bigint[])", ids)


def _put_jobs(tx: Transaction, kind: str, records: Sequence[Record]) -> None:
    _put_all(tx, kind, records)
    tx.count("rules_version")  # whoever works here already reads its rules again


def _put_counters(tx: Transaction, _kind: str, records: Sequence[Record]) -> None:
    names = texts(record.fields["name"] for record in records)
    tx.ask(("DELETE FROM ~counter WHERE name = ANY($1::text[])", (names,)))
    for record in records:
        tx.count(record.fields["name"], record.fields["value"])


_WRITERS: dict[str, Callable[[Transaction, str, Sequence[Record]], None]] = {
    "job": _put_jobs,
    "occurrence": _put_occurrences,
    "fact": _put_facts,
    "waiter": _put_waiters,
    "counter": _put_counters,
}


def _complete(tx: Transaction) -> None:
    """Go on above the highest numbers, wake what waits for facts that moved, let rows of workers left behind end."""
    for table, column in _SEQUENCES:
        tx.later(
            f"SELECT setval('~{table}_{column}_seq', highest) FROM (SELECT max({column}) AS highest FROM ~{table}) AS m"
            " WHERE highest IS NOT NULL"
        )
    [missed] = tx.ask((_MISSED, ()))
    if missed:
        tx.later(writing.WAKE, texts(unescaped(row[0]) for row in missed))
        tx.wakes()
    tx.later(_LEFT_BEHIND, tx.now)
    tx.due(tx.now)
