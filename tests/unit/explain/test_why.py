"""``why`` answers in one sentence for every outcome, in both languages."""

from __future__ import annotations

from dataclasses import replace

import pytest
from desk import DIGEST, TICK, Desk, at

from noonmark.core import codec, times
from noonmark.core.model import (
    HOUR,
    MINUTE,
    SECOND,
    Act,
    Activation,
    Check,
    Cron,
    Event,
    Gates,
    NewOccurrence,
    Origin,
    Query,
    Retry,
    State,
)
from noonmark.core.model import Guardrails as Guards
from noonmark.core.series import row_for_call
from noonmark.explain.explanation import Explanation
from noonmark.explain.find import NotFound
from noonmark.explain.render import explanation_text
from noonmark.explain.why import why
from noonmark.testing.builders import make_frontier


@pytest.fixture
def desk() -> Desk:
    made = Desk()
    made.register(DIGEST)
    return made


def checks(told: Explanation) -> dict[str, bool | None]:
    return {check.name: check.ok for check in told.checks}


def test_a_run_on_time_says_when_it_was_due_who_ran_it_and_how_long(desk: Desk) -> None:
    desk.signal("corpus:2026-11-27")
    desk.ran("2026-11-27T18:30:00")
    told = why(desk.store, "digest")
    assert told.outcome == "on_time"
    assert told.sentence == "It ran on time: due 18:30, started 18:30 on w1, done after 1 min."
    assert checks(told)["dependency"] is True
    assert told.final


def test_a_late_run_says_how_late_and_what_it_waited_for(desk: Desk) -> None:
    desk.until("2026-11-27T18:30:00")
    desk.beat()
    assert desk.look().state is State.PENDING
    desk.until("2026-11-27T18:47:00")
    desk.signal("corpus:2026-11-27")
    row = desk.look()
    desk.finish(row)
    told = why(desk.store, "digest")
    assert told.outcome == "caught_up"
    assert told.sentence == "It ran 17 min late, at 18:47 on w1, after waiting for flag corpus:2026-11-27."
    assert why(desk.store, "digest", lang="zh").sentence == (
        "晚了 17 分钟，于 18:47 在 w1 上运行，此前在等标志 corpus:2026-11-27。"
    )
    assert told.looks is not None
    assert told.looks.count == 1


def test_a_late_run_after_a_sleep_says_that_nobody_was_awake(desk: Desk) -> None:
    desk.until("2026-11-27T18:00:00")
    desk.beat("w0", ended=True)
    desk.signal("corpus:2026-11-27")
    desk.until("2026-11-27T19:10:00")
    desk.beat()
    desk.finish(desk.look())
    told = why(desk.store, "digest")
    assert told.sentence == "It ran 40 min late, at 19:10 on w1: no worker was awake from 18:00 to 19:10."


def test_a_wait_names_the_flag_and_the_next_look(desk: Desk) -> None:
    desk.until("2026-11-27T18:30:00")
    desk.beat()
    desk.look()
    desk.later(MINUTE)
    desk.beat()
    told = why(desk.store, "digest")
    assert told.outcome == "waiting"
    assert told.sentence.startswith("It waits for flag corpus:2026-11-27 (the digest quotes the corpus). ")
    assert "noonmark signal corpus:2026-11-27;" in told.remedy
    assert "noonmark signal corpus:2026-11-27；" in why(desk.store, "digest", lang="zh").remedy
    assert "corpus:2026-11-27" in told.sentence
    assert told.sentence.endswith("Looked once, at 18:30, next look at 18:35 (in 4 min).")
    assert checks(told)["window"] is True
    assert checks(told)["dependency"] is False
    assert checks(told)["overlap"] is None
    assert not told.final


def test_a_missed_one_says_what_it_waited_for_until_the_window_closed(desk: Desk) -> None:
    desk.until("2026-11-27T18:30:00")
    desk.look()
    desk.until("2026-11-27T20:00:00")
    row = desk.look()
    assert row.state is State.FAILED_MANUAL
    told = why(desk.store, "digest")
    assert told.outcome == "missed"
    assert told.sentence.startswith("It did not run: ")
    assert "corpus:2026-11-27" in told.sentence
    assert told.sentence.endswith("That was still so when its window closed at 20:00.")
    assert told.commands[0] == 'noonmark run digest --for 2026-11-27 --again --override window --reason "…" --dry-run'


