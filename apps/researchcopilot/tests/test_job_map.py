"""The map of jobs, and a night of ResearchCopilot on three workers in virtual time."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from noonmark import Scheduler
from noonmark.testing.world import World
from researchcopilot import clock, model, scheduler
from researchcopilot.corpus import Corpus
from researchcopilot.data import Data
from researchcopilot.model import ModelBusyError, ModelRefusedError

EVENING = datetime(2026, 11, 27, 15, 55, tzinfo=UTC)  # 23:55 in Shanghai; the patrol comes at midnight
YESTERDAY = "2026-11-27"  # the business date that ends five minutes later


class Night:
    """Three workers, one store, one application folder; time passes when told to."""

    def __init__(
        self,
        corpus: Corpus,
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
        *,
        replicas: int = 3,
        start: datetime = EVENING,
    ) -> None:
        self.data = Data(tmp_path / "data")
        made: list[Scheduler] = []

        def open_store(virtual: Any) -> Any:
            made.append(scheduler.build("memory://", tmp_path / "data", corpus.root, clock=virtual))
            return made[0].store

        self.world = World(replicas=replicas, store=open_store, start=int(start.timestamp() * 1_000_000))
        self.sched = made[0]
        monkeypatch.setattr(clock, "now", lambda: datetime.fromtimestamp(self.world.now / 1e6, UTC))
        for name, job in self.sched.rules.jobs.items():
            self.world.job(job, self.sched.rules.functions[name])
        self.world.start()
        self.world.advance("1s")
        self.desk = scheduler.desk(self.sched, self.data)

    def close(self) -> None:
        self.world.close()
        self.sched.close()

    def states(self, job: str) -> Counter[str]:
        return Counter(each.state.value for each in self.sched.occurrences(job))


@pytest.fixture
def night(corpus: Corpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Night]:
    made = Night(corpus, tmp_path, monkeypatch)
    yield made
    made.close()


def test_the_table_in_the_docstring_names_exactly_the_jobs_there_are(corpus: Corpus, tmp_path: Path) -> None:
    sched = scheduler.build("memory://", tmp_path, corpus.root)
    rows = re.findall(r"^\| (\w+) +\|", scheduler.__doc__ or "", re.MULTILINE)
    assert sorted(row for row in rows if row != "job") == sorted(sched.rules.jobs)
    assert all(len(job.reason) > 20 for job in sched.rules.jobs.values())


def test_a_question_is_answered_once_and_its_digest_comes_five_minutes_later(night: Night) -> None:
    run = night.desk.ask("What is a fence?").run
    night.world.advance("10s")
    answered = night.data.run(run.id)
    assert answered is not None
    assert answered.answer is not None
    assert "A fence is a number" in answered.answer.text
    night.world.advance("4m")
    assert night.data.digests() == []
    night.world.advance("1m")
    assert [page.name for page in night.data.digests()] == [run.id]
    assert night.states("digest_run") == {"SUCCESS": 1}


def test_an_event_delivered_again_makes_no_second_digest(night: Night) -> None:
    run = night.desk.ask("What is a fence?").run
    night.world.advance("10s")
    for _ in range(10):
        assert night.sched.emit("run.completed", id=run.id, run_id=run.id).duplicate
    night.world.advance("10m")
    assert night.states("digest_run") == {"SUCCESS": 1}


def test_the_same_request_twice_is_one_occurrence(night: Night) -> None:
    first = night.desk.ask("What is a fence?", name="request-1")
    assert night.desk.ask("What is a fence?", name="request-1").run == first.run
    assert len(night.sched.occurrences("answer_run")) == 1


def test_the_index_is_rebuilt_by_one_of_three_workers_each_five_minutes(night: Night) -> None:
    night.world.advance("20m")
    assert night.states("rebuild_index")["SUCCESS"] == 4
    attempts = [each.attempt for each in night.sched.occurrences("rebuild_index", states=["SUCCESS"])]
    assert attempts == [1] * 4


def test_every_worker_writes_its_own_part_and_then_the_date_is_closed(night: Night) -> None:
    night.world.advance("4m")
    assert [part.until.minute for part in night.data.parts(YESTERDAY)] == [59] * 3
    night.world.advance("8m")
    assert [part.until for part in night.data.parts(YESTERDAY)] == [datetime(2026, 11, 27, 16, 0, tzinfo=UTC)] * 3
    (closing,) = night.sched.occurrences("close_metrics", states=["SUCCESS"])
    assert closing.result == YESTERDAY


def test_the_closing_waits_for_a_worker_that_has_not_written_yet(night: Night) -> None:
    night.world.advance("3m")
    slow = night.world.replicas[0]
    with pytest.MonkeyPatch.context() as patch:
        real = Data.put_parts

        def late(self: Data, name: str, minute: datetime, *, worker: str) -> Any:
            if name == slow.info.id:
                raise OSError("disk busy")
            return real(self, name, minute, worker=worker)

        patch.setattr(Data, "put_parts", late)
        night.world.advance("9m")
        assert night.states("close_metrics")["SUCCESS"] == 0
        (closing,) = night.sched.occurrences("close_metrics", states=["FAILED_RETRYING"])
        assert slow.info.id in (closing.error or "")
    night.world.advance("5m")
    assert night.states("close_metrics")["SUCCESS"] == 1


def test_a_worker_that_died_does_not_hold_the_closing_up_and_its_part_stays(night: Night) -> None:
    night.world.advance("2m")
    dead = night.world.replicas[1].info.id
    night.world.kill(1)
    night.world.advance("10m")

    assert night.states("close_metrics") == {"SUCCESS": 1, "PENDING": 1}
    parts = {part.name: part.until for part in night.data.parts(YESTERDAY)}
    assert len(parts) == 3
    assert parts.pop(dead) < datetime(2026, 11, 27, 16, 0, tzinfo=UTC), "the case needs a part that is not whole"
    assert set(parts.values()) == {datetime(2026, 11, 27, 16, 0, tzinfo=UTC)}


def test_memories_end_at_night_and_dead_letters_are_listed_every_hour(
    corpus: Corpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    night = Night(corpus, tmp_path, monkeypatch, start=datetime(2026, 11, 27, 18, 58, tzinfo=UTC))  # 02:58 in Shanghai
    night.data.remember("run-1", "old?", "old", until=datetime(2026, 11, 27, 19, 15, tzinfo=UTC))
    night.data.remember("run-2", "new?", "new", until=datetime(2026, 12, 20, tzinfo=UTC))
    night.world.advance("70m")

    assert [(each.state.value, each.result) for each in night.sched.occurrences("expire_memories")[-1:]] == [
        ("SUCCESS", 1)
    ]
    assert [run for run, _, _ in night.data.memories(EVENING)] == ["run-2"]
    assert len(night.data.patrols()) == 2, "at three and at four"
    assert night.states("patrol_dead_letters") == {"SUCCESS": 2, "PENDING": 1}
    night.close()


def test_the_report_of_yesterday_comes_at_nine_exactly_once(
    corpus: Corpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    night = Night(corpus, tmp_path, monkeypatch, start=datetime(2026, 11, 28, 0, 52, tzinfo=UTC))  # 08:52 in Shanghai
    night.data.add_run("run-1", "What is a fence?", EVENING)
    night.world.advance("10m")
    (waiting,) = night.sched.occurrences("daily_report", key=f"report:{YESTERDAY}:ops")
    assert (waiting.verdict, night.data.reports()) == ("skip_dep", [])
    night.sched.signal(f"metrics.ready:{YESTERDAY}")
    night.world.advance("2s")
    (report,) = night.data.reports()
    assert report.name == f"{YESTERDAY}:ops"
    assert "1 asked, 0 answered, 0 failed, 1 open" in report.text
    assert night.sched.jobs["daily_report"].run_now(reason="once more").duplicate
    night.world.advance("10m")
    assert night.states("daily_report")["SUCCESS"] == 1
    night.close()


def test_a_report_whose_data_never_comes_is_missed_at_noon_and_not_run_later(
    corpus: Corpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    night = Night(corpus, tmp_path, monkeypatch, replicas=1, start=datetime(2026, 11, 28, 0, 59, tzinfo=UTC))
    night.world.advance("2m")
    night.world.clock.advance(int(2.97 * 3600 * 1_000_000))
    night.world.advance("3m")
    (missed,) = night.sched.occurrences("daily_report", key=f"report:{YESTERDAY}:ops")
    assert (missed.state, missed.code) == ("FAILED_MANUAL", "window_closed")
    night.sched.signal(f"metrics.ready:{YESTERDAY}")
    night.world.advance("10m")
    assert night.data.reports() == []
    night.close()


def test_a_run_whose_worker_is_killed_is_answered_by_another(
    corpus: Corpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    night = Night(corpus, tmp_path, monkeypatch, replicas=2)
    reached: list[int] = []
    real = scheduler.Copilot._compose

    def die_once(self: Any, *args: Any) -> Any:
        if not reached:
            reached.append(1)
            for replica in night.world.replicas:
                if any(each.state.value == "RUNNING" for each in night.sched.occurrences("answer_run")):
                    replica.vanish()
                    break
        return real(self, *args)

    monkeypatch.setattr(scheduler.Copilot, "_compose", die_once)
    run = night.desk.ask("What is a fence?").run
    night.world.advance("2m")
    answered = night.data.run(run.id)
    assert answered is not None
    assert answered.state == "answered"
    assert night.states("answer_run") == {"SUCCESS": 1}
    night.close()


@pytest.mark.parametrize(
    ("trouble", "attempts"), [(ModelRefusedError("401: wrong key"), 1), (ModelBusyError("503"), scheduler.RETRIES + 1)]
)
def test_a_model_that_will_not_answer_ends_in_a_failed_run_and_a_dead_letter(
    corpus: Corpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, trouble: Exception, attempts: int
) -> None:
    asked: list[str] = []

    def refuse(_system: str, user: str) -> str:
        asked.append(user)
        raise trouble

    monkeypatch.setattr(model, "from_environment", lambda _environment: refuse)
    night = Night(corpus, tmp_path, monkeypatch)
    run = night.desk.ask("What is a fence?").run
    night.world.advance("2m")
    failed = night.data.run(run.id)
    assert failed is not None
    assert (failed.state, failed.error) == ("failed", str(trouble))
    assert len(asked) == attempts
    assert night.states("answer_run") == {"FAILED_MANUAL": 1}
    night.world.advance("5m")
    assert f"answer:{run.id}" in night.data.patrols()[0].text
    night.close()


def test_a_wrong_environment_is_told_in_one_line(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("RESEARCHCOPILOT_CORPUS", str(tmp_path / "nowhere"))
    monkeypatch.setenv("RESEARCHCOPILOT_DATA", str(tmp_path / "data"))
    with pytest.raises(SystemExit, match="does not exist"):
        _ = scheduler.sched
