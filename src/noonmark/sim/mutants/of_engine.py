"""Bugs of the engine: trust, renewal, remembering, retrying, and whose clock is believed.

Rule of the file: each one is what somebody might really write, or leave out, in a worker.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import replace
from typing import Any

from noonmark.core import lapsed, retry
from noonmark.core.model import HOUR, Decision, Event, Verdict
from noonmark.engine import activate, cases, outcomes, recording, runs
from noonmark.engine.context import _Abilities
from noonmark.engine.leases import Duty
from noonmark.engine.loop import Engine
from noonmark.engine.roster import Roster
from noonmark.engine.rules import Rules
from noonmark.engine.runs import Finish
from noonmark.explain import outcomes as words
from noonmark.ports.store import StoreError
from noonmark.sim import faults as f
from noonmark.sim.mutants.chances import ENOUGH, bereft, cut_off, runs_met
from noonmark.sim.mutants.plant import Anything, Mutant, Needs, Planter
from noonmark.sim.world import SimWorld
from noonmark.testing.faults import Through
from noonmark.testing.inline import DirectGate


def _trust_too_long(planter: Planter) -> None:
    planter.put(runs, "trust_end", lambda asked, lease: asked + 20 * lease)


def _renew_nothing(planter: Planter) -> None:
    def idle(_duty: Duty, held: Any) -> None:
        for run in held:
            run.renew_at += run.lease

    planter.put(Duty, "_renew", idle)


def _believe_in_lost_leases(planter: Planter) -> None:
    def make(renew: Anything) -> Anything:
        def deaf(duty: Any, held: Any) -> None:
            held, asked = list(held), duty._clock.boot()
            told, duty._on_lost = duty._on_lost, lambda _lost: None
            try:
                renew(duty, held)
            finally:
                duty._on_lost = told
            for run in held:
                run.believe(asked)

        return deaf

    planter.around(Duty, "_renew", make)


def _end_when_the_store_is_away(planter: Planter) -> None:
    async def call(gate: DirectGate, verb: Anything, *args: Any, **kwargs: Any) -> Any:
        try:
            return gate._do(verb, *args, **kwargs)
        except StoreError as error:
            raise ConnectionError(str(error)) from error

    async def guarded(_engine: Engine, step: Any) -> Any:
        return await step

    planter.put(DirectGate, "call", call)
    planter.put(Engine, "_guarded", guarded)


def _forgetting(*kinds: str) -> Anything:
    def plant(planter: Planter) -> None:
        def make(recollect: Anything) -> Anything:
            def forgetful(context: Any) -> Generator[Any, Any, Any]:
                memory = yield from recollect(context)
                return {**memory, **{kind: {} for kind in kinds}}

            return forgetful

        planter.around(_Abilities, "_recollect", make)

    return plant


def _call_an_error_a_success(planter: Planter) -> None:
    def make(settle: Anything) -> Anything:
        def rosy(finish: Finish, *rest: Any) -> Any:
            if not finish.ok and not finish.run.stop_reason and not finish.run.lost:
                finish = Finish(finish.run, ok=True, code="succeeded")
            return settle(finish, *rest)

        return rosy

    planter.around(recording, "settlement", make)


def _call_a_stop_a_success(planter: Planter) -> None:
    """What was told to stop has come to its end: that it was not its own end is forgotten."""

    def make(settle: Anything) -> Anything:
        def rosy(finish: Finish, *rest: Any) -> Any:
            if finish.run.stop_reason in ("timed_out", "handed_back"):
                finish.run.stop_reason = ""
                finish.run.saw_stop = False
                finish = Finish(finish.run, ok=True, code="succeeded")
            return settle(finish, *rest)

        return rosy

    planter.around(recording, "settlement", make)


def _retry_without_end(planter: Planter) -> None:
    planter.around(
        outcomes,
        "after_failure",
        lambda after: lambda job, row, **how: after(replace(job, retry=replace(job.retry, max=1000)), row, **how),
    )


def _wait_too_long(planter: Planter) -> None:
    planter.around(retry, "delay", lambda delay: lambda rule, failures, dice: 50 * delay(rule, failures, dice))


def _wait_not_at_all(planter: Planter) -> None:
    planter.put(retry, "delay", lambda *_: 0)


def _decide_by_our_own_clock(planter: Planter) -> None:
    planter.put(Engine, "store_now", lambda engine: engine._clock.wall())


def _take_by_our_own_clock(planter: Planter) -> None:
    def with_clock(store_for: Anything) -> Anything:
        def link(world: SimWorld, replica: Any) -> Any:
            made = store_for(world, replica)
            _CLOCKS[id(made)] = replica.clock
            return made

        return link

    def by_it(take: Anything) -> Anything:
        def taking(wire: Any, /, *args: Any, **kwargs: Any) -> Any:  # a take has a ``link`` of its own
            clock = _CLOCKS.get(id(wire))
            return take(wire, *args, **(kwargs if clock is None else {**kwargs, "at": clock.wall()}))

        return taking

    _CLOCKS.clear()
    planter.around(SimWorld, "store_for", with_clock)
    planter.around(Through, "take", by_it)


_CLOCKS: dict[int, Any] = {}


def _take_nothing_over(planter: Planter) -> None:
    def wait(_job: Any, _row: Any, _holder: Any, _facts: Any = None, now: int = 0) -> Decision:
        return Decision(verdict=Verdict.SKIP_LEASE, event=Event.PARK, code="lost", recheck_at=now + 2 * HOUR)

    planter.put(lapsed, "judge", wait)


def _take_over_for_ever(planter: Planter) -> None:
    planter.around(
        lapsed,
        "judge",
        lambda judge: lambda job, *rest: judge(replace(job, max_takeovers=1000, on_lost="takeover"), *rest),
    )


def _begin_in_the_past(planter: Planter) -> None:
    def make(activation: Anything) -> Anything:
        def past(job: Any, mark: Any, row: Any, effective_at: int, *rest: Any) -> Any:
            return activation(job, mark, row, effective_at - HOUR, *rest)

        return past

    planter.around(activate, "_activation", make)


def _raise_no_success(planter: Planter) -> None:
    planter.put(Rules, "raises_success", lambda *_: False)


def _alarm_nobody_of_a_miss(planter: Planter) -> None:
    planter.put(cases, "alerts_for", lambda *_, **__: ())


def _begin_a_run_twice(planter: Planter) -> None:
    def make(begin: Anything) -> Anything:
        def twice(roster: Roster, started: Any) -> None:
            begin(roster, started)
            assert roster._executor is not None
            roster._executor.start([run for run in started if run.row.id % 10 == 0])

        return twice

    planter.around(Roster, "begin", make)


def _renew_what_did_not_begin(planter: Planter) -> None:
    planter.put(Roster, "forsake", lambda *_: None)


def _call_every_success_punctual(planter: Planter) -> None:
    planter.put(words, "_of_success", lambda _row: "on_time")


ENGINE_MUTANTS: tuple[Mutant, ...] = (
    Mutant(
        name="trust outlives the lease",
        plant=_trust_too_long,
        needs=Needs(replicas=2, when=lambda plan: runs_met(plan, cut_off) >= ENOUGH),
    ),
    Mutant(name="leases are not renewed", plant=_renew_nothing, needs=Needs(any_job=("careful", "locked"))),
    Mutant(
        name="a lease that is lost is believed in",
        plant=_believe_in_lost_leases,
        needs=Needs(replicas=2, when=lambda plan: runs_met(plan, bereft) >= ENOUGH),
    ),
    Mutant(
        name="a worker ends when the store is away",
        plant=_end_when_the_store_is_away,
        seen_in="arq, procrastinate, APScheduler 4, kombu",
        needs=Needs(faults=(f.Outage,)),
    ),
    Mutant(name="steps are forgotten", plant=_forgetting("step"), needs=Needs(any_job=("tick", "digest"))),
    Mutant(
        name="a once-effect is called again after its intent",
        plant=_forgetting("intent", "done"),
        needs=Needs(any_job=("asked", "daily"), faults=(f.Crash,)),
    ),
    Mutant(name="an error counts as a success", plant=_call_an_error_a_success, needs=Needs(jobs=("asked",))),
    Mutant(name="what was stopped counts as a success", plant=_call_a_stop_a_success, needs=Needs(jobs=("hanging",))),
    Mutant(
        name="retries never end", plant=_retry_without_end, needs=Needs(any_job=("hanging", "windowed", "minutely"))
    ),
    Mutant(name="waits are fifty times too long", plant=_wait_too_long, needs=Needs(any_job=("hanging", "windowed"))),
    Mutant(
        name="a failure is tried again at once", plant=_wait_not_at_all, needs=Needs(any_job=("hanging", "minutely"))
    ),
    Mutant(
        name="what is missed is reckoned by a worker's own clock",
        plant=_decide_by_our_own_clock,
        seen_in="docket, arq, APScheduler",
        needs=Needs(faults=(f.StepClock,), any_job=("minutely", "channels", "hourly")),
    ),
    Mutant(
        name="what is due is reckoned by a worker's own clock",
        plant=_take_by_our_own_clock,
        seen_in="docket, pgqueuer, arq, APScheduler, DBOS, RedBeat; leases by client clock",
        needs=Needs(faults=(f.StepClock,)),
    ),
    Mutant(name="a lost run is never taken over", plant=_take_nothing_over, needs=Needs(faults=(f.Crash,))),
    Mutant(
        name="a run that kills its workers is taken over for ever",
        plant=_take_over_for_ever,
        needs=Needs(jobs=("poison",), deeds=("later",)),
    ),
    Mutant(name="a registration runs the past", plant=_begin_in_the_past, seen_in="APScheduler 4 (replace)"),
    Mutant(
        name="a success is announced to nobody",
        plant=_raise_no_success,
        needs=Needs(jobs=("follower",), deeds=("flag",)),
    ),
    Mutant(
        name="a missed moment alarms nobody",
        plant=_alarm_nobody_of_a_miss,
        needs=Needs(any_job=("hourly", "windowed", "careful"), faults=(f.Crash,)),
    ),
    Mutant(name="some runs are begun twice", plant=_begin_a_run_twice),
    Mutant(
        name="a run that could not begin is renewed for ever",
        plant=_renew_what_did_not_begin,
        seen_in="noonmark, found by these worlds",
        needs=Needs(
            when=lambda plan: any(
                isinstance(each, f.AtPoint) and (each.point, each.act) == ("run begins", "error")
                for each in plan.faults
            )
        ),
    ),
    Mutant(name="why calls every success punctual", plant=_call_every_success_punctual, needs=Needs(faults=(f.Crash,))),
)
