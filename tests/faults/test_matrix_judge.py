"""The judge of the fault suite can say no: every class of fault is shown to it, and it finds that one."""

from __future__ import annotations

import ast
import sys
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
from faults.checker import SECOND, Findings, Gap, History, Lost, Recorded, expected, judge, unflagged
from faults.effects import Effect, Reader, parse
from faults.figures import Outcome
from faults.site import Asked, Site
from faults.worker import read_plan

from noonmark.stores.memory import MemoryStore
from noonmark.testing.builders import make_caller_row
from noonmark.testing.clock import VirtualClock

ROOT = Path(__file__).resolve().parents[2]
BEGAN = 1_800_000_000 * SECOND
CLOCK = BEGAN - 500 * SECOND
"""The store's clock minus the monotonic one."""


def moment(due: int) -> str:
    return datetime.fromtimestamp(due / SECOND, UTC).isoformat()


def effect(phase: str, job: str, at: int, *, key: str = "", fence: int = 1, attempt: int = 1) -> Effect:
    mono = (at - CLOCK) * 1000
    return Effect(
        mono=mono,
        wall=at * 1000,
        pid=1,
        phase=phase,
        job=job,
        key=key or f"{job}:{moment(at // (2 * SECOND) * 2 * SECOND)}",
        run_id="r1",
        fence=fence,
        attempt=attempt,
    )


def success(job: str, due: int, **changes: object) -> Recorded:
    told = Recorded(job=job, key=f"{job}:{moment(due)}", at=due, state="SUCCESS", verdict="should_run", why="It ran.")
    return replace(told, **changes)  # type: ignore[arg-type]


@pytest.fixture
def good() -> History:
    """Five ticks, all run a tenth of a second after they were due, all recorded."""
    dues = expected(BEGAN, BEGAN + 10 * SECOND, 2 * SECOND)
    assert len(dues) == 5
    return History(
        effects=[effect("begin", "tick", due + 100_000) for due in dues],
        recorded=[success("tick", due) for due in dues],
        since=BEGAN,
        until=BEGAN + 10 * SECOND,
        ticks=["tick"],
        ahead=CLOCK,
    )


def faults_of(found: Findings) -> set[str]:
    names = ("doubled", "explained", "lost", "early", "stale_accepted", "off_policy", "silent")
    return {name for name in names if getattr(found, name)}


def test_a_history_without_a_fault_has_none(good: History) -> None:
    found = judge(good)
    assert (faults_of(found), found.due, found.ran) == (set(), 5, 5)


def test_a_tick_that_nobody_ran_and_nobody_recorded_is_lost(good: History) -> None:
    assert faults_of(judge(replace(good, effects=good.effects[1:], recorded=good.recorded[1:]))) == {"lost"}


def test_a_tick_that_is_said_to_have_run_and_left_no_effect_is_lost(good: History) -> None:
    assert faults_of(judge(replace(good, effects=good.effects[1:]))) == {"lost"}


def test_a_tick_that_is_still_open_is_lost(good: History) -> None:
    recorded = [replace(good.recorded[0], state="RUNNING"), *good.recorded[1:]]
    assert faults_of(judge(replace(good, recorded=recorded))) == {"lost"}


def test_a_tick_that_was_left_out_with_a_record_is_not_lost(good: History) -> None:
    recorded = [
        replace(good.recorded[0], state="SKIPPED", verdict="skip_superseded", why="Because."),
        *good.recorded[1:],
    ]
    assert faults_of(judge(replace(good, effects=good.effects[1:], recorded=recorded))) == set()


def test_a_decision_that_has_nothing_to_say_is_silent(good: History) -> None:
    recorded = [replace(good.recorded[0], state="SKIPPED", verdict="skip_superseded", why=""), *good.recorded[1:]]
    assert faults_of(judge(replace(good, effects=good.effects[1:], recorded=recorded))) == {"silent"}


def test_a_success_that_has_nothing_to_say_is_silent_as_well(good: History) -> None:
    recorded = [replace(good.recorded[0], why=""), *good.recorded[1:]]
    assert faults_of(judge(replace(good, recorded=recorded))) == {"silent"}


