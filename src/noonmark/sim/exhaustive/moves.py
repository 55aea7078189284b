"""What may happen next, and what comes of it.

Rule of the file: everything that can happen stands in ``moves``; ``apply`` carries one out on the bench and returns the
next state with the calls that reached the store.  A replica that is paused is one that does not move while time goes on.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from noonmark.core.codec import rule_text
from noonmark.core.model import Act, Fact, Micros, Origin
from noonmark.core.series import row_for_call
from noonmark.engine import mending
from noonmark.sim.exhaustive.canon import fingerprint
from noonmark.sim.exhaustive.chains import ASKS_AGAIN, COMING_BACK, seen, serving_name
from noonmark.sim.exhaustive.replay import Bench, Did, Exchange
from noonmark.sim.exhaustive.scenes import FLAG, Scene, restarted
from noonmark.sim.exhaustive.state import Entry, Held, Kept, Replica, State, Task

Move: TypeAlias = tuple[str, int, int]
"""What, by which replica (-1: nobody's), about which occurrence (0: none)."""
AWAY: Micros = 1_000
"""For so long nobody serves the store that comes back older: no two servers grant a lease in one microsecond."""
WRITES = frozenset({"take", "settle"})
"""Calls whose lost reply matters; a read that got lost is a read that came later."""


@dataclass(frozen=True, slots=True)
class Step:
    """A move that was made: the state after it, the calls that reached the store, and what the engine choked on."""

    state: State
    calls: list[Exchange]
    error: str = ""


def moves(scene: Scene, state: State) -> list[Move]:
    """Return everything that may happen in this state."""
    found: list[Move] = []
    for replica in state.replicas:
        if replica.is_alive:
            found += _of_replica(scene, state, replica)
        else:
            found.append(("restart", replica.number, 0))
    found += _of_people(state)
    found += _of_store(state)
    found += _of_time(state)
    return found


def _of_replica(scene: Scene, state: State, replica: Replica) -> Iterator[Move]:
    number, may_lose, may_wait = replica.number, state.left.get("lose", 0) > 0, state.left.get("late", 0) > 0
    if replica.taking is not None:
        yield ("go", number, 0)
        if may_wait and not replica.taking.is_late:
            yield ("go-late", number, 0)
        if may_lose and replica.taking.pending in WRITES:
            yield ("go-lost", number, 0)
    elif scene.slots > len(replica.runs) and may_take(state, replica):
        yield ("take", number, 0)
        if may_lose:
            yield ("take-lost", number, 0)
    if replica.settling is not None:
        yield ("settle", number, 0)
    elif not (scene.forgets and replica.taking is not None):
        for run in replica.runs:
            if run.has_ended:
                continue
            yield ("ok", number, run.row.id)
            if may_lose:
                yield ("ok-lost", number, run.row.id)
            if state.left.get("fail", 0) > 0 or run.stop_reason:
                yield ("fail", number, run.row.id)
    if any(may_renew(run, state.now) for run in replica.runs):
        yield ("renew", number, 0)
        if may_lose:
            yield ("renew-lost", number, 0)
    if any(is_over(run, state.now) for run in replica.runs):
        yield ("watch", number, 0)
    if state.left.get("crash", 0) > 0:
        yield ("crash", number, 0)


def _of_people(state: State) -> Iterator[Move]:
    left = state.left
    if state.person is not None:
        yield ("person", -1, 0)
    elif left.get("edit", 0) > 0:
        yield ("edit", -1, 0)
    is_set = state.tables.facts.get(f"flag:{FLAG}", Fact(name="")).is_set
    if left.get("set", 0) > 0 and not is_set:
        yield ("set", -1, 0)
    if left.get("clear", 0) > 0 and is_set:
        yield ("clear", -1, 0)
    if left.get("cancel", 0) > 0:
        yield ("cancel", -1, max(state.tables.rows))
    if left.get("pause", 0) > 0:
        yield ("pause", -1, 0)
    if any(job.paused for job in state.tables.jobs.values()):
        yield ("resume", -1, 0)
    if left.get("add", 0) > 0:
        yield ("add", -1, 0)


def _of_store(state: State) -> Iterator[Move]:
    if state.left.get("copy", 0) > 0:
        yield ("copy", -1, 0)
    if state.left.get("forget", 0) > 0:
        yield ("forget", -1, 0)
    if is_something_held(state):
        yield ("release", -1, 0)


def _of_time(state: State) -> Iterator[Move]:
    upcoming = next_moment(state)
    if upcoming is not None:
        yield ("wait", -1, 0)
        if next_due(state) not in (upcoming, None):
            yield ("sleep", -1, 0)


def is_something_due(state: State) -> bool:
    """True when a take would find something."""
    rows = state.tables.rows
    dues = [rows[row_id].due_at for row_id in state.tables.open_ids]
    return bool(state.tables.wakes) or any(due is not None and due <= state.now for due in dues)


def may_take(state: State, replica: Replica) -> bool:
    """True when a take would find something, and this replica is not waiting for what it has just asked about."""
    if replica.chain is not None and replica.settling is not None:
        return False
    return is_something_due(state) and state.now >= (_asks_again_at(state, replica) or 0)


def _asks_again_at(state: State, replica: Replica) -> Micros | None:
    """Return when a replica that waits for others to prove themselves looks again, None where it does not wait."""
    chain = replica.chain
    if chain is None or not chain.awaits or not chain.asked_at or chain.identity != serving_name(state.forgotten):
        return None
    return chain.asked_at + ASKS_AGAIN


def is_something_held(state: State) -> bool:
    """True when a person is waited for to say what may run again."""
    rows = (state.tables.rows[row_id] for row_id in state.tables.open_ids)
    return any(row.code == "held_rollback" and not row.holder for row in rows)


def may_renew(run: Held, now: Micros) -> bool:
    """True when the keeper would renew it now."""
    return run.renew_at <= now and not run.stop_reason


def is_over(run: Held, now: Micros) -> bool:
    """True when the watch would tell it to stop now."""
    return now >= run.trust_until and not run.stop_reason


def next_due(state: State) -> Micros | None:
    """Return the next moment at which a row becomes due, after now."""
    rows = state.tables.rows
    dues = [due for row_id in state.tables.open_ids if (due := rows[row_id].due_at) is not None and due > state.now]
    return min(dues, default=None)


def next_moment(state: State) -> Micros | None:
    """Return the next moment at which anything changes by itself, after now."""
    due = next_due(state)
    moments = [] if due is None else [due]
    for replica in state.replicas:
        again = _asks_again_at(state, replica)
        moments += [] if again is None else [again]
        for run in replica.runs:
            if not run.stop_reason:
                moments += [run.renew_at, run.trust_until]
    if state.past is not None and state.past.first_proof_at is not None:
        moments.append(state.past.first_proof_at + COMING_BACK)
    for row_id in state.tables.open_ids:
        row = state.tables.rows[row_id]
        if row.expires_at is not None and row.first_started_at is None:
            moments.append(row.expires_at + 1)
    return min((moment for moment in moments if moment > state.now), default=None)


# --- carrying one out -------------------------------------------------------------------------------


def apply(bench: Bench, scene: Scene, state: State, move: Move) -> Step:
    """Make a move."""
    step = _apply(bench, scene, state, move)
    if state.past is None or step.state.past is not state.past:
        return step
    keys = {row.id: row.key for row in state.tables.rows.values()}
    past = seen(state.past, step.calls, keys, step.state.now)
    return step if past == state.past else replace(step, state=replace(step.state, past=past))


def _apply(bench: Bench, scene: Scene, state: State, move: Move) -> Step:
    kind, number, about = move
    if kind in ("copy", "forget"):
        return Step(_copied(scene, state) if kind == "copy" else _forgot(state), [])
    if kind in ("wait", "sleep"):
        moment = next_moment(state) if kind == "wait" else next_due(state)
        assert moment is not None
        return Step(replace(state, now=moment, steps=state.steps + 1), [])
    if kind == "restart":
        return Step(restarted(bench, state, number), [])
    bench.load(state)
    if kind == "crash":
        dead = Replica(number=number, incarnation=state.replicas[number].incarnation, is_alive=False)
        return Step(_pruned(bench.unload(state, replicas=_with(state, dead), left=_less(state, "crash"))), [])
    if number < 0:
        return _people(bench, scene, state, kind, about)
    try:
        return _replica(bench, state, state.replicas[number], kind, about)
    except Exception as error:  # the engine would log it and go on; here it is a finding
        return Step(state, [], f"{type(error).__name__}: {error}")


def _replica(bench: Bench, state: State, replica: Replica, kind: str, about: int) -> Step:
    kind, _, fault = kind.partition("-")
    left = _less(state, {"lost": "lose", "late": "late"}[fault]) if fault else state.left
    if kind == "watch":
        return Step(bench.unload(state, replicas=_with(state, bench.watch(replica))), [])
    if kind == "renew":
        did = bench.keep(replica, fault=fault)
        return Step(bench.unload(state, replicas=_with(state, did.replica), left=left), did.calls)
    if kind in ("take", "go"):
        task = replica.taking or Task(
            kind="round",
            name=f"{replica.name}/t{state.steps}",
            began_at=state.now,
            rules=replica.rules,
            version=replica.version,
            free=bench.slots - len(replica.runs),
        )
        did = bench.go(replica, task, fault=fault)
        return _after(bench, state, replace(did.replica, taking=did.task), did, left)
    if kind == "settle":
        assert replica.settling is not None
        did = bench.go(replica, replica.settling, fault=fault)
        return _after(bench, state, replace(did.replica, settling=did.task), did, left)
    run = next(each for each in replica.runs if each.row.id == about and not each.has_ended)
    if kind == "fail" and not run.stop_reason:
        left = {**left, "fail": left["fail"] - 1}
    task = Task(
        kind="record",
        name=f"{replica.name}/s{state.steps}",
        began_at=state.now,
        rules=replica.rules,
        version=replica.version,
        run=run,
        ok=kind == "ok",
    )
    ended = replace(run, has_ended=True)
    replica = replace(replica, runs=tuple(ended if each is run else each for each in replica.runs))
    did = bench.go(replica, task, fault=fault)
    return _after(bench, state, replace(did.replica, settling=did.task), did, left)


def _after(bench: Bench, state: State, replica: Replica, did: Did, left: Any) -> Step:
    return Step(_pruned(bench.unload(state, replicas=_with(state, replica), left=left)), did.calls)


def _people(bench: Bench, scene: Scene, state: State, kind: str, about: int) -> Step:
    request = f"person{state.steps}"
    if kind in ("edit", "person"):
        job = scene.jobs[-state.left["edit"]] if kind == "edit" else None
        task = state.person
        if task is None:
            assert job is not None
            row = replace(next(iter(state.tables.jobs.values())), rule=rule_text(job))
            task = Task(kind="edit", name=request, began_at=state.now, rules=(row,))
        did = bench.go(state.replicas[0], task)
        left = _less(state, "edit") if kind == "edit" else state.left
        return Step(_pruned(bench.unload(state, person=did.task, left=left)), did.calls)
    if kind == "release":
        assert state.past is not None
        done = mending.release(bench.store, iter(f"{request}.{n}" for n in range(99)).__next__, actor="ann", reason="x")
        is_over = done is not None and not done.left
        let_go = state.past.let_go | {row.key for row in bench.store._tables.rows.values() if row.code == "released"}
        past = replace(state.past, is_released=state.past.is_released or is_over, let_go=let_go)
        return Step(_pruned(bench.unload(state, past=past)), [])
    left = state.left if kind == "resume" else _less(state, kind)
    if kind in ("set", "clear"):
        args: tuple[Any, ...] = (request, [Fact(name=f"flag:{FLAG}", value=True if kind == "set" else None)])
        verb = "signal"
    elif kind == "add":
        job = scene.jobs[0]
        args, verb = (
            (
                request,
                [
                    row_for_call(
                        job,
                        request_id=f"add{state.left['add']}",
                        due_at=state.now,
                        params={},
                        key=scene.calls[0][2],
                        revision=state.tables.jobs[job.name].revision,
                        now=state.now,
                        origin=Origin.LATER if state.left["add"] % 2 else Origin.MANUAL,
                    )
                ],
            ),
            "add",
        )
    else:
        wish = (
            Act(kind="cancel", actor="ann", occurrence_id=about)
            if kind == "cancel"
            else Act(kind=kind, actor="ann", job=scene.jobs[0].name)
        )
        args, verb = (request, wish), "act"
    answer = bench.perform(verb, args, {})
    return Step(_pruned(bench.unload(state, left=left)), [Exchange(verb, args, answer, request)])


def _copied(scene: Scene, state: State) -> State:
    kept = Kept(tables=state.tables, at=state.now, mark=fingerprint(state, scene.moments()))
    return replace(state, kept=kept, left=_less(state, "copy"), steps=state.steps + 1)


def _forgot(state: State) -> State:
    """Let the store be what it was; who remembers more than it does is told nothing."""
    assert state.kept is not None
    assert state.past is not None
    now = state.now + AWAY
    return replace(
        state,
        now=now,
        tables=state.kept.tables,
        answers={},
        forgotten=state.forgotten + 1,
        past=replace(state.past, forgotten_at=now),
        left=_less(state, "forget"),
        steps=state.steps + 1,
    )


def _with(state: State, replica: Replica) -> tuple[Replica, ...]:
    return tuple(replica if each.number == replica.number else each for each in state.replicas)


def _less(state: State, what: str) -> dict[str, int]:
    return {**state.left, what: state.left[what] - 1}


def _pruned(state: State) -> State:
    """Forget the answers that nobody can ask for again: those of every call but a lost one that will be repeated."""
    if not state.answers:
        return state
    wanted = {(entry.verb, entry.request) for entry in _lost(state)}
    return replace(state, answers={key: state.answers[key] for key in wanted if key in state.answers})


def _lost(state: State) -> Iterator[Entry]:
    for replica in state.replicas:
        for task in (replica.taking, replica.settling):
            if task is not None and task.log and task.log[-1].lost:
                yield task.log[-1]
