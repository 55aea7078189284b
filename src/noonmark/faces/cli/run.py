"""``noonmark run``: ask for a run now, with the same key as the schedule would use."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from noonmark.core import phrasing, series
from noonmark.core.model import (
    OPEN_STATES,
    Added,
    Decision,
    Event,
    Job,
    JobRow,
    NewOccurrence,
    Occurrence,
    Origin,
    Query,
    State,
)
from noonmark.core.told import Told, joined, key_told
from noonmark.explain.check_words import placed, zone_of
from noonmark.explain.evidence import replay
from noonmark.explain.find import the_job
from noonmark.explain.generations import one_before
from noonmark.explain.generations import told as told_before
from noonmark.explain.meant import Meant, NotMeant, for_text, meant
from noonmark.explain.render import ASCII_MARKS, MARKS, check_lines, stamp
from noonmark.faces.cli import problems
from noonmark.faces.cli.apps import load_app
from noonmark.faces.cli.declared import readable
from noonmark.faces.cli.params import check_params, missing_told, read_params, remark_unchecked
from noonmark.faces.cli.session import Command, Session, session
from noonmark.faces.cli.standing import Standing, remark_standing, standing

if TYPE_CHECKING:
    from noonmark.engine.deeds import Deed


@click.command(cls=Command)
@click.argument("job")
@click.option(
    "--for",
    "asked",
    metavar="WHEN",
    help="A business date, 2026-11-28, or a moment of the schedule, 2026-11-28T18:30; today when left out.",
)
@click.option("--param", "params", multiple=True, metavar="K=V", help="A parameter; V is read as JSON if it is JSON.")
@click.option("--again", is_flag=True, help="Run although it is done, as a new generation of the key (needs --reason).")
@click.option(
    "--override",
    "overrides",
    multiple=True,
    type=click.Choice(["window"]),
    help="Run it although the window is not open (needs --reason).",
)
@click.option("--reason", default="", metavar="TEXT", help="Why; kept in the ledger.")
@click.option("--dry-run", is_flag=True, help="Only say what would happen.")
@click.option(
    "--app", metavar="APP", help="Look at the job's function here to see which params it takes.", envvar="NOONMARK_APP"
)
@click.pass_context
def run(
    ctx: click.Context,
    job: str,
    asked: str | None,
    params: tuple[str, ...],
    again: bool,
    overrides: tuple[str, ...],
    reason: str,
    dry_run: bool,
    app: str | None,
) -> int:
    """Ask for a run now.

    It uses the key that the schedule would use, so a run that is done is refused (exit 3) unless --again says so.
    --for asks for a moment that is over, as what it was: with its date and its key.
    Today's window and the conditions bind it like any other run: what has to wait is asked for all the same (exit 0);
    what would end without a run as things stand, for its window is over, exits with 3, and a person is told as ever.
    With --override window it starts all the same, and so do its retries; weekdays and conditions bind it still.
    """
    for option, given_it in (("--again", again), ("--override", overrides)):
        if given_it and not reason:
            raise problems.Trouble("again_reason", option=option)
    given = read_params(params)
    named = ctx.get_parameter_source("app") is ParameterSource.COMMANDLINE
    rules = load_app(app).rules if named and app is not None else None  # what was typed is looked at first
    with session(ctx) as here:
        if not dry_run:
            here.refuse_pretending()
        job_row = the_job(here.store, job)
        rule = readable(here, job_row)
        checked = check_params(here, rule, given, app, rules)
        when = Meant() if asked is None else _meant(here, rule, asked)
        note = reason
        if overrides and rule.window is not None:
            overridden = here.word("outside_window")
            note = f"{overridden}: {reason}"
        rows = _rows(here, rule, job_row, when, given, again=again, reason=note, ignore_window="window" in overrides)
        if not checked:
            remark_unchecked(here, rule, given)
        if dry_run:
            return _dry(here, rule, job_row, rows, again=again)
        options = {"again": again, "reason": reason, "overrides": overrides}
        return _ask(here, rule, job_row, rows, lambda new: _deeds(here, rule, new[:1], given, **options))


def _meant(here: Session, rule: Job, text: str) -> Meant:
    try:
        return meant(rule, text, here.now, here.zone(""))
    except NotMeant as error:
        raise problems.Trouble(error.name, code=_NOT_MEANT[error.name], **error.args_told) from None


_NOT_MEANT = {
    "bad_for": problems.USAGE,
    "no_moments": problems.NOT_FOUND,
    "no_such_moment": problems.NOT_FOUND,
    "moment_to_come": problems.NOT_FOUND,
    "several_moments": problems.NOT_FOUND,
}


def _rows(
    here: Session,
    rule: Job,
    job_row: JobRow,
    when: Meant,
    given: dict[str, Any],
    *,
    again: bool,
    reason: str,
    ignore_window: bool,
) -> list[NewOccurrence]:
    """One row per subject; a parameter that names a subject narrows it to that one."""
    request = here.request_id()
    chosen = [
        (subject, params)
        for subject, params in series.subjects(rule)
        if all(str(given[name]) == str(value) for name, value in params.items() if name in given)
    ]
    if not chosen:
        known = "; ".join(f"{name}: {', '.join(values)}" for name, values in rule.each.items())
        raise problems.Trouble("no_subject", job=rule.name, known=known)
    with missing_told(here, given):
        return [
            series.row_for_call(
                rule,
                request_id=f"{request}-{index}" if len(chosen) > 1 else request,
                due_at=here.now,
                params={**params, **given},
                key=None,
                revision=job_row.revision,
                now=here.now,
                origin=Origin.MANUAL,
                actor=here.actor,
                note=reason,
                again=again,
                business_date=when.business_date,
                moment=when.moment,
                subject=subject,
                ignore_window=ignore_window,
            )
            for index, (subject, params) in enumerate(chosen)
        ]


def _dry(here: Session, rule: Job, job_row: JobRow, rows: list[NewOccurrence], *, again: bool) -> int:
    decisions = []
    for row in rows:
        decision = replay(rule, job_row, as_occurrence(row), here.store.facts, here.now)
        held_by = decision.detail.get("state") if decision.code == "key_held" else None
        if held_by in _YIELDS or (again and held_by is not None and held_by not in OPEN_STATES):
            decision = replay(rule, job_row, as_occurrence(row, claimed=True), here.store.facts, here.now)
        decisions.append((row, decision))
    plain = {
        "v": 1,
        "job": rule.name,
        "dry_run": True,
        "would_run": all(decision.event is Event.START for _, decision in decisions),
        "runs": [_plain(here, rule, row, decision) for row, decision in decisions],
    }
    here.emit(plain, lambda: joined(_decision_text(here, rule, row, decision) for row, decision in decisions))
    here.remark(here.word("nothing_started"))
    return problems.OK if plain["would_run"] else problems.REFUSED


def _deeds(here: Session, rule: Job, numbers: list[int], given: dict[str, Any], **options: Any) -> list[Deed]:
    """What was asked for, as the moment that it was: typed again tomorrow it must not mean tomorrow's."""
    from noonmark.engine.deeds import of_run

    rows = here.store.occurrences(Query(ids=tuple(numbers))) if numbers else []
    return [
        of_run(
            row,
            given,
            when=for_text(rule, row.scheduled_for, row.business_date, None),
            by=here.actor,
            **options,
        )
        for row in rows
    ]


