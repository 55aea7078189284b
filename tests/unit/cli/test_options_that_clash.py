"""Options that say nothing together, or nothing at all, are refused in words that are true; one thing has one option."""

from __future__ import annotations

from pathlib import Path

import pytest
from calling import Noonmark
from desk import Desk

from noonmark.core.model import MINUTE


@pytest.fixture
def app(tmp_path: Path) -> str:
    file = tmp_path / "rules.yaml"
    file.write_text('version: 1\njobs:\n  echo: {schedule: {every: 5m}, command: ["true"], reason: r}\n', "utf-8")
    return str(file)


@pytest.mark.parametrize(
    ("faults", "said"),
    [
        ("none,crash", "--faults: none stands alone"),
        ("crash, all", "--faults: all stands alone"),
        (",", "--faults ',' names no fault"),
        ("", "--faults '' names no fault"),
        ("flood", "There is no fault 'flood'."),
    ],
)
def test_faults_that_cannot_be_meant_are_refused(noonmark: Noonmark, app: str, faults: str, said: str) -> None:
    answer = noonmark("simulate", app, "--days", "0.01", "--faults", faults)
    assert (answer.code, answer.out) == (2, "")
    assert said in answer.err
    assert "There is no fault 'none'" not in answer.err
    chinese = noonmark("simulate", app, "--days", "0.01", "--faults", faults, "--lang", "zh").err
    assert "可选" in chinese or "从中选" in chinese


def test_no_faults_are_asked_for_with_none(noonmark: Noonmark, app: str) -> None:
    assert noonmark("simulate", app, "--days", "0.01", "--faults", "none", "--quiet").code == 0


def test_history_takes_the_job_as_verify_does(desk: Desk, noonmark: Noonmark) -> None:
    desk.later(6 * MINUTE)
    plain = noonmark("history", "tick", "--json").out
    assert "tick" in plain
    assert noonmark("history", "--job", "tick", "--json").out == plain
    assert noonmark("history", "tick", "--job", "tick").code == 0
    clash = noonmark("history", "tick", "--job", "digest")
    assert (clash.code, "--job and JOB exclude each other" in clash.err) == (2, True)
    assert noonmark("history", "--job", "nothing").code == 5
