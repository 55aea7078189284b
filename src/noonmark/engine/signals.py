"""What the engine tells an observer: small typed events, for tests and metrics.

Rule of the file: values only.  An observer is called on the thread where the thing happened and must return at once;
what it raises is logged and otherwise ignored.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TypeAlias

from noonmark.core.model import Decision, Event, Micros, Occurrence
from noonmark.core.values import dataclass

_LOG = logging.getLogger("noonmark.engine")


@dataclass(frozen=True, slots=True, kw_only=True)
class Started:
    """A run began on this worker."""

    row: Occurrence
    fence: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Decided:
    """A look ended in a decision that the store accepted."""

    row: Occurrence
    decision: Decision


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished:
    """An outcome was recorded."""

    row: Occurrence
    fence: int
    event: Event
    code: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """A write of this worker was refused, because its fence is old."""

    row: Occurrence
    fence: int
    what: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Lost:
    """A run of this worker is no longer believed in; ``why``: ``renewal``, ``trust``, ``lock``, ``start``,
    ``another store``."""

    row: Occurrence
    fence: int
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreAway:
    """The store did not answer; the worker goes on trying."""

    error: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreBack:
    """The store answers again."""

    away_for: Micros


@dataclass(frozen=True, slots=True, kw_only=True)
class Idle:
    """Nothing is due: the loop sleeps until the boot-clock moment ``until``."""

    until: Micros


@dataclass(frozen=True, slots=True, kw_only=True)
class Stopped:
    """The engine stopped; ``handed_back`` runs were given back."""

    handed_back: int


Happening: TypeAlias = Started | Decided | Finished | Refused | Lost | StoreAway | StoreBack | Idle | Stopped
Observer: TypeAlias = Callable[[Happening], None]


def tell(observer: Observer | None, happening: Happening) -> None:
    """Tell the observer, if there is one; its failure is no failure of the engine."""
    if observer is None:
        return
    try:
        observer(happening)
    except Exception:
        _LOG.exception("the observer failed on %s", type(happening).__name__)
