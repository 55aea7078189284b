"""``--help`` speaks the reader's language: the heading, every command in a line, the global options, the exit codes."""

from __future__ import annotations

import re

import pytest
from calling import Noonmark

from noonmark.faces.cli import help_zh, lazy
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


def test_the_help_is_english_where_nobody_asks_for_chinese(noonmark: Noonmark) -> None:
    told = noonmark("--help").out
    assert told.startswith("Usage: noonmark [OPTIONS] COMMAND [ARGS]...\n")
    assert told.isascii()
    assert noonmark("verify", "--help").out.isascii()
