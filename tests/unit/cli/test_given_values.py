"""Whatever a person writes where a number, a time, a name or JSON is meant: an answer in words, never a fault of ours."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from noonmark.faces.cli import lazy
from noonmark.faces.cli.__main__ import main, noonmark

NUMBERS = ("nan", "inf", "-inf", "-1", "9" * 23, "9" * 5_000, "1e999", "²", "٣", "0x10", "")
TEXTS = (
    "[" * 50_000,
    "[" * 50_000 + "]" * 50_000,
    '{"a":' * 40_000,
    "n=" + "[" * 50_000,
    "n=" + "[" * 900 + "]" * 900,
    "n=" + "9" * 4_000,
    "n=1e999",
    "r" + "9" * 23,
    "9" * 23,
    "9" * 5_000,
    "9" * 400 + "d",
    "nan",
    "2026-13-45",
    "99999-01-01",
    "0001-01-01",
    "9999-12-31T23:59:59+14:00",
    "n\x00=\x00",
    "n=\udcff",
    "",
)
CALLS: dict[str, tuple[str, ...]] = {
    "show": ("leaky",),
    "next": ("leaky",),
    "why": ("leaky",),
    "run": ("leaky", "--dry-run"),
    "retry": ("r1",),
    "cancel": ("r1",),
    "mark": ("r1", "handled", "--reason", "x"),
    "pause": ("leaky", "--reason", "x"),
    "resume": ("leaky",),
    "end": ("other", "--reason", "x"),
    "signal": ("corpus",),
    "jobs": (),
    "history": (),
    "flags": (),
    "backlog": (),
    "leases": (),
    "verify": (),
}
"""Command -> the rest of a call that it answers, into which each value is put in turn."""
STREAMS = ("worker", "dev", "demo")
RULES = """
version: 1
jobs:
  leaky: {schedule: {manual: true}, command: ["true"], key: "leaky:{n}", reason: A test.}
  other: {schedule: {every: 1h}, command: ["true"], reason: A test.}
"""


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NOONMARK_URL", "sqlite:///n.db")
    monkeypatch.setenv("NOONMARK_LANG", "en")
    (tmp_path / "noonmark.yaml").write_text(RULES, encoding="utf-8")
    assert main(["rules", "apply", "noonmark.yaml"]) == 0
    assert main(["run", "leaky", "--param", "n=1"]) == 0
    capsys.readouterr()
    return tmp_path


def options_of(name: str) -> list[click.Parameter]:
    """Return the parameters of a command that take a value: its own, and with ``why`` those of all."""
    command = noonmark.get_command(click.Context(noonmark), name)
    assert isinstance(command, lazy.Command)
    return [
        param
        for param in command.params
        if not getattr(param, "is_flag", False)
        and not getattr(param, "count", False)
        and (param not in command.shared or name == "why")
    ]


def calls_of(name: str) -> Iterator[list[str]]:
    """Yield the calls of one command with each value in each place."""
    rest = list(CALLS[name])
    for param in options_of(name):
        is_number = isinstance(param.type, (click.types.IntParamType, click.types.FloatParamType))
        for value in NUMBERS if is_number else TEXTS:
            if isinstance(param, click.Option):
                yield (
                    [name, *rest, f"{param.opts[-1]}={value}"]
                    if param.opts[-1].startswith("--")
                    else [
                        name,
                        *rest,
                        param.opts[0],
                        value,
                    ]
                )
            elif rest and not rest[0].startswith("-"):
                yield [name, "--", value, *(word for word in rest[1:] if not word.startswith("-"))]


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.usefixtures("place")
def test_whatever_stands_where_a_value_is_meant_is_answered_in_words(
    capsys: pytest.CaptureFixture[str], name: str
) -> None:
    tried = 0
    for call in calls_of(name):
        code = main(call)
        told = capsys.readouterr()
        short = [word[:60] for word in call]
        assert "fault in noonmark" not in told.out + told.err, (short, told.err[:500])
        assert code in range(6), short
        assert len(told.err) < 20_000, short
        tried += 1
    assert tried


@pytest.mark.parametrize("name", STREAMS)
def test_a_number_that_is_none_is_refused_by_what_goes_on_until_it_is_stopped(
    capsys: pytest.CaptureFixture[str], name: str
) -> None:
    for param in options_of(name):
        if isinstance(param.type, (click.types.IntParamType, click.types.FloatParamType)):
            for value in ("nan", "inf", "-1", "9" * 23, "9" * 5_000, "1e999"):
                assert main([name, f"{param.opts[-1]}={value}"]) == 2, (param.opts, value[:20])
                assert "fault" not in capsys.readouterr().err


def test_every_command_that_reads_values_is_walked() -> None:
    apart = {"init", "doctor", "simulate", "rules", "ledger", "store", "schema", "version"}
    """They take files and folders, tried elsewhere, or nothing."""
    assert set(CALLS) | set(STREAMS) | apart == set(lazy.COMMANDS)
