"""The one decision: every check, their order, what it needs, when it looks again, and that it is pure."""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from noonmark.core.decide import CHECKS, decide
from noonmark.core.lifecycle import next_state
from noonmark.core.model import (
    DAY,
    HOUR,
    MINUTE,
    SECOND,
    CatchUp,
    Cron,
    Decision,
    Event,
    Fact,
    FlagSet,
    Guardrails,
    Job,
    Occurrence,
    OnEvent,
    Origin,
    State,
    Succeeded,
    Verdict,
    Window,
)
from noonmark.testing.builders import make_row

FRIDAY = 1_795_770_000_000_000  # 2026-11-27T09:00:00Z
SATURDAY = FRIDAY + DAY
MONDAY = FRIDAY + 3 * DAY
NAMES = ["paused", "guard", "window", "limit", "duplicate", "dependency", "overlap"]
PLAIN = Job(name="job", trigger=Cron(expression="0 9 * * *", tz="UTC"), reason="a test needs it", overlap="allow")
WEEKDAYS = Guardrails(allow_weekend=False)
FLAG = FlagSet(flag="etl:{business_date}", reason="numbers first")


def row_at(at: int = FRIDAY, **fields: Any) -> Occurrence:
    return make_row(at=at, **fields)


def paused(**state: Any) -> Fact:
    return Fact(name="pause:job", version=4, value={"paused": True, "paused_at": 0, "resumed_at": None, **state})


GOING = Fact(name="pause:job", version=4, value=None)
FREE = Fact(name="key:key:1", value=None)


def held(by: int = 99, state: State = State.SUCCESS) -> Fact:
    return Fact(name="key:key:1", value={"occurrence_id": by, "state": state, "ended_at": 5, "origin": "manual"})


def decided(row: Occurrence, job: Job = PLAIN, *facts: Fact, now: int | None = None, ask: bool = True) -> Decision:
    """Decide with what is given; with ``ask`` facts that nobody gave are there, and unset."""
    known = {fact.name: fact for fact in (GOING, FREE, *facts)}
    while True:
        decision = decide(job, row, known, row.scheduled_for if now is None else now)
        if not (ask and decision.needs):
            if not decision.needs:
                assert next_state(row.state, decision.event) is not None, "every decision is a step of the life cycle"
            return decision
        assert not set(decision.needs) & set(known), "what is known is never asked for again"
        known |= {name: Fact(name=name) for name in decision.needs}


def verdict_of(decision: Decision) -> tuple[Verdict, Event, str]:
    return decision.verdict, decision.event, decision.code


# --- the table as a whole --------------------------------------------------------------------------


def test_the_checks_are_asked_in_this_order() -> None:
    assert [name for name, _, _ in CHECKS] == [*NAMES, "lock"]


def test_when_nothing_forbids_it_it_starts_and_every_check_says_so() -> None:
    decision = decided(row_at())
    assert verdict_of(decision) == (Verdict.SHOULD_RUN, Event.START, "ready")
    assert [check.name for check in decision.checks] == NAMES
    assert all(check.passed for check in decision.checks)
    assert decision.recheck_at is None


def test_ready_says_how_late_it_is() -> None:
    assert decided(row_at(), now=FRIDAY + 3 * MINUTE).detail["late"] == 3 * MINUTE


ALL_WRONG = replace(PLAIN, guardrails=WEEKDAYS, depends_on=(FLAG,), overlap="skip", catch_up=CatchUp(max_delay=HOUR))
SLOT = Fact(name="slot:job:", value={"occurrence_id": 7})
WRONG_ROW = row_at(SATURDAY, not_before=SATURDAY, not_after=SATURDAY + MINUTE, expires_at=SATURDAY)


