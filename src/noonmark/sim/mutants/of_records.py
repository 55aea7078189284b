"""Bugs of stores: frontiers, slots, keys, facts, and what is recorded.

Rule of the file: as in ``of_stores``.
"""

from __future__ import annotations

from typing import Any

from noonmark.core import escalate
from noonmark.core.model import Event, changed
from noonmark.sim import faults as f
from noonmark.sim.mutants.plant import Anything, Mutant, Needs, Planter, queues
from noonmark.stores.memory import activating, alerts, settling, tables
from noonmark.stores.memory.tables import Tables


def _keep_the_frontier_flag(planter: Planter) -> None:
    planter.put(settling, "_passes_on", lambda _row, _item: False)


def _lose_the_successor(planter: Planter) -> None:
    def make(add: Anything) -> Anything:
        def lossy(them: Tables, row: Any, item: Any, new: Any, now: int) -> None:
            if not new.frontier or row.id % 5:
                add(them, row, item, new, now)

        return lossy

    planter.around(settling, "_add", make)


def _count_a_hand_back(planter: Planter) -> None:
    def make(finish: Anything) -> Anything:
        def counted(them: Tables, row: Any, item: Any, *rest: Any) -> None:
            finish(them, row, item, *rest)
            if item.event is Event.HAND_BACK:
                them.change(row.id, attempt=row.attempt)

        return counted

    planter.around(settling, "_finish", make)


def _leave_rows_of_old_rules(planter: Planter) -> None:
    planter.put(activating, "meet", lambda *_, **__: None)


def _hand_slots_to_the_youngest(planter: Planter) -> None:
    def pass_on(them: Tables, now: int) -> None:
        for name in sorted(them.freed - set(them.slots)):
            waiting = [them.rows[row_id] for row_id in them.waits.get(name, {}) if not them.rows[row_id].holder]
            if waiting:
                row = max(waiting, key=lambda row: (row.scheduled_for, row.id))
                them.stop_waiting(row.id)
                them.slots[name] = (row.id, now)
                them.change(row.id, due_at=now)
        them.freed.clear()

    planter.put(Tables, "pass_slots_on", pass_on)


def _free_no_slot(planter: Planter) -> None:
    def make(end: Anything) -> Anything:
        def greedy(them: Tables, row_id: int, *args: Any, **fields: Any) -> Any:
            before = dict(them.slots)
            row = end(them, row_id, *args, **fields)
            them.slots.update(before)
            return row

        return greedy

    planter.around(Tables, "end", make)


def _prune_keys(planter: Planter) -> None:
    def make(claim: Anything) -> Anything:
        def forgetful(them: Tables, row: Any, **again: Any) -> Any:
            holder = claim(them, row, **again)
            for key in list(them.claims)[:-2]:
                del them.claims[key]
            return holder

        return forgetful

    planter.around(Tables, "claim", make)
    planter.put(Tables, "release_key", lambda them, row: them.change(row.id, claimed=False))


def _yield_every_key(planter: Planter) -> None:
    planter.put(tables, "_gives_way", lambda *_, **__: True)


def _take_every_delivery(planter: Planter) -> None:
    def make(known: Anything) -> Anything:
        return lambda them, new: None if new.identity.startswith("e:") else known(them, new)

    planter.around(Tables, "known", make)


def _wake_nobody(planter: Planter) -> None:
    def make(set_fact: Anything) -> Anything:
        def silent(them: Tables, write: Any, now: int) -> Any:
            version = set_fact(them, write, now)
            them.wakes.pop(write.name, None)
            return version

        return silent

    planter.around(Tables, "set_fact", make)


def _wait_for_nothing(planter: Planter) -> None:
    planter.put(Tables, "wait", lambda *_: None)


def _lose_alerts(planter: Planter) -> None:
    planter.put(alerts, "write", lambda *_: None)


def _close_for_anybody(planter: Planter) -> None:
    planter.put(escalate, "is_kept", lambda *_: False)


def _close_no_alerts(planter: Planter) -> None:
    planter.put(alerts, "close", lambda *_: None)


def _go_on_to_nobody(planter: Planter) -> None:
    planter.put(alerts, "_closed", lambda _, alert, now: changed(alert, updated_at=now, closed_at=now))


def _record_no_ends(planter: Planter) -> None:
    planter.put(Tables, "end_attempt", lambda *_: None)


_ASKED = Needs(jobs=("asked",))
_ALARMED = Needs(any_job=("careful", "hourly", "windowed"))
_DEALT_WITH = Needs(any_job=("careful", "hanging"), deeds=("mark",))
RECORD_MUTANTS: tuple[Mutant, ...] = (
    Mutant(name="a frontier hands over and stays one", plant=_keep_the_frontier_flag),
    Mutant(name="a look loses the successor", plant=_lose_the_successor),
    Mutant(
        name="a run that is handed back counts as an attempt",
        plant=_count_a_hand_back,
        needs=Needs(faults=(f.Stop,), when=lambda plan: sum(isinstance(each, f.Stop) for each in plan.faults) > 2),
    ),
    Mutant(
        name="an edit leaves the moments of the rule before",
        plant=_leave_rows_of_old_rules,
        needs=Needs(any_job=("minutely", "tick", "channels"), deeds=("edit",)),
    ),
    Mutant(
        name="the youngest that waits for a slot has it first",
        plant=_hand_slots_to_the_youngest,
        needs=Needs(jobs=("tick",), faults=(f.CrashAll,), when=queues),
    ),
    Mutant(name="a slot is never freed", plant=_free_no_slot, needs=Needs(any_job=("minutely", "channels"))),
    Mutant(
        name="keys are pruned to the newest",
        plant=_prune_keys,
        seen_in="procrastinate",
        needs=Needs(jobs=("asked",), deeds=("cancel", "later")),
    ),
    Mutant(name="a key yields to everybody", plant=_yield_every_key, needs=_ASKED),
    Mutant(name="each delivery of an event is a row", plant=_take_every_delivery, needs=Needs(jobs=("digest",))),
    Mutant(name="a signal wakes nobody", plant=_wake_nobody, needs=Needs(jobs=("daily",), deeds=("flag",))),
    Mutant(
        name="a parked row waits for nothing", plant=_wait_for_nothing, needs=Needs(jobs=("daily",), deeds=("flag",))
    ),
    Mutant(name="alerts are not raised", plant=_lose_alerts, needs=_ALARMED),
    Mutant(name="an urgent alert closes with any success", plant=_close_for_anybody, needs=_ALARMED),
    Mutant(name="an alert stays open about what was dealt with", plant=_close_no_alerts, needs=_DEALT_WITH),
    Mutant(name="an urgent alert forgets who else waits", plant=_go_on_to_nobody, needs=_DEALT_WITH),
    Mutant(
        name="ends of attempts are not recorded", plant=_record_no_ends, needs=Needs(any_job=("minutely", "hanging"))
    ),
)
