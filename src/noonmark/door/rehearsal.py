"""A context for calling a job's function directly, outside of any run.

Rule of the file: everything works and nothing is remembered; a rehearsal holds no lease, so it cannot lose one.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

from noonmark.core import times
from noonmark.engine.context import Context, ContextSync, RunFacts
from noonmark.ports.clock import SystemClock


def is_context(value: Any) -> bool:
    """Return True for a run's context, of either kind."""
    return isinstance(value, (Context, ContextSync))


def rehearsal_context(job: str, function: Callable[..., Any], params: Mapping[str, Any]) -> Context | ContextSync:
    """Return a context for one direct call, due now, with the date of today in UTC."""
    clock = SystemClock()
    now = clock.wall()
    facts = RunFacts(
        key=f"rehearsal:{job}", fence=1, attempt=1, run_id="rehearsal", job=job, subject="",
        business_date=times.local_date(now, "UTC"), scheduled_for=now, late=0, first_late=0, params=dict(params),
    )  # fmt: skip

    def answer(op: str, args: tuple[Any, ...]) -> Any:  # noqa: ARG001 - what a journal that forgets says
        return {"step": {}, "intent": {}, "answered": {}, "done": {}} if op == "recall" else True

    async def answer_later(op: str, args: tuple[Any, ...]) -> Any:
        return answer(op, args)

    if inspect.iscoroutinefunction(function):
        return Context(facts, ask=answer_later, is_lost=lambda: False, boot=clock.boot)
    return ContextSync(facts, ask=answer, is_lost=lambda: False, boot=clock.boot)
