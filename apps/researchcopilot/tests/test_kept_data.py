"""What is kept can be written again and again, and changes nothing the second time."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from researchcopilot.answer import Answer
from researchcopilot.data import Data, end_of

NOON = datetime(2026, 11, 28, 4, 0, tzinfo=UTC)  # 12:00 in Shanghai
ANSWER = Answer(text="Yes. [1]", sources=(), method="extractive")


@pytest.fixture
def data(tmp_path: Path) -> Data:
    return Data(tmp_path)


def test_a_run_added_twice_is_one_run(data: Data) -> None:
    assert data.add_run("r1", "租约？", NOON)
    assert not data.add_run("r1", "another", NOON)
    assert [run.question for run in data.runs()] == ["租约？"]


def test_an_answer_that_is_there_is_never_overwritten(data: Data) -> None:
    data.add_run("r1", "q", NOON)
    data.finish_run("r1", ANSWER, NOON, worker="w", seconds=1.0)
    data.finish_run("r1", Answer(text="No.", sources=(), method="none"), NOON, worker="w", seconds=1.0)
    data.fail_run("r1", "late failure", NOON, worker="w")
    run = data.run("r1")
    assert run is not None
    assert (run.state, run.answer) == ("answered", ANSWER)


def test_a_run_belongs_to_the_date_it_has_in_shanghai(data: Data) -> None:
    data.add_run("r1", "q", datetime(2026, 11, 27, 16, 30, tzinfo=UTC))
    assert [run.id for run in data.runs_of("2026-11-28")] == ["r1"]


def test_memories_end_when_their_time_is_over(data: Data) -> None:
    data.remember("old", "q", "g", until=NOON)
    data.remember("new", "q", "g", until=NOON + timedelta(seconds=1))
    assert [run_id for run_id, _, _ in data.memories(NOON)] == ["new"]
    assert data.expire_memories(NOON) == 1
    assert data.expire_memories(NOON) == 0


def test_each_worker_counts_only_its_own_runs_and_counting_twice_changes_nothing(data: Data) -> None:
    for run_id, worker in (("a", "w1"), ("b", "w1"), ("c", "w2")):
        data.add_run(run_id, "q", NOON)
        data.finish_run(run_id, ANSWER, NOON, worker=worker, seconds=2.0)
    later = NOON + timedelta(minutes=1)
    assert data.put_parts("w1", later, worker="w1") == data.put_parts("w1", later, worker="w1")
    assert [(part.name, part.answered, part.seconds) for part in data.parts("2026-11-28")] == [("w1", 2, 4.0)]


def test_the_minute_after_midnight_completes_yesterday(data: Data) -> None:
    midnight = end_of("2026-11-28")
    data.add_run("a", "q", NOON)
    data.put_parts("w1", midnight - timedelta(minutes=3), worker="w1")
    data.finish_run("a", ANSWER, midnight - timedelta(minutes=2), worker="w1", seconds=1.0)
    data.put_parts("w1", midnight + timedelta(minutes=1), worker="w1")
    (yesterday,) = data.parts("2026-11-28")
    assert (yesterday.answered, yesterday.until) == (1, midnight)
    assert [part.answered for part in data.parts("2026-11-29")] == [0]


def test_midnight_itself_belongs_to_the_day_that_ends(data: Data) -> None:
    midnight = end_of("2026-11-28")
    assert [part.date for part in data.put_parts("w1", midnight, worker="w1")] == ["2026-11-28"]


def test_digests_and_reports_are_replaced_and_not_repeated(data: Data) -> None:
    data.put_report("2026-11-28", "ops", "one", NOON)
    data.put_report("2026-11-28", "ops", "two", NOON)
    assert [(page.name, page.text) for page in data.reports()] == [("2026-11-28:ops", "two")]
