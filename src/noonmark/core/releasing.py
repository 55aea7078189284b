"""A person lets go what a rollback holds: of which rollbacks, which rows, and when all is over.

Promise: nothing is let go that the person was not shown.  Whatever was proved between the look and the act (another
rollback, or a lost range that grew) stays held, and its alert stays open.

Rule of the file: pure; every store asks it inside the transaction of the act.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from noonmark.core.lifecycle import next_state
from noonmark.core.model import Act, Event, Micros, Occurrence, State, Verdict
from noonmark.core.model.rollback import Epoch
from noonmark.core.rollback import epochs_of, to_plain
from noonmark.core.values import dataclass

MISSED_SKIPPED = "missed_skipped"
"""Code of a moment that ``missed: skip`` passed over."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LetGo:
    """What becomes of the fact: ``value`` None leaves it as it is; ``is_over``: nothing is held, so the alert closes.

    ``outcome``: ``done`` · ``already_done`` · ``refused`` (one of them is not as it was shown, or none was shown).
    """

    outcome: str
    value: Mapping[str, Any] | None = None
    is_over: bool = False


def shown(epochs: Iterable[Epoch]) -> tuple[tuple[int, Micros], ...]:
    """Return the rollbacks as an act names them: by number, with the end of the lost range as it was shown."""
    return tuple((epoch.number, epoch.lost_until) for epoch in epochs)


def let_go(value: Any, wish: Act, now: Micros) -> LetGo:
    """Let the rollbacks go that the act names, for its job or ("") for every job; all of them or none.

    Args:
        value: the fact's.
        wish: a release that names no row.
        now: the store's time.
    """
    epochs, job, named = epochs_of(value), wish.job or "", dict(wish.epochs or ())
    held = [epoch for epoch in epochs if epoch.number in named and not epoch.is_released(job)]
    if any(epoch.lost_until != named[epoch.number] for epoch in held):
        return LetGo(outcome="refused")
    if not held and not named and any(not epoch.is_released(job) for epoch in epochs):
        return LetGo(outcome="refused")
    after = released(epochs, {epoch.number for epoch in held}, by=wish.actor, reason=wish.reason, at=now, job=job)
    return LetGo(
        outcome="done" if held else "already_done",
        value=to_plain(after) if held else None,
        is_over=all(epoch.released_at is not None for epoch in after),
    )


def released(
    epochs: Sequence[Epoch], numbers: Iterable[int], *, by: str, reason: str, at: Micros, job: str = ""
) -> tuple[Epoch, ...]:
    """Return the rollbacks once a person let a job's held rows go, or ("") those of every job."""
    word = {"by": by, "reason": reason, "at": at}
    wanted = set(numbers)
    return tuple(
        epoch
        if epoch.number not in wanted
        else replace(epoch, released_jobs={**(epoch.released_jobs or {}), job: word})
        if job
        else replace(epoch, released_at=at, released_by=by, reason=reason)
        for epoch in epochs
    )


def may_go(row: Occurrence, value: Any, wish: Act) -> bool:
    """Return True when every rollback that holds the row is one that the act names, as it was shown.

    An act that names none (``epochs`` None) means whatever holds the row.
    """
    if wish.epochs is None:
        return True
    named = dict(wish.epochs)
    return all(
        epoch.is_released(row.job) or not epoch.concerns(row) or named.get(epoch.number) == epoch.lost_until
        for epoch in epochs_of(value)
    )


def is_let_be(row: Occurrence) -> bool:
    """Return True for a row that a rollback holds and no worker has: a person may say what becomes of it."""
    return row.code == "held_rollback" and not row.holder


def is_ours_to_end(row: Occurrence) -> bool:
    """Return True when a person's act may end the row: it is neither a run, nor has it a successor to be named.

    A run that a rollback holds has no holder, and nobody else knows whether it ended; and a frontier that it holds was
    looked at, so it would have handed its flag on if there were a successor.
    """
    return is_let_be(row) or not (row.frontier or row.state is State.RUNNING)


def marked(row: Occurrence, event: Event) -> State | None:
    """Return the state to which a person's mark leads, None where it cannot be: a run's end is its holder's to say."""
    if not is_ours_to_end(row) or (row.state is State.SKIPPED and not is_passed_over(row)):
        return None
    return next_state(row.state, event)


def is_passed_over(row: Occurrence) -> bool:
    """Return True for one moment that the catch-up rules passed over: it may be known to have run.

    A record of a whole range has no key: it is no moment.
    """
    is_missed = row.verdict == Verdict.SKIP_SUPERSEDED or row.code == MISSED_SKIPPED
    return row.state is State.SKIPPED and is_missed and row.key != ""
