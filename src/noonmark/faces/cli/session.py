"""What every command needs: the store, the time, the voice, and a way to print.

Rule of the file: stdout carries data, stderr carries remarks.  Reads never create a database.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from noonmark.core import times
from noonmark.core.model import Micros
from noonmark.explain.voice import Voice
from noonmark.faces.cli import problems
from noonmark.faces.cli.lazy import Command, settings_of
from noonmark.faces.cli.settings import Settings, writes_unicode

if TYPE_CHECKING:
    from noonmark.ports.store import Store

__all__ = ["Command", "Session", "session", "settings_of"]

_SQLITE = "sqlite:///"


class Session:
    """One call of the command line."""

    def __init__(self, settings: Settings, *, create: bool = False) -> None:
        self.settings = settings
        self._create = create

    @cached_property
    def store(self) -> Store:
        """The store; a file that is not there is trouble, unless this command may create one."""
        from noonmark.wiring import open_store

        url = self.settings.store_url
        if url.startswith("memory:"):
            raise problems.Trouble(
                "a memory:// store lives inside one process, so no command can look at it",
                do="use sqlite:///PATH, with --url or NOONMARK_URL",
                code=problems.UNREACHABLE,
            )
        path = sqlite_path(url)
        if path is not None and not self._create and not path.exists():
            raise problems.Trouble(
                f"there is no store at {path}",
                why="looking never creates one",
                do="start a worker there first (noonmark dev APP), try noonmark demo, or name another with --url",
                code=problems.UNREACHABLE,
            )
        try:
            return open_store(url)
        except ValueError as error:
            raise problems.Trouble(f"cannot open {url}: {error}", code=problems.USAGE) from None

    @cached_property
    def now(self) -> Micros:
        """Store time, or what ``--now`` pretends."""
        if self.settings.now:
            try:
                return times.parse_instant(self.settings.now, self.settings.tz or "UTC")
            except ValueError as error:
                raise problems.Trouble(f"--now: {error}") from None
        return self.store.now()

    @property
    def lang(self) -> str:
        """Return "en" or "zh"."""
        return self.settings.language

    def zone(self, default: str = "UTC") -> str:
        """Return the zone to tell times in: ``--tz``, else the given one."""
        if not self.settings.tz:
            return default
        try:
            times.zone(self.settings.tz)
        except ValueError as error:
            raise problems.Trouble(f"--tz: {error}") from None
        return self.settings.tz

    def voice(self, zone: str = "UTC") -> Voice:
        """Return the voice in which to tell things about a job of this zone."""
        return Voice(lang=self.lang, zone=self.zone(zone), now=self.now)

    @property
    def unicode(self) -> bool:
        """Return False where the terminal cannot show more than ASCII."""
        return writes_unicode(sys.stdout)

    @property
    def actor(self) -> str:
        """Return who acts, for the ledger."""
        return os.environ.get("NOONMARK_ACTOR") or os.environ.get("USER") or os.environ.get("USERNAME") or "cli"

    def request_id(self) -> str:
        """Return a new id for one intention."""
        return f"cli-{os.urandom(12).hex()}"

    def say(self, text: str) -> None:
        """Print data."""
        click.echo(self._painted(text) if self._colours() else text)

    def remark(self, text: str) -> None:
        """Print a remark to stderr, unless asked to be quiet."""
        if not self.settings.quiet:
            click.echo(text, err=True)

    def emit(self, plain: dict[str, Any], text: Callable[[], str]) -> None:
        """Print one object as JSON, or its text."""
        if self.settings.json:
            click.echo(json.dumps(plain, ensure_ascii=not self.unicode))
        else:
            self.say(text())

    def close(self) -> None:
        """Give the store back, if it was opened."""
        if "store" in self.__dict__:
            self.store.close()

    def _colours(self) -> bool:
        if self.settings.no_color or os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
            return False
        return bool(os.environ.get("FORCE_COLOR")) or sys.stdout.isatty()

    @staticmethod
    def _painted(text: str) -> str:
        colours = {"  ✔ ": "\x1b[32m", "  ✖ ": "\x1b[31m", "  - ": "\x1b[2m"}
        lines = []
        for line in text.splitlines():
            start = colours.get(line[:4])
            lines.append(f"{start}{line[:4]}\x1b[0m{line[4:]}" if start else line)
        return "\n".join(lines)


@contextmanager
def session(ctx: click.Context, *, create: bool = False) -> Iterator[Session]:
    """Open a session for a command; ``create`` allows it to make a new database."""
    opened = Session(settings_of(ctx), create=create)
    try:
        yield opened
    finally:
        opened.close()


def sqlite_path(url: str) -> Path | None:
    """Return the file of a SQLite URL, None for other stores."""
    if not url.startswith(_SQLITE):
        return None
    from urllib.parse import unquote

    return Path(unquote(url.removeprefix(_SQLITE).partition("?")[0]))
