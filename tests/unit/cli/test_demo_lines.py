"""How the demo's lines are cut and worded."""

from __future__ import annotations

import string

import pytest

from noonmark.explain.render import cut, width
from noonmark.faces.cli.demo_words import WORDS


@pytest.mark.parametrize(
    ("text", "columns", "shown"),
    [
        ("short", 10, "short"),
        ("a long sentence", 7, "a long…"),
        ("租约到期", 8, "租约到期"),
        ("租约到期以后", 8, "租约到…"),
    ],
)
def test_a_text_is_cut_to_the_columns_it_takes(text: str, columns: int, shown: str) -> None:
    assert cut(text, columns) == shown
    assert width(shown) <= columns


@pytest.mark.parametrize("name", sorted(WORDS["en"]))
def test_a_text_has_the_same_gaps_in_both_languages(name: str) -> None:
    gaps = [{gap for _, gap, _, _ in string.Formatter().parse(WORDS[lang][name]) if gap} for lang in ("en", "zh")]
    assert gaps[0] == gaps[1]
