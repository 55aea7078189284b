"""What a store gives back is read as far as it can be, and no further: newer versions and damage leave the rest usable."""

from __future__ import annotations

import json

from noonmark.core.model import Check
from noonmark.core.stored import checks_of


def test_of_the_checks_of_a_line_those_are_left_out_that_are_none() -> None:
    good = ["window", True, "09:00-12:00", "10:00"]
    rows = [
        good,
        [*good, "a cell of a newer version"],
        good[:3],
        ["window", "yes", "09:00-12:00", "10:00"],
        ["window", True, None, "10:00"],
        {"name": "window"},
        None,
        ["paused", None, "", ""],
    ]
    kept = Check(name="window", passed=True, wanted="09:00-12:00", seen="10:00")
    assert checks_of(json.dumps(rows)) == (kept, kept, Check(name="paused", passed=None, wanted="", seen=""))


def test_what_is_no_list_of_checks_has_none() -> None:
    assert [checks_of(text) for text in ("", "{}", "7", "[", "[" * 100_000)] == [()] * 5
