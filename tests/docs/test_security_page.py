"""Whatever the page about security claims names its test, in both languages, and no test of it is left out by one."""

from __future__ import annotations

import ast
import re
import sys
from functools import cache
from pathlib import Path
from types import ModuleType

import pytest

from noonmark.core.model import base
from noonmark.engine import runs
from noonmark.rules import source

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "docs"))

import limits  # noqa: E402 - it lies beside the pages

PAGES = {name: (ROOT / name).read_text(encoding="utf-8") for name in ("docs/security.md", "docs/zh/security.md")}
NAMED = re.compile(r"`([\w/.-]+\.py)::(\w+)`")


@cache
def functions(file: str) -> frozenset[str]:
    tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
    return frozenset(node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))


@pytest.mark.parametrize("page", PAGES)
def test_every_test_that_the_page_names_exists(page: str) -> None:
    named = NAMED.findall(PAGES[page])
    assert len(named) > 50
    assert [(file, name) for file, name in named if name not in functions(file)] == []


def test_both_languages_name_the_same_tests_in_the_same_order() -> None:
    english, chinese = (NAMED.findall(page) for page in PAGES.values())
    assert english == chinese


@pytest.mark.parametrize("page", PAGES)
def test_every_claim_of_a_table_names_its_test(page: str) -> None:
    tables = re.split(r"\n(?=\| (?:claim|承诺) \|)", PAGES[page])[1:]
    assert len(tables) == 5
    for table in tables:
        rows = [line for line in table.split("\n\n")[0].splitlines()[2:] if line.startswith("|")]
        assert rows
        assert [row for row in rows if not NAMED.search(row)] == []


@pytest.mark.parametrize(
    ("where", "limit", "size", "written"),
    [
        (base, "KEY_LIMIT", 513, "| 513 "), (base, "NAME_LIMIT", 1025, "| 1,025 "),
        (base, "PAYLOAD_LIMIT", 1 << 20, "1,024 KiB"), (base, "CALL_LIMIT", 3 << 19, "1.5 Mi"),
        (runs, "ERROR_LIMIT", 77, " 77 |"), (source, "VALUE_LIMIT", 7_000, "7,000"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("lang", ["en", "zh"])
def test_the_table_of_limits_says_what_the_code_refuses_by(
    monkeypatch: pytest.MonkeyPatch, lang: str, where: ModuleType, limit: str, size: int, written: str
) -> None:
    page = PAGES["docs/security.md" if lang == "en" else "docs/zh/security.md"]
    assert limits.with_limits(page, lang) == page, "run `python docs/generate.py`"
    monkeypatch.setattr(where, limit, size)
    changed = limits.with_limits(page, lang)
    assert changed != page
    assert written in changed


def test_every_limit_of_a_store_stands_in_the_table(monkeypatch: pytest.MonkeyPatch) -> None:
    named = [name for name in vars(base) if name.endswith("_LIMIT")]
    assert len(named) > 8
    page = PAGES["docs/security.md"]
    for name in named:
        with monkeypatch.context() as changed:
            changed.setattr(base, name, 1 << 33)
            assert limits.with_limits(page, "en") != page, name


def test_both_languages_of_a_limit_have_the_same_numbers() -> None:
    for what, most, what_zh, most_zh in limits.ROWS:
        assert re.findall(r"\{\w+\}", what + most) == re.findall(r"\{\w+\}", what_zh + most_zh)
