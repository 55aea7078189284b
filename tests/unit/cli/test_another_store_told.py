"""A store that lies where another one lay is not called well by who remembers the other one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from calling import Noonmark
from desk import Desk

from noonmark.core import former
from noonmark.core.model import Cron, Fact
from noonmark.core.model.rollback import Claim, Receipt
from noonmark.engine import copied, places
from noonmark.engine.statefolder import StateFolder
from noonmark.testing.builders import make_job

DAILY = make_job("daily", trigger=Cron(expression="0 9 * * *", tz="UTC"))
BEFORE = "0" * 31 + "b"


def remembered(root: Path, place: str, *stores: str) -> None:
    """A state folder in which workers found these stores at a place, one after the other."""
    for store in stores:
        StateFolder(root).lies_at(place, store)
        witness = StateFolder(root).open(store, "w1")
        witness.keep(Receipt(store=store, writer=witness.writer))
        witness.close()


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("NOONMARK_STATE", str(tmp_path / "state"))
    return tmp_path / "state"


@pytest.mark.parametrize("is_known", [False, True], ids=["no worker has found it yet", "a worker has found it"])
def test_doctor_verify_and_ledger_show_say_that_another_store_lay_here(
    noonmark: Noonmark, desk: Desk, state: Path, is_known: bool
) -> None:
    remembered(state, places.place_of(desk.store), BEFORE)
    if is_known:
        StateFolder(state).lies_at(places.place_of(desk.store), desk.store.store_id())
    doctor = noonmark("doctor")
    assert "Another store lay here before" in doctor.out
    assert f"--from-state {state} --of {BEFORE}" in doctor.out
    assert f"another store lay here then, {BEFORE}" in noonmark("verify").out
    verified = json.loads(noonmark("verify", "--json").out)
    assert (verified["former_stores"], verified["ok"]) == ([BEFORE], True)
    assert f"remember ({BEFORE})" in noonmark("ledger", "show").out
    assert json.loads(noonmark("ledger", "show", "--json").out)["former_stores"] == [BEFORE]
    for words in (("doctor",), ("verify",), ("ledger", "show")):
        assert BEFORE in noonmark(*words, "--lang", "zh").out


def test_a_place_that_had_one_store_only_and_another_place_are_no_matter(
    noonmark: Noonmark, desk: Desk, state: Path
) -> None:
    own = desk.store.store_id()
    remembered(state, "sqlite:///elsewhere", BEFORE)
    remembered(state, places.place_of(desk.store), own)
    assert "lay here" not in noonmark("doctor").out + noonmark("verify").out + noonmark("ledger", "show").out


def test_who_removes_what_is_remembered_of_the_other_store_hears_of_it_no_more(
    noonmark: Noonmark, desk: Desk, state: Path
) -> None:
    remembered(state, places.place_of(desk.store), BEFORE, desk.store.store_id())
    for path in sorted((state / BEFORE).rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()
    assert "lay here" not in noonmark("doctor").out


def test_a_store_that_was_put_back_is_the_one_that_lies_here_and_the_one_between_is_told(tmp_path: Path) -> None:
    remembered(tmp_path, "sqlite:///a", "1", "2", "1")
    assert places.former([tmp_path], "sqlite:///a", "1") == [(tmp_path, "2")]
    assert places.former([tmp_path], "sqlite:///a", "2") == [(tmp_path, "1")]


@pytest.mark.parametrize("name", ["..", "../outside", "/etc", ""])
def test_a_name_in_a_damaged_file_is_never_a_path(tmp_path: Path, name: str) -> None:
    remembered(tmp_path, "sqlite:///a", "1", "2")
    (file,) = (tmp_path / "places").glob("*.former")
    file.write_text(f"{name}\n", "utf-8")
    remembered(tmp_path, "sqlite:///b", "outside")
    assert places.former([tmp_path / "2"], "sqlite:///a", "2") == []
    assert places.former([tmp_path], "sqlite:///a", "2") == []


@pytest.fixture
def told(desk: Desk, state: Path) -> str:  # noqa: ARG001
    """A worker has found the store in the place of another one, and nobody of this machine remembers that."""
    guard: Any = desk.store
    guard.prove(Claim(writer="p", worker="w", receipt=None, before=BEFORE))
    return BEFORE


def test_why_and_next_say_that_another_store_lay_here_until_a_person_takes_it_away(
    noonmark: Noonmark, desk: Desk, told: str
) -> None:
    desk.register(DAILY)
    for words in (("why", "daily"), ("why", "--key", "nobody"), ("next", "daily"), ("next",), ("doctor",)):
        said = noonmark(*words)
        assert told in said.out + said.err, words
        assert "lay here" in said.out + said.err
        assert "先前是另一个存储" in "".join((chinese := noonmark(*words, "--lang", "zh")).out + chinese.err), words
    assert any(told in line for line in json.loads(noonmark("why", "daily", "--json").out)["lines"])
    assert f"another store lay here then, {told}" in noonmark("verify").out
    assert json.loads(noonmark("verify", "--json").out)["former_stores"] == [told]
    assert told in noonmark("ledger", "show").err
    assert noonmark("signal", "noonmark:another-store", "--clear").code == 0
    for words in (("why", "daily"), ("next", "daily"), ("next",), ("doctor",)):
        said = noonmark(*words)
        assert told not in said.out + said.err, words


@pytest.mark.parametrize("flag", [former.FLAG, copied.FLAG])
def test_who_may_set_flags_cannot_fill_every_answer_with_them(
    noonmark: Noonmark, desk: Desk, state: Path, flag: str
) -> None:
    assert not state.exists()
    desk.register(DAILY)
    desk.store.signal("r", [Fact(name=f"flag:{flag}", value="x" * 100_000, actor="somebody")])
    for words in (("why", "daily"), ("next", "daily"), ("doctor",), ("ledger", "show"), ("doctor", "--json")):
        answer = noonmark(*words)
        assert len(answer.out) + len(answer.err) < 10_000, words
