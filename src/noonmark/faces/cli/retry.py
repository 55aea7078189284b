"""``noonmark retry``: a person takes an occurrence that failed for good back into the queue."""

from __future__ import annotations

import click

from noonmark.core.model import Act
from noonmark.faces.cli.acts import carry_out, must_exist, number_of
from noonmark.faces.cli.session import Command, session


@click.command(cls=Command, acts=True)
@click.argument("occurrence")
@click.option("--reason", default="", metavar="TEXT", help="Why; kept in the ledger.")
@click.pass_context
def retry(ctx: click.Context, occurrence: str, reason: str) -> int:
    """Try an occurrence (123 or r123) that needs a person again: same key, steps kept, attempts fresh."""
    number = number_of(occurrence)
    with session(ctx) as here:
        must_exist(here, number)
        act = Act(kind="retry", actor=here.actor, reason=reason, occurrence_id=number)
        return carry_out(here, act, done="is_due_again", what=f"r{number}")
