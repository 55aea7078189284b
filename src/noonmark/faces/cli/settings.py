"""The global options and what they add up to.

Rule of the file: precedence is flag, then environment, then default; every option names its environment twin.
"""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass, field
from typing import Any, TextIO

import click
from click.core import ParameterSource

from noonmark.core.urls import DEFAULT_URL


@dataclass(slots=True)
class Settings:
    """What the person asked for, wherever on the line it stood."""

    url: str = ""
    json: bool = False
    lang: str = ""
    no_color: bool = False
    tz: str = ""
    now: str = ""
    yes: bool = False
    quiet: bool = False
    verbose: bool = False
    state: tuple[str, ...] = ()
    """The state folders that were named, for the commands that read some."""
    typed: set[str] = field(default_factory=set)
    """Names of the options that stood on the line; the others come from the environment."""
    answered: bool = False
    """True once the command has printed its one JSON object."""

    @property
    def language(self) -> str:
        """Return "zh" or "en": asked for, else as the environment speaks; never what the terminal cannot show."""
        spoken = (
            self.lang or os.environ.get("NOONMARK_LANG") or os.environ.get("LC_ALL") or os.environ.get("LANG") or ""
        )
        return "zh" if spoken.lower().startswith("zh") and (self.json or _shows_chinese()) else "en"

    @property
    def store_url(self) -> str:
        """Return where the store is."""
        return self.url or os.environ.get("NOONMARK_URL") or DEFAULT_URL


def wants_json(args: list[str], asked: Settings) -> bool:
    """Say whether a failure is told as JSON, also where the line was refused before its options were read."""
    if asked.json or "--json" in args:
        return True
    return os.environ.get("NOONMARK_JSON", "").lower() in ("1", "true", "t", "yes", "y", "on")


def writes_unicode(stream: TextIO) -> bool:
    """Return False where the stream may refuse a sign."""
    return (stream.encoding or "ascii").lower().replace("-", "").startswith("utf")


def _shows_chinese() -> bool:
    encoding = (sys.stdout.encoding or "ascii").lower().replace("-", "")
    if encoding in ("ascii", "usascii", "ansi_x3.41968"):
        return True  # a terminal of which nothing is known: click writes UTF-8 there
    try:
        "准点，".encode(encoding)
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def global_options() -> list[click.Option]:
    """Return fresh options that any command and the group itself take."""
    return [
        _option("--url", help="Where the store is.", show_envvar=True, envvar="NOONMARK_URL", metavar="URL"),
        _option(
            "--json",
            help="Print JSON: one versioned object, also of a failure.",
            is_flag=True,
            show_envvar=True,
            envvar="NOONMARK_JSON",
        ),
        _option("--lang", help="Language of sentences (env: NOONMARK_LANG, LANG).", type=click.Choice(["en", "zh"])),
        _option(
            "--tz",
            help="Zone in which times are read and told.",
            show_envvar=True,
            envvar="NOONMARK_TZ",
            metavar="ZONE",
        ),
        _option("--now", help="Pretend that it is this time (reads only).", metavar="TIME"),
        _option("--no-color", help="Plain text (also: NO_COLOR).", is_flag=True),
        _option("--yes", help="Do not ask back.", is_flag=True),
        _option("-q", "--quiet", help="Data only, no remarks.", is_flag=True),
        _option("-v", "--verbose", help="Say more; show tracebacks of faults in noonmark.", is_flag=True),
    ]


def _keep(ctx: click.Context, param: click.Parameter, value: Any) -> None:
    """Store an option that was given; one that was not must not undo what an outer command was told."""
    if value is None or value is False or param.name is None:
        return
    settings = ctx.ensure_object(Settings)
    typed = ctx.get_parameter_source(param.name) is ParameterSource.COMMANDLINE
    if typed:
        settings.typed.add(param.name)
    elif param.name in settings.typed:
        return  # the environment has no say where an outer command was told
    setattr(settings, param.name, value)


def _option(*names: str, **extra: Any) -> click.Option:
    extra.setdefault("callback", _keep)
    if not extra.get("is_flag"):
        extra.setdefault("default", None)
    return click.Option(names, expose_value=False, is_eager=True, **extra)
