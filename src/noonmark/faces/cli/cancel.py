"""``noonmark cancel``: one occurrence, or everything open that holds a key."""

from __future__ import annotations

import click

from noonmark.core.model import Act, Acted, Query
from noonmark.explain.find import the_job
from noonmark.faces.cli import problems
from noonmark.faces.cli.acts import answered, carried_out, must_exist, number_of
from noonmark.faces.cli.session import Command, Session, session


@click.command(cls=Command, acts=True)
@click.argument("occurrence", required=False)
@click.option("--key", metavar="KEY", help="Cancel what holds this key; an unknown key is held from now on.")
@click.option("--job", metavar="JOB", help="The job that an unknown key belongs to.")
@click.option("--reason", default="", metavar="TEXT", help="Why; kept in the ledger.")
@click.pass_context
def cancel(ctx: click.Context, occurrence: str | None, key: str | None, job: str | None, reason: str) -> int:
    """Cancel an occurrence (123 or r123), or everything open with --key.

    A running one is asked to stop; one that is done stays done (exit 3).
    A key that nothing has is held from now on: what a schedule, an event or a call asks for with it does not run then.
    A person's noonmark run goes all the same.
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
        answer = carried_out(here, act)
        if key is None:
            return answered(here, act, answer, done="is_cancelled", what=what)
        is_new = answer.outcome == "done" and _nothing_had_it(here, answer)
        done = "key_is_held" if is_new else "is_cancelled"
        return answered(here, act, answer, done=done, what=what, unknown_key=is_new)


def _nothing_had_it(here: Session, answer: Acted) -> bool:
    """True where the cancel made the row that has the key now: somebody may have mistyped it."""
    return any(row.code == "cancelled_before_create" for row in here.store.occurrences(Query(ids=answer.ids)))
