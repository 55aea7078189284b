"""``noonmark next``: what is coming."""

from __future__ import annotations

from typing import Any

import click

from noonmark.core.model import Job, JobRow, Micros
from noonmark.core.told import Told, joined
from noonmark.explain.describe import trigger_text, window_text
from noonmark.explain.find import read_rule
from noonmark.explain.forecast import Coming, coming, over_since
from noonmark.explain.render import pad, stamp, table, width
from noonmark.faces.cli import problems
from noonmark.faces.cli.declared import declared_jobs, own_clock, stored_or_declared
from noonmark.faces.cli.session import Command, Session, session
from noonmark.faces.cli.verify import moment


@click.command(cls=Command)
@click.argument("job", required=False)
@click.option("-n", "count", default=5, show_default=True, type=click.IntRange(1, 10_000), help="How many.")
@click.option("--from", "start", metavar="TIME", help="From when; now when left out.")
@click.option("--to", "end", metavar="TIME", help="Until when.")
@click.option(
    "--app", metavar="APP", help="Read the rule from an app or rules file instead of the store.", envvar="NOONMARK_APP"
)
@click.pass_context
def next(ctx: click.Context, job: str | None, count: int, start: str | None, end: str | None, app: str | None) -> int:  # noqa: A001
    """Show what is coming, of one JOB or of all, in local time and UTC."""
    with session(ctx) as here:
        if app is not None and not here.settings.now:
            here.now = own_clock()  # a declaration needs no store, so there is no store time to ask for
        if job is None:
            return _all(here, count, start, end, app)
        rule, row = stored_or_declared(here, job, app)
        found = _coming(here, rule, row, count, start, end)
        plain = {"v": 1, "job": rule.name, "tz": here.zone(rule.tz), "next": [_plain(here, rule, one) for one in found]}
        here.emit(plain, lambda: _text(here, rule, found))
        if row is None:
            here.remark(here.word("not_stored"))
        if app is None:
            here.remark_former(rule.tz)
    return problems.OK


def _coming(
    here: Session, rule: Job, row: JobRow | None, count: int, start: str | None, end: str | None
) -> tuple[Coming, ...]:
    after = _instant(here, start, rule) - 1 if start is not None else here.now
    until = _instant(here, end, rule) if end is not None else None
    if start is not None and until is not None and until <= after:
        raise problems.Trouble("backwards", start=start, end=end, first="--from", second="--to")
    return coming(rule, after, count, here.voice(rule.tz), job_row=row, until=until)


def _instant(here: Session, text: str, rule: Job) -> Micros:
    if here.settings.tz:
        return moment(here, text)
    here.settings.tz = rule.tz  # a time about a job is meant in the job's zone
    try:
        return moment(here, text)
    finally:
        here.settings.tz = ""


def _text(here: Session, rule: Job, found: tuple[Coming, ...]) -> str:
    head = trigger_text(rule.trigger, here.lang)
    if rule.window is not None:
        head = here.word("window_part", rule=head, window=window_text(rule.window, here.lang))
    if here.zone(rule.tz) not in head:
        head += f"   ({here.zone(rule.tz)})"
    if not found:
        last = over_since(rule, here.now)
        nothing = here.voice(rule.tz).say("next_none_since" if last else "next_none", last=last)
        return f"{head}\n  {nothing}"
    wide = max(width(one.distance) for one in found)
    lines = [
        f"  {one.local} {one.offset}   {one.utc}   {pad(one.distance, wide)}  {'; '.join(one.notes)}".rstrip()
        for one in found
    ]
    return joined([head, *lines])


def _plain(here: Session, rule: Job, one: Coming) -> dict[str, Any]:
    return {
        "job": rule.name,
        "occurrence": stamp(one.at, here.zone(rule.tz)),
        "utc": stamp(one.at, "UTC"),
        "business_date": one.business_date,
        "would_run": one.would_run,
        "notes": list(one.notes),
    }


def _all(here: Session, count: int, start: str | None, end: str | None, app: str | None) -> int:
    """The next moments of all jobs, of the store or as an app declares them, merged."""
    merged: list[tuple[Job, Coming]] = []
    rules: list[tuple[Job | None, JobRow | None]] = (
        [(read_rule(row), row) for row in here.store.jobs()]
        if app is None
        else [(rule, None) for rule in declared_jobs(app)]
    )
    for rule, row in rules:
        if rule is not None and rule.is_series:
            merged += [(rule, one) for one in _coming(here, rule, row, count, start, end)]
    merged.sort(key=lambda pair: (pair[1].at, pair[0].name))
    merged = merged[:count]
    rows = [
        [f"{one.local} {one.offset}", one.utc, one.distance, Told(rule.name), "; ".join(one.notes)]
        for rule, one in merged
    ]
    here.emit(
        {"v": 1, "next": [_plain(here, rule, one) for rule, one in merged]},
        lambda: table(here.header("next_header"), rows),
    )
    if not merged:
        here.remark(here.word("nothing_comes" if app is None else "nothing_comes_app"))
    elif app is not None:
        here.remark(here.word("not_stored"))
    if app is None:
        here.remark_former(here.one_zone or "UTC")
    return problems.OK
