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
"""They go on until stopped: --log-format json gives lines; what they are refused with is told in words."""

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
