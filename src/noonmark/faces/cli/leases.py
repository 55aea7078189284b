"""``noonmark leases``: who holds what until when, and which workers live."""

from __future__ import annotations

from typing import Any

import click

from noonmark.core.model import Occurrence, Query, State, WorkerInfo
from noonmark.explain.awake import is_awake
from noonmark.explain.render import stamp, table
from noonmark.explain.voice import Voice
from noonmark.faces.cli import problems
from noonmark.faces.cli.session import Command, session

WORKERS_SHOWN = 20
"""Most workers listed: the living ones first, then the ones last heard of."""


@click.command(cls=Command)
@click.option("--limit", default=100, show_default=True, type=click.IntRange(1, 10_000), help="At most so many leases.")
@click.pass_context
def leases(ctx: click.Context, limit: int) -> int:
    """Show who holds what until when, and which workers live."""
    with session(ctx) as here:
        voice = here.voice()
        rows = here.store.occurrences(Query(states=frozenset({State.RUNNING}), oldest_first=True, limit=limit))
        workers = sorted(here.store.workers(), key=lambda w: (not is_awake(w, voice.now), -w.seen_at))[:WORKERS_SHOWN]
        names = {worker.id: worker.name for worker in workers}
        plain = {
            "v": 1,
            "leases": [_plain_lease(row, voice) for row in rows],
            "workers": [_plain_worker(worker, voice) for worker in workers],
        }
        here.emit(plain, lambda: _text(rows, workers, names, voice))
    return problems.OK


def _text(rows: list[Occurrence], workers: list[WorkerInfo], names: dict[str, str], voice: Voice) -> str:
    zh = voice.lang == "zh"
    parts = []
    if rows:
        header = (
            ["worker", "任务", "编号", "次", "FENCE", "开始", "租约到"]
            if zh
            else ["WORKER", "JOB", "ID", "TRY", "FENCE", "SINCE", "LEASE UNTIL"]
        )
        parts.append(table(header, [_lease_cells(row, names, voice) for row in rows]))
    else:
        parts.append("没有租约" if zh else "no leases are held")
    header = (
        ["worker", "PID", "主机", "状态", "最近心跳", "任务数", "时钟偏差"]
        if zh
        else ["WORKER", "PID", "HOST", "STATE", "HEARD OF", "JOBS", "CLOCK"]
    )
    if workers:
        parts.append(table(header, [_worker_cells(worker, voice) for worker in workers]))
    return "\n\n".join(parts)


def _lease_cells(row: Occurrence, names: dict[str, str], voice: Voice) -> list[str]:
    until = voice.moment(row.due_at) if row.due_at is not None else "-"
    far = f" ({voice.distance(row.due_at)})" if row.due_at is not None else ""
    job = f"{row.job}[{row.subject}]" if row.subject else row.job
    since = voice.moment(row.started_at) if row.started_at is not None else "-"
    return [names.get(row.holder, row.holder), job, f"r{row.id}", str(row.attempt), str(row.fence), since, until + far]


def _worker_cells(worker: WorkerInfo, voice: Voice) -> list[str]:
    zh = voice.lang == "zh"
    if worker.ended_at is not None:
        state = "已退出" if zh else "ended"
    elif is_awake(worker, voice.now):
        state = "在线" if zh else "awake"
    else:
        state = "失联" if zh else "gone"
    clock = f"{worker.wall_offset / 1_000_000:+.3f} s"
    return [
        worker.name,
        str(worker.pid),
        worker.host,
        state,
        voice.distance(worker.seen_at),
        str(len(worker.jobs)),
        clock,
    ]


def _plain_lease(row: Occurrence, voice: Voice) -> dict[str, Any]:
    return {
        "id": row.id,
        "job": row.job,
        "subject": row.subject,
        "key": row.key,
        "worker": row.holder,
        "attempt": row.attempt,
        "fence": row.fence,
        "looking": row.looking,
        "started": stamp(row.started_at, voice.zone),
        "lease_until": stamp(row.due_at, voice.zone),
    }


def _plain_worker(worker: WorkerInfo, voice: Voice) -> dict[str, Any]:
    return {
        "id": worker.id,
        "name": worker.name,
        "host": worker.host,
        "pid": worker.pid,
        "awake": is_awake(worker, voice.now),
        "started": stamp(worker.started_at, voice.zone),
        "seen": stamp(worker.seen_at, voice.zone),
        "ended": stamp(worker.ended_at, voice.zone),
        "jobs": list(worker.jobs),
        "clock_offset_us": worker.wall_offset,
        "tzdata": worker.tzdata,
        "version": worker.version,
    }
