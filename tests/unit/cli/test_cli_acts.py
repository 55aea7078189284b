"""The commands that change something: what they did, what they refused, and the exit codes."""

from __future__ import annotations

import pytest
from calling import Noonmark
from desk import Desk

from noonmark.core.model import MINUTE, Event, Query, State


@pytest.fixture
def evening(desk: Desk) -> Desk:
    """Half past six, the data is ready."""
    desk.act("end_job", job="tick")
    desk.signal("corpus:2026-11-27")
    desk.until("2026-11-27T18:30:00")
    desk.beat()
    return desk


def rows(desk: Desk, **query: object) -> list[State]:
    return [row.state for row in desk.store.occurrences(Query(**query))]  # type: ignore[arg-type]


def test_run_adds_an_occurrence_with_the_key_of_the_date(evening: Desk, noonmark: Noonmark) -> None:
    answer = noonmark("run", "digest", "--for", "2026-11-26", "--reason", "a reader asked", "--json")
    assert answer.code == 0
    assert answer.plain["runs"][0]["key"] == "digest:2026-11-26"
    row = evening.row(answer.plain["runs"][0]["id"])
    assert (row.actor, row.note, row.business_date) == ("ann", "a reader asked", "2026-11-26")


def test_a_run_that_is_done_is_refused_with_3_and_the_holder_is_named(evening: Desk, noonmark: Noonmark) -> None:
    done = evening.finish(evening.look(), code="succeeded")
    answer = noonmark("run", "digest", "--for", "2026-11-27")
    assert answer.code == 3
    assert answer.out == f"refused: digest:2026-11-27 was already done since 18:30 (r{done.id})\n"
    assert "--again --reason" in answer.err


def test_again_needs_a_reason_and_then_makes_another_generation(evening: Desk, noonmark: Noonmark) -> None:
    evening.finish(evening.look(), code="succeeded")
    assert noonmark("run", "digest", "--for", "2026-11-27", "--again").code == 2
    answer = noonmark("run", "digest", "--for", "2026-11-27", "--again", "--reason", "wrong figures", "--json")
    assert answer.code == 0
    assert evening.row(answer.plain["runs"][0]["id"]).generation == 1


def test_a_dry_run_starts_nothing_and_says_what_would_happen(evening: Desk, noonmark: Noonmark) -> None:
    before = rows(evening)
    ready = noonmark("run", "digest", "--for", "2026-11-27", "--dry-run")
    assert ready.code == 0
    assert ready.out.startswith("digest digest:2026-11-27: As things stand it would run.")
    missing = noonmark("run", "digest", "--for", "2026-11-26", "--dry-run")
    assert missing.code == 3
    assert "corpus:2026-11-26" in missing.out
    assert rows(evening) == before
    evening.finish(evening.look(), code="succeeded")
    held = noonmark("run", "digest", "--for", "2026-11-27", "--dry-run", "--json")
    assert held.code == 3
    assert held.plain["runs"][0]["code"] == "key_held"
    again = noonmark("run", "digest", "--for", "2026-11-27", "--dry-run", "--again", "--reason", "x")
    assert again.code == 0


def test_run_refuses_impossible_dates_and_parameters_without_a_value(noonmark: Noonmark) -> None:
    assert noonmark("run", "digest", "--for", "2026-02-30").code == 2
    assert noonmark("run", "digest", "--param", "channel").code == 2
    assert noonmark("run", "nothing").code == 5


def test_retry_takes_a_failed_one_back_and_refuses_others(evening: Desk, noonmark: Noonmark) -> None:
    row = evening.finish(evening.look(), Event.FAIL_MANUAL, code="failed_final", error="ValueError: x")
    answer = noonmark("retry", f"r{row.id}")
    assert (answer.code, answer.out) == (0, f"r{row.id} is due again\n")
    assert evening.row(row.id).state is State.PENDING
    again = noonmark("retry", str(row.id))
    assert again.code == 3
    assert "still waiting" in again.out
    assert noonmark("retry", "r999").code == 5
    assert noonmark("retry", "soon").code == 2


