"""What a rule leaves behind when it is changed or ended: the moments that nobody looked at while it was in force.

Promise: whatever was due by the old rule until the new one takes over has a row or a range record, by the old rule's
``missed`` policy, however long nobody was awake.

Rule of the file: synchronous, as ``activate``; it derives and writes nothing, and what it read is named, so that the store
can refuse a derivation that is out of date.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace

from noonmark.core import catchup
from noonmark.core.codec import job_from_text
from noonmark.core.model import Activation, Job, JobRow, Micros, NewOccurrence, Occurrence, Passed, Query
from noonmark.core.stored import RuleUnreadable
from noonmark.core.values import dataclass
from noonmark.engine.passing import moved_on, next_frontier, passed_of
from noonmark.ports.store import Store

PAGE = 1000
FEW = 20
"""Up to so many jobs are asked for one by one; beyond, all overdue frontiers are read, a page at a time."""
_LOG = logging.getLogger("noonmark.engine")


@dataclass(frozen=True, slots=True, kw_only=True)
class Left:
    """What one rule leaves behind; ``is_part`` says that it is too much for one transaction, and more is to follow.

    ``goes_on``: of a part, the frontiers of those series that are through; the rule is still theirs until the last part.
    """

    passed: tuple[Passed, ...] = ()
    adds: tuple[NewOccurrence, ...] = ()
    is_part: bool = False
    goes_on: tuple[NewOccurrence, ...] = ()

    def part(self, row: JobRow) -> Activation:
        """Return the step of a way that is too long for one: the rule stays, its series move on."""
        return moved_on(row, passed=self.passed, adds=self.adds, frontiers=self.goes_on)


def left_behind(store: Store, rows: Iterable[JobRow], until: Micros, *, limit: int | None = None) -> dict[str, Left]:
    """Derive what these rules leave behind.

    Args:
        rows: the jobs as they are now, before the change.
        until: the instant the rules are in force until, UTC microseconds.
        limit: most rows of one job at once; default ``catchup.RANGE_COUNT_LIMIT``.

    Returns:
        By job name; jobs that leave nothing behind are missing.
    """
    ruled = {row.name: row for row in rows if row.rule and row.effective_at < until}
    overdue: dict[str, list[Occurrence]] = {}
    for row in _overdue(store, ruled, until):
        overdue.setdefault(row.job, []).append(row)
    found = {}
    for name, frontiers in overdue.items():
        job = _read(ruled[name])
        if job is not None and job.is_series:
            found[name] = _leave(store, job, ruled[name], frontiers, until, limit or catchup.RANGE_COUNT_LIMIT)
    return found


def _overdue(store: Store, names: Collection[str], until: Micros) -> Iterator[Occurrence]:
    """Yield the open frontier rows that are overdue, those of single workers too."""
    if not names:
        return
    wanted = Query(frontier_only=True, open_only=True, scheduled_until=until + 1, limit=PAGE)
    for query in [replace(wanted, job=name) for name in names] if len(names) <= FEW else [wanted]:
        after = 0
        while True:
            page = store.occurrences(replace(query, after_id=after))
            yield from (row for row in page if row.job in names)
            if len(page) < PAGE:
                break
            after = page[-1].id


def _leave(store: Store, job: Job, known: JobRow, frontiers: Iterable[Occurrence], until: Micros, limit: int) -> Left:
    passed: list[Passed] = []
    adds: list[NewOccurrence] = []
    through: list[Occurrence] = []
    is_part = False
    for row in frontiers:
        if is_part := len(adds) >= limit:
            break  # the next round finds these rows as they are
        step = catchup.leave(job, row, until, revision=known.revision, limit=limit - len(adds))
        passed.append(passed_of(row, step.decision))
        adds += step.adds
        if any(new.frontier for new in step.adds):
            is_part = True
        else:
            through.append(row)
    # The next part is of a later instant: what comes due until then is lost for a series that has no frontier.
    goes_on = tuple(
        new
        for row in (through if is_part else ())
        for new in next_frontier(store, job, known, until, subject=row.subject, worker=row.worker)
    )
    return Left(passed=tuple(passed), adds=tuple(adds), is_part=is_part, goes_on=goes_on)


def _read(row: JobRow) -> Job | None:
    try:
        return job_from_text(row.rule)
    except RuleUnreadable as error:
        _LOG.warning(
            "the rule of job %s (revision %d) cannot be read, so what it missed is unknown: %s",
            row.name,
            row.revision,
            error,
        )
        return None
