"""``noonmark doctor`` and ``store migrate`` on real servers, in both languages, with nothing secret on the screen."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import noonmark
from noonmark.core.urls import with_option
from noonmark.faces.cli.__main__ import main

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


@pytest.fixture
def called_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., tuple[int, str, str]]:
    """The same in this process, for many commands of which each would be an interpreter of its own."""
    for name in [name for name in os.environ if name.startswith("NOONMARK_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("LANG", "C.UTF-8")
    monkeypatch.chdir(tmp_path)

    def one(url: str, *args: str) -> tuple[int, str, str]:
        monkeypatch.setenv("NOONMARK_URL", url)
        capsys.readouterr()
        code = main([*args])
        told = capsys.readouterr()
        return code, told.out, told.err

    return one


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
    own = any(f["about"] == "durability" for code, f in english.items() if not code.startswith("durability_"))
    assert own + sum(code.startswith("durability_") for code in english) == 1, (
        "by the server or by the doctor, not both"
    )
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


READS = (
    ("jobs",), ("why", "echo"), ("history",), ("next",), ("show", "echo"), ("backlog",), ("leases",), ("flags",),
    ("verify",), ("run", "echo"), ("pause", "echo", "--reason", "x"), ("resume", "echo"), ("retry", "1"),
    ("cancel", "1"), ("mark", "1", "done", "--reason", "x"), ("end", "echo", "--reason", "x"),
)  # fmt: skip


def names_on(server: Any) -> list[str]:
    """Everything that a server holds, by name."""
    if hasattr(server, "command"):
        return sorted(server.command("KEYS", "*"))
    import psycopg

    with psycopg.connect(server.url) as admin:
        rows = admin.execute(
            "SELECT nspname || '.' || relname FROM pg_class JOIN pg_namespace n ON n.oid = relnamespace"
        )
        schemas = admin.execute("SELECT nspname FROM pg_namespace WHERE nspname NOT LIKE 'pg_%'").fetchall()
        return sorted(name for (name,) in [*rows.fetchall(), *schemas] if not name.startswith("pg_"))


@pytest.mark.parametrize("kind", ["valkey", "postgres"])
@pytest.mark.timeout(180)
def test_looking_at_a_mistyped_place_makes_nothing_and_names_what_is_there(
    kind: str, request: pytest.FixtureRequest, tmp_path: Path, called_here: Callable[..., tuple[int, str, str]]
) -> None:
    server = request.getfixturevalue(kind)
    option = "schema" if kind == "postgres" else "namespace"
    right = f"shop_{uuid.uuid4().hex[:8]}"
    (tmp_path / "noonmark.yaml").write_text(RULES, encoding="utf-8")
    assert call(tmp_path, with_option(server.url, option, right), "rules", "apply", "noonmark.yaml")[0] == 0
    wrong = with_option(server.url, option, right.replace("shop", "shpo"))
    before = names_on(server)
    for args in READS:
        code, out, err = called_here(wrong, *args)
        assert (code, out) == (4, ""), args
        assert f"there is no noonmark in the {option} shpo" in err, args
        assert right in err, "the one that was meant is named"
    assert "中没有 noonmark" in call(tmp_path, wrong, "jobs", "--lang", "zh")[2]
    code, out, _ = call(tmp_path, wrong, "doctor", "--json")
    told = json.loads(out)
    assert (code, told["ok"]) == (4, False)
    codes = {finding["code"] for finding in told["findings"]}
    assert "store_absent" in codes
    assert codes & {"server_version", "postgres_version"}, "what the server is can be said without a store"
    code, out, _ = call(tmp_path, wrong, "store", "migrate", "--sql")
    assert (code, "CREATE TABLE" in out) == (0, kind == "postgres"), "after the doctor all is still to do"
    target = "sqlite:///copy.db"
    assert call(tmp_path, wrong, "store", "copy", wrong, target, "--go")[0] == 4
    assert not (tmp_path / "copy.db").exists()
    code, out, _ = call(tmp_path, wrong, "store", "copy", with_option(server.url, option, right), wrong)
    assert (code, "would be made" in out) == (0, True)
    assert names_on(server) == before
    assert call(tmp_path, wrong, "rules", "apply", "noonmark.yaml")[0] == 0, "who begins to work may make it"
    assert names_on(server) != before
    assert call(tmp_path, wrong, "jobs")[0] == 0


def test_looking_at_a_file_without_a_store_makes_nothing(tmp_path: Path) -> None:
    (tmp_path / "empty.db").touch()
    for url in ("sqlite:///empty.db", "sqlite:///empty.db?driver=sqlite3", "sqlite:///none.db"):
        for args in (("jobs",), ("doctor",), ("store", "copy", url, "sqlite:///b.db", "--go")):
            code, out, err = call(tmp_path, url, *args)
            assert (code, out) == (4, ""), (args, out, err)
            assert "no noonmark in this file" in err or "no store at" in err
    assert {path.name: path.stat().st_size for path in tmp_path.iterdir()} == {"empty.db": 0}
