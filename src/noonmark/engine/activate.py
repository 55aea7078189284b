"""Declared rules on their way into the store, and the watch over frontiers.

Promises: an unchanged rule changes nothing; two replicas that declare the same rule agree, whoever was first; an active
series never stays without its open frontier (I13).  What was missed while nobody was awake is derived by
``core/catchup.py``: at the first look, or here, from the rule that was in force, before another takes its place.

Rule of the file: synchronous, to be called in the store thread or by a command line; every write is guarded by the
revision that was read.
"""

from __future__ import annotations

import json
import logging
import secrets
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import TypeVar

from noonmark.core.codec import digest, rule_text
from noonmark.core.model import (
    Act,
    Acted,
    Activation,
    Job,
    JobRow,
    Micros,
    NewOccurrence,
    Occurrence,
    OnEvent,
    Passed,
    Query,
    Verdict,
)
from noonmark.core.returned import replaced
from noonmark.core.series import frontier_rows, subjects
from noonmark.engine.leaving import Left, left_behind
from noonmark.engine.passing import moved_on, next_frontier
from noonmark.ports.store import Store

BATCH = 500
PAGE = 10_000
_T = TypeVar("_T")
_ROUNDS = 5
_TOLD = 20
"""Most replaced rules that a log names."""
EACH_WORKER = '"each_worker"'  # as a stored rule says it
_LOG = logging.getLogger("noonmark.engine")


def declare(store: Store, jobs: Iterable[Job], *, actor: str) -> list[JobRow]:
    """Put declared rules in force.

    Args:
        jobs: the rules as this process declares them.
        actor: who is recorded as having changed them.

    Returns:
        The job rows as they are now.  Where another process changed a rule at the same moment we read again and declare
        again, five times at most; after that its rule stands.
    """
    return [row for row, _ in _put_in_force(store, jobs, actor=actor)[0]]


def put_in_force(store: Store, jobs: Iterable[Job], *, actor: str) -> list[tuple[JobRow, bool]]:
    """Put a worker's rules in force, and say of each whether it is (False: the rule of another process stands).

    A rule whose place one of them took is named in the log: who changes code is there when he does, but who starts older
    code by mistake is not.
    """
    stands, before = _put_in_force(store, jobs, actor=actor)
    changed = {row.name for row, is_ours in stands if is_ours and before.get(row.name, row.revision) < row.revision}
    if changed:
        _tell_replaced(store, sorted(changed))
    return stands


def _tell_replaced(store: Store, names: Sequence[str]) -> None:
    told = names[:_TOLD]  # there may be thousands, and of each the history of a year
    for name, each in replaced(store.tallies(revisions=told).revisions).items():
        if name not in told:  # a store of somebody's that tells of all
            continue
        old, new = each.before, each.now
        if not old.rule:
            _LOG.warning(
                "job %s was ended (revision %d by %s) and is in force again as this worker declares it, now revision %d",
                new.name, old.revision, old.by or "?", new.revision,
            )  # fmt: skip
        elif each.as_in:
            _LOG.warning(
                "rule of %s replaced: revision %d by %s, now revision %d, which says what revision %d said; "
                "is older code still being started?",
                new.name, old.revision, old.by or "?", new.revision, each.as_in,
            )  # fmt: skip
        else:
            _LOG.info("rule of %s replaced: revision %d by %s, now revision %d", new.name, old.revision, old.by or "?",
                      new.revision)  # fmt: skip
    if len(names) > len(told):
        _LOG.info("%d more rules replaced", len(names) - len(told))


