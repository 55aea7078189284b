"""The verb ``add``, and the rows that other verbs add on their way.

Rule of the file: inserting never fails because of a key; the loser is recorded.  An identity is inserted once.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace

from noonmark.core.model import Added, Event, NewOccurrence, State, Verdict
from noonmark.core.values import dataclass
from noonmark.stores.sqlite import claims, ledger
from noonmark.stores.sqlite.rows import INSERT, due_moment, inserted
from noonmark.stores.sqlite.transaction import Transaction

_BY_IDENTITY = (
    "SELECT id, state, verdict, code, key, cancel_requested FROM occurrence"
    " WHERE job = ? AND subject = ? AND identity = ?"
)
_STAMP = (
    "UPDATE occurrence SET key = ?, due_at = ?, scheduled_for = ?, nominal = ?, business_date = ?, not_before = ?,"
    " not_after = ?, expires_at = ?, frontier = ?, gated = ?, params = ?, revision = ?, queue = ?, priority = ?"
    " WHERE id = ?"
)


@dataclass(frozen=True, slots=True)
class Known:
    """What is known of the row that has an identity already."""

    id: int
    state: str
    verdict: str
    code: str
    key: str
    cancel_requested: int

    @property
    def is_superseded(self) -> bool:
        """True for a moment that a rule dropped, and may yield again."""
        return self.state == State.SKIPPED and self.verdict == Verdict.SKIP_SUPERSEDED


def add(tx: Transaction, rows: Sequence[NewOccurrence]) -> list[Added]:
    """Insert occurrences; see the port."""
    return [insert(tx, row) for row in rows]


def insert(tx: Transaction, new: NewOccurrence) -> Added:
    """Insert one row, claiming its key if it wants that."""
    is_open = new.state is State.PENDING
    claimed = is_open and new.claim and bool(new.key)
    holding = claims.look(tx, new.key, new.origin, again=new.again) if claimed else claims.FREE
    if holding.holder is not None:
        return _insert_duplicate(tx, new, holding)
    row = tx.execute(INSERT, inserted(new, tx.now, generation=holding.generation, claimed=claimed)).fetchone()
    if row is None:
        return _known(tx, new)
    occurrence_id: int = row[0]
    if claimed:
        claims.take(tx, new.key, occurrence_id, holding.generation)
    tx.moved(None, new.state)
    if is_open:
        tx.due(due_moment(new), new.worker)
    return Added(outcome="added", id=occurrence_id)


def _insert_duplicate(tx: Transaction, new: NewOccurrence, holding: claims.Holding) -> Added:
    detail = json.dumps({"key": new.key, "holder": holding.holder, "state": holding.state}, ensure_ascii=False)
    verdict, code = Verdict.SKIP_DUPLICATED.value, "key_held"
    refused = replace(new, state=State.SKIPPED, verdict=verdict, code=code)
    row = tx.execute(INSERT, inserted(refused, tx.now, detail=detail, duplicate_of=holding.holder)).fetchone()
    if row is None:
        return _known(tx, new)
    tx.moved(None, State.SKIPPED)
    tx.count("duplicates_refused")
    ledger.append(
        tx, row[0], new.job, Event.SKIP, verdict=verdict, code=code, detail=detail, revision=new.revision,
        actor=new.actor,
    )  # fmt: skip
    return Added(outcome="duplicate_key", id=row[0], duplicate_of=holding.holder)


def _known(tx: Transaction, new: NewOccurrence) -> Added:
    known = find(tx, new)
    assert known is not None, "only a known identity conflicts"
    tx.count("duplicates_refused")
    return Added(outcome="duplicate_identity", id=known.id, duplicate_of=known.id)


def find(tx: Transaction, new: NewOccurrence) -> Known | None:
    """Return the row that has this identity already."""
    row = tx.execute(_BY_IDENTITY, (new.job, new.subject, new.identity)).fetchone()
    return None if row is None else Known(*row)


def follow_up(tx: Transaction, new: NewOccurrence, *, own: int) -> None:
    """Add a row that a settlement yields.

    One that is there already is left alone, except that a superseded moment is reopened which is not due yet, or which
    the rule in force, having ended it when it took effect, yields after all: a late look must not lose the series.
    """
    known = find(tx, new)
    if known is None:
        insert(tx, new)
    elif known.id != own and known.is_superseded and (new.scheduled_for > tx.now or _is_ruled(tx, new, known)):
        reopen(tx, known.id, new)


def _is_ruled(tx: Transaction, new: NewOccurrence, known: Known) -> bool:
    """Was it a revision that ended this moment, although one in force yields it?"""
    if known.code != "revision_superseded":
        return False
    job = tx.execute("SELECT revision, effective_at FROM job WHERE name = ?", (new.job,)).fetchone()
    return job is not None and job[0] == new.revision and job[1] < new.scheduled_for


def stamp(tx: Transaction, occurrence_id: int, new: NewOccurrence) -> None:
    """Give a row what the rule in force yields for its moment: the gates, the key, the revision, when it is due."""
    tx.execute(
        _STAMP,
        (
            new.key, due_moment(new), new.scheduled_for, new.nominal, new.business_date, new.not_before, new.not_after,
            new.expires_at, int(new.frontier), int(new.gated), new.params, new.revision, new.queue, new.priority,
            occurrence_id,
        ),
    )  # fmt: skip
    tx.due(due_moment(new), new.worker)


def reopen(tx: Transaction, occurrence_id: int, new: NewOccurrence) -> None:
    """Give a superseded moment another life under the rule that yields it again."""
    stamp(tx, occurrence_id, new)
    tx.execute(
        "UPDATE occurrence SET state = 'PENDING', ended_at = NULL, verdict = '', code = '', detail = '{}' WHERE id = ?",
        (occurrence_id,),
    )
    tx.moved(State.SKIPPED, State.PENDING)
    ledger.append(tx, occurrence_id, new.job, Event.REOPEN, revision=new.revision)
