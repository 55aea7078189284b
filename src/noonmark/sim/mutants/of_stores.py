"""Bugs of stores: taking, settling and renewing; fences and leases.

Rule of the file: each one is what somebody might really write, or leave out, in one verb of a store; it is planted in the
memory store, which the simulated cluster is made of.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from noonmark.core.model import DAY, MINUTE, SECOND, Event, Settled, State
from noonmark.sim import faults as f
from noonmark.sim.mutants.plant import Anything, Mutant, Needs, Planter
from noonmark.stores.memory import settling, taking
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
    Mutant(name="some of what was acknowledged is lost", plant=_lose_added_rows, needs=Needs(jobs=("asked",))),
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
)
