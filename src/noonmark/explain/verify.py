"""Prove the ledger against the rules: nothing lost, nothing twice.

What should exist is recomputed from the rules and their revisions; what does exist is read from the ledger.  A promise
is accounted for by its row, by a range record over its moment, or by an open frontier before it while nobody is awake.

Rule of the file: reads only, and no alarm from a race: a problem counts only when a second reading still shows it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from noonmark.core import rollback, series
from noonmark.core.model import (
    OPEN_STATES,
    SECOND,
    Attempt,
    Job,
    JobRow,
    Micros,
    Occurrence,
    Origin,
    Query,
    State,
    Story,
    Tallies,
    Verdict,
    WorkerInfo,
)
from noonmark.core.model.rollback import Epoch
from noonmark.engine.witnessing import Known, Untold, Witness
from noonmark.explain import repeats
from noonmark.explain.awake import awake_spans
from noonmark.explain.expected import Promise, Reign, promises, reigns, worker_promises
from noonmark.explain.find import read_rule
from noonmark.explain.outcomes import OVERDUE_AFTER, outcome_of
from noonmark.explain.problems import half_imported, problem_of, told
from noonmark.explain.processes import Lives, as_known, processes
from noonmark.explain.proof import Problem as Problem
from noonmark.explain.proof import Report as Report
from noonmark.explain.setbacks import setbacks_of
from noonmark.ports.store import Store

PAGE = 1000
EXCUSED_CODES = frozenset({"handler_missing", "job_ended", "rule_unreadable"})
"""Open and overdue, but with a recorded reason: they wait for a person or a deployment, they are not lost."""


@dataclass(slots=True)
class _Reading:
    """One pass over the store."""

    now: Micros
    tallies: Tallies
    workers: tuple[WorkerInfo, ...]
    rows: list[Occurrence]
    frontiers: dict[tuple[str, str], list[Occurrence]]
    jobs: dict[str, JobRow]
    processes: Mapping[str, bool] = field(default_factory=dict)  # what this machine's kernel knows of its workers
    epochs: tuple[Epoch, ...] = ()
    known: Known = field(default_factory=dict)
    may_repeat: int = 0
    problems: list[Problem] = field(default_factory=list)
    outcomes: dict[str, Counter[str]] = field(default_factory=dict)

    def count(self, job: str, outcome: str) -> None:
        self.outcomes.setdefault(job, Counter())[outcome] += 1

    def is_dead(self, worker: WorkerInfo) -> bool:
        """True for a worker that ended without saying so: its process is no more, or it is silent and nobody knows."""
        lives = self.processes.get(worker.id)
        return worker.ended_at is None and (not worker.is_awake(self.now) if lives is None else not lives)


def verify(
    store: Store,
    since: Micros,
    until: Micros | None = None,
    *,
    job: str | None = None,
    lives: Lives | None = None,
    witness: Witness | None = None,
    untold: Untold | None = None,
) -> Report:
    """Prove the ledger between two instants.

    Args:
        store: where the ledger is.
        since, until: UTC microseconds, both inclusive; ``until`` is at most the store's now, its default.
        job: only this job.
        lives: says of a worker of the reader's own machine whether its process lives, None for any other.
        witness: says what the workers' journals have of ranges that the store lost.
        untold: what the workers' receipts say that no worker has told the store yet.

    Raises:
        TooMany: a job was due too often in the span to be recomputed at once.
    """
    now = store.now()
    until = now if until is None else min(until, now)
    reading = _read(store, since, until, job, lives, witness)
    _prove(store, reading, since, until)
    if reading.problems:  # workers may have moved a row between two reads: only what stays is true
        again = _read(store, since, until, job, lives, witness)
        _prove(store, again, since, until)
        before = {_name(problem) for problem in reading.problems}
        again.problems = [problem for problem in again.problems if _name(problem) in before]
        reading = again
    totals: Counter[str] = Counter()
    for counts in reading.outcomes.values():
        totals.update(counts)
    spans = [w for w in reading.workers if w.started_at <= until and (w.ended_at or max(w.until, w.seen_at)) >= since]
    return Report(
        since=since,
        until=until,
        due=sum(count for outcome, count in totals.items() if outcome != "refused_duplicate"),
        outcomes=dict(totals),
        by_job={name: dict(counts) for name, counts in sorted(reading.outcomes.items())},
        problems=tuple(sorted(reading.problems, key=lambda p: (p.kind, p.job, p.at or 0))),
        workers=len(spans),
        died=sum(1 for worker in spans if reading.is_dead(worker)),
        stale_refused=reading.tallies.stale_refused,
        duplicates_refused=reading.tallies.duplicates_refused,
        may_repeat=reading.may_repeat,
        begins=_begins(reading),
        moments_refused=sum(
            row.origin is Origin.SCHEDULE and row.verdict == Verdict.SKIP_DUPLICATED for row in reading.rows
        ),
        setbacks=setbacks_of(
            store, reading.rows, reading.epochs, (since, until), job=job, untold=untold, witness=witness
        ),
    )


def _begins(reading: _Reading) -> Micros | None:
    """Return when the first rule came that the store knows; nothing can be proved of what was before.

    Workers say nothing of it: they may be older than the store.
    """
    return min((row.effective_at for row in reading.tallies.revisions), default=None)


def _read(
    store: Store, since: Micros, until: Micros, job: str | None, lives: Lives | None, witness: Witness | None
) -> _Reading:
    tallies = store.tallies(revisions=True)
    rows: list[Occurrence] = []
    after: int | None = 0
    while after is not None:
        page = store.occurrences(
            Query(job=job, scheduled_from=since, scheduled_until=until + 1, after_id=after, limit=PAGE)
        )
        rows += page
        after = page[-1].id if len(page) == PAGE else None
    frontiers: dict[tuple[str, str], list[Occurrence]] = {}
    last = 0
    while page := store.occurrences(Query(job=job, frontier_only=True, open_only=True, after_id=last, limit=PAGE)):
        for row in page:
            frontiers.setdefault((row.job, row.subject), []).append(row)
        last = page[-1].id
    jobs = {row.name: row for row in store.jobs([job] if job is not None else None)}
    epochs = rollback.epochs_of(store.facts([rollback.FACT])[rollback.FACT].value)
    workers = tuple(store.workers())
    now, known = store.now(), processes(workers, lives)
    return _Reading(
        now=now,
        tallies=tallies,
        workers=as_known(workers, known, now),
        processes=known,
        rows=rows,
        frontiers=frontiers,
        jobs=jobs,
        epochs=epochs,
        known=witness(epochs, {row.key for row in rows if row.started_at}) if witness is not None and epochs else {},
    )


def _prove(store: Store, reading: _Reading, since: Micros, until: Micros) -> None:
    revisions = reading.tallies.revisions or tuple(reading.jobs.values())
    ruled = [reign for reign in reigns(revisions, since, until) if reign.row.name in reading.jobs]
    expected = _expected(store, reading, ruled)
    _account(reading, expected)
    _no_twins(store, reading)
    _repeats(reading)
    _attempts(reading, revisions)
    _grounds(reading)
    _frontiers(reading)
    reading.problems += half_imported(reading.rows)
    for reign in ruled:
        if reign.job is None and reign.row.rule:  # an ended job has no rule, and promises nothing
            reading.problems.append(
                told("unreadable", reign.row.name, "problem_seen_unreadable", revision=reign.row.revision)
            )


def _expected(store: Store, reading: _Reading, ruled: Iterable[Reign]) -> list[Promise]:
    found: list[Promise] = []
    for reign in ruled:
        if reign.job is None:
            continue
        if reign.job.scope != "each_worker":
            found += promises(reign)
            continue
        began, stopped = _lives(store, reign.job.name, reading.workers)
        found += worker_promises(reign, reading.workers, began, stopped, reading.now)
    return found


def _lives(store: Store, job: str, workers: Iterable[WorkerInfo]) -> tuple[dict[str, Micros], dict[str, Micros]]:
    """When each worker's own series began, and where it was cut off."""
    began: dict[str, Micros] = {}
    stopped: dict[str, Micros] = {}
    for worker in workers:
        first = store.occurrences(Query(job=job, subject=worker.id, oldest_first=True, limit=1))
        if not first:
            continue
        began[worker.id] = first[0].scheduled_for
        gone = store.occurrences(
            Query(job=job, subject=worker.id, states=frozenset({State.CANCELLED}), oldest_first=True, limit=1)
        )
        if gone:
            stopped[worker.id] = gone[0].scheduled_for
    return began, stopped


