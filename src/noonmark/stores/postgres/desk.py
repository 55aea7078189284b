"""What one transaction has on its desk: everything a verb compares or changes, locked and loaded before it thinks.

Rule of the file: *compared means locked*, and the order is the same everywhere: jobs, slots and facts by name, then
occurrences by id, then claims by key.  Everything is asked for in one round trip, however many rows a verb is about; the
verbs then work on plain objects, and ``writing`` puts what they changed back.  What another transaction inserts meanwhile
makes our own insert fail, and the verb is run again.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from typing import Any

import psycopg

from noonmark.core.lifecycle import KEPT
from noonmark.core.model import JobRow, Micros, NewOccurrence
from noonmark.stores.postgres.arrays import numbers, texts, unescaped
from noonmark.stores.postgres.exchange import Row
from noonmark.stores.postgres.link import Param, Repeat, Session, Statement
from noonmark.stores.postgres.rows import COLUMNS, OWN_COLUMNS, Line, line_from_columns
from noonmark.stores.postgres.transaction import Transaction

JOB_COLUMNS = (
    "name, rule, digest, revision, effective_at, paused, pause_version, paused_at, resumed_at, pause_reason, event"
)
NOT_STORED = frozenset({"key", "slot", "pause", "worker"})
"""Kinds of facts that are read from elsewhere."""

# The ids of every row that is wanted: by id, by identity, by series, by key, and as holder of a key.
_IDS = (
    "SELECT unnest($1::bigint[])"
    " UNION SELECT o.id FROM unnest($2::text[], $3::text[], $4::text[]) AS w (job, subject, identity)"
    " CROSS JOIN LATERAL (SELECT id FROM ~occurrence AS o WHERE o.job = w.job AND o.subject = w.subject"
    " AND o.identity = w.identity OFFSET 0) AS o"
    " UNION SELECT occurrence_id FROM ~agenda WHERE is_series AND job = ANY($5::text[])"
    " UNION SELECT id FROM ~occurrence WHERE key = ANY($6::text[]) AND key <> ''"
    " UNION SELECT occurrence_id FROM ~claim WHERE key = ANY($6::text[])"
)
_ROWS = f"SELECT {COLUMNS}, {OWN_COLUMNS} FROM ~occurrence WHERE id = ANY(ARRAY({_IDS})) ORDER BY id FOR UPDATE"
_JOBS = (
    f"SELECT {JOB_COLUMNS} FROM ~job WHERE name = ANY(ARRAY("
    f"SELECT unnest($7::text[]) UNION SELECT job FROM ~occurrence WHERE id = ANY(ARRAY({_IDS}))))"
    " ORDER BY name FOR {strength}"
)
_SLOTS = (
    "SELECT name, occurrence_id, since FROM ~slot WHERE name = ANY(ARRAY(SELECT unnest($7::text[])"
    f" UNION SELECT slot FROM ~occurrence WHERE id = ANY(ARRAY({_IDS})) AND slot <> '')) ORDER BY name FOR UPDATE"
)
_NEW_SLOTS = (
    "INSERT INTO ~slot SELECT name, 0, 0 FROM unnest($1::text[]) AS name ORDER BY name ON CONFLICT (name) DO NOTHING"
)
_NEW_FACTS = (
    "INSERT INTO ~fact SELECT name, 0, NULL, 0, '' FROM unnest($1::text[]) AS name ORDER BY name"
    " ON CONFLICT (name) DO NOTHING"
)
_FACTS = (
    "SELECT name, version, value, set_at, actor FROM ~fact WHERE name = ANY($1::text[]) ORDER BY name FOR {strength}"
)
# A row that is claimed already needs its claim only where it may give it back.
_KEYS = (
    f"SELECT unnest($7::text[]) UNION SELECT key FROM ~occurrence WHERE id = ANY(ARRAY({_IDS})) AND key <> ''"
    " AND (NOT claimed OR $8::boolean OR verdict = ANY('{skip_superseded,skip_duplicated}'))"
)
_CLAIMS = f"SELECT key, generation, occurrence_id FROM ~claim WHERE key = ANY(ARRAY({_KEYS})) ORDER BY key FOR UPDATE"
_HOLDERS = (
    "SELECT id, state FROM ~occurrence WHERE id = ANY(ARRAY("
    f"SELECT occurrence_id FROM ~claim WHERE key = ANY(ARRAY({_KEYS}))))"
)
_GENERATIONS = f"SELECT key, id, generation FROM ~occurrence WHERE key = ANY(ARRAY({_KEYS})) AND key <> '' AND claimed"
# Whoever only adds asks shorter questions, and answers what is there already without changing anything of it: a lease
# must not wait for us.
_KNOWN = (
    f"SELECT o.* FROM unnest($1::text[], $2::text[], $3::text[]) AS w (job, subject, identity) CROSS JOIN LATERAL (SELECT"
    f" {COLUMNS}, {OWN_COLUMNS} FROM ~occurrence AS o WHERE o.job = w.job AND o.subject = w.subject"
    " AND o.identity = w.identity OFFSET 0) AS o"
)
_CLAIMED = "SELECT key, generation, occurrence_id FROM ~claim WHERE key = ANY($1::text[]) ORDER BY key FOR UPDATE"
_CLAIMANTS = (
    "SELECT id, state FROM ~occurrence WHERE id = ANY(ARRAY("
    "SELECT occurrence_id FROM ~claim WHERE key = ANY($1::text[])))"
)
_LAST_LINES = (
    "SELECT l.occurrence_id, l.seq, l.event, l.verdict, l.code, l.detail FROM unnest($1::bigint[]) AS w (id)"
    " CROSS JOIN LATERAL (SELECT * FROM ~ledger WHERE occurrence_id = w.id ORDER BY seq DESC LIMIT 1) AS l"
)
_OUTCOMES = (
    "SELECT w.id, w.fence FROM unnest($1::bigint[], $2::bigint[]) AS w (id, fence) WHERE"
    " (SELECT true FROM ~attempt AS a WHERE a.occurrence_id = w.id AND a.fence = w.fence"
    " AND a.outcome NOT IN ('lost', 'cancelled') LIMIT 1)"
    " OR (SELECT true FROM ~outcome AS o WHERE o.occurrence_id = w.id AND o.fence = w.fence LIMIT 1)"
)
_NEW_IDS = "SELECT nextval('~occurrence_id_seq') FROM generate_series(1, $1::integer)"


@dataclass(slots=True)
class Claim:
    """Who holds a key."""

    generation: int
    occurrence_id: int


@dataclass(slots=True)
class StoredFact:
    """A fact as the table has it."""

    version: int
    value: str | None
    set_at: Micros
    actor: str


@dataclass(slots=True, kw_only=True)
class Wanted:
    """What a verb is about, as far as its arguments tell."""

    ids: Collection[int] = ()
    identities: Collection[tuple[str, str, str]] = ()
    series_of: Collection[str] = ()
    keys: Collection[str] = ()  # keys that are asked for or claimed
    with_keys: Collection[str] = ()  # every row with these keys, and the holder
    may_release: bool = False
    jobs: Collection[str] = ()
    changes_jobs: bool = False
    slots: Collection[str] = ()
    facts: Collection[str] = ()  # compared
    written_facts: Collection[str] = ()
    fences: Collection[tuple[int, int]] = ()
    looked_at: Collection[int] = ()  # rows whose last ledger line may be counted on
    new_rows: int = 0


@dataclass(slots=True)
class Desk:
    """The loaded rows by their names, and what became of them."""

    tx: Transaction
    lines: dict[int, Line] = field(default_factory=dict)
    identities: dict[tuple[str, str, str], Line] = field(default_factory=dict)
    by_job: dict[str, list[Line]] = field(default_factory=dict)
    jobs: dict[str, JobRow] = field(default_factory=dict)
    claims: dict[str, Claim] = field(default_factory=dict)
    claims_before: dict[str, tuple[int, int]] = field(default_factory=dict)
    holders: dict[int, str] = field(default_factory=dict)
    generations: dict[str, list[tuple[int, int]]] = field(default_factory=dict)
    slots: dict[str, tuple[int, Micros]] = field(default_factory=dict)
    slots_before: dict[str, tuple[int, Micros]] = field(default_factory=dict)
    locked_slots: set[str] = field(default_factory=set)
    facts: dict[str, StoredFact] = field(default_factory=dict)
    changed_facts: set[str] = field(default_factory=set)
    answered: set[tuple[int, int]] = field(default_factory=set)
    last_lines: dict[int, Any] = field(default_factory=dict)
    ledger: list[Any] = field(default_factory=list)
    attempts: list[tuple[Any, ...]] = field(default_factory=list)
    outcomes: list[tuple[int, int]] = field(default_factory=list)
    waiting: list[tuple[str, int, int]] = field(default_factory=list)
    waits_no_more: set[int] = field(default_factory=set)
    changed_jobs: dict[str, JobRow] = field(default_factory=dict)
    revisions: list[tuple[JobRow, str]] = field(default_factory=list)
    wakes: set[str] = field(default_factory=set)
    new_ids: list[int] = field(default_factory=list)

    @property
    def now(self) -> Micros:
        """The store's time of the transaction."""
        return self.tx.now

    def put(self, line: Line) -> Line:
        """Lay a row on the desk."""
        row = line.row
        self.lines[row.id] = line
        self.identities[(row.job, row.subject, row.identity)] = line
        self.by_job.setdefault(row.job, []).append(line)
        return line

    def job(self, name: str) -> JobRow | None:
        """Return the job as it will be when the transaction ends."""
        return self.changed_jobs.get(name) or self.jobs.get(name)

    def find(self, new: NewOccurrence) -> Line | None:
        """Return the row that has this identity already."""
        return self.identities.get((new.job, new.subject, new.identity))

    def state_of(self, occurrence_id: int) -> str:
        """Return the state of a holder, "" where its row is gone."""
        line = self.lines.get(occurrence_id)
        return line.row.state.value if line is not None else self.holders.get(occurrence_id, "")

    def line_of(self, occurrence_id: int) -> Line:
        """Return a row that must be on the desk by now.

        Raises:
            Repeat: it became relevant after it was looked for.
        """
        line = self.lines.get(occurrence_id)
        if line is None:
            raise Repeat
        return line

    def new_id(self) -> int:
        """Return the id of the next new row."""
        if not self.new_ids:
            [rows] = self.tx.ask((_NEW_IDS, (16,)))
            self.new_ids = [row[0] for row in rows]
        return self.new_ids.pop(0)


