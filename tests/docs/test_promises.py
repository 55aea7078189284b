"""Whatever the page of promises names exists: every test, every command."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs/promises.md").read_text(encoding="utf-8")
TESTS = sorted(set(re.findall(r"`([\w/.-]+\.py)::(\w+)`", PAGE)))
FILES = sorted(set(re.findall(r"`([\w/-]+\.py)`", PAGE)))
TARGETS = sorted(set(re.findall(r"`make (\w+)`", PAGE)))


@cache
def functions(file: str) -> frozenset[str]:
    tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
    return frozenset(node.name for node in ast.walk(tree) if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)))


def test_the_page_names_tests() -> None:
    assert len(TESTS) > 80


@pytest.mark.parametrize(("file", "name"), TESTS)
def test_a_test_that_the_page_names_exists(file: str, name: str) -> None:
    assert (ROOT / file).is_file(), file
    assert name in functions(file), f"{file} has no {name}"


@pytest.mark.parametrize("file", FILES)
def test_a_file_that_the_page_names_exists(file: str) -> None:
    assert (ROOT / file).is_file()


@pytest.mark.parametrize("target", TARGETS)
def test_a_make_target_that_the_page_names_exists(target: str) -> None:
    assert re.search(rf"^{target}:", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)


def test_every_line_of_a_table_shows_something() -> None:
    rows = [line for line in PAGE.splitlines() if line.startswith("|") and not line.startswith(("|---", "| what "))]
    silent = [row for row in rows if not re.search(r"\.py(::\w+)?`|`make \w+`|`\.ci/run`", row)]
    assert silent == []
