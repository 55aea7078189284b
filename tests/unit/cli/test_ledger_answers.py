"""What ``noonmark ledger`` says before a worker has told of a rollback, of options, and of what ran already."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from calling import Noonmark
from desk import Desk

from noonmark.core.model import HOUR, SECOND, Event, Job, Manual, Query, State
from noonmark.core.model.rollback import Claim, Receipt
from noonmark.engine import exports
from noonmark.engine.statefolder import StateFolder
from noonmark.testing.builders import make_caller_row, make_end


class Machine:
    """The state folder of one writer beside the desk's store, which lost its last link."""

    def __init__(self, desk: Desk, folder: Path) -> None:
        self.desk, self.store, self.folder = desk, desk.store, folder
        self.desk.later(HOUR)
        self.memory = StateFolder(folder).open(self.store.store_id(), "w1")
        self.claim = Claim(writer=self.memory.writer, worker="w1", receipt=None)
        self.there: Receipt = self.store.prove(self.claim).receipt
        self.desk.later(SECOND)
        self.lost = replace(self.there, seq=self.there.seq + 1, hash="f" * 64, at=self.desk.now)
        self.memory.keep(self.lost)

    def remember(self, key: str) -> None:
        self.memory.record(
            self.lost.seq, self.lost.hash, self.lost.at,
            [(7, "mail", "", "l:1", key, self.desk.now, "2026-11-27", "event", "success", 9)],
        )  # fmt: skip

    def prove(self) -> None:
        self.memory.keep(self.store.prove(replace(self.claim, receipt=self.lost)).receipt)

    def hold(self, key: str) -> int:
        row = make_caller_row(f"again:{key}", at=self.desk.now, job="mail", key=key, gated=True)
        (added,) = self.store.add(self.desk.request(), [row])
        (look,) = (each for each in self.desk.take() if each.id == added.id)
        park = make_end(look, Event.PARK, due_at=self.desk.now + HOUR, code="held_rollback", verdict="skip_lease")
        assert self.store.settle(self.desk.request(), "w1", [park])[0].outcome == "applied"
        return added.id

    def state(self, number: int) -> State:
        return self.store.occurrences(Query(ids=(number,)))[0].state


