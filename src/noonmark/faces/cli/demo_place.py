"""Where the demo plays: a file in its folder, or a namespace of its own on somebody's server.

Rule of the file: on a server nothing is touched but the one namespace that the demo made, and that one is erased whatever
happens, unless it is to be kept.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

import click

from noonmark.faces.cli import problems
from noonmark.faces.cli.demo_words import say


def file_url(folder: Path) -> str:
    """Return the URL of the demo's own file."""
    return f"sqlite:///{quote(str(folder / 'noonmark.db'))}"


def server_url(url: str) -> str:
    """Return the URL of a fresh namespace on the server that a person named.

    Raises:
        Trouble: the store has no namespaces that could be made and erased.
    """
    from noonmark.wiring import shown, trial_url

    try:
        found = trial_url(url, secrets.token_hex(4))
    except ValueError as error:
        raise problems.not_opened(shown(url), error) from None
    if found is None:
        raise problems.Trouble("demo_url", url=shown(url))
    return found


@contextmanager
def erased_at_the_end(url: str | None, lang: str, *, keep: bool) -> Iterator[None]:
    """Take the demo's namespace away when the block ends, however it does."""
    from noonmark.ports.store import StoreError
    from noonmark.wiring import erase_trial, shown

    try:
        yield
    finally:
        if url is not None and not keep:
            try:
                erase_trial(url)
                click.echo(say(lang, "erased", url=shown(url)))
            except StoreError as trouble:
                click.echo(say(lang, "not_erased", url=shown(url), error=trouble), err=True)
