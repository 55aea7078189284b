"""The life cycle table: every state with every event, and what the documents say about it."""

from __future__ import annotations

from itertools import product

import pytest

from noonmark.core.lifecycle import CANCEL_WINS_OVER, TRANSITIONS, effective_event, is_end, next_state
from noonmark.core.model import OPEN_STATES, Event, State

PENDING, RUNNING, SUCCESS = State.PENDING, State.RUNNING, State.SUCCESS
RETRYING, MANUAL = State.FAILED_RETRYING, State.FAILED_MANUAL
SKIPPED, CANCELLED = State.SKIPPED, State.CANCELLED

# Written out a second time on purpose, as a picture: a row is a state, "." means that the event cannot happen to it.
EVENTS = (
    "start park skip miss takeover succeed fail_retry fail_manual hand_back cancel retry mark_done mark_skip "
    "mark_handled reopen release"
)
PICTURE = """
PENDING         R P K M . . . . . C . S K . . P
RUNNING         . R . M R S F M P C . S . . . P
FAILED_RETRYING R F . M . . . . . C . S K . . P
FAILED_MANUAL   . . . . . . . . . C P S K C . .
SUCCESS         . . . . . . . . . . . . . . . .
SKIPPED         . . . . . . . . . . . S . . P .
CANCELLED       . . . . . . . . . . . . . . . .
"""
LETTERS = {
    "P": PENDING,
    "R": RUNNING,
    "S": SUCCESS,
    "F": RETRYING,
    "M": MANUAL,
    "K": SKIPPED,
    "C": CANCELLED,
    ".": None,
}
EXPECTED = {
    (State(line.split()[0]), Event(event)): LETTERS[letter]
    for line in PICTURE.strip().splitlines()
    for event, letter in zip(EVENTS.split(), line.split()[1:], strict=True)
}


@pytest.mark.parametrize(("state", "event"), list(product(State, Event)), ids=lambda value: str(value))
def test_every_state_meets_every_event_as_the_picture_says(state: State, event: Event) -> None:
    assert next_state(state, event) == EXPECTED[state, event]


def test_the_source_documents_path_is_legal() -> None:
    """S10: PENDING -> RUNNING -> SUCCESS | FAILED_RETRYING -> RUNNING | FAILED_MANUAL."""
    assert next_state(PENDING, Event.START) is RUNNING
    assert next_state(RUNNING, Event.SUCCEED) is SUCCESS
    assert next_state(RUNNING, Event.FAIL_RETRY) is RETRYING
    assert next_state(RETRYING, Event.START) is RUNNING
    assert next_state(RUNNING, Event.FAIL_MANUAL) is MANUAL


def test_success_is_never_left_and_reached_only_by_a_run_or_a_persons_word() -> None:
    """I6, S10: terminal is terminal."""
    assert not any(state is SUCCESS for state, _ in TRANSITIONS)
    assert {event for (_, event), after in TRANSITIONS.items() if after is SUCCESS} == {Event.SUCCEED, Event.MARK_DONE}


def test_a_cancelled_row_is_never_left() -> None:
    assert not any(state is CANCELLED for state, _ in TRANSITIONS)


def test_only_a_person_takes_a_failed_row_up_again() -> None:
    assert [event for event in Event if next_state(MANUAL, event) in OPEN_STATES] == [Event.RETRY]


def test_a_skipped_row_opens_again_only_by_a_revision_and_is_done_only_by_a_persons_word() -> None:
    steps = [event for event in Event if next_state(SKIPPED, event) is not None]
    assert steps == [Event.MARK_DONE, Event.REOPEN]
    assert next_state(SKIPPED, Event.MARK_DONE) is SUCCESS


def test_what_was_wanted_never_ends_skipped_by_itself_once_it_started() -> None:
    """docs/semantics.md 2: SKIPPED is only what the rule excludes; a started occurrence ends otherwise, or by a person."""
    for state in (RUNNING, RETRYING, MANUAL):
        assert {event for event in Event if next_state(state, event) is SKIPPED} <= {Event.MARK_SKIP}


def test_a_closed_window_makes_every_open_row_a_persons_business() -> None:
    assert {next_state(state, Event.MISS) for state in OPEN_STATES} == {MANUAL}


def test_every_open_state_can_be_looked_at_without_changing_it() -> None:
    """docs/semantics.md 1: the look lease; the state stays."""
    assert all(next_state(state, Event.PARK) is state for state in OPEN_STATES)


def test_every_open_state_can_be_cancelled_and_reaches_every_end_it_needs() -> None:
    assert {next_state(state, Event.CANCEL) for state in (*OPEN_STATES, MANUAL)} == {CANCELLED}


def test_a_run_that_nobody_holds_is_neither_lost_nor_started_twice() -> None:
    """A lapsed run may be taken over, parked, missed, failed or cancelled, but not started as if it had not begun."""
    assert next_state(RUNNING, Event.START) is None
    assert next_state(RUNNING, Event.TAKEOVER) is RUNNING


def test_ends_are_the_states_without_a_due_moment() -> None:
    assert {state for state in State if is_end(state)} == {SUCCESS, MANUAL, SKIPPED, CANCELLED}


def test_every_state_can_be_reached_and_every_event_has_a_use() -> None:
    assert set(TRANSITIONS.values()) == set(State)
    assert {event for _, event in TRANSITIONS} == set(Event)


@pytest.mark.parametrize("event", list(Event), ids=str)
def test_a_requested_cancel_beats_every_end_but_success(event: Event) -> None:
    """docs/semantics.md 5: a SUCCESS that wins the race stands, any other end, lapse or retry becomes CANCELLED."""
    wins = event in {Event.FAIL_RETRY, Event.FAIL_MANUAL, Event.HAND_BACK, Event.TAKEOVER, Event.MISS, Event.SKIP}
    assert effective_event(event, cancel_requested=True) is (Event.CANCEL if wins else event)
    assert effective_event(event, cancel_requested=False) is event


def test_wherever_a_cancel_wins_the_row_can_be_cancelled() -> None:
    for state, event in TRANSITIONS:
        if event in CANCEL_WINS_OVER:
            assert next_state(state, Event.CANCEL) is CANCELLED