def _put_in_force(store: Store, jobs: Iterable[Job], *, actor: str) -> tuple[list[tuple[JobRow, bool]], dict[str, int]]:
    """Do as ``put_in_force`` says; return with it the revisions that were in force before."""
    before: dict[str, int] = {}
    wanted = {job.name: job for job in jobs}
    digests = {name: digest(job) for name, job in wanted.items()}
    rows: dict[str, JobRow] = {}
    rounds = 0
    while rounds < _ROUNDS:
        names = None if len(wanted) > BATCH else list(wanted)
        rows = {row.name: row for row in store.jobs(names) if row.name in wanted}
        before = before or {name: row.revision for name, row in rows.items()}
        changed = [job for name, job in wanted.items() if name not in rows or rows[name].digest != digests[name]]
        if not changed:
            break
        effective_at = store.now()
        left = left_behind(store, [rows[job.name] for job in changed if job.name in rows], effective_at)
        for batch in _batches(changed, BATCH):
            changes = [
                _activation(
                    job, digests[job.name], row := rows.get(job.name), effective_at, left, _own(store, job, row)
                )
                for job in batch
            ]
            answers = store.activate(secrets.token_hex(8), changes, actor=actor)
            rows.update((row.name, row) for row in answers)
        if all(rows[name].digest == digests[name] for name in wanted):
            break
        rounds += not any(each.is_part for each in left.values())  # steps of a long way are no failures
    stands = []
    for name, row in rows.items():
        is_ours = row.digest == digests[name]
        stands.append((row, is_ours))
        if not is_ours:
            _LOG.warning("job %s: another process keeps changing the rule; revision %d stands", name, row.revision)
    return stands, before


def declarations_lost(store: Store, jobs: Iterable[Job], revisions: Mapping[str, int]) -> list[Job]:
    """Return the rules that a store had from us and has no more, neither them nor what took their place.

    Args:
        store: one that may have gone back in time.
        jobs: the rules as this process declares them.
        revisions: under which each of them came in force there.
    """
    wanted = {job.name: job for job in jobs}
    found = store.jobs(None if len(wanted) > BATCH else list(wanted))
    there = {row.name: row.revision for row in found}
    return [job for name, job in wanted.items() if there.get(name, -1) < revisions.get(name, 0)]


def end(store: Store, name: str, *, actor: str, reason: str) -> Acted:
    """Take a job's rule back, as of now: what it missed until then is on record, what is queued waits with a reason.

    Args:
        name: of the job.
        actor, reason: who ends it, and why.

    Returns:
        The store's answer; ``refused`` only where workers looked at the job's series each time we tried.
    """
    acted = Acted(outcome="not_found")
    rounds = 0
    while rounds < _ROUNDS:
        until = store.now()
        rows = store.jobs([name])
        left = left_behind(store, rows, until).get(name, Left())
        if left.is_part:
            store.activate(secrets.token_hex(8), [left.part(rows[0])], actor=actor)
            continue
        act = Act(
            kind="end_job",
            actor=actor,
            reason=reason,
            job=name,
            effective_at=until,
            passed=left.passed,
            adds=left.adds,
        )
        acted = store.act(secrets.token_hex(8), act)
        if acted.outcome != "refused":
            break
        rounds += 1
    return acted


def raise_frontiers(store: Store, jobs: Sequence[tuple[Job, JobRow]], *, worker: str, actor: str) -> int:
    """Give every series among these jobs its missing frontier rows; return how many rows were added.

    A row is derived from the newest scheduled row, so that what was missed meanwhile is still seen by the catch-up
    rules; never from before the revision took effect.  Jobs of scope each_worker get theirs for this worker.
    """
    added = 0
    for batch in _batches([pair for pair in jobs if pair[0].is_series], BATCH):
        changes = [change for job, row in batch if (change := _missing(store, job, row, worker)) is not None]
        if changes:
            store.activate(secrets.token_hex(8), changes, actor=actor)
            added += sum(len(change.frontiers) for change in changes)
            _LOG.info("frontier rows added for %s", ", ".join(change.name for change in changes))
    return added


