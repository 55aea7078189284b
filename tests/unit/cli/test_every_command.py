"""Every public command answers with one versioned JSON object, and the reference describes it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from desk import Desk

from noonmark.core.model import MINUTE, Event
from noonmark.faces.cli.lazy import COMMANDS

ROOT = Path(__file__).parents[3]
STREAMS = {"worker", "dev", "demo"}
"""They go on until stopped; a worker's log is JSON lines with --json."""

RULES = """
version: 1
jobs:
  echo:
    schedule: {every: 5m}
    command: ["true"]
    reason: A command is a job, too.
"""

CALLS: dict[str, tuple[str, ...]] = {
    "init": ("init",),
    "jobs": ("jobs",),
    "show": ("show", "digest"),
    "next": ("next", "digest"),
    "why": ("why", "digest"),
    "history": ("history",),
    "run": ("run", "digest", "--for", "2026-11-20"),
    "retry": ("retry", "{failed}"),
    "cancel": ("cancel", "--key", "digest:2026-12-24", "--job", "digest"),
    "mark": ("mark", "{failed}", "handled", "--reason", "sent by hand"),
    "pause": ("pause", "digest", "--reason", "stocktaking"),
    "resume": ("resume", "digest"),
    "signal": ("signal", "corpus:2026-11-27"),
    "flags": ("flags",),
    "backlog": ("backlog",),
    "leases": ("leases",),
    "verify": ("verify",),
    "rules": ("rules", "check", "noonmark.yaml"),
    "end": ("end", "digest", "--reason", "moved elsewhere"),
    "doctor": ("doctor",),
    "simulate": ("simulate", "noonmark.yaml", "--days", "0.02", "--faults", "none"),
    "ledger": ("ledger", "show"),
    "store": ("store", "migrate", "sqlite:///noonmark.db", "--sql"),
    "version": ("version",),
    "schema": ("schema",),
}


def test_no_command_is_left_out_here() -> None:
    assert set(CALLS) | STREAMS == set(COMMANDS)