@pytest.mark.parametrize(
    ("index", "code"),
    list(
        enumerate(["job_paused", "weekend", "window_closed", "limit_passed", "key_held", "flag_missing", "slot_taken"])
    ),
)
def test_the_first_refusal_decides_and_what_is_behind_it_is_not_reached(index: int, code: str) -> None:
    """Everything is wrong at once; one after the other is mended, and the next one speaks."""
    row, job, facts = WRONG_ROW, ALL_WRONG, [paused(), held(), SLOT]
    if index > 0:
        facts[0] = GOING
    if index > 1:
        job = replace(job, guardrails=Guardrails())
    if index > 2:
        row = replace(row, not_before=None, not_after=None)
    if index > 3:
        row = replace(row, expires_at=None)
    if index in (2, 3) or index > 4:  # a miss is one only while its key is free
        facts[1] = FREE
    if index > 5:
        facts.append(Fact(name="flag:etl:2026-11-28", version=2, value=True))
    decision = decided(row, job, *facts, now=SATURDAY + HOUR)
    assert decision.code == code
    passed = [True] * index + [False] + [None] * (6 - index)
    if index in (2, 3):
        passed[NAMES.index("duplicate")] = True
    assert [check.passed for check in decision.checks] == passed
    refusal = decision.checks[index]
    assert refusal.wanted
    assert refusal.seen


# --- needs -----------------------------------------------------------------------------------------


def test_a_fact_is_asked_for_only_when_it_can_change_the_answer() -> None:
    job = replace(PLAIN, depends_on=(FLAG,), overlap="skip")
    known: dict[str, Fact] = {}
    asked = []
    while (decision := decide(job, row_at(), known, FRIDAY)).needs:
        asked.append(decision.needs)
        known |= {name: Fact(name=name, version=1, value="flag:" in name or None) for name in decision.needs}
    assert asked == [("pause:job",), ("key:key:1",), ("flag:etl:2026-11-28",), ("slot:job:",)]
    assert decision.event is Event.START


def test_a_wait_by_the_clock_costs_no_fact_but_the_pause() -> None:
    decision = decide(PLAIN, row_at(not_before=FRIDAY + HOUR), {"pause:job": GOING}, FRIDAY)
    assert (decision.needs, decision.code) == ((), "window_not_open")


def test_all_conditions_are_asked_for_at_once_and_each_once() -> None:
    job = replace(PLAIN, depends_on=(FLAG, Succeeded(job="index"), replace(FLAG, reason="again")))
    decision = decided(row_at(), job, ask=False)
    assert decision.needs == ("flag:etl:2026-11-28", "success:index::2026-11-28")


def test_a_key_that_is_ours_is_not_looked_up() -> None:
    assert decide(PLAIN, row_at(claimed=True), {"pause:job": GOING}, FRIDAY).event is Event.START


def test_what_was_seen_goes_along_as_versions() -> None:
    job = replace(PLAIN, depends_on=(FLAG, Succeeded(job="index")))
    facts = [Fact(name="flag:etl:2026-11-28", version=3, value=True), Fact(name="success:index::2026-11-28", version=8)]
    seen = {"pause:job": 4, "flag:etl:2026-11-28": 3, "success:index::2026-11-28": 8}
    assert decided(row_at(), job, *facts).seen == seen
    started = decided(row_at(), job, facts[0], replace(facts[1], value=True))
    assert (started.event, started.seen) == (Event.START, seen)


# --- paused ----------------------------------------------------------------------------------------

STARTED: dict[str, Any] = {"first_started_at": FRIDAY, "state": State.FAILED_RETRYING, "attempt": 1, "claimed": True}


@pytest.mark.parametrize(
    "asked_for",
    [
        {"origin": Origin.MANUAL},
        {"origin": Origin.LATER},
        {"origin": Origin.EVENT},
        {"origin": Origin.BACKFILL},
        {"actor": "ann"},
        {"code": "retried"},
        STARTED,
    ],
)
def test_a_pause_ends_a_scheduled_moment_but_only_delays_what_was_asked_for_or_began(asked_for: dict[str, Any]) -> None:
    assert verdict_of(decided(row_at(), PLAIN, paused())) == (Verdict.SKIP_PAUSED, Event.SKIP, "job_paused")
    waiting = decided(row_at(**asked_for), PLAIN, paused())
    assert verdict_of(waiting) == (Verdict.SKIP_PAUSED, Event.PARK, "waiting_for_resume")
    assert waiting.recheck_at == FRIDAY + PLAIN.catch_up.recheck
    assert waiting.seen == {"pause:job": 4}


