"""I4, I10, L1: what is recorded as the reason why something did not run was so; and who waits is woken.

Rule of the file: a reason is judged by what was certain from when the row was leased to when it was settled; what may
have moved in between is not asked about.
A flag that a failover took back is one that nobody has set.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from noonmark.core.model import (
    OPEN_STATES,
    SECOND,
    At,
    Cron,
    Event,
    Every,
    Fact,
    Job,
    Micros,
    Occurrence,
    Origin,
    State,
)
from noonmark.sim import almanac
from noonmark.sim.checkers.events import Judged
from noonmark.sim.checkers.ground import Ground
from noonmark.sim.checkers.watch import Watch
from noonmark.sim.history import Call

if TYPE_CHECKING:
    from noonmark.sim.world import SimWorld

PROVING: Micros = 35 * SECOND
"""After a failover nothing is taken before every writer has proved itself, or one heartbeat's ttl is over."""
_ENDS = frozenset({Event.SKIP, Event.MISS})


class Reasons(Watch):
    """Compares what was said with what was so."""

    name = "reasons"

    def __init__(self, world: SimWorld, ground: Ground) -> None:
        super().__init__(world, ground)
        self._set_at: dict[str, int] = {}  # flag -> when it was set first; nobody clears one in these worlds

    def on_call(self, call: Call) -> None:
        """Judge the reasons of what was ended or put off."""
        if call.verb == "signal" and not self.ground.is_repeat:
            self._see_signal(call)
        for judged in self.ground.judged:
            if judged.answer.outcome != "applied" or judged.was_answered or judged.before is None:
                continue
            if judged.item.event in _ENDS or judged.item.event is Event.PARK:
                self._judge(judged, judged.before)

    def on_failover(self) -> None:
        """Forget the flags that nobody has set any more."""
        self._set_at = {name: at for name, at in self._set_at.items() if self.ground.is_set(name)}

    def _judge(self, judged: Judged, row: Occurrence) -> None:
        judge = _JUDGES.get(judged.item.code)
        if judge is not None and not row.cancel_requested:
            self.prove(f"said {judged.item.code}")
            detail = json.loads(judged.item.detail)
            if not judge(self, judged, row, detail):
                what = f"r{row.id} of {row.job} ({row.scheduled_for}) was settled as {judged.item.code} at {judged.at}"
                self.blame("I10", f"{what}, which was not so: {judged.item.detail}")

    # -- what each reason means -----------------------------------------------------------------------

    def _in_progress(self, judged: Judged, row: Occurrence, detail: dict[str, Any]) -> bool:
        """The other one was in progress, or ended while this one was being decided; and the rule lets nobody wait."""
        rule = self.ground.rules.now(row.job)
        if rule is None or _must_wait(rule.job):
            return False
        other = self.ground.rows.get(detail.get("occupant", 0))
        if other is None:
            return False
        return other.state in OPEN_STATES or (other.ended_at or 0) >= judged.taken_at

    def _held(self, judged: Judged, row: Occurrence, detail: dict[str, Any]) -> bool:
        other = self.ground.rows.get(detail.get("holder", 0))
        if other is None or other.id == row.id or other.key != row.key:
            return False
        # It has the key, or gave it back while this one was being decided: superseded, skipped or cancelled.
        return other.claimed or other.state is State.SUCCESS or (other.ended_at or 0) >= judged.taken_at

    def _paused(self, judged: Judged, row: Occurrence, detail: dict[str, Any]) -> bool:
        del detail
        rules = self.ground.rules
        return any(rules.paused_at(row.job, at) for at in (row.scheduled_for, judged.taken_at, judged.at))

    def _weekend(self, judged: Judged, row: Occurrence, detail: dict[str, Any]) -> bool:
        del detail
        rule = self.ground.rules.now(row.job)
        if rule is None or rule.job.guardrails.allow_weekend:
            return False
        at = row.scheduled_for if judged.item.code == "weekend" else judged.at
        return almanac.is_weekend(at, rule.job.tz)

    def _too_late(self, judged: Judged, row: Occurrence, detail: dict[str, Any]) -> bool:
        del detail
        if row.origin is not Origin.SCHEDULE:
            return True
        limits = [almanac.limit(rule.job) for rule in self.ground.rules.that_yields(row.job, row.scheduled_for)]
        known = [limit for limit in limits if limit is not None]
        return row.first_started_at is None and bool(known) and judged.at > row.scheduled_for + min(known)

    def _closed(self, judged: Judged, row: Occurrence, detail: dict[str, Any]) -> bool:
        del detail
        rule = self.ground.rules.now(row.job)
        if rule is None or rule.job.window is None:
            return False
        if row.origin is not Origin.SCHEDULE or row.actor or almanac.is_repeated(judged.at, rule.job.tz):
            return True
        return judged.at >= almanac.closes(rule.job.window, row.scheduled_for, rule.job.tz)

    def _not_open(self, judged: Judged, row: Occurrence, detail: dict[str, Any]) -> bool:
        del detail
        rule = self.ground.rules.now(row.job)
        if rule is None or rule.job.window is None:
            return False
        zone = rule.job.tz
        is_open = almanac.is_open(rule.job.window, judged.taken_at, zone)
        return not is_open or almanac.is_repeated(judged.at, zone)

    def _flag_missing(self, judged: Judged, row: Occurrence, detail: dict[str, Any]) -> bool:
        del row
        return not all(self._set_at.get(name, judged.at) < judged.taken_at for name in detail.get("missing", ()))

    # -- who waits is woken ---------------------------------------------------------------------------------

    def _see_signal(self, call: Call) -> None:
        for fact in call.args[1]:
            assert isinstance(fact, Fact)
            if fact.value is None or fact.name in self._set_at:
                continue
            self._set_at[fact.name] = call.at
            for row in self._waiting_for(fact.name):
                self._expect(row)

    def _expect(self, row: Occurrence) -> None:
        """Whoever parks gives its lease back: within two seconds somebody well has looked again."""
        well = self.world.well()
        if not well or row.holder:
            return

        def judge() -> None:
            if self.world.well() != well or self.ground.is_quiet or not self.ground.has_settled(PROVING):
                return
            self.prove("signals that woke")
            if self.ground.rows[row.id] is row:
                self.blame("I4", f"r{row.id} of {row.job} waits for a flag that was set, and nobody looked again")

        self.world.after(2_000_000 + 4 * self.world.plan.latency, judge)

    def _waiting_for(self, fact: str) -> list[Occurrence]:
        rows = (self.ground.rows[row_id] for row_id in self.ground.open)
        return [row for row in rows if fact in _missing(row)]

    def at_end(self) -> None:
        """Nobody waits for what is there."""
        for row in self.ground.rows.values():
            if row.state not in OPEN_STATES:
                continue
            missing = _missing(row)
            if not missing:
                continue
            self.prove("rows that wait in the end")
            facts = self.world.cluster.facts(missing)
            if all(facts[name].is_set for name in missing):
                self.blame("I4", f"r{row.id} of {row.job} waits for {', '.join(missing)}, which is there")
            for name in missing:
                kind, job, _, date = [*name.split(":"), "", ""][:4]
                done = [other.id for other in self.ground.rows.values() if other.job == job and _is_done(other, date)]
                if kind == "success" and done:
                    self.blame("I4", f"r{row.id} of {row.job} waits for {name}, and r{done[0]} is that success")


def _missing(row: Occurrence) -> list[str]:
    if row.code not in ("flag_missing", "dependency_missing"):
        return []
    found: list[str] = json.loads(row.detail).get("missing", [])
    return found


def _must_wait(job: Job) -> bool:
    """A rule that wants every moment, one at a time, drops none because another is in progress."""
    is_series = isinstance(job.trigger, (Cron, Every, At))
    return job.overlap == "queue_all" or (job.overlap is None and is_series and job.catch_up.missed == "all")


def _is_done(row: Occurrence, date: str) -> bool:
    return row.state is State.SUCCESS and row.business_date == date


_JUDGES = {
    "slot_taken": Reasons._in_progress,
    "key_held": Reasons._held,
    "job_paused": Reasons._paused,
    "weekend": Reasons._weekend,
    "weekend_wait": Reasons._weekend,
    "limit_passed": Reasons._too_late,
    "window_closed": Reasons._closed,
    "window_not_open": Reasons._not_open,
    "flag_missing": Reasons._flag_missing,
}