def _ask(
    here: Session, rule: Job, job_row: JobRow, rows: list[NewOccurrence], deeds: Callable[[list[int]], list[Deed]]
) -> int:
    """Ask for the rows and say what was answered; ``deeds`` says how those that are new are to be remembered."""
    zone = here.zone(rule.tz)  # refused, if it is none, before anything is done
    added = here.store.add(here.request_id(), rows)
    here.remember(lambda: deeds([answer.id for answer in added if answer.outcome == "added"]))
    stand: list[Standing | None] = [
        standing(here, rule, job_row, as_occurrence(row, number=answer.id, claimed=True))
        if answer.outcome == "added"
        else None
        for row, answer in zip(rows, added, strict=True)
    ]
    plain = {
        "v": 1,
        "job": rule.name,
        "runs": [
            {
                "id": answer.id,
                "key": key_told(row.job, row.key),
                "outcome": answer.outcome,
                "duplicate_of": answer.duplicate_of,
                "business_date": row.business_date,
                "occurrence": stamp(row.scheduled_for, zone),
                "as_things_stand": found.plain() if found is not None else None,
            }
            for row, answer, found in zip(rows, added, stand, strict=True)
        ],
    }
    here.emit(plain, lambda: joined(_answer_text(here, rule, r, a) for r, a in zip(rows, added, strict=True)))
    if None in stand:
        _remark_refused(here, added)
        return problems.REFUSED
    _remark_over(here, rule, added)
    asked = [found for found in stand if found is not None]
    for found in asked:
        remark_standing(here, found)
    if any(found.ends and found.code == "window_closed" for found in asked):
        here.remark(here.word("run_outside"))
    here.remark(f"noonmark why r{added[0].id}")
    return problems.REFUSED if any(found.ends for found in asked) else problems.OK