@pytest.mark.parametrize(
    ("scheduled", "event"),
    [(FRIDAY - 1, Event.START), (FRIDAY, Event.SKIP), (FRIDAY + HOUR - 1, Event.SKIP), (FRIDAY + HOUR, Event.START)],
)
def test_an_unpause_never_runs_what_fell_due_during_the_pause(scheduled: int, event: Event) -> None:
    over = paused(paused=False, paused_at=FRIDAY, resumed_at=FRIDAY + HOUR)
    assert decided(row_at(scheduled), PLAIN, over, now=FRIDAY + 2 * HOUR).event is event
    assert decided(row_at(scheduled, origin=Origin.MANUAL), PLAIN, over, now=FRIDAY + 2 * HOUR).event is Event.START


def test_a_persons_retry_of_a_moment_within_an_old_pause_runs() -> None:
    over = paused(paused=False, paused_at=FRIDAY, resumed_at=FRIDAY + HOUR)
    assert decided(row_at(actor="ann"), PLAIN, over, now=FRIDAY + DAY).event is Event.START


# --- guard -----------------------------------------------------------------------------------------


def test_a_moment_on_a_weekend_is_skipped_whenever_it_is_looked_at() -> None:
    job = replace(PLAIN, guardrails=WEEKDAYS)
    for now in (SATURDAY, MONDAY):
        decision = decided(row_at(SATURDAY), job, now=now)
        assert verdict_of(decision) == (Verdict.SKIP_GUARD, Event.SKIP, "weekend")
        assert decision.detail["day"] == "Sat"


def test_a_weekday_moment_looked_at_on_a_weekend_waits_for_monday_local() -> None:
    job = replace(PLAIN, trigger=Cron(expression="0 9 * * *", tz="Asia/Shanghai"), guardrails=WEEKDAYS)
    decision = decided(row_at(FRIDAY), job, now=SATURDAY)
    assert verdict_of(decision) == (Verdict.SKIP_GUARD, Event.PARK, "weekend_wait")
    assert decision.recheck_at == MONDAY - 9 * HOUR - 8 * HOUR  # Monday 00:00 in Shanghai


@pytest.mark.parametrize("wanted", [{"origin": Origin.EVENT}, {"origin": Origin.MANUAL}, {"actor": "ann"}, STARTED])
def test_what_was_asked_for_or_began_on_a_weekend_waits_for_a_weekday(wanted: dict[str, Any]) -> None:
    job = replace(PLAIN, guardrails=WEEKDAYS)
    assert decided(row_at(SATURDAY, **wanted), job).code == "weekend_wait"
    assert decided(row_at(SATURDAY, **wanted), job, now=MONDAY).event is Event.START


def test_the_weekend_is_that_of_the_jobs_zone() -> None:
    friday_evening_utc = FRIDAY + 10 * HOUR  # Saturday 03:00 in Shanghai
    job = replace(PLAIN, guardrails=WEEKDAYS)
    shanghai = replace(job, trigger=Cron(expression="0 9 * * *", tz="Asia/Shanghai"))
    assert decided(row_at(friday_evening_utc), job).event is Event.START
    assert decided(row_at(friday_evening_utc), shanghai).code == "weekend"


# --- window ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("now", "verdict"),
    [
        (FRIDAY - 1, (Verdict.SKIP_WINDOW, Event.PARK, "window_not_open")),
        (FRIDAY, (Verdict.SHOULD_RUN, Event.START, "ready")),
        (FRIDAY + HOUR - 1, (Verdict.SHOULD_RUN, Event.START, "ready")),
        (FRIDAY + HOUR, (Verdict.SKIP_WINDOW, Event.MISS, "window_closed")),
    ],
)
@pytest.mark.parametrize("state", [State.PENDING, State.FAILED_RETRYING])
def test_a_start_is_allowed_from_the_opening_to_just_before_the_close(
    now: int, verdict: tuple[Verdict, Event, str], state: State
) -> None:
    row = row_at(not_before=FRIDAY, not_after=FRIDAY + HOUR, state=state, claimed=True)
    decision = decided(row, now=now)
    assert verdict_of(decision) == verdict
    if decision.event is Event.PARK:
        assert decision.recheck_at == FRIDAY


