"""A pattern that is compiled when it is first used does what a compiled one does."""

from __future__ import annotations

import re
from unittest import mock

import pytest

from noonmark.core.patterns import pattern


def test_a_pattern_does_what_a_compiled_one_does() -> None:
    text, compiled = "a1 B22 c", re.compile("[ab](\\d+)", re.IGNORECASE)
    later = pattern("[ab](\\d+)", re.IGNORECASE)
    assert [found.span(1) for found in later.finditer(text)] == [found.span(1) for found in compiled.finditer(text)]
    assert later.findall(text) == compiled.findall(text) == ["1", "22"]
    assert later.sub("-", text) == "- - c"
    assert later.fullmatch(text) is None
    assert later.pattern == compiled.pattern


def test_it_is_compiled_once_and_not_before_it_is_used() -> None:
    with mock.patch.object(re, "compile", side_effect=re.compile) as compiles:
        later = pattern("x+")
        assert compiles.call_count == 0
        assert [bool(later.search(text)) for text in ("x", "y", "xx")] == [True, False, True]
        assert compiles.call_count == 1


def test_a_pattern_that_is_none_says_so_when_it_is_used() -> None:
    broken = pattern("(")
    with pytest.raises(re.error):
        broken.search("x")