def test_a_missed_one_that_nobody_was_awake_for_says_so(desk: Desk) -> None:
    desk.until("2026-11-27T14:00:00")
    desk.beat("w0", ended=True)
    desk.until("2026-11-27T20:10:00")
    desk.beat()
    desk.look()
    told = why(desk.store, "digest")
    assert told.sentence == ("It did not run: no worker was awake from 14:00 to 20:10, and its window closed at 20:00.")


def test_while_nobody_is_awake_the_moment_that_waits_for_somebody_is_told(desk: Desk) -> None:
    desk.register(TICK)
    desk.until("2026-11-27T12:05:00")
    desk.beat()
    desk.finish(desk.look())
    desk.until("2026-11-27T12:09:50")
    desk.beat()
    desk.until("2026-11-27T12:10:03")
    assert why(desk.store, "tick").outcome == "on_time", "somebody is awake and about to take it up"
    desk.beat(ended=True)

    told = why(desk.store, "tick")

    assert told.sentence.startswith(
        "It became due at 12:10 but nobody could take it up: no worker has been awake since"
    )
    assert why(desk.store, "tick", at="2026-11-27T12:05").outcome == "on_time", "who asks for a moment gets that one"


def test_what_needs_a_person_is_told_before_what_waits_for_somebody_to_wake(desk: Desk) -> None:
    desk.register(TICK)
    desk.until("2026-11-27T12:05:00")
    desk.beat()
    desk.finish(desk.look(), Event.FAIL_MANUAL, code="failed_final", error="ValueError: x")
    desk.until("2026-11-27T12:10:03")
    desk.beat(ended=True)
    assert why(desk.store, "tick").outcome == "failed"


def test_a_weekend_skip_names_the_rule() -> None:
    guarded = Desk("2026-11-28T12:00:00")
    guarded.register(replace(DIGEST, guardrails=Guards(allow_weekend=False)))
    guarded.until("2026-11-28T18:30:00")
    guarded.beat()
    guarded.look()
    told = why(guarded.store, "digest")
    assert told.outcome == "skipped"
    assert told.verdict == "skip_guard"
    assert told.sentence.startswith("It was skipped by the rule: ")
    assert "Sat" in told.sentence


def test_a_pause_skip_names_the_reason_of_the_pause(desk: Desk) -> None:
    desk.act("pause", job="digest", reason="stocktaking")
    desk.until("2026-11-27T18:30:00")
    desk.beat()
    desk.look()
    told = why(desk.store, "digest")
    assert told.verdict == "skip_paused"
    assert "stocktaking" in told.sentence


def test_an_overlap_skip_names_the_run_in_progress() -> None:
    desk = Desk()
    desk.register(replace(TICK, overlap="skip"))
    desk.until("2026-11-27T12:05:00")
    desk.beat()
    first = desk.look(lease=HOUR)
    desk.until("2026-11-27T12:10:00")
    assert desk.look().state is State.SKIPPED
    told = why(desk.store, "tick")
    assert told.verdict == "skip_overlap"
    assert f"r{first.id}" in told.sentence
    assert checks(told)["overlap"] is False


def test_a_duplicate_names_the_holder(desk: Desk) -> None:
    desk.signal("corpus:2026-11-27")
    done = desk.ran("2026-11-27T18:30:00")
    again = row_for_call(
        DIGEST,
        request_id="again",
        due_at=desk.now,
        params={},
        key=None,
        revision=1,
        now=desk.now,
        origin=Origin.MANUAL,
        business_date="2026-11-27",
    )
    (answer,) = desk.store.add(desk.request(), [again])
    told = why(desk.store, occurrence_id=answer.id)
    assert told.outcome == "refused_duplicate"
    assert told.sentence == (
        f"It was refused as a duplicate: digest:2026-11-27 is held by r{done.id} (digest), done since 18:31."
    )
    assert told.commands == (f"noonmark why --occurrence r{done.id}",)
    holder = why(desk.store, key="digest:2026-11-27")
    assert holder.occurrence_id == done.id
    assert any("Duplicates of this key that were refused: 1 " in line for line in holder.lines)


