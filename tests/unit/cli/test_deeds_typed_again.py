"""What people did in a range that the store lost is told with the commands that do it again, and only while it is gone."""

from __future__ import annotations

import copy
import json
import shlex
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from calling import Answer, Noonmark
from desk import Desk
from machine import Machine

from noonmark.core.model import DAY, HOUR, SECOND, Event, Job, Manual, Query, State, Window
from noonmark.faces.cli.problems import Trouble
from noonmark.faces.cli.session import Session
from noonmark.testing.builders import make_caller_row, make_end, make_start

MAIL = Job(name="mail", trigger=Manual(), key="mail:{order_id}", reason="Customers wait.")
SAID = "Done by a person in the lost range, and gone: type these again"


class Back:
    """The desk's store, which can go back to where it stood."""

    def __init__(self, machine: Machine) -> None:
        self.machine, self.store = machine, machine.store
        machine.desk.register(MAIL)
        self.failed = self._failed()
        self._tables = copy.deepcopy(self.store._tables)
        machine.desk.later(SECOND)

    def _failed(self) -> int:
        desk = self.machine.desk
        row = make_caller_row("1", at=desk.now, job="mail", key="mail:1", gated=True)
        (added,) = self.store.add(desk.request(), [row])
        (look,) = (each for each in desk.take() if each.id == added.id)
        assert self.store.settle(desk.request(), "w1", [make_start(look)])[0].outcome == "applied"
        run = replace(look, fence=self.store.occurrences(Query(ids=(added.id,)))[0].fence)
        fail = make_end(run, Event.FAIL_MANUAL, code="failed_final")
        assert self.store.settle(desk.request(), "w1", [fail])[0].outcome == "applied"
        return added.id

    def go(self) -> None:
        """Lose what was acknowledged since."""
        self.come_back()
        self.machine.desk.later(SECOND)
        self.machine.prove()

    def come_back(self) -> None:
        """Lose it, and let nobody know yet."""
        self.store._tables = copy.deepcopy(self._tables)


@pytest.fixture
def back(machine: Machine) -> Back:
    return Back(machine)


def deeds(noonmark: Noonmark, *args: str) -> list[dict[str, Any]]:
    answer = noonmark("ledger", "show", "--json", *args)
    assert answer.code == 0, answer
    told: list[dict[str, Any]] = answer.plain["deeds"]
    return told


def commands(noonmark: Noonmark) -> list[str]:
    return [each["command"] for each in deeds(noonmark)]


def typed(noonmark: Noonmark, line: str) -> Answer:
    answer = noonmark(*shlex.split(line.removeprefix("noonmark ")))
    assert answer.code == 0, (line, answer)
    return answer


def test_every_deed_is_told_with_the_command_that_does_it_again_until_it_was_typed(
    noonmark: Noonmark, back: Back, tmp_path: Path
) -> None:
    rules = tmp_path / "noonmark.yaml"
    rules.write_text(
        "version: 1\njobs:\n  tidy: {schedule: {manual: true}, command: [echo], reason: r}\n", encoding="utf-8"
    )
    lines = [
        "noonmark pause digest --reason 'a deployment'",
        "noonmark signal corpus:2026-11-27",
        "noonmark signal price --value '{\"usd\": 3}'",
        f"noonmark retry r{back.failed} --reason 'the server is back'",
        "noonmark run mail --for 2026-11-27 --param order_id=7 --param note=a --reason 'asked by phone'",
        "noonmark cancel --key mail:9 --job mail --reason 'no longer wanted'",
        f"noonmark rules apply {rules}",
        "noonmark end tick --reason 'not needed'",
    ]
    for line in lines:
        back.machine.desk.later(1000)
        typed(noonmark, line)
    back.go()
    assert commands(noonmark) == lines
    said = noonmark("ledger", "show").out
    assert SAID in said
    assert all(line in said for line in lines)
    assert "请重新输入" in noonmark("ledger", "show", "--lang", "zh").out
    assert {each["by"] for each in deeds(noonmark)} == {"ann"}
    for line in commands(noonmark):
        typed(noonmark, line)
    assert commands(noonmark) == []
    assert SAID not in noonmark("ledger", "show").out


