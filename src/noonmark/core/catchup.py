"""Catch-up: what becomes of moments that were due while nobody looked.

Promise: after the first look at a frontier row the series goes on from exactly one new frontier, every missed moment
is in one row or one range record, and the rows added are bounded however long the absence was.  Rule of the file: pure;
what was missed is derived from the row and the rule, never kept.  There is no early grace: a moment is due when its
instant has come, not before.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from noonmark.core import series, times
from noonmark.core.model import (
    MINUTE,
    Check,
    Decision,
    Event,
    Job,
    Micros,
    NewOccurrence,
    Occurrence,
    Origin,
    State,
    Verdict,
)
from noonmark.core.moments import Moment, count_between, moments_between, next_moment, previous_moment
from noonmark.core.moments import default_max_delay as default_max_delay
from noonmark.core.values import dataclass

RANGE_COUNT_LIMIT = 10_000
"""Missed moments are counted up to here; a range record of more says so (-1)."""
SKIP_GRACE: Micros = MINUTE
"""With ``missed: skip`` a look this late still counts as in time: it is load, not absence."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """What the first look at a frontier row adds, and whether it ends the row.

    ``decision`` None means: the row is wanted, go on with ``decide``.  ``adds`` go into the settlement either way.
    """

    adds: tuple[NewOccurrence, ...]
    decision: Decision | None = None


def step(job: Job, row: Occurrence, now: Micros, *, revision: int) -> Step:
    """Judge a frontier row at its first look by the rule's ``missed`` policy.

    Args:
        job: the rule in force.
        row: the frontier row, due.
        now: the store's time, UTC microseconds.
        revision: of ``job``, stamped on what is added.

    Raises:
        ValueError: unknown ``missed`` policy.
    """
    policy = job.catch_up.missed
    if policy == "latest":
        return _latest(job, row, now, revision)
    if policy == "skip":
        return _skip(job, row, now, revision)
    if policy == "all":
        return Step(adds=_frontier(job, row, row.scheduled_for, revision))
    raise ValueError(f'catch_up.missed "{policy}" is unknown; write skip, latest or all')


def leave(job: Job, row: Occurrence, until: Micros, *, revision: int, limit: int = RANGE_COUNT_LIMIT) -> Step:
    """Judge a frontier row that nobody looked at before its rule was changed or ended, by that rule's ``missed`` policy.

    Args:
        job: the rule that was in force.
        row: its frontier row, scheduled at ``until`` or before.
        until: the instant the rule was in force until, UTC microseconds.
        revision: of ``job``, stamped on what is added.
        limit: with ``missed: all``, at most so many rows at once; the last of them then is the frontier, for the rest.

    Returns:
        What the moments after the row's and up to ``until`` leave behind; ``decision`` None means that the row itself
        is still wanted.  A frontier among ``adds`` says that there is more.
    """
    if job.catch_up.missed == "all":
        moments = moments_between(job, row.scheduled_for, until, limit=limit + 1)
        is_more = len(moments) > limit
        del moments[limit:]
        rows = [_row(job, row, moment, revision, frontier=False) for moment in moments]
        if is_more:
            rows[-1] = replace(rows[-1], frontier=True)
        return Step(adds=tuple(rows))
    judged = step(job, row, until, revision=revision)
    left = (new for new in judged.adds if new.scheduled_for <= until)
    # A frontier stays one while more is due behind it, as on a weekend that the rule excludes: then its look comes next.
    adds = tuple(replace(new, frontier=new.frontier and _is_passed(job, new, until)) for new in left)
    return Step(adds=adds, decision=judged.decision)


def _is_passed(job: Job, new: NewOccurrence, until: Micros) -> bool:
    following = next_moment(job, new.scheduled_for)
    return following is not None and following.at <= until


def _latest(job: Job, row: Occurrence, now: Micros, revision: int) -> Step:
    """A newer moment that is due already stands for all that were missed."""
    newest = _newest_wanted(job, row, now)
    if newest is None:
        return Step(adds=_frontier(job, row, row.scheduled_for, revision))
    adds = (
        *_range(job, row, newest.at, revision, verdict=Verdict.SKIP_SUPERSEDED, code="range_superseded"),
        _row(job, row, newest, revision, frontier=False),
        *_frontier(job, row, newest.at, revision),
    )
    return Step(adds=adds, decision=_ended(row, newest, now))


def _skip(job: Job, row: Occurrence, now: Micros, revision: int) -> Step:
    """Missed moments stay missed; a newest one that is in time is no missed one and goes on."""
    limit = default_max_delay(job, row.scheduled_for)
    grace = SKIP_GRACE if limit is None else min(limit, SKIP_GRACE)
    newest = previous_moment(job, now + 1)
    if newest is not None and newest.at <= row.scheduled_for:
        newest = None
    late = max(0, now - row.scheduled_for)
    if newest is None and late <= grace:
        return Step(adds=_frontier(job, row, row.scheduled_for, revision))
    if newest is not None and now - newest.at <= grace:
        rest: tuple[NewOccurrence, ...] = (_row(job, row, newest, revision, frontier=True),)
        end = newest.at
    else:
        rest, end = _frontier(job, row, now, revision), now + 1
    wanted, seen = f"at most {times.length_text(grace)} late", f"{times.length_text(late)} late"
    decision = _decision(
        verdict=Verdict.SKIP_EXPIRED,
        code="missed_skipped",
        check=Check(name="missed", passed=False, wanted=wanted, seen=seen),
        detail={"late": late, "allowed": grace},
    )
    skipped = _range(job, row, end, revision, verdict=Verdict.SKIP_EXPIRED, code="missed_skipped")
    return Step(adds=(*skipped, *rest), decision=decision)


def _newest_wanted(job: Job, row: Occurrence, now: Micros) -> Moment | None:
    """Return the moment that supersedes the row: due by now, newer, and not one that the calendar excludes.

    Friday's moment must not give way to Saturday's where Saturdays are excluded: then neither would run.  Among
    excluded moments the newest may stand for the others.
    """
    newest = previous_moment(job, now + 1)
    if newest is None or newest.at <= row.scheduled_for:
        return None
    if job.guardrails.allow_weekend:
        return newest
    wanted: Moment | None = newest
    while wanted is not None and wanted.at > row.scheduled_for and times.is_weekend(wanted.at, job.tz):
        wanted = previous_moment(job, times.start_of_day(times.local(wanted.at, job.tz).date(), job.tz))
    if wanted is not None and wanted.at > row.scheduled_for:
        return wanted
    return newest if times.is_weekend(row.scheduled_for, job.tz) else None


def _ended(row: Occurrence, newest: Moment, now: Micros) -> Decision:
    late = max(0, now - row.scheduled_for)
    return _decision(
        verdict=Verdict.SKIP_SUPERSEDED,
        code="superseded",
        check=Check(name="missed", passed=False, wanted="the latest moment due", seen=f"{newest.nominal} is due too"),
        detail={"late": late, "by": newest.at, "nominal": newest.nominal},
    )


def _decision(*, verdict: Verdict, code: str, check: Check, detail: Mapping[str, object]) -> Decision:
    return Decision(verdict=verdict, event=Event.SKIP, code=code, detail=detail, checks=(check,))


def _frontier(job: Job, row: Occurrence, after: Micros, revision: int) -> tuple[NewOccurrence, ...]:
    """Return the row's successor: the first moment after the instant, nothing behind the last one."""
    following = next_moment(job, after)
    return () if following is None else (_row(job, row, following, revision, frontier=True),)


