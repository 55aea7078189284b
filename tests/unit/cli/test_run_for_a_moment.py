"""A moment of the schedule that is over can be asked for by hand as what it was: its date, its key, its place."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from calling import Noonmark
from desk import DIGEST, Desk, at

from noonmark.core.model import MINUTE, Every, Job, Manual, Occurrence, OnEvent, Query, State, Verdict
from noonmark.door.asking import run_deeds
from noonmark.explain.meant import NotMeant, for_text, meant, moment_text

PAUSED_AT = "2026-11-27T12:05"
EVERY_SECOND = Job(name="s", trigger=Every(period=1_000_000), reason="r")
IN_NEW_YORK = Job(name="n", trigger=Every(period=60 * MINUTE, tz="America/New_York"), reason="r")


@pytest.fixture
def paused(desk: Desk) -> Desk:
    """Five past twelve was due while tick was paused, and is skipped; now it is six past, and nothing is paused."""
    desk.act("end_job", job="digest")
    desk.act("pause", job="tick", reason="a deployment")
    desk.later(5 * MINUTE)
    desk.beat()
    assert desk.look().verdict == Verdict.SKIP_PAUSED
    desk.later(MINUTE)
    desk.act("resume", job="tick")
    return desk


def asked(desk: Desk, noonmark: Noonmark, *args: str) -> Occurrence:
    answer = noonmark("run", "tick", "--for", PAUSED_AT, "--json", *args)
    assert answer.code == 0, answer
    return desk.row(answer.plain["runs"][0]["id"])


def test_a_moment_that_was_skipped_runs_as_what_it_was(paused: Desk, noonmark: Noonmark) -> None:
    row = asked(paused, noonmark, "--reason", "the pause was over by then")
    (skipped,) = paused.store.occurrences(Query(job="tick", states=frozenset({State.SKIPPED})))
    same = ("key", "scheduled_for", "nominal", "business_date", "subject")
    assert [getattr(row, name) for name in same] == [getattr(skipped, name) for name in same]
    assert row.due_at == paused.now
    done = paused.finish(paused.look(), code="succeeded")
    assert (done.id, done.state) == (row.id, State.SUCCESS)
    assert paused.row(skipped.id).state is State.SKIPPED, "what happened then stays on record"


def test_why_says_who_asked_for_it_and_when(paused: Desk, noonmark: Noonmark) -> None:
    row = asked(paused, noonmark, "--reason", "a reader asked")
    paused.finish(paused.look(), code="succeeded")
    told = noonmark("why", f"r{row.id}").out
    assert "ann asked for it by hand, 12:06." in told
    assert "Note by ann: a reader asked" in told
    assert "由 ann 于 12:06 手动请求。" in noonmark("--lang", "zh", "why", f"r{row.id}").out


def test_why_says_who_asked_for_it_when_no_reason_was_given_either(paused: Desk, noonmark: Noonmark) -> None:
    row = asked(paused, noonmark)
    told = noonmark("why", f"r{row.id}").out
    assert "ann asked for it by hand" in told
    assert "Note by" not in told


def test_a_moment_that_succeeded_is_a_duplicate_and_said_to_be_one(paused: Desk, noonmark: Noonmark) -> None:
    row = asked(paused, noonmark)
    waiting = noonmark("run", "tick", "--for", PAUSED_AT)
    assert waiting.code == 3, "it is under way"
    paused.finish(paused.look(), code="succeeded")
    again = noonmark("run", "tick", "--for", PAUSED_AT)
    assert again.code == 3
    assert again.out == f"refused: {row.key} was already done since 12:06 (r{row.id})\n"
    dry = noonmark("run", "tick", "--for", PAUSED_AT, "--dry-run", "--json")
    assert (dry.code, dry.plain["runs"][0]["code"]) == (3, "key_held")
    repeated = noonmark("run", "tick", "--for", PAUSED_AT, "--again", "--reason", "wrong figures", "--json")
    assert paused.row(repeated.plain["runs"][0]["id"]).generation == row.generation + 1


def test_a_moment_that_the_schedule_ran_is_a_duplicate_too(paused: Desk, noonmark: Noonmark) -> None:
    paused.until("2026-11-27T12:10:00")
    paused.beat()
    done = paused.finish(paused.look(), code="succeeded")
    assert noonmark("run", "tick", "--for", "2026-11-27T12:10").out.endswith(f"(r{done.id})\n")


@pytest.mark.usefixtures("paused")
def test_what_was_asked_for_is_told_with_its_moment(noonmark: Noonmark) -> None:
    run = noonmark("run", "tick", "--for", PAUSED_AT, "--json").plain["runs"][0]
    assert (run["business_date"], run["occurrence"]) == ("2026-11-27", "2026-11-27T12:05:00+08:00")
    dry = noonmark("run", "tick", "--for", PAUSED_AT, "--dry-run", "--json").plain["runs"][0]
    assert dry["occurrence"] == run["occurrence"]


def test_a_date_means_its_one_moment(desk: Desk, noonmark: Noonmark) -> None:
    desk.signal("corpus:2026-11-27")
    desk.until("2026-11-28T09:00:00")
    answer = noonmark("run", "digest", "--for", "2026-11-27", "--json")
    row = desk.row(answer.plain["runs"][0]["id"])
    assert (row.scheduled_for, row.nominal) == (at("2026-11-27T18:30:00"), "2026-11-27T18:30:00 Asia/Shanghai")
    today = desk.row(noonmark("run", "digest", "--for", "2026-11-28", "--json").plain["runs"][0]["id"])
    assert (today.business_date, today.scheduled_for) == ("2026-11-28", desk.now), "its moment is yet to come"


@pytest.mark.parametrize(
    ("when", "code", "english", "chinese"),
    [
        ("2026-11-27T12:07", 5, "nearest: 2026-11-27T12:05, 2026-11-27T12:10", "最近的是：2026-11-27T12:05"),
        ("2026-11-27T12:10", 5, "is due at 2026-11-27T12:10, which is yet to come", "到 2026-11-27T12:10 才到期"),
        ("2026-11-26", 5, "write one of them: --for 2026-11-26T00:00", "请写其中一个：--for 2026-11-26T00:00"),
        ("yesterday", 2, "'yesterday' is neither a date nor a time", "既不是日期也不是时间"),
        ("2026-02-30", 2, "neither a date nor a time", "既不是日期也不是时间"),
        ("2026-11-27T25:00", 2, "neither a date nor a time", "既不是日期也不是时间"),
    ],
)
def test_a_moment_that_the_rule_does_not_have_is_refused_in_words(
    paused: Desk, noonmark: Noonmark, when: str, code: int, english: str, chinese: str
) -> None:
    before = len(paused.store.occurrences(Query(job="tick")))
    told = noonmark("run", "tick", "--for", when)
    assert (told.code, told.out) == (code, "")
    assert english in told.err
    assert chinese in noonmark("--lang", "zh", "run", "tick", "--for", when).err
    assert noonmark("run", "tick", "--for", when, "--json").plain["error"]["exit"] == code
    assert len(paused.store.occurrences(Query(job="tick"))) == before


@pytest.mark.parametrize("trigger", [Manual(), OnEvent(name="order")])
def test_a_job_without_moments_has_none_to_ask_for(desk: Desk, noonmark: Noonmark, trigger: Manual | OnEvent) -> None:
    desk.register(Job(name="ask", trigger=trigger, reason="Somebody asks."))
    told = noonmark("run", "ask", "--for", "2026-11-27T12:00")
    assert told.code == 5
    assert "ask has no moments of its own" in told.err
    assert noonmark("run", "ask", "--for", "2026-11-26").code == 0, "a date it may well be about"


@pytest.mark.usefixtures("paused")
def test_the_command_that_why_offers_means_the_same_moment(noonmark: Noonmark) -> None:
    told = noonmark("why", "tick", "--at", PAUSED_AT).out
    assert f"noonmark run tick --for {PAUSED_AT}" in told


def test_a_moment_is_written_so_that_it_is_read_as_the_same_one() -> None:
    start = at("2026-11-01T04:00:00", "UTC")
    for step in range(4):  # 01:00 in New York comes twice on that day
        moment = start + step * 60 * MINUTE
        found = meant(IN_NEW_YORK, moment_text(IN_NEW_YORK, moment), start + 1_000 * MINUTE)
        assert found.moment is not None
        assert found.moment.at == moment
    assert moment_text(EVERY_SECOND, start + 7_000_000) == "2026-11-01T04:00:07"
    assert for_text(DIGEST, at("2026-11-27T18:30:00"), "2026-11-27") == "2026-11-27"
    assert for_text(EVERY_SECOND, start, "2026-11-01") == "2026-11-01T04:00"


def test_a_minute_in_which_a_job_is_due_more_than_once_is_not_guessed_at() -> None:
    with pytest.raises(NotMeant, match="several_moments"):
        meant(EVERY_SECOND, "2026-11-01T04:00", at("2026-11-02T00:00:00", "UTC"))


ELSEWHERE = ("--tz", "America/New_York")
"""The reader's times are New York's; the jobs of the desk are in Shanghai."""


@pytest.mark.usefixtures("paused")
def test_what_is_offered_to_be_typed_means_that_moment_to_a_reader_in_another_zone(noonmark: Noonmark) -> None:
    several = noonmark(*ELSEWHERE, "run", "tick", "--for", "2026-11-26")
    assert "--for 2026-11-26T00:00+08:00" in several.err
    asked = noonmark(*ELSEWHERE, "run", "tick", "--for", "2026-11-26T00:00+08:00", "--json").plain["runs"][0]
    assert (asked["key"], asked["business_date"]) == ("tick:2026-11-25T16:00:00Z", "2026-11-26")
    near = noonmark(*ELSEWHERE, "run", "tick", "--for", "2026-11-26T00:01").err
    assert "nearest: 2026-11-26T13:00+08:00, 2026-11-26T13:05+08:00" in near
    to_come = noonmark(*ELSEWHERE, "run", "tick", "--for", "2026-11-26T23:10").err
    assert "is due at 2026-11-27T12:10+08:00, which is yet to come" in to_come
    assert (
        f"noonmark run tick --for {PAUSED_AT}+08:00"
        in noonmark(*ELSEWHERE, "why", "tick", "--at", "2026-11-26T23:05").out
    )
    assert (
        f"noonmark run tick --for {PAUSED_AT}" in noonmark("--tz", "Asia/Taipei", "why", "tick", "--at", PAUSED_AT).out
    )


def test_a_moment_of_a_deed_is_written_for_readers_of_any_zone(paused: Desk, noonmark: Noonmark) -> None:
    row = asked(paused, noonmark)
    (deed,) = run_deeds(paused.store, paused.jobs["tick"], row.id, {}, note="", again=False)
    assert deed.words[deed.words.index("--for") + 1] == f"{PAUSED_AT}+08:00"


@pytest.mark.parametrize(("job", "day"), [("tick", "2026-11-28"), ("digest", "2026-11-28"), ("digest", "2027-11-27")])
def test_a_date_whose_moments_are_yet_to_come_is_refused(desk: Desk, noonmark: Noonmark, job: str, day: str) -> None:
    before = desk.store.occurrences(Query(job=job))
    told = noonmark("run", job, "--for", day)
    assert (told.code, told.out) == (5, "")
    assert "yet to come" in told.err
    assert noonmark("run", job, "--for", day, "--dry-run").code == 5
    assert desk.store.occurrences(Query(job=job)) == before, "its key stays with its moment"


def test_the_date_of_today_may_be_asked_for_before_its_moment_whichever_day_the_work_is_about() -> None:
    nightly = replace(DIGEST, business_date="previous_day")
    early = at("2026-11-27T09:00:00")
    assert meant(nightly, "2026-11-26", early).business_date == "2026-11-26"
    with pytest.raises(NotMeant, match="moment_to_come"):
        meant(nightly, "2026-11-27", early)


@pytest.mark.parametrize("day", ["0001-01-01", "9999-12-31"])
def test_the_ends_of_the_calendar_are_dates_like_others(day: str) -> None:
    assert meant(DIGEST, day, at("2026-11-02T00:00:00")).business_date == day
    assert for_text(EVERY_SECOND, at("2026-11-27T18:30:00"), day) == "2026-11-27T10:30"


@pytest.mark.parametrize("job", ["tick", "nobody"])
def test_an_app_that_was_typed_is_looked_at_before_the_store_is(
    desk: Desk, noonmark: Noonmark, job: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    del desk
    monkeypatch.chdir(tmp_path)
    folder = noonmark("run", job, "--app", ".")
    assert (folder.code, folder.out) == (2, "")
    assert ". is a folder, not a file" in folder.err
    assert noonmark("run", job, "--app", "no/such.py").code == 5


@pytest.mark.parametrize("json", [(), ("--json",)])
def test_a_zone_that_is_none_is_refused_before_anything_is_asked_for(
    desk: Desk, noonmark: Noonmark, json: tuple[str, ...]
) -> None:
    before = desk.store.occurrences(Query(job="tick"))
    assert noonmark("--tz", "Nowhere/Land", "run", "tick", *json).code == 2
    assert desk.store.occurrences(Query(job="tick")) == before
