"""S5, S6, S7, S8, I5, S11: no code runs that was not claimed, not early, not on the wrong ground, not after its lease.

Rule of the file: what the rule says is worked out here anew, by the almanac; the store's own columns prove nothing.
A claim that a failover took back was a claim: whoever had it could not know.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from noonmark.core.model import Event, FlagSet, Job, Micros, Origin, State
from noonmark.sim import almanac
from noonmark.sim.checkers.events import Begun
from noonmark.sim.checkers.ground import Ground
from noonmark.sim.checkers.watch import Watch
from noonmark.sim.history import Call, Effect

if TYPE_CHECKING:
    from noonmark.sim.world import SimWorld

AWAKE: Micros = 1000
"""So long after a pause a process has had its chance to see that its lease is over."""


class Effects(Watch):
    """Watches the ledger of effects against what the store had put on record."""

    name = "effects"

    def __init__(self, world: SimWorld, ground: Ground) -> None:
        super().__init__(world, ground)
        self._begun_effects: Counter[tuple[int, int]] = Counter()
        self._overstayed: Counter[tuple[int, int]] = Counter()  # run -> steps after its lease had ended
        self._succeeded: set[tuple[str, str]] = set()  # job and business date

    def on_call(self, call: Call) -> None:
        """Judge every start as the store carries it out."""
        del call
        for _, row in self.ground.changed:
            if row.state is State.SUCCESS and (rule := self.ground.rules.now(row.job)) is not None:
                self._succeeded.add((row.job, almanac.business_date(rule.job, row.scheduled_for)))
        for begun in self.ground.begun:
            rule = self.ground.rules.of(begun.row.job, begun.row.revision)
            if rule is None:
                self.blame("S15", f"r{begun.row.id} began under revision {begun.row.revision}, which nobody declared")
                continue
            self._judge_time(begun)
            self._judge_calendar(begun, rule.job)
            self._judge_conditions(begun, rule.job)
            self._judge_limit(begun)
            self._judge_pause_and_revision(begun)

    # -- when the store says yes --------------------------------------------------------------------

    def _judge_time(self, begun: Begun) -> None:
        row = begun.row
        self.prove("starts")
        if row.state is not State.RUNNING or row.looking:
            self.blame(
                "S5", f"r{row.id} of {row.job} was answered as begun, and is {row.state} under fence {row.fence}"
            )
        if begun.at < row.scheduled_for:
            self.blame("S6", f"r{row.id} of {row.job} began {row.scheduled_for - begun.at} µs early")
        before = begun.before
        if before is not None and before.state is State.FAILED_RETRYING and not before.holder:
            self.prove("starts after a wait")
            if before.due_at is not None and before.due_at > begun.at:
                self.blame("S6", f"r{row.id} of {row.job} was tried again {before.due_at - begun.at} µs too soon")

    def _judge_calendar(self, begun: Begun, job: Job) -> None:
        row = begun.row
        if job.window is not None:
            self.prove("starts within a window")
            is_repeated = almanac.is_repeated(begun.at, job.tz)
            if not almanac.is_open(job.window, begun.at, job.tz) and not is_repeated:
                self.blame("S7", f"r{row.id} of {job.name} began at {begun.at}, outside its window")
            elif not _is_taken_up(begun) and row.origin is Origin.SCHEDULE and not is_repeated:
                closed = almanac.closes(job.window, row.scheduled_for, job.tz)
                if begun.at >= closed:
                    self.blame("S7", f"r{row.id} of {job.name} began at {begun.at}, its window closed at {closed}")
        if not job.guardrails.allow_weekend:
            self.prove("starts on weekdays only")
            if almanac.is_weekend(begun.at, job.tz):
                self.blame("S7", f"r{row.id} of {job.name} began at a weekend")

    def _judge_conditions(self, begun: Begun, job: Job) -> None:
        row = begun.row
        if begun.event is Event.TAKEOVER:
            return  # the run had begun on ready data
        date = almanac.business_date(job, row.scheduled_for)
        for condition in job.depends_on:
            self.prove("starts on ready data")
            if isinstance(condition, FlagSet):
                name = condition.flag.replace("{business_date}", date)
                if "{" in name:
                    continue  # other names are not read here
                if not self.ground.is_set(f"flag:{name}"):
                    self.blame("S8", f"r{row.id} of {job.name} began, but flag {name} is not set")
            elif (condition.job, date) not in self._succeeded and "[" not in condition.job:
                self.blame("S8", f"r{row.id} of {job.name} began, but {condition.job} has no success for {date}")

    def _judge_limit(self, begun: Begun) -> None:
        row, before = begun.row, begun.before
        if before is None or before.first_started_at is not None or _is_taken_up(begun):
            return
        if row.origin is Origin.SCHEDULE:
            rules = self.ground.rules.that_yields(row.job, row.scheduled_for)
            limits = [almanac.limit(rule.job) for rule in rules]
        else:
            return
        if not limits or None in limits:
            return
        self.prove("first starts within a limit")
        latest = row.scheduled_for + max(limit for limit in limits if limit is not None)
        if begun.at > latest:
            self.blame("I5", f"r{row.id} of {row.job} began first {begun.at - latest} µs past its limit")

    def _judge_pause_and_revision(self, begun: Begun) -> None:
        row = begun.row
        if self.ground.rules.paused_at(row.job, begun.at):
            self.blame("S7", f"r{row.id} of {row.job} began while the job is paused")
        rule = self.ground.rules.now(row.job)
        if rule is not None and row.revision != rule.revision:
            self.blame("S15", f"r{row.id} of {row.job} began under revision {row.revision}, not {rule.revision}")
        is_first = begun.before is not None and begun.before.first_started_at is None
        was_due_in_a_pause = is_first and self.ground.rules.paused_at(row.job, row.scheduled_for)
        if was_due_in_a_pause and row.origin is Origin.SCHEDULE and not _is_taken_up(begun):
            self.blame("S7", f"r{row.id} of {row.job} was due in a pause, and began all the same")

    # -- when the job's code runs -----------------------------------------------------------------------

    def on_effect(self, effect: Effect) -> None:
        """Judge an effect by the claim it must have."""
        claim = self.ground.began.get((effect.occurrence_id, effect.fence))
        name = f"r{effect.occurrence_id} of {effect.job} ({effect.phase}, fence {effect.fence})"
        if claim is None:
            self.blame("S5", f"{name} has no claim")
            return
        if effect.phase == "start":
            self.prove("effects with a claim")
            if claim.who != effect.who:
                self.blame("S5", f"{name} ran on {effect.who}, but {claim.who} claimed it")
            if claim.row.attempt != effect.attempt:
                self.blame("S5", f"{name} says attempt {effect.attempt}, the claim {claim.row.attempt}")
            if effect.at < claim.row.scheduled_for:
                self.blame("S6", f"{name} ran {claim.row.scheduled_for - effect.at} µs early")
            self._begun_effects[(effect.occurrence_id, effect.fence)] += 1
            if self._begun_effects[(effect.occurrence_id, effect.fence)] > 1:
                self.blame("I1", f"{name} began twice under one fence")
        if effect.phase != "stop":
            self._judge_overstay(effect, name)
            self._judge_deafness(effect, name)

    def _judge_overstay(self, effect: Effect, name: str) -> None:
        """After a run's lease ended its code goes on only in the moment in which its process wakes, and by one step at most.

        A clock of the store that leapt is not its fault: what counts is the time that has really passed.
        """
        run = (effect.occurrence_id, effect.fence)
        ends = self.ground.ends.get(run)
        now = self.world.clock.boot()
        if ends is None or now <= ends:
            return
        self.prove("lines after a lease had ended")
        if effect.phase.startswith(("step:", "once:")):
            self._overstayed[run] += 1
            if self._overstayed[run] > 1:
                self.blame("S11", f"{name} is the step number {self._overstayed[run]} after its lease had ended")
        if now - self._awake_since(effect) > AWAKE:
            self.blame("S11", f"{name} went on {now - ends} µs after its lease had ended")

    def _judge_deafness(self, effect: Effect, name: str) -> None:
        """A run whose worker was told that its lease is another's, or nobody's, is stopped in that moment."""
        told_at = self.ground.told_lost.get((effect.occurrence_id, effect.fence))
        now = self.world.clock.boot()
        if told_at is None:
            return
        self.prove("lines after a lease was told to be lost")
        if now - max(told_at, self._awake_since(effect)) > AWAKE:
            self.blame("S11", f"{name} went on {now - told_at} µs after its worker was told that its lease is lost")

    def _awake_since(self, effect: Effect) -> Micros:
        """Return when the process that an effect is of stood still last, 0 = never."""
        return self.world.machines[int(effect.who[1:].partition(".")[0])].paused_until


def _is_taken_up(begun: Begun) -> bool:
    """Was it a person who took this row up again?  Then today's window binds it, and no limit."""
    return bool(begun.row.actor)
