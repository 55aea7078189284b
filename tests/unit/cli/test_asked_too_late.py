"""What a person asks for when its window is over: said at once, exit code 3, and told as it was afterwards."""

from __future__ import annotations

import pytest
from calling import Noonmark
from desk import Desk

from noonmark.core.model import Event, Query, State, Verdict


@pytest.fixture
def night(desk: Desk) -> Desk:
    """Half past nine in the evening: the window of digest closed at eight, and its data is ready."""
    desk.act("end_job", job="tick")
    desk.signal("corpus:2026-11-27")
    desk.until("2026-11-27T18:30:00")
    desk.beat()
    desk.finish(desk.look(), Event.FAIL_MANUAL, code="failed_final", error="ValueError: x")
    desk.signal("corpus:2026-11-26")
    desk.until("2026-11-27T21:30:00")
    desk.beat()
    return desk


def test_what_would_end_without_a_run_is_asked_for_with_3_and_says_so(night: Desk, noonmark: Noonmark) -> None:
    said = noonmark("run", "digest", "--for", "2026-11-26")
    assert said.code == 3
    assert "As things stand it ends without having run: Its window closed at " in said.err
    assert "不运行就会结束" in noonmark("run", "digest", "--for", "2026-11-25", "--lang", "zh").err
    assert [row.state for row in night.store.occurrences(Query(key="digest:2026-11-26"))] == [State.PENDING]


def test_what_only_waits_is_asked_for_with_0(desk: Desk, noonmark: Noonmark) -> None:
    desk.until("2026-11-27T18:31:00")
    said = noonmark("run", "digest", "--for", "2026-11-26")
    assert (said.code, "As things stand it would not run" in said.err) == (0, True), "its data may come yet"


def test_a_retry_that_can_try_nothing_any_more_says_so_with_3(night: Desk, noonmark: Noonmark) -> None:
    said = noonmark("retry", "r1")
    assert (said.code, said.out) == (3, "r1 is due again\n")
    assert "As things stand it ends without having run: Its window closed at " in said.err
    assert night.row(1).state is State.PENDING


@pytest.mark.usefixtures("night")
def test_json_says_what_comes_of_it_as_things_stand(noonmark: Noonmark) -> None:
    run = noonmark("run", "digest", "--for", "2026-11-26", "--json", "--quiet")
    (asked,) = run.plain["runs"]
    stands = asked["as_things_stand"]
    assert (run.code, stands["would_run"], stands["ends"], stands["code"]) == (3, False, True, "window_closed")
    assert stands["sentence"].startswith("As things stand it ends without having run: Its window closed at ")
    again = noonmark("run", "digest", "--for", "2026-11-26", "--json").plain["runs"][0]
    assert (again["outcome"], again["as_things_stand"]) == ("duplicate_key", None)
    retried = noonmark("retry", "r1", "--json")
    assert (retried.code, retried.plain["as_things_stand"]["ends"]) == (3, True)
    assert noonmark("retry", "r1", "--json").plain["as_things_stand"] is None, "it was not done"


def test_json_says_that_it_runs(noonmark: Noonmark) -> None:
    stands = noonmark("run", "tick", "--json").plain["runs"][0]["as_things_stand"]
    assert (stands["would_run"], stands["ends"]) == (True, False)


def test_why_blames_no_worker_for_what_was_asked_for_too_late(night: Desk, noonmark: Noonmark) -> None:
    number = noonmark("run", "digest", "--for", "2026-11-26", "--json").plain["runs"][0]["id"]
    row = night.look()
    assert row.id == number
    night.finish(row, Event.MISS, code="window_closed", verdict=Verdict.SKIP_WINDOW)
    told = noonmark("why", f"r{number}").out
    assert "It did not run: its window closed at 20:00, before it was asked for at 21:30." in told
    assert "first worker" not in told
    assert "才被请求" in noonmark("why", f"r{number}", "--lang", "zh").out
    assert "catch_up" not in told, "how late it may be has nothing to do with a window"


def test_a_person_overrides_the_window_by_name_and_reason(night: Desk, noonmark: Noonmark) -> None:
    line = ("run", "digest", "--for", "2026-11-26")
    assert '--again --override window --reason "…"' in noonmark(*line).err
    night.look()
    assert night.store.occurrences(Query(key="digest:2026-11-26"))[0].state is State.FAILED_MANUAL
    assert noonmark(*line, "--again", "--override", "window").code == 2, "why must be said"
    assert noonmark(*line, "--again", "--override", "weekend", "--reason", "x").code == 2

    tried = noonmark(*line, "--again", "--override", "window", "--reason", "the board asked", "--dry-run")
    said = noonmark(*line, "--again", "--override", "window", "--reason", "the board asked")

    assert (tried.code, said.code) == (0, 0), said.err
    run = night.look()
    assert run.state is State.RUNNING, "it starts after half past nine"
    assert (run.generation, run.business_date) == (1, "2026-11-26")
    night.fail(run, wait=3600 * 1_000_000)
    night.until("2026-11-27T22:45:00")
    night.beat()
    assert night.look().state is State.RUNNING, "its retries, too"
    told = noonmark("why", f"r{run.id}").out
    assert "the window was overridden: the board asked" in told
    assert "✔ window" in told


def test_overriding_the_window_overrides_nothing_else(desk: Desk, noonmark: Noonmark) -> None:
    desk.act("end_job", job="tick")
    desk.until("2026-11-27T21:30:00")
    desk.beat()
    desk.look()
    said = noonmark("run", "digest", "--for", "2026-11-26", "--override", "window", "--reason", "x")
    assert (said.code, "It waits for flag corpus:2026-11-26" in said.err) == (0, True), said.err
    assert desk.look().state is State.PENDING
