"""Shared texts and helpers for the tests of rules files."""

from __future__ import annotations

import textwrap
from collections.abc import Callable

import pytest

from noonmark.core.model import Job
from noonmark.rules import loader
from noonmark.rules.problems import Problem, ProblemList


def job_text(fields: str) -> str:
    """Return a rules file with one sound job plus (or replaced by) these fields."""
    given = textwrap.dedent(fields).strip("\n")
    named = {line.split(":")[0] for line in given.splitlines() if line and not line.startswith(" ")}
    lines = [] if "reason" in named else ["reason: because"]
    if not named & {"schedule", "cron", "every", "at", "event", "manual"}:
        lines.append('cron: "0 9 * * *"')
        if not named & {"tz", "timezone"}:
            lines.append("tz: Asia/Shanghai")
    body = textwrap.indent("\n".join([*given.splitlines(), *lines]), "    ")
    return f"version: 1\njobs:\n  digest:\n{body}\n"


@pytest.fixture
def job_of() -> Callable[[str], Job]:
    """Load one job from its fields."""

    def load(fields: str) -> Job:
        (job,) = loader.loads(job_text(fields)).jobs
        return job

    return load


@pytest.fixture
def problems_of() -> Callable[[str], tuple[Problem, ...]]:
    """Return what is wrong with one job's fields."""

    def refuse(fields: str) -> tuple[Problem, ...]:
        with pytest.raises(ProblemList) as refused:
            loader.loads(job_text(fields))
        return refused.value.problems

    return refuse
