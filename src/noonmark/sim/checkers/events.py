"""What a verb that crossed the wire came to, as values that checkers judge.

Rule of the file: plain data, made by ``ground`` alone.
"""

from __future__ import annotations

from dataclasses import dataclass

from noonmark.core.model import Event, Micros, Occurrence, Renewal, Settled, Settlement
from noonmark.core.model.quick import quick


@dataclass(frozen=True, slots=True, kw_only=True)
class Lease:
    """A lease as the store granted it."""

    fence: int
    worker: str
    until: Micros  # store time
    is_run: bool
    taken_at: Micros  # of a lease that survived a failover: the failover


@quick
@dataclass(frozen=True, slots=True, kw_only=True)
class Leased:
    """``take`` put a row under a new fence; ``lease`` and ``fence`` are what there was before."""

    at: Micros
    who: str
    row: Occurrence
    before: Occurrence | None
    lease: Lease | None
    fence: int


@quick
@dataclass(frozen=True, slots=True, kw_only=True)
class Begun:
    """A run was put on record: by ``take`` itself, by a start or by a takeover."""

    at: Micros
    who: str
    before: Occurrence | None
    row: Occurrence
    event: Event
    number: int  # of the write
    settlement: Settlement | None = None


@quick
@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """A settlement and its answer; ``newest`` (of the standing fences) and ``was_answered`` are of the moment before."""

    at: Micros
    who: str
    item: Settlement
    answer: Settled
    before: Occurrence | None
    after: Occurrence | None
    newest: int
    was_answered: bool
    taken_at: Micros


@dataclass(frozen=True, slots=True, kw_only=True)
class Extended:
    """A renewal that the store accepted; ``lease`` is what there was before."""

    at: Micros
    who: str
    renewal: Renewal
    lease: Lease | None
