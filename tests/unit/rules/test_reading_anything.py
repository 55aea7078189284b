"""Whatever stands in a file, reading it ends in jobs or in problems with a place, never in a traceback."""

from __future__ import annotations

import contextlib
import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from noonmark.rules import loader, taskrules
from noonmark.rules.problems import Problem, ProblemList
from noonmark.rules.schema import KNOWN

SIGNS = "abc:-{}[]&*!|>'\"\\%@`#,?\n\t \x00\x85é时"
WORDS = ("5m", "18:30", "0 9 * * *", "UTC", "{business_date}", "{channel}", "manual", "skip", "a:b", "2027-01-01T09:00")
known = sorted({name for part in KNOWN.values() for name in part})
names = st.one_of(st.sampled_from(known), st.text(max_size=5))
floats = st.floats(allow_nan=False, allow_infinity=False)
texts = st.one_of(st.text(max_size=10), st.sampled_from(WORDS))
scalars = st.one_of(st.none(), st.booleans(), st.integers(), floats, texts)


def inside(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.one_of(st.lists(inner, max_size=3), st.dictionaries(names, inner, max_size=4))


anything = st.recursive(scalars, inside, max_leaves=12)
fields = st.dictionaries(names, anything, max_size=6)
some_jobs = st.dictionaries(st.one_of(st.just("a"), st.text(max_size=3)), fields, max_size=2)


def problems_of(text: str, *, keep_good: bool = False) -> tuple[Problem, ...]:
    try:
        return loader.loads(text, keep_good=keep_good).problems
    except ProblemList as refused:
        return refused.problems or (Problem(code="bad_value"),)  # a refusal without a problem fails below


def is_read(text: str) -> None:
    for problem in (*problems_of(text), *problems_of(text, keep_good=True)):
        for lang in ("en", "zh"):
            assert problem.text(lang).startswith("noonmark.yaml")


@settings(max_examples=100, deadline=None)
@given(some_jobs, st.dictionaries(names, anything, max_size=3))
def test_any_fields_are_read_or_refused(jobs: dict[str, Any], defaults: dict[str, Any]) -> None:
    is_read(json.dumps({"version": 1, "defaults": defaults, "jobs": jobs}))


@settings(max_examples=60, deadline=None)
@given(anything)
def test_any_document_is_read_or_refused(document: Any) -> None:
    is_read(json.dumps(document))


@settings(max_examples=100, deadline=None)
@given(st.text(st.sampled_from(SIGNS), max_size=40))
def test_any_text_is_read_or_refused(text: str) -> None:
    is_read(text)


@settings(max_examples=50, deadline=None)
@given(some_jobs)
def test_any_literal_is_read_or_refused(jobs: dict[str, Any]) -> None:
    with contextlib.suppress(ProblemList):
        taskrules.loads_literal(f"TASK_RULES = {jobs!r}")
