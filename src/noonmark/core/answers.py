"""What a check of ``decide`` may see, and the five things it may answer.

Rule of the file: words for ``core/decide.py`` and nothing that decides.  An answer says what was wanted and what was
seen; which verdict a refusal means stands in the table of checks.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any

from noonmark.core import times
from noonmark.core.model import Check, Event, Fact, Job, Micros, Occurrence, Origin, State, Verdict
from noonmark.core.model.quick import quick
from noonmark.core.values import dataclass


@quick
@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """Everything a check may see: the rule in force, the row, the facts known so far, the store's time."""

    job: Job
    row: Occurrence
    facts: Mapping[str, Fact]
    now: Micros

    @property
    def late(self) -> Micros:
        """How long ago the row was due; 0 before its time."""
        return max(0, self.now - self.row.scheduled_for)

    @property
    def is_wanted(self) -> bool:
        """True for a row that the calendar or a pause may delay but no longer exclude.

        That is one that somebody asked for (an event, a call, a person's retry) or that has started before.
        """
        return self.row.origin is not Origin.SCHEDULE or self.has_begun

    @property
    def has_begun(self) -> bool:
        """True for a row that started before, or that a person took up again: no rule may drop it any more."""
        row = self.row
        taken_up = row.code in ("retried", "released") or (row.origin is Origin.SCHEDULE and row.actor != "")
        return taken_up or row.first_started_at is not None or row.state is not State.PENDING

    @property
    def bounds(self) -> tuple[Micros | None, Micros | None]:
        """The window that binds a start: the row's own, or today's for a row that a person took up again."""
        row, window = self.row, self.job.window
        if row.not_before is not None or row.not_after is not None or window is None:
            return row.not_before, row.not_after
        return times.window_of_day(window, self.now, self.job.tz)


@quick
@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What a check says; ``passed`` None = it cannot say without the facts in ``needs``."""

    passed: bool | None
    wanted: str = ""
    seen: str = ""
    event: Event | None = None
    code: str = ""
    detail: Mapping[str, Any] = field(default_factory=dict)
    recheck_at: Micros | None = None
    verdict: Verdict | None = None  # None = the one that stands in the table of checks
    needs: tuple[str, ...] = ()
    versions: Mapping[str, int] = field(default_factory=dict)  # of the facts it looked at, compared again at the start

    def as_check(self, name: str) -> Check:
        """Return the line of the decision's list of checks."""
        return Check(name=name, passed=self.passed, wanted=self.wanted, seen=self.seen)


def passes(wanted: str, seen: str = "", *, facts: tuple[Fact, ...] = ()) -> Answer:
    """Nothing stands in the way."""
    return Answer(passed=True, wanted=wanted, seen=seen, versions=versions_of(facts))


def unknown(*needs: str, wanted: str = "") -> Answer:
    """It depends on facts of these names."""
    return Answer(passed=None, wanted=wanted, needs=needs)


def waits(
    code: str,
    detail: Mapping[str, Any],
    *,
    wanted: str,
    seen: str,
    until: Micros,
    facts: tuple[Fact, ...] = (),
    verdict: Verdict | None = None,
) -> Answer:
    """Not now: the row is parked and looked at again ``until`` then, or as soon as one of ``facts`` moves."""
    return Answer(
        passed=False,
        wanted=wanted,
        seen=seen,
        event=Event.PARK,
        code=code,
        detail=detail,
        recheck_at=until,
        verdict=verdict,
        versions=versions_of(facts),
    )


def skips(code: str, detail: Mapping[str, Any], *, wanted: str, seen: str, facts: tuple[Fact, ...] = ()) -> Answer:
    """Never: the rule excludes this moment, and nobody needs to hear of it."""
    return Answer(
        passed=False,
        wanted=wanted,
        seen=seen,
        event=Event.SKIP,
        code=code,
        detail=detail,
        versions=versions_of(facts),
    )


def misses(code: str, detail: Mapping[str, Any], *, wanted: str, seen: str) -> Answer:
    """Too late: it was wanted and did not happen, so a person hears of it."""
    return Answer(passed=False, wanted=wanted, seen=seen, event=Event.MISS, code=code, detail=detail)


def versions_of(facts: tuple[Fact, ...]) -> dict[str, int]:
    """Return fact name -> version that was looked at."""
    return {fact.name: fact.version for fact in facts}