def sit_down(session: Session, name: str, fixed: Micros | None, wanted: Wanted) -> Desk:
    """Begin a transaction, look the request up, lock and load what is wanted: one round trip.

    A verb that changes jobs tries for a second among the others, and then alone.
    """
    if not wanted.changes_jobs:
        return _sit_down(session, name, fixed, wanted)
    try:
        return _sit_down(session, name, fixed, wanted, hurried=True)
    except (psycopg.errors.QueryCanceled, psycopg.errors.LockNotAvailable):
        session.drop_transaction()
        return _sit_down(session, name, fixed, wanted, alone=True)


def _sit_down(
    session: Session, name: str, fixed: Micros | None, wanted: Wanted, *, alone: bool = False, hurried: bool = False
) -> Desk:
    statements, readers = questions(wanted)
    tx, answers = Transaction.begin(session, name, fixed, *statements, kept=KEPT, alone=alone, hurried=hurried)
    desk = Desk(tx)
    read_answers(desk, readers, answers)
    return desk


def lay(desk: Desk, wanted: Wanted) -> None:
    """Lock and load more, in the transaction that has begun."""
    statements, readers = questions(wanted)
    read_answers(desk, readers, desk.tx.ask(*statements))


def read_answers(desk: Desk, readers: list[Any], answers: list[list[Row]]) -> None:
    """Lay on the desk what was answered."""
    for reader, rows in zip(readers, answers, strict=True):
        if reader is not None:
            reader(desk, rows)


