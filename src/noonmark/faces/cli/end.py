"""``noonmark end``: a job's rule is taken back; what it did stays on record."""

from __future__ import annotations

import click

from noonmark.core.model import Act
from noonmark.core.told import Told
from noonmark.explain.find import the_job
from noonmark.faces.cli.acts import answered, reason_given
from noonmark.faces.cli.session import Command, session


@click.command(cls=Command, acts=True)
@click.argument("job")
@click.option("--reason", required=True, metavar="TEXT", help="Why; kept in the ledger.")
@click.pass_context
def end(ctx: click.Context, job: str, reason: str) -> int:
    """End a job: nothing new falls due, what runs goes on, the history and its keys stay.

    A worker whose app still declares the job puts it in force again when it starts.
    """
    from noonmark.engine.activate import end as take_back

    reason = reason_given(reason)
    with session(ctx) as here:
        the_job(here.store, job)
        answer = take_back(here.store, job, actor=here.actor, reason=reason)
        act = Act(kind="end_job", actor=here.actor, reason=reason, job=job)
        return answered(here, act, answer, done="is_ended", what=Told(job))
