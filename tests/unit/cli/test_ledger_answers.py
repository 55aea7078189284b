"""What ``noonmark ledger`` says before a worker has told of a rollback, of options, and of what ran already."""

from __future__ import annotations

import copy
import json
import re
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from calling import Noonmark
from desk import TICK, Desk
from machine import Machine

from noonmark.core.model import DAY, HOUR, MINUTE, SECOND, Event, Gates, Job, Manual, Query, State
from noonmark.core.model.rollback import Claim
from noonmark.engine import exports
from noonmark.engine.activate import declare
from noonmark.explain.voice import Voice
from noonmark.testing.builders import make_caller_row, make_end, make_start

MAIL = Job(name="mail", trigger=Manual(), key="mail:{order_id}", reason="Customers wait.")
OVER = "Over, for every job: rollback 1. Nothing is held any more, and the alert is closed.\n"


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


def test_rules_that_were_put_in_force_since_a_rollback_was_found_are_listed(
    noonmark: Noonmark, machine: Machine, desk: Desk
) -> None:
    machine.prove()
    assert json.loads(noonmark("ledger", "show", "--json").out)["rules_since"] == []
    assert "Rules put in force" not in noonmark("ledger", "show").out
    desk.later(SECOND)
    declare(desk.store, [replace(TICK, timeout=HOUR)], actor="ada")
    (told,) = json.loads(noonmark("ledger", "show", "--json").out)["rules_since"]
    assert (told["job"], told["ended"]) == (TICK.name, False)
    assert f"{TICK.name} ({told['revision']})" in noonmark("ledger", "show").out
    assert f"{TICK.name} ({told['revision']})" in noonmark("ledger", "show", "--lang", "zh").out


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
    assert f"1 of the held rows ran already, as the workers' journals know: r{known}" in refused.err
    assert "已经运行过" in noonmark("ledger", "release", "--as", "run", "--reason", "looked", "--lang", "zh").err
    file = str(tmp_path / "out.jsonl")
    assert noonmark("ledger", "export", file, "--from-state").code == 0
    trial = noonmark("ledger", "import", file)
    assert "1 known here become SUCCESS" in trial.out
    assert machine.state(known) is State.PENDING
    assert noonmark("ledger", "import", file, "--go").out.splitlines()[:2] == trial.out.splitlines()[:2]
    assert (machine.state(known), machine.state(other)) == (State.SUCCESS, State.PENDING)
    assert noonmark("ledger", "release", "--as", "run", "--reason", "looked").code == 0


