"""A job by name: as the store has it, or as an app or rules file declares it.

Rule of the file: the store is asked first; a declaration that nobody registered yet is shown, and said to be one.
"""

from __future__ import annotations

from collections.abc import Sequence

from noonmark.core.model import Job, JobRow, Micros
from noonmark.explain.ended import end_of
from noonmark.explain.find import read_rule, the_job
from noonmark.faces.cli import problems
from noonmark.faces.cli.session import Session


def stored_or_declared(here: Session, name: str, app: str | None) -> tuple[Job, JobRow | None]:
    """Return a job's rule, with its stored row unless it comes from ``app``."""
    if app is not None:
        declared = {job.name: job for job in declared_jobs(app)}
        if name not in declared:
            from noonmark.faces.cli.apps import no_such_job

            raise no_such_job(app, name, declared)
        return declared[name], None
    row = the_job(here.store, name)
    return readable(here, row), row


def readable(here: Session, row: JobRow) -> Job:
    """Return the rule of a stored job, or say that it was ended, by whom and why, or that this version cannot read it."""
    end = end_of(here.store, row)
    if end is not None:
        told = end.told(here.voice(here.one_zone or "UTC"))
        raise problems.Trouble("job_ended", job=row.name, code=problems.NOT_FOUND, **told)
    job = read_rule(row)
    if job is None:
        raise problems.Trouble("rule_unreadable", job=row.name, code=problems.UNREACHABLE)
    return job


def declared_jobs(app: str) -> Sequence[Job]:
    """Return the jobs that an app (``module:sched``, ``path.py``) or a rules file declares."""
    from noonmark.faces.cli.apps import jobs_of

    return jobs_of(app)


def own_clock() -> Micros:
    """Return this machine's time: a declaration needs no store, so there is no store time to ask for."""
    from noonmark.ports.clock import SystemClock

    return SystemClock().wall()
