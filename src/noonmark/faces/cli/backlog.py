"""``noonmark backlog``: what is due or waiting, since when, and what it is blocked on."""

from __future__ import annotations

from typing import Any

import click

from noonmark.core.model import Micros, Occurrence, Query, State, Tallies
from noonmark.core.told import job_told, joined, key_told
from noonmark.explain.awake import alive_with
from noonmark.explain.find import read_rule
from noonmark.explain.outcomes import OUTCOMES, outcome_of
from noonmark.explain.render import cut, stamp, table
from noonmark.faces.cli import problems
from noonmark.faces.cli.session import Command, Session, session

KEY_COLUMNS = 60
"""Most columns of a key: a long one pushes what its row is blocked on out of sight; why and --json have it whole."""


@click.command(cls=Command)
@click.option("--limit", default=30, show_default=True, type=click.IntRange(1, 10_000), help="At most so many rows.")
@click.pass_context
def backlog(ctx: click.Context, limit: int) -> int:
    """Show what is due or waiting, oldest due first, and what it is blocked on."""
    with session(ctx) as here:
        tallies = here.store.tallies()
        rows = here.store.occurrences(Query(open_only=True, oldest_first=True, limit=max(1000, limit)))
        rows = sorted(rows, key=lambda row: row.due_at if row.due_at is not None else row.scheduled_for)[:limit]
        rules = {row.name: read_rule(row) for row in here.store.jobs()}
        lines = [_line(here, row, here.zone_of(rules.get(row.job))) for row in rows]
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
        if lines:
            here.say_zone()
    return problems.OK


def _text(here: Session, tallies: Tallies, rows: list[list[str]]) -> str:
    voice = here.voice(here.one_zone or "UTC")
    head = here.word("nothing_open")
    if tallies.earliest_due is not None:
        at, far = voice.moment(tallies.earliest_due), voice.distance(tallies.earliest_due)
        head = here.word("earliest_due", at=at, zone=voice.zone, far=far)
    counts = here.word(
        "backlog_counts",
        due=tallies.due_now,
        delayed=tallies.delayed,
        waiting=tallies.waiting,
        running=tallies.by_state.get(State.RUNNING, 0),
        retrying=tallies.by_state.get(State.FAILED_RETRYING, 0),
        people=tallies.by_state.get(State.FAILED_MANUAL, 0),
    )
    return joined([head, counts, *([table(here.header("backlog_header"), rows)] if rows else [])])


def _line(here: Session, row: Occurrence, zone: str) -> tuple[dict[str, Any], list[str]]:
    voice = here.voice(zone)
    due: Micros = row.due_at if row.due_at is not None else row.scheduled_for
    overdue = max(0, voice.now - due)
    blocked = _blocked(here, row, due, zone)
    outcome = OUTCOMES[outcome_of(row, voice.now)]
    plain = {
        "id": row.id,
        "job": row.job,
        "subject": row.subject,
        "due": stamp(due, zone),
        "overdue_s": overdue / 1_000_000,
        "key": key_told(row.job, row.key),
        "state": row.state.value,
        "outcome": outcome_of(row, voice.now),
        "blocked_on": blocked,
    }
    cells = [
        voice.moment(due),
        voice.length(overdue) if overdue >= 1_000_000 and row.state is not State.RUNNING else "-",
        job_told(row.job, row.subject),
        cut(key_told(row.job, row.key), KEY_COLUMNS),
        outcome.zh if here.lang == "zh" else outcome.en,
        blocked,
    ]
    return plain, cells


def _blocked(here: Session, row: Occurrence, due: Micros, zone: str) -> str:
    voice = here.voice(zone)
    if row.state is State.RUNNING:
        if not row.holder:
            return here.word("lease_over")
        return here.word("looked_at_by" if row.looking else "running_on", worker=_worker(here, row.holder))
    awake, able = alive_with(here.workers, row.job, voice.now)
    if due <= voice.now and not awake:
        return here.word("nobody_awake")
    if due <= voice.now and not able:
        return here.word("nobody_able")
    if row.code and row.verdict.startswith("skip_"):
        return voice.reason(row.code, row.detail)
    if row.state is State.FAILED_RETRYING:
        return here.word("backoff")
    return here.word("not_due") if due > voice.now else "-"


def _worker(here: Session, incarnation: str) -> str:
    return next((worker.name for worker in here.workers if worker.id == incarnation), incarnation)
