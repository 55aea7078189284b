"""How the demo's lines are cut and worded."""

from __future__ import annotations

import string

import pytest
from desk import Desk

from noonmark.core.model import MINUTE, State
from noonmark.explain.render import cut, width
from noonmark.faces.cli.demo_lines import Watcher
from noonmark.faces.cli.demo_words import WORDS
from noonmark.testing.builders import make_caller_row


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


def test_moments_that_passed_together_have_one_line_and_a_superseded_one_has_none(desk: Desk) -> None:
    at = desk.now - MINUTE
    fields = {"due_at": None, "state": State.SKIPPED, "verdict": "skip_superseded", "claim": False, "job": "tick"}
    together = make_caller_row("range", at=at, code="range_superseded", range_until=at, range_count=9, **fields)
    alone = make_caller_row("one", at=at, code="revision_superseded", **fields)
    desk.store.add("passed", [together, alone])
    told: list[str] = []
    Watcher(desk.store, "UTC", "en", {}, told.append, ascii_only=True).poll()
    ends = [line for line in told if "skipped by rule" in line]
    assert len(ends) == 1
    assert ends[0].endswith("9 moments")
