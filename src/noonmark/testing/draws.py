"""What the lock-step machine throws at two stores: rows, and what workers say about them.

Rule of the file: every value comes from the dice alone, so that one number repeats one operation.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from noonmark.core import releasing, rollback
from noonmark.core.lifecycle import next_state
from noonmark.core.model import (
    SECOND,
    Act,
    AlertWrite,
    Event,
    FactWrite,
    Gates,
    Micros,
    NewOccurrence,
    Occurrence,
    Origin,
    Passed,
    State,
)
from noonmark.ports.store import Store
from noonmark.testing.builders import LEASE
from noonmark.testing.twins import Twin

JOBS, WORKERS, KEYS = ("job", "other"), ("w1", "w2", "w3"), ("k1", "k2", "k3")
FLAGS = ("flag:a", "flag:b", "success:job::2026-11-28")
SLOTS = ("", "slot:job:", "slot:other:")
LATE = (-60, -5, 0, 0, 5, 30, 90)  # seconds from now
ABOUT_ITS_ROW = 1  # stands for the number that a row has, in whichever store
A_PERSONS = frozenset({Event.RETRY, Event.RELEASE, Event.MARK_DONE, Event.MARK_SKIP, Event.MARK_HANDLED, Event.REOPEN})


def draw_row(dice: random.Random, now: Micros, store: Store, *, later: bool = False, **fixed: Any) -> NewOccurrence:
    """Draw a row; its identity stands for its moment, as in life.  ``fixed`` fields are not drawn."""
    job = fixed.get("job") or dice.choice(JOBS)
    moment = now + SECOND * dice.choice((5, 30, 90) if later else LATE)
    origin = Origin.SCHEDULE if later else dice.choice(tuple(Origin)[:5])
    scheduled = origin is Origin.SCHEDULE
    closes = dice.choice((None, None, 20, 40))
    drawn: dict[str, Any] = {
        "job": job,
        "identity": f"t:{moment}" if scheduled else f"i:{dice.randint(1, 4)}",
        "key": dice.choice(KEYS),
        "scheduled_for": moment,
        "due_at": moment,
        "origin": origin,
        "gated": scheduled or dice.choice((True, False)),
        "claim": not scheduled,
        "again": origin is Origin.MANUAL and dice.choice((True, False)),
        "not_after": None if closes is None else moment + closes * SECOND,
        "expires_at": dice.choice((None, None, moment + 10 * SECOND)),
        "revision": store.jobs([job])[0].revision,
        "worker": dice.choice(("", "", "", "w1")),
    }
    return NewOccurrence(**(drawn | fixed))


@dataclass(frozen=True, slots=True)
class Leaving:
    """What a rule leaves behind; ``passed`` once for each of the two stores, which have ids and fences of their own."""

    passed: tuple[tuple[Passed, ...], ...]
    adds: tuple[NewOccurrence, ...]


def draw_leaving(dice: random.Random, now: Micros, twins: Sequence[Twin], job: str, *, is_step: bool) -> Leaving:
    """Draw what a rule leaves behind: as life has it, its overdue frontier rows and the moments after them.

    ``is_step``: the rule stays, so that one of the moments may be the next frontier.
    """
    overdue = sorted(
        spot
        for spot, row in twins[0].rows.items()
        if row.job == job and row.frontier and row.due_at is not None and row.due_at <= now
    )
    if not overdue or dice.randint(0, 4) == 0:
        return Leaving(passed=tuple(() for _ in twins), adds=())
    gone = [(spot, dice.choice(("", "skip_superseded", "skip_guard"))) for spot in overdue if dice.randint(0, 3)]
    old = 1 if dice.randint(0, 5) == 0 else 0  # somebody looked since it was read
    words = {"code": "superseded", "detail": '{"late": 1}', "checks": "[1]"}
    passed = tuple(
        tuple(
            Passed(occurrence_id=twin.rows[spot].id, fence=twin.rows[spot].fence - old, verdict=verdict, **words)
            for spot, verdict in gone
        )
        for twin in twins
    )
    return Leaving(passed=passed, adds=_draw_moments(dice, now, twins[0].store, job, is_step=is_step))


def _draw_moments(
    dice: random.Random, now: Micros, store: Store, job: str, *, is_step: bool
) -> tuple[NewOccurrence, ...]:
    adds = [
        draw_row(dice, now, store, job=job, origin=Origin.SCHEDULE, claim=False, again=False, worker="")
        for _ in range(dice.randint(0, 2))
    ]
    if dice.choice((True, False)):
        begin = now - SECOND * dice.choice((90, 60, 30))
        adds.append(
            draw_row(
                dice,
                now,
                store,
                job=job,
                later=True,
                worker="",
                identity=f"g:{begin}",
                scheduled_for=begin,
                due_at=None,
                state=State.SKIPPED,
                verdict="skip_superseded",
                code="passed_over",
                range_until=begin + 20 * SECOND,
                range_count=dice.randint(2, 9),
            )
        )
    if is_step and dice.choice((True, False)):
        adds.append(draw_row(dice, now, store, job=job, later=True, frontier=True, worker=""))
    return tuple(adds)


def failing(row: Occurrence) -> dict[str, Any]:
    """Return what leaves a row to a person, with the alert that says so."""
    is_run = row.state is State.RUNNING
    alert = AlertWrite(
        job=row.job, kind="failing" if is_run else "missed", level=3, code="x", occurrence_id=ABOUT_ITS_ROW
    )
    event, verdict = (Event.FAIL_MANUAL, "should_run") if is_run else (Event.MISS, "skip_window")
    return {"event": event, "verdict": verdict, "alerts": (alert,), "detail": '{"error": "x"}'}


def of_row(alert: AlertWrite, row_id: int) -> AlertWrite:
    """Return a drawn alert as it is about the row of one store."""
    return alert if alert.occurrence_id is None else replace(alert, occurrence_id=row_id)


def held_until(due_at: Micros) -> dict[str, Any]:
    """Return what a look says that holds a row for a rollback."""
    return {"event": Event.PARK, "due_at": due_at, "code": "held_rollback", "verdict": "skip_lease"}


def draw_release(dice: random.Random, store: Store, job: str | None = None) -> Act:
    """Draw a release by what a person was shown: most often all that there is, at times less of it."""
    epochs = rollback.epochs_of(store.facts([rollback.FACT])[rollback.FACT].value)
    named = tuple((number, until - dice.choice((0, 0, 0, 1))) for number, until in releasing.shown(epochs))
    return Act(kind="release", actor="ada", reason="why", job=job, epochs=named[dice.choice((0, 0, 0, 1)) :])


def draw_outcome(dice: random.Random, now: Micros, store: Store, row: Occurrence) -> dict[str, Any]:
    """Draw what a worker says about a row."""
    fitting = [event for event in Event if next_state(row.state, event) is not None and event not in A_PERSONS]
    event = dice.choice(fitting or [Event.SUCCEED])
    job = store.jobs([row.job])[0] if row.job in JOBS else None
    seen = dice.sample((*FLAGS, f"pause:{row.job}", *SLOTS[1:]), dice.randint(0, 2))
    versions: dict[str, int] = {name: store.facts([name])[name].version for name in seen}
    if versions and dice.randint(0, 3) == 0:
        versions[seen[0]] += 1
    verdicts = {
        Event.SKIP: ("skip_guard", "skip_duplicated", "skip_superseded"),
        Event.PARK: ("skip_dep",),
        Event.MISS: ("skip_window",),
    }
    adds = [draw_row(dice, now, store)] if dice.choice((False, False, True)) else []
    if dice.choice((True, False)):
        frontier = {"job": row.job, "subject": row.subject, "worker": row.worker, "frontier": True}
        adds.append(
            draw_row(dice, now, store, later=True, **frontier) if row.job in JOBS else draw_row(dice, now, store)
        )
    alert = AlertWrite(
        job=row.job,
        kind="missed" if event is Event.MISS else dice.choice(("failing", "failing", "missed")),
        level=3 if event in (Event.MISS, Event.FAIL_MANUAL) else dice.randint(1, 3),
        code="x",
        detail={"owner": 'ada "of" \\'},
        occurrence_id=dice.choice((ABOUT_ITS_ROW, ABOUT_ITS_ROW, ABOUT_ITS_ROW, None)),
        clear=event is Event.SUCCEED,
    )
    return {
        "event": event,
        "due_at": now + SECOND * dice.choice((0, 5, 30)),
        "lease": LEASE,
        "gates": Gates(
            revision=(job.revision if job else 0) - dice.choice((0, 0, 0, 1)),
            pause_version=job.pause_version if job else 0,
            facts=versions,
            slot=dice.choice(SLOTS),
            ignore_window=dice.choice((False, False, True)),
        ),
        "verdict": dice.choice(verdicts.get(event, ("",))),
        "code": str(event),
        "adds": tuple(adds),
        "facts": (FactWrite(name=FLAGS[2], value=dice.randint(1, 2)),) if event is Event.SUCCEED else (),
        "alerts": (alert,) if dice.choice((True, False)) else (),
        "error": "boom" if event in (Event.FAIL_RETRY, Event.FAIL_MANUAL) else None,
        "result": "1" if event is Event.SUCCEED else None,
    }