def _account(reading: _Reading, expected: list[Promise]) -> None:
    """Find every promise in the ledger, then judge the rows that nothing promised."""
    rows = {(row.job, row.subject, row.identity): row for row in reading.rows if row.range_until is None}
    ranges: dict[tuple[str, str], list[Occurrence]] = {}
    for row in reading.rows:
        if row.range_until is not None:
            ranges.setdefault((row.job, row.subject), []).append(row)
    promised: set[int] = set()
    for promise in expected:
        found = rows.get((promise.job, promise.subject, promise.identity))
        if found is not None:
            promised.add(found.id)
            _judge(reading, found)
        elif _in_range(ranges.get((promise.job, promise.subject), ()), promise.at):
            reading.count(promise.job, "skipped")
        else:
            _judge_absent(reading, promise)
    first_rule: dict[str, Micros] = {}
    for old in reading.tallies.revisions:
        first_rule[old.name] = min(old.effective_at, first_rule.get(old.name, old.effective_at))
    for row in rows.values():
        if row.id in promised or row.verdict == Verdict.SKIP_SUPERSEDED:
            continue
        if row.origin is Origin.SCHEDULE and row.scheduled_for <= first_rule.get(row.job, row.scheduled_for - 1):
            reading.problems.append(problem_of("early", row))
        _judge(reading, row)


