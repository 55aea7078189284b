"""What happened in a world, as somebody outside saw it.

Rule of the file: nothing here asks the scheduler.  A ``Call`` is what crossed the wire to the store and back, an
``Effect`` is what a job did to the outside; checkers have these two and the store's rows to judge by.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from noonmark.core.model import Micros
from noonmark.core.model.quick import quick


@quick
@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One verb that the store carried out (``answer``); whether the reply arrived is another matter (``told``)."""

    at: Micros  # the store's time when it was carried out
    who: str  # worker incarnation, "client" for callers outside
    verb: str
    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]
    answer: Any
    told: bool


@quick
@dataclass(frozen=True, slots=True, kw_only=True)
class Effect:
    """One line of the effect ledger, which no fault of the store can touch.

    ``phase``: ``start`` (user code began), ``end`` (it returned), ``fail`` (it raised), ``stop`` (it was cancelled),
    ``step:NAME`` (the body of a remembered step), ``once:NAME`` (the body of a once-effect), ``write`` (a write to
    something outside that checks fences; ``accepted`` says what it answered).
    """

    at: Micros  # the store's time
    who: str
    job: str
    key: str
    occurrence_id: int
    fence: int
    attempt: int
    phase: str
    accepted: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Violation:
    """Something that must never be."""

    invariant: str  # I1 … I13, S…, L…, X…, C1
    checker: str
    at: Micros
    what: str

    def __str__(self) -> str:
        return f"{self.invariant} ({self.checker}) at {self.at}: {self.what}"


@dataclass(slots=True)
class History:
    """Everything a world kept: effects, what was injected, what was found wrong."""

    effects: list[Effect] = field(default_factory=list)
    injected: Counter[str] = field(default_factory=Counter)  # kind of fault -> how often it struck
    points: Counter[str] = field(default_factory=Counter)  # named point -> how often it was passed
    calls: Counter[str] = field(default_factory=Counter)  # verb -> how often the store carried it out
    violations: list[Violation] = field(default_factory=list)
    proofs: Counter[str] = field(default_factory=Counter)  # what a checker has really tested, so that none sleeps

    @property
    def faults(self) -> int:
        """How many faults struck."""
        return sum(self.injected.values())


class Checker(Protocol):
    """One family of invariants.  It may read the world's rows and its almanac, and reports through ``blame``."""

    name: str

    def on_call(self, call: Call) -> None:
        """See a verb that the store has just carried out."""
        ...

    def on_effect(self, effect: Effect) -> None:
        """See what a job has just done to the outside."""
        ...

    def on_failover(self) -> None:
        """See that the store has just lost its last writes (``cluster.failovers``); its rows are as they were before."""
        ...

    def has_claim(self, effect: Effect) -> bool:
        """Return True when it saw the claim that an effect is of; a run may go on when another store lies there."""
        ...

    def at_end(self) -> None:
        """Judge the whole, long after the last fault."""
        ...