@pytest.mark.parametrize("name", CALLS)
def test_a_command_answers_with_one_versioned_json_object(
    desk: Desk, noonmark: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.chdir(tmp_path)
    if name in ("rules", "simulate"):
        (tmp_path / "noonmark.yaml").write_text(RULES, encoding="utf-8")
    desk.later(5 * MINUTE)
    desk.beat()
    failed = desk.finish(desk.look(), Event.FAIL_MANUAL, code="failed_final", error="ValueError: x")
    if name == "resume":
        noonmark("pause", "digest", "--reason", "stocktaking")
    answer = noonmark(*(part.format(failed=failed.id) for part in CALLS[name]), "--json")
    assert answer.code == 0, answer.err
    plain = json.loads(answer.out)
    assert isinstance(plain, dict)
    assert answer.out.count("\n") == 1 or name == "schema", "one object on one line"
    assert plain.get("v") == 1 or "$schema" in plain


NOWHERE = ("--url", "sqlite:///nowhere/n.db")
REFUSED: dict[str, tuple[str, ...]] = {
    "init": ("init", "there"),
    "demo": ("demo", "--seconds", "1"),
    "dev": ("dev", "nothing.py"),
    "worker": ("worker", "nothing.py"),
    "run": ("run", "digest", "--param", "x"),
    "signal": ("signal", "x", "--clear", "--value", "1"),
    "rules": ("rules", "apply", "nothing.yaml"),
    "store": ("store", "perhaps"),
    "schema": ("schema", "extra"),
    "version": ("version", "extra"),
}
"""A call of each command that has no answer; the others are sent where there is no store."""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with something in the way of every command that writes."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "there").mkdir()
    for name in ("there/jobs.py", "thesis.txt"):
        (tmp_path / name).write_text("mine", encoding="utf-8")
    (tmp_path / "wrong.yaml").write_text("version: 1\njobs: {a: {cron: x}}\n", encoding="utf-8")
    return tmp_path


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("lang", ["en", "zh"])
@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_without_an_answer_says_why_in_one_json_object(
    noonmark: Callable[..., Any], name: str, lang: str
) -> None:
    line = REFUSED.get(name) or (*CALLS[name], *NOWHERE)
    line = tuple(part.format(failed=1) for part in line)
    told = noonmark(*line, "--lang", lang)
    answer = noonmark(*line, "--lang", lang, "--json")
    assert answer.code == told.code not in (0, None)
    assert answer.out.count("\n") == 1, answer
    plain = json.loads(answer.out)
    assert plain["v"] == 1
    error = plain["error"]
    assert set(error) == {"code", "what", "why", "do", "exit"}
    assert (error["exit"], answer.err) == (answer.code, "")
    assert error["code"].replace("_", "").isalnum()
    assert error["what"].splitlines()[0] in told.err
    assert error["why"] or error["do"]


@pytest.mark.parametrize("name", COMMANDS)
def test_a_line_that_cannot_be_read_is_told_as_json_too(
    noonmark: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv("NOONMARK_JSON", "1")
    answer = noonmark(name, "--nope")
    assert (answer.code, answer.err) == (2, "")
    assert json.loads(answer.out)["error"]["code"] == "usage"


@pytest.mark.usefixtures("folder")
def test_a_refused_rules_file_is_an_answer_with_an_error_in_it(noonmark: Callable[..., Any]) -> None:
    answer = noonmark("rules", "check", "wrong.yaml", "--json")
    assert (answer.code, answer.plain["ok"], answer.plain["error"]["code"]) == (1, False, "rules_refused")
    assert answer.plain["problems"][0]["line"] == 2


def test_what_is_not_there_has_a_code_of_its_own(noonmark: Callable[..., Any]) -> None:
    error = noonmark("why", "digset", "--json").plain["error"]
    assert (error["code"], error["exit"]) == ("no_job", 5)


def test_a_fault_of_ours_is_told_as_json_too(noonmark: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    import noonmark.faces.cli.jobs as there

    def fails(*_: object) -> None:
        raise RuntimeError("broken")

    monkeypatch.setattr(there, "_line", fails)
    answer = noonmark("jobs", "--json")
    assert answer.code == 1
    assert answer.plain["error"]["code"] == "fault"


ACTING = {
    **{name: CALLS[name] for name in ("retry", "cancel", "mark", "pause", "resume", "signal", "end", "run", "init")},
    "store": ("store", "migrate"),
    "worker": ("worker", "nothing.py"),
    "dev": ("dev", "nothing.py"),
    "demo": ("demo",),
    "rules": ("rules", "apply", "wrong.yaml"),
}


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("name", COMMANDS)
def test_only_what_reads_can_pretend_that_it_is_another_time(noonmark: Callable[..., Any], name: str) -> None:
    line = ACTING.get(name) or CALLS[name]
    answer = noonmark(*(part.format(failed=1) for part in line), "--now", "2026-11-27T12:00", "--json")
    said = json.loads(answer.out) if name != "schema" else {}
    assert (said.get("error", {}).get("code") == "now_reads_only") == (name in ACTING), answer


@pytest.mark.parametrize("name", COMMANDS)
def test_the_reference_describes_every_command(name: str) -> None:
    page = (ROOT / "docs/reference/cli.md").read_text(encoding="utf-8")
    assert f"noonmark {name}" in page


def test_every_option_of_every_command_says_what_it_does() -> None:
    from noonmark.faces.cli.__main__ import noonmark as group

    silent = []
    for name in COMMANDS:
        command = group.get_command(None, name)  # type: ignore[arg-type]
        assert command is not None
        assert command.help, name
        silent += [f"{name} {p.opts[0]}" for p in command.params if p.param_type_name == "option" and not p.help]  # type: ignore[attr-defined]
    assert silent == []
