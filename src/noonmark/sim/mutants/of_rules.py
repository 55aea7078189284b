"""Bugs of calendar, catch-up and checks: moments too many, too few, at the wrong time or on the wrong ground.

Rule of the file: each one is what somebody might really write, or leave out, in the pure heart.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from functools import cache
from typing import Any

from noonmark.core import catchup, decide, lapsed, moments, series
from noonmark.core.answers import passes, unknown
from noonmark.core.cron import CronRule, parse_cron
from noonmark.core.model import SECOND, Check, Cron, Decision, Event, Every, Job, Verdict
from noonmark.sim import almanac
from noonmark.sim import faults as f
from noonmark.sim import plan as plans
from noonmark.sim.mutants.plant import Anything, Mutant, Needs, Planter, queues


def _fold_twice(planter: Planter) -> None:
    @cache
    def parse(expression: str, tz: str) -> CronRule:
        return replace(parse_cron(expression, tz), is_fixed_time=False)

    planter.put(moments, "parse_cron", parse)


def _gap_later(planter: Planter) -> None:
    """A local time that does not exist is moved by the length of the gap, as most libraries do."""

    def make(next_moment: Anything) -> Anything:
        def later(job: Job, after: int) -> Any:
            found = next_moment(job, after)
            if found is None or found.meant is None:
                return found
            shifted = found.at + found.meant % 3_600_000_000
            return replace(found, at=shifted) if shifted > after else next_moment(job, shifted)

        return later

    planter.around(moments, "next_moment", make)
    for module in (series, catchup):
        planter.put(module, "next_moment", moments.next_moment)


def _anchor_to_the_run(planter: Planter) -> None:
    """The next round is one period after this one was looked at."""

    def make(step: Anything) -> Anything:
        def drifting(job: Job, row: Any, now: int, *, revision: int) -> Any:
            if not isinstance(job.trigger, Every):
                return step(job, row, now, revision=revision)
            following = moments._absolute(job, now + job.trigger.period)
            return catchup.Step(adds=(catchup._row(job, row, following, revision, frontier=True),))

        return drifting

    planter.around(catchup, "step", make)


def _with_policy(policy: str, instead: str) -> Callable[[Planter], None]:
    def plant(planter: Planter) -> None:
        def make(step: Anything) -> Anything:
            def other(job: Job, row: Any, now: int, *, revision: int) -> Any:
                if job.catch_up.missed == policy:
                    job = replace(job, catch_up=replace(job.catch_up, missed=instead))
                return step(job, row, now, revision=revision)

            return other

        planter.around(catchup, "step", make)

    return plant


def _drop_what_is_late(planter: Planter) -> None:
    def make(step: Anything) -> Anything:
        def strict(job: Job, row: Any, now: int, *, revision: int) -> Any:
            judged = step(job, row, now, revision=revision)
            if judged.decision is None and now - row.scheduled_for > SECOND // 4:
                line = Check(name="missed", passed=False)
                said = Decision(
                    verdict=Verdict.SKIP_EXPIRED, event=Event.SKIP, code="missed_skipped", checks=(line,),
                    detail={"late": now - row.scheduled_for, "allowed": SECOND // 4},
                )  # fmt: skip
                return replace(judged, decision=said)
            return judged

        return strict

    planter.around(catchup, "step", make)


def _without(check: str, answer: Anything) -> Callable[[Planter], None]:
    """Plant a decision whose check always gives another answer."""

    def plant(planter: Planter) -> None:
        table = tuple((name, verdict, answer if name == check else how) for name, verdict, how in decide.CHECKS)
        planter.put(decide, "CHECKS", table)
        planter.put(lapsed, "CHECKS", table)

    return plant


def _anything_goes(_look: Any) -> Any:
    return passes("anything")


def _skip_who_should_wait(look: Any) -> Any:
    """A taken slot drops the round, whatever the rule says."""
    return _OVERLAP(replace(look, job=replace(look.job, overlap="skip" if look.job.one_at_a_time else "allow")))


_OVERLAP = decide.overlap


def _paused_now_only(look: Any) -> Any:
    """The past of a pause is forgotten as soon as it ends."""
    name = f"pause:{look.job.name}"
    fact = look.facts.get(name)
    if fact is None:
        return unknown(name)
    if (fact.value or {}).get("paused"):
        return decide.paused(look)
    return passes("not paused", facts=(fact,))


def _compile_no_window(planter: Planter) -> None:
    planter.put(series, "_window", lambda *_, **__: (None, None))
    _without("window", _anything_goes)(planter)


def _compile_no_limit(planter: Planter) -> None:
    def make(row: Anything) -> Anything:
        return lambda *args, **fields: replace(row(*args, **fields), expires_at=None)

    planter.around(series, "row_for_moment", make)


def _wrong_range(**wrong: Callable[[Any], Any]) -> Callable[[Planter], None]:
    def plant(planter: Planter) -> None:
        def make(record: Anything) -> Anything:
            def changed(*args: Any, **words: Any) -> Any:
                found = record(*args, **words)
                return tuple(replace(each, **{name: how(each) for name, how in wrong.items()}) for each in found)

            return changed

        planter.around(catchup, "_range", make)

    return plant


def _lose_ranges(planter: Planter) -> None:
    planter.put(catchup, "_range", lambda *_, **__: ())


def _one_key_for_all_subjects(planter: Planter) -> None:
    def make(row: Anything) -> Anything:
        def one(*args: Any, **fields: Any) -> Any:
            made = row(*args, **fields)
            return replace(made, key=made.key.replace(fields.get("subject", "").partition("=")[2] or "\0", "all"))

        return one

    planter.around(series, "row_for_moment", make)


def _zones(plan: plans.Plan) -> Iterator[str]:
    for specimen in plan.zoo:
        trigger = specimen.job.trigger
        if specimen.job.name in ("daily", "follower") and isinstance(trigger, Cron):
            with suppress(KeyError):
                yield {plans.STARTS[1]: "America/New_York", plans.STARTS[4]: "Europe/Berlin"}[plan.start]
                yield trigger.tz


def _is_before_a_fold(plan: plans.Plan) -> bool:
    found = list(_zones(plan))
    return any(zone == wanted for wanted, zone in zip(found[::2], found[1::2], strict=True))


def _is_in_a_gap(plan: plans.Plan) -> bool:
    """Does the daily job ask for a local time that does not exist on this day?"""
    for specimen in plan.zoo:
        trigger = specimen.job.trigger
        if specimen.job.name == "daily" and isinstance(trigger, Cron):
            found = moments.next_moment(specimen.job, plan.start)
            return found is not None and found.meant is not None
    return False


def _wakes_after_a_pause(plan: plans.Plan) -> bool:
    """Is there a moment in a pause at which nobody is awake, and which is the latest when somebody is again?"""
    jobs = {specimen.job.name: specimen.job for specimen in plan.zoo}
    crashes = [each for each in plan.faults if isinstance(each, f.CrashAll)]
    for pause in plan.deeds:
        ends = [deed.at for deed in plan.deeds if (deed.kind, deed.what) == ("resume", pause.what)]
        if pause.kind != "pause" or not ends:
            continue
        for crash in crashes:
            back = crash.at + crash.down
            latest = moments.previous_moment(jobs[pause.what], plan.start + back + 20 * SECOND)
            at = -1 if latest is None else latest.at - plan.start
            if max(pause.at, crash.at) + SECOND < at < min(ends) < back - SECOND and not _is_edited(plan, pause.what):
                return True
    return False


def _wakes_past_a_limit(plan: plans.Plan) -> bool:
    """Is there a moment at which nobody is awake, and which would be run when somebody is again, but for its limit?"""
    for crash in plan.faults:
        if not isinstance(crash, f.CrashAll):
            continue
        since, back = plan.start + crash.at + SECOND, plan.start + crash.at + crash.down
        for job in (specimen.job for specimen in plan.zoo if specimen.job.catch_up.missed != "skip"):
            limit = almanac.limit(job)
            if limit is None or not almanac.moments(job, since, back - limit - 5 * SECOND):
                continue
            if job.catch_up.missed == "all" or not almanac.moments(job, back - limit - 5 * SECOND, back + SECOND):
                return True
    return False


def _is_edited(plan: plans.Plan, job: str) -> bool:
    return any((deed.kind, deed.what) == ("edit", job) for deed in plan.deeds)


_WEEKEND = (plans.STARTS[0], plans.STARTS[5], plans.STARTS[1])
RULE_MUTANTS: tuple[Mutant, ...] = (
    Mutant(
        name="a repeated hour runs twice",
        plant=_fold_twice,
        seen_in="APScheduler 3 and 4, DBOS, croniter",
        needs=Needs(when=_is_before_a_fold),
        hours=3.0,
    ),
    Mutant(
        name="a time that does not exist is moved, not brought to the end of the gap",
        plant=_gap_later,
        seen_in="three answers in seven libraries",
        needs=Needs(any_job=("daily",), when=_is_in_a_gap),
        hours=2.0,
    ),
    Mutant(
        name="an interval is anchored to the last run",
        plant=_anchor_to_the_run,
        seen_in="docket",
        needs=Needs(jobs=("tick",)),
    ),
    Mutant(
        name="of every missed round only the latest runs",
        plant=_with_policy("all", "latest"),
        needs=Needs(jobs=("tick",), faults=(f.CrashAll,)),
    ),
    Mutant(
        name="a round that should wait for the one before it is skipped",
        plant=_without("overlap", _skip_who_should_wait),
        needs=Needs(jobs=("tick",), faults=(f.CrashAll,), when=queues),
    ),
    Mutant(
        name="every missed moment runs, although only the latest is wanted",
        plant=_with_policy("latest", "all"),
        needs=Needs(any_job=("minutely", "channels"), faults=(f.CrashAll,)),
    ),
    Mutant(
        name="what is missed is dropped, although the latest is wanted",
        plant=_with_policy("latest", "skip"),
        seen_in="Temporal's default of other systems",
        needs=Needs(any_job=("minutely", "channels"), faults=(f.CrashAll,)),
    ),
    Mutant(
        name="a moment that is a little late is dropped",
        plant=_drop_what_is_late,
        seen_in="APScheduler 3 (misfire grace)",
        needs=Needs(any_job=("minutely", "channels"), faults=(f.Outage,)),
    ),
    Mutant(
        name="weekends are not looked at",
        plant=_without("guard", _anything_goes),
        needs=Needs(jobs=("weekdays",), starts=_WEEKEND),
    ),
    Mutant(name="windows are not looked at", plant=_compile_no_window, needs=Needs(jobs=("windowed",))),
    Mutant(
        name="limits are not looked at",
        plant=_compile_no_limit,
        needs=Needs(faults=(f.CrashAll,), when=_wakes_past_a_limit),
    ),
    Mutant(
        name="conditions are not looked at", plant=_without("dependency", _anything_goes), needs=Needs(jobs=("daily",))
    ),
    Mutant(name="a pause is not looked at", plant=_without("paused", _anything_goes), needs=Needs(deeds=("pause",))),
    Mutant(
        name="the end of a pause runs its past",
        plant=_without("paused", _paused_now_only),
        needs=Needs(deeds=("pause",), faults=(f.CrashAll,), when=_wakes_after_a_pause),
    ),
    Mutant(
        name="a range forgets its first moment",
        plant=_wrong_range(scheduled_for=lambda each: each.scheduled_for + 1),
        needs=Needs(any_job=("minutely", "channels"), faults=(f.CrashAll,)),
    ),
    Mutant(
        name="a range miscounts",
        plant=_wrong_range(range_count=lambda each: each.range_count + 1),
        needs=Needs(any_job=("minutely", "channels"), faults=(f.CrashAll,)),
    ),
    Mutant(
        name="what was missed leaves no record",
        plant=_lose_ranges,
        seen_in="eight of nine peers",
        needs=Needs(any_job=("minutely", "channels"), faults=(f.CrashAll,)),
    ),
    Mutant(name="subjects share a key", plant=_one_key_for_all_subjects, needs=Needs(jobs=("channels",))),
)
