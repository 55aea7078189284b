"""The decision as values: facts observed, checks made, and what came of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any

from noonmark.core.model.base import Event, Micros, Verdict
from noonmark.core.model.quick import quick
from noonmark.core.values import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """Something observed: a flag, a success, a key's holder, a slot's occupant.  Version 0 = never set."""

    name: str
    version: int = 0
    value: Any = None
    set_at: Micros | None = None
    actor: str = ""

    @property
    def is_set(self) -> bool:
        """True when the fact holds."""
        return self.value is not None and self.value is not False


@quick
@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One check of a decision: what was wanted, what was seen.  ``passed`` None = not asked or not reached."""

    name: str
    passed: bool | None
    wanted: str = ""
    seen: str = ""


@quick
@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """Verdict, ordered checks, the reason code with its arguments, and when to look again.

    ``needs`` non-empty means: no verdict yet, fetch exactly these facts and ask again.  ``event`` is what the engine
    settles with (START, PARK, SKIP, MISS); ``final`` is true for ends.
    """

    verdict: Verdict
    event: Event
    code: str
    detail: Mapping[str, Any] = field(default_factory=dict)
    checks: tuple[Check, ...] = ()
    recheck_at: Micros | None = None
    needs: tuple[str, ...] = ()
    seen: Mapping[str, int] = field(default_factory=dict)  # fact name -> version that was looked at