def test_a_retry_says_which_attempt_failed_and_when_the_next_is_due(desk: Desk) -> None:
    desk.signal("corpus:2026-11-27")
    desk.until("2026-11-27T18:30:00")
    desk.beat()
    desk.fail(desk.look(), wait=4 * SECOND, error="Traceback\n  File x\nTimeoutError: after 120 s")
    told = why(desk.store, "digest")
    assert told.outcome == "retrying"
    assert told.sentence == ("Try 1 of 5 failed (TimeoutError: after 120 s); try 2 is due at 18:30:04 (in 4 s).")


def test_a_success_after_retries_says_how_many_failed(desk: Desk) -> None:
    desk.signal("corpus:2026-11-27")
    desk.until("2026-11-27T18:30:00")
    desk.beat()
    desk.fail(desk.look())
    desk.later(SECOND)
    desk.finish(desk.look())
    told = why(desk.store, "digest")
    assert told.sentence == (
        "It ran to the end on try 2 of 5: 1 failed (TimeoutError: after 120 s), and w1 finished it at 18:30:01."
    )
    assert len(told.run_lines) == 2


def test_a_takeover_names_who_died_and_both_fences(desk: Desk) -> None:
    desk.signal("corpus:2026-11-27")
    desk.until("2026-11-27T18:30:00")
    desk.beat("w1", pid=4101)
    desk.look()
    desk.later(31 * SECOND)
    desk.beat("w2")
    second = desk.take_over("w2")
    desk.later(SECOND)
    running = why(desk.store, "digest")
    assert running.sentence.startswith(
        "It is running again, on try 2: w1 (pid 4101) was last heard of at 18:30 and is gone"
    )
    desk.finish(second, worker="w2")
    told = why(desk.store, "digest")
    assert told.outcome == "taken_over"
    assert "(fence #1 → #2)" in told.sentence
    assert "w1 (pid 4101) was last heard of at 18:30 and is gone; w2 took over at 18:30:31" in told.sentence
    assert "A write by w1 after 18:30:31 is refused (fence #1 < #2)." in told.lines


def test_a_takeover_shows_the_checks_of_its_start_and_one_lease(desk: Desk) -> None:
    desk.signal("corpus:2026-11-27")
    desk.until("2026-11-27T18:30:00")
    desk.beat("w1")
    desk.look()
    desk.later(31 * SECOND)
    desk.beat("w2")
    (row,) = desk.take("w2")
    judged = (Check(name="lease", passed=True, wanted="nobody holds it", seen="taken_over w1"),)
    desk.finish(
        row,
        Event.TAKEOVER,
        worker="w2",
        lease=30 * SECOND,
        gates=Gates(revision=1),
        verdict="should_run",
        code="taken_over",
        checks=codec.checks_to_json(judged),
    )
    names = [check.name for check in why(desk.store, "digest").checks]
    assert names.count("lease") == 1
    assert "dependency" in names


def test_a_start_a_few_seconds_late_is_on_time_and_says_for_what_it_waited(desk: Desk) -> None:
    desk.until("2026-11-27T18:30:00")
    desk.beat()
    desk.look()
    desk.later(6 * SECOND)
    desk.signal("corpus:2026-11-27")
    desk.finish(desk.look())
    told = why(desk.store, "digest")
    assert told.outcome == "on_time"
    assert told.sentence == "It ran 6 s late, at 18:30:06 on w1, after waiting for flag corpus:2026-11-27."