def _missing(store: Store, job: Job, row: JobRow, worker: str) -> Activation | None:
    # A worker's row of an older revision is no frontier of this one: it meets this one when its successor is raised.
    there = {
        (found.subject, found.worker)
        for found in _frontiers(store, job.name)
        if not found.worker or found.revision >= row.revision
    }
    lacking = [each for each in _frontiers_of(job, worker) if each not in there]
    frontiers: list[NewOccurrence] = []
    for subject, own in lacking:
        newest = _newest(store, job.name, subject, row.revision)
        if newest is None:
            newest = store.now() if own else 0  # a worker's series begins with the worker
        # Behind a moment that an import or a person brought in there may be some that nobody knows: none is left out.
        after = max(row.effective_at, newest)
        frontiers += next_frontier(store, job, row, after, subject=subject, worker=own)
    return moved_on(row, frontiers=tuple(frontiers)) if frontiers else None


def _frontiers_of(job: Job, worker: str) -> list[tuple[str, str]]:
    """Return subject and worker of every frontier that a series has while it goes on."""
    if job.scope == "each_worker":
        return [(worker, worker)]
    return [(subject, "") for subject, _ in subjects(job)]


def _newest(store: Store, name: str, subject: str, revision: int) -> Micros | None:
    """Return how far a series went by itself; what an import made belongs to no revision of the rule."""
    query = Query(job=name, subject=subject, limit=20)
    while page := store.occurrences(query):
        moments = [
            found.range_until or found.scheduled_for
            for found in page
            if found.origin == "schedule"
            and found.revision
            and not (found.worker and found.frontier and found.revision < revision)
        ]
        if moments or len(page) < query.limit:
            return max(moments, default=None)
        query = replace(query, scheduled_until=page[-1].scheduled_for, limit=BATCH)
    return None


def _activation(
    job: Job,
    mark: str,
    row: JobRow | None,
    effective_at: Micros,
    left_by: Mapping[str, Left],
    own: Sequence[Occurrence],
) -> Activation:
    revision = row.revision if row is not None else 0
    left = left_by.get(job.name, Left())
    if row is not None and left.is_part:
        return left.part(row)
    revision += 1
    if job.scope == "each_worker":  # a new worker brings its own; those at work already go on without a gap
        workers = sorted({found.worker for found in own})
        frontiers = tuple(
            new for worker in workers for new in frontier_rows(job, effective_at, revision=revision, worker=worker)
        )
        over: tuple[Passed, ...] = ()
    else:
        frontiers = frontier_rows(job, effective_at, revision=revision)
        passed_by = {each.occurrence_id for each in left.passed}
        over = tuple(_superseded(found, revision) for found in own if found.id not in passed_by)
    return Activation(
        name=job.name,
        rule=rule_text(job),
        digest=mark,
        expected_revision=revision - 1,
        effective_at=effective_at,
        frontiers=frontiers if job.is_series else (),
        event=job.trigger.name if isinstance(job.trigger, OnEvent) else "",
        passed=(*left.passed, *over),
        adds=left.adds,
    )


def _own(store: Store, job: Job, row: JobRow | None) -> list[Occurrence]:
    """Return the frontiers that single workers have of a job, where its rule is or was one for each worker."""
    if row is None or (job.scope != "each_worker" and EACH_WORKER not in row.rule):
        return []
    return [each for each in _frontiers(store, job.name) if each.worker]


def _frontiers(store: Store, name: str) -> Iterator[Occurrence]:
    """Yield every open frontier of a job: it may have a hundred thousand subjects."""
    query = Query(job=name, frontier_only=True, open_only=True, after_id=0, limit=PAGE)
    while page := store.occurrences(query):
        yield from page
        if len(page) < PAGE:
            return
        query = replace(query, after_id=page[-1].id)


def _superseded(row: Occurrence, revision: int) -> Passed:
    """End a worker's own series: the rule is the cluster's now."""
    return Passed(
        occurrence_id=row.id,
        fence=row.fence,
        verdict=Verdict.SKIP_SUPERSEDED,
        code="revision_superseded",
        detail=json.dumps({"revision": revision}),
    )


def _batches(items: Iterable[_T], size: int) -> Iterable[list[_T]]:
    rest = iter(items)
    while batch := list(islice(rest, size)):
        yield batch
