"""The rules in force, as the store has them.

Promise: what is decided here follows the store's rule, not the one this process was started with; what is executed is
only what this process declares itself, so that who can write to the store cannot choose a command.

Rule of the file: rows are read again when the store says that something changed, and parsed when a row of the job first
turns up: a hundred thousand registered schedules cost nothing while they sleep.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from dataclasses import replace

from noonmark.core.codec import job_from_text
from noonmark.core.conditions import upstream_job
from noonmark.core.model import Fact, Job, JobRow, Micros, Succeeded
from noonmark.core.stored import RuleUnreadable
from noonmark.engine.registry import Handler, Registry

_LOG = logging.getLogger("noonmark.engine")
_UPSTREAM_MARK = '"succeeded"'  # the stored kind of a condition on another job


class Rules:
    """Job rows by name, their parsed rules, and what this worker can run of them."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._rows: dict[str, JobRow] = {}
        self._parsed: dict[str, tuple[str, Job | None]] = {}  # name -> (rule text, job); None = unreadable
        self._runnable: dict[str, Micros] = {}
        self._upstream: frozenset[str] = frozenset()
        self._own: tuple[str, ...] = ()
        self._told: set[str] = set()  # jobs whose command was refused, each said once
        self._unusable: dict[str, str] = {}  # jobs whose function cannot be had -> why, each said once
        self.version = -1
        self.lost_until: Micros = 0
        """End of the latest range that the store lost (``core.rollback``), 0 = none: only earlier rows ask for the fact."""

    def trust(self, rows: Iterable[JobRow]) -> None:
        """Take our own declarations for what these rows say, instead of parsing what we have just written.

        Parameters are left to the parser: a tuple comes back from the store as a list, and every worker must see that.
        """
        ours = {job.name: job for job in self._registry.jobs() if not job.params}
        self._parsed.update((row.name, (row.rule, ours[row.name])) for row in rows if row.name in ours)

    def load(self, rows: Iterable[JobRow], version: int) -> None:
        """Adopt every job row of the store."""
        self._rows = {row.name: row for row in rows}
        self.version = version
        self._runnable = {}
        own = []
        for handler_job in self._registry.jobs():
            job = self.job(handler_job.name)
            if job is not None and self._is_declared(job):
                self._runnable[job.name] = job.lease
                if job.scope == "each_worker":
                    own.append(job.name)
        self._own = tuple(own)
        names = (row.name for row in self._rows.values() if _UPSTREAM_MARK in row.rule)
        readable = (job for name in names if (job := self.job(name)) is not None)
        self._upstream = frozenset(
            upstream_job(condition)[0]
            for job in readable
            for condition in job.depends_on
            if isinstance(condition, Succeeded)
        )

    def refresh(self, rows: Iterable[JobRow]) -> None:
        """Adopt some job rows that were just read."""
        for row in rows:
            self._rows[row.name] = row

    @property
    def runnable(self) -> Mapping[str, Micros]:
        """Lease length by name of the jobs that this worker can run."""
        return self._runnable

    def row(self, name: str) -> JobRow | None:
        """Return the job row, None for a job the store does not know."""
        return self._rows.get(name)

    def rows(self) -> list[JobRow]:
        """Return every job row."""
        return list(self._rows.values())

    def own_rows(self) -> list[JobRow]:
        """Return the rows of the jobs that every worker runs for itself, and that run here."""
        return [row for name in self._own if (row := self._rows.get(name)) is not None]

    def job(self, name: str) -> Job | None:
        """Return the rule in force; None when the job is unknown, ended, or its rule cannot be read."""
        row = self._rows.get(name)
        if row is None or not row.rule:
            return None
        known = self._parsed.get(name)
        if known is not None and known[0] == row.rule:
            return known[1]
        job: Job | None = None
        try:
            job = job_from_text(row.rule)
        except RuleUnreadable as error:
            _LOG.error("the rule of job %s (revision %d) cannot be read: %s", name, row.revision, error)
        self._parsed[name] = (row.rule, job)
        return job

    def handler(self, job: Job) -> Handler | None:
        """Return how this worker runs the job under the store's rule, None where it cannot."""
        if job.name not in self._registry:
            return None
        try:
            handler = self._registry.handler(job.name)
        except Exception as error:
            said = f"{type(error).__name__}: {error}"[:300]
            if self._unusable.get(job.name) != said:
                self._unusable[job.name] = said
                _LOG.error("job %s cannot be run here: %s", job.name, said)
            return None
        self._unusable.pop(job.name, None)
        if not self._is_declared(job):
            return None
        if job.isolation == "process" and handler.kind in ("async", "sync"):
            return replace(handler, job=job, kind="process")
        return handler

    def missing(self, name: str) -> dict[str, str]:
        """Return what is said of a job that cannot be run here: its name and, where it is declared here, the error."""
        error = self._unusable.get(name)
        return {"job": name} if error is None else {"job": name, "error": error}

    def _is_declared(self, job: Job) -> bool:
        """False where the stored rule names a command that this process does not declare: it waits for one that does."""
        if job.command == self._registry.command(job.name):
            return True
        if job.name not in self._told:
            self._told.add(job.name)
            _LOG.error(
                "job %s: the store names another command than this worker declares, so it is not run here; "
                "start the worker again with the rules that declare it, or apply them again",
                job.name,
            )
        return False

    def runs(self, name: str) -> tuple[Job, Handler] | None:
        """Return the rule in force and how it is run here, None where either is missing."""
        job = self.job(name)
        handler = self.handler(job) if job is not None else None
        return None if job is None or handler is None else (job, handler)

    def raises_success(self, job: Job) -> bool:
        """True when a success of this job is a fact that somebody may wait for or reckon with."""
        return job.is_series or job.name in self._upstream


def pause_fact(row: JobRow) -> Fact:
    """Return the pause of a job as the fact that ``decide`` asks for."""
    value = {
        "paused": row.paused,
        "paused_at": row.paused_at,
        "resumed_at": row.resumed_at,
        "reason": row.pause_reason,
    }
    return Fact(name=f"pause:{row.name}", version=row.pause_version, value=value)