def test_a_start_half_a_second_late_is_on_time(desk: Desk) -> None:
    desk.register(TICK)
    desk.later(5 * MINUTE + SECOND // 2)
    desk.beat()
    desk.finish(desk.look())
    told = why(desk.store, "tick")
    assert told.sentence.startswith("It ran on time: ")
    assert [check.seen for check in told.checks if check.name == "limit"] == ["on time"]


def test_what_one_worker_left_undone_is_not_the_news_of_a_job(desk: Desk) -> None:
    desk.register(TICK)
    desk.later(5 * MINUTE)
    desk.beat()
    done = desk.finish(desk.look(), code="succeeded")
    desk.later(5 * MINUTE)
    desk.beat()
    (row,) = desk.take()
    desk.finish(row, Event.CANCEL, verdict="skip_guard", code="worker_gone", adds=())
    assert why(desk.store, "tick").occurrence_id == done.id


def test_a_takeover_from_a_paused_worker_says_that_it_lives_on(desk: Desk) -> None:
    desk.signal("corpus:2026-11-27")
    desk.until("2026-11-27T18:30:00")
    desk.beat("w1")
    desk.look()
    desk.later(31 * SECOND)
    desk.beat("w2")
    second = desk.take_over("w2")
    desk.later(10 * SECOND)
    desk.beat("w1")
    desk.finish(second, worker="w2")
    assert (
        "w1 stopped renewing its lease although it lived on (last heard of at 18:30:41)"
        in why(desk.store, "digest").sentence
    )


def test_a_lapsed_run_that_nobody_looked_at_says_so(desk: Desk) -> None:
    desk.signal("corpus:2026-11-27")
    desk.until("2026-11-27T18:30:00")
    desk.beat("w1")
    desk.look()
    desk.later(5 * MINUTE)
    assert why(desk.store, "digest").sentence == (
        "It was running on w1 since 18:30, but its lease ended at 18:30:30 and nobody renewed it: "
        "w1 (pid 4711) was last heard of at 18:30 and is gone; the next worker that is awake takes over."
    )


def test_a_run_in_progress_says_by_whom_and_until_when(desk: Desk) -> None:
    desk.signal("corpus:2026-11-27")
    desk.until("2026-11-27T18:30:00")
    desk.beat()
    desk.look()
    told = why(desk.store, "digest")
    assert told.sentence == "It is running now: since 18:30 on w1, try 1 of 5, lease until 18:30:30."
    assert checks(told)["lease"] is True


def test_a_final_failure_gives_the_reason_and_the_way_out(desk: Desk) -> None:
    desk.signal("corpus:2026-11-27")
    desk.until("2026-11-27T18:30:00")
    desk.beat()
    row = desk.look()
    desk.finish(row, Event.FAIL_MANUAL, code="failed_final", detail="{}", error="ValueError: no such channel")
    told = why(desk.store, "digest")
    assert told.outcome == "failed"
    assert told.sentence.startswith("It needs a person: ")
    assert "1 of 5 tries were made" in told.sentence
    assert told.commands[0] == f"noonmark retry r{row.id}"


def test_tries_count_anew_after_a_person_s_retry(desk: Desk) -> None:
    desk.signal("corpus:2026-11-27")
    desk.until("2026-11-27T18:30:00")
    desk.beat()
    row = desk.look()
    desk.finish(row, Event.FAIL_MANUAL, code="failed_final", detail="{}", error="ValueError: no such channel")
    desk.later(SECOND)
    desk.act("retry", occurrence_id=row.id, reason="the channel is there")
    desk.finish(desk.look(), Event.FAIL_MANUAL, code="failed_final", detail="{}", error="ValueError: still none")
    assert "1 of 5 tries were made" in why(desk.store, "digest").sentence
    desk.later(SECOND)
    desk.act("retry", occurrence_id=row.id, reason="now it is")
    desk.finish(desk.look())

    told = why(desk.store, "digest")

    assert told.sentence == (
        "It ran to the end after a person's retry, on try 1 of 5: 2 failed before (ValueError: still none), "
        "and w1 finished it at 18:30:02."
    )
    assert why(desk.store, "digest", lang="zh").sentence.startswith("人工重试后第 1 次（最多 5 次）完成：此前 2 次失败")


def test_a_run_that_was_cancelled_shows_the_checks_of_its_start(desk: Desk) -> None:
    asked = row_for_call(
        TICK, request_id="a", due_at=desk.now, params={}, key=None, revision=0, now=desk.now, origin=Origin.MANUAL
    )
    desk.register(TICK)
    desk.beat()
    desk.store.add("a", [replace(asked, revision=1)])
    row = desk.look()
    assert row.state is State.RUNNING
    desk.act("cancel", occurrence_id=row.id, reason="enough")
    desk.finish(desk.row(row.id), Event.CANCEL)

    told = why(desk.store, occurrence_id=row.id)

    assert told.outcome == "cancelled"
    assert checks(told)["window"] is True
    assert checks(told)["duplicate"] is True


def test_the_remedy_names_the_run_and_the_job_to_copy(desk: Desk) -> None:
    desk.signal("corpus:2026-11-27")
    desk.until("2026-11-27T18:30:00")
    row = desk.look()
    desk.finish(row, Event.FAIL_MANUAL, code="failed_final", detail="{}", error="ValueError: x")
    remedy = why(desk.store, "digest").remedy
    assert f"noonmark retry r{row.id}" in remedy
    assert "RUN" not in remedy


def test_a_run_that_somebody_asked_to_stop_says_who(desk: Desk) -> None:
    desk.signal("corpus:2026-11-27")
    desk.until("2026-11-27T18:30:00")
    row = desk.look()
    desk.act("cancel", occurrence_id=row.id, reason="wrong corpus")
    assert "ann asked for it to be cancelled" in why(desk.store, "digest").sentence


def test_a_job_whose_rule_is_from_a_newer_version_is_still_explained(desk: Desk) -> None:
    change = Activation(
        name="odd",
        rule='{"v": 99, "name": "odd"}',
        digest="d",
        expected_revision=0,
        effective_at=desk.now,
        frontiers=(make_frontier("t:1", at=desk.now + HOUR, job="odd", key="odd:1"),),
    )
    desk.store.activate(desk.request(), [change], actor="test")
    assert why(desk.store, "odd").sentence == "It is not due yet: it is due 05:00 (in 1 h)."
    assert why(desk.store, "odd", at="2026-11-27T04:30").code == "rule_unreadable"


def test_a_row_that_waits_for_a_handler_says_so(desk: Desk) -> None:
    desk.until("2026-11-27T18:30:00")
    desk.beat()
    (row,) = desk.take()
    wait = desk.now + 5 * MINUTE
    desk.finish(row, Event.PARK, due_at=wait, verdict="skip_dep", code="handler_missing", detail='{"job": "digest"}')
    told = why(desk.store, "digest")
    assert told.outcome == "waiting"
    assert told.code == "handler_missing"
    assert told.remedy


def test_a_scheduled_moment_whose_key_was_run_by_hand_names_that_run(desk: Desk) -> None:
    desk.signal("corpus:2026-11-27")
    by_hand = row_for_call(
        DIGEST,
        request_id="hand",
        due_at=desk.now,
        params={},
        key=None,
        revision=1,
        now=desk.now,
        origin=Origin.MANUAL,
        business_date="2026-11-27",
    )
    (held,) = desk.store.add(desk.request(), [by_hand])
    desk.act("mark_done", occurrence_id=held.id, reason="sent by hand")
    desk.until("2026-11-27T18:30:00")
    row = desk.look()
    assert row.verdict == "skip_duplicated"
    told = why(desk.store, occurrence_id=row.id)
    assert told.sentence.startswith(
        f"It was refused as a duplicate: digest:2026-11-27 is held by r{held.id} (digest), done"
    )


def test_a_cancelled_one_says_who_and_why(desk: Desk) -> None:
    desk.until("2026-11-27T18:30:00")
    asked = desk.look()  # waits for its data
    desk.act("cancel", occurrence_id=asked.id, reason="no readers today")
    told = why(desk.store, occurrence_id=asked.id)
    assert told.outcome == "cancelled"
    assert told.sentence == "It was cancelled at 18:30 by ann: no readers today."


def test_a_mark_says_who_and_why(desk: Desk) -> None:
    desk.until("2026-11-27T18:30:00")
    asked = desk.look()  # waits for its data
    desk.act("mark_done", occurrence_id=asked.id, reason="sent by hand")
    told = why(desk.store, occurrence_id=asked.id)
    assert told.sentence == "ann marked it as done at 18:30: sent by hand."


def test_a_moment_to_come_is_not_due_yet_and_says_how_things_stand(desk: Desk) -> None:
    told = why(desk.store, "digest")
    assert told.sentence == "It is not due yet: it is due 18:30 (in 6 h 30 min)."
    assert any("As things stand it would not run" in line and "corpus:2026-11-27" in line for line in told.lines)
    desk.signal("corpus:2026-11-27")
    assert "As things stand it would run." in why(desk.store, "digest").lines


def test_a_due_row_with_nobody_awake_says_since_when(desk: Desk) -> None:
    desk.until("2026-11-27T14:00:00")
    desk.beat("w0", ended=True)
    desk.until("2026-11-27T18:40:00")
    told = why(desk.store, "digest")
    assert told.outcome == "unknown"
    assert told.sentence == (
        "It became due at 18:30 but nobody could take it up: no worker has been awake since 14:00. "
        "The first one to wake sees to it."
    )


def test_a_due_row_that_no_worker_can_run_says_so(desk: Desk) -> None:
    desk.until("2026-11-27T18:30:01")
    desk.jobs.clear()
    desk.beat("w1")
    assert why(desk.store, "digest").sentence == (
        "It became due at 18:30, but no worker that is awake runs the job digest (1 awake)."
    )


def test_a_moment_before_the_rule_took_effect_says_when_it_did(desk: Desk) -> None:
    told = why(desk.store, "digest", at="2026-11-26T18:30")
    assert told.occurrence_id is None
    assert told.sentence == (
        "Nothing was due at Thu 26 Nov 2026 18:30: the rule of digest took effect only at Fri 27 Nov 2026 12:00."
    )


def test_a_moment_that_only_a_later_revision_yields_says_which(desk: Desk) -> None:
    desk.until("2026-11-27T13:00:00")
    desk.register(replace(DIGEST, trigger=Cron(expression="30 12,18 * * *", tz="Asia/Shanghai")))
    told = why(desk.store, "digest", at="2026-11-27T12:30")
    assert "belongs to no revision of digest: revision 2, which yields it, took effect only at" in told.sentence


def test_a_time_that_is_no_moment_names_the_nearest_ones(desk: Desk) -> None:
    told = why(desk.store, "digest", at="2026-11-27T18:45")
    assert "is not due at" in told.sentence
    assert "Fri 27 Nov 2026 18:30 and Sat 28 Nov 2026 18:30" in told.sentence


def test_a_moment_behind_the_frontier_with_nobody_awake_says_so() -> None:
    desk = Desk()
    desk.register(TICK)
    desk.until("2026-11-27T12:04:00")
    desk.beat("w0", ended=True)
    desk.until("2026-11-27T13:00:00")
    told = why(desk.store, "tick", at="2026-11-27T12:30")
    assert told.outcome == "unknown"
    assert told.sentence == (
        "Nothing has happened yet for Fri 27 Nov 2026 12:30: no worker was awake from Fri 27 Nov 2026 12:04 to now. "
        "The first one to wake sees to it."
    )


def test_a_moment_that_the_ledger_lost_is_said_to_be_unaccounted_for() -> None:
    desk = Desk()
    desk.register(TICK)
    desk.until("2026-11-27T13:00:30")
    desk.register(replace(TICK, reason="edited while nobody was awake"))
    desk.store.act(desk.request(), Act(kind="cancel", actor="ann", occurrence_id=1))
    desk.beat()
    told = why(desk.store, "tick", at="2026-11-27T12:30")
    assert told.code == "unaccounted"
    assert told.outcome == "missed"


def test_a_moment_inside_a_range_record_says_what_counts_instead() -> None:
    desk = Desk()
    desk.register(TICK)
    missed = NewOccurrence(
        job="tick",
        identity="g:1",
        key="",
        scheduled_for=at("2026-11-27T12:05:00"),
        due_at=None,
        state=State.SKIPPED,
        verdict="skip_superseded",
        code="range_superseded",
        range_until=at("2026-11-27T12:50:00"),
        range_count=10,
        revision=1,
    )
    latest = NewOccurrence(
        job="tick",
        identity="t:2",
        key="tick:2",
        scheduled_for=at("2026-11-27T12:55:00"),
        due_at=at("2026-11-27T12:55:00"),
        revision=1,
    )
    added = desk.store.add(desk.request(), [missed, latest])
    desk.until("2026-11-27T13:00:00")
    told = why(desk.store, "tick", at="2026-11-27T12:30")
    assert told.sentence == (
        "Fri 27 Nov 2026 12:30 is one of 10 moments from Fri 27 Nov 2026 12:05 to Fri 27 Nov 2026 12:50 that were due "
        f"together while nobody took them up; the newest one, Fri 27 Nov 2026 12:55 (r{added[1].id}), counts instead."
    )


def test_a_run_that_take_started_by_itself_has_its_checks_replayed(desk: Desk) -> None:
    desk.register(TICK)
    row = NewOccurrence(
        job="tick",
        identity="l:1",
        key="tick:x",
        scheduled_for=desk.now,
        due_at=desk.now,
        origin=Origin.LATER,
        claim=True,
        revision=1,
    )
    desk.store.add(desk.request(), [row])
    desk.beat()
    (taken,) = desk.take()
    assert taken.state is State.RUNNING
    desk.finish(taken)
    told = why(desk.store, key="tick:x")
    assert told.outcome == "on_time"
    assert {name: ok for name, ok in checks(told).items() if name in ("window", "duplicate", "paused")} == {
        "window": True,
        "duplicate": True,
        "paused": True,
    }
    assert any("replayed" in line for line in told.lines)


def test_the_newest_that_matters_is_not_a_superseded_or_refused_one(desk: Desk) -> None:
    desk.signal("corpus:2026-11-27")
    done = desk.ran("2026-11-27T18:30:00")
    shadow = row_for_call(
        DIGEST,
        request_id="again",
        due_at=desk.now,
        params={},
        key=None,
        revision=1,
        now=desk.now,
        origin=Origin.MANUAL,
        business_date="2026-11-27",
    )
    desk.store.add(desk.request(), [shadow])
    assert why(desk.store, "digest").occurrence_id == done.id


def test_an_unknown_job_names_the_nearest_one(desk: Desk) -> None:
    with pytest.raises(NotFound) as refused:
        why(desk.store, "digset")
    assert refused.value.hint == "did you mean digest?"


def test_an_unknown_key_and_an_unknown_id_are_not_found(desk: Desk) -> None:
    with pytest.raises(NotFound):
        why(desk.store, key="nothing")
    with pytest.raises(NotFound):
        why(desk.store, occurrence_id=99)


def test_the_same_story_in_chinese_has_no_english_sentence(desk: Desk) -> None:
    desk.until("2026-11-27T18:30:00")
    desk.look()
    desk.until("2026-11-27T20:00:00")
    desk.look()
    told = why(desk.store, "digest", lang="zh")
    assert told.sentence.startswith("没有运行：")
    assert "时间窗在 20:00 关闭" in told.sentence


def test_an_edit_since_does_not_rewrite_the_past(desk: Desk) -> None:
    desk.signal("corpus:2026-11-27")
    desk.until("2026-11-27T18:30:00")
    desk.beat()
    desk.fail(desk.look())
    desk.later(SECOND)
    desk.finish(desk.look())
    desk.later(MINUTE)
    desk.register(replace(DIGEST, retry=Retry(max=9)))
    assert "on try 2 of 5" in why(desk.store, "digest").sentence


def test_a_success_whose_result_was_left_out_says_so_and_what_to_return(desk: Desk) -> None:
    desk.signal("corpus:2026-11-27")
    desk.until("2026-11-27T18:30:00")
    desk.beat()
    row = desk.look()
    desk.finish(row, code="result_not_stored", detail='{"why": "5000000 bytes, more than 262144"}')

    told, chinese = why(desk.store, "digest"), why(desk.store, "digest", lang="zh")

    assert told.outcome == "on_time"
    assert "It ran to the end, but its result could not be stored: 5000000 bytes, more than 262144." in told.lines
    assert told.remedy == "Return JSON of at most 256 KiB; keep larger things elsewhere and return where"
    assert any("结果无法保存" in line for line in chinese.lines)


def test_a_key_that_was_cancelled_for_no_job_names_none_and_checks_nothing(desk: Desk) -> None:
    desk.act("cancel", key="order:7", reason="paid")
    (row,) = desk.store.occurrences(Query(key="order:7"))

    told = why(desk.store, key="order:7")

    assert told.sentence.startswith(
        f"Nothing had this key when ann cancelled it at {told_clock(told)}: paid. It is held"
    )
    assert told.checks == ()
    assert told.remedy == "To run it all the same: noonmark run JOB --reason WHY"
    assert f"\n  r{row.id} · key order:7 · times are UTC\n" in explanation_text(told, unicode=True)


def told_clock(told: Explanation) -> str:
    return times.clock_text(times.told(told.scheduled_for or 0), told.zone)
