"""``noonmark doctor`` and ``store migrate`` on real servers, in both languages, with nothing secret on the screen."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import uuid
from pathlib import Path
from typing import Any

import pytest

import noonmark
from noonmark.core.urls import with_option

RULES = """
version: 1
jobs:
  echo: {schedule: {every: 5m}, command: ["true"], reason: A command is a job too.}
"""


def call(folder: Path, url: str, *args: str) -> tuple[int, str, str]:
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith("NOONMARK_")},
        "NOONMARK_URL": url,
        "LANG": "C.UTF-8",
        "PYTHONPATH": str(Path(noonmark.__file__).parents[1]),
    }
    done = subprocess.run(
        [sys.executable, "-m", "noonmark.faces.cli", *args],
        cwd=folder, env=environment, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert "Traceback" not in done.stderr
    return done.returncode, done.stdout, done.stderr


def found(folder: Path, url: str, *args: str) -> dict[str, Any]:
    code, out, err = call(folder, url, "doctor", "--json", *args)
    assert code in (0, 1), err
    findings = {finding["code"]: finding for finding in json.loads(out)["findings"]}
    assert (code == 1) == any(finding["level"] == "refuse" for finding in findings.values())
    return findings


@pytest.fixture(params=["valkey", "postgres"])
def url(request: pytest.FixtureRequest) -> str:
    """A fresh namespace on a server."""
    server = request.getfixturevalue(request.param)
    option = "schema" if request.param == "postgres" else "namespace"
    return with_option(server.url, option, f"care_{uuid.uuid4().hex[:8]}")


def test_the_doctor_examines_a_server_in_both_languages(url: str, tmp_path: Path) -> None:
    (tmp_path / "noonmark.yaml").write_text(RULES, encoding="utf-8")
    assert call(tmp_path, url, "rules", "apply", "noonmark.yaml")[0] == 0
    english = found(tmp_path, url)
    assert {"versions", "clock_right", "workers_none", "rules_in_force"} <= set(english)
    assert any(code.startswith("durability_") for code in english)
    assert "refuse" not in {finding["level"] for finding in english.values()}
    chinese = found(tmp_path, url, "--lang", "zh")
    assert set(chinese) == set(english)
    for finding in chinese.values():
        assert any("\u3000" <= sign <= "\u9fff" for sign in finding["sentence"]), finding


def test_a_store_is_brought_up_to_date_by_hand(url: str, tmp_path: Path) -> None:
    code, out, err = call(tmp_path, url, "store", "migrate", "--sql")
    assert code == 0, err
    assert ("CREATE TABLE" in out) == url.startswith("postgresql")
    code, out, err = call(tmp_path, url, "store", "migrate", "--json")
    assert code == 0, err
    assert bool(json.loads(out)["applied"]) == url.startswith("postgresql"), "the first time there is all to do"
    code, out, err = call(tmp_path, url, "store", "migrate", "--json")
    assert (code, json.loads(out)["applied"]) == (0, [])
    assert call(tmp_path, url, "jobs")[0] == 0


@pytest.mark.parametrize(
    "away", ["redis://:secret@127.0.0.1:1/0", "postgresql://u:secret@127.0.0.1:1/d?connect_timeout=2"]
)
def test_a_server_that_is_away_is_told_without_its_password(away: str, tmp_path: Path) -> None:
    for args in (("doctor",), ("jobs",), ("store", "migrate"), ("doctor", "--lang", "zh")):
        code, out, err = call(tmp_path, away, *args)
        assert code == 4, (args, out, err)
        assert "secret" not in out + err
        assert err.startswith("noonmark: ")