def _judge(reading: _Reading, row: Occurrence) -> None:
    reading.count(row.job, outcome_of(row, reading.now))
    _on_time(reading, row)


def _on_time(reading: _Reading, row: Occurrence) -> None:
    if row.state not in OPEN_STATES or row.due_at is None or row.code in EXCUSED_CODES:
        return
    if row.due_at <= reading.now - OVERDUE_AFTER and _somebody(reading, row.job, row.due_at):
        problem = problem_of("overdue", row)
        if problem not in reading.problems:
            reading.problems.append(problem)


def _judge_absent(reading: _Reading, promise: Promise) -> None:
    """A promise without a row: derived from an open frontier before it, or lost."""
    before = [
        row for row in reading.frontiers.get((promise.job, promise.subject), ()) if row.scheduled_for < promise.at
    ]
    if before:
        reading.count(promise.job, "due")
        for row in before:  # it may be due since before the span: nothing that stands behind it moves either
            _on_time(reading, row)
        return
    reading.count(promise.job, "missing")
    reading.problems.append(
        Problem(kind="missing", job=promise.job, subject=promise.subject, at=promise.at, seen=promise.identity)
    )


def _somebody(reading: _Reading, job: str, due_at: Micros) -> bool:
    """True when a worker that runs the job has been awake for long enough since the row fell due."""
    able = [worker for worker in reading.workers if job in worker.jobs and worker.is_awake(reading.now)]
    return any(start <= reading.now - OVERDUE_AFTER for start, _ in awake_spans(able, reading.now)) and due_at > 0


def _no_twins(store: Store, reading: _Reading) -> None:
    """I1: at most one success per key and generation, and per occurrence."""
    done = [row for row in reading.rows if row.state is State.SUCCESS]
    seen: dict[tuple[str, int], Occurrence] = {}
    for row in done:
        other = seen.setdefault((row.key, row.generation), row)
        if other is not row and row.key:
            reading.problems.append(
                problem_of("twice", row, "problem_seen_rows", first=f"r{other.id}", second=f"r{row.id}")
            )
        if row.attempt > 1 or row.lost:
            story = store.story(row.id)
            wins = [attempt for attempt in story.attempts if attempt.outcome == "success"] if story else []
            if len(wins) > 1:
                reading.problems.append(problem_of("twice", row, "problem_seen_wins", fences=_fences(story, wins)))


