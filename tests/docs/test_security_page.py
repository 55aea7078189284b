"""Whatever the page about security claims names its test, in both languages, and no test of it is left out by one."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

from noonmark.core import model

ROOT = Path(__file__).resolve().parents[2]
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


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize(
    ("limit", "written"),
    [
        (model.KEY_LIMIT, "512"), (model.NAME_LIMIT, "1,024"), (model.NOTE_LIMIT, "8,192"),
        (model.PAYLOAD_LIMIT, "256 KiB"), (model.ERROR_LIMIT, "65,536"), (model.RULE_LIMIT, "4 Mi"),
        (model.COUNT_LIMIT, "100,000"), (model.CALL_LIMIT, "64 Mi"),
    ],
)  # fmt: skip
def test_the_limits_on_the_page_are_the_limits(page: str, limit: int, written: str) -> None:
    number, _, unit = written.replace(",", "").partition(" ")
    assert int(number) * {"": 1, "KiB": 1 << 10, "Mi": 1 << 20}[unit] == limit
    assert written in PAGES[page]