def test_a_closed_window_says_why_it_had_not_started_before() -> None:
    decision = decided(row_at(not_before=FRIDAY, not_after=FRIDAY + HOUR, code="flag_missing"), now=FRIDAY + HOUR)
    assert decision.detail == {"opens": FRIDAY, "closes": FRIDAY + HOUR, "zone": "UTC", "last": "flag_missing"}
    assert (decision.checks[2].wanted, decision.checks[2].seen) == ("09:00-10:00", "10:00")


def test_a_row_that_a_person_took_up_again_meets_the_window_of_the_day_of_the_look() -> None:
    """The store forgets the compiled window at a person's retry; the rule still has one."""
    job = replace(PLAIN, window=Window(start="09:00", end="10:00"))
    row = row_at(actor="ann", code="retried")
    assert decided(row, job, now=FRIDAY + DAY + 30 * MINUTE).event is Event.START
    assert decided(row, job, now=FRIDAY + DAY + HOUR).code == "window_closed"
    early = decided(row, job, now=FRIDAY + DAY - HOUR)
    assert (early.code, early.recheck_at) == ("window_not_open", FRIDAY + DAY)


# --- limit -----------------------------------------------------------------------------------------


def test_the_limit_binds_the_first_start_only() -> None:
    row = row_at(expires_at=FRIDAY + MINUTE)
    assert decided(row, now=FRIDAY + MINUTE).event is Event.START
    missed = decided(row, now=FRIDAY + MINUTE + 1)
    assert verdict_of(missed) == (Verdict.SKIP_EXPIRED, Event.MISS, "limit_passed")
    assert missed.detail == {"late": MINUTE + 1, "allowed": MINUTE, "last": ""}
    assert decided(replace(row, **STARTED), now=FRIDAY + DAY).event is Event.START


# --- duplicate -------------------------------------------------------------------------------------


def test_a_held_key_ends_the_moment_and_names_the_holder() -> None:
    decision = decided(row_at(), PLAIN, held(42))
    assert verdict_of(decision) == (Verdict.SKIP_DUPLICATED, Event.SKIP, "key_held")
    assert decision.detail == {"key": "key:1", "holder": 42, "state": State.SUCCESS, "ended_at": 5}


def test_a_key_that_we_hold_ourselves_is_no_duplicate() -> None:
    assert decided(row_at(), PLAIN, held(1)).event is Event.START


def test_a_finished_digest_does_not_wait_for_fresh_data() -> None:
    """docs/semantics.md 3: the duplicate check comes before the conditions, and asks for none of them."""
    decision = decide(replace(PLAIN, depends_on=(FLAG,)), row_at(), {"pause:job": GOING, "key:key:1": held()}, FRIDAY)
    assert (decision.code, decision.needs) == ("key_held", ())


# --- dependency ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("condition", "name", "code"),
    [
        (FLAG, "flag:etl:2026-11-28", "flag_missing"),
        (Succeeded(job="index"), "success:index::2026-11-28", "dependency_missing"),
    ],
)
@pytest.mark.parametrize("value", [None, False])
def test_an_unmet_condition_parks_until_the_next_recheck(condition: Any, name: str, code: str, value: Any) -> None:
    job = replace(PLAIN, depends_on=(condition,), catch_up=CatchUp(recheck=7 * MINUTE))
    decision = decided(row_at(), job, Fact(name=name, version=6, value=value))
    assert verdict_of(decision) == (Verdict.SKIP_DEP, Event.PARK, code)
    assert decision.recheck_at == FRIDAY + 7 * MINUTE
    assert decision.detail["missing"] == [name]
    assert decision.seen[name] == 6
    assert decided(row_at(), job, Fact(name=name, version=7, value="yes")).event is Event.START


