"""Bugs of what people do: cancelling, keys that are cancelled first, retries.

Rule of the file: as in ``of_stores``.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from noonmark.core import lifecycle
from noonmark.core.model import Event, State
from noonmark.engine import look
from noonmark.sim.mutants.plant import Anything, Mutant, Needs, Planter
from noonmark.stores.memory import acting, settling
from noonmark.stores.memory.tables import Tables


def _forget_a_cancel(planter: Planter) -> None:
    planter.around(
        acting,
        "_cancel_row",
        lambda cancel: (
            lambda them, row, wish, now: True if row.state is State.RUNNING else cancel(them, row, wish, now)
        ),
    )


def _hold_no_unknown_key(planter: Planter) -> None:
    def make(hold: Anything) -> Anything:
        def loose(them: Tables, *args: Any) -> Any:
            acted = hold(them, *args)
            them.release_key(them.rows[acted.ids[0]])
            return acted

        return loose

    planter.around(acting, "_hold_unknown_key", make)


def _retry_with_old_counts(planter: Planter) -> None:
    def make(retry: Anything) -> Anything:
        def counted(them: Tables, wish: Any, now: int) -> Any:
            before = them.rows.get(wish.occurrence_id)
            acted = retry(them, wish, now)
            if before is not None and acted.outcome == "done":
                them.change(before.id, attempt=before.attempt)
            return acted

        return counted

    planter.around(acting, "_retry", make)


def _cancel_a_success(planter: Planter) -> None:
    def next_state(state: State, event: Event) -> State | None:
        if state is State.SUCCESS and event is Event.CANCEL:
            return State.CANCELLED
        return lifecycle.next_state(state, event)

    planter.put(acting, "next_state", next_state)


def _begin_what_is_to_be_cancelled(planter: Planter) -> None:
    """In the look and in the store, which both know better."""

    def make(decide: Anything) -> Anything:
        def blind(job: Any, row: Any, *args: Any) -> Any:
            return decide(job, replace(row, cancel_requested=False), *args)

        return blind

    def make_refusal(refusal: Anything) -> Anything:
        def blind(them: Tables, row: Any, *args: Any) -> Any:
            return refusal(them, replace(row, cancel_requested=False), *args)

        return blind

    planter.around(look, "decide", make)
    planter.around(settling, "_refusal", make_refusal)


ACT_MUTANTS: tuple[Mutant, ...] = (
    Mutant(
        name="a cancel of a run is forgotten",
        plant=_forget_a_cancel,
        needs=Needs(jobs=("minutely",), deeds=("cancel",)),
    ),
    Mutant(
        name="a cancel that came first holds nothing",
        plant=_hold_no_unknown_key,
        needs=Needs(jobs=("asked",), deeds=("cancel",)),
    ),
    Mutant(name="a person's retry keeps the old counts", plant=_retry_with_old_counts, needs=Needs(deeds=("retry",))),
    Mutant(
        name="what is to be cancelled begins",
        plant=_begin_what_is_to_be_cancelled,
        needs=Needs(jobs=("minutely",), deeds=("cancel",)),
    ),
    Mutant(name="a cancel ends a success", plant=_cancel_a_success, needs=Needs(jobs=("asked",), deeds=("cancel",))),
)
