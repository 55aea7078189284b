"""``noonmark why``: one sentence and the checks behind it."""

from __future__ import annotations

import click

from noonmark.core.model import Query
from noonmark.explain import render
from noonmark.explain.why import why as explain
from noonmark.faces.cli import problems
from noonmark.faces.cli.acts import number_of
from noonmark.faces.cli.memories import state_option
from noonmark.faces.cli.session import Command, Session, session


@click.command(cls=Command)
@click.argument("job", required=False)
@click.option("--at", metavar="TIME", help="The moment: 2026-11-28, 2026-11-28T18:30, with or without offset.")
@click.option("--key", metavar="KEY", help="The rendered key, as history shows it.")
@click.option("--occurrence", metavar="OCC", help="The occurrence, 123 or r123.")
@state_option
@click.pass_context
def why(ctx: click.Context, job: str | None, at: str | None, key: str | None, occurrence: str | None) -> int:
    """Say why something ran, did not run, ran late or ran twice.

    Without --at, --key or --occurrence: the newest occurrence of JOB that matters.
    """
    number = None
    clashes = (
        ("--occurrence", "--key", occurrence and key),
        ("--occurrence", "--at", occurrence and at),
        ("--key", "--at", key and at),
    )
    for first, second, clash in clashes:
        if clash:
            raise problems.Trouble("why_two", first=first, second=second)
    if occurrence is not None:
        number = number_of(occurrence)
    elif job is None and key is None:
        raise problems.Trouble("say_why_which")
    elif job is not None and at is None and key is None and job[:1] == "r" and job[1:].isdigit():
        number = number_of(job)  # `noonmark why r123` is what people type
    try:
        with session(ctx) as here:
            if occurrence is not None and number is not None and job is not None:
                _must_be_of(here, number, job)
            told = explain(
                here.store,
                job if number is None else None,
                at=at,
                key=key,
                occurrence_id=number,
                lang=here.lang,
                tz=here.zone("") or None,
                now=here.now,
                lives=here.lives,
                witness=here.witness,
            )
            here.emit(render.explanation_json(told), lambda: render.explanation_text(told, unicode=here.unicode))
    except ValueError as error:
        raise problems.Trouble("bad_time", option="--at", error=str(error)) from None
    return problems.OK


def _must_be_of(here: Session, number: int, job: str) -> None:
    rows = here.store.occurrences(Query(ids=(number,)))
    if rows and rows[0].job != job:
        raise problems.Trouble("occurrence_elsewhere", number=number, job=job, other=rows[0].job)
