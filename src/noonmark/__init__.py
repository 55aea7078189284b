"""noonmark decides when an agent's job may run and who runs it, safe however often it is tried.

Rule of the file: names only.  Each is imported when it is first used, so that ``import noonmark`` costs next to nothing
and nobody pays for what they do not touch.
"""

from __future__ import annotations

TYPE_CHECKING = False  # what ``typing`` says, without the 8 ms of importing it
if TYPE_CHECKING:
    from typing import Any

    from noonmark.core.model import State, Verdict
    from noonmark.core.params import MissingParamError, UnknownParamError
    from noonmark.door.declared import NoSuchJobError
    from noonmark.door.handles import JobHandle
    from noonmark.door.outcomes import RetryLater
    from noonmark.door.scheduler import Scheduler
    from noonmark.door.views import Emitted, Enqueued, Evaluation
    from noonmark.door.words import (
        CatchUp,
        Guardrails,
        Retry,
        Window,
        at,
        cron,
        every,
        manual,
        on_event,
        ready,
        succeeded,
    )
    from noonmark.engine.context import Context, ContextSync
    from noonmark.engine.errors import DoNotRetry, EffectUnknown, LeaseLost
    from noonmark.ports.store import StoreError, StoreUnreachable, StoreUnusable
    from noonmark.rules.problems import ProblemList
    from noonmark.wiring import open_store

__version__ = "0.1.0"

_HOMES = {
    "noonmark.core.model": ("State", "Verdict"),
    "noonmark.core.params": ("MissingParamError", "UnknownParamError"),
    "noonmark.engine.context": ("Context", "ContextSync"),
    "noonmark.engine.errors": ("DoNotRetry", "EffectUnknown", "LeaseLost"),
    "noonmark.door.declared": ("NoSuchJobError",),
    "noonmark.door.handles": ("JobHandle",),
    "noonmark.door.outcomes": ("RetryLater",),
    "noonmark.ports.store": ("StoreError", "StoreUnreachable", "StoreUnusable"),
    "noonmark.rules.problems": ("ProblemList",),
    "noonmark.door.scheduler": ("Scheduler",),
    "noonmark.door.views": ("Emitted", "Enqueued", "Evaluation"),
    "noonmark.wiring": ("open_store",),
    "noonmark.door.words": (
        "CatchUp", "Guardrails", "Retry", "Window", "at", "cron", "every", "manual", "on_event", "ready", "succeeded",
    ),
}  # fmt: skip
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [
    "CatchUp",
    "Context",
    "ContextSync",
    "DoNotRetry",
    "EffectUnknown",
    "Emitted",
    "Enqueued",
    "Evaluation",
    "Guardrails",
    "JobHandle",
    "LeaseLost",
    "MissingParamError",
    "NoSuchJobError",
    "ProblemList",
    "Retry",
    "RetryLater",
    "Scheduler",
    "State",
    "StoreError",
    "StoreUnreachable",
    "StoreUnusable",
    "UnknownParamError",
    "Verdict",
    "Window",
    "at",
    "cron",
    "every",
    "manual",
    "on_event",
    "open_store",
    "ready",
    "succeeded",
]


def __getattr__(name: str) -> Any:
    home = _HOME_OF.get(name)
    if home is None:
        raise AttributeError(f"module 'noonmark' has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
