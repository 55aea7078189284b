"""A trace as people read it: one line per step, with what came of it.

Rule of the file: words only.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from noonmark.core.model import Occurrence
from noonmark.sim.exhaustive.moves import Move
from noonmark.sim.exhaustive.scenes import START, Scene
from noonmark.sim.exhaustive.search import Told, follow
from noonmark.sim.exhaustive.state import State

WORDS = {
    "take": "takes what is due",
    "go": "goes on",
    "settle": "says again how its run ended",
    "ok": "ends its run of r{} well",
    "fail": "fails its run of r{}",
    "renew": "renews its leases",
    "watch": "notices that its trust is over and stops its run",
    "crash": "is killed",
    "restart": "begins anew",
    "set": "the flag is set",
    "clear": "the flag is cleared",
    "cancel": "somebody cancels r{}",
    "edit": "somebody begins to change the rule",
    "person": "the change of the rule goes on",
    "pause": "somebody pauses the job",
    "resume": "somebody lets the job go on",
    "add": "somebody asks for the same key once more",
    "copy": "somebody copies the store",
    "forget": "the store comes back as it was when it was copied",
    "release": "a person lets go what is held",
    "wait": "time goes on to the next moment",
    "sleep": "time goes on to the next due moment",
}


def story(scene: Scene, way: Sequence[Move]) -> list[str]:
    """Return the lines of a trace, from the beginning to what it breaks."""
    told = follow(scene, way)
    lines = [f"scene {scene.name}: {scene.about}"]
    if told:
        lines += [f"          {_row(row, told[0].before)}" for row in told[0].before.tables.rows.values()]
    for each in told:
        lines += _lines(each)
    lines.append(f"moves = {[tuple(move) for move in way]}")
    return lines


def _lines(told: Told) -> Iterator[str]:
    kind, number, about = told.move
    kind, _, fault = kind.partition("-")
    who = "AB"[number] + " " if number >= 0 else ""
    calls = f"  [{', '.join(told.calls)}]" if told.calls else ""
    lost = {"lost": ", and the reply is lost", "late": ", and is stopped when the answer comes", "": ""}[fault]
    yield f"{(told.after.now - START) / 1e6:8.2f}s  {who}{WORDS[kind].format(about)}{lost}{calls}"
    before = told.before.tables.rows
    for row in told.after.tables.rows.values():
        if before.get(row.id) is not row:
            yield f"          {_row(row, told.after)}"
    for said in told.broken:
        yield f"      !!  {said}"


def _row(row: Occurrence, state: State) -> str:
    names = {replica.name: "AB"[replica.number] for replica in state.replicas if replica.is_alive}
    holder = (
        f", {'looked at' if row.looking else 'held'} by {names.get(row.holder, 'one that is gone')}"
        if row.holder
        else ""
    )
    due = f", due {(row.due_at - START) / 1e6:.2f}s" if row.due_at is not None else ""
    code = f" ({row.code})" if row.code else ""
    flags = "".join(f", {name}" for name in ("frontier", "cancel_requested") if getattr(row, name))
    return (
        f"r{row.id} {row.state}{code}{due}{holder}, attempt {row.attempt}, fence {(row.fence - START) / 1e6:.2f}{flags}"
        if row.fence
        else (f"r{row.id} {row.state}{code}{due}{flags}")
    )