def test_a_run_that_was_asked_for_and_has_nothing_to_say_is_silent(good: History) -> None:
    run = effect("begin", "delayed", BEGAN + SECOND, key="delayed:1")
    told = success("delayed", BEGAN, key="delayed:1", why="")
    history = replace(good, effects=[*good.effects, run], recorded=[*good.recorded, told], asked={"delayed:1": BEGAN})
    assert faults_of(judge(history)) == {"silent"}


def test_what_was_not_asked_about_is_neither_silent_nor_counted_as_told(good: History) -> None:
    recorded = [replace(good.recorded[0], why=None), *good.recorded[1:]]
    found = judge(replace(good, recorded=recorded))
    assert (faults_of(found), found.told) == (set(), 4)
    nobody = judge(replace(good, recorded=[replace(one, why=None) for one in good.recorded]))
    outcome = Outcome(cell="x", store="y")
    outcome.judge(nobody)
    assert not outcome.is_green, "a cell in which nobody was asked why shows nothing about why"


def test_a_run_that_ended_without_a_verdict_is_lost(good: History) -> None:
    run = effect("begin", "delayed", BEGAN + SECOND, key="delayed:1")
    told = success("delayed", BEGAN, key="delayed:1", verdict="")
    history = replace(good, effects=[*good.effects, run], recorded=[*good.recorded, told], asked={"delayed:1": BEGAN})
    assert faults_of(judge(history)) == {"lost"}


LOST = Lost(since=BEGAN + 3 * SECOND, copied=BEGAN + 3 * SECOND, until=BEGAN + 7 * SECOND)
"""Of the ticks at 2, 4, 6, 8 and 10 s those at 4 and 6 s lie in it."""


def test_what_a_store_forgot_need_not_be_decided_and_everything_else_must(good: History) -> None:
    forgot = replace(good, recorded=[good.recorded[0], *good.recorded[3:]], lost=LOST)
    found = judge(forgot)
    assert (faults_of(found), found.due) == (set(), 3)
    assert faults_of(judge(replace(forgot, recorded=forgot.recorded[1:]))) == {"lost"}
    assert faults_of(judge(replace(forgot, recorded=forgot.recorded[:-1]))) == {"lost"}
    lies = [*forgot.recorded, success("tick", BEGAN + 4 * SECOND)]
    without = [one for one in good.effects if moment(BEGAN + 4 * SECOND) not in one.key]
    assert faults_of(judge(replace(forgot, recorded=lies, effects=without))) == {"lost"}


def test_a_request_is_forgotten_only_when_it_was_accepted_after_the_copy_or_due_before_the_loss_was_seen(
    good: History,
) -> None:
    def faults(accepted: float, due: float) -> set[str]:
        asked, told = {"delayed:1": BEGAN + round(due * SECOND)}, {"delayed:1": BEGAN + round(accepted * SECOND)}
        return faults_of(judge(replace(good, asked=asked, accepted=told, lost=LOST)))

    assert faults(1, 2) == {"lost"}
    assert faults(1, 5) == set()
    assert faults(1, 8) == {"lost"}, "it was in the copy, and its time came after the loss was seen"
    assert faults(4, 8) == set(), "it was accepted after the copy was made"
    assert faults(8, 9) == {"lost"}


def test_what_was_due_a_little_after_the_earliest_moment_is_forgotten_by_the_moment_that_the_store_has(
    good: History,
) -> None:
    def faults(at: int) -> set[str]:
        held = Recorded(job="delayed", key="delayed:0", at=at, state="RUNNING", verdict="should_run")
        asked = {"delayed:0": LOST.since - 10}
        return faults_of(judge(replace(good, asked=asked, lost=LOST, recorded=[*good.recorded, held])))

    assert faults(LOST.since + 1) == set(), "it was under way when the copy was made"
    assert faults(LOST.since) == {"lost"}


