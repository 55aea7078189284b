"""``--help`` speaks the reader's language: the heading, every command, its options, the exit codes."""

from __future__ import annotations

import re
import unicodedata

import click
import pytest
from calling import Noonmark

from noonmark.faces.cli import help_long_zh, help_zh, lazy
from noonmark.faces.cli.settings import global_options


def test_the_help_of_noonmark_is_chinese_throughout(noonmark: Noonmark) -> None:
    told = noonmark("--lang", "zh", "--help")
    assert told.code == 0
    assert told.out.startswith("用法：noonmark [选项] 命令 [参数]...\n")
    assert help_zh.HEADING in told.out
    for name, text in help_zh.COMMANDS.items():
        assert re.search(rf"^  {name} +{re.escape(text)}$", told.out, re.MULTILINE), name
    assert "退出码：0 是" in told.out
    plain = re.sub(r"\[env var: \w+\]", "", told.out)
    assert re.findall(r"\b[a-z]+ [a-z]+ [a-z]+\b", plain) == [], "no English sentence is left"


def test_every_command_and_global_option_has_its_chinese_line() -> None:
    assert list(help_zh.COMMANDS) == list(lazy.COMMANDS)
    options = {option.opts[-1] for option in global_options()} | {"--help"}
    assert options == set(help_zh.OPTIONS)


@pytest.mark.parametrize("name", lazy.COMMANDS)
def test_the_help_of_a_command_begins_with_its_chinese_line(noonmark: Noonmark, name: str) -> None:
    told = noonmark("--lang", "zh", name, "--help").out
    assert told.startswith(f"用法：noonmark {name} [选项]")
    assert told.split("\n\n")[1].strip() == help_zh.COMMANDS[name]
    assert "全局选项:" in told
    assert "Global options" not in told


@pytest.mark.parametrize("name", lazy.COMMANDS)
def test_the_help_of_a_command_is_chinese_throughout(
    noonmark: Noonmark, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    told = noonmark("--lang", "zh", name, "--help").out
    for paragraph in help_zh.LONG[name].split("\n\n"):
        assert re.sub(r"\s", "", paragraph) in re.sub(r"\s", "", told)
    plain = re.sub(r"\[[^\]]*\]|INTEGER RANGE|FLOAT RANGE|noonmark [a-z]+ > ", "", told)
    assert re.findall(r"\b[a-z]+ [a-z]+ [a-z]+\b", plain) == [], "no English sentence is left"
    assert not re.search(r"env var|default:|required", told)
    columns = [sum(1 + (unicodedata.east_asian_width(sign) in "WF") for sign in line) for line in told.splitlines()]
    assert max(columns) <= 102, "a line fits, but for a mark at its end"


def test_every_option_of_every_command_has_its_chinese() -> None:
    group = lazy.LazyGroup("noonmark")
    for name in lazy.COMMANDS:
        command = group.get_command(click.Context(group), name)
        assert isinstance(command, lazy.Command)
        own = [each for each in command.params if isinstance(each, click.Option) and each not in command.shared]
        assert {each.opts[-1] for each in own if not each.hidden} == set(help_long_zh.OPTIONS.get(name, {})), name
    assert list(help_long_zh.LONG) == list(lazy.COMMANDS)
    assert set(help_long_zh.OPTIONS) <= set(lazy.COMMANDS)


def test_chinese_is_broken_where_a_line_is_full_and_a_mark_begins_none() -> None:
    assert help_zh.fitted("存储在哪里。看 --state 目录", 10) == ["存储在哪", "里。看", "--state 目", "录"]
    assert help_zh.fitted("", 10) == []


def test_the_help_is_english_where_nobody_asks_for_chinese(noonmark: Noonmark) -> None:
    told = noonmark("--help").out
    assert told.startswith("Usage: noonmark [OPTIONS] COMMAND [ARGS]...\n")
    assert told.isascii()
    assert noonmark("verify", "--help").out.isascii()
