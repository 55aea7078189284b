"""``noonmark jobs``: every job with its schedule, what comes next, what was last, and the recent past as a strip."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click

from noonmark.core.model import Job, JobRow, Micros, Occurrence, Query, Verdict
from noonmark.explain import forecast
from noonmark.explain.describe import trigger_text
from noonmark.explain.find import read_rule
from noonmark.explain.outcomes import OUTCOMES, outcome_of
from noonmark.explain.render import stamp, table
from noonmark.explain.voice import Voice
from noonmark.faces.cli import problems
from noonmark.faces.cli.session import Command, Session, session

STRIP = 24
"""How many recent occurrences the strip shows."""

_BAD = frozenset({"failed", "missed", "doubled"})


@click.command(cls=Command)
@click.option("--limit", default=200, show_default=True, type=click.IntRange(1), help="At most so many jobs.")
@click.pass_context
def jobs(ctx: click.Context, limit: int) -> int:
    """List the jobs: schedule, next, last outcome, recent ones (newest right).

    Glyphs: # on time, + caught up or taken over, ? missed, x needs a person, … waiting, > running, r retrying,
    o duplicate refused, - skipped by rule, / cancelled.
    """
    with session(ctx) as here:
        rows = sorted(here.store.jobs(), key=lambda row: row.name)
        lines = [_line(here, row) for row in rows[:limit]]
        here.emit({"v": 1, "jobs": [plain for plain, _ in lines]}, lambda: _text(here, [cells for _, cells in lines]))
        if not rows:
            here.remark("No jobs yet. A worker registers the jobs of its app: noonmark init, then noonmark dev jobs.py")
        elif len(rows) > limit:
            here.remark(f"{len(rows) - limit} more, see --limit")
        bad = [plain["job"] for plain, _ in lines if plain["last"] is not None and plain["last"]["outcome"] in _BAD]
        if bad:
            here.remark(f"{len(rows)} jobs, {len(bad)} need a person. Try: noonmark why {bad[0]}")
    return problems.OK


def _text(here: Session, cells: Sequence[Sequence[str]]) -> str:
    header = (
        ["任务", "时间表", "下一次", "最近一次", "近况"]
        if here.lang == "zh"
        else ["JOB", "SCHEDULE", "NEXT", "LAST", "RECENT"]
    )
    return table(header, cells)


def _line(here: Session, row: JobRow) -> tuple[dict[str, Any], list[str]]:
    job = read_rule(row)
    voice = here.voice(job.tz if job is not None else "UTC")
    recent = _recent(here, row.name, voice.now)
    last = recent[0] if recent else None
    coming = _next(here, row, job, voice)
    schedule = trigger_text(job.trigger, voice.lang) if job is not None else "?"
    paused = ("（已暂停）" if here.lang == "zh" else " (paused)") if row.paused else ""
    strip = "".join(_glyph(here, outcome_of(other, voice.now)) for other in reversed(recent[:STRIP]))
    plain = {
        "job": row.name,
        "schedule": schedule,
        "tz": job.tz if job is not None else None,
        "next": stamp(coming, voice.zone),
        "last": None
        if last is None
        else {
            "id": last.id,
            "occurrence": stamp(last.scheduled_for, voice.zone),
            "outcome": outcome_of(last, voice.now),
            "key": last.key,
        },
        "paused": row.paused,
        "revision": row.revision,
        "recent": [outcome_of(other, voice.now) for other in reversed(recent[:STRIP])],
    }
    shown_next = f"{voice.moment(coming)} ({voice.distance(coming)})" if coming is not None else "-"
    return plain, [row.name, schedule + paused, shown_next, _last_text(last, voice), strip]


def _recent(here: Session, name: str, now: Micros) -> list[Occurrence]:
    rows = here.store.occurrences(Query(job=name, scheduled_until=now + 1, limit=STRIP * 2))
    return [row for row in rows if row.verdict != Verdict.SKIP_SUPERSEDED]


def _next(here: Session, row: JobRow, job: Job | None, voice: Voice) -> Micros | None:
    """The next moment of the rule; for other jobs the earliest open occurrence to come."""
    if job is not None and job.is_series and not row.paused:
        found = forecast.coming(job, max(voice.now, row.effective_at), 1, voice)
        return found[0].at if found else None
    rows = here.store.occurrences(
        Query(job=row.name, open_only=True, scheduled_from=voice.now + 1, oldest_first=True, limit=1)
    )
    return rows[0].scheduled_for if rows else None


def _last_text(row: Occurrence | None, voice: Voice) -> str:
    if row is None:
        return "-"
    outcome = OUTCOMES[outcome_of(row, voice.now)]
    return f"{voice.moment(row.scheduled_for)} {outcome.zh if voice.lang == 'zh' else outcome.en}"


def _glyph(here: Session, outcome: str) -> str:
    return OUTCOMES[outcome].glyph if here.unicode else OUTCOMES[outcome].ascii