def test_what_was_asked_for_long_before_the_counting_began_is_judged_by_its_record(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Striking a worker at every point takes minutes on a busy machine; what it left is judged in the end."""
    clock = VirtualClock()
    store = MemoryStore(clock)
    store.add("early", [make_caller_row("early", at=store.now())])
    early = Asked(id=1, key="key:early", accepted=store.now(), earliest=store.now(), due=store.now())
    clock.advance(10 * 60 * SECOND)
    monkeypatch.setattr(Site, "store", store)
    (tmp_path / "effects.log").touch()
    site = Site.__new__(Site)
    site.since, site.asked, site._reader = store.now(), [early], Reader(tmp_path / "effects.log")
    assert [record.key for record in site.recorded(store.now())] == ["key:early"]


def test_a_repeat_outside_of_what_was_lost_is_doubled_and_an_early_start_is_early_anywhere(good: History) -> None:
    inside = [*good.effects, effect("begin", "tick", BEGAN + 9 * SECOND, key=good.effects[1].key, fence=2)]
    outside = [*good.effects, effect("begin", "tick", BEGAN + 9 * SECOND, key=good.effects[0].key, fence=2)]
    assert faults_of(judge(replace(good, effects=inside, lost=LOST))) == set()
    assert faults_of(judge(replace(good, effects=outside, lost=LOST))) == {"doubled"}
    hasty = [good.effects[0], replace(good.effects[1], mono=good.effects[0].mono), *good.effects[2:]]
    assert faults_of(judge(replace(good, effects=hasty, lost=LOST))) == {"early"}


def test_a_flag_counts_only_when_it_was_there_before_the_second_start() -> None:
    assert not unflagged([5], [])
    assert unflagged([5, 9], [])
    assert unflagged([5, 9], [(5, "started"), (9, "started")])
    assert not unflagged([5, 9], [(9, "restored_epoch")])
    assert not unflagged([5, 9], [(7, "held_rollback"), (9, "started")])
    assert unflagged([5, 9], [(3, "held_rollback")]), "it is about an earlier loss"
    assert unflagged([5, 9], [(11, "held_rollback")]), "by then it had run again"
    assert unflagged([5, 9, 12], [(9, "restored_epoch")]), "each repeat needs its own"


def test_a_second_run_without_a_recorded_cause_is_doubled(good: History) -> None:
    twice = [*good.effects, effect("begin", "tick", BEGAN + 2_300_000, fence=2)]
    assert faults_of(judge(replace(good, effects=twice))) == {"doubled"}


def test_a_second_run_under_the_same_fence_is_doubled_whatever_is_recorded(good: History) -> None:
    twice = [*good.effects, effect("begin", "tick", BEGAN + 2_300_000)]
    recorded = [replace(good.recorded[0], attempts=((1, "lost"),)), *good.recorded[1:]]
    assert faults_of(judge(replace(good, effects=twice, recorded=recorded))) == {"doubled"}


def test_a_second_run_after_a_recorded_loss_is_explained(good: History) -> None:
    twice = [*good.effects, effect("begin", "tick", BEGAN + 2_300_000, fence=2)]
    recorded = [replace(good.recorded[0], attempts=((1, "lost"), (2, "success"))), *good.recorded[1:]]
    found = judge(replace(good, effects=twice, recorded=recorded))
    assert faults_of(found) == {"explained"}
    strict, lenient = Outcome(cell="x", store="y"), Outcome(cell="x", store="y")
    strict.judge(found)
    lenient.judge(found, repeats=True)
    assert (strict.is_green, lenient.is_green) == (False, True)


def test_a_run_a_millisecond_before_its_time_is_early(good: History) -> None:
    hasty = [replace(good.effects[0], mono=(BEGAN + 2 * SECOND - 1000 - CLOCK) * 1000), *good.effects[1:]]
    assert faults_of(judge(replace(good, effects=hasty))) == {"early"}
    delayed = effect("begin", "delayed", BEGAN + SECOND, key="delayed:1")
    told = success("delayed", BEGAN, key="delayed:1")
    asked = {"delayed:1": BEGAN + SECOND + 1000}
    found = judge(replace(good, effects=[*good.effects, delayed], recorded=[*good.recorded, told], asked=asked))
    assert faults_of(found) == {"early"}


def test_an_accepted_run_that_is_nowhere_is_lost(good: History) -> None:
    assert faults_of(judge(replace(good, asked={"delayed:1": BEGAN}))) == {"lost"}


def test_a_write_of_a_copy_whose_successor_has_begun_counts_and_must_be_refused(good: History) -> None:
    def copy(answer: str) -> list[Effect]:
        at = BEGAN + 20 * SECOND
        return [
            effect("begin", "long", at, key="long:1", fence=1),
            effect("begin", "long", at + 100, key="long:1", fence=2),
            effect("asked", "long", at + 200, key="long:1", fence=1),
            effect(answer, "long", at + 300, key="long:1", fence=1),
        ]

    told = success("long", BEGAN, key="long:1", attempts=((1, "lost"), (2, "success")))
    history = replace(good, recorded=[*good.recorded, told])
    refused = judge(replace(history, effects=[*good.effects, *copy("refused")]))
    accepted = judge(replace(history, effects=[*good.effects, *copy("accepted")]))
    assert (refused.stale_attempted, refused.stale_refused, faults_of(refused)) == (1, 1, {"explained"})
    assert faults_of(accepted) == {"explained", "stale_accepted"}


def test_after_a_gap_each_policy_is_held_to_its_word() -> None:
    gap = Gap(since=BEGAN, until=BEGAN + 7 * SECOND, looked=BEGAN + 7 * SECOND + 900_000)
    missed = expected(gap.since, gap.until, 2 * SECOND)
    back = BEGAN + 7_100_000

    def history(ran: dict[str, list[int]], verdicts: dict[str, str]) -> History:
        effects = [effect("begin", job, back, key=f"{job}:{moment(due)}") for job, dues in ran.items() for due in dues]
        recorded = [
            success(job, due)
            if due in ran[job]
            else success(job, due, state="SKIPPED", verdict=verdicts.get(job, ""), why="Because.")
            for job in ran
            for due in missed
        ]
        return History(effects=effects, recorded=recorded, since=gap.since, until=gap.until, ahead=CLOCK, gap=gap)

    right = {"tick": missed, "latest": missed[-1:], "skip": missed[-1:]}
    words = {"latest": "skip_superseded", "skip": "skip_expired"}
    assert faults_of(judge(history(right, words))) == set()
    for wrong in ({"tick": missed[1:]}, {"latest": missed}, {"latest": []}, {"skip": missed}):
        assert "off_policy" in faults_of(judge(history({**right, **wrong}, {**words, "tick": "skip_expired"}))), wrong
    assert "off_policy" in faults_of(judge(history(right, {**words, "latest": "skip_window"})))


def test_a_figure_beyond_its_bound_is_red() -> None:
    outcome = Outcome(cell="F2", store="sqlite")
    outcome.within("takeover", 4.4, 4.5)
    assert outcome.is_green
    outcome.within("back", 1.01, 1.0)
    assert not outcome.is_green
    assert outcome.worst is not None
    assert outcome.worst.name == "back"


def test_an_effect_is_read_as_it_was_written() -> None:
    one = parse("7 8 9 begin tick tick:x r1 5 2")
    assert (one.mono, one.wall, one.pid, one.phase, one.key, one.fence, one.attempt) == (
        7,
        8,
        9,
        "begin",
        "tick:x",
        5,
        2,
    )


def test_a_clock_plan_is_read() -> None:
    steps, drift, fixed = read_plan("0@0,300@2,-300@4"), read_plan("drift:0.02"), read_plan("-5")
    assert [steps(age) for age in (0, 1.9, 2, 5)] == [0, 0, 300, -300]
    assert drift(10) == pytest.approx(0.2)
    assert fixed(0) == fixed(99) == -5


def test_the_judge_knows_nothing_of_what_it_judges() -> None:
    for name in ("checker.py", "effects.py", "figures.py"):
        tree = ast.parse((ROOT / "faults" / name).read_text(encoding="utf-8"))
        imported = {
            name
            for node in ast.walk(tree)
            for name in (
                [alias.name for alias in node.names]
                if isinstance(node, ast.Import)
                else [node.module or ""]
                if isinstance(node, ast.ImportFrom)
                else []
            )
        }
        assert not any(name.startswith("noonmark") for name in imported), name