def test_every_unmet_condition_is_named_and_the_first_gives_the_reason() -> None:
    job = replace(PLAIN, depends_on=(Succeeded(job="a"), FLAG, Succeeded(job="b")))
    decision = decided(row_at(), job, Fact(name="success:a::2026-11-28", value=True))
    assert decision.code == "flag_missing"
    assert decision.detail == {"missing": ["flag:etl:2026-11-28", "success:b::2026-11-28"], "why": "numbers first"}
    assert decision.checks[5].seen == "flag etl:2026-11-28 not set, b succeeded for 2026-11-28 not set"


def test_a_catch_up_may_be_told_to_run_without_its_data_but_what_already_waits_keeps_waiting() -> None:
    job = replace(PLAIN, depends_on=(FLAG,), catch_up=CatchUp(only_if_data_ready=False))
    assert decided(row_at(), job, now=FRIDAY + MINUTE).code == "flag_missing"
    assert decided(row_at(), job, now=FRIDAY + MINUTE + 1).event is Event.START
    waiting = row_at(verdict=Verdict.SKIP_DEP)
    assert decided(waiting, job, now=FRIDAY + HOUR).code == "flag_missing"


# --- overlap ---------------------------------------------------------------------------------------


def test_a_round_is_skipped_while_the_one_before_is_in_progress() -> None:
    job = replace(PLAIN, overlap="skip")
    occupied = Fact(name="slot:job:channel=ops", value={"occurrence_id": 7})
    decision = decided(row_at(subject="channel=ops"), job, occupied)
    assert verdict_of(decision) == (Verdict.SKIP_OVERLAP, Event.SKIP, "slot_taken")
    assert decision.detail == {"occupant": 7}
    assert decided(row_at(subject="channel=sales"), job, occupied).event is Event.START


@pytest.mark.parametrize("begun", [STARTED, {"actor": "ann"}, {"code": "retried"}, {"first_started_at": FRIDAY}])
def test_what_began_or_was_taken_up_by_a_person_waits_for_the_slot_instead_of_vanishing(begun: dict[str, Any]) -> None:
    decision = decided(row_at(**begun), replace(PLAIN, overlap="skip"), SLOT)
    assert verdict_of(decision) == (Verdict.SKIP_OVERLAP, Event.PARK, "slot_wait")
    assert decision.recheck_at == FRIDAY + PLAIN.catch_up.recheck, "its turn comes from the store, nobody asks often"
    assert decision.seen["slot:job:"] == SLOT.version, "so that it is woken when the slot is left"


@pytest.mark.parametrize(
    ("rule", "waits"),
    [
        ({"catch_up": CatchUp(missed="all")}, True),
        ({"catch_up": CatchUp(missed="latest")}, False),
        ({"catch_up": CatchUp(missed="all"), "overlap": "skip"}, False),
        ({"overlap": "queue_all"}, True),
        ({"overlap": "queue_all", "trigger": OnEvent(name="x"), "catch_up": CatchUp(max_delay=None)}, True),
    ],
)
def test_a_round_waits_for_the_one_in_progress_where_every_one_must_run(rule: dict[str, Any], waits: bool) -> None:
    decision = decided(row_at(), replace(PLAIN, **({"overlap": None} | rule)), SLOT)
    assert decision.code == ("slot_wait" if waits else "slot_taken")


def test_who_waits_for_a_slot_looks_again_at_the_end_of_its_limit_and_is_missed_then() -> None:
    job = replace(PLAIN, overlap="queue_all")
    row = row_at(expires_at=FRIDAY + MINUTE)
    assert decided(row, job, SLOT).recheck_at == FRIDAY + MINUTE + 1
    assert decided(row, job, SLOT, now=FRIDAY + MINUTE + 1).code == "limit_passed"


def test_a_retry_is_not_in_its_own_way() -> None:
    own = Fact(name="slot:job:", value={"occurrence_id": 1})
    assert decided(row_at(**STARTED), replace(PLAIN, overlap="skip"), own).event is Event.START


def test_event_jobs_may_overlap_and_schedules_may_not_unless_they_say_so() -> None:
    for job, needs in ((replace(PLAIN, overlap=None), ("slot:job:",)), (replace(PLAIN, trigger=OnEvent(name="x")), ())):
        assert decided(row_at(), job, ask=False).needs == needs


# --- when to look again ----------------------------------------------------------------------------

