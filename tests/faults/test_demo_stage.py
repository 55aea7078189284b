"""The demo's folder and processes: it removes only what is its own, and leaves nothing running."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from noonmark.faces.cli import demo_stage
from noonmark.faces.cli.demo_stage import MARK, Troupe, prepare
from noonmark.faces.cli.demo_words import LONG_QUESTION, QUESTIONS, WORDS
from noonmark.faces.cli.problems import Trouble


def left(folder: Path, *, keep: bool) -> tuple[Path, bool]:
    """The folder, and whether it was emptied, of a demo that is over."""
    place = prepare(folder, keep=keep)
    place.leave()
    return place.folder, place.emptied


def test_a_new_folder_is_marked_as_the_demos_own(tmp_path: Path) -> None:
    folder, emptied = left(tmp_path / "demo", keep=False)
    assert (folder / MARK).is_file()
    assert not emptied


def test_what_an_earlier_demo_left_is_removed(tmp_path: Path) -> None:
    folder, _ = left(tmp_path / "demo", keep=False)
    (folder / "noonmark.db").write_text("old")
    (folder / "researchcopilot").mkdir()
    assert left(tmp_path / "demo", keep=False) == (folder, True)
    assert sorted(path.name for path in folder.iterdir()) == [".gitignore", MARK]


def test_a_foreign_folder_is_refused_and_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("years of work")
    with pytest.raises(Trouble, match="not from a demo"):
        prepare(tmp_path, keep=False)
    assert (tmp_path / "thesis.txt").read_text() == "years of work"


def test_a_link_in_the_folder_is_removed_and_not_followed(tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "thesis.txt").write_text("years of work")
    folder, _ = left(tmp_path / "demo", keep=False)
    (folder / "link").symlink_to(tmp_path / "outside")
    left(folder, keep=False)
    assert (tmp_path / "outside" / "thesis.txt").exists()


def test_keep_takes_the_next_free_name(tmp_path: Path) -> None:
    left(tmp_path / "demo", keep=False)
    assert left(tmp_path / "demo", keep=True)[0] == tmp_path / "demo-2"
    assert left(tmp_path / "demo", keep=True)[0] == tmp_path / "demo-3"


def test_a_folder_in_which_a_demo_plays_is_refused_and_left_alone(tmp_path: Path) -> None:
    playing = prepare(tmp_path / "demo", keep=False)
    (playing.folder / "noonmark.db").write_text("in use")
    with pytest.raises(Trouble, match="a demo is playing in"):
        prepare(tmp_path / "demo", keep=False)
    assert (playing.folder / "noonmark.db").read_text() == "in use"
    assert left(tmp_path / "demo", keep=True)[0] == tmp_path / "demo-2"
    playing.leave()
    assert left(tmp_path / "demo", keep=False) == (playing.folder, True)
    assert not (playing.folder / "noonmark.db").exists()


def test_a_file_in_the_place_of_the_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "demo").write_text("x")
    with pytest.raises(Trouble, match="is a file"):
        prepare(tmp_path / "demo", keep=False)


def test_stop_ends_a_worker_that_ignores_the_request_and_its_children(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(demo_stage, "PATIENCE", 0.2)
    troupe = Troupe(tmp_path, {}, tmp_path)
    stubborn = (
        "import signal, subprocess, sys, time\n"
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import signal, time;"
        " signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(60)'])\n"
        "print(child.pid, flush=True)\n"
        "time.sleep(60)\n"
    )
    process = subprocess.Popen([sys.executable, "-c", stubborn], stdout=subprocess.PIPE, start_new_session=True)
    troupe.processes["w1"] = process
    assert process.stdout is not None
    child = int(process.stdout.readline())
    troupe.stop()
    process.stdout.close()
    assert process.poll() == -9
    assert _is_gone(child)
    troupe.stop()


def _is_gone(pid: int) -> bool:
    """Wait for the kernel to carry out the signal: a process group has no ``wait`` for grandchildren."""
    for _ in range(200):
        try:
            os.kill(pid, 0)
            state = Path(f"/proc/{pid}/stat").read_text() if Path("/proc").exists() else ""
        except (ProcessLookupError, FileNotFoundError):
            return True
        if state.rpartition(")")[2].split()[:1] == ["Z"]:
            return True
        time.sleep(0.01)
    return False


def test_both_languages_say_the_same_things() -> None:
    assert WORDS["en"].keys() == WORDS["zh"].keys()
    assert QUESTIONS.keys() == LONG_QUESTION.keys() == WORDS.keys()
    for name, text in WORDS["en"].items():
        assert set(_fields(text)) == set(_fields(WORDS["zh"][name])), name


def _fields(text: str) -> list[str]:
    import string

    return [field for _, field, _, _ in string.Formatter().parse(text) if field]
