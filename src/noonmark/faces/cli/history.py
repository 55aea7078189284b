"""``noonmark history``: what became of occurrences, newest first."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import click

from noonmark.core.model import OPEN_STATES, Micros, Occurrence, Query, State
from noonmark.core.told import job_told, key_told
from noonmark.explain.ended import BY_REVISION, Ends, ended_by, ends_of
from noonmark.explain.find import job_and_subject, read_rule
from noonmark.explain.outcomes import OUTCOMES, WORTH_SAYING, lateness, outcome_of
from noonmark.explain.render import stamp, table
from noonmark.faces.cli import problems
from noonmark.faces.cli.session import Command, Session, session
from noonmark.faces.cli.verify import moment

_OVER = frozenset(State) - OPEN_STATES
_STATES = {state.value.lower(): state for state in State}


@click.command(cls=Command)
@click.argument("job", required=False)
@click.option("--job", "named", metavar="JOB", help="The same as JOB.")
@click.option("--state", "wanted", metavar="STATE", help="A state (FAILED_MANUAL) or an outcome (missed, caught_up).")
@click.option("--since", metavar="TIME", help="How far back: 24h, or a time.")
@click.option("--key", metavar="KEY", help="Only this key.")
@click.option("--limit", default=20, show_default=True, type=click.IntRange(1, 100_000), help="At most so many.")
@click.option("--all", "everything", is_flag=True, help="Also what is still to come.")
@click.pass_context
def history(
    ctx: click.Context,
    job: str | None,
    named: str | None,
    wanted: str | None,
    since: str | None,
    key: str | None,
    limit: int,
    everything: bool,
) -> int:
    """List what became of occurrences, of one JOB or of all, newest first."""
    if job is not None and named not in (None, job):
        raise problems.Trouble("option_without", option="--job", other="JOB")
    job = job if job is not None else named
    states, outcome = _wanted(wanted)
    with session(ctx) as here:
        subject: str | None = None
        if job is not None:
            row, subject = job_and_subject(here.store, job)
            job = row.name
        query = Query(
            job=job,
            subject=subject,
            key=key,
            states=states,
            scheduled_from=moment(here, since) if since is not None else None,
            scheduled_until=None if everything else here.now + 1,
            limit=limit if outcome is None else 100_000,
        )
        rows = _newest_first(here, query)
        if outcome is not None:
            rows = [row for row in rows if outcome_of(row, here.now) == outcome]
        rows = rows[:limit]
        ends = _ends(here, rows)
        rules = {row.name: read_rule(row) for row in here.store.jobs()}
        zones = {name: here.zone_of(rule) for name, rule in rules.items()}
        plain = [_plain(here, row, here.zone(zones.get(row.job, "UTC"))) for row in rows]
        here.emit({"v": 1, "occurrences": plain}, lambda: _text(here, rows, zones, ends))
        if not rows:
            here.remark(here.word("nothing_fits"))
        else:
            here.say_zone()
    return problems.OK


def _wanted(text: str | None) -> tuple[frozenset[State] | None, str | None]:
    if text is None:
        return None, None
    name = text.lower().replace("-", "_")
    if name in OUTCOMES:
        return None, name
    if name in _STATES:
        return frozenset({_STATES[name]}), None
    states = ", ".join(sorted(state.value for state in State))
    raise problems.Trouble("bad_state", text=text, states=states, outcomes=", ".join(OUTCOMES))


def _newest_first(here: Session, query: Query) -> list[Occurrence]:
    """Read what the query asks for, and beside what was due what is over although its moment is still to come."""
    rows = here.store.occurrences(query)
    if query.scheduled_until is None:
        return rows
    wanted = _OVER if query.states is None else query.states & _OVER
    if not wanted:
        return rows
    start = max(query.scheduled_until, query.scheduled_from or query.scheduled_until)
    ahead = here.store.occurrences(replace(query, states=wanted, scheduled_from=start, scheduled_until=None))
    return [row for row in ahead if row.scheduled_for >= start] + rows


def _ends(here: Session, rows: list[Occurrence]) -> Ends:
    """Return by whom jobs were ended and why, where a row may have been ended by it."""
    if not any(row.code == BY_REVISION for row in rows):
        return {}
    return ends_of(here.store.tallies(revisions=True))


def _text(here: Session, rows: list[Occurrence], zones: dict[str, str], ends: Ends) -> str:
    return table(here.header("history_header"), [_cells(here, row, zones.get(row.job, "UTC"), ends) for row in rows])


def _cells(here: Session, row: Occurrence, zone: str, ends: Ends) -> list[str]:
    voice = here.voice(zone)
    end = ended_by(ends, row)
    outcome = OUTCOMES[outcome_of(row, here.now)]
    late: Micros = lateness(row)
    quiet = outcome.en in ("on time", "taken over", "caught up") and row.code not in WORTH_SAYING
    when = voice.moment(row.scheduled_for)
    if row.range_until is not None:
        when = f"{when} … {voice.moment(row.range_until)}"
    reason = voice.reason(row.code, row.detail) if row.code and not quiet else ""
    if end is not None:
        reason = voice.say("history_ended", **end.told(voice))
    glyph = outcome.glyph if here.unicode else outcome.ascii
    return [
        f"r{row.id}",
        job_told(row.job, row.subject),
        when,
        f"{glyph} {outcome.zh if here.lang == 'zh' else outcome.en}",
        voice.length(late) if late >= 1_000_000 else "-",
        str(row.attempt) if row.attempt else "-",
        key_told(row.job, row.key) or "-",
        reason,
    ]


def _plain(here: Session, row: Occurrence, zone: str) -> dict[str, Any]:
    return {
        "id": row.id,
        "job": row.job,
        "subject": row.subject,
        "occurrence": stamp(row.scheduled_for, zone),
        "range_until": stamp(row.range_until, zone),
        "business_date": row.business_date,
        "key": key_told(row.job, row.key),
        "generation": row.generation,
        "state": row.state.value,
        "outcome": outcome_of(row, here.now),
        "decision": row.verdict,
        "code": row.code,
        "attempt": row.attempt,
        "takeovers": row.takeovers,
        "fence": row.fence,
        "due": stamp(row.due_at, zone),
        "started": stamp(row.first_started_at, zone),
        "ended": stamp(row.ended_at, zone),
        "duplicate_of": row.duplicate_of,
        "result": row.result,
        "error": row.error,
    }
