"""``noonmark pause``: no start of this job until somebody resumes it."""

from __future__ import annotations

import click

from noonmark.core.model import Act
from noonmark.core.told import Told
from noonmark.explain.find import the_job
from noonmark.faces.cli.acts import answered, carried_out, reason_given
from noonmark.faces.cli.session import Command, session


@click.command(cls=Command, acts=True)
@click.argument("job")
@click.option("--reason", required=True, metavar="TEXT", help="Why; shown by why and jobs.")
@click.pass_context
def pause(ctx: click.Context, job: str, reason: str) -> int:
    """Pause a job: what falls due meanwhile is recorded as skipped, what runs goes on."""
    with session(ctx) as here:
        row = the_job(here.store, job)
        act = Act(kind="pause", actor=here.actor, reason=reason_given(reason), job=job)
        done = "is_paused" if row.rule else "is_paused_ended"
        return answered(here, act, carried_out(here, act), done=done, what=Told(job), ended=not row.rule)
