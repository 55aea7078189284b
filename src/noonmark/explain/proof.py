"""What ``verify`` found: how many moments were due, what became of them, and every problem.

Rule of the file: values only; instants are UTC microseconds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any

from noonmark.core.model import Micros
from noonmark.core.values import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """One thing that must not be.  ``kind``: twice, missing, overdue, forgotten, silent, ground, frontier, attempts,
    early, importing, unreadable."""

    kind: str
    job: str
    subject: str = ""
    at: Micros | None = None
    key: str = ""
    occurrence_id: int | None = None
    seen: str = ""
    about: str = ""  # the message that tells ``seen`` in people's words, and its arguments
    args: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Setback:
    """One time that the store went back: which range it lost, and what became of it.  Instants in UTC microseconds.

    ``number`` 0: receipts tell it, and no worker has told the store yet.  ``unrecorded``: journalled successes of the
    span that are no successes in the store; None where no journal could be asked.
    """

    number: int
    lost_from: Micros
    lost_until: Micros
    writers: tuple[str, ...] = ()
    released_at: Micros | None = None
    released_by: str = ""
    unrecorded: int | None = None

    @property
    def is_untold(self) -> bool:
        """True while only receipts know of it."""
        return self.number == 0

    @property
    def is_over(self) -> bool:
        """True once a person let go what was held for it."""
        return self.released_at is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """The proof: how many were due, what became of them, and every problem.  Instants in UTC microseconds."""

    since: Micros
    until: Micros
    due: int
    outcomes: Mapping[str, int]
    by_job: Mapping[str, Mapping[str, int]]
    problems: tuple[Problem, ...]
    workers: int
    died: int
    stale_refused: int
    duplicates_refused: int
    begins: Micros | None = None  # the first rule that the store knows; nothing is proved of what was before
    former: tuple[str, ...] = ()  # other stores that lay here before, as this machine's workers remember
    setbacks: tuple[Setback, ...] = ()
    moments_refused: int = 0  # of the refused duplicates: moments of a schedule, which nobody asked for
    may_repeat: int = 0  # runs that may repeat what the store lost; those that are known to do so are problems

    def count(self, *kinds: str) -> int:
        """Return how many problems are of these kinds."""
        return sum(1 for problem in self.problems if problem.kind in kinds)

    @property
    def twice(self) -> int:
        """How many keys have two successes in one generation."""
        return self.count("twice")

    @property
    def missing(self) -> int:
        """How many due moments have no outcome and no reason."""
        return self.count("missing", "overdue", "forgotten")

    @property
    def accounted(self) -> int:
        """How many due moments have an outcome, or a future look with a recorded reason."""
        return self.due - self.missing

    @property
    def ok(self) -> bool:
        """True when nothing ran twice, nothing is unaccounted for, every invariant that was read holds, and nothing that
        the store lost is left to a person."""
        return not self.problems and all(setback.is_over for setback in self.setbacks)