def _repeats(reading: _Reading) -> None:
    """I1 over a rollback: a key whose lost success a journal has ran twice; where nobody knows, it may have."""
    jobs = map(read_rule, reading.jobs.values())
    wanted = {job.name for job in jobs if job is not None and job.on_rollback == "run"}
    known, reading.may_repeat = repeats.among(reading.rows, wanted, reading.epochs, reading.known)
    for row, lost in known:
        rows = {"first": f"r{lost.occurrence}", "second": f"r{row.id}"}
        reading.problems.append(problem_of("twice", row, "problem_seen_lost", writer=lost.writer, **rows))


def _attempts(reading: _Reading, revisions: Iterable[JobRow]) -> None:
    """I7: attempts never exceed 1 + retry.max + max_takeovers, by the most generous revision."""
    allowed: dict[str, int] = {}
    for old in revisions:
        job = read_rule(old)
        if job is not None:
            allowed[old.name] = max(allowed.get(old.name, 0), 1 + job.retry.max + job.max_takeovers)
    for row in reading.rows:
        if row.job in allowed and row.attempt > allowed[row.job]:
            reading.problems.append(
                problem_of("attempts", row, "problem_seen_attempts", attempt=row.attempt, allowed=allowed[row.job])
            )


def _grounds(reading: _Reading) -> None:
    """I4 and I5: what is open has a next look, what ended a reason, and no moment of a schedule began before its time."""
    for row in reading.rows:
        if row.state in OPEN_STATES and row.due_at is None:
            reading.problems.append(problem_of("forgotten", row))
        elif row.state not in OPEN_STATES and not row.code and not row.verdict:
            reading.problems.append(problem_of("silent", row))
        began = row.first_started_at
        if row.origin is Origin.SCHEDULE and began is not None and began < row.scheduled_for:
            seconds = f"{(row.scheduled_for - began) / SECOND:g}"
            reading.problems.append(problem_of("ground", row, "problem_seen_ground", seconds=seconds))


def _frontiers(reading: _Reading) -> None:
    """I13: every active (job, subject) whose trigger has a next moment has exactly one open frontier row."""
    for name, job_row in reading.jobs.items():
        job = read_rule(job_row)
        if job is None or not job.is_series or job_row.paused:
            continue
        for subject in _subjects(reading, job):
            count = len(reading.frontiers.get((name, subject), ()))
            if count == 1 or (count == 0 and series.next_moment(job, max(reading.now, job_row.effective_at)) is None):
                continue
            reading.problems.append(told("frontier", name, "problem_seen_frontier", subject=subject, count=count))


def _subjects(reading: _Reading, job: Job) -> list[str]:
    if job.scope != "each_worker":
        return [subject for subject, _ in series.subjects(job)]
    settled = reading.now - OVERDUE_AFTER  # a worker that has only just started may not have registered its series yet
    return [
        worker.id
        for worker in reading.workers
        if job.name in worker.jobs and worker.is_awake(reading.now) and worker.started_at < settled
    ]


def _in_range(ranges: Iterable[Occurrence], at: Micros) -> bool:
    return any(row.scheduled_for <= at <= (row.range_until or row.scheduled_for) for row in ranges)


def _fences(story: Story | None, wins: Sequence[Attempt]) -> str:
    """Tell fences by their place among the attempts, as ``why`` does."""
    attempts = sorted(attempt.fence for attempt in story.attempts) if story is not None else []
    return ", ".join(f"fence #{attempts.index(win.fence) + 1}" for win in wins)


def _name(problem: Problem) -> tuple[object, ...]:
    return (problem.kind, problem.job, problem.subject, problem.at, problem.occurrence_id)
