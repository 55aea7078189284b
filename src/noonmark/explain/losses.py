"""How a run lost its worker, as far as anybody can know it.

Rule of the file: "gone" needs a heartbeat that ended or a kernel that says so, "lived on" a heartbeat after the lease;
between the two nobody knows, and that is what is said.
"""

from __future__ import annotations

from noonmark.core.model import SECOND, Attempt, Micros
from noonmark.explain.explanation import Scene
from noonmark.explain.outages import Outage

LEASE: Micros = 30 * SECOND
"""Where the rule is not to be had: the lease of a rule that names none."""


def how_lost(scene: Scene, lost: Attempt) -> str:
    """Say how a holder was lost: cut off, ended, gone, still there, or not known yet.

    ``lost.ended_at`` is when its lease was found to be over.
    """
    voice, worker = scene.voice, scene.worker(lost.worker)
    ended = lost.ended_at or scene.now
    if worker is None:
        return voice.say("worker_unknown", worker=scene.name_of(lost.worker), ended=voice.moment(ended))
    seen = voice.moment(worker.seen_at)
    away = _cut_off(scene, lost, ended)
    if away is not None:
        from_, to = voice.moment(away.start), voice.moment(away.end)
        return voice.say("worker_cut_off", worker=worker.name, from_=from_, to=to, seen=seen)
    if worker.ended_at is not None and worker.ended_at <= ended:
        return voice.say("worker_ended", worker=worker.name, ended=voice.moment(worker.ended_at))
    if worker.seen_at > ended:
        return voice.say("worker_paused", worker=worker.name, seen=seen)
    lives = scene.processes.get(worker.id)
    if lives:
        return voice.say("worker_process_there", worker=worker.name, pid=worker.pid, seen=seen)
    if lives is None and worker.is_awake(scene.now):
        until = voice.moment(worker.until)
        return voice.say("worker_silent", worker=worker.name, pid=worker.pid, seen=seen, until=until)
    return voice.say("worker_died", worker=worker.name, pid=worker.pid, seen=seen)


def _cut_off(scene: Scene, lost: Attempt, ended: Micros) -> Outage | None:
    """Return the time away that this worker itself wrote down and that its lease did not outlast."""
    lease = scene.job.lease if scene.job is not None else LEASE
    own = [outage for outage in scene.outages if outage.worker == lost.worker and outage.shares(lost.started_at, ended)]
    return own[-1] if own and ended < own[-1].end + lease else None


def loss_lines(scene: Scene) -> tuple[str, ...]:
    """Say of every lost attempt how it was lost, where the sentence does not."""
    return tuple(_closed(scene, how_lost(scene, lost)) for lost in scene.lost_attempts)


def process_lines(scene: Scene) -> tuple[str, ...]:
    """Say that the worker of a run whose lease still counts is gone, where this machine's kernel says so."""
    row, voice, worker = scene.row, scene.voice, scene.worker(scene.row.holder)
    if worker is None or scene.processes.get(worker.id) is not False or row.due_at is None:
        return ()
    lease = voice.moment(row.due_at)
    return (voice.say("line_process_gone", worker=worker.name, pid=worker.pid, lease=lease),)


def fence_lines(scene: Scene) -> tuple[str, ...]:
    """Say for every lost attempt from when on its writes are refused."""
    lines = []
    for lost in scene.lost_attempts:
        newer = next((a for a in scene.story.attempts if a.fence > lost.fence), None)
        if newer is not None:
            lines.append(
                scene.voice.say(
                    "line_fence",
                    worker=scene.name_of(lost.worker),
                    at=scene.voice.moment(lost.ended_at or newer.started_at),
                    old=scene.fence(lost.fence),
                    new=scene.fence(newer.fence),
                )
            )
    return tuple(lines)


def _closed(scene: Scene, clause: str) -> str:
    """Return a clause that another one follows as a sentence of its own."""
    return clause.rstrip(";；") + ("。" if scene.voice.lang == "zh" else ".")