def questions(wanted: Wanted) -> tuple[list[Statement], list[Any]]:
    """Return the statements that lock and load what is wanted, and for each who reads its answer."""
    asked: list[tuple[Statement, Any]] = []
    identities = sorted(wanted.identities)
    rows: tuple[str, ...] = (
        numbers(sorted(wanted.ids)), *_three(identities), texts(sorted(wanted.series_of)), texts(sorted(wanted.with_keys))
    )  # fmt: skip
    changes_rows = bool(wanted.ids or wanted.series_of or wanted.with_keys)  # not: only adds some
    if wanted.jobs or changes_rows:
        statement = _JOBS.format(strength="UPDATE" if wanted.changes_jobs else "SHARE")
        asked.append(((statement, (*rows, texts(sorted(wanted.jobs)))), _read_jobs))
    slots = texts(sorted(set(wanted.slots) - {""}))
    if slots != "{}":
        asked.append(((_NEW_SLOTS, (slots,)), None))
    if slots != "{}" or changes_rows:
        asked.append(((_SLOTS, (*rows, slots)), _read_slots))
    asked += _about_facts(wanted)
    if changes_rows:
        asked.append(((_ROWS, rows), _read_rows))
    elif identities:
        asked.append(((_KNOWN, _three(identities)), _read_rows))
    keys = {*wanted.keys, *wanted.with_keys} - {""}
    if keys and not changes_rows:
        asked += [
            ((_CLAIMED, (texts(sorted(keys)),)), _read_claims),
            ((_CLAIMANTS, (texts(sorted(keys)),)), _read_holders),
        ]
    elif changes_rows:
        params: tuple[Param, ...] = (*rows, texts(sorted(keys)), wanted.may_release)
        asked += [((_CLAIMS, params), _read_claims), ((_HOLDERS, params), _read_holders)]
        if wanted.may_release:
            asked.append(((_GENERATIONS, params), _read_generations))
    if wanted.looked_at:
        asked.append(((_LAST_LINES, (numbers(wanted.looked_at),)), _read_last_lines))
    if wanted.fences:
        pairs = list(wanted.fences)
        asked.append(((_OUTCOMES, (numbers(p[0] for p in pairs), numbers(p[1] for p in pairs))), _read_outcomes))
    if wanted.new_rows:
        asked.append(((_NEW_IDS, (wanted.new_rows,)), _read_new_ids))
    return [statement for statement, _ in asked], [reader for _, reader in asked]


