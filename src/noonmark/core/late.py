"""Runs that came back with a success when nobody counted on them any more: kept as one fact per occurrence, ``late:ID``.

They had been given up (over their limit, cancelled, their lock or their lease lost), and the outcome that stands is another
one; but the work is done, and whoever asks why must learn it.  It explains; no decision reads it.

Rule of the file: pure, and forgiving: what is not of that shape tells nothing.
"""

from __future__ import annotations

from typing import Any, TypeAlias

from noonmark.core.model import Attempt, Fact, Micros, Story

Late: TypeAlias = tuple[Attempt, Micros]
"""The try that came back, and when it was heard (store time, UTC microseconds)."""


def fact_name(occurrence_id: int) -> str:
    """Return the name of the fact under which an occurrence has it."""
    return f"late:{occurrence_id}"


def value(fence: int) -> dict[str, Any]:
    """Return what the fact says: under which fence the run was."""
    return {"fence": fence}


def attempt_of(story: Story, fence: int) -> Attempt | None:
    """Return the try that ran under this fence and did not count as a success."""
    return next((each for each in story.attempts if each.fence == fence and each.outcome != "success"), None)


def late_of(fact: Fact | None, story: Story) -> Late | None:
    """Return which try of an occurrence came back late, None where none did, or the fact is about a lost row's number."""
    said = fact.value if fact is not None else None
    fence = said.get("fence") if isinstance(said, dict) else None
    attempt = attempt_of(story, fence) if isinstance(fence, int) else None
    return None if attempt is None or fact is None else (attempt, fact.set_at or 0)
