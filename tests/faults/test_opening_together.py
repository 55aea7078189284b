"""Processes that open one new file at the same moment all get it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import noonmark

OPENER = """
import sys
from noonmark.stores.sqlite import SqliteStore

sys.stdout.write("ready\\n")
sys.stdout.flush()
for line in sys.stdin:
    SqliteStore(line.strip()).close()
    sys.stdout.write("opened\\n")
    sys.stdout.flush()
"""
OPENERS, ROUNDS = 4, 60


def test_a_new_file_opened_by_several_processes_at_once_serves_all_of_them(tmp_path: Path) -> None:
    env = {**os.environ, "PYTHONPATH": str(Path(noonmark.__file__ or "").parents[1])}
    openers = [
        subprocess.Popen(
            [sys.executable, "-c", OPENER],
            env=env,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for _ in range(OPENERS)
    ]
    answers: list[str] = []
    for opener in openers:
        assert opener.stdout is not None
        answers.append(opener.stdout.readline())
    assert answers == ["ready\n"] * OPENERS
    for number in range(ROUNDS):
        for opener in openers:
            assert opener.stdin is not None
            opener.stdin.write(f"{tmp_path / str(number)}.db\n")
            opener.stdin.flush()
        for opener in openers:
            assert opener.stdout is not None
            answers.append(opener.stdout.readline())
    errors = [opener.communicate()[1] for opener in openers]
    assert answers == ["ready\n"] * OPENERS + ["opened\n"] * OPENERS * ROUNDS, errors
