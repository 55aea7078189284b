"""Bugs of stores: fences, leases, keys, slots, facts, acts, and what is recorded.

Rule of the file: each one is what somebody might really write, or leave out, in one verb of a store; it is planted in the
memory store, which the simulated cluster is made of.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from noonmark.core import lifecycle
from noonmark.core.model import DAY, MINUTE, SECOND, Event, Settled, State
from noonmark.sim import faults as f
from noonmark.sim.mutants.plant import Anything, Mutant, Needs, Planter
from noonmark.stores.memory import acting, activating, settling, tables, taking
from noonmark.stores.memory.store import MemoryStore
from noonmark.stores.memory.tables import Tables

_STARTS = frozenset({Event.START, Event.TAKEOVER})


def _settle_whatever_its_fence(planter: Planter) -> None:
    def make(settle: Anything) -> Anything:
        def whatever(them: Tables, worker: str, item: Any, now: int) -> Any:
            row = them.rows.get(item.occurrence_id)
            if row is not None and row.fence != item.fence:
                them.change(row.id, holder=row.holder or worker)
                item = replace(item, fence=row.fence)
            return settle(them, worker, item, now)

        return whatever

    planter.around(settling, "settle", make)


def _same_fence_again(planter: Planter) -> None:
    def make(lease: Anything) -> Anything:
        def again(them: Tables, row: Any, *args: Any) -> Any:
            leased = lease(them, row, *args)
            return them.change(row.id, fence=row.fence) if row.fence else leased

        return again

    planter.around(taking, "_lease", make)


def _take_what_is_held(planter: Planter) -> None:
    def make(due: Anything) -> Anything:
        def greedy(them: Tables, worker: str, limit: int, now: int) -> Any:
            found = due(them, worker, limit, now)
            if found or not limit:
                return found
            return [row for row in them.open_rows() if row.holder and 0 < (row.due_at or 0) - now < 12 * SECOND][:1]

        return greedy

    planter.around(taking, "_due", make)


def _take_early(planter: Planter) -> None:
    planter.around(
        taking, "_due", lambda due: lambda them, worker, limit, now: due(them, worker, limit, now + 2 * SECOND)
    )


def _take_only_our_own(planter: Planter) -> None:
    def make(due: Anything) -> Anything:
        def own(them: Tables, worker: str, limit: int, now: int) -> Any:
            return [row for row in due(them, worker, limit, now) if row.holder in ("", worker)]

        return own

    planter.around(taking, "_due", make)


def _recover_late(planter: Planter) -> None:
    def make(due: Anything) -> Anything:
        def late(them: Tables, worker: str, limit: int, now: int) -> Any:
            return [row for row in due(them, worker, limit, now) if not row.holder or row.due_at + MINUTE < now]

        return late

    planter.around(taking, "_due", make)


def _take_for_good(planter: Planter) -> None:
    """As ``ZREM`` does: what is taken is gone from the due index, and with it whatever its taker does not finish."""
    planter.around(
        taking, "_look", lambda look: lambda them, row, worker, _, now: look(them, row, worker, 30 * DAY, now)
    )


def _anybodys_rows(planter: Planter) -> None:
    planter.put(taking, "_is_for", lambda _row, _worker: True)


def _keep_rows_of_the_gone(planter: Planter) -> None:
    planter.put(taking, "_bury_workers", lambda _tables, _now: None)


def _count_no_attempts(planter: Planter) -> None:
    def make(begin: Anything) -> Anything:
        def uncounted(them: Tables, row: Any, now: int) -> Any:
            begun = begin(them, row, now)
            return them.change(row.id, attempt=max(1, begun.attempt - 1))

        return uncounted

    planter.around(taking, "begin_run", make)
    planter.around(settling, "begin_run", make)


def _count_no_losses(planter: Planter) -> None:
    def make(lease: Anything) -> Anything:
        def uncounted(them: Tables, row: Any, *args: Any) -> Any:
            lease(them, row, *args)
            return them.change(row.id, takeovers=row.takeovers)

        return uncounted

    planter.around(taking, "_lease", make)


def _renew_whatever_its_fence(planter: Planter) -> None:
    def holds(store: Any, worker: str, row_id: int, fence: int) -> bool:
        del worker, fence
        row = store._tables.rows.get(row_id)
        return row is not None and row.state is State.RUNNING

    planter.put(MemoryStore, "_holds", holds)


def _forget_requests(planter: Planter) -> None:
    def make(once: Anything) -> Anything:
        def forgetful(store: Any, *args: Any) -> Any:
            store._answers.clear()
            return once(store, *args)

        return forgetful

    planter.around(MemoryStore, "_once", make)


def _lose_added_rows(planter: Planter) -> None:
    def make(add: Anything) -> Anything:
        def lossy(store: Any, request_id: str, rows: Any, **at: Any) -> Any:
            answer = add(store, request_id, rows, **at)
            for added in answer:
                if added.id % 7 == 0 and added.id in store._tables.open_ids:
                    row = store._tables.rows.pop(added.id)
                    del store._tables.open_ids[added.id]
                    store._tables.claims.pop(row.key, None)
                    store._tables.by_identity.pop((row.job, row.subject, row.identity))
            return answer

        return lossy

    planter.around(MemoryStore, "add", make)


def _compare_no_gates(planter: Planter) -> None:
    planter.put(settling, "_refusal", lambda *_: None)


def _ask_for_no_slot(planter: Planter) -> None:
    def make(settle: Anything) -> Anything:
        def slotless(them: Tables, worker: str, item: Any, now: int) -> Any:
            if item.event in _STARTS:
                item = replace(item, gates=replace(item.gates, slot=""))
            return settle(them, worker, item, now)

        return slotless

    planter.around(settling, "settle", make)


def _start_and_record_nothing(planter: Planter) -> None:
    def make(apply: Anything) -> Anything:
        def unrecorded(them: Tables, row: Any, item: Any, event: Event, *rest: Any) -> Any:
            if event is Event.START:
                until = rest[-1] + item.lease
                return Settled(outcome="applied", fence=item.fence, lease_until=until, state=State.RUNNING)
            return apply(them, row, item, event, *rest)

        return unrecorded

    planter.around(settling, "_apply", make)


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
    planter.put(Tables, "alert", lambda *_: None)


def _record_no_ends(planter: Planter) -> None:
    planter.put(Tables, "end_attempt", lambda *_: None)


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


_ASKED = Needs(jobs=("asked",))
STORE_MUTANTS: tuple[Mutant, ...] = (
    Mutant(
        name="an outcome is accepted whatever its fence",
        plant=_settle_whatever_its_fence,
        seen_in="docket, pgqueuer, procrastinate, APScheduler 4",
        needs=Needs(faults=(f.Pause,), replicas=2),
    ),
    Mutant(name="a fence is issued twice", plant=_same_fence_again, needs=Needs(faults=(f.Crash,))),
    Mutant(name="what is held is taken", plant=_take_what_is_held, needs=Needs(replicas=2)),
    Mutant(name="rows are taken two seconds early", plant=_take_early),
    Mutant(
        name="only its own worker recovers a run",
        plant=_take_only_our_own,
        seen_in="DBOS without Conductor",
        needs=Needs(faults=(f.Crash,)),
    ),
    Mutant(
        name="lost runs are looked for a minute late",
        plant=_recover_late,
        seen_in="kombu",
        needs=Needs(faults=(f.Crash,), any_job=("careful", "poison", "locked", "minutely")),
    ),
    Mutant(
        name="what is taken is removed, as by ZREM",
        plant=_take_for_good,
        seen_in="the source document",
        needs=Needs(faults=(f.Crash,)),
    ),
    Mutant(name="a worker's own rows are anybody's", plant=_anybodys_rows, needs=Needs(jobs=("metrics",), replicas=2)),
    Mutant(
        name="rows of workers that are gone stay",
        plant=_keep_rows_of_the_gone,
        needs=Needs(jobs=("metrics",), faults=(f.Crash,)),
    ),
    Mutant(name="attempts are not counted", plant=_count_no_attempts, needs=Needs(any_job=("minutely", "hanging"))),
    Mutant(name="lost runs are not counted", plant=_count_no_losses, needs=Needs(jobs=("poison",), deeds=("later",))),
    Mutant(
        name="a renewal extends a lease granted anew to another",
        plant=_renew_whatever_its_fence,
        seen_in="locks without a token",
        needs=Needs(faults=(f.Pause,), replicas=2),
    ),
    Mutant(name="request ids are forgotten", plant=_forget_requests, needs=Needs(faults=(f.Flaky,))),
    Mutant(name="some of what was acknowledged is lost", plant=_lose_added_rows, needs=_ASKED),
    Mutant(name="a start compares nothing of what was seen", plant=_compare_no_gates, needs=Needs(replicas=3)),
    Mutant(
        name="a start asks for no slot",
        plant=_ask_for_no_slot,
        needs=Needs(any_job=("minutely", "channels", "locked"), faults=(f.Pause,)),
    ),
    Mutant(
        name="a start is answered, and not recorded",
        plant=_start_and_record_nothing,
        seen_in="claim after start",
    ),
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
    Mutant(name="alerts are not raised", plant=_lose_alerts, needs=Needs(any_job=("careful", "hourly", "windowed"))),
    Mutant(
        name="ends of attempts are not recorded", plant=_record_no_ends, needs=Needs(any_job=("minutely", "hanging"))
    ),
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
    Mutant(name="a cancel ends a success", plant=_cancel_a_success, needs=Needs(jobs=("asked",), deeds=("cancel",))),
)