def test_a_row_is_found_by_what_it_is_for_its_number_may_be_anothers(noonmark: Noonmark, back: Back) -> None:
    asked = noonmark("run", "mail", "--param", "order_id=7", "--json").plain["runs"][0]["id"]
    typed(noonmark, f"cancel r{asked} --reason x")
    typed(noonmark, f"mark r{back.failed} handled --reason 'by hand'")
    back.come_back()
    other = noonmark("run", "mail", "--param", "order_id=8", "--json").plain["runs"][0]["id"]
    assert other == asked, "until somebody knows of it, numbers are given out anew"
    back.machine.prove()
    told = commands(noonmark)
    assert told[0] == "noonmark cancel --key mail:7 --job mail --reason x"
    assert told[1] == f"noonmark mark r{back.failed} handled --reason 'by hand'"
    assert len(told) == 2, "what was asked for was taken back again"


def test_of_several_deeds_to_one_thing_the_last_one_is_told(noonmark: Noonmark, back: Back) -> None:
    typed(noonmark, "pause digest --reason a")
    typed(noonmark, "resume digest")
    typed(noonmark, "signal corpus")
    typed(noonmark, "signal corpus --clear")
    typed(noonmark, "pause tick --reason b")
    typed(noonmark, "resume tick")
    typed(noonmark, "pause tick --reason c")
    back.go()
    assert commands(noonmark) == ["noonmark pause tick --reason c"], "the others stand as they were left"


def test_what_is_there_and_what_was_done_before_or_after_is_not_told(noonmark: Noonmark, back: Back) -> None:
    typed(noonmark, "pause digest --reason before")
    back._tables = copy.deepcopy(back.store._tables)
    back.go()
    back.machine.desk.later(SECOND)
    typed(noonmark, "signal after")
    assert commands(noonmark) == []


def test_it_is_told_before_any_worker_has_started(noonmark: Noonmark, back: Back) -> None:
    typed(noonmark, "pause digest --reason x")
    back.store._tables = copy.deepcopy(back._tables)
    back.machine.desk.later(SECOND)
    assert noonmark("ledger", "show", "--json").plain["not_yet_told"]["lost"] == [back.machine.memory.writer]
    assert commands(noonmark) == ["noonmark pause digest --reason x"]


def test_a_day_after_the_release_nothing_is_told_any_more(noonmark: Noonmark, back: Back) -> None:
    typed(noonmark, "pause digest --reason x")
    back.go()
    assert noonmark("ledger", "release", "--as", "run", "--reason", "seen").code == 0
    assert commands(noonmark) == ["noonmark pause digest --reason x"]
    back.machine.desk.later(DAY)
    assert commands(noonmark) == []


def test_a_deed_that_was_refused_or_changed_nothing_is_none(noonmark: Noonmark, back: Back) -> None:
    assert noonmark("resume", "digest").code == 3
    assert noonmark("cancel", "r999").code == 5
    assert not list(back.machine.folder.glob("*/deeds.jsonl"))


def test_a_folder_that_cannot_be_written_costs_the_deed_nothing_and_is_said_once(
    noonmark: Noonmark, desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "state").write_text("no folder", encoding="utf-8")
    monkeypatch.setenv("NOONMARK_STATE", str(tmp_path / "state"))
    answer = noonmark("pause", "digest", "--reason", "x")
    assert (answer.code, answer.err.count("not written down on this machine")) == (0, 1)
    assert desk.store.jobs(["digest"])[0].paused
    assert "未能记在本机" in noonmark("resume", "digest", "--lang", "zh").err
    monkeypatch.setenv("NOONMARK_STATE", "none")
    assert "written down" not in noonmark("pause", "digest", "--reason", "x").err


