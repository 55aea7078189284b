"""What every store refuses before it writes anything: verbs whose arguments make no sense."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from noonmark.core.lifecycle import is_end
from noonmark.core.model import Act, Event, NewOccurrence, Origin, Settlement, State

STARTS = frozenset({Event.START, Event.TAKEOVER})
NEED_DUE_AT = frozenset({Event.PARK, Event.FAIL_RETRY, Event.HAND_BACK})
SETTLED = STARTS | NEED_DUE_AT | {Event.SKIP, Event.MISS, Event.SUCCEED, Event.FAIL_MANUAL, Event.CANCEL}
"""What a worker may say; the other events are a person's."""
MARKS = {
    "mark_done": (Event.MARK_DONE, "marked_done"),
    "mark_skip": (Event.MARK_SKIP, "marked_skip"),
    "mark_handled": (Event.MARK_HANDLED, "marked_handled"),
}
"""A person's marks: the event each one is, and the code of its reason."""
ACTS = frozenset({"retry", "cancel", "pause", "resume", "end_job", *MARKS})


def check_rows(wanted: Iterable[NewOccurrence]) -> None:
    """Check rows to be added.

    Raises:
        ValueError: a row is neither waiting nor ended, or has no job or identity.
    """
    for row in wanted:
        if row.state is not State.PENDING and not is_end(row.state):
            raise ValueError(f"occurrence {row.identity!r} of job {row.job!r} cannot be added as {row.state}")
        if not row.job or not row.identity:
            raise ValueError("an occurrence needs a job and an identity")


def check_settlements(items: Sequence[Settlement]) -> None:
    """Check outcomes.

    Raises:
        ValueError: a start without lease or gates, a wait without due_at, or an event that is not a worker's to say.
    """
    for item in items:
        event = item.event
        if event is Event.SUCCEED and not item.adds:
            continue
        if event not in SETTLED:
            raise ValueError(f"{event} is not settled, it is acted")
        if event in STARTS and (item.gates is None or item.lease <= 0):
            raise ValueError(f"{event} of occurrence {item.occurrence_id} needs gates and a lease")
        if event in NEED_DUE_AT and item.due_at is None:
            raise ValueError(f"{event} of occurrence {item.occurrence_id} needs due_at")
        check_rows(item.adds)


def check_act(wish: Act) -> None:
    """Check a person's act.

    Raises:
        ValueError: an unknown kind.
    """
    if wish.kind not in ACTS:
        raise ValueError(f"no such act: {wish.kind!r}; there are {', '.join(sorted(ACTS))}")
    check_rows(wish.adds)


def derives(item: Settlement, job: str, subject: str) -> bool:
    """Return True when moments of the series itself come along with an outcome.

    Only the frontier yields any, and by the rule in force.  A store answers ``changed`` where the row is no frontier any
    more or the revision moved: else a rule that was changed under the look would run moments of its past, or the rule
    before it moments from after its end.
    """
    return any(new.origin is Origin.SCHEDULE and (new.job, new.subject) == (job, subject) for new in item.adds)