def _remark_over(here: Session, rule: Job, added: list[Added]) -> None:
    """Say of what was asked for under a key that had been given up: by whom it was cancelled, for one."""
    for row in here.store.occurrences(Query(ids=tuple(answer.id for answer in added), oldest_first=True)):
        before = one_before(here.store, row)
        if before is not None:
            here.remark(told_before(row, before, here.voice(rule.tz)))


def _remark_refused(here: Session, added: list[Added]) -> None:
    """Say what can be done about a key that is held: what is over can be repeated, what is not is to be looked at."""
    ids = tuple(answer.duplicate_of for answer in added if answer.duplicate_of is not None)
    holders = here.store.occurrences(Query(ids=ids)) if ids else []
    if all(holder.state in OPEN_STATES for holder in holders) and holders:
        here.remark(f"noonmark why r{holders[0].id}")
    else:
        here.remark(here.word("run_again"))


_YIELDS = (State.CANCELLED, State.SKIPPED)
"""Holders of a key that give it to whoever asks by hand: nothing was done under it."""
_HELD = {State.SUCCESS: "held_done", State.FAILED_MANUAL: "held_person"}


def _answer_text(here: Session, rule: Job, row: NewOccurrence, answer: Added) -> str:
    if answer.outcome == "added":
        return here.word("asked_for", number=answer.id, key=key_told(row.job, row.key))
    number = answer.duplicate_of or answer.id
    found = here.store.occurrences(Query(ids=(number,)))
    voice = here.voice(rule.tz)
    holder = found[0] if found else None
    state, when, held = "?", "", "held"
    if holder is not None:
        state, held = phrasing.state(holder.state, here.lang), _HELD.get(holder.state, "held_there")
        if holder.ended_at is not None:
            when = voice.say("duplicate_when", at=voice.moment(holder.ended_at))
    return here.word(
        "run_refused", key=key_told(row.job, row.key), held=here.word(held, state=state), when=when, number=number
    )


def _decision_text(here: Session, rule: Job, row: NewOccurrence, decision: Decision) -> str:
    voice = here.voice(rule.tz)
    verdict = voice.say("as_things_stand_runs")
    if decision.event is not Event.START:
        verdict = voice.say("as_things_stand_not", reason=voice.reason(decision.code, decision.detail))
    marks = MARKS if here.unicode else ASCII_MARKS
    lines = check_lines(
        [(c.name, c.passed, c.wanted, placed(c.seen, zone_of(c.name, rule.tz, voice.zone))) for c in decision.checks],
        here.lang,
        marks,
    )
    zone = voice.say("head_zone", zone=voice.zone)
    return joined(
        [here.word("would", job=rule.name, key=key_told(row.job, row.key), verdict=verdict), *lines, Told(f"  {zone}")]
    )


def _plain(here: Session, rule: Job, row: NewOccurrence, decision: Decision) -> dict[str, Any]:
    voice = here.voice(rule.tz)
    return {
        "key": key_told(row.job, row.key),
        "business_date": row.business_date,
        "occurrence": stamp(row.scheduled_for, voice.zone),
        "decision": decision.verdict.value,
        "code": decision.code,
        "sentence": voice.reason(decision.code, decision.detail),
        "would_run": decision.event is Event.START,
        "checks": [{"name": c.name, "ok": c.passed, "wanted": c.wanted, "seen": c.seen} for c in decision.checks],
    }


def as_occurrence(row: NewOccurrence, *, number: int = 0, claimed: bool = False) -> Occurrence:
    """Return the occurrence that a new row would become, for a dry evaluation."""
    return Occurrence(
        id=number,
        job=row.job,
        subject=row.subject,
        identity=row.identity,
        key=row.key,
        generation=0,
        claimed=claimed,
        state=row.state,
        due_at=row.due_at,
        scheduled_for=row.scheduled_for,
        nominal=row.nominal,
        business_date=row.business_date,
        not_before=row.not_before,
        not_after=row.not_after,
        expires_at=row.expires_at,
        origin=row.origin,
        frontier=row.frontier,
        gated=row.gated,
        params=row.params,
        revision=row.revision,
        worker=row.worker,
        attempt=0,
        takeovers=0,
        lost=0,
        fence=0,
        holder="",
        looking=False,
        cancel_requested=False,
        verdict=row.verdict,
        code=row.code,
        detail="{}",
        created_at=row.scheduled_for,
        started_at=None,
        first_started_at=None,
        ended_at=None,
        duplicate_of=None,
        range_until=None,
        range_count=0,
        result=None,
        error=None,
        actor=row.actor,
        note=row.note,
        queue=row.queue,
        priority=row.priority,
    )