def test_a_retry_says_that_an_effect_that_nobody_knew_of_is_caused_again(evening: Desk, noonmark: Noonmark) -> None:
    row = evening.finish(evening.look(), Event.FAIL_MANUAL, code="effect_unknown")
    asked = noonmark("why", f"r{row.id}").out
    assert (
        f"if it did, noonmark mark r{row.id} done --reason WHY; if not, noonmark retry r{row.id}, which causes" in asked
    )
    assert "is caused again" in noonmark("retry", f"r{row.id}").err


def test_cancel_ends_what_waits_asks_what_runs_and_leaves_what_is_done(evening: Desk, noonmark: Noonmark) -> None:
    row = evening.look()
    asked = noonmark("cancel", str(row.id), "--reason", "not today")
    assert asked.code == 0
    assert "asked to stop" in asked.out
    evening.finish(row, code="succeeded")
    assert noonmark("cancel", str(row.id)).code == 3
    assert evening.row(row.id).state is State.SUCCESS
    (frontier,) = evening.store.occurrences(Query(job="digest", open_only=True))
    assert noonmark("cancel", str(frontier.id)).out == f"r{frontier.id} will be cancelled when its moment comes\n"


def test_cancel_of_an_unknown_key_holds_it(evening: Desk, noonmark: Noonmark) -> None:
    assert noonmark("cancel", "--key", "digest:2026-12-24", "--job", "digest").code == 0
    assert rows(evening, key="digest:2026-12-24") == [State.CANCELLED]
    assert noonmark("cancel").code == 2
    assert noonmark("cancel", "1", "--key", "x").code == 2


def test_mark_needs_a_reason_and_records_it(evening: Desk, noonmark: Noonmark) -> None:
    row = evening.finish(evening.look(), Event.FAIL_MANUAL, code="failed_final", error="ValueError: x")
    assert noonmark("mark", str(row.id), "handled").code == 2
    answer = noonmark("mark", str(row.id), "handled", "--reason", "sent by hand")
    assert answer.code == 0
    assert evening.row(row.id).code == "marked_handled"
    assert "sent by hand" in noonmark("why", f"r{row.id}").out
    assert noonmark("mark", str(row.id), "perhaps", "--reason", "x").code == 2


def test_pause_needs_a_reason_and_resume_ends_it(desk: Desk, noonmark: Noonmark) -> None:
    assert noonmark("pause", "digest").code == 2
    assert noonmark("pause", "digest", "--reason", "stocktaking").code == 0
    assert desk.store.jobs(["digest"])[0].paused
    assert "(paused)" in noonmark("jobs").out
    assert "stocktaking" in noonmark("show", "digest").out
    assert noonmark("resume", "digest").code == 0
    assert not desk.store.jobs(["digest"])[0].paused


def test_signal_sets_and_clears_and_a_second_delivery_changes_nothing(desk: Desk, noonmark: Noonmark) -> None:
    first = noonmark("signal", "corpus:2026-11-27", "--json").plain
    assert noonmark("signal", "corpus:2026-11-27", "--json").plain["version"] == first["version"]
    assert desk.store.facts(["flag:corpus:2026-11-27"])["flag:corpus:2026-11-27"].is_set
    assert noonmark("signal", "corpus:2026-11-27", "--clear").code == 0
    assert not desk.store.facts(["flag:corpus:2026-11-27"])["flag:corpus:2026-11-27"].is_set
    assert noonmark("signal", "x", "--value", "false").code == 2
    assert noonmark("signal", "x", "--value", '{"rows": 3}', "--json").plain["value"] == {"rows": 3}


def test_acts_are_answered_in_chinese_too(desk: Desk, noonmark: Noonmark) -> None:
    desk.later(MINUTE)
    assert noonmark("cancel", "1", "--lang", "zh").out == "r1 已记下取消：到期时即取消\n"
