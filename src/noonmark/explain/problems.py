"""How one problem of a proof is made of a row, and what an import left halfway.

Rule of the file: pure; what was seen is kept as a message and its arguments, so that it is told in the reader's language.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from noonmark.core.model import Occurrence, State
from noonmark.engine.passing import HALFWAY
from noonmark.explain.messages import message
from noonmark.explain.proof import Problem


def told(kind: str, job: str, about: str, *, subject: str = "", **args: Any) -> Problem:
    """Return a problem of a whole job or subject, told by a message."""
    return Problem(kind=kind, job=job, subject=subject, seen=message(about, "en", **args), about=about, args=args)


def problem_of(kind: str, row: Occurrence, about: str = "", **args: Any) -> Problem:
    """Return a problem of one row; without a message its state says what was seen."""
    return Problem(
        kind=kind,
        job=row.job,
        subject=row.subject,
        at=row.scheduled_for,
        key=row.key,
        occurrence_id=row.id,
        seen=message(about, "en", **args) if about else row.state.value,
        about=about,
        args=args,
    )


def half_imported(rows: Iterable[Occurrence]) -> list[Problem]:
    """Return the rows of which an import that was stopped knows that they ran, and did not say so yet."""
    return [
        problem_of("importing", row, "problem_seen_importing")
        for row in rows
        if row.code == HALFWAY and row.state in (State.PENDING, State.SKIPPED)
    ]