WAITING = replace(PLAIN, depends_on=(FLAG,), catch_up=CatchUp(recheck=HOUR))


@pytest.mark.parametrize(
    ("fields", "recheck_at"),
    [
        ({}, FRIDAY + HOUR),
        ({"not_after": FRIDAY + MINUTE}, FRIDAY + MINUTE),
        ({"not_after": FRIDAY + DAY}, FRIDAY + HOUR),
        ({"expires_at": FRIDAY + MINUTE}, FRIDAY + MINUTE + 1),
        ({"expires_at": FRIDAY + MINUTE, **STARTED}, FRIDAY + HOUR),
        ({"expires_at": FRIDAY + MINUTE, "not_after": FRIDAY + SECOND}, FRIDAY + SECOND),
    ],
)
def test_a_look_is_never_put_off_beyond_the_end_of_window_or_limit(fields: dict[str, Any], recheck_at: int) -> None:
    assert decided(row_at(**fields), WAITING).recheck_at == recheck_at


def test_the_next_look_after_a_limit_is_the_one_that_notices_the_miss() -> None:
    row = row_at(expires_at=FRIDAY + MINUTE)
    again = decided(row, WAITING).recheck_at
    assert again is not None
    assert decided(row, WAITING, now=again).event is Event.MISS


def test_a_person_taken_up_row_is_not_parked_beyond_todays_window() -> None:
    job = replace(WAITING, window=Window(start="09:00", end="09:05"))
    assert decided(row_at(actor="ann"), job).recheck_at == FRIDAY + 5 * MINUTE


@pytest.mark.parametrize(
    ("fields", "code", "reached"),
    [
        ({"not_after": SATURDAY}, "window_closed", [True, False, False, None, True, None, None]),
        ({"expires_at": FRIDAY}, "limit_passed", [True, False, True, False, True, None, None]),
    ],
)
def test_what_waits_for_a_weekday_ends_when_its_window_or_limit_is_over(
    fields: dict[str, Any], code: str, reached: list[bool | None]
) -> None:
    """Else it would be looked at again at once, until Monday."""
    decision = decided(row_at(**fields), replace(PLAIN, guardrails=WEEKDAYS), now=SATURDAY)
    assert (decision.event, decision.code, decision.detail["last"]) == (Event.MISS, code, "weekend_wait")
    assert [check.passed for check in decision.checks] == reached


def test_what_waits_for_a_resume_ends_when_its_window_is_over() -> None:
    row = row_at(origin=Origin.MANUAL, not_after=FRIDAY + MINUTE)
    assert decided(row, PLAIN, paused(), now=FRIDAY).recheck_at == FRIDAY + MINUTE
    ended = decided(row, PLAIN, paused(), now=FRIDAY + MINUTE)
    assert (ended.event, ended.detail["last"]) == (Event.MISS, "waiting_for_resume")


# --- cancel ----------------------------------------------------------------------------------------


def test_a_noted_cancel_is_carried_out_at_the_look_without_asking_anything() -> None:
    row = row_at(cancel_requested=True, frontier=True, actor="ann", note="not needed")
    decision = decide(replace(PLAIN, depends_on=(FLAG,)), row, {}, FRIDAY)
    assert (decision.event, decision.code, decision.needs) == (Event.CANCEL, "cancelled", ())
    assert decision.detail == {"by": "ann", "reason": "not needed"}
    assert [check.passed for check in decision.checks] == [None] * 7


# --- pure ------------------------------------------------------------------------------------------

