"""What a rollback on record costs whoever asks the journals: only what may be meant is read."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from noonmark.core.model import Event, Settled
from noonmark.core.model.rollback import Epoch, Receipt, Writer
from noonmark.engine import testimony
from noonmark.engine.endings import endings
from noonmark.engine.statefolder import StateFolder
from noonmark.engine.witnessing import _is_gone, _is_lost, lost_successes
from noonmark.testing.builders import make_end, make_row


def outcome(key: str, word: str = "success") -> tuple[object, ...]:
    return (7, "mail", "", f"t:{key}", key, 1, "2026-11-29", "later", word, 9)


LOST = Epoch(number=1, lost_from=100, lost_until=200, detected_at=200, released_at=300, released_by="ada")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two writers with a line every ten microseconds, two keys in each."""
    folder = StateFolder(tmp_path)
    writers = [folder.open("s", f"w{n}") for n in range(2)]
    for which, writer in enumerate(writers):
        for seq, at in enumerate(range(0, 1000, 10)):
            writer.record(seq, "h" * 64, at, [outcome(f"mail:{which}:{at}:{part}") for part in "ab"])
        writer.close()
    return tmp_path


@pytest.fixture
def understood(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """The lines that were taken apart."""
    lines: list[str] = []
    take = testimony.unsealed

    def note(place: Path, text: str) -> dict[str, object]:
        lines.append(text)
        return take(place, text)

    monkeypatch.setattr(testimony, "unsealed", note)
    return lines


def test_only_lines_of_a_lost_range_are_understood(folder: Path, understood: list[str]) -> None:
    known = lost_successes([folder], "s", [LOST])
    assert {key for _, key in known} == {
        f"mail:{which}:{at}:{part}" for which in range(2) for at in range(100, 201, 10) for part in "ab"
    }
    assert len(understood) == 22


def test_of_one_key_only_the_lines_that_have_it_are_understood(folder: Path, understood: list[str]) -> None:
    known = lost_successes([folder], "s", [LOST], keys=["mail:1:150:a"])
    assert [key for _, key in known] == ["mail:1:150:a"]
    assert len(understood) == 1
    assert not lost_successes([folder], "s", [LOST], keys=["mail:1:950:a"]), "it was not lost"
    assert not lost_successes([folder], "s", [LOST], keys=["mail:1:150"]), "a part of a key is none"
    assert not lost_successes([folder], "s", [LOST], keys=[])


def test_many_keys_are_found_like_few(folder: Path) -> None:
    wanted = [f"mail:0:{at}:a" for at in range(0, 1000, 10)]
    assert len(wanted) > 16
    assert {key for _, key in lost_successes([folder], "s", [LOST], keys=wanted)} == set(wanted[10:21])


@pytest.mark.parametrize("key", ["邮件:1", 'a"b\\c', "x\ny", "\ud800"])
@pytest.mark.parametrize("others", [0, 40])
def test_a_key_is_found_whatever_its_letters_are(tmp_path: Path, key: str, others: int) -> None:
    writer = StateFolder(tmp_path).open("s", "w1")
    writer.record(1, "h", 150, [outcome("other"), outcome(key)])
    writer.record(2, "h", 160, [outcome(key, "failed")])
    writer.close()
    wanted = [key, *(f"k{n}" for n in range(others))]
    assert set(lost_successes([tmp_path], "s", [LOST], keys=wanted)) == {("mail", key)}


@pytest.mark.parametrize("others", [0, 40])
def test_a_run_that_ended_over_the_rollback_is_found_behind_its_range(tmp_path: Path, others: int) -> None:
    writer = StateFolder(tmp_path).open("s", "w1")
    writer.record(1, "h", 5000, [outcome("late")], begun=120)
    writer.record(2, "h", 5001, [outcome("usual")])
    writer.close()
    wanted = ["late", "usual", *(f"k{n}" for n in range(others))]
    assert set(lost_successes([tmp_path], "s", [LOST], keys=wanted)) == {("mail", "late")}
    assert set(lost_successes([tmp_path], "s", [LOST])) == {("mail", "late")}


@pytest.mark.parametrize("keys", [None, ["mail:0:150:a"]])
def test_a_damaged_line_that_may_be_meant_is_named_by_its_number(folder: Path, keys: list[str] | None) -> None:
    (journal, *_) = sorted(folder.glob("s/*/journal.jsonl"))
    lines = journal.read_text("ascii").splitlines(keepends=True)
    at = 15 if "mail:0:150:a" in lines[15] else -1
    if at < 0:  # the other writer's name sorts first
        (_, journal) = sorted(folder.glob("s/*/journal.jsonl"))
        lines = journal.read_text("ascii").splitlines(keepends=True)
        at = 15
    lines[at] = lines[at].replace("success", "Success")
    journal.write_text("".join(lines), "ascii")
    damaged: list[str] = []
    known = lost_successes([folder], "s", [LOST], damaged.append, keys=keys)
    assert damaged == [f"{journal}:16"]
    assert ("mail", "mail:0:150:a") not in known


def test_a_line_that_does_not_begin_like_one_is_not_passed_over(folder: Path) -> None:
    (journal, *_) = sorted(folder.glob("s/*/journal.jsonl"))
    journal.write_text("x" + journal.read_text("ascii"), "ascii")
    damaged: list[str] = []
    lost_successes([folder], "s", [LOST], damaged.append)
    assert damaged == [f"{journal}:1"]


def test_an_empty_journal_says_nothing(tmp_path: Path) -> None:
    writer = StateFolder(tmp_path).open("s", "w1")
    writer.record(1, "h", 150, [outcome("a")])
    writer.close()
    (journal,) = tmp_path.glob("s/*/journal.jsonl")
    journal.write_text("", "ascii")
    assert not lost_successes([tmp_path], "s", [LOST], keys=["a"])
    assert not lost_successes([tmp_path], "s", [LOST])


def test_what_was_lost_begins_with_the_first_moment_of_the_range_and_ends_with_its_last() -> None:
    epoch = Epoch(number=1, lost_from=10, lost_until=20, detected_at=30, writers=("p",))

    def is_lost(at: object, begun: object = None) -> bool:
        return _is_lost(at, begun, [epoch])

    assert [is_lost(at) for at in (9, 10, 20, 21)] == [False, True, True, False]
    assert [is_lost(at, 5) for at in (9, 10, 40)] == [False, True, True], "it ended over the loss"
    assert [is_lost(40, begun) for begun in (29, 30)] == [True, False], "it began when the loss was known"
    assert [is_lost(at, begun) for at, begun in ((None, None), ("15", None), (None, 5))] == [False] * 3


def test_what_a_proof_has_told_already_is_not_told_again_from_a_journal() -> None:
    receipt = Receipt(store="s", writer="p", seq=9, hash="h9", at=10, epoch=1)
    head = Writer(id="p", worker="w", seq=4, hash="h4", at=5, epoch=1)
    assert _is_gone(receipt, "s", head, None)
    assert not _is_gone(receipt, "s", replace(head, epoch=2), None)
    assert not _is_gone(receipt, "another", head, None)


def test_an_outcome_that_is_only_to_be_decided_again_is_no_ending_over_a_rollback() -> None:
    row = make_row(7, started_at=5)
    items = [make_end(row, Event.SUCCEED)] * 3
    answers = [Settled(outcome=outcome) for outcome in ("applied", "changed", "stale")]
    applied, over = endings(items, answers, lambda _: row, 9)
    assert (len(applied), [begun for _, begun in over]) == (1, [5])
    assert endings(items, answers, lambda _: row, 5)[1] == [], "it began when the rollback was known"
