"""``noonmark resume``: a paused job goes on with what is still to come."""

from __future__ import annotations

import click

from noonmark.core.model import Act
from noonmark.core.told import Told
from noonmark.explain.find import the_job
from noonmark.faces.cli.acts import answered, carried_out
from noonmark.faces.cli.session import Command, session


@click.command(cls=Command, acts=True)
@click.argument("job")
@click.option("--reason", default="", metavar="TEXT", help="Why; kept in the ledger.")
@click.pass_context
def resume(ctx: click.Context, job: str, reason: str) -> int:
    """Resume a paused job; what fell due during the pause is not run."""
    with session(ctx) as here:
        row = the_job(here.store, job)
        act = Act(kind="resume", actor=here.actor, reason=reason, job=job)
        done = "is_resumed" if row.rule else "is_resumed_ended"
        return answered(here, act, carried_out(here, act), done=done, what=Told(job), ended=not row.rule)
