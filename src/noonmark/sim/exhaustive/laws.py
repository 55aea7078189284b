"""The laws that every state and every step is held against (docs/semantics.md 10).

Each law is one function: it yields a sentence for every breach.  Which invariant it is stands in ``LAWS``.

Rule of the file: a law looks at the store's rows and at what the engine did from outside; it never asks the code under
trial for its opinion.  Moments and limits come from the checkers' own calendar (``sim.almanac``).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from noonmark.core.model import DAY, OPEN_STATES, Event, Job, JobRow, Micros, Occurrence, Origin
from noonmark.core.model import State as RowState
from noonmark.sim import almanac
from noonmark.sim.exhaustive.chains import COMING_BACK
from noonmark.sim.exhaustive.replay import Exchange
from noonmark.sim.exhaustive.scenes import FLAG, START, Scene
from noonmark.sim.exhaustive.state import State

S = RowState
MAY_BECOME: Final = {
    S.PENDING: {S.RUNNING, S.SKIPPED, S.FAILED_MANUAL, S.CANCELLED},
    S.RUNNING: {S.SUCCESS, S.FAILED_RETRYING, S.FAILED_MANUAL, S.PENDING, S.CANCELLED},
    S.FAILED_RETRYING: {S.RUNNING, S.FAILED_MANUAL, S.CANCELLED},
    S.FAILED_MANUAL: {S.CANCELLED},
    S.SKIPPED: {S.PENDING},
    S.CANCELLED: set(),
    S.SUCCESS: set(),
}
"""Written down once more, by hand: the life cycle as far as these worlds reach (nobody retries or marks here)."""


@dataclass(frozen=True, slots=True)
class View:
    """One step, seen from outside."""

    scene: Scene
    before: State
    after: State
    calls: list[Exchange]

    def changed(self) -> Iterator[tuple[Occurrence | None, Occurrence]]:
        """Yield the rows that this step changed, as they were (None: not there) and as they are."""
        old = self.before.tables.rows
        for row_id, row in self.after.tables.rows.items():
            if old.get(row_id) is not row:
                yield old.get(row_id), row

    def begun(self) -> Iterator[tuple[Occurrence | None, Occurrence]]:
        """Yield the rows of which this step began an attempt."""
        for old, new in self.changed():
            if new.attempt > (old.attempt if old is not None else 0):
                yield old, new

    def job(self, revision: int) -> Job:
        """Return the rule of a revision: each edit of a scene makes one."""
        return self.scene.jobs[min(revision, len(self.scene.jobs)) - 1]


def one_success(view: View) -> Iterator[str]:
    """At most one SUCCESS per key and generation."""
    done = Counter((row.key, row.generation) for row in view.after.tables.rows.values() if row.state is S.SUCCESS)
    for (key, generation), count in done.items():
        if count > 1:
            yield f"{count} successes of {key}#{generation}"


def one_holder(view: View) -> Iterator[str]:
    """At any store time at most one replica trusts its lease of an occurrence; what the store forgot does not count."""
    since = (view.after.past.forgotten_at if view.after.past is not None else None) or 0
    trusted = Counter(
        run.row.id
        for replica in view.after.replicas
        for run in replica.runs
        if not run.stop_reason and not run.has_ended and view.after.now < run.trust_until and run.asked > since
    )
    for row_id, count in trusted.items():
        if count > 1:
            yield f"{count} replicas trust their lease of r{row_id}"


def fences_grow(view: View) -> Iterator[str]:
    """Every lease that is granted has a fence above all before it."""
    for old, new in view.changed():
        if old is None:
            continue
        if new.fence < old.fence:
            yield f"the fence of r{new.id} went back"
        if new.holder and new.fence == old.fence and (new.holder != old.holder or (new.looking and not old.looking)):
            yield f"r{new.id} was leased to {new.holder} under the old fence"


def stale_writes_are_refused(view: View) -> Iterator[str]:
    """An outcome under an old fence changes nothing and is answered so."""
    for call in view.calls:
        if call.verb == "renew":
            yield from _stale_renewals(view, call)
        if call.verb != "settle" or call.repeats:
            continue
        for item, answer in zip(call.args[2], call.answer, strict=True):
            old = view.before.tables.rows.get(item.occurrence_id)
            if old is None or (old.fence == item.fence and old.holder):
                continue
            known = item.fence in view.before.tables.answered.get(item.occurrence_id, ())
            if view.after.tables.rows[old.id] is not old:
                yield f"r{old.id} was changed by a {item.event} under an old fence"
            if answer.outcome != "stale" and not known:
                yield f"a {item.event} of r{old.id} under an old fence was answered {answer.outcome}"
            if answer.outcome == "stale" and view.after.tables.stale_refused <= view.before.tables.stale_refused:
                yield f"a refused {item.event} of r{old.id} was not counted"


def _stale_renewals(view: View, call: Exchange) -> Iterator[str]:
    worker, wanted = call.args[0], call.args[1]
    for lease in wanted:
        old = view.before.tables.rows[lease.occurrence_id]
        is_ours = old.fence == lease.fence and old.holder == worker and old.state is S.RUNNING and not old.looking
        if not is_ours and (lease.occurrence_id not in call.answer.lost or view.after.tables.rows[old.id] is not old):
            yield f"{worker} renewed a lease of r{old.id} that is not its own any more"


def open_rows_have_a_moment(view: View) -> Iterator[str]:
    """An open row has a due moment, and a reason once somebody looked; an ended one has none, and no lease."""
    for old, row in view.changed():
        is_open = row.state in OPEN_STATES
        if is_open and row.due_at is None:
            yield f"r{row.id} is {row.state} and never due"
        if not is_open and (row.due_at is not None or row.holder or row.frontier):
            yield f"r{row.id} has ended and is still due, held or the frontier"
        if is_open and row.fence and not row.holder and not row.code:
            yield f"r{row.id} waits and nothing says why"
        is_new = old is None or (row.due_at, row.holder) != (old.due_at, old.holder)
        if is_new and row.holder and row.due_at is not None and row.due_at <= view.after.now:
            yield f"r{row.id} was leased until a moment that is over"


def starts_are_allowed(view: View) -> Iterator[str]:
    """No start before its time, past its limit, while paused, or on data that is not ready; no first one past its limit."""
    after, now = view.after, view.after.now
    for old, row in view.begun():
        job_row = after.tables.jobs[row.job]
        if now < row.scheduled_for:
            yield f"r{row.id} started {(row.scheduled_for - now) / 1e6:g} s early"
        limit = almanac.limit(view.job(job_row.revision))
        late = 0 if limit is None else now - row.scheduled_for - limit
        if old is not None and old.first_started_at is None and late > 0:
            yield f"r{row.id} started first {late / 1e6:g} s past its limit"
        if job_row.paused:
            yield f"r{row.id} started while its job is paused"
        if row.revision != job_row.revision:
            yield f"r{row.id} started by revision {row.revision}, in force is {job_row.revision}"
        is_takeover = old is not None and old.state is S.RUNNING  # its data was ready when it first started
        job = view.job(job_row.revision)
        flag = after.tables.facts.get(f"flag:{FLAG}")
        if job.depends_on and not is_takeover and (flag is None or not flag.is_set):
            yield f"r{row.id} started on data that is not ready"
        if not row.claimed:
            yield f"r{row.id} started without its key"


def success_stands(view: View) -> Iterator[str]:
    """A SUCCESS is never changed, and one that was answered as recorded is there."""
    for old, new in view.changed():
        if old is not None and old.state is S.SUCCESS:
            yield f"the success of r{new.id} was overwritten ({new.state}, {new.code})"
    for call in view.calls:
        if call.verb == "settle":
            for item, answer in zip(call.args[2], call.answer, strict=True):
                row = view.after.tables.rows[item.occurrence_id]
                if item.event is Event.SUCCEED and answer.outcome == "applied" and row.state is not S.SUCCESS:
                    yield f"r{row.id} succeeded, and the store has it as {row.state}"


def attempts_are_bounded(view: View) -> Iterator[str]:
    """Attempts never exceed 1 + retries + takeovers; who needs a person has an urgent alert."""
    for old, row in view.changed():
        job = view.job(row.revision)
        if row.attempt > 1 + job.retry.max + job.max_takeovers:
            yield f"r{row.id} began attempt {row.attempt}"
        if row.state is S.FAILED_MANUAL and (old is None or old.state is not S.FAILED_MANUAL):
            # One alert per job and kind: what comes after it in the same step may say that all is clear.
            urgent = [each for each in view.after.tables.alerts if each.level == 3 and each.job == row.job]
            if not any(alert.updated_at == view.after.now for alert in urgent):
                yield f"r{row.id} needs a person and nobody was told"


def rows_are_made_once(view: View) -> Iterator[str]:
    """No two rows for one identity, none for a revision before it took effect."""
    seen = Counter((row.job, row.subject, row.identity) for row in view.after.tables.rows.values())
    for identity, count in seen.items():
        if count > 1:
            yield f"{count} rows for {identity}"
    for old, row in view.changed():
        if row.origin is not Origin.SCHEDULE or (old is not None and old.revision == row.revision):
            continue
        if old is None and not any(
            _yields(view, job, row) for job in (view.before.tables.jobs, view.after.tables.jobs)
        ):
            yield f"r{row.id} was made for a moment that no revision in force yields"


def _yields(view: View, jobs: Mapping[str, JobRow], row: Occurrence) -> bool:
    """Does the rule that is in force, or the one that this step replaced, yield this moment after it took effect?"""
    job_row = jobs.get(row.job)
    if job_row is None or row.scheduled_for <= job_row.effective_at:
        return False
    return almanac.is_moment(view.job(job_row.revision), row.scheduled_for)


def nothing_acknowledged_is_gone(view: View) -> Iterator[str]:
    """Rows, facts and rules that were there stay there."""
    before, after = view.before.tables, view.after.tables
    if not before.rows.keys() <= after.rows.keys():
        yield f"rows are gone: {sorted(before.rows.keys() - after.rows.keys())}"
    for name, fact in before.facts.items():
        if name not in after.facts or after.facts[name].version < fact.version:
            yield f"fact {name} went back"
    for name, job in before.jobs.items():
        if name not in after.jobs or after.jobs[name].revision < job.revision:
            yield f"job {name} went back"


def repeating_changes_nothing(view: View) -> Iterator[str]:
    """Repeating a verb with its request id returns the first answer and changes nothing."""
    for call in view.calls:
        if call.repeats is None:
            continue
        if call.answer != call.repeats.answer:
            yield f"{call.verb} was repeated and answered otherwise"
        if any(True for _ in view.changed()):
            yield f"{call.verb} was repeated and done twice"


def series_go_on(view: View) -> Iterator[str]:
    """One open frontier at most; none is right only when every moment of the rule in force has its row."""
    tables = view.after.tables
    for job_row in tables.jobs.values():
        job = view.job(job_row.revision)
        if not job.is_series:
            continue
        rows = [row for row in tables.rows.values() if row.job == job.name and row.origin is Origin.SCHEDULE]
        frontiers = [row for row in rows if row.frontier and row.state in OPEN_STATES]
        if len(frontiers) > 1:
            yield f"{len(frontiers)} frontiers: {', '.join(f'r{row.id}' for row in frontiers)}"
        if not frontiers:
            for moment in without_row(job, rows, job_row.effective_at):
                yield f"nothing stands for the moment {(moment - START) / 1e6:g} s after the beginning"


def without_row(job: Job, rows: list[Occurrence], since: Micros) -> list[Micros]:
    """Return the moments of a rule after ``since`` that no row and no range record stands for."""
    wanted = almanac.moments(job, max(since, START), START + DAY)
    spans = [(row.scheduled_for, row.range_until or row.scheduled_for) for row in rows]
    return [moment for moment in wanted if not any(first <= moment <= last for first, last in spans)]


def states_follow_the_table(view: View) -> Iterator[str]:
    """Only the transitions of the life cycle happen."""
    for old, new in view.changed():
        if old is not None and new.state is not old.state and new.state not in MAY_BECOME[old.state]:
            yield f"r{new.id} went from {old.state} to {new.state}"


def one_in_progress(view: View) -> Iterator[str]:
    """Where a rule lets one occurrence run at a time, no second one starts before the first has ended."""
    for _, row in view.begun():
        if not view.job(row.revision).one_at_a_time:
            continue
        for other in view.after.tables.rows.values():
            is_busy = other.state in (S.RUNNING, S.FAILED_RETRYING) and other.revision == row.revision
            if other.id != row.id and is_busy and other.job == row.job and other.subject == row.subject:
                yield f"r{row.id} started while r{other.id} is in progress"


def keys_have_one_holder(view: View) -> Iterator[str]:
    """The claims and the rows agree; what never had a key, or gave it back, holds none."""
    tables = view.after.tables
    claimed = {row_id for ids in tables.claims.values() for row_id in ids}
    for row in tables.rows.values():
        if row.claimed != (row.id in claimed):
            yield f"r{row.id} and the claims do not agree on who holds {row.key}"
        if row.claimed and row.verdict in ("skip_duplicated", "skip_superseded") and row.state is S.SKIPPED:
            yield f"r{row.id} ended {row.verdict} and still holds {row.key}"
        if row.state is S.RUNNING and row.key and tables.claims.get(row.key, [0])[-1] != row.id:
            yield f"r{row.id} runs, and its key {row.key} is another's"


def no_wake_is_lost(view: View) -> Iterator[str]:
    """What waits for a fact that moved is woken, or a wake is on its way."""
    tables = view.after.tables
    for name, waiting in tables.waits.items():
        if name.startswith("slot:"):
            continue  # of those that wait for a slot only the oldest is woken
        for row_id, seen in waiting.items():
            if tables.version(name) != seen and name not in tables.wakes:
                yield f"{name} moved and r{row_id} sleeps on"


def ends_are_on_record(view: View) -> Iterator[str]:
    """No occurrence ends without a line in the ledger or an attempt that tells it."""
    tables = view.after.tables
    for old, row in view.changed():
        if old is None or row.state in OPEN_STATES or row.state is old.state:
            continue
        has_line = any(line.event for line in tables.ledger.get(row.id, ()))
        is_told = tables.attempts.get(row.id) != view.before.tables.attempts.get(row.id)
        if not has_line and not is_told:
            yield f"r{row.id} ended {row.state} and nothing is on record"
        if not row.code:
            yield f"r{row.id} ended {row.state} without a reason"


def noted_cancels_hold(view: View) -> Iterator[str]:
    """Whatever a cancel was noted on ends cancelled, unless it had succeeded by then."""
    for old, row in view.changed():
        if old is None or not old.cancel_requested or old.state not in OPEN_STATES:
            continue
        if row.state not in OPEN_STATES and row.state not in (S.SUCCESS, S.CANCELLED):
            yield f"a cancel was noted on r{row.id}, and it ended {row.state}"


def repeats_wait_for_a_person(view: View) -> Iterator[str]:
    """What was acknowledged as done and is lost starts again only when a person said so, and then says that it may repeat.

    Excused is who was faster than the proof, as docs/rollback.md says: a worker that has proved itself, has waited for
    half a second, and heard nothing of the one that knows.
    """
    past = view.before.past
    if past is None or past.forgotten_at is None:
        return
    for _, row in view.begun():
        knowing = {worker for key, worker in past.acked if key == row.key}
        lines = view.after.tables.ledger.get(row.id, ())
        first = past.first_proof_at
        if not knowing:
            continue
        if past.is_released or row.key in past.let_go:
            if not any(line.code == "restored_epoch" for line in lines):
                yield f"r{row.id} starts again, and nothing says that it may be a repeat"
        elif knowing & (past.provers | {row.holder}):
            yield f"r{row.id} starts again although {', '.join(sorted(knowing))} proved that it was done"
        elif row.holder not in past.provers or first is None or view.after.now < first + COMING_BACK:
            yield f"r{row.id} starts again before {', '.join(sorted(knowing))} was waited for"


def losses_are_told(view: View) -> Iterator[str]:
    """When a worker has proved itself whose acknowledged success is gone, that is on record and somebody is told."""
    past, tables = view.after.past, view.after.tables
    if past is None or past.forgotten_at is None:
        return
    there = {row.key for row in tables.rows.values() if row.state is S.SUCCESS}
    lost = sorted(key for key, worker in past.acked if worker in past.provers and key not in there)
    fact = tables.facts.get("rollback")
    if lost and (fact is None or not fact.is_set):
        yield f"the successes of {', '.join(lost)} are lost, and that is not on record"
    is_open = any(alert.level == 3 and alert.kind == "rollback" and not alert.closed_at for alert in tables.alerts)
    if lost and not past.is_released and not is_open:
        yield f"the successes of {', '.join(lost)} are lost, and nobody is told"


LAWS: Final[tuple[tuple[str, Callable[[View], Iterator[str]]], ...]] = (
    ("I1 S1", one_success),
    ("I2 S2", one_holder),
    ("I2 S3", fences_grow),
    ("I3 S4", stale_writes_are_refused),
    ("I4", open_rows_have_a_moment),
    ("I5 S6 S8 S15", starts_are_allowed),
    ("I6 S9", success_stands),
    ("I7", attempts_are_bounded),
    ("I8", rows_are_made_once),
    ("I12 S13", nothing_acknowledged_is_gone),
    ("I12 request ids", repeating_changes_nothing),
    ("I12 cancels", noted_cancels_hold),
    ("I13 L1", series_go_on),
    ("S10", states_follow_the_table),
    ("S14", one_in_progress),
    ("I1 keys", keys_have_one_holder),
    ("I4 wakes", no_wake_is_lost),
    ("X1", ends_are_on_record),
    ("S13 X2", repeats_wait_for_a_person),
    ("S13 told", losses_are_told),
)


def breaches(view: View) -> list[str]:
    """Return every breach of every law in this step, each with the invariant's name in front.

    That a store comes back older than it was breaks them all; what counts is what is made of it.
    """
    if view.after.forgotten != view.before.forgotten:
        return []
    return [f"{name}: {said}" for name, law in LAWS for said in law(view)]