def _row(job: Job, row: Occurrence, moment: Moment, revision: int, *, frontier: bool) -> NewOccurrence:
    return series.row_for_moment(
        job,
        moment,
        revision=revision,
        subject=row.subject,
        params={} if row.worker else series.subject_values(job, row.subject),
        worker=row.worker,
        frontier=frontier,
    )


def _range(
    job: Job, row: Occurrence, end: Micros, revision: int, *, verdict: Verdict, code: str
) -> tuple[NewOccurrence, ...]:
    """Return one record of the moments behind the row's and before ``end``, or nothing when there are none.

    It claims no key: a person may still fill each of them.
    """
    first = next_moment(job, row.scheduled_for)
    if first is None or first.at >= end:
        return ()
    last = previous_moment(job, end) or first
    record = NewOccurrence(
        job=job.name,
        identity=f"g:{first.at}",
        key="",
        scheduled_for=first.at,
        due_at=None,
        subject=row.subject,
        nominal=first.nominal,
        business_date=first.business_date,
        origin=Origin.SCHEDULE,
        revision=revision,
        worker=row.worker,
        state=State.SKIPPED,
        verdict=verdict,
        code=code,
        range_until=last.at,
        range_count=count_between(job, row.scheduled_for, last.at, limit=RANGE_COUNT_LIMIT),
    )
    return (record,)
