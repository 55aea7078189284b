"""What travels through the store's verbs: settlements with their gates, and the answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any

from noonmark.core.model.base import Event, Micros, State
from noonmark.core.model.occurrence import NewOccurrence, Occurrence
from noonmark.core.model.quick import quick
from noonmark.core.values import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class FactWrite:
    """Set (``value`` not None) or clear a fact, and wake what waits for it."""

    name: str
    value: Any
    actor: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class AlertWrite:
    """Open or update the one open alert of (job, kind); ``clear`` closes it."""

    job: str
    kind: str  # failing | missed | poison | silence | clock
    level: int  # 1 notice, 2 raised, 3 urgent
    code: str
    detail: Mapping[str, Any] = field(default_factory=dict)
    occurrence_id: int | None = None
    clear: bool = False


@quick
@dataclass(frozen=True, slots=True, kw_only=True)
class Gates:
    """What the decision saw; compared again, inside the transaction, before a start (docs/semantics.md 3)."""

    revision: int
    pause_version: int = 0
    facts: Mapping[str, int] = field(default_factory=dict)
    slot: str = ""  # overlap slot to occupy, "" = none
    ignore_window: bool = False  # a person's named override


@quick
@dataclass(frozen=True, slots=True, kw_only=True)
class Settlement:
    """One outcome, guarded by its fence; everything in it is applied in one transaction or not at all.

    START and TAKEOVER need ``lease`` (µs) and ``gates``; PARK, FAIL_RETRY and HAND_BACK need ``due_at``.
    ``ledger`` false leaves no ledger line (the attempt row of a finish is always written).
    """

    occurrence_id: int
    fence: int
    event: Event
    due_at: Micros | None = None
    lease: Micros = 0
    gates: Gates | None = None
    verdict: str = ""
    code: str = ""
    detail: str = "{}"
    checks: str = "[]"
    ledger: bool = True
    adds: tuple[NewOccurrence, ...] = ()
    facts: tuple[FactWrite, ...] = ()
    alerts: tuple[AlertWrite, ...] = ()
    result: str | None = None
    error: str | None = None


@quick
@dataclass(frozen=True, slots=True, kw_only=True)
class Settled:
    """Answer to one settlement.

    ``outcome``: ``applied`` · ``stale`` (the fence is old: refused and counted) · ``changed`` (a gate moved, decide
    again; ``changed`` names what) · ``duplicate`` (the key is held by ``holder``) · ``closed`` (window or limit closed).
    After a START or TAKEOVER ``fence`` and ``lease_until`` are the run's.
    """

    outcome: str
    fence: int = 0
    lease_until: Micros = 0
    changed: tuple[str, ...] = ()
    holder: int | None = None
    state: State | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Added:
    """Answer to one added row: ``added``, ``duplicate_key`` (it is recorded as skipped) or ``duplicate_identity``."""

    outcome: str
    id: int
    duplicate_of: int | None = None


@quick
@dataclass(frozen=True, slots=True, kw_only=True)
class Taken:
    """Answer to ``take``: rows leased to the worker, the store's time, and the next moment anything is due."""

    rows: tuple[Occurrence, ...]
    now: Micros
    next_due: Micros | None
    rules_version: int


@quick
@dataclass(frozen=True, slots=True, kw_only=True)
class Renewal:
    """A lease to extend: until ``lease`` µs after the store's now."""

    occurrence_id: int
    fence: int
    lease: Micros


@dataclass(frozen=True, slots=True, kw_only=True)
class Renewed:
    """Answer to ``renew``: which leases are gone, which runs somebody asked to cancel."""

    lost: frozenset[int]
    cancel_requested: frozenset[int]
    now: Micros
