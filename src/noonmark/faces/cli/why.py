"""``noonmark why``: one sentence and the checks behind it."""

from __future__ import annotations

import click

from noonmark.explain import render
from noonmark.explain.find import parse_id
from noonmark.explain.why import why as explain
from noonmark.faces.cli import problems
from noonmark.faces.cli.session import Command, session


@click.command(cls=Command)
@click.argument("job", required=False)
@click.option("--at", metavar="TIME", help="The moment: 2026-11-28, 2026-11-28T18:30, with or without offset.")
@click.option("--key", metavar="KEY", help="The rendered key, as history shows it.")
@click.option("--occurrence", metavar="OCC", help="The occurrence, 123 or r123.")
@click.pass_context
def why(ctx: click.Context, job: str | None, at: str | None, key: str | None, occurrence: str | None) -> int:
    """Say why something ran, did not run, ran late or ran twice.

    Without --at, --key or --occurrence: the newest occurrence of JOB that matters.
    """
    number = None
    try:
        if occurrence is not None:
            number = parse_id(occurrence)
        elif job is None and key is None:
            raise problems.Trouble("say which job, --key or --occurrence", do="noonmark jobs")
        elif job is not None and at is None and key is None and job[:1] == "r" and job[1:].isdigit():
            number = parse_id(job)  # `noonmark why r123` is what people type
        with session(ctx) as here:
            told = explain(
                here.store,
                job if number is None else None,
                at=at,
                key=key,
                occurrence_id=number,
                lang=here.lang,
                tz=here.zone("") or None,
                now=here.now,
            )
            here.emit(render.explanation_json(told), lambda: render.explanation_text(told, unicode=here.unicode))
    except ValueError as error:
        raise problems.Trouble(str(error), do="write a time as 2026-11-28T18:30") from None
    return problems.OK
