"""``why JOB`` while nobody can take its next moment up: that is told at once, not a minute later."""

from __future__ import annotations

import pytest
from desk import DIGEST, TICK, Desk

from noonmark.core.model import SECOND
from noonmark.explain.why import why


@pytest.fixture
def desk() -> Desk:
    """A tick ran at 12:05 on w1, whose heartbeat counts until 12:10:25; the next one is due at 12:10."""
    made = Desk()
    made.register(TICK)
    made.until("2026-11-27T12:05:00")
    made.beat()
    made.finish(made.look(), code="succeeded")
    made.until("2026-11-27T12:09:55")
    made.beat()
    return made


def test_a_moment_that_is_due_while_every_process_is_known_to_be_no_more_is_told_at_once(desk: Desk) -> None:
    desk.until("2026-11-27T12:10:04")
    told = why(desk.store, "tick", lives=lambda _: False)
    assert told.sentence.startswith(
        "It became due at 12:10 but nobody could take it up: no worker has been awake since"
    )
    assert why(desk.store, "tick", lives=lambda _: False, lang="zh").sentence.startswith("已于 12:10 到期，但无人处理")


def test_a_moment_that_is_due_when_the_last_heartbeat_has_lapsed_is_told_at_once(desk: Desk) -> None:
    desk.until("2026-11-27T12:10:20")
    assert why(desk.store, "tick").sentence.startswith("It ran on time"), "somebody may be there"
    desk.until("2026-11-27T12:10:26")
    assert why(desk.store, "tick").sentence.startswith("It became due at 12:10 but nobody could take it up")


def test_a_moment_that_is_due_while_nobody_awake_has_its_code_is_told_at_once(desk: Desk) -> None:
    desk.beat(ended=True)
    desk.jobs = {"digest": DIGEST}
    desk.beat("w2")
    desk.until("2026-11-27T12:10:02")
    told = why(desk.store, "tick").sentence
    assert told == "It became due at 12:10, but no worker that is awake runs the job tick (1 awake)."


def test_while_somebody_is_there_the_run_before_is_told_and_the_next_one_is_called_due(desk: Desk) -> None:
    desk.until("2026-11-27T12:10:04")
    told = why(desk.store, "tick", lives=lambda _: True)
    assert told.sentence.startswith("It ran on time")
    assert "Next: due since 12:10 (4 s ago)." in told.lines
    assert "下一次：12:10 已到期（4 秒前）。" in why(desk.store, "tick", lang="zh").lines


def test_a_retry_that_is_due_while_nobody_is_there_says_that(desk: Desk) -> None:
    desk.until("2026-11-27T12:10:00")
    desk.fail(desk.look(), wait=5 * SECOND)
    desk.until("2026-11-27T12:10:04")
    assert not any("nobody" in line for line in why(desk.store, "tick", lives=lambda _: False).lines), "it is not due"
    desk.until("2026-11-27T12:10:06")
    assert not any("nobody" in line for line in why(desk.store, "tick", lives=lambda _: True).lines)
    told = why(desk.store, "tick", lives=lambda _: False)
    assert told.sentence.startswith("Try 1 of 5 failed")
    assert any("It became due at 12:10:05 but nobody could take it up" in line for line in told.lines)
