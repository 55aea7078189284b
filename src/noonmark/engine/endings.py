"""How the runs of a batch ended, as a journal keeps it.

Promise: in the journal is what the store has acknowledged, and what ended over a rollback: that was refused, because the
store had lost that it was started, and it ended all the same.

Rule of the file: pure; the fields of a line are those of ``testimony.OUTCOME``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from noonmark.core.model import Event, Micros, Occurrence, Settled, Settlement
from noonmark.engine import witnessing

Ending: TypeAlias = tuple[object, ...]
_OUTCOMES = {
    Event.SUCCEED: "success",
    Event.FAIL_RETRY: "failed",
    Event.FAIL_MANUAL: "failed_manual",
    Event.CANCEL: witnessing.CANCELLED,
}


def ending(row: Occurrence, outcome: str, fence: int) -> Ending:
    """Return how one run ended."""
    return (
        row.id, row.job, row.subject, row.identity, row.key, row.scheduled_for, row.business_date, row.origin, outcome,
        fence,
    )  # fmt: skip


def endings(
    items: Sequence[Settlement],
    answers: Sequence[Settled],
    row_of: Callable[[int], Occurrence | None],
    rolled_back_at: Micros,
) -> tuple[list[Ending], list[tuple[Ending, Micros]]]:
    """Return the outcomes that were applied, and those of runs that ended over a rollback, each with when it began.

    Args:
        items, answers: what was asked of the store, and what it said.
        row_of: the row of a run of ours.
        rolled_back_at: when the last rollback was detected, 0 = there was none.
    """
    applied: list[Ending] = []
    over: list[tuple[Ending, Micros]] = []
    for item, answer in zip(items, answers, strict=True):
        outcome = _OUTCOMES.get(item.event)
        row = row_of(item.occurrence_id) if outcome is not None else None
        if row is None or outcome is None:
            continue
        said = ending(row, outcome, item.fence)
        if answer.outcome == "applied":
            applied.append(said)
        elif answer.outcome == "stale" and row.started_at is not None and row.started_at < rolled_back_at:
            over.append((said, row.started_at))
    return applied, over