LOOKS = st.fixed_dictionaries(
    {
        "state": st.sampled_from([State.PENDING, State.FAILED_RETRYING]),
        "origin": st.sampled_from([Origin.SCHEDULE, Origin.MANUAL, Origin.EVENT]),
        "not_before": st.none() | st.integers(FRIDAY - DAY, FRIDAY + DAY),
        "not_after": st.none() | st.integers(FRIDAY - DAY, FRIDAY + DAY),
        "expires_at": st.none() | st.integers(FRIDAY, FRIDAY + DAY),
        "first_started_at": st.none() | st.just(FRIDAY),
        "claimed": st.booleans(),
        "actor": st.sampled_from(["", "ann"]),
        "verdict": st.sampled_from(["", "skip_dep"]),
        "cancel_requested": st.booleans(),
    }
).map(lambda fields: fields | (STARTED if fields["state"] is State.FAILED_RETRYING else {}))  # which has its key
RULES = st.builds(
    replace,
    st.just(PLAIN),
    guardrails=st.builds(Guardrails, allow_weekend=st.booleans()),
    depends_on=st.sampled_from([(), (FLAG,), (FLAG, Succeeded(job="index"))]),
    overlap=st.sampled_from(["skip", "allow"]),
    window=st.sampled_from([None, Window(start="09:00", end="10:00"), Window(length=HOUR)]),
    catch_up=st.builds(CatchUp, only_if_data_ready=st.booleans(), recheck=st.integers(SECOND, DAY)),
)
FACTS = st.fixed_dictionaries(
    {
        "pause:job": st.sampled_from(
            [GOING, paused(), paused(paused=False, paused_at=FRIDAY, resumed_at=FRIDAY + HOUR)]
        ),
        "key:key:1": st.sampled_from([FREE, held()]),
        "flag:etl:2026-11-28": st.builds(
            Fact, name=st.just("flag:etl:2026-11-28"), value=st.sampled_from([None, True])
        ),
        "success:index::2026-11-28": st.builds(Fact, name=st.just("x"), value=st.sampled_from([None, True])),
        "slot:job:": st.sampled_from([Fact(name="slot:job:"), SLOT]),
    }
)


@settings(max_examples=400, deadline=None)
@given(fields=LOOKS, job=RULES, facts=FACTS, now=st.integers(FRIDAY - DAY, FRIDAY + 3 * DAY))
def test_it_is_pure_total_and_always_a_legal_step_with_a_moment_to_look_again(
    fields: dict[str, Any], job: Job, facts: dict[str, Fact], now: int
) -> None:
    row, before = row_at(**fields), copy.deepcopy(facts)
    decision = decide(job, row, facts, now)
    assert decide(job, row, facts, now) == decision
    assert facts == before
    assert not decision.needs
    assert next_state(row.state, decision.event) is not None
    assert (decision.recheck_at is not None) == (decision.event is Event.PARK)
    if decision.recheck_at is not None:
        assert now < decision.recheck_at
        assert row.not_after is None or decision.recheck_at <= row.not_after
    if decision.event is Event.START:
        assert decision.verdict is Verdict.SHOULD_RUN
        assert row.not_after is None or now < row.not_after
        assert row.not_before is None or now >= row.not_before
    assert [check.name for check in decision.checks] == NAMES


@settings(max_examples=100, deadline=None)
@given(fields=LOOKS, job=RULES, facts=FACTS, now=st.integers(FRIDAY - DAY, FRIDAY + 3 * DAY))
def test_fetching_facts_one_need_at_a_time_gives_the_answer_of_knowing_them_all(
    fields: dict[str, Any], job: Job, facts: dict[str, Fact], now: int
) -> None:
    """Parity: the engine, which asks step by step, and the simulator, which knows everything, never disagree."""
    row, known, rounds = row_at(**fields), dict[str, Fact](), 0
    while (decision := decide(job, row, known, now)).needs:
        known |= {name: facts[name] for name in decision.needs}
        rounds += 1
        assert rounds <= len(CHECKS)
    assert decision == decide(job, row, facts, now)


def test_a_moment_whose_outcome_is_there_already_was_not_missed() -> None:
    row, late = row_at(not_after=FRIDAY + HOUR), FRIDAY + 2 * HOUR
    first = decide(PLAIN, row, {"pause:job": GOING}, late)
    assert first.needs == ("key:key:1",), "the key is asked before an alarm is raised"

    told = decided(row, PLAIN, GOING, held(), now=late)
    assert verdict_of(told) == (Verdict.SKIP_DUPLICATED, Event.SKIP, "key_held")
    assert [check.passed for check in told.checks] == [True, True, False, None, False, None, None]
    assert verdict_of(decided(row, PLAIN, GOING, FREE, now=late))[1] is Event.MISS
