"""``noonmark leases``: who holds what until when, and which workers live."""

from __future__ import annotations

from typing import Any, cast

import click

from noonmark.core.model import SECOND, Occurrence, Query, State, WorkerInfo
from noonmark.core.told import job_told, joined, key_told
from noonmark.explain.render import stamp, table
from noonmark.explain.voice import Voice
from noonmark.faces.cli import problems
from noonmark.faces.cli.session import Command, Session, session
from noonmark.ports.rollback import Guarded
from noonmark.ports.store import Capability

WORKERS_SHOWN = 20
"""Most workers listed: the living ones first, then the ones last heard of."""


@click.command(cls=Command)
@click.option("--limit", default=100, show_default=True, type=click.IntRange(1, 10_000), help="At most so many leases.")
@click.pass_context
def leases(ctx: click.Context, limit: int) -> int:
    """Show who holds what until when, and which workers live."""
    with session(ctx) as here:
        voice = here.voice(here.one_zone or "UTC")
        rows = here.store.occurrences(Query(states=frozenset({State.RUNNING}), oldest_first=True, limit=limit))
        workers = sorted(here.workers, key=lambda w: (not w.is_awake(voice.now), -w.seen_at))[:WORKERS_SHOWN]
        names = {worker.id: worker.name for worker in workers}
        blind = _blind(here, workers)
        plain = {
            "v": 1,
            "leases": [_plain_lease(row, voice) for row in rows],
            "workers": [{**_plain_worker(worker, voice), "blind": worker in blind} for worker in workers],
        }
        here.emit(plain, lambda: _text(here, rows, workers, names, blind))
        if rows:
            here.say_zone()
    return problems.OK


def _blind(here: Session, workers: list[WorkerInfo]) -> list[WorkerInfo]:
    """Return the living workers that remember nothing beyond their process."""
    if Capability.PROVES not in here.store.capabilities:
        return []
    blind = {writer.worker for writer in cast("Guarded", here.store).writers() if writer.blind}
    return [worker for worker in workers if worker.id in blind and worker.is_awake(here.now)]


def _text(
    here: Session,
    rows: list[Occurrence],
    workers: list[WorkerInfo],
    names: dict[str, str],
    blind: list[WorkerInfo],
) -> str:
    parts: list[str] = [here.word("no_leases")]
    if rows:
        parts = [table(here.header("leases_header"), [_lease_cells(here, row, names) for row in rows])]
    if workers:
        parts.append(table(here.header("workers_header"), [_worker_cells(here, worker) for worker in workers]))
    if blind:
        parts.append(here.word("blind_workers", names=", ".join(worker.name for worker in blind)))
    return joined(parts, "\n\n")


def _lease_cells(here: Session, row: Occurrence, names: dict[str, str]) -> list[str]:
    voice = here.voice(here.one_zone or "UTC")
    until = "-"
    if row.due_at is not None:
        until = here.word("in_parens", moment=voice.moment(row.due_at), distance=voice.distance(row.due_at))
    job = job_told(row.job, row.subject)
    since = voice.moment(row.started_at) if row.started_at is not None else "-"
    holder = names.get(row.holder, row.holder) or here.word("nobody_holds")
    if row.looking:
        holder = here.word("looks_at_it", worker=holder)
    return [holder, job, f"r{row.id}", str(row.attempt), f"#{row.attempt}", since, until]


def _worker_cells(here: Session, worker: WorkerInfo) -> list[str]:
    voice = here.voice(here.one_zone or "UTC")
    if worker.ended_at is not None:
        state = "worker_ended"
    elif _is_killed(here, worker):
        state = "worker_no_process"
    elif worker.is_awake(voice.now):
        state = "worker_awake"
    else:
        state = "worker_silent" if here.lives is not None and here.lives(worker) else "worker_gone"
    skew = abs(worker.wall_offset)
    clock = here.word("clock_ok") if skew < SECOND // 10 else f"{worker.wall_offset / SECOND:+.1f} s"
    seen = voice.say("ago", length=voice.length(voice.now - worker.seen_at))
    return [worker.name, str(worker.pid), worker.host, here.word(state), seen, str(len(worker.jobs)), clock]


def _plain_lease(row: Occurrence, voice: Voice) -> dict[str, Any]:
    return {
        "id": row.id,
        "job": row.job,
        "subject": row.subject,
        "key": key_told(row.job, row.key),
        "worker": row.holder,
        "attempt": row.attempt,
        "fence": row.fence,
        "looking": row.looking,
        "started": stamp(row.started_at, voice.zone),
        "lease_until": stamp(row.due_at, voice.zone),
    }


def _is_killed(here: Session, worker: WorkerInfo) -> bool:
    """True where this machine's kernel knows that the process of a worker that did not say good-bye is no more."""
    return worker.ended_at is None and here.lives is not None and here.lives(worker) is False


def _plain_worker(worker: WorkerInfo, voice: Voice) -> dict[str, Any]:
    return {
        "id": worker.id,
        "name": worker.name,
        "host": worker.host,
        "pid": worker.pid,
        "awake": worker.is_awake(voice.now),
        "started": stamp(worker.started_at, voice.zone),
        "seen": stamp(worker.seen_at, voice.zone),
        "ended": stamp(worker.ended_at, voice.zone),
        "jobs": list(worker.jobs),
        "clock_offset_us": worker.wall_offset,
        "tzdata": worker.tzdata,
        "version": worker.version,
    }