def _three(identities: Iterable[tuple[str, str, str]]) -> tuple[str, str, str]:
    columns = list(zip(*identities, strict=True)) or [(), (), ()]
    return texts(columns[0]), texts(columns[1]), texts(columns[2])


def _about_facts(wanted: Wanted) -> list[tuple[Statement, Any]]:
    written = sorted(set(wanted.written_facts))
    names = texts(sorted({*written, *is_stored(wanted.facts)}))
    if names == "{}":
        return []
    return [
        ((_NEW_FACTS, (names,)), None),
        ((_FACTS.format(strength="UPDATE" if written else "SHARE"), (names,)), _read_facts),
    ]


def is_stored(names: Iterable[str]) -> set[str]:
    """Return those of the facts that have a row of their own."""
    return {name for name in names if name.partition(":")[0] not in NOT_STORED}


# --- what came back ---------------------------------------------------------------------------------------------


def job_from_columns(row: Row) -> JobRow:
    """Return the job of a row read with ``JOB_COLUMNS``."""
    name, rule, digest, revision, effective_at, paused, version, paused_at, resumed_at, reason, event = row
    return JobRow(
        name=unescaped(name),
        rule=unescaped(rule),
        digest=digest,
        revision=revision,
        effective_at=effective_at,
        paused=paused,
        pause_version=version,
        paused_at=paused_at,
        resumed_at=resumed_at,
        pause_reason=unescaped(reason),
        event=unescaped(event),
    )


def _read_jobs(desk: Desk, rows: list[Row]) -> None:
    desk.jobs |= {job.name: job for job in map(job_from_columns, rows)}


def _read_slots(desk: Desk, rows: list[Row]) -> None:
    desk.locked_slots |= {unescaped(name) for name, _, _ in rows}
    found = {unescaped(name): (occurrence_id, since) for name, occurrence_id, since in rows if occurrence_id}
    desk.slots |= found
    desk.slots_before |= found


def _read_facts(desk: Desk, rows: list[Row]) -> None:
    for name, version, value, set_at, actor in rows:
        desk.facts[unescaped(name)] = StoredFact(
            version, None if value is None else unescaped(value), set_at, unescaped(actor)
        )


def _read_rows(desk: Desk, rows: list[Row]) -> None:
    for row in rows:
        if row[0] not in desk.lines:
            desk.put(line_from_columns(row))


def _read_claims(desk: Desk, rows: list[Row]) -> None:
    for key, generation, occurrence_id in rows:
        key = unescaped(key)
        if key not in desk.claims_before:
            desk.claims[key] = Claim(generation, occurrence_id)
            desk.claims_before[key] = (generation, occurrence_id)


def _read_holders(desk: Desk, rows: list[Row]) -> None:
    desk.holders |= dict(rows)


def _read_generations(desk: Desk, rows: list[Row]) -> None:
    for key, occurrence_id, generation in rows:
        desk.generations.setdefault(unescaped(key), []).append((generation, occurrence_id))


def _read_last_lines(desk: Desk, rows: list[Row]) -> None:
    for occurrence_id, seq, *words in rows:
        desk.last_lines[occurrence_id] = (seq, [unescaped(word) for word in words])


def _read_outcomes(desk: Desk, rows: list[Row]) -> None:
    desk.answered |= {(occurrence_id, fence) for occurrence_id, fence in rows}


def _read_new_ids(desk: Desk, rows: list[Row]) -> None:
    desk.new_ids += [row[0] for row in rows]
