"""``noonmark mark``: a person records what became of an occurrence."""

from __future__ import annotations

import click

from noonmark.core.model import Act
from noonmark.faces.cli.acts import carry_out, must_exist, number_of
from noonmark.faces.cli.session import Command, session


@click.command(cls=Command)
@click.argument("occurrence")
@click.argument("what", type=click.Choice(["done", "handled", "skip"]))
@click.option("--reason", required=True, metavar="TEXT", help="Why; kept in the ledger.")
@click.pass_context
def mark(ctx: click.Context, occurrence: str, what: str, reason: str) -> int:
    """Record that an occurrence (123 or r123) is done, was handled elsewhere, or will not run (skip)."""
    number = number_of(occurrence)
    with session(ctx) as here:
        must_exist(here, number)
        act = Act(kind=f"mark_{what}", actor=here.actor, reason=reason, occurrence_id=number)
        words = {"done": ("is marked as done", "已标记为完成"), "handled": ("is marked as handled", "已标记为已处理")}
        done, done_zh = words.get(what, ("will not run", "不再运行"))
        return carry_out(here, act, done=done, done_zh=done_zh, what=f"occurrence r{number}")
