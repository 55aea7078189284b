"""The verb ``add``, and the rows that other verbs add on their way.

Rule of the file: inserting never fails because of a key; the loser is recorded.  An identity is inserted once.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import replace

from noonmark.core.model import Added, Event, NewOccurrence, State, Verdict
from noonmark.stores.postgres import claims, ending
from noonmark.stores.postgres.desk import Desk, Wanted
from noonmark.stores.postgres.rows import Line, due_moment, new_line


def wanted(rows: Sequence[NewOccurrence]) -> Wanted:
    """Return what adding these rows is about."""
    return Wanted(identities=identities(rows), keys=claimed_keys(rows), new_rows=len(rows))


def identities(rows: Iterable[NewOccurrence]) -> set[tuple[str, str, str]]:
    """Return the identities of new rows."""
    return {(row.job, row.subject, row.identity) for row in rows}


def claimed_keys(rows: Iterable[NewOccurrence]) -> set[str]:
    """Return the keys that new rows want at once."""
    return {row.key for row in rows if row.claim and row.key and row.state is State.PENDING}


def add(desk: Desk, rows: Sequence[NewOccurrence]) -> list[Added]:
    """Insert occurrences; see the port."""
    return [insert(desk, row) for row in rows]


def insert(desk: Desk, new: NewOccurrence) -> Added:
    """Insert one row, claiming its key if it wants that."""
    claimed = new.state is State.PENDING and new.claim and bool(new.key)
    known = desk.find(new)
    if known is not None:
        desk.tx.count("duplicates_refused")
        return Added(outcome="duplicate_identity", id=known.row.id, duplicate_of=known.row.id)
    holding = claims.look(desk, new.key, new.origin, again=new.again) if claimed else claims.FREE
    if holding.holder is not None:
        return _insert_duplicate(desk, new, holding)
    line = desk.put(new_line(desk.new_id(), new, desk.now, generation=holding.generation, claimed=claimed))
    if claimed:
        claims.take(desk, new.key, line.row.id, holding.generation)
    return Added(outcome="added", id=line.row.id)


def _insert_duplicate(desk: Desk, new: NewOccurrence, holding: claims.Holding) -> Added:
    detail = json.dumps({"key": new.key, "holder": holding.holder, "state": holding.state}, ensure_ascii=False)
    refused = replace(new, state=State.SKIPPED, verdict=Verdict.SKIP_DUPLICATED.value, code="key_held")
    line = desk.put(new_line(desk.new_id(), refused, desk.now, detail=detail, duplicate_of=holding.holder))
    desk.tx.count("duplicates_refused")
    ending.log_row(desk, line, Event.SKIP, actor=new.actor)
    return Added(outcome="duplicate_key", id=line.row.id, duplicate_of=holding.holder)


def follow_up(desk: Desk, new: NewOccurrence, *, own: int) -> None:
    """Add a row that a settlement yields.

    One that is there already is left alone, except that a superseded moment is reopened which is not due yet, or which
    the rule in force, having ended it when it took effect, yields after all: a late look must not lose the series.
    """
    known = desk.find(new)
    if known is None:
        insert(desk, new)
    elif known.row.id != own and is_superseded(known) and (new.scheduled_for > desk.now or _is_ruled(desk, new, known)):
        reopen(desk, known, new)


def is_superseded(line: Line) -> bool:
    """True for a moment that a rule dropped, and may yield again."""
    return line.row.state is State.SKIPPED and bool(line.row.verdict == Verdict.SKIP_SUPERSEDED)


def _is_ruled(desk: Desk, new: NewOccurrence, known: Line) -> bool:
    """Was it a revision that ended this moment, although one in force yields it?"""
    job = desk.job(new.job)
    return (
        known.row.code == "revision_superseded"
        and job is not None
        and job.revision == new.revision
        and job.effective_at < new.scheduled_for
    )


def stamp(line: Line, new: NewOccurrence) -> None:
    """Give a row what the rule in force yields for its moment: the gates, the key, the revision, when it is due."""
    row = line.row
    for name in (
        "key", "scheduled_for", "nominal", "business_date", "not_before", "not_after", "expires_at", "frontier", "gated",
        "params", "revision", "queue", "priority",
    ):  # fmt: skip
        setattr(row, name, getattr(new, name))
    row.due_at = due_moment(new)
    line.is_changed = line.is_stamped = True


def reopen(desk: Desk, line: Line, new: NewOccurrence) -> None:
    """Give a superseded moment another life under the rule that yields it again."""
    stamp(line, new)
    row = line.row
    row.state, row.ended_at, row.verdict, row.code, row.detail = State.PENDING, None, "", "", "{}"
    ending.log(desk, row.id, new.job, Event.REOPEN, revision=new.revision)