@pytest.fixture
def machine(desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    monkeypatch.setenv("NOONMARK_STATE", str(tmp_path / "state"))
    return Machine(desk, tmp_path / "state")


def test_a_rollback_that_a_receipt_of_this_machine_tells_is_said_before_any_worker_starts(
    noonmark: Noonmark, machine: Machine
) -> None:
    before = noonmark("ledger", "show")
    assert f"lacks what it had acknowledged to {machine.memory.writer}" in before.out
    assert "never lost" not in before.out
    assert "它回退过" in noonmark("ledger", "show", "--lang", "zh").out
    assert json.loads(noonmark("ledger", "show", "--json").out)["not_yet_told"]["lost"] == [machine.memory.writer]
    examined = noonmark("doctor")
    assert (examined.code, "it went back in time" in examined.out) == (1, True)
    assert "它回退过" in noonmark("doctor", "--lang", "zh").out
    machine.prove()
    after = noonmark("ledger", "show")
    assert "lacks what it had acknowledged" not in after.out
    assert "Rollback 1" in after.out
    assert "lacks" not in noonmark("doctor").out


def test_a_receipt_that_is_there_alarms_nobody(noonmark: Noonmark, machine: Machine) -> None:
    machine.memory.keep(machine.there)
    assert "never lost" in noonmark("ledger", "show").out
    assert "lacks" not in noonmark("doctor").out


def test_a_damaged_receipt_is_recovered_or_said(noonmark: Noonmark, machine: Machine) -> None:
    (receipt,) = machine.folder.glob("*/*/receipt.json")
    receipt.write_bytes(b"\x00garbage" + b" " * 2000)
    said = noonmark("ledger", "show").out
    assert f"The receipts of {machine.memory.writer} in {machine.folder} cannot be read" in said
    assert "无法读取" in noonmark("ledger", "show", "--lang", "zh").out
    examined = noonmark("doctor")
    assert f"The receipts of {machine.memory.writer} in {machine.folder} cannot be read" in examined.out
    assert "无法读取" in noonmark("doctor", "--lang", "zh").out
    machine.remember("mail:3")
    assert f"lacks what it had acknowledged to {machine.memory.writer}" in noonmark("ledger", "show").out


def test_nothing_of_which_a_journal_knows_that_it_ran_is_released_to_run_again(
    noonmark: Noonmark, machine: Machine, tmp_path: Path
) -> None:
    machine.remember("mail:3")
    machine.prove()
    known, other = machine.hold("mail:3"), machine.hold("mail:4")
    refused = noonmark("ledger", "release", "--as", "run", "--reason", "looked")
    assert refused.code == 3
    assert f"1 of the held rows ran already, as the journals of this machine know: r{known}" in refused.err
    assert "已经运行过" in noonmark("ledger", "release", "--as", "run", "--reason", "looked", "--lang", "zh").err
    file = str(tmp_path / "out.jsonl")
    assert noonmark("ledger", "export", file, "--from-state").code == 0
    trial = noonmark("ledger", "import", file)
    assert "1 known here become SUCCESS" in trial.out
    assert machine.state(known) is State.PENDING
    assert noonmark("ledger", "import", file, "--go").out.splitlines()[:2] == trial.out.splitlines()[:2]
    assert (machine.state(known), machine.state(other)) == (State.SUCCESS, State.PENDING)
    assert noonmark("ledger", "release", "--as", "run", "--reason", "looked").code == 0


def test_what_ran_twice_is_counted_as_such_by_the_import(noonmark: Noonmark, machine: Machine, tmp_path: Path) -> None:
    machine.desk.register(Job(name="mail", trigger=Manual(), key="mail:{order_id}", reason="Customers wait."))
    machine.remember("mail:3")
    machine.prove()
    row = make_caller_row("again", at=machine.desk.now, job="mail", key="mail:3")
    machine.store.add(machine.desk.request(), [row])
    (run,) = (each for each in machine.desk.take() if each.job == "mail")
    machine.store.settle("s", "w1", [make_end(run)])
    file = str(tmp_path / "out.jsonl")
    assert noonmark("ledger", "export", file, "--from-state").code == 0
    assert "1 are SUCCESS here by another run of their key: they ran twice" in noonmark("ledger", "import", file).out


def test_releasing_ends_with_0_while_a_rollback_is_open_and_with_3_when_none_is(
    noonmark: Noonmark, machine: Machine
) -> None:
    words = ("ledger", "release", "--as", "run", "--reason", "looked")
    none = noonmark(*words)
    assert (none.code, none.out) == (3, "Nothing to release: no rollback holds anything.\n")
    machine.prove()
    first = noonmark(*words)
    assert (first.code, first.out) == (0, "Released; no row was held.\n")
    again = noonmark(*words)
    assert (again.code, again.out) == (none.code, none.out)


@pytest.mark.parametrize(
    "words",
    [
        ("show", "--as", "run"), ("show", "--job", "mail"), ("show", "--go"), ("import", "x", "--as", "run"),
        ("import", "x", "--reason", "y"), ("import", "x", "--from-state", "z"), ("export", "x", "--go"),
        ("release", "--as", "run", "--reason", "x", "--go"), ("release", "--from-state", "z"),
    ],
)  # fmt: skip
def test_an_option_that_says_nothing_there_is_refused(noonmark: Noonmark, words: tuple[str, ...]) -> None:
    answer = noonmark("ledger", *words)
    assert (answer.code, "says nothing with " + words[0] in answer.err) == (2, True), answer.err
    assert "没有意义" in noonmark("ledger", *words, "--lang", "zh").err


def test_an_import_without_a_file_says_that_the_file_is_missing(noonmark: Noonmark) -> None:
    answer = noonmark("ledger", "import")
    assert (answer.code, "say which file is to be read" in answer.err) == (2, True)
    assert "要读取的文件" in noonmark("ledger", "import", "--lang", "zh").err


@pytest.mark.parametrize(
    ("spoil", "said", "zh"),
    [
        (lambda text: b"\xef\xbb\xbf" + text, "byte order mark", "字节顺序标记"),
        (lambda text: text.decode().encode("utf-16"), "byte order mark", "字节顺序标记"),
        (lambda _text: b"SQLite format 3\x00" + b"\x10\x00" * 60_000, "this is a SQLite file", "SQLite 文件"),
    ],
)
def test_what_people_take_for_a_ledger_is_named(
    noonmark: Noonmark, desk: Desk, tmp_path: Path, spoil: Any, said: str, zh: str
) -> None:
    file = tmp_path / "ledger.jsonl"
    text = "".join(f"{line}\n" for line in exports.exported(desk.store.store_id(), []))
    file.write_bytes(spoil(text.encode()))
    answer = noonmark("ledger", "import", str(file))
    assert (answer.code, said in answer.err) == (3, True), answer.err
    assert zh in noonmark("ledger", "import", str(file), "--lang", "zh").err
