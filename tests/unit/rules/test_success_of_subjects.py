"""A success that is waited for is one that a run can have: that of one subject, where a job has subjects."""

from __future__ import annotations

import pytest

from noonmark.rules.loader import loads
from noonmark.rules.problems import ProblemList

RULES = """
version: 1
jobs:
  a: {{every: 1h, command: ["true"], each: {{source: [x, y]}}, reason: A test.}}
  one: {{every: 1h, command: ["true"], reason: A test.}}
  b: {{every: 1h, command: ["true"], {each} depends_on: [{{success: "{success}"}}], reason: A test.}}
"""
SAME = "each: {source: [x, y]},"


def codes(success: str, each: str = "") -> list[str]:
    try:
        loads(RULES.format(success=success, each=each))
    except ProblemList as refused:
        return [problem.code for problem in refused.problems]
    return []


@pytest.mark.parametrize("success", ["a", "a[source=z]", "a[x]"])
@pytest.mark.parametrize("each", ["", SAME])
def test_a_success_that_no_run_can_have_is_refused(success: str, each: str) -> None:
    assert codes(success, each) == ["success_which_subject"]


def test_brackets_behind_a_job_without_subjects_are_refused() -> None:
    assert codes("one[source=x]") == ["success_no_subject"]


def test_an_unknown_job_is_told_with_brackets_too() -> None:
    assert codes("zzz[source=x]") == ["success_unknown_job"]


def test_the_success_of_one_subject_and_that_of_the_same_one_can_be_waited_for() -> None:
    assert codes("one") == []
    assert codes("a[source=x]") == []
    assert codes("a[{subject}]", SAME) == []
    assert codes("a[source={source}]", SAME) == []


def test_it_is_said_how_to_write_it() -> None:
    with pytest.raises(ProblemList) as refused:
        loads(RULES.format(success="a", each=SAME))
    assert "a[{subject}]" in refused.value.text("en")
    assert "a[{subject}]" in refused.value.text("zh")
