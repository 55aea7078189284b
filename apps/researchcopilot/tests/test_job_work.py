"""What the jobs do, run by hand: steps are paid for once, and everything may be repeated."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from researchcopilot import clock
from researchcopilot.corpus import Corpus
from researchcopilot.data import Data, end_of
from researchcopilot.model import ModelBusyError
from researchcopilot.pages import PATROL_LIMIT
from researchcopilot.work import Copilot, Live


class Memo:
    """Steps that remember, as a job's context does; ``done`` counts what was really executed."""

    def __init__(self) -> None:
        self.kept: dict[str, Any] = {}
        self.done: list[str] = []

    def step(self, name: str, fn: Callable[..., Any], *args: Any) -> Any:
        if name not in self.kept:
            self.kept[name] = fn(*args)
            self.done.append(name)
        return self.kept[name]


@pytest.fixture
def copilot(corpus: Corpus, tmp_path: Path) -> Copilot:
    return Copilot(Data(tmp_path / "data"), corpus, model=None, worker="w1")


def test_a_run_is_answered_even_if_the_desk_died_before_storing_it(copilot: Copilot) -> None:
    copilot.answer(Memo(), "r1", "What is a fence?", clock.now(), deep=False)
    run = copilot.data.run("r1")
    assert run is not None
    assert run.answer is not None
    assert "A fence is a number" in run.answer.text


def test_a_second_attempt_repeats_no_step_that_was_done(corpus: Corpus, tmp_path: Path) -> None:
    tried: list[str] = []

    def model(_system: str, user: str) -> str:
        tried.append(user)
        if len(tried) == 1:
            raise ModelBusyError("later")
        return "It grows [1]."

    copilot = Copilot(Data(tmp_path / "data"), corpus, model=model, worker="w1")
    memo = Memo()
    with pytest.raises(ModelBusyError):
        copilot.answer(memo, "r1", "What is a fence?", clock.now(), deep=False)
    copilot.answer(memo, "r1", "What is a fence?", clock.now(), deep=False)
    assert memo.done == ["retrieve", "answer"]
    assert len(tried) == 2


def test_a_deep_run_reads_each_document_as_a_step_of_its_own(copilot: Copilot) -> None:
    memo = Memo()
    answer = copilot.answer(memo, "r1", "lease or window?", clock.now(), deep=True)
    assert memo.done == ["load", "read 1", "read 2", "write"]
    assert {source.place.split(":")[0] for source in answer.sources} == {"leases.md", "windows.md"}


def test_a_digest_names_its_sources_and_earlier_questions_alike(copilot: Copilot) -> None:
    for run_id in ("r1", "r2"):
        copilot.answer(Memo(), run_id, "What is a fence?", clock.now(), deep=False)
        text = copilot.digest(run_id)
    assert "leases.md:3" in text
    assert text.rstrip().endswith("r1")
    assert copilot.digest("unknown") == ""


@pytest.mark.parametrize(("lang", "words"), [("en", "Runs: 1 asked, 1 answered"), ("zh", "提问：1 个，已回答 1 个")])
def test_the_report_counts_the_runs_of_its_date(corpus: Corpus, tmp_path: Path, lang: str, words: str) -> None:
    copilot = Copilot(Data(tmp_path / "data"), corpus, model=None, worker="w1", lang=lang)
    copilot.rebuild_index()
    asked = clock.now() - timedelta(days=1)
    copilot.answer(Memo(), "r1", "What is a fence?", asked, deep=False)
    run = copilot.data.run("r1")
    assert run is not None
    assert words in copilot.report(run.asked_on, "ops")


def test_the_metrics_of_a_date_wait_for_every_worker_that_lived_then(copilot: Copilot) -> None:
    end = end_of("2026-11-28")
    live = [
        Live(name="w1", started_at=end - timedelta(hours=1)),
        Live(name="w2", started_at=end - timedelta(hours=1)),
        Live(name="born-after", started_at=end + timedelta(minutes=1)),
    ]
    copilot.write_own_part("w1", end)
    assert copilot.unfinished_parts("2026-11-28", live) == ["w2"]
    copilot.data.put_parts("w2", end - timedelta(minutes=1), worker="w2")
    assert copilot.unfinished_parts("2026-11-28", live) == ["w2"]
    copilot.data.put_parts("w2", end + timedelta(minutes=1), worker="w2")
    assert copilot.unfinished_parts("2026-11-28", live) == []


def test_a_patrol_writes_down_what_waits_for_a_person(copilot: Copilot) -> None:
    text = copilot.patrol([("daily_report", "report:2026-11-28:ops", "window closed")], "09:00")
    assert "report:2026-11-28:ops" in text
    assert copilot.data.patrols()[0].text == text


def test_a_patrol_says_when_there_are_more_than_it_lists(copilot: Copilot) -> None:
    dead = [("answer_run", f"answer:{number}", "refused") for number in range(PATROL_LIMIT + 1)]
    for listed, first in (
        (dead[:-1], f"{PATROL_LIMIT} occurrences wait"),
        (dead, f"More than {PATROL_LIMIT} occurrences"),
    ):
        text = copilot.patrol(listed, "09:00")
        assert text.startswith(first)
        assert text.count("\n- ") == PATROL_LIMIT
