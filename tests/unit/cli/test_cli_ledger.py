"""``noonmark ledger export`` and ``import``: whose outcomes they are is shown, and another store's are refused."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from calling import Noonmark
from desk import Desk

from noonmark.core.model import SECOND, Query, State
from noonmark.engine import exports, importing
from noonmark.engine.statefolder import StateFolder
from noonmark.ports.store import StoreUnreachable
from noonmark.testing.builders import make_caller_row

OUTCOME: dict[str, Any] = {
    "occurrence": 7, "job": "mail", "subject": "", "identity": "l:1", "key": "mail:1", "scheduled_for": SECOND,
    "business_date": "2026-11-29", "origin": "later", "outcome": "success", "fence": 9,
}  # fmt: skip


def written(folder: Path, store: str, *plain: dict[str, Any]) -> str:
    file = folder / "ledger.jsonl"
    file.write_text("".join(f"{line}\n" for line in exports.exported(store, plain)), "utf-8")
    return str(file)


def states(desk: Desk) -> list[State]:
    return [row.state for row in desk.store.occurrences(Query(job="mail"))]


def journal(folder: Path, store: str) -> None:
    witness = StateFolder(folder).open(store, "w1")
    witness.record(1, "h", 5, [list(OUTCOME.values())])
    witness.close()


def test_what_a_store_exports_it_reads_in_and_both_say_which_store_it_is(
    noonmark: Noonmark, desk: Desk, tmp_path: Path
) -> None:
    own, file = desk.store.store_id(), str(tmp_path / "out.jsonl")
    (added,) = desk.store.add("a", [make_caller_row("1", at=desk.now, job="mail")])
    desk.act("mark_done", occurrence_id=added.id, reason="by hand")
    assert noonmark("ledger", "export", file).out == f"1 outcomes of the store {own} written to {file}\n"
    answer = noonmark("ledger", "import", file)
    assert answer.out.splitlines()[:2] == [f"From this store ({own}):", "1 are SUCCESS here already"]
    plain = json.loads(noonmark("ledger", "import", file, "--json").out)
    assert (plain["store"], plain["own"], plain["there"], plain["done"]) == (own, True, 1, False)


def test_another_stores_outcomes_are_refused_unless_that_store_is_named(
    noonmark: Noonmark, desk: Desk, tmp_path: Path
) -> None:
    file, own = written(tmp_path, "staging", OUTCOME), desk.store.store_id()
    for more in ([], ["--go"]):
        answer = noonmark("ledger", "import", file, *more)
        assert (answer.code, answer.out) == (3, "")
        assert f"another store (staging; this one is {own})" in answer.err
        assert f"noonmark ledger import {file} --of staging" in answer.err
    assert states(desk) == []
    wrong = noonmark("ledger", "import", file, "--of", "other", "--go")
    assert (wrong.code, "of the store staging, not of other" in wrong.err) == (3, True)
    assert states(desk) == []
    answer = noonmark("ledger", "import", file, "--of", "staging", "--go")
    assert answer.out.splitlines() == [
        "From ANOTHER store (staging):",
        "1 unknown here are entered as SUCCESS",
        "Done.",
    ]
    assert states(desk) == [State.SUCCESS]


def test_a_file_of_this_store_is_not_read_as_another_ones(noonmark: Noonmark, desk: Desk, tmp_path: Path) -> None:
    file = written(tmp_path, desk.store.store_id(), OUTCOME)
    assert noonmark("ledger", "import", file, "--of", "staging").code == 3


def test_the_refusal_is_said_in_chinese(noonmark: Noonmark, tmp_path: Path) -> None:
    answer = noonmark("ledger", "import", written(tmp_path, "staging", OUTCOME), "--lang", "zh")
    assert "另一个存储的结果（staging" in answer.err


def test_journals_of_what_the_store_was_before_are_named_and_exported_by_its_id(
    noonmark: Noonmark, desk: Desk, tmp_path: Path
) -> None:
    folder, file = tmp_path / "state", str(tmp_path / "out.jsonl")
    journal(folder, "before")
    missing = noonmark("ledger", "export", file, "--from-state", str(folder))
    assert missing.code == 5
    assert "there are journals of: before" in missing.err
    assert f"--from-state {folder} --of before" in missing.err
    assert not Path(file).exists()
    assert noonmark("ledger", "export", file, "--from-state", str(folder), "--of", "before").code == 0
    assert noonmark("ledger", "import", file, "--go").code == 3, "it is another store's for the import, too"
    assert noonmark("ledger", "import", file, "--of", "before", "--go").code == 0
    assert states(desk) == [State.SUCCESS]


@pytest.mark.parametrize("name", ["..", "../outside", "places", "/etc", "."])
def test_a_name_that_is_no_store_of_the_folder_is_never_a_path(noonmark: Noonmark, tmp_path: Path, name: str) -> None:
    folder = tmp_path / "state"
    journal(folder, "before")
    journal(tmp_path, "outside")
    StateFolder(folder).lies_at("sqlite:///a", "before")
    assert noonmark("ledger", "export", "-", "--from-state", str(folder), "--of", name).code == 5


def test_a_folder_that_remembers_nothing_is_told_as_such(noonmark: Noonmark, tmp_path: Path) -> None:
    answer = noonmark("ledger", "export", "-", "--from-state", str(tmp_path))
    assert (answer.code, "has a state folder for this store" in answer.err) == (5, True)


@pytest.mark.parametrize("words", [("show",), ("export",), ("release", "--as", "run", "--reason", "x")])
def test_naming_a_store_where_none_can_be_another_is_a_mistake(noonmark: Noonmark, words: tuple[str, ...]) -> None:
    answer = noonmark("ledger", *words, "--of", "before")
    assert (answer.code, "--of names another store's outcomes" in answer.err) == (2, True)


def test_a_broken_line_is_named_with_its_file(noonmark: Noonmark, desk: Desk, tmp_path: Path) -> None:
    lacking = {name: value for name, value in OUTCOME.items() if name != "key"}
    file = written(tmp_path, desk.store.store_id(), OUTCOME, lacking)
    for lang, said in (("en", f'{file}:3: no ledger as it was written\n        "key" is missing'), ("zh", "缺少 key")):
        answer = noonmark("ledger", "import", file, "--go", "--lang", lang)
        assert (answer.code, said in answer.err) == (3, True), answer.err
    assert states(desk) == [], "nothing is entered before the last line was read"


@pytest.mark.parametrize("content", [b"\xff\xfe\x00", b"", b"[]\n", b"null\n", b"{}\n", b'{"hash": 1}\n'])
def test_whatever_is_in_the_file_the_command_answers_in_words(
    noonmark: Noonmark, tmp_path: Path, content: bytes
) -> None:
    file = tmp_path / "x"
    file.write_bytes(content)
    answer = noonmark("ledger", "import", str(file))
    assert answer.code == 3
    assert f"{file}:1: no ledger as it was written" in answer.err


def test_an_export_that_breaks_off_leaves_no_file(
    noonmark: Noonmark, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def breaking(_store: object) -> Iterator[dict[str, Any]]:
        yield OUTCOME
        raise StoreUnreachable("the store desk: does not answer: gone")

    monkeypatch.setattr(importing, "of_store", breaking)
    file = tmp_path / "out.jsonl"
    assert noonmark("ledger", "export", str(file)).code == 4
    assert not file.exists()
    file.write_text("mine", "utf-8")
    assert noonmark("ledger", "export", str(file)).code == 2
    assert file.read_text("utf-8") == "mine"
