"""``noonmark signal``: say that data is ready, or that it is not after all."""

from __future__ import annotations

from typing import Any

import click

from noonmark.core.codec import check_payload
from noonmark.core.conditions import check_flag_name
from noonmark.core.model import Fact
from noonmark.faces.cli import problems
from noonmark.faces.cli.params import read_json
from noonmark.faces.cli.session import Command, session


@click.command(cls=Command, acts=True)
@click.argument("name")
@click.option("--clear", is_flag=True, help="Clear the flag instead of setting it.")
@click.option("--value", metavar="JSON", help="What to set it to; true when left out.")
@click.pass_context
def signal(ctx: click.Context, name: str, clear: bool, value: str | None) -> int:
    """Set or clear the flag NAME and wake what waits for it; setting it to what it is changes nothing."""
    from noonmark.engine.deeds import of_flag

    if clear and value is not None:
        raise problems.Trouble("clear_value")
    wanted: Any = None if clear else (True if value is None else read_json("--value", value))
    if not clear and (wanted is None or wanted is False):
        raise problems.Trouble("false_flag")
    name = name.removeprefix("flag:")
    try:
        check_flag_name(name)
    except ValueError as error:
        raise problems.Trouble("bad_flag", error=str(error)) from None
    try:
        check_payload("--value", wanted)
    except (TypeError, ValueError) as error:
        raise problems.Trouble("bad_payload", error=str(error)) from None
    fact = f"flag:{name}"
    with session(ctx, create=True) as here:
        versions = here.store.signal(here.request_id(), [Fact(name=fact, value=wanted, actor=here.actor)])
        state = here.word("flag_cleared" if clear else "flag_set")
        plain = {"v": 1, "flag": name, "set": not clear, "value": wanted, "version": versions[0]}
        here.remember(lambda: [of_flag(Fact(name=fact, value=wanted, actor=here.actor))])
        here.emit(plain, lambda: here.word("signalled", flag=name, state=state, version=versions[0]))
    return problems.OK
