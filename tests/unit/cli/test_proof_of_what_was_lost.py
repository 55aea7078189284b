"""``verify`` and ``why`` of a store that lacks what the workers' receipts and journals remember."""

from __future__ import annotations

from pathlib import Path

import pytest
from calling import Noonmark
from desk import Desk
from machine import Machine

from noonmark.core.model import DAY, HOUR, SECOND, Job, Manual

MAIL = Job(name="mail", trigger=Manual(), key="mail:{order_id}", reason="Customers wait.")
RELEASE = ("ledger", "release", "--as", "run", "--reason", "looked")


def test_no_proof_is_ok_while_receipts_say_that_the_store_lost_something(noonmark: Noonmark, machine: Machine) -> None:
    machine.desk.register(MAIL)
    machine.remember("mail:3")
    machine.remember("mail:4", outcome="failed")
    said = noonmark("verify")
    assert (said.code, said.out.splitlines()[-1]) == (1, "NOT OK")
    assert f"The store lacks what it had acknowledged to {machine.memory.writer}" in said.out
    assert "successes of this span in the workers' journals that are none in the store: 1\n" in said.out
    assert "do: start a worker, so that what may have run is held" in said.out
    told = noonmark("verify", "--json").plain
    assert (told["ok"], told["problems"]) == (False, [])
    assert [(each["number"], each["successes_not_in_store"]) for each in told["rollbacks"]] == [(None, 1)]
    chinese = noonmark("verify", "--lang", "zh").out
    assert (chinese.splitlines()[-1], "它回退过" in chinese, "没有的成功：1 次" in chinese) == ("有问题", True, True)


def test_no_proof_is_ok_while_a_rollback_is_open_and_the_release_is_told(noonmark: Noonmark, machine: Machine) -> None:
    machine.desk.register(MAIL)
    machine.remember("mail:3")
    machine.prove()
    said = noonmark("verify")
    assert (said.code, said.out.splitlines()[-1]) == (1, "NOT OK")
    assert "Rollback 1 is open: the store lost what it held between " in said.out
    assert "are none in the store: 1\n  do: noonmark ledger show" in said.out
    assert noonmark(*RELEASE).code == 0
    over = noonmark("verify")
    assert (over.code, over.out.splitlines()[-1]) == (0, "OK")
    assert "was released by ann, " in over.out
    assert "are none in the store: 1\n  to bring them back: noonmark ledger export FILE --from-state" in over.out
    assert "已由 ann 于" in noonmark("verify", "--lang", "zh").out
    machine.desk.later(2 * DAY)
    later = noonmark("verify")
    assert "Rollback" not in later.out, "it is over, and touches nothing that was asked about"


def test_a_rollback_without_journals_is_no_proof_that_nothing_ran(noonmark: Noonmark, machine: Machine) -> None:
    machine.desk.register(MAIL)
    machine.prove()
    assert "journals" not in noonmark("verify").out, "the journal that is there has nothing"
    blind = noonmark("verify", "--state", "none")
    assert (blind.code, "no journal of a worker was asked what ran in it" in blind.out) == (1, True)
    assert "没有查问任何 worker 日志" in noonmark("verify", "--state", "none", "--lang", "zh").out


def test_whose_journals_would_be_needed_is_said(
    noonmark: Noonmark, machine: Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine.desk.register(MAIL)
    machine.prove()
    assert noonmark("verify").err == ""
    monkeypatch.setenv("NOONMARK_STATE", str(tmp_path / "another"))
    elsewhere = noonmark("verify")
    assert (elsewhere.code, f"The journals of {machine.memory.writer} are not among" in elsewhere.err) == (1, True)
    assert noonmark(*RELEASE).code == 0
    assert noonmark("verify").err == "", "it is over"


def test_what_ran_again_since_is_not_counted_as_lost(noonmark: Noonmark, machine: Machine) -> None:
    machine.desk.register(MAIL)
    machine.remember("mail:3")
    machine.prove()
    assert noonmark(*RELEASE).code == 0
    machine.desk.later(SECOND)
    assert noonmark("run", "mail", "--param", "order_id=3").code == 0
    (row,) = (each for each in machine.desk.take() if each.key == "mail:3")
    machine.desk.finish(row)
    told = noonmark("verify", "--json").plain
    assert [each["successes_not_in_store"] for each in told["rollbacks"]] == [0]


def test_of_a_key_that_the_store_lost_why_says_what_the_journals_know(noonmark: Noonmark, machine: Machine) -> None:
    machine.desk.register(MAIL)
    machine.remember("mail:3")
    said = noonmark("why", "mail", "--key", "mail:3")
    assert said.code == 5
    assert "a journal of a worker does: mail, r7, ended as success at " in said.err
    assert machine.memory.writer in said.err
    assert "noonmark ledger show says whether the store lost it; noonmark ledger export FILE --from-state" in said.err
    assert "worker 的日志里有：mail" in noonmark("why", "--key", "mail:3", "--lang", "zh").err
    assert "ever had the key 'mail:3'" in noonmark("why", "other", "--key", "mail:3").err
    assert "ever had the key 'mail:4'" in noonmark("why", "--key", "mail:4").err
    assert "ever had the key 'mail:3'" in noonmark("why", "--key", "mail:3", "--state", "none").err
    assert noonmark("why", "--key", "mail:3", "--json").plain["error"]["code"] == "no_key_known"


def test_of_what_is_not_there_is_said_that_it_may_have_been_lost_until_a_day_after_the_release(
    noonmark: Noonmark, machine: Machine
) -> None:
    machine.desk.register(MAIL)
    machine.remember("mail:3")
    asked = (("why", "--key", "mail:4"), ("why", "r77"), ("retry", "r77", "--reason", "x"), ("cancel", "r77"))
    for line in asked:
        assert "lost" not in noonmark(*line).err
    machine.prove()
    for line in asked:
        said = noonmark(*line)
        assert said.code == 5
        assert "the store lost what it held between" in said.err
        assert "(rollback 1)" in said.err
        assert "noonmark ledger show" in said.err
        assert "可能就在其中" in noonmark(*line, "--lang", "zh").err
    assert noonmark(*asked[0], "--json").plain["error"]["code"] == "no_key_lost"
    assert noonmark(*asked[1], "--json").plain["error"]["code"] == "no_occurrence_lost"
    assert "a journal of a worker does" in noonmark("why", "--key", "mail:3").err, "who knows it says more"
    assert noonmark("why", "nosuchjob").err.count("lost") == 0
    assert noonmark(*RELEASE, "--state", "none").code == 0
    machine.desk.later(DAY - SECOND)
    assert "(rollback 1)" in noonmark(*asked[1]).err
    machine.desk.later(2 * SECOND)
    assert "lost" not in noonmark(*asked[1]).err


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_a_proof_since_a_time_that_is_to_come_is_refused(noonmark: Noonmark, desk: Desk, lang: str) -> None:
    desk.later(HOUR)
    said = noonmark("verify", "--since", "2097-01-01", "--lang", lang)
    assert (said.code, said.out) == (2, "")
    assert ("is still to come" if lang == "en" else "还没有到") in said.err
