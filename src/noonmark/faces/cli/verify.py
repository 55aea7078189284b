"""``noonmark verify``: the proof that nothing was lost and nothing ran twice."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from typing import TYPE_CHECKING

import click

from noonmark.core import times
from noonmark.explain.expected import TooMany
from noonmark.explain.report import report_json, report_text
from noonmark.explain.verify import verify as prove
from noonmark.faces.cli import problems
from noonmark.faces.cli.memories import state_option
from noonmark.faces.cli.session import Command, Session, session

if TYPE_CHECKING:
    from noonmark.engine.witnessing import Untold


@click.command(cls=Command)
@click.option("--since", default="24h", show_default=True, metavar="TIME", help="How far back: 24h, or a time.")
@click.option("--until", metavar="TIME", help="Until when; now when left out.")
@click.option("--job", metavar="JOB", help="Only this job.")
@state_option
@click.pass_context
def verify(ctx: click.Context, since: str, until: str | None, job: str | None) -> int:
    """Recompute from the rules what should exist and prove the ledger against it.

    Exit code 1 if anything ran twice, is unaccounted for, or an invariant does not hold, and while the store went back
    in time and nobody has released that (noonmark ledger).
    """
    with session(ctx) as here:
        if job is not None:
            from noonmark.explain.find import the_job

            the_job(here.store, job)
        start = moment(here, since)
        if start > here.now:
            raise problems.Trouble("since_to_come", text=since)
        end = moment(here, until) if until is not None else (here.now if here.settings.now else None)
        if end is not None and end < start:
            raise problems.Trouble("backwards", start=since, end=until, first="--since", second="--until")
        try:
            report = prove(
                here.store,
                start,
                end,
                job=job,
                lives=here.lives,
                witness=here.witness if here.memories else None,
                untold=_untold(here),
            )
        except TooMany as error:
            raise problems.Trouble("too_many", job=str(error)) from None
        told = [here.told_former.store] if here.told_former is not None else []
        report = replace(report, former=tuple(dict.fromkeys((*here.former, *told))))
        if any(not setback.is_over for setback in report.setbacks):
            from noonmark.engine.mending import epochs

            here.remark_absent(epochs(here.store))
        here.emit(report_json(report, here.zone()), lambda: report_text(report, here.voice(here.one_zone or "UTC")))
        return problems.OK if report.ok else problems.NO


def _untold(here: Session) -> Untold:
    from noonmark.engine.witnessing import untold

    return untold(here.memories, here.store)


def _is_date(text: str) -> bool:
    try:
        return bool(date.fromisoformat(text))
    except ValueError:
        return False


def moment(here: Session, text: str) -> int:
    """Read "24h" as so long ago, anything else as a time (UTC microseconds)."""
    from noonmark.core.durations import parse_duration

    try:
        return here.now - parse_duration(text)
    except ValueError:
        pass
    try:
        text = text.replace(" ", "T")
        return times.parse_instant(f"{text}T00:00:00" if _is_date(text) else text, here.zone())
    except ValueError as error:
        raise problems.Trouble("bad_span", text=text, error=str(error)) from None