def elsewhere(machine: Machine, folder: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Let the machine's state folder be that of another one, copied here."""
    shutil.copytree(machine.folder, folder)
    monkeypatch.setenv("NOONMARK_STATE", str(folder.parent / "nothing"))
    return str(folder)


def test_the_commands_that_ask_journals_read_the_folders_that_are_named(
    noonmark: Noonmark, machine: Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine.desk.register(MAIL)
    machine.remember("mail:3")
    copy = elsewhere(machine, tmp_path / "copy", monkeypatch)
    assert "lacks" not in noonmark("ledger", "show").out
    for words in (("ledger", "show"), ("doctor",)):
        assert f"acknowledged to {machine.memory.writer}" in noonmark(*words, "--state", copy).out
        assert "lacks" not in noonmark(*words, "--state", "none").out
    machine.prove()
    held = machine.hold("mail:3")
    release = ("ledger", "release", "--as", "run", "--reason", "looked")
    for lang, said in (
        ("en", f"The journals of {machine.memory.writer} are not among those read here"),
        ("zh", "没有"),
    ):
        assert said in noonmark("ledger", "show", "--lang", lang).err
    assert noonmark("ledger", "show", "--state", copy).err == ""
    refused = noonmark(*release, "--state", "none", "--state", copy)
    assert (refused.code, f"as the workers' journals know: r{held}" in refused.err) == (3, True)
    assert f"noonmark ledger export FILE --from-state {copy}, then" in refused.err
    blindly = noonmark(*release)
    assert (blindly.code, "not among those read here" in blindly.err) == (0, True), "without it nobody here knows"
    machine.desk.later(SECOND)
    (row,) = (each for each in machine.desk.take() if each.id == held)
    gates = Gates(revision=1, pause_version=machine.store.jobs(["mail"])[0].pause_version)
    start = replace(make_start(row), gates=gates)
    assert machine.store.settle(machine.desk.request(), "w1", [start])[0].outcome == "applied"
    machine.desk.finish(row)
    assert "This is a repeat" not in noonmark("why", f"r{held}").out
    told = noonmark("why", f"r{held}", "--state", copy)
    assert "This is a repeat: the store lost a success of this key (r7, " in told.out
    assert (noonmark("verify").code, noonmark("verify", "--state", copy).code) == (0, 1)


@pytest.mark.parametrize("words", [("ledger", "show"), ("why", "mail"), ("verify",), ("doctor",)])
def test_a_folder_that_is_named_and_knows_nothing_of_the_store_is_told(
    noonmark: Noonmark, machine: Machine, tmp_path: Path, words: tuple[str, ...]
) -> None:
    machine.desk.register(MAIL)
    machine.hold("mail:4")
    missing = noonmark(*words, "--state", str(tmp_path / "nowhere"))
    assert (missing.code, "no worker has a state folder for this store in" in missing.err) == (5, True), missing.err
    assert "没有 worker 关于该存储" in noonmark(*words, "--state", str(tmp_path / "nowhere"), "--lang", "zh").err
    place = next(machine.folder.glob("*/*/receipt.json")).parent.parent
    place.rename(place.with_name("before"))
    other = noonmark(*words, "--state", str(machine.folder))
    assert (other.code, "there are journals of: before" in other.err) == (5, True), other.err
    assert json.loads(noonmark(*words, "--state", str(machine.folder), "--json").out)["error"]["exit"] == 5


def test_a_damaged_line_of_a_journal_is_named_and_never_believed(
    noonmark: Noonmark, machine: Machine, tmp_path: Path
) -> None:
    machine.remember("mail:3")
    machine.remember("mail:4")
    (journal,) = machine.folder.glob("*/*/journal.jsonl")
    journal.write_text(journal.read_text("utf-8").replace("mail:3", "mail:8"), "utf-8")
    machine.prove()
    machine.hold("mail:8")
    file = str(tmp_path / "out.jsonl")
    said = noonmark("ledger", "export", file, "--from-state")
    assert (said.code, f"{journal}:1 is not as it was written" in said.err) == (0, True)
    assert "1 outcomes of the store" in said.out
    assert "mail:8" not in Path(file).read_text("utf-8")
    Path(file).unlink()
    assert json.loads(noonmark("ledger", "export", file, "--from-state", "--json").out)["damaged"] == [f"{journal}:1"]
    release = noonmark("ledger", "release", "--as", "run", "--reason", "looked", "--lang", "zh")
    assert (release.code, release.err.count(f"{journal}:1 不是原样")) == (0, 1)


def test_a_release_of_the_last_job_says_that_the_rollback_is_over(noonmark: Noonmark, machine: Machine) -> None:
    for name in ("mail", "post"):
        machine.desk.register(Job(name=name, trigger=Manual(), key=name + ":{n}", reason="Customers wait."))
    for job in ("mail", "post"):
        machine.hold(f"{job}:3", job=job)
    machine.prove()
    words = ("ledger", "release", "--as", "done", "--reason", "looked", "--job")
    first = noonmark(*words, "mail")
    assert first.out.splitlines() == [
        "1 row is marked as done.",
        "Let go for mail: rollback 1. Still open for other jobs: noonmark ledger show",
    ]
    again = noonmark(*words, "mail")
    assert (again.code, again.out.startswith("Nothing to release for mail: it was let go before.")) == (3, True)
    assert json.loads(noonmark(*words, "mail", "--json").out)["all_over"] is False
    shown = noonmark("ledger", "show").out
    assert "too, and held as soon as a worker looks: tick (1)" in shown, "it is named what keeps the rollback open"
    assert [row["job"] for row in json.loads(noonmark("ledger", "show", "--json").out)["not_yet_looked_at"]] == ["tick"]
    assert "worker 一查看即扣住：tick (1)" in noonmark("ledger", "show", "--lang", "zh").out
    for row in machine.desk.take():
        machine.desk.act("mark_done", occurrence_id=row.id, reason="looked")
    assert noonmark("ledger", "release", "--as", "run", "--reason", "looked", "--job", "tick").code == 0
    last = json.loads(noonmark(*words, "post", "--json").out)
    assert (last["rows"], last["rollbacks"], last["over"], last["all_over"]) == (1, [1], [1], True)


@pytest.mark.parametrize(
    ("lang", "said"), [("en", OVER), ("zh", "对所有任务均已了结：第 1 次回退。不再扣住任何触发，告警已关闭。\n")]
)
def test_the_end_of_a_rollback_is_said_in_both_languages(
    noonmark: Noonmark, machine: Machine, lang: str, said: str
) -> None:
    machine.hold("mail:3")
    machine.prove()
    answer = noonmark("ledger", "release", "--as", "run", "--reason", "looked", "--lang", lang)
    assert answer.out.endswith(said)


def test_several_rollbacks_are_shown_and_let_go_together(noonmark: Noonmark, machine: Machine) -> None:
    machine.hold("mail:3")
    machine.prove()
    machine.desk.later(SECOND)
    other = Claim(writer="w-other", worker="w2", receipt=None)
    receipt = machine.store.prove(other).receipt
    lost = replace(receipt, seq=receipt.seq + 1, hash="e" * 64, at=machine.desk.now)
    machine.desk.later(SECOND)
    assert machine.store.prove(replace(other, receipt=lost)).outcome == "lost"
    assert [line[:11] for line in noonmark("ledger", "show").out.splitlines() if "lost what" in line] == [
        "Rollback 1:", "Rollback 2:",
    ]  # fmt: skip
    answer = noonmark("ledger", "release", "--as", "run", "--reason", "looked")
    assert answer.out.splitlines()[1:] == [OVER.strip().replace("1", "1, 2")]


def test_what_ran_twice_is_counted_as_such_by_the_import(noonmark: Noonmark, machine: Machine, tmp_path: Path) -> None:
    machine.desk.register(MAIL)
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
    assert (first.code, first.out) == (0, "Released; no row was held.\n" + OVER)
    again = noonmark(*words)
    assert (again.code, again.out) == (none.code, none.out)


@pytest.mark.parametrize(
    "words",
    [
        ("show", "--as", "run"), ("show", "--job", "mail"), ("show", "--go"), ("import", "x", "--as", "run"),
        ("import", "x", "--reason", "y"), ("import", "x", "--from-state", "z"), ("export", "x", "--go"),
        ("release", "--as", "run", "--reason", "x", "--go"), ("release", "--from-state", "z"),
        ("export", "x", "--state", "z"), ("export", "x", "--from-state", "--state", "z"), ("import", "x", "--state", "z"),
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


@pytest.mark.parametrize("is_asked_again", [False, True], ids=["it was there before", "it was asked for again"])
def test_what_waits_for_something_else_is_not_let_run_again_where_a_journal_knows_that_it_ran(
    noonmark: Noonmark, machine: Machine, tmp_path: Path, is_asked_again: bool
) -> None:
    machine.desk.register(MAIL)
    machine.remember("mail:3")
    if is_asked_again:
        machine.prove()
        machine.desk.later(SECOND)
    row = make_caller_row("x", at=machine.desk.now, job="mail", key="mail:3", gated=True)
    (added,) = machine.store.add(machine.desk.request(), [row])
    (look,) = (each for each in machine.desk.take() if each.id == added.id)
    park = make_end(look, Event.PARK, due_at=machine.desk.now + HOUR, code="flag_missing", verdict="skip_dep")
    assert machine.store.settle(machine.desk.request(), "w1", [park])[0].outcome == "applied"
    if not is_asked_again:
        machine.desk.later(SECOND)
        machine.prove()
    release = ("ledger", "release", "--as", "run", "--reason", "looked", "--job", "mail")
    refused = noonmark(*release)
    assert (refused.code, f"as the workers' journals know: r{added.id}" in refused.err) == (3, True), refused
    file = str(tmp_path / "out.jsonl")
    assert noonmark("ledger", "export", file, "--from-state").code == 0
    assert noonmark("ledger", "import", file, "--go").code == 0
    assert machine.state(added.id) is State.SUCCESS
    assert noonmark(*release).code == 0


def test_a_run_of_what_was_asked_for_again_keeps_no_release_from_being_done(
    noonmark: Noonmark, machine: Machine
) -> None:
    machine.desk.register(MAIL)
    machine.remember("mail:3")
    machine.prove()
    machine.desk.later(SECOND)
    row = make_caller_row("x", at=machine.desk.now, job="mail", key="mail:3")
    machine.store.add(machine.desk.request(), [row])
    (run,) = (each for each in machine.desk.take() if each.job == "mail")
    assert not run.looking, "it runs, and may end as it will"
    assert noonmark("ledger", "release", "--as", "run", "--reason", "looked", "--job", "mail").code == 0


def held_beside(machine: Machine, *, runs: bool = False) -> tuple[int, int]:
    """Hold a row that has not claimed its key yet, which another one claims and (unless it ``runs``) succeeds with."""
    machine.desk.register(MAIL)
    row = make_caller_row("a", at=machine.desk.now - 1, job="mail", gated=True, key="k", claim=False)
    (held,) = machine.store.add(machine.desk.request(), [row])
    machine.prove()
    machine.desk.later(SECOND)
    row = make_caller_row("b", at=machine.desk.now, job="mail", key="k")
    (other,) = machine.store.add(machine.desk.request(), [row])
    taken = {each.id: each for each in machine.desk.take()}
    park = make_end(taken[held.id], Event.PARK, due_at=machine.desk.now + 24 * HOUR, code="held_rollback")
    ends = [park] if runs else [park, make_end(taken[other.id])]
    assert {each.outcome for each in machine.store.settle("ends", "w1", ends)} == {"applied"}
    return held.id, other.id


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_a_held_row_whose_key_another_row_is_done_with_is_ended_as_well(
    noonmark: Noonmark, machine: Machine, lang: str
) -> None:
    held, other = held_beside(machine)
    marked = noonmark("mark", f"r{held}", "done", "--reason", "looked", "--lang", lang)
    said = {
        "en": f"refused: r{other} has the key of r{held} and is done, so r{held} cannot be done as well.",
        "zh": f"已拒绝：r{held} 的键由 r{other} 持有，其状态是“已成功”",
    }
    assert (marked.code, said[lang] in marked.out) == (3, True), marked
    release = ("ledger", "release", "--as", "done", "--reason", "looked", "--job", "mail", "--lang", lang)
    answer = noonmark(*release)
    said = {"en": f"another row has had their key and ended: r{held}", "zh": f"其键属于另一个已结束的触发）：r{held}"}
    assert (answer.code, said[lang] in answer.out) == (0, True), answer
    (row,) = machine.store.occurrences(Query(ids=(held,)))
    assert (row.state, row.code, row.note) == (State.SKIPPED, "marked_skip", f"looked (its key is that of r{other})")
    assert noonmark(*release).code == 3, "nothing is left of this job"


def test_a_held_row_whose_key_another_row_runs_with_is_said_to_wait_for_that_one(
    noonmark: Noonmark, machine: Machine
) -> None:
    held, other = held_beside(machine, runs=True)
    release = ("ledger", "release", "--as", "done", "--reason", "looked", "--job", "mail")
    answer = noonmark(*release)
    said = f"Not yet: r{other} has the key of r{held} and has not ended; call again once it has"
    assert (answer.code, said in answer.out, "a worker has to look" in answer.out) == (3, True, False), answer
    assert f"还有未处理的：r{held} 的键由 r{other} 持有" in noonmark(*release, "--lang", "zh").out
    plain = json.loads(noonmark(*release, "--json").out)
    assert (plain["left"], plain["behind"], plain["skipped"]) == ([held], [{"id": held, "key_of": other}], [])
    (run,) = machine.store.occurrences(Query(ids=(other,)))
    assert machine.store.settle("end", "w1", [make_end(run)])[0].outcome == "applied"
    last = json.loads(noonmark(*release, "--json").out)
    assert (last["outcome"], last["rows"], last["left"], last["behind"], last["skipped"]) == ("done", 1, [], [], [held])


def test_a_rollback_that_holds_nothing_is_shown_with_what_ends_it(noonmark: Noonmark, machine: Machine) -> None:
    machine.desk.register(replace(TICK, on_rollback="run"))
    machine.prove()
    for lang, said, release in (
        ("en", "Nothing is held.", "noonmark ledger release --as run|done --reason WHY"),
        ("zh", "没有扣住的触发。", "noonmark ledger release --as run|done --reason 原因"),
    ):
        shown = noonmark("ledger", "show", "--lang", lang).out
        assert (said in shown, release in shown, "ledger import" in shown) == (True, True, True), shown
    assert noonmark("doctor").code == 1
    assert noonmark("ledger", "release", "--as", "done", "--reason", "looked").code == 0
    assert "noonmark ledger release" not in noonmark("ledger", "show").out


def _failed_for_good(machine: Machine, name: str, *, key: str) -> int:
    row = make_caller_row(name, at=machine.desk.now, job="mail", key=key)
    (added,) = machine.store.add(machine.desk.request(), [row])
    (run,) = (each for each in machine.desk.take() if each.id == added.id)
    fail = make_end(run, Event.FAIL_MANUAL, code="failed_final")
    assert machine.store.settle(machine.desk.request(), "w1", [fail])[0].outcome == "applied"
    return added.id


@pytest.mark.parametrize("on_rollback", ["hold", "run"])
def test_what_failed_here_and_ran_in_what_was_lost_is_not_retried_where_a_journal_knows_it(
    noonmark: Noonmark, machine: Machine, tmp_path: Path, on_rollback: Any
) -> None:
    machine.desk.register(replace(MAIL, on_rollback=on_rollback))
    failed = _failed_for_good(machine, "1", key="mail:3")
    machine.remember("mail:3")
    machine.desk.later(SECOND)
    machine.prove()
    answer = noonmark("retry", f"r{failed}")
    if on_rollback == "run":
        assert answer.code == 0, "a repeat does no harm"
        return
    assert (answer.code, f"r{failed} ran already" in answer.err) == (3, True), answer
    assert machine.memory.writer in answer.err
    assert f"r{failed} 已经运行过" in noonmark("retry", f"r{failed}", "--lang", "zh").err
    assert machine.state(failed) is State.FAILED_MANUAL
    file = str(tmp_path / "out.jsonl")
    assert noonmark("ledger", "export", file, "--from-state").code == 0
    assert noonmark("ledger", "import", file, "--go").code == 0
    assert machine.state(failed) is State.SUCCESS


def test_what_failed_and_did_not_run_in_what_was_lost_is_retried(noonmark: Noonmark, machine: Machine) -> None:
    machine.desk.register(MAIL)
    failed = _failed_for_good(machine, "x", key="mail:4")
    machine.remember("mail:3")
    machine.desk.later(SECOND)
    machine.prove()
    assert noonmark("retry", f"r{failed}").code == 0
    assert machine.state(failed) is State.PENDING


def test_retry_reads_the_journals_that_are_named(
    noonmark: Noonmark, machine: Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine.desk.register(MAIL)
    failed = _failed_for_good(machine, "1", key="mail:3")
    machine.remember("mail:3")
    machine.desk.later(SECOND)
    machine.prove()
    monkeypatch.setenv("NOONMARK_STATE", str(tmp_path / "elsewhere"))
    elsewhere = noonmark("retry", f"r{failed}", "--state", str(tmp_path / "nothing"))
    assert (elsewhere.code, "no worker has a state folder for this store" in elsewhere.err) == (5, True), elsewhere
    named = noonmark("retry", f"r{failed}", "--state", str(machine.folder))
    assert (named.code, f"r{failed} ran already" in named.err) == (3, True), named
    assert f"noonmark ledger export FILE --from-state {machine.folder}, then" in named.err
    assert machine.state(failed) is State.FAILED_MANUAL
    assert noonmark("retry", f"r{failed}", "--state", "none").code == 0


def test_a_folder_that_is_named_to_retry_is_looked_at_though_nothing_was_lost(
    noonmark: Noonmark, machine: Machine, tmp_path: Path
) -> None:
    machine.desk.register(MAIL)
    failed = _failed_for_good(machine, "1", key="mail:3")
    assert noonmark("retry", f"r{failed}", "--state", str(tmp_path / "nothing")).code == 5
    assert machine.state(failed) is State.FAILED_MANUAL


def test_what_people_did_in_the_lost_range_is_to_be_looked_at_as_the_alert_and_show_say(
    noonmark: Noonmark, machine: Machine
) -> None:
    assert "What people did" not in noonmark("ledger", "show").out
    machine.prove()
    machine.hold("mail:3")
    said = noonmark("ledger", "show").out
    assert "What people did in that time is gone, too: cancels, pauses" in said
    assert "noonmark jobs, flags, next, show" in said
    assert "那段时间里人做的事也丢了" in noonmark("ledger", "show", "--lang", "zh").out
    (alert,) = machine.store.tallies().open_alerts
    for lang, words in (("en", "What people did in it (cancels, pauses"), ("zh", "其间人做的事（取消、暂停")):
        assert words in Voice(lang=lang, zone="UTC", now=machine.desk.now).reason(alert.code, json.dumps(alert.detail))
    assert noonmark("ledger", "release", "--as", "run", "--reason", "looked").code == 0
    assert "What people did" not in noonmark("ledger", "show").out, "it was said; the rollback is over"


def test_a_run_that_was_cancelled_in_the_lost_range_and_is_open_again_is_named(
    noonmark: Noonmark, machine: Machine
) -> None:
    for key in ("mail:3", "mail:5", "mail:6"):
        machine.remember(key, "cancelled", later=-2)
    machine.remember("mail:5", later=-1)
    machine.prove()
    again, ran = machine.hold("mail:3"), machine.hold("mail:5")
    answer = noonmark("ledger", "show")
    assert f"as a journal here knows, and open again: r{again} (mail)\n" in answer.out
    assert f"noonmark cancel r{again} --reason WHY" in answer.out
    assert f"r{ran}" not in answer.out
    assert f"noonmark cancel r{again} --reason 原因" in noonmark("ledger", "show", "--lang", "zh").out
    plain = json.loads(noonmark("ledger", "show", "--json").out)
    assert [row["id"] for row in plain["cancelled_before"]] == [again]
    assert noonmark("cancel", f"r{again}", "--reason", "still wrong").code == 0
    assert json.loads(noonmark("ledger", "show", "--json").out)["cancelled_before"] == []


@pytest.mark.parametrize(("lang", "page"), [("en", "docs/rollback.md"), ("zh", "docs/zh/rollback.md")])
def test_the_page_about_rollbacks_shows_what_the_program_prints(
    noonmark: Noonmark, machine: Machine, lang: str, page: str
) -> None:
    machine.desk.register(MAIL)
    before = copy.deepcopy(machine.store._tables)
    machine.desk.later(MINUTE - SECOND)
    why = {"en": ("a deployment", "paid by phone"), "zh": ("部署", "已电话付款")}[lang]
    assert noonmark("pause", "digest", "--reason", why[0]).code == 0
    machine.desk.later(MINUTE)
    assert noonmark("cancel", "--key", "mail:41", "--job", "mail", "--reason", why[1]).code == 0
    machine.store._tables = before
    machine.prove()
    machine.hold("mail:3")
    machine.desk.later(DAY)
    text = (Path(__file__).parents[3] / page).read_text("utf-8")
    sample = text.split("$ noonmark ledger show\n")[1].split("```")[0]
    printed = noonmark("ledger", "show", "--lang", lang, "--tz", "UTC").out
    masks = (
        (r"w-[0-9a-f]+", "WRITER"), (r"\b\d\d:\d\d(:\d\d)?\b", "TIME"), (r"\d{4}-\d\d-\d\d", "DATE"),
        (r"[A-Z][a-z]{2} \d+ [A-Z][a-z]{2}", "DAY"), (r"(?m)^(mail +)\d+$", r"\1N"),
    )  # fmt: skip
    for pattern, word in masks:
        sample, printed = re.sub(pattern, word, sample), re.sub(pattern, word, printed)
    parts = iter(printed.strip().split("\n\n"))  # more may stand between them
    missing = [part for part in sample.strip().split("\n\n") if part not in parts]
    assert missing == [], f"{page} shows what is not printed in\n{printed}"


def test_one_idea_has_one_chinese_word() -> None:
    """A receipt is 回执, in the program and on every page."""
    root = Path(__file__).parents[3]
    pages = [*(root / "docs/zh").rglob("*.md"), root / "README.zh.md", *(root / "src").rglob("*.py")]
    assert len(pages) > 100
    assert [page.name for page in pages if "收据" in page.read_text("utf-8")] == []
