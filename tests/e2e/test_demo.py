"""``noonmark demo`` as a person runs it: one worker is killed, nothing is lost, and nothing stays behind."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import noonmark

LENGTH = "45"
ENVIRONMENT = {
    **{name: value for name, value in os.environ.items() if not name.startswith(("NOONMARK_", "OPENAI_"))},
    "LANG": "C.UTF-8",
    "NO_COLOR": "1",
    "PYTHONPATH": str(Path(noonmark.__file__).parents[1]),
}
Demo = subprocess.Popen[str]


def start(folder: Path, *options: str, apart: bool = False) -> Demo:
    return subprocess.Popen(
        [sys.executable, "-m", "noonmark.faces.cli", "demo", "--seconds", LENGTH, "--lang", "en", *options],
        cwd=folder,
        env=ENVIRONMENT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE if apart else subprocess.STDOUT,
        text=True,
    )


@pytest.fixture
def begun(tmp_path: Path) -> Iterator[tuple[Demo, list[int]]]:
    """A demo whose three questions have been asked, and the ids of its workers."""
    demo = start(tmp_path)
    assert demo.stdout is not None
    seen = ""
    try:
        while "3 questions asked" not in seen:
            line = demo.stdout.readline()
            assert line, f"the demo ended too early:\n{seen}"
            seen += line
        yield demo, [int(pid) for pid in re.findall(r"w\d pid (\d+)", seen)]
    finally:
        demo.kill()
        demo.wait()
        demo.stdout.close()


def is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in {"Z", "X"}
    except (FileNotFoundError, ProcessLookupError):
        return False


def all_end(pids: list[int], *, within: float) -> bool:
    deadline = time.monotonic() + within
    while any(is_running(pid) for pid in pids):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True


@pytest.mark.long(48)
@pytest.mark.timeout(240)
def test_the_demo_kills_a_worker_and_proves_that_nothing_was_lost(tmp_path: Path) -> None:
    demo = start(tmp_path, "--json", apart=True)  # the lines go to stderr then, and the proof is one object
    out, told = demo.communicate(timeout=200)
    assert demo.returncode == 0, told
    assert re.search(r"w\d +daily_report +… +waiting", told) or re.search(r" +daily_report +… +waiting", told)
    ran = r"w\d +daily_report +# +on time +key report:\d{4}-\d\d-\d\d:ops +\d+ s late, after waiting for flag metrics"
    assert re.search(ran, told), told
    assert re.search(r"-- +w\d is gone +last heartbeat .* holding answer_run", told), told
    takeover = re.search(r'fence #(\d+) → #(\d+), attempt 2, step "load" replayed', told)
    assert takeover is not None, told
    assert int(takeover[1]) < int(takeover[2])
    due = re.search(r"(\d+) occurrences due · (\d+) accounted for · 0 ran twice · 0 missing", told)
    assert due is not None, told
    assert int(due[1]) == int(due[2]) >= 25
    plain = json.loads(out)
    assert (plain["v"], plain["proved"], len(plain["killed"])) == (1, True, 1), out
    # At least the long run; what else the killed worker had just begun is taken over as well, and may be open yet.
    assert 1 <= plain["verify"]["outcomes"]["taken_over"] <= plain["takeovers"], out
    assert (plain["verify"]["due"], plain["verify"]["ran_twice"]) == (int(due[1]), 0)
    assert any("why answer_run --key answer:run-" in command for command in plain["next"])
    counts = re.search(r"that is (.+): one line each above", told)
    assert counts is not None, told
    ends = {"taken over": r"taken over +key ", "cancelled": "cancelled +It", "on time": "on time +key "}
    named = {word: int(count) for count, word in re.findall(r"(\d+) ([a-z ]+)", counts[1])}
    still = re.search(r"and (.+): not at their end", told)
    more = sum(int(count) for count in re.findall(r"\d+", still[1])) if still else 0
    assert sum(named.values()) + more == int(due[1]), told
    for word, pattern in ends.items():
        lines = len(re.findall(pattern, told))
        assert named.get(word, 0) <= lines <= named.get(word, 0) + more, f"{word}: as many lines as are counted\n{told}"
    assert all_end([int(pid) for pid in re.findall(r"w\d pid (\d+)", told)], within=5)
    proof = subprocess.run(
        [
            sys.executable,
            "-m",
            "noonmark.faces.cli",
            "--url",
            "sqlite:///noonmark-demo/noonmark.db",
            "verify",
            "--json",
        ],
        cwd=tmp_path,
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert json.loads(proof.stdout)["problems"] == [], proof.stdout + proof.stderr
    assert proof.returncode == 0


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_interrupted_demo_leaves_no_worker_behind(begun: tuple[Demo, list[int]], number: int) -> None:
    demo, workers = begun
    assert all(is_running(pid) for pid in workers)
    demo.send_signal(number)
    assert demo.wait(timeout=20) == 130
    assert all_end(workers, within=5)


def test_an_interrupted_demo_says_so_to_programs(tmp_path: Path) -> None:
    demo = start(tmp_path, "--json", apart=True)
    assert demo.stderr is not None
    while "3 questions asked" not in (line := demo.stderr.readline()):
        assert line, "the demo ended too early"
    demo.send_signal(signal.SIGTERM)
    out, _ = demo.communicate(timeout=20)
    assert demo.returncode == 130
    assert json.loads(out)["error"]["code"] == "interrupted"


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux can bind a process to its parent")
def test_even_a_killed_demo_leaves_no_worker_behind(begun: tuple[Demo, list[int]]) -> None:
    demo, workers = begun
    demo.kill()
    demo.wait()
    assert all_end(workers, within=10)


@pytest.mark.parametrize(
    ("options", "code", "words"),
    [
        (["--dir", "."], 3, "not from a demo"),
        (["--dir", "thesis.txt"], 3, "is a file"),
        (["--dir", "thesis.txt/demo"], 4, "cannot make the folder"),
        (["--seconds", "5"], 2, "45"),
        (["--colour"], 2, "No such option"),
        (["--tz", "Mars"], 2, "Mars"),
    ],
)
def test_a_wrong_wish_is_refused_in_words(tmp_path: Path, options: list[str], code: int, words: str) -> None:
    (tmp_path / "thesis.txt").write_text("years of work")
    demo = start(tmp_path, *options)
    told, _ = demo.communicate(timeout=30)
    assert demo.returncode == code, told
    assert words in told
    assert "Traceback" not in told
    assert (tmp_path / "thesis.txt").read_text() == "years of work"
