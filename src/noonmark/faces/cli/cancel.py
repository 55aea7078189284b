"""``noonmark cancel``: one occurrence, or everything open that holds a key."""

from __future__ import annotations

import click

from noonmark.core.model import Act
from noonmark.explain.find import the_job
from noonmark.faces.cli import problems
from noonmark.faces.cli.acts import carry_out, must_exist, number_of
from noonmark.faces.cli.session import Command, session


@click.command(cls=Command, acts=True)
@click.argument("occurrence", required=False)
@click.option("--key", metavar="KEY", help="Cancel what holds this key; an unknown key is held from now on.")
@click.option("--job", metavar="JOB", help="The job that an unknown key belongs to.")
@click.option("--reason", default="", metavar="TEXT", help="Why; kept in the ledger.")
@click.pass_context
def cancel(ctx: click.Context, occurrence: str | None, key: str | None, job: str | None, reason: str) -> int:
    """Cancel an occurrence (123 or r123), or everything open with --key.

    A running one is asked to stop; one that is done stays done (exit 3).
    """
    if (occurrence is None) == (key is None):
        raise problems.Trouble("cancel_which")
    if key is None and job is not None:
        raise problems.Trouble("option_goes_with", option="--job", other="--key")
    number = number_of(occurrence) if occurrence is not None else None
    with session(ctx) as here:
        if number is not None:
            must_exist(here, number)
        if job is not None:
            the_job(here.store, job)
        act = Act(kind="cancel", actor=here.actor, reason=reason, occurrence_id=number, key=key, job=job)
        what = f"r{number}" if number is not None else here.word("what_key", key=key)
        return carry_out(here, act, done="is_cancelled", what=what)
