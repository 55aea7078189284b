"""Where the demo plays: a file in its folder, or a namespace of its own on somebody's server.

Rule of the file: on a server nothing is touched but the one namespace that the demo made, and that one is erased whatever
happens, unless it is to be kept; where it could not be, it is said what is left and how it is taken away.
"""

from __future__ import annotations

import contextlib
import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

import click

from noonmark.core.errors_zh import in_chinese
from noonmark.faces.cli import problems
from noonmark.faces.cli.demo_stage import command_name
from noonmark.faces.cli.demo_words import say
from noonmark.faces.cli.session import open_at
from noonmark.ports.store import Store, StoreError, StoreUnreachable

ERASE_PATIENCE = 20.0
"""Seconds that the demo goes on trying to take its namespace away."""


def file_url(folder: Path) -> str:
    """Return the URL of the demo's own file."""
    return f"sqlite:///{quote(str(folder / 'noonmark.db'))}"


def server_url(url: str, name: str = "") -> str:
    """Return the URL of a namespace of the demo on the server that a person named.

    Args:
        url: of the server.
        name: of a namespace that a demo left there; "" makes up a fresh one.

    Raises:
        Trouble: the store has no namespaces that could be made and erased, or this is none of a demo's.
    """
    from noonmark.wiring import TRIAL, shown, trial_url

    if name and (not name.startswith(TRIAL) or not name.removeprefix(TRIAL).isalnum()):
        raise problems.Trouble("demo_no_trial", name=name, example=f"{TRIAL}1a2b3c4d")
    try:
        found = trial_url(url, name.removeprefix(TRIAL) or secrets.token_hex(4))
    except ValueError as error:
        raise problems.not_opened(shown(url), error) from None
    if found is None:
        raise problems.Trouble("demo_url", url=shown(url))
    return found


@contextmanager
def played_at(url: str, lang: str, *, erase: bool) -> Iterator[Store]:
    """Open the store; with ``erase`` take the namespace away when the block ends, however it does.

    Where it cannot be opened nothing was made, and nothing is said about taking it away.
    """
    try:
        store = open_at(url, create=True)
    except StoreError as refused:
        if erase and not isinstance(refused, StoreUnreachable):
            with contextlib.suppress(StoreError, ValueError):
                _erase(url)
        raise
    try:
        yield store
    finally:
        store.close()
        if erase:
            _take_away(url, lang)


def erase_left(url: str, lang: str) -> bool:
    """Take away what a demo left that was killed, or that had lost its server; return whether there was anything."""
    from noonmark.wiring import shown

    was_there = _erase(url) > 0
    click.echo(say(lang, "erased_left" if was_there else "nothing_left", url=shown(url)))
    return was_there


def _take_away(url: str, lang: str) -> None:
    from noonmark.wiring import shown

    try:
        _patiently(url)
    except (StoreError, KeyboardInterrupt) as trouble:
        error = str(trouble) or say(lang, "was_interrupted")
        click.echo(
            say(lang, "not_erased", url=shown(url), error=in_chinese(error) if lang == "zh" else error), err=True
        )
        name = url.rpartition("=")[2]
        click.echo(say(lang, "how_to_erase", command=f"{command_name()} demo --url URL --erase {name}"), err=True)
    else:
        click.echo(say(lang, "erased", url=shown(url)))


def _patiently(url: str) -> None:
    deadline = time.monotonic() + ERASE_PATIENCE
    while True:
        try:
            _erase(url)
        except StoreUnreachable:
            if time.monotonic() > deadline:
                raise
            time.sleep(1.0)
        else:
            return


def _erase(url: str) -> int:
    from noonmark.wiring import erase_trial

    return erase_trial(url)
