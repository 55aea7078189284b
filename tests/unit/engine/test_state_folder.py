"""What workers remember outside the store."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from noonmark.core.model.rollback import Receipt
from noonmark.engine import statefolder
from noonmark.engine.statefolder import StateFolder, root_of
from noonmark.engine.testimony import outcomes, receipts

OUTCOME = (7, "mail", "", "t:1", "mail:1", 1, "2026-11-29", "later", "success", 9)


def kept(writer: str, seq: int = 3) -> Receipt:
    return Receipt(store="s", writer=writer, seq=seq, hash="h", at=5, worker="w", beat=6)


def test_a_receipt_is_found_again_by_whoever_is_that_writer_next(tmp_path: Path) -> None:
    first = StateFolder(tmp_path).open("s", "w1")
    first.keep(kept(first.writer, 1))
    first.keep(kept(first.writer, 2))
    first.close()
    again = StateFolder(tmp_path).open("s", "w2")
    assert (again.writer, again.receipt) == (first.writer, kept(first.writer, 2))
    again.close()


def test_two_processes_are_two_writers_and_one_that_ended_can_be_asked_for(tmp_path: Path) -> None:
    folder = StateFolder(tmp_path)
    first, second = folder.open("s", "w1"), folder.open("s", "w2")
    assert first.writer != second.writer
    first.keep(kept(first.writer))
    assert list(folder.others("s")) == []
    first.close()
    (other,) = folder.others("s")
    assert other.receipt == kept(first.writer)
    other.close()
    second.close()


def test_each_store_has_writers_of_its_own(tmp_path: Path) -> None:
    folder = StateFolder(tmp_path)
    first = folder.open("s", "w1")
    first.close()
    second = folder.open("t", "w1")
    assert second.writer != first.writer
    second.close()


@pytest.mark.parametrize("torn", ["", "{", '{"store": "s"}', "\x00" * 40])
def test_a_torn_receipt_is_none(tmp_path: Path, torn: str) -> None:
    first = StateFolder(tmp_path).open("s", "w1")
    first.keep(kept(first.writer))
    first.close()
    (tmp_path / "s" / first.writer / "receipt.json").write_text(torn, encoding="utf-8")
    again = StateFolder(tmp_path).open("s", "w1")
    assert again.receipt is None
    again.close()


def test_the_journal_tells_outcomes_and_skips_a_torn_line(tmp_path: Path) -> None:
    witness = StateFolder(tmp_path).open("s", "w1")
    witness.record(4, "h4", 50, [OUTCOME])
    witness.record(5, "h5", 60, [])
    witness.close()
    journal = tmp_path / "s" / witness.writer / "journal.jsonl"
    assert len(journal.read_text(encoding="utf-8").splitlines()) == 1, "a batch without outcomes is no line"
    with journal.open("a", encoding="utf-8") as lines:
        lines.write('{"seq": 6, "hash": "h6", "at": 7')
    damaged: list[str] = []
    (told,) = outcomes(tmp_path, "s", damaged.append)
    assert damaged == [f"{journal}:2"]
    assert (told["key"], told["outcome"], told["seq"], told["at"], told["writer"]) == (
        "mail:1", "success", 4, 50, witness.writer,
    )  # fmt: skip


def test_a_line_that_was_cut_off_does_not_spoil_the_next_one(tmp_path: Path) -> None:
    witness = StateFolder(tmp_path).open("s", "w1")
    witness.record(4, "h4", 50, [OUTCOME])
    witness.close()
    journal = tmp_path / "s" / witness.writer / "journal.jsonl"
    os.truncate(journal, journal.stat().st_size - 20)
    again = StateFolder(tmp_path).open("s", "w2")
    again.record(5, "h5", 60, [OUTCOME])
    again.close()
    damaged: list[str] = []
    assert [told["seq"] for told in outcomes(tmp_path, "s", damaged.append)] == [5]
    assert damaged == [f"{journal}:1"]


def test_what_was_cut_off_while_the_journal_is_open_swallows_no_later_outcome(tmp_path: Path) -> None:
    witness = StateFolder(tmp_path).open("s", "w1")
    witness.record(4, "h4", 50, [OUTCOME])
    journal = tmp_path / "s" / witness.writer / "journal.jsonl"
    os.truncate(journal, journal.stat().st_size - 20)
    witness.record(5, "h5", 60, [OUTCOME])
    witness.record(6, "h6", 70, [OUTCOME])
    witness.close()
    assert [told["seq"] for told in outcomes(tmp_path, "s")] == [5, 6]


def test_a_line_and_a_receipt_that_the_disk_takes_in_pieces_are_written_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write, pwrite = os.write, os.pwrite
    monkeypatch.setattr(os, "write", lambda handle, text: write(handle, bytes(text)[:7]))
    monkeypatch.setattr(os, "pwrite", lambda handle, text, at: pwrite(handle, bytes(text)[:7], at))
    witness = StateFolder(tmp_path).open("s", "w1")
    witness.keep(kept(witness.writer))
    witness.record(4, "h4", 50, [OUTCOME])
    witness.record(5, "h5", 60, [OUTCOME])
    witness.close()
    damaged: list[str] = []
    assert [told["seq"] for told in outcomes(tmp_path, "s", damaged.append)] == [4, 5]
    assert not damaged
    ((_, receipt, trouble),) = receipts(tmp_path, "s")
    assert (receipt, trouble) == (kept(witness.writer), "")


def test_a_disk_that_is_full_in_the_middle_of_a_line_is_told_and_costs_only_that_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    witness = StateFolder(tmp_path).open("s", "w1")
    witness.record(4, "h4", 50, [OUTCOME])
    write = os.write
    taken = iter([30])

    def fill(handle: int, text: bytes) -> int:
        for length in taken:
            return write(handle, bytes(text)[:length])
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "write", fill)
    witness.record(5, "h5", 60, [OUTCOME])
    assert witness.is_blind
    assert "No space left on device" in caplog.text
    monkeypatch.undo()
    witness.close()
    again = StateFolder(tmp_path).open("s", "w2")
    again.record(6, "h6", 70, [OUTCOME])
    again.close()
    damaged: list[str] = []
    assert [told["seq"] for told in outcomes(tmp_path, "s", damaged.append)] == [4, 6]
    assert len(damaged) == 1


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text.replace("mail:1", "mail:7"), lambda text: text.replace('"seq": 4', '"seq": 9'),
        lambda text: text.replace('"h4"', '"h5"'), lambda text: text.replace("success", "failed"),
        lambda text: text.replace('"sum"', '"sun"'), lambda text: text[:-4] + "\n", lambda _: "[]\n",
    ],
)  # fmt: skip
def test_a_damaged_line_says_nothing_and_is_no_receipt(tmp_path: Path, change: Callable[[str], str]) -> None:
    witness = StateFolder(tmp_path).open("s", "w1")
    witness.keep(replace(kept(witness.writer), seq=4, hash="h4"))
    witness.record(4, "h4", 50, [OUTCOME])
    witness.close()
    place = tmp_path / "s" / witness.writer
    (place / "receipt.json").write_text("garbage", "utf-8")
    ((_, receipt, _),) = receipts(tmp_path, "s")
    assert receipt is not None
    assert receipt.seq == 4
    journal = place / "journal.jsonl"
    journal.write_text(change(journal.read_text("utf-8")), "utf-8")
    damaged: list[str] = []
    assert list(outcomes(tmp_path, "s", damaged.append)) == []
    assert damaged == [f"{journal}:1"]
    assert [receipt for _, receipt, _ in receipts(tmp_path, "s")] == [None]


def test_a_journal_of_another_store_or_writer_is_not_believed(tmp_path: Path) -> None:
    witness = StateFolder(tmp_path).open("s", "w1")
    witness.record(4, "h4", 50, [OUTCOME])
    witness.close()
    (tmp_path / "s").rename(tmp_path / "t")
    damaged: list[str] = []
    assert list(outcomes(tmp_path, "t", damaged.append)) == []
    assert len(damaged) == 1
    (tmp_path / "t").rename(tmp_path / "s")
    assert len(list(outcomes(tmp_path, "s"))) == 1


def test_the_journal_is_two_files_of_a_bounded_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(statefolder, "JOURNAL_HALF", 1000)
    witness = StateFolder(tmp_path).open("s", "w1")
    for seq in range(100):
        witness.record(seq, "h", 50, [OUTCOME])
    witness.close()
    sizes = [path.stat().st_size for path in (tmp_path / "s" / witness.writer).glob("journal*.jsonl")]
    assert len(sizes) == 2
    assert max(sizes) < 1300
    assert [told["seq"] for told in outcomes(tmp_path, "s")][-1] == 99


def test_an_old_journal_is_dropped(tmp_path: Path) -> None:
    witness = StateFolder(tmp_path).open("s", "w1")
    witness.record(1, "h", 50, [OUTCOME])
    witness.close()
    journal = tmp_path / "s" / witness.writer / "journal.jsonl"
    old = journal.stat().st_mtime - statefolder.JOURNAL_SECONDS - 60
    os.utime(journal, (old, old))
    again = StateFolder(tmp_path).open("s", "w2")
    again.record(2, "h", 50, [OUTCOME])
    again.close()
    assert [told["seq"] for told in outcomes(tmp_path, "s")] == [2]


def test_a_folder_that_cannot_be_used_makes_blind(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    witness = StateFolder(tmp_path / "file").open("s", "w1")
    assert (witness.is_blind, witness.writer, witness.receipt) == (True, "w1", None)
    witness.keep(kept("w1"))
    witness.record(1, "h", 1, [OUTCOME])
    assert witness.receipt == kept("w1"), "it proves itself while it lives"
    assert StateFolder(None).open("s", "w1").is_blind


def test_a_folder_that_stops_working_makes_blind(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    witness = StateFolder(tmp_path).open("s", "w1")
    journal = tmp_path / "s" / witness.writer / "journal.jsonl"
    journal.mkdir()
    witness.record(1, "h", 1, [OUTCOME])
    assert witness.is_blind
    assert "from here on this worker is blind" in caplog.text
    witness.close()


def test_another_store_at_the_same_address_is_told_once(tmp_path: Path) -> None:
    folder = StateFolder(tmp_path)
    assert folder.lay_before("sqlite:///a", "s") == ""
    folder.lies_at("sqlite:///a", "s")
    assert folder.lay_before("sqlite:///a", "s") == ""
    assert folder.lay_before("sqlite:///b", "t") == ""
    for _ in range(2):
        assert folder.lay_before("sqlite:///a", "t") == "s", "asking alone changes nothing"
    folder.lies_at("sqlite:///a", "t")
    assert folder.lay_before("sqlite:///a", "t") == ""


def test_the_folder_is_named_by_the_caller_the_environment_or_the_system() -> None:
    assert root_of("/x", {}) == Path("/x")
    assert root_of(None, {"NOONMARK_STATE": "/y", "XDG_STATE_HOME": "/z"}) == Path("/y")
    assert root_of(None, {"XDG_STATE_HOME": "/z"}) == Path("/z/noonmark")
    assert root_of(None, {}) == Path.home() / ".local/state/noonmark"
    assert root_of("none", {}) is None
    assert root_of(None, {"NOONMARK_STATE": "none"}) is None


def test_a_journals_line_is_json_whatever_the_names_are(tmp_path: Path) -> None:
    witness = StateFolder(tmp_path).open("s", "w1")
    witness.record(1, "h", 1, [(7, "mail", "", "t\n1", 'k"\ud800', 1, "", "later", "success", 9)])
    witness.close()
    text = (tmp_path / "s" / witness.writer / "journal.jsonl").read_text(encoding="utf-8")
    assert json.loads(text)["outcomes"][0][3] == "t\n1"