def test_the_folder_is_found_by_its_deeds_alone_and_the_own_one_is_asked_as_well(
    noonmark: Noonmark, back: Back, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = tmp_path / "own"
    monkeypatch.setenv("NOONMARK_STATE", str(own))
    typed(noonmark, "pause digest --reason x")
    back.go()
    assert commands(noonmark) == ["noonmark pause digest --reason x"]
    for folder in (own, back.machine.folder):
        assert [each["job"] for each in deeds(noonmark, "--state", str(folder))] == ["digest"], folder
    assert deeds(noonmark, "--state", "none") == []
    (file,) = own.glob("*/deeds.jsonl")
    assert file.stat().st_mode & 0o777 == 0o600


def test_a_damaged_line_is_named_and_says_nothing(noonmark: Noonmark, back: Back) -> None:
    typed(noonmark, "pause digest --reason x")
    typed(noonmark, "pause tick --reason y")
    (file,) = back.machine.folder.glob("*/deeds.jsonl")
    file.write_text(file.read_text(encoding="utf-8").replace("--reason", "--raeson", 1), encoding="utf-8")
    back.go()
    answer = noonmark("ledger", "show", "--json")
    assert [each["command"] for each in json.loads(answer.out)["deeds"]] == ["noonmark pause tick --reason y"]
    assert f"{file}:1 is not as it was written" in answer.err


def test_a_secret_is_hidden_and_a_job_of_such_a_name_is_not(noonmark: Noonmark, back: Back) -> None:
    back.machine.desk.register(Job(name="token", trigger=Manual(), reason="r"))
    back._tables = copy.deepcopy(back.store._tables)
    typed(noonmark, "run token --param api_key=sk-verysecret123 --param n=1")
    back.go()
    (told,) = commands(noonmark)
    assert "verysecret" not in told
    assert told.startswith("noonmark run token --for ")
    assert "--param n=1" in told


def test_a_mark_of_a_row_that_is_not_there_any_more_is_told_without_a_command(noonmark: Noonmark, back: Back) -> None:
    asked = noonmark("run", "mail", "--param", "order_id=7", "--json").plain["runs"][0]["id"]
    typed(noonmark, f"mark r{asked} skip --reason x")
    back.go()
    assert deeds(noonmark)[0]["command"] is None
    assert f"mark r{asked} skip: of mail, key mail:7, which is not there now" in noonmark("ledger", "show").out


def test_the_row_of_a_retry_that_waits_again_needs_none(noonmark: Noonmark, back: Back) -> None:
    typed(noonmark, f"retry r{back.failed}")
    assert back.machine.state(back.failed) is State.PENDING
    back.go()
    assert commands(noonmark) == [f"noonmark retry r{back.failed}"]
    back.machine.desk.later(HOUR)
    typed(noonmark, f"mark r{back.failed} done --reason x")
    assert commands(noonmark) == []


def test_a_run_that_passed_over_its_window_is_told_with_the_override_and_the_reason_as_it_was_typed(
    noonmark: Noonmark, back: Back
) -> None:
    back.machine.desk.register(replace(MAIL, window=Window(start="03:00", end="03:01")))
    back._tables = copy.deepcopy(back.store._tables)
    typed(noonmark, "run mail --param order_id=7 --override window --reason 'asked by phone'")
    back.go()
    (told,) = commands(noonmark)
    assert told.endswith(" --override window --reason 'asked by phone'")
    typed(noonmark, told)
    assert commands(noonmark) == []


@pytest.mark.parametrize(
    "line", ["pause digest --reason x", "signal corpus", "run mail --param order_id=7", "rules apply {rules}"]
)
def test_what_was_done_is_written_down_although_nobody_reads_the_answer(
    noonmark: Noonmark, back: Back, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: str
) -> None:
    rules = tmp_path / "noonmark.yaml"
    rules.write_text(
        "version: 1\njobs:\n  tidy: {schedule: {manual: true}, command: [echo], reason: r}\n", encoding="utf-8"
    )

    def unread(*_: object) -> None:
        raise Trouble("no_id", text="the reader is gone")

    with monkeypatch.context() as patch:
        patch.setattr(Session, "emit", unread)
        assert noonmark(*line.format(rules=rules).split()).code != 0
    back.go()
    assert len(commands(noonmark)) == 1


def test_a_moment_that_was_asked_for_is_the_same_one_typed_again_in_another_zone(
    noonmark: Noonmark, back: Back
) -> None:
    asked = noonmark("run", "tick", "--for", "2026-11-27T11:55", "--json").plain["runs"][0]["key"]
    back.go()
    (told,) = commands(noonmark)
    assert told == "noonmark run tick --for 2026-11-27T11:55+08:00"
    elsewhere = noonmark("--tz", "America/New_York", *shlex.split(told)[1:], "--json")
    assert elsewhere.plain["runs"][0]["key"] == asked


def test_a_release_that_was_lost_needs_no_telling_for_its_rollback_is_open_again(
    noonmark: Noonmark, back: Back
) -> None:
    back.go()
    back.machine.desk.later(SECOND)
    back._tables = copy.deepcopy(back.store._tables)
    assert noonmark("ledger", "release", "--as", "run", "--reason", "looked at", "--yes").code == 0
    assert None not in released(noonmark)
    back.come_back()
    assert released(noonmark)[0] is None
    assert commands(noonmark) == []


def released(noonmark: Noonmark) -> list[str | None]:
    return [each["released"] for each in noonmark("ledger", "show", "--json").plain["rollbacks"]]
