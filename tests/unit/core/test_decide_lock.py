"""The last check: an outside lock that a start needs."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from noonmark.core import codec, lapsed, reasons
from noonmark.core.conditions import lock_fact, lock_name
from noonmark.core.decide import LOCK_FREED, LOCK_RECHECK, LOCK_SOON, decide
from noonmark.core.model import DAY, SECOND, CatchUp, Cron, Event, Fact, Job, LockRule, Manual, Origin, State, Verdict
from noonmark.core.urls import LOCK_KINDS, lock_kind
from noonmark.testing.builders import make_row

FRIDAY = 1_795_770_000_000_000
LOCK = LockRule(name="reindex")
JOB = Job(
    name="job", trigger=Cron(expression="0 9 * * *", tz="UTC"), reason="a test needs it", overlap="allow", lock=LOCK
)
GOING = Fact(name="pause:job")
OURS: dict[str, Any] = {"state": "ours", "at": "redis://h", "fence": 7}
TAKEN: dict[str, Any] = {"state": "taken", "at": "redis://h"}
AWAY: dict[str, Any] = {"state": "away", "at": "redis://h", "error": "refused"}


def decided(job: Job = JOB, value: Any = None, now: int = FRIDAY, **row: Any) -> Any:
    facts = {"pause:job": GOING, "lock:reindex": Fact(name="lock:reindex", value=value)}
    return decide(job, make_row(at=FRIDAY, claimed=True, **row), facts, now)


def test_it_is_asked_for_when_everything_else_has_passed_and_not_before() -> None:
    row = make_row(at=FRIDAY, claimed=True)
    decision = decide(JOB, row, {"pause:job": GOING}, FRIDAY)
    assert decision.needs == ("lock:reindex",)
    early = decide(JOB, make_row(at=FRIDAY, claimed=True, not_before=FRIDAY + DAY), {"pause:job": GOING}, FRIDAY)
    assert (early.needs, early.code) == ((), "window_not_open")


def test_held_by_us_it_starts_and_the_fence_is_on_record() -> None:
    decision = decided(value=OURS)
    assert (decision.event, decision.code) == (Event.START, "ready")
    assert decision.checks[-1].seen == "ours, fence 7"
    assert "lock:reindex" not in decision.seen, "a store cannot compare it"


def test_nobody_is_told_of_a_check_that_the_rule_does_not_have() -> None:
    plain = decided(replace(JOB, lock=None))
    assert "lock" not in [check.name for check in plain.checks]
    assert [check.name for check in decided(value=TAKEN).checks][-1] == "lock"


@pytest.mark.parametrize(
    ("job", "row", "event", "code"),
    [
        (JOB, {}, Event.SKIP, "lock_held"),
        (replace(JOB, lock=replace(LOCK, busy="wait")), {}, Event.PARK, "lock_wait"),
        (replace(JOB, trigger=Manual()), {}, Event.PARK, "lock_wait"),
        (replace(JOB, trigger=Manual(), lock=replace(LOCK, busy="skip")), {}, Event.SKIP, "lock_held"),
        (JOB, {"state": State.FAILED_RETRYING, "first_started_at": FRIDAY}, Event.PARK, "lock_wait"),
        (JOB, {"origin": Origin.LATER}, Event.SKIP, "lock_held"),
    ],
)
def test_what_a_taken_lock_means(job: Job, row: dict[str, Any], event: Event, code: str) -> None:
    decision = decided(job, TAKEN, **row)
    assert (decision.event, decision.code, decision.verdict) == (event, code, Verdict.SKIP_OVERLAP)
    assert decision.detail == {"lock": "reindex", "at": "redis://h"}


def test_away_is_not_ready_whatever_busy_says() -> None:
    for busy in ("skip", "wait"):
        decision = decided(replace(JOB, lock=replace(LOCK, busy=busy)), AWAY)
        assert (decision.event, decision.code, decision.verdict) == (Event.PARK, "lock_away", Verdict.SKIP_DEP)
        assert decision.detail["error"] == "refused"


def test_it_is_asked_again_after_the_rules_recheck_but_at_least_every_five_seconds() -> None:
    assert decided(value=AWAY).recheck_at == FRIDAY + LOCK_RECHECK
    quick = replace(JOB, catch_up=CatchUp(recheck=3 * SECOND))
    assert decided(quick, AWAY).recheck_at == FRIDAY + 3 * SECOND
    closing = decided(value=AWAY, not_after=FRIDAY + SECOND, not_before=FRIDAY - SECOND)
    assert closing.recheck_at == FRIDAY + SECOND, "never later than the end of the window"


def test_who_waits_waits_for_the_fact_that_a_run_raises_when_it_gives_the_lock_back() -> None:
    job = replace(JOB, lock=replace(LOCK, busy="wait"))
    assert decided(job, TAKEN).seen["lock:reindex"] == 0
    moved = Fact(name="lock:reindex", value=TAKEN, version=4, set_at=FRIDAY - SECOND // 4)
    freed = decide(job, make_row(at=FRIDAY, claimed=True), {"pause:job": GOING, moved.name: moved}, FRIDAY)
    assert freed.seen["lock:reindex"] == 4
    assert freed.recheck_at == FRIDAY + LOCK_SOON, "the run's outcome is recorded before the lock is given back"
    later = FRIDAY + LOCK_FREED
    gone = decide(job, make_row(at=FRIDAY, claimed=True), {"pause:job": GOING, moved.name: moved}, later)
    assert gone.recheck_at == later + LOCK_RECHECK
    assert "lock:reindex" not in decided(job, AWAY).seen


def test_a_dry_run_takes_no_lock_and_says_that_it_is_asked_for_at_the_start() -> None:
    decision = decided(value=None)
    assert (decision.event, decision.checks[-1].seen) == (Event.START, "asked at the start")


def test_that_somebody_gave_the_lock_back_is_no_answer_to_who_has_it() -> None:
    decision = decided(JOB, value=True)
    assert decision.event is Event.START
    assert decision.checks[-1].seen == "asked at the start"


def test_a_takeover_is_a_start_and_waits_for_the_dead_holders_lock() -> None:
    row = make_row(at=FRIDAY, claimed=True, state=State.RUNNING, first_started_at=FRIDAY, takeovers=1)
    fact = Fact(name="lock:reindex", value=TAKEN)
    held = lapsed.judge(JOB, row, lapsed.Holder(alive=False), {"pause:job": GOING, fact.name: fact}, FRIDAY + DAY)
    assert (held.event, held.code) == (Event.PARK, "lock_wait")
    ours = {fact.name: replace(fact, value=OURS)}
    assert lapsed.judge(JOB, row, lapsed.Holder(alive=False), ours, FRIDAY + DAY).event is Event.TAKEOVER


def test_the_name_is_rendered_for_the_occurrence() -> None:
    job = replace(JOB, lock=LockRule(name="{job}/{business_date}/{subject}"))
    name = lock_fact(job, make_row(at=FRIDAY, subject="channel=ops"))
    assert lock_name(name) == "job/2026-11-28/channel=ops"
    assert lock_name("flag:lock:x") == ""


def test_a_rule_without_a_lock_keeps_its_digest_and_one_with_a_lock_has_another() -> None:
    plain = replace(JOB, lock=None)
    assert "lock" not in codec.rule_text(plain)
    assert codec.digest(plain) != codec.digest(JOB)
    assert codec.job_from_text(codec.rule_text(JOB)) == JOB
    with pytest.raises(codec.RuleUnreadable, match="does not know wait"):
        codec.job_from_plain({**codec.job_to_plain(JOB), "lock": {"name": "x", "wait": True}})


@pytest.mark.parametrize("lang", ["en", "zh"])
@pytest.mark.parametrize("code", ["lock_held", "lock_wait", "lock_away", "lock_lost"])
def test_every_reason_names_the_lock(code: str, lang: str) -> None:
    said = reasons.sentence(code, {"lock": "reindex", "at": "redis://h", "error": "refused"}, lang=lang)
    assert "reindex" in said
    assert reasons.remedy(code, lang)


@pytest.mark.parametrize(
    ("scheme", "kind"),
    [
        ("redis", "redis"), ("rediss", "redis"), ("valkey", "redis"), ("redis+cluster", "redis"), ("REDIS", "redis"),
        ("redlock", "redlock"), ("postgresql", "postgres"), ("postgres", "postgres"), ("sqlite", "sqlite"),
        ("etcds", "etcd"), ("zookeeper", "zookeeper"), ("memory", "memory"), ("mysql", ""), ("", ""),
    ],
)  # fmt: skip
def test_a_scheme_means_one_kind(scheme: str, kind: str) -> None:
    assert lock_kind(scheme) == kind
    assert kind in {*LOCK_KINDS, ""}
