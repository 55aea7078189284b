"""What every command needs: the store, the time, the voice, and a way to print.

Rule of the file: stdout carries data, stderr carries remarks.  Reads never create a store.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from noonmark.core import times
from noonmark.core.model import Job, Micros, WorkerInfo
from noonmark.core.shown import Told, json_text, printable, redacted
from noonmark.explain.find import read_rule
from noonmark.explain.voice import Voice
from noonmark.faces.cli import problems, words
from noonmark.faces.cli.lazy import Command, refuse_pretending, settings_of
from noonmark.faces.cli.memories import memories, store_id
from noonmark.faces.cli.settings import Settings, writes_unicode

if TYPE_CHECKING:
    from noonmark.core.former import Former
    from noonmark.core.model.rollback import Epoch
    from noonmark.engine.deeds import Deed
    from noonmark.engine.witnessing import Witness
    from noonmark.explain.processes import Lives
    from noonmark.ports.store import Store

__all__ = ["Command", "Session", "session", "settings_of"]

_SQLITE = "sqlite:///"
WRITERS_SHOWN = 20
"""Most writers that are named."""
DAMAGE_SHOWN = 10
"""Most damaged lines that are named one by one."""


class Session:
    """One call of the command line."""

    def __init__(self, settings: Settings, *, create: bool = False) -> None:
        self.settings = settings
        self._create = create
        self.damaged: list[str] = []
        """The lines of journals, as FILE:LINE, that could not be believed."""

    @cached_property
    def store(self) -> Store:
        """The store; one that is not there is trouble, unless this command may create it."""
        return open_at(self.settings.store_url, create=self._create)

    @cached_property
    def now(self) -> Micros:
        """Store time, or what ``--now`` pretends."""
        if self.settings.now:
            try:
                return times.parse_instant(self.settings.now, self.settings.tz or "UTC")
            except ValueError as error:
                raise problems.Trouble("bad_time", option="--now", error=str(error)) from None
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
            raise problems.Trouble("bad_tz", error=str(error)) from None
        return self.settings.tz

    @cached_property
    def one_zone(self) -> str:
        """``--tz``, else the zone that all scheduled jobs share, "" when there is no such one."""
        if self.settings.tz:
            return self.zone()
        rules = [rule for row in self.store.jobs() if (rule := read_rule(row)) is not None]
        zones = {rule.tz for rule in rules if rule.is_series} or {rule.tz for rule in rules}
        return zones.pop() if len(zones) == 1 else ""

    def zone_of(self, rule: Job | None) -> str:
        """Return the zone in which a table tells the times of one job's rows."""
        return self.one_zone or (rule.tz if rule is not None else "UTC")

    def say_zone(self) -> None:
        """Remark in which zone the table's times are."""
        one = self.one_zone
        self.remark(self.word("times_are", zone=one) if one else self.word("times_differ"))

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
        names = (os.environ.get(name) for name in ("NOONMARK_ACTOR", "USER", "USERNAME"))
        named = next(filter(None, names), "cli")
        return named.encode("utf-8", "backslashreplace").decode("utf-8")  # who acts is told, whatever the name's bytes

    @cached_property
    def memories(self) -> tuple[Path, ...]:
        """Return the state folders of workers that are asked what the store lost."""
        return memories(self.settings, self.store)

    @property
    def witness(self) -> Witness | None:
        """Return who says what the workers' journals have of ranges that the store lost."""
        from noonmark.engine import witnessing

        store: Any = self.store
        if not (self.settings.state or hasattr(store, "store_id")):
            return None
        return witnessing.witness(self.memories, store_id(store), self.tell_damage)

    @property
    def former(self) -> tuple[str, ...]:
        """Return the ids of other stores that lay here before, as the workers of this machine remember."""
        from noonmark.engine import places

        store: Any = self.store
        if not hasattr(store, "store_id"):
            return ()
        return tuple(name for _, name in places.former(self.memories, places.place_of(store), store_id(store)))

    def remark_absent(self, epochs: Sequence[Epoch]) -> None:
        """Say whose journals are elsewhere: without them nothing of what that writer did is known here."""
        from noonmark.engine.witnessing import absent

        missing = absent(self.memories, store_id(self.store), epochs) if epochs else ()
        if missing:
            self.remark(self.word("ledger_absent", writers=", ".join(missing[:WRITERS_SHOWN])))

    def tell_damage(self, place: str) -> None:
        """Remark, once, that a line of a journal (FILE:LINE) says nothing any more."""
        if place not in self.damaged:
            self.damaged.append(place)
            if len(self.damaged) <= DAMAGE_SHOWN:
                self.remark(self.word("journal_damaged", place=place))
            elif len(self.damaged) == DAMAGE_SHOWN + 1:
                self.remark(self.word("journals_damaged"))

    @cached_property
    def lives(self) -> Lives | None:
        """Return who says of this machine's workers whether their process lives; a kernel knows of no other time."""
        if self.settings.now:
            return None
        from noonmark.engine.host import lives_here
        from noonmark.ports.clock import SystemClock

        boot_id = SystemClock().boot_id()
        return lambda worker: lives_here(worker, boot_id)

    @cached_property
    def workers(self) -> tuple[WorkerInfo, ...]:
        """Return the workers as far as this machine knows: the heartbeat of a process that is no more does not count."""
        from noonmark.explain.processes import as_known, processes

        workers = self.store.workers()
        return as_known(workers, processes(workers, self.lives), self.now)

    def remember(self, deeds: Callable[[], Sequence[Deed]]) -> None:
        """Write down, on this machine, what a person did, so that it can be typed again if the store loses it.

        Args:
            deeds: says what; it may read the store, and is asked only where something is remembered.
        """
        from noonmark.engine.deeds import remember
        from noonmark.engine.statefolder import root_of

        why = remember(root_of(None), self.store, deeds)
        if why:
            self.remark(self.word("deed_forgotten", why=why))

    def request_id(self) -> str:
        """Return a new id for one intention."""
        return f"cli-{os.urandom(12).hex()}"

    def refuse_pretending(self) -> None:
        """Refuse ``--now`` where something is done: what is done is done at the store's time."""
        refuse_pretending(self.settings)

    def word(self, key: str, /, **args: object) -> Told:
        """Return a text of ``words.py`` in the language of this call."""
        return words.say(key, self.lang, **args)

    def header(self, key: str, /, **args: object) -> list[str]:
        """Return the columns of a table's header."""
        return self.word(key, **args).split("|")

    def say(self, text: str) -> None:
        """Print data, without secrets and without what would drive the terminal."""
        text = printable(redacted(text))
        click.echo(self._painted(text) if self._colours() else text)

    def remark_former(self, zone: str) -> None:
        """Say on stderr that another store lay here before this one, until a person takes that away."""
        from noonmark.explain.fragments import former_lines

        for line in former_lines(self.told_former, self.voice(zone)):
            self.remark(line)

    @cached_property
    def told_former(self) -> Former | None:
        """Return the store that lay here before, as this one was told."""
        from noonmark.core import former

        return former.former_of(self.store.facts([former.FACT])[former.FACT])

    def remark(self, text: str) -> None:
        """Print a remark to stderr, unless asked to be quiet."""
        if not self.settings.quiet:
            click.echo(printable(redacted(text)), err=True)

    def emit(self, plain: dict[str, Any], text: Callable[[], str]) -> None:
        """Print one object as JSON, or its text."""
        if self.settings.json:
            self.settings.answered = True
            click.echo(json_text(plain, ascii_only=not self.unicode))
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


def open_at(url: str, *, create: bool = False, unfinished: bool = False) -> Store:
    """Open a store for the command line.

    Args:
        url: where.
        create: a store that is not there may be made; else whoever looks at a mistyped place would make one there.
        unfinished: so may a store into which a copy is under way.
    """
    from noonmark.wiring import open_store, shown, sqlite_file

    if url.startswith("memory:"):
        raise problems.Trouble("memory_store", code=problems.UNREACHABLE)
    try:
        path = sqlite_file(url)
        if path is not None and not create and not path.exists():
            raise problems.Trouble("no_store", path=str(path), code=problems.UNREACHABLE)
        return open_store(url, unfinished=unfinished, create=create)
    except ValueError as error:
        raise problems.not_opened(shown(url), error) from None


@contextmanager
def session(ctx: click.Context, *, create: bool = False) -> Iterator[Session]:
    """Open a session for a command; ``create`` allows it to make a new store."""
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
