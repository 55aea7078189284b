"""Which occurrences should exist between two instants, recomputed from the rules and their revisions alone.

Rule of the file: pure.  It knows nothing of the ledger, so that the ledger can be proved against it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from noonmark.core import series
from noonmark.core.model import Job, JobRow, Micros, WorkerInfo
from noonmark.core.values import dataclass
from noonmark.explain.awake import life
from noonmark.explain.find import read_rule

MOMENTS_LIMIT = 200_000
"""Most moments of one job that are recomputed at once."""


class TooMany(Exception):
    """The span holds more moments of a job, whose name is the argument, than are recomputed at once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Promise:
    """One occurrence that should exist."""

    job: str
    subject: str
    identity: str
    at: Micros
    revision: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Reign:
    """A revision of a rule and the stretch of scheduled times it rules: ``after`` exclusive, ``until`` inclusive."""

    row: JobRow
    job: Job | None
    after: Micros
    until: Micros


def reigns(revisions: Iterable[JobRow], since: Micros, until: Micros) -> list[Reign]:
    """Return every revision that ruled some of the time between ``since`` (inclusive) and ``until`` (inclusive)."""
    found: list[Reign] = []
    by_job: dict[str, list[JobRow]] = {}
    for row in revisions:
        by_job.setdefault(row.name, []).append(row)
    for rows in by_job.values():
        rows.sort(key=lambda row: row.revision)
        for index, row in enumerate(rows):
            ends = rows[index + 1].effective_at if index + 1 < len(rows) else until
            after, last = max(since - 1, row.effective_at), min(until, ends)
            if after < last:
                found.append(Reign(row=row, job=read_rule(row), after=after, until=last))
    return found


def promises(reign: Reign) -> list[Promise]:
    """Return what a cluster-wide rule promised while it ruled; a job without moments of its own promised nothing.

    Raises:
        TooMany: more than ``MOMENTS_LIMIT`` moments.
    """
    job = reign.job
    if job is None or not job.is_series or job.scope == "each_worker":
        return []
    subjects = [subject for subject, _ in series.subjects(job)]
    return _between(job, reign, subjects, reign.after, reign.until)


def worker_promises(
    reign: Reign, workers: Sequence[WorkerInfo], began: dict[str, Micros], stopped: dict[str, Micros], now: Micros
) -> list[Promise]:
    """Return what a rule with ``scope="each_worker"`` promised: only ticks at which that worker lived.

    Args:
        reign: the revision.
        workers: every incarnation ever heard of.
        began: worker id -> scheduled time of its first row of this job.
        stopped: worker id -> scheduled time of the row that was cancelled because the worker was gone.
        now: store time, microseconds.
    """
    job = reign.job
    if job is None or not job.is_series or job.scope != "each_worker":
        return []
    found: list[Promise] = []
    for worker in workers:
        if worker.id not in began:
            continue
        end = min(reign.until, life(worker, now)[1], stopped.get(worker.id, reign.until))
        found += _between(job, reign, [worker.id], max(reign.after, began[worker.id] - 1), end)
    return found


def _between(job: Job, reign: Reign, subjects: list[str], after: Micros, until: Micros) -> list[Promise]:
    if after >= until:
        return []
    moments = series.moments_between(job, after, until, limit=MOMENTS_LIMIT + 1)
    if len(moments) > MOMENTS_LIMIT:
        raise TooMany(job.name)
    return [
        Promise(job=job.name, subject=subject, identity=moment.identity, at=moment.at, revision=reign.row.revision)
        for moment in moments
        for subject in subjects
    ]
