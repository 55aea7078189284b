"""The doctor's questions to clocks, workers and rules."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from desk import DIGEST, Desk

from noonmark.core.model import DAY, SECOND, Act
from noonmark.core.times import tzdata_version
from noonmark.explain import doctor
from noonmark.explain.doctor import examine, of_this_machine, promises
from noonmark.faces.cli.doctor_words import IN_CHINESE
from noonmark.ports.doctor import Finding, raise_if_refused
from noonmark.ports.store import Capability, StoreUnusable
from noonmark.stores.sqlite import SqliteStore
from noonmark.testing.builders import make_job, make_worker
from noonmark.testing.clock import VirtualClock


@pytest.fixture
def desk() -> Desk:
    made = Desk()
    made.register(DIGEST)
    return made


def found(desk: Desk, clock: VirtualClock | None = None, **options: object) -> dict[str, Finding]:
    findings = examine(desk.store, clock or desk.clock, version="1", **options)  # type: ignore[arg-type]
    for finding in findings:
        sentence, remedy = IN_CHINESE[finding.code]
        assert sentence.format(**finding.detail)
        assert bool(remedy.format(**finding.detail)) == bool(finding.remedy), finding.code
    return {finding.code: finding for finding in findings}


def beat(desk: Desk, name: str = "w1", **fields: object) -> None:
    card = {"jobs": ("digest",), "version": "1", "tzdata": tzdata_version()}
    desk.store.heartbeat(make_worker(name, **{**card, **fields}), 60 * SECOND)


def test_nobody_awake_is_told_only_where_something_could_run(desk: Desk) -> None:
    assert found(desk)["workers_none"].level == "warn"
    assert "workers_none" not in found(Desk())


def test_work_that_waits_while_nobody_is_awake_must_be_mended(desk: Desk) -> None:
    due = desk.store.tallies().earliest_due
    assert due is not None
    desk.clock.advance(due - desk.store.now() + 60 * SECOND)
    assert found(desk)["workers_none"].level == "warn", "a minute is a restart"
    desk.clock.advance(7 * 60 * 60 * SECOND)
    told = found(desk)
    assert "workers_none" not in told
    assert (told["work_waits"].level, told["work_waits"].detail["late"]) == ("refuse", "7 h 1 min")
    beat(desk)
    assert not {"work_waits", "workers_none"} & set(found(desk))


def test_a_rule_that_came_back_is_told_in_both_languages(desk: Desk) -> None:
    desk.register(replace(DIGEST, reason="another"))
    assert "rule_returned" not in found(desk)
    desk.register(DIGEST)
    told = found(desk)["rule_returned"]
    assert (told.level, told.detail["revision"], told.detail["as_in"]) == ("warn", 3, 1)


def test_living_workers_are_named_and_well(desk: Desk) -> None:
    beat(desk)
    told = found(desk)
    assert "w1" in told["workers_awake"].sentence
    assert not {"workers_skewed", "workers_tzdata", "workers_version", "rules_nobody_runs"} & set(told)


def test_skewed_clocks_other_zone_data_and_other_versions_are_told(desk: Desk) -> None:
    for number in range(7):
        beat(desk, f"w{number}", wall_offset=-3 * SECOND, tzdata="2020a", version="0.9")
    told = found(desk)
    assert "w0 (-3.0 s)" in told["workers_skewed"].sentence
    assert "+2" in told["workers_skewed"].sentence
    assert "2020a" in told["workers_tzdata"].sentence
    assert "0.9" in told["workers_version"].sentence


def test_a_clock_of_this_machine_that_is_off_is_told(desk: Desk) -> None:
    assert "clock_right" in found(desk)
    wrong = VirtualClock(desk.clock.wall() + 90 * SECOND)
    assert "+90.00 s" in found(desk, wrong)["clock_off"].sentence


def test_jobs_that_nobody_runs_are_told(desk: Desk) -> None:
    beat(desk, jobs=("other",))
    assert "digest" in found(desk)["rules_nobody_runs"].sentence
    desk.store.act("r", Act(kind="end_job", actor="ada", job="digest"))
    assert "rules_nobody_runs" not in found(desk)


def test_a_rule_that_cannot_be_read_must_be_mended(desk: Desk) -> None:
    from noonmark.testing.builders import make_activation

    now = desk.store.now()
    desk.store.activate("r", [make_activation("odd", rule='{"v": 99}', effective_at=now)], actor="ada", at=now)
    finding = found(desk)["rules_unreadable"]
    assert (finding.level, "odd" in finding.sentence) == ("refuse", True)


def test_a_schedule_without_a_next_moment_is_told(desk: Desk) -> None:
    from noonmark.core.codec import digest, rule_text
    from noonmark.testing.builders import make_activation

    assert "rules_without_next" not in found(desk)
    now, job = desk.store.now(), make_job("lone", trigger=DIGEST.trigger)
    bare = make_activation("lone", rule=rule_text(job), digest=digest(job), effective_at=now)
    desk.store.activate("r", [bare], actor="ada", at=now)
    assert "lone" in found(desk)["rules_without_next"].sentence


def test_a_schedule_is_not_told_for_want_of_reading_all(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    desk.register(make_job("second", trigger=DIGEST.trigger))
    monkeypatch.setattr(doctor, "FRONTIERS_AT_ONCE", 1)
    assert "rules_without_next" not in found(desk)


def test_declared_rules_are_compared_with_those_in_force(desk: Desk) -> None:
    assert found(desk, declared=[DIGEST])["rules_in_force"].level == "ok"
    assert "other" in found(desk, declared=[DIGEST, make_job("other")])["rules_not_in_force"].sentence


def test_a_store_that_keeps_nothing_says_so(desk: Desk) -> None:
    told = found(desk)
    assert told["memory_forgets"].level == "warn"
    assert "durability_none" not in told, "said once is enough"


def test_what_a_store_tells_of_its_durability_is_not_said_again() -> None:
    own = Finding(code="aof_everysec", level="warn", sentence="Once a second.", about="durability")
    assert list(promises({Capability.DURABLE_PROCESS}, [own])) == []
    said = [finding.code for finding in promises({Capability.DURABLE_PROCESS, Capability.FAILOVER_LOSS}, [])]
    assert said == ["durability_process", "failover_loss"]
    assert [finding.code for finding in promises(set(), [])] == ["durability_none"]


def test_versions_in_use_are_named() -> None:
    (finding,) = of_this_machine("1.2")
    assert "noonmark 1.2" in finding.sentence
    assert "apsw" in finding.sentence


def test_what_is_refused_is_refused_at_opening_in_the_same_words() -> None:
    fine = Finding(code="a", level="ok", sentence="Fine.")
    bad = Finding(code="b", level="refuse", sentence="It forgets.", remedy="Set noeviction.")
    raise_if_refused("redis://h", [fine])
    with pytest.raises(StoreUnusable, match=r"cannot use the store redis://h: It forgets\. Set noeviction\."):
        raise_if_refused("redis://h", [fine, bad])


@pytest.mark.parametrize("ahead", [7 * DAY, -90 * SECOND])
def test_a_file_s_time_is_told_apart_from_the_clock_that_it_was_taken_from(tmp_path: Path, ahead: int) -> None:
    clock = VirtualClock()
    store = SqliteStore(tmp_path / "noonmark.db", clock=clock, synchronous="OFF")
    clock.step_wall(-ahead)
    (told,) = (finding for finding in examine(store, clock) if finding.code.startswith("clock_"))
    assert (told.code, told.level) == ("clock_off_file", "warn")
    assert f"{-ahead / SECOND:+.2f} s" in told.sentence
    assert "if it is the wrong one" in told.remedy, "it may be the store's that is wrong"
    store.close()
