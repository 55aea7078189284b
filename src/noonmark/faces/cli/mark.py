"""``noonmark mark``: a person records what became of an occurrence."""

from __future__ import annotations

import click

from noonmark.core.model import Act
from noonmark.faces.cli.acts import carry_out, must_exist, number_of, reason_given
from noonmark.faces.cli.session import Command, session

_DONE = {"done": "is_done", "handled": "is_handled", "skip": "is_skipped"}


@click.command(cls=Command, acts=True)
@click.argument("occurrence")
@click.argument("what", type=click.Choice(["done", "handled", "skip"]))
@click.option("--reason", required=True, metavar="TEXT", help="Why; kept in the ledger.")
@click.pass_context
def mark(ctx: click.Context, occurrence: str, what: str, reason: str) -> int:
    """Record that an occurrence (123 or r123) is done, was handled elsewhere, or will not run (skip)."""
    number = number_of(occurrence)
    with session(ctx) as here:
        must_exist(here, number)
        act = Act(kind=f"mark_{what}", actor=here.actor, reason=reason_given(reason), occurrence_id=number)
        return carry_out(here, act, done=_DONE[what], what=f"r{number}")
