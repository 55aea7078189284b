"""``noonmark why``: one sentence and the checks behind it."""

from __future__ import annotations

import click

from noonmark.core.model import Query
from noonmark.core.told import Told
from noonmark.explain import render
from noonmark.explain.explanation import Explanation
from noonmark.explain.find import NotFound
from noonmark.explain.why import why as explain
from noonmark.faces.cli import problems
from noonmark.faces.cli.acts import number_of
from noonmark.faces.cli.memories import state_option, store_id
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
    JOB[tenant=a], as the tables print it, is one subject of it.
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
            told = _explained(
                here,
                job if number is None else None,
                at=at,
                key=key,
                occurrence_id=number,
            )
            here.emit(render.explanation_json(told), lambda: render.explanation_text(told, unicode=here.unicode))
    except ValueError as error:
        raise problems.Trouble("bad_time", option="--at", error=str(error)) from None
    return problems.OK


def _explained(
    here: Session, job: str | None, *, at: str | None, key: str | None, occurrence_id: int | None
) -> Explanation:
    try:
        return explain(
            here.store,
            job,
            at=at,
            key=key,
            occurrence_id=occurrence_id,
            lang=here.lang,
            tz=here.zone("") or None,
            now=here.now,
            lives=here.lives,
            witness=here.witness,
        )
    except NotFound as error:
        here.remark_former(here.one_zone or "UTC")
        if key is not None and error.name in ("no_key", "no_key_lost"):
            _say_what_journals_have(here, key, job)
        raise


def _say_what_journals_have(here: Session, key: str, job: str | None) -> None:
    """Let nobody take for "it never ran" what the store has lost and a journal still has."""
    from noonmark.engine.witnessing import remembered

    if here.witness is None:
        return
    seen = remembered(here.memories, store_id(here.store), key, job, here.tell_damage)
    if seen is not None:
        voice = here.voice(here.one_zone or "UTC")
        raise NotFound(
            "no_key_known", "do_ledger_show", key=key, job=Told(str(seen["job"])), number=seen["occurrence"],
            outcome=Told(str(seen["outcome"])), at=f"{voice.moment(seen['at'])} {voice.zone}",
            writer=Told(str(seen["writer"])),
        )  # fmt: skip


def _must_be_of(here: Session, number: int, job: str) -> None:
    rows = here.store.occurrences(Query(ids=(number,)))
    if rows and rows[0].job != job:
        raise problems.Trouble("occurrence_elsewhere", number=number, job=job, other=rows[0].job)
