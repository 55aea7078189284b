"""When two states are the same: the fingerprint by which the search knows that it was here before.

Promise: states with one fingerprint have the same future, whatever led to them.  Instants count from now, fences by
their rank, workers by who still lives, and of what the store remembers of old requests only what can be asked again.
Two replicas that changed places are one state.

Rule of the file: a field is left out only where nothing reads it any more; when in doubt it stays in, which costs time
and no truth.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

from noonmark.core.model import SECOND, Fact, JobRow, Micros, Occurrence, Settled, Story, Taken, Tallies
from noonmark.core.model.rollback import Proof, Writer
from noonmark.sim.exhaustive.chains import Chain, epochs_in, serving_name
from noonmark.sim.exhaustive.state import Entry, Held, Replica, State, Task
from noonmark.stores.memory.tables import Tables

LONG_AGO: Micros = 200 * SECOND
"""Past everything that any scene reckons with: limits, lateness, paused moments."""
LATE: Micros = 61 * SECOND
"""Where nothing limits it, a row is late (``decide.LATE_AFTER``) or it is not."""
_TOLD_TIMES = frozenset({"ended_at", "since", "seen_at", "until", "paused_at", "resumed_at"})


def fingerprint(state: State, moments: tuple[Micros, ...]) -> int:
    """Return 64 bits that stand for the state.

    Args:
        moments: those that the scene's rules yield; what is still to come depends on how far they are.
    """
    first, second = state.replicas
    if state.past is not None:
        return _hash(state, moments, (first, second))
    mine, other = _sketch(first), _sketch(second)
    if mine == other:
        return min(_hash(state, moments, (first, second)), _hash(state, moments, (second, first)))
    return _hash(state, moments, (first, second) if mine < other else (second, first))


def _sketch(replica: Replica) -> tuple[Any, ...]:
    """What tells replicas apart most of the time, without looking at anything that bears their names."""
    tasks = tuple(
        (task.kind, task.pending, len(task.log)) if task else ("", "", 0) for task in (replica.taking, replica.settling)
    )
    runs = tuple(sorted((run.row.id, run.fence, run.stop_reason, run.has_ended) for run in replica.runs))
    return (replica.is_alive, replica.version, runs, tasks)


def _hash(state: State, moments: tuple[Micros, ...], replicas: tuple[Replica, Replica]) -> int:
    return hash(_Canon(state, replicas).everything(moments))


class _Canon:
    """One way to write a state down: from now, by rank, under new names."""

    def __init__(self, state: State, replicas: tuple[Replica, Replica]) -> None:
        self.state, self.now, self.tables = state, state.now, state.tables
        self.replicas = replicas
        self.names = {each.name: letter for each, letter in zip(replicas, "AB", strict=True) if each.is_alive}
        self.fences = self._known_fences()
        rows = state.tables.rows
        dues = (rows[row_id].due_at for row_id in state.tables.open_ids)
        self.dues = [due for due in dues if due is not None and due <= state.now]

    def everything(self, moments: tuple[Micros, ...]) -> Hashable:
        """Return all of it."""
        tables, state = self.tables, self.state
        return (
            tuple(self.row(row) + self._of_row(row) for row in tables.rows.values()),
            tuple(sorted((key, tuple(ids)) for key, ids in tables.claims.items())),
            tuple(sorted((name, fact.version, fact.is_set) for name, fact in tables.facts.items())),
            tuple(sorted((name, tuple(sorted(rows.items()))) for name, rows in tables.waits.items())),
            tuple(tables.wakes),
            tuple(sorted((name, held[0]) for name, held in tables.slots.items())),
            tuple(self.job(job) for job in tables.jobs.values()),
            tuple(self.replica(replica) for replica in self.replicas),
            self.task(state.person),
            tuple(sorted(state.left.items())),
            tuple(self.ago(moment) for moment in moments),
            self.past(),
        )

    def past(self) -> Hashable:
        """Return what the store may still forget, and what is known of what it forgot."""
        past, kept, serving = self.state.past, self.state.kept, self.tables.serving
        if past is None or kept is None:
            return None
        may_forget = self.state.left.get("forget", 0) > 0
        held = tuple(run.fence == kept.tables.rows[run.row.id].fence for each in self.replicas for run in each.runs)
        return (
            past.acked, self.ago(past.forgotten_at), self.ago(past.first_proof_at), past.provers, past.is_released,
            past.let_go, epochs_in(self.tables.facts.get("rollback"), self.now),
            None if serving is None else (self.is_served_by(serving.identity), self.ago(serving.since)),
            tuple(self.chain(each.chain, self.tables) for each in self.replicas),
            (kept.mark, self.ago(kept.at), held, tuple(self.chain(each.chain, kept.tables) for each in self.replicas))
            if may_forget else None,
        )  # fmt: skip

    def is_served_by(self, identity: str) -> bool:
        """Return whether this is the server that serves now."""
        return identity == serving_name(self.state.forgotten)

    def chain(self, chain: Chain | None, tables: Tables) -> Hashable:
        """Return how what a worker remembers stands to what a store has."""
        if chain is None:
            return None
        receipt = chain.receipt
        head, link = tables.writers.get(receipt.writer), tables.links.get(receipt.writer, {}).get(receipt.seq)
        return (
            self.head(head), None if head is None else (receipt.seq - head.seq, receipt.hash == head.hash),
            link == receipt.hash, link is None, receipt.epoch, self.ago(receipt.at), self.is_served_by(chain.identity),
            chain.awaits, self.ago(chain.asked_at), self.ago(chain.epoch_at), chain.offset, chain.rolled_back,
            self.ago(chain.lost_until),
            None if chain.serving is None else self.ago(chain.serving.since),
        )  # fmt: skip

    def head(self, head: Writer | None) -> Hashable:
        """Return the head of a writer, but for its name and its place."""
        if head is None:
            return None
        return (head.epoch, self.is_served_by(head.proved_for), self.ago(head.at), self.ago(head.proved_at))

    # -- times, names, fences -------------------------------------------------------------------------

    def ago(self, moment: Micros | None) -> Micros | None:
        """Return an instant as it is seen from now; what is long past is all the same."""
        return None if moment is None else max(moment - self.now, -LONG_AGO)

    def name(self, worker: str) -> str:
        """Return who it is now: one of those that live, or one that is gone."""
        return worker and self.names.get(worker, "gone")

    def fence(self, row_id: int, fence: int) -> int:
        """Return which of the row's fences it is that anybody still knows."""
        return self.fences.get(row_id, {}).get(fence, -1)

    def _known_fences(self) -> dict[int, dict[int, int]]:
        found: dict[int, set[int]] = {row.id: {row.fence} for row in self.tables.rows.values()}
        for replica in self.replicas:
            for run in replica.runs:
                found[run.row.id].add(run.fence)
            for task in (replica.taking, replica.settling):
                if task is not None and task.log and isinstance(task.log[0].answer, Taken):
                    for row in task.log[0].answer.rows:
                        found[row.id].add(row.fence)
        if self.state.person is not None:
            for entry in self.state.person.log:
                if entry.verb == "occurrences":
                    for row in entry.answer:
                        found[row.id].add(row.fence)
        return {row_id: {fence: rank for rank, fence in enumerate(sorted(fences))} for row_id, fences in found.items()}

    # -- what the store holds -------------------------------------------------------------------------

    def row(self, row: Occurrence) -> tuple[Any, ...]:
        """Return an occurrence, in the store or as somebody remembers it."""
        fence = (self.fence(row.id, row.fence), max(row.fence - self.now, -1))
        if row.due_at is None:
            why = (row.verdict, row.code) if row.state == "SKIPPED" else ()  # a superseded one may be reopened
            return (row.id, row.state.value, fence, row.claimed, row.generation, row.key, row.origin.value, why)
        scheduled = max(row.scheduled_for - self.now, -LONG_AGO if row.origin == "schedule" else -LATE)
        return (
            row.id, row.state.value, fence, self.due(row), scheduled,
            self.name(row.holder), row.looking, row.frontier, row.gated, row.claimed, row.generation, row.revision,
            row.attempt, row.takeovers, row.lost > 0, row.cancel_requested, row.verdict, row.code,
            row.first_started_at is None, self.ahead(row.not_before), self.ahead(row.not_after),
            self.ahead(row.expires_at), bool(row.actor), row.key,
        )  # fmt: skip

    def due(self, row: Occurrence) -> Micros:
        """Return when it is due: from now, and what is due already by its place among the others."""
        assert row.due_at is not None
        return row.due_at - self.now if row.due_at > self.now else -sum(other >= row.due_at for other in self.dues)

    def ahead(self, moment: Micros | None) -> Micros | None:
        """Return how far a bound is ahead; one that is behind is behind for ever."""
        return None if moment is None else max(moment - self.now, -1)

    def _of_row(self, row: Occurrence) -> tuple[Any, ...]:
        if row.due_at is None:
            return ()
        known = self.fences[row.id]
        answered = self.tables.answered.get(row.id, ())
        tries = self.tables.attempts.get(row.id, [])
        lost = [each for each in tries if each.outcome == "lost"]
        return (
            tuple(sorted(known[fence] for fence in answered if fence in known)),
            self.name(lost[-1].worker) if lost else "",
            bool(tries) and tries[-1].outcome == "running",
        )

    def job(self, job: JobRow) -> tuple[Any, ...]:
        """Return a job row; its rule is known by its revision."""
        paused = (job.paused, self.ago(job.paused_at), self.ago(job.resumed_at))
        return (job.name, job.revision, self.ago(job.effective_at), job.pause_version, paused)

    # -- what is remembered elsewhere -----------------------------------------------------------------

    def replica(self, replica: Replica) -> tuple[Any, ...]:
        """Return what a replica remembers."""
        if not replica.is_alive:
            return ("gone",)
        rules = tuple((row.name, row.revision, row.pause_version) for row in replica.rules)
        behind = self.tables.rules_version - replica.version
        return (
            rules,
            behind,
            tuple(map(self.run, replica.runs)),
            self.task(replica.taking),
            self.task(replica.settling),
        )

    def run(self, run: Held | None) -> tuple[Any, ...] | None:
        """Return a run that is held."""
        if run is None:
            return None
        row = run.row
        return (
            row.id, self.fence(row.id, run.fence), self.ago(run.renew_at), self.ago(run.trust_until), run.stop_reason,
            run.has_ended, run.quiet, row.attempt, row.takeovers, row.revision, bool(row.actor),
        )  # fmt: skip

    def task(self, task: Task | None) -> tuple[Any, ...] | None:
        """Return a task that is on its way."""
        if task is None:
            return None
        rules = tuple((row.name, row.revision, row.pause_version) for row in task.rules)
        behind = self.tables.rules_version - task.version
        log = tuple(
            (entry.verb, entry.lost, entry.broken, self.ago(entry.at), self.answer(entry)) for entry in task.log
        )
        return (
            task.kind,
            self.ago(task.began_at),
            rules,
            behind,
            task.free,
            self.run(task.run),
            task.ok,
            task.is_late,
            log,
        )

    def answer(self, entry: Entry) -> Hashable:
        """Return an answer that a task had."""
        return self._plain(entry.answer)

    def _plain(self, value: Any) -> Hashable:
        if isinstance(value, Occurrence):
            return self.row(value)
        if isinstance(value, Taken):
            behind = self.tables.rules_version - value.rules_version
            return (tuple(map(self.row, value.rows)), self.ago(value.now), self.ago(value.next_due), behind)
        if isinstance(value, Settled):
            state = value.state.value if value.state else ""
            return (
                value.outcome,
                value.fence - self.now,
                self.ago(value.lease_until),
                value.changed,
                value.holder,
                state,
            )
        if isinstance(value, JobRow):
            return self.job(value)
        if isinstance(value, Fact):
            return (value.name, value.version, self._plain(value.value))
        if isinstance(value, Story):
            lost = [each for each in value.attempts if each.outcome == "lost"]
            return (self.row(value.occurrence), self.name(lost[-1].worker) if lost else "")
        if isinstance(value, Proof):
            return (value.outcome, self.ago(value.now), len(value.epochs), self.ago(value.serving.since))
        if isinstance(value, Writer):
            return (value.id, self.head(value))
        if isinstance(value, Tallies):
            return tuple((alert.job, alert.kind) for alert in value.open_alerts)
        if isinstance(value, Mapping):
            return tuple((key, self._plain(part)) for key, part in sorted(value.items()) if key not in _TOLD_TIMES)
        if isinstance(value, (list, tuple)):
            return tuple(map(self._plain, value))
        if isinstance(value, str):
            return self.names.get(value, value)
        if isinstance(value, int) and not isinstance(value, bool) and value > self.now // 2:
            return value - self.now  # the store's time, asked for by itself
        return value  # type: ignore[no-any-return]
