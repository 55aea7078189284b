"""``noonmark backlog``: what is due or waiting, since when, and what it is blocked on."""

from __future__ import annotations

from typing import Any

import click

from noonmark.core.model import Micros, Occurrence, Query, State, Tallies
from noonmark.explain.awake import alive_with
from noonmark.explain.find import read_rule
from noonmark.explain.outcomes import outcome_of
from noonmark.explain.render import stamp, table
from noonmark.faces.cli import problems
from noonmark.faces.cli.session import Command, Session, session


@click.command(cls=Command)
@click.option("--limit", default=30, show_default=True, type=click.IntRange(1, 10_000), help="At most so many rows.")
@click.pass_context
def backlog(ctx: click.Context, limit: int) -> int:
    """Show what is due or waiting, oldest due first, and what it is blocked on."""
    with session(ctx) as here:
        tallies = here.store.tallies()
        rows = here.store.occurrences(Query(open_only=True, oldest_first=True, limit=max(1000, limit)))
        rows = sorted(rows, key=lambda row: row.due_at if row.due_at is not None else row.scheduled_for)[:limit]
        zones = {row.name: rule.tz for row in here.store.jobs() if (rule := read_rule(row)) is not None}
        lines = [_line(here, row, here.zone(zones.get(row.job, "UTC"))) for row in rows]
        plain = {
            "v": 1,
            "earliest_due": stamp(tallies.earliest_due, here.zone()),
            "due_now": tallies.due_now,
            "delayed": tallies.delayed,
            "waiting": tallies.waiting,
            "states": {state.value: count for state, count in tallies.by_state.items()},
            "occurrences": [one for one, _ in lines],
        }
        here.emit(plain, lambda: _text(here, tallies, [cells for _, cells in lines]))
    return problems.OK


def _text(here: Session, tallies: Tallies, rows: list[list[str]]) -> str:
    zh, voice = here.lang == "zh", here.voice()
    head = "没有待处理的触发" if zh else "nothing is open"
    if tallies.earliest_due is not None:
        at, far = voice.moment(tallies.earliest_due), voice.distance(tallies.earliest_due)
        head = f"最早到期 {at}（{far}）" if zh else f"earliest due {at} UTC, {far}"
        if here.settings.tz:
            head = head.replace(" UTC", "")
    running, retrying = tallies.by_state.get(State.RUNNING, 0), tallies.by_state.get(State.FAILED_RETRYING, 0)
    people = tallies.by_state.get(State.FAILED_MANUAL, 0)
    counts = (
        f"已到期 {tallies.due_now} · 延迟 {tallies.delayed} · 等待 {tallies.waiting} · 运行中 {running} · "
        f"重试中 {retrying} · 需人工 {people}"
        if zh
        else f"due now {tallies.due_now} · delayed {tallies.delayed} · waiting {tallies.waiting} · running {running} · "
        f"retrying {retrying} · needs a person {people}"
    )
    header = (
        ["到期", "逾期", "任务", "键", "状态", "卡在"]
        if zh
        else ["DUE", "OVERDUE", "JOB", "KEY", "STATE", "BLOCKED ON"]
    )
    return "\n".join([head, counts, *([table(header, rows)] if rows else [])])


def _line(here: Session, row: Occurrence, zone: str) -> tuple[dict[str, Any], list[str]]:
    voice = here.voice(zone)
    due: Micros = row.due_at if row.due_at is not None else row.scheduled_for
    overdue = max(0, voice.now - due)
    blocked = _blocked(here, row, due)
    plain = {
        "id": row.id,
        "job": row.job,
        "subject": row.subject,
        "due": stamp(due, zone),
        "overdue_s": overdue / 1_000_000,
        "key": row.key,
        "state": row.state.value,
        "outcome": outcome_of(row, voice.now),
        "blocked_on": blocked,
    }
    cells = [
        voice.moment(due),
        voice.length(overdue) if overdue >= 1_000_000 and row.state is not State.RUNNING else "-",
        f"{row.job}[{row.subject}]" if row.subject else row.job,
        row.key,
        row.state.value,
        blocked,
    ]
    return plain, cells


def _blocked(here: Session, row: Occurrence, due: Micros) -> str:
    zh, voice = here.lang == "zh", here.voice()
    if row.state is State.RUNNING:
        return f"由 {row.holder} 运行" if zh else f"running on {_worker(here, row.holder)}"
    awake, able = alive_with(here.store.workers(), row.job, voice.now)
    if due <= voice.now and not awake:
        return "没有在线的 worker" if zh else "no worker is awake"
    if due <= voice.now and not able:
        return "没有在线的 worker 运行该任务" if zh else "no worker that is awake runs this job"
    if row.code and row.verdict.startswith("skip_"):
        return voice.reason(row.code, row.detail)
    if row.state is State.FAILED_RETRYING:
        return "退避等待" if zh else "backoff"
    return ("未到时间" if zh else "not due") if due > voice.now else "-"


def _worker(here: Session, incarnation: str) -> str:
    return next((worker.name for worker in here.store.workers() if worker.id == incarnation), incarnation)
