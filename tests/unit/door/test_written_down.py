"""What is done through a scheduler is written down on its machine, as the command that does it again."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

from noonmark import Scheduler, manual
from noonmark.core.model import FAR
from noonmark.engine import deeds
from noonmark.engine.deeds import Deed


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("NOONMARK_STATE", str(tmp_path / "state"))
    return tmp_path / "state"


@pytest.fixture
def sched(tmp_path: Path, state: Path) -> Iterator[Scheduler]:  # noqa: ARG001
    with Scheduler(f"sqlite:///{tmp_path / 'work.db'}?synchronous=NORMAL", rules=False) as made:

        @made.job(manual(), key="mail:{order_id}", reason="Customers wait.")
        def mail(order_id: int) -> None: ...

        yield made


def remembered(folder: Path) -> list[Deed]:
    (file,) = folder.glob("*/deeds.jsonl")
    return list(deeds.read(folder, file.parent.name, [(0, FAR)], pytest.fail))


def test_acts_flags_and_runs_asked_for_by_hand_are_written_down(sched: Scheduler, state: Path) -> None:
    sched.pause("mail", reason="a deployment", actor="ann")
    sched.resume("mail", actor="ann")
    sched.cancel(key="mail:9", job="mail", reason="paid")
    sched.signal("corpus:today")
    sched.signal("price", {"usd": 3})
    sched.clear("corpus:today")
    sched.jobs["mail"].run_now(reason="by phone", actor="ann", order_id=7)
    sched.end("mail", reason="not needed")
    found = [deed.words for deed in remembered(state)]
    asked = found.pop(6)
    assert found == [
        ("pause", "mail", "--reason", "a deployment"),
        ("resume", "mail"),
        ("cancel", "--key", "mail:9", "--job", "mail", "--reason", "paid"),
        ("signal", "corpus:today"),
        ("signal", "price", "--value", '{"usd": 3}'),
        ("signal", "corpus:today", "--clear"),
        ("end", "mail", "--reason", "not needed"),
    ]
    assert (asked[:3], asked[4:]) == (("run", "mail", "--for"), ("--param", "order_id=7", "--reason", "by phone"))
    assert remembered(state)[0].by == "ann"


def test_what_programs_ask_for_by_the_thousand_is_not(sched: Scheduler, state: Path) -> None:
    sched.jobs["mail"].later("1m")(order_id=1)
    sched.emit("order.created")
    sched.jobs["mail"].run_now(reason="x", key="mine", order_id=7)
    sched.declare()
    assert not state.exists()


def test_the_folder_of_its_workers_is_where_it_is_written(sched: Scheduler, state: Path, tmp_path: Path) -> None:
    sched.worker(state=tmp_path / "theirs")
    sched.signal("a")
    assert [deed.name for deed in remembered(tmp_path / "theirs")] == ["a"]
    assert not state.exists()


def test_where_it_cannot_be_written_that_is_said_once(
    sched: Scheduler, state: Path, caplog: pytest.LogCaptureFixture
) -> None:
    state.write_text("no folder", encoding="utf-8")
    with caplog.at_level(logging.WARNING, "noonmark"):
        assert sched.signal("a") == 1
        assert sched.signal("b") == 1
    assert [record.getMessage().count("is not written down") for record in caplog.records] == [1]


def test_a_store_in_memory_is_remembered_nowhere(state: Path) -> None:
    with Scheduler("memory://", rules=False) as sched:
        sched.signal("a")
    assert not state.exists()
