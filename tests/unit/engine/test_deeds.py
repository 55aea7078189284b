"""The file of deeds: whole lines of several processes, turned over, and told by what they are about."""

from __future__ import annotations

import multiprocessing
from collections.abc import Collection
from pathlib import Path

import pytest

from noonmark.core.model import FAR, Act, Acted, Fact
from noonmark.engine import deeds, testimony
from noonmark.stores.memory import MemoryStore


def flag(name: str, value: object = True) -> deeds.Deed:
    return deeds.of_flag(Fact(name=f"flag:{name}", value=value, actor="ann"))


def names(root: Path, store: MemoryStore) -> list[str]:
    return [deed.name for deed in deeds.read(root, store.store_id(), [(0, FAR)], pytest.fail)]


def _write_many(root: Path, store: MemoryStore, who: int) -> None:
    for number in range(50):
        assert not deeds.remember(root, store, lambda number=number: [flag(f"{who}-{number}")])  # type: ignore[misc]


def test_processes_that_write_at_once_lose_no_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deeds, "HALF", 15_000)  # turned over while they write, once
    store = MemoryStore()
    fork = multiprocessing.get_context("fork")
    writers = [fork.Process(target=_write_many, args=(tmp_path, store, who)) for who in range(2)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join(60)
        assert writer.exitcode == 0
    assert (tmp_path / store.store_id() / deeds.OLDER).exists()
    assert sorted(names(tmp_path, store)) == sorted(f"{who}-{number}" for who in range(2) for number in range(50))


def test_the_older_half_is_dropped_when_the_newer_one_is_full(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = MemoryStore()
    monkeypatch.setattr(deeds, "HALF", 1)
    for name in ("a", "b", "c"):
        deeds.remember(tmp_path, store, lambda name=name: [flag(name)])  # type: ignore[misc]
    assert names(tmp_path, store) == ["c"]


def test_only_the_ranges_that_are_asked_for_are_told(tmp_path: Path) -> None:
    store = MemoryStore()
    deeds.remember(tmp_path, store, lambda: [flag("a")])
    at = next(deeds.read(tmp_path, store.store_id(), [(0, FAR)], pytest.fail)).at
    assert not list(deeds.read(tmp_path, store.store_id(), [(at, FAR), (0, at - 1)], pytest.fail))
    assert list(deeds.read(tmp_path, store.store_id(), [(at - 1, at)], pytest.fail))


def test_a_line_of_another_store_is_none(tmp_path: Path) -> None:
    store, other = MemoryStore(), MemoryStore()
    deeds.remember(tmp_path, store, lambda: [flag("a")])
    (tmp_path / store.store_id()).rename(tmp_path / other.store_id())
    told: list[str] = []
    assert not list(deeds.read(tmp_path, other.store_id(), [(0, FAR)], told.append))
    assert [place.rpartition("/")[2] for place in told] == ["deeds.jsonl:1"]
    assert testimony.stores(tmp_path) == [other.store_id()]


def test_what_is_too_long_is_left_out_of_the_command_and_the_flag_is_looked_at_all_the_same(tmp_path: Path) -> None:
    store = MemoryStore()
    deed = flag("a", "x" * 20_000)
    assert (deed.words, deed.value) == (("signal", "a", "--value", "…"), "…")
    assert deeds.gone(store, [deed])
    store.signal("1", [Fact(name="flag:a", value="x" * 20_000)])
    assert not deeds.gone(store, [deed])
    assert not deeds.remember(tmp_path, store, lambda: [deed])


@pytest.mark.parametrize("value", ["plain text", "7", '{"a": 1}', 7, None, True, ["x"], "=x"])
def test_a_param_is_written_as_it_will_be_read(value: object) -> None:
    from noonmark.core.model import Query
    from noonmark.faces.cli.params import read_params
    from noonmark.testing.builders import make_caller_row

    store = MemoryStore()
    store.add("1", [make_caller_row("1", at=store.now(), job="mail")])
    (row,) = store.occurrences(Query())
    words = deeds.of_run(row, {"p": value}, when="", by="ann").words
    assert read_params((words[words.index("--param") + 1],)) == {"p": value}


@pytest.mark.parametrize("outcome", ["already_done", "refused", "not_found"])
def test_what_changed_nothing_is_no_deed(outcome: str) -> None:
    act = Act(kind="pause", actor="ann", reason="x", job="mail")
    assert deeds.of_act(act, Acted(outcome=outcome), None) is None
    assert deeds.of_act(act, Acted(outcome="done"), None) is not None
    assert deeds.of_act(Act(kind="release", actor="ann", reason="x"), Acted(outcome="done"), None) is None


def test_a_store_that_goes_away_behind_its_answer_costs_the_deed_nothing(tmp_path: Path) -> None:
    class Gone(MemoryStore):
        def now(self) -> int:
            raise RuntimeError("away")

    assert deeds.remember(tmp_path, Gone(), lambda: [flag("a")]).endswith(": away")


def test_flags_that_were_set_by_the_thousand_are_asked_about_by_the_thousand() -> None:
    asked: list[int] = []

    class Counting(MemoryStore):
        def facts(self, names: Collection[str]) -> dict[str, Fact]:
            asked.append(len(names))
            return super().facts(names)

    store = Counting()
    store.signal("1", [Fact(name=f"flag:f{number}", value=True) for number in range(0, 2_500, 2)])
    gone = deeds.gone(store, [flag(f"f{number}") for number in range(2_500)])
    assert [each.deed.name for each in gone] == [f"f{number}" for number in range(1, 2_500, 2)]
    assert asked == [1000, 1000, 500]
