"""``noonmark jobs``: every job with its schedule, what comes next, what was last, and the recent past as a strip."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click

from noonmark.core.model import Job, JobRow, Micros, Occurrence, Query, Verdict
from noonmark.core.told import Told, key_told
from noonmark.explain import ended, forecast
from noonmark.explain.describe import rule_text
from noonmark.explain.ended import JobEnd
from noonmark.explain.find import read_rule
from noonmark.explain.outcomes import OUTCOMES, outcome_of
from noonmark.explain.render import cut, stamp, table, width
from noonmark.explain.voice import Voice
from noonmark.faces.cli import problems
from noonmark.faces.cli.session import Command, Session, session

STRIP = 24
"""How many recent occurrences the strip shows."""
ENDS_TOLD = 5
"""Most ended jobs of which it is said by whom and why: the newest ones; show tells it of every one."""
COLUMNS = 100
"""The table fits a terminal of this width."""
MOST = (20, 26, 20, 20)
"""Most columns for job, schedule, next and last where space is short; the strip gets what they leave."""

_BAD = frozenset({"failed", "missed", "doubled"})


@click.command(cls=Command)
@click.option("--limit", default=200, show_default=True, type=click.IntRange(1, 100_000), help="At most so many jobs.")
@click.pass_context
def jobs(ctx: click.Context, limit: int) -> int:
    """List the jobs: schedule, next, last outcome, recent ones (newest right).

    Glyphs: # on time, + caught up or taken over, ? missed, x needs a person, … waiting, > running, r retrying,
    o duplicate refused, - skipped by rule, / cancelled.
    """
    with session(ctx) as here:
        rows = sorted(here.store.jobs(), key=lambda row: row.name)
        over = _ended(here, rows)
        lines = [_line(here, row, over.get(row.name)) for row in rows[:limit]]
        here.emit({"v": 1, "jobs": [plain for plain, _ in lines]}, lambda: _text(here, [cells for _, cells in lines]))
        if not rows:
            here.remark(here.word("no_jobs"))
        else:
            here.say_zone()
        for end in sorted(over.values(), key=lambda end: -end.at)[:ENDS_TOLD]:
            here.remark(end.sentence(here.voice(here.one_zone or "UTC")))
        if len(rows) > limit:
            here.remark(here.word("more_rows", count=len(rows) - limit))
        bad = [plain["job"] for plain, _ in lines if plain["last"] is not None and plain["last"]["outcome"] in _BAD]
        if bad:
            here.remark(here.word("jobs_bad", count=len(rows), bad=len(bad), job=bad[0]))
    return problems.OK


def _ended(here: Session, rows: Sequence[JobRow]) -> dict[str, JobEnd]:
    """Return who ended which of these jobs, when and why."""
    names = {(row.name, row.revision) for row in rows if not row.rule}
    ends = ended.ends_of(here.store.tallies(revisions=True)) if names else {}
    return {name: end for (name, revision), end in ends.items() if (name, revision) in names}


def _text(here: Session, cells: Sequence[Sequence[str]]) -> str:
    return table(*fitted(here.header("jobs_header"), cells))


def fitted(header: Sequence[str], rows: Sequence[Sequence[str]]) -> tuple[Sequence[str], list[list[str]]]:
    """Return a table that fits ``COLUMNS``: only then are names and words cut, and the strip loses its oldest."""
    natural = [max(width(row[column]) for row in (header, *rows)) for column in range(len(MOST))]
    strip = max((len(row[-1]) for row in rows), default=0)
    fits = sum(natural) + 2 * len(MOST) + min(strip, STRIP // 2) <= COLUMNS
    widths = natural if fits else [min(pair) for pair in zip(natural, MOST, strict=True)]
    left = max(1, COLUMNS - sum(widths) - 2 * len(MOST))
    return header, [
        [*(cut(cell, most) for cell, most in zip(row, widths, strict=False)), row[-1][-left:]] for row in rows
    ]


def _line(here: Session, row: JobRow, end: JobEnd | None) -> tuple[dict[str, Any], list[str]]:
    job = read_rule(row)
    voice = here.voice(here.zone_of(job))
    recent = _recent(here, row.name, voice.now)
    last = next((other for other in recent if other.verdict != Verdict.SKIP_DUPLICATED), None)
    coming = _next(here, row, job, voice)
    schedule = _schedule(here, job) if job is not None else "?" if row.rule else here.word("ended_mark")
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
            "key": key_told(last.job, last.key),
        },
        "paused": row.paused,
        "ended": not row.rule,
        "end": ended.plain(end, stamp(end.at if end is not None else None, voice.zone)),
        "revision": row.revision,
        "recent": [outcome_of(other, voice.now) for other in reversed(recent[:STRIP])],
    }
    shown_next = "-"
    if coming is not None:
        far = voice.distance(coming, short=True)
        shown_next = here.word("in_parens", moment=voice.short(coming), distance=far)
    if row.paused:
        shown_next = here.word("paused_mark")
    return plain, [Told(row.name), schedule, shown_next, _last_text(last, voice), strip]


def _schedule(here: Session, job: Job) -> str:
    """The rule in words, with its zone unless all rules and the times told share one."""
    words = rule_text(job.trigger, here.lang)
    if not job.is_series or here.one_zone == job.tz:
        return words
    return f"{words}，{job.tz}" if here.lang == "zh" else f"{words} {job.tz}"


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
    return f"{voice.short(row.scheduled_for)} {outcome.zh if voice.lang == 'zh' else outcome.en}"


def _glyph(here: Session, outcome: str) -> str:
    return OUTCOMES[outcome].glyph if here.unicode else OUTCOMES[outcome].ascii
