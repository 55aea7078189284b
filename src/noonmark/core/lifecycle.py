"""The life of an occurrence: one literal table of state x event -> state.

Rules of the file: everything that changes a state is in ``TRANSITIONS``; nothing elsewhere names a target state.  The
picture in the docs is drawn from this table.  (docs/semantics.md 2.)
"""

from __future__ import annotations

from noonmark.core.model import HOUR, OPEN_STATES, SECOND, Event, Micros, Occurrence, Origin, State

PENDING, RUNNING, SUCCESS = State.PENDING, State.RUNNING, State.SUCCESS
RETRYING, MANUAL = State.FAILED_RETRYING, State.FAILED_MANUAL
SKIPPED, CANCELLED = State.SKIPPED, State.CANCELLED

TRANSITIONS: dict[tuple[State, Event], State] = {
    # waiting for its moment, or for a check to say yes
    (PENDING, Event.START): RUNNING,
    (PENDING, Event.PARK): PENDING,
    (PENDING, Event.SKIP): SKIPPED,
    (PENDING, Event.MISS): MANUAL,
    (PENDING, Event.CANCEL): CANCELLED,
    (PENDING, Event.MARK_DONE): SUCCESS,
    (PENDING, Event.MARK_SKIP): SKIPPED,
    # running under a lease; a lapsed one may be looked at (PARK) while its state stays
    (RUNNING, Event.PARK): RUNNING,
    (RUNNING, Event.TAKEOVER): RUNNING,
    (RUNNING, Event.SUCCEED): SUCCESS,
    (RUNNING, Event.FAIL_RETRY): RETRYING,
    (RUNNING, Event.FAIL_MANUAL): MANUAL,
    (RUNNING, Event.MISS): MANUAL,
    (RUNNING, Event.HAND_BACK): PENDING,
    (RUNNING, Event.CANCEL): CANCELLED,
    # failed, the next attempt is due at due_at
    (RETRYING, Event.START): RUNNING,
    (RETRYING, Event.PARK): RETRYING,
    (RETRYING, Event.MISS): MANUAL,
    (RETRYING, Event.CANCEL): CANCELLED,
    (RETRYING, Event.MARK_DONE): SUCCESS,
    (RETRYING, Event.MARK_SKIP): SKIPPED,
    # a person's turn
    (MANUAL, Event.RETRY): PENDING,
    (MANUAL, Event.CANCEL): CANCELLED,
    (MANUAL, Event.MARK_DONE): SUCCESS,
    (MANUAL, Event.MARK_SKIP): SKIPPED,
    (MANUAL, Event.MARK_HANDLED): CANCELLED,
    # a person says what becomes of a row that is held because the store lost a range in which it may have run
    (PENDING, Event.RELEASE): PENDING,
    (RETRYING, Event.RELEASE): PENDING,
    (RUNNING, Event.RELEASE): PENDING,
    (RUNNING, Event.MARK_DONE): SUCCESS,
    # a later revision yields a superseded moment again before it is due
    (SKIPPED, Event.REOPEN): PENDING,
    # what catch-up passed over ran all the same, as a person or a worker's journal knows (``releasing.is_passed_over``)
    (SKIPPED, Event.MARK_DONE): SUCCESS,
}

CANCEL_WINS_OVER = frozenset(
    {Event.FAIL_RETRY, Event.FAIL_MANUAL, Event.HAND_BACK, Event.TAKEOVER, Event.MISS, Event.SKIP}
)
"""With a cancel requested these become CANCEL: a success that wins the race stands, any other end does not."""


ATTEMPT_ENDS = {
    RETRYING: "failed",
    MANUAL: "failed",
    CANCELLED: "cancelled",
    PENDING: "handed_back",
    SKIPPED: "failed",
}
"""What the attempt under way is called when its row goes to this state; success is told by the row."""
YIELDING = frozenset({SKIPPED, CANCELLED})
"""Rows in these states give their key to whoever was asked for by a person, as a new generation."""
ASKED_BY_A_PERSON = frozenset({Origin.MANUAL, Origin.BACKFILL})
"""To such rows those states give their key."""
CANCEL_WITHIN: Micros = SECOND
"""A cancel that was noted between a look and its park is carried out by another look this soon."""
SLOT_WAIT = "slot_wait"
"""The code of a row that waits for the overlap slot of its series; stores give a slot that is left to the oldest of them."""
KEPT: Micros = HOUR
"""How long the first answer to a request is remembered."""


def next_state(state: State, event: Event) -> State | None:
    """Return the state that ``event`` leads to, or None where the table has no such step."""
    return TRANSITIONS.get((state, event))


def effective_event(event: Event, *, cancel_requested: bool) -> Event:
    """Return the event that counts once a requested cancel is taken into account (docs/semantics.md 5, cancelling)."""
    return Event.CANCEL if cancel_requested and event in CANCEL_WINS_OVER else event


def is_end(state: State) -> bool:
    """Return True for the states that carry no ``due_at``."""
    return state not in OPEN_STATES


def waits_under(name: str, version: int, row: Occurrence) -> int:
    """Return the number under which a parked row waits for a fact: the version it saw.

    For an overlap slot, whose version tells nobody anything, it is the row's place in the queue: its scheduled time.  So
    who leaves a slot finds the oldest first, however many wait.
    """
    return row.scheduled_for if name.startswith("slot:") else version


def gives_slot_up(row: Occurrence) -> bool:
    """Return True when the row, which parks, must not keep the overlap slot that was handed to it.

    Who has started keeps its slot to the end.  Who was only handed it and waits for something else would hold up everybody
    behind it.
    """
    return row.state is PENDING and (row.first_started_at is None or row.code == SLOT_WAIT)
