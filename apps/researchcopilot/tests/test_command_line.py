"""The command line: answers on stdout, remarks on stderr, mistakes in one line with an exit code."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from researchcopilot import cli
from researchcopilot.corpus import Corpus
from researchcopilot.data import FILE_NAME


class Line:
    """One call after another in the same place."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], corpus: Corpus, data: Path):
        self._monkeypatch, self._capsys = monkeypatch, capsys
        for name in ("NOONMARK_URL", "RESEARCHCOPILOT_LANG", "OPENAI_BASE_URL", "OPENAI_API_KEY"):
            monkeypatch.delenv(name, raising=False)
        monkeypatch.setenv("RESEARCHCOPILOT_DATA", str(data))
        monkeypatch.setenv("RESEARCHCOPILOT_CORPUS", str(corpus.root))

    def __call__(self, *arguments: str) -> tuple[int, str, str]:
        self._monkeypatch.setattr("sys.argv", ["researchcopilot", *arguments])
        try:
            cli.main()
            code = 0
        except SystemExit as end:
            code = int(end.code or 0)
        told = self._capsys.readouterr()
        assert "Traceback" not in told.err
        return code, told.out, told.err


@pytest.fixture
def line(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], corpus: Corpus, tmp_path: Path) -> Line:
    return Line(monkeypatch, capsys, corpus, tmp_path / "data")


def test_a_question_can_be_answered_here_and_now(line: Line) -> None:
    code, out, _ = line("ask", "--here", "What is a fence?")
    assert code == 0
    assert "A fence is a number that grows with every lease. [1]" in out
    assert "[1] leases.md:3  (Leases)" in out


def test_a_question_is_stored_and_can_be_listed_and_shown(line: Line) -> None:
    code, out, err = line("ask", "租约是什么？")
    run_id = out.strip()
    assert (code, run_id.startswith("run-")) == (0, True)
    assert "no worker is awake" in err
    assert run_id in line("runs")[1]
    assert json.loads(line("show", run_id, "--json")[1])["question"] == "租约是什么？"
    assert line("show", run_id)[0] == 1  # not answered yet
    assert [run["id"] for run in json.loads(line("runs", "--json")[1])] == [run_id]


def test_waiting_ends_when_its_time_is_over(line: Line) -> None:
    code, _, err = line("ask", "--wait", "--timeout", "0", "What is a fence?")
    assert (code, "is not answered yet" in err) == (1, True)


def test_the_index_command_names_what_it_left_out(line: Line, corpus: Corpus) -> None:
    assert line("index") == (0, "3 documents, 3 passages, changed\n", "")
    assert line("index") == (0, "3 documents, 3 passages, unchanged\n", "")
    (corpus.root / "broken.pdf").write_bytes(b"not a pdf")
    code, out, err = line("index")
    assert (code, "3 documents" in out, "left out: broken.pdf" in err) == (1, True, True)


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["show", "run-unknown"], 5, "there is no run"),
        (["ask", "  "], 2, "the question is empty"),
        (["ask", "x" * 3000], 2, "at most 2000"),
        (["ask", "q", "--corpus", "/nowhere"], 2, "does not exist"),
        (["ask", "--here", "  "], 2, "the question is empty"),
        (["ask", "--here", "x" * 3000], 2, "at most 2000"),
        (["ask", "q", "--url", "nosuch://x"], 4, "nosuch"),
        (["ask", "q", "--url", "sqlite:////nowhere/at/all.db"], 4, "nothing was stored"),
        (["runs", "--data", "/proc/nowhere"], 4, "Take another: --data"),
        (["runs", "-n", "0"], 2, "-n"),
        (["ask"], 2, "QUESTION"),
        (["nothing"], 2, "No such command"),
        (["serve", "--port", "99999"], 2, "--port"),
    ],
)
def test_a_mistake_is_told_in_words(line: Line, arguments: list[str], code: int, words: str) -> None:
    got, _, err = line(*arguments)
    assert (got, words in err) == (code, True), err


def test_a_damaged_database_is_named_with_what_to_do(line: Line, tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / FILE_NAME).write_bytes(b"this is no database, but long enough to be read as one" * 100)
    code, _, err = line("runs")
    assert (code, "Move it away" in err) == (4, True), err


def test_a_port_in_use_is_told(line: Line) -> None:
    import socket

    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        code, _, err = line("serve", "--port", str(taken.getsockname()[1]))
    assert (code, "Take another: --port" in err) == (2, True)
