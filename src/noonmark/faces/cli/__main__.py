"""The ``noonmark`` command and its one error boundary.

Rule of the file: nothing heavy is imported here.  A mistake of a person ends in words and an exit code, never in a
traceback.
"""

from __future__ import annotations

import gc
import os
import sys

import click

from noonmark.core import interrupted
from noonmark.faces.cli import problems
from noonmark.faces.cli.lazy import LazyGroup
from noonmark.faces.cli.settings import Settings, global_options, wants_json, writes_unicode

EPILOG = (
    "Exit codes: 0 yes, 1 the answer is no (verify found something), 2 usage, 3 would not run or refused duplicate, "
    "4 store out of reach, 5 not found, 130 interrupted, 141 unread output."
)

noonmark = LazyGroup(
    name="noonmark",
    help="The scheduler for AI agents: on time, and provably so.",
    epilog=EPILOG,
    params=[*global_options()],
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
    no_args_is_help=True,
)


def main(args: list[str] | None = None) -> int:
    """Run the command line and return its exit code; as a script it exits with it."""
    if args is None:
        gc.disable()  # what is imported stays; it is not looked through for garbage until the command begins
    _fit_streams()
    code = _run(sys.argv[1:] if args is None else args)
    if code == problems.INTERRUPTED:
        interrupted.answered()
    if args is None:
        sys.exit(code)
    return code


def _fit_streams() -> None:
    """What this terminal cannot show is escaped: no name or sentence ever ends a command."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")


def _readable(arg: str) -> str:
    """Read as UTF-8 what the locale could not read, unless it names a file as it is; refuse what is no UTF-8."""
    if arg.isascii() or not any("\udc80" <= sign <= "\udcff" for sign in arg) or os.path.exists(arg):
        return arg
    try:
        return arg.encode("utf-8", "surrogateescape").decode("utf-8")
    except UnicodeError:
        raise problems.Trouble(
            "not_utf8", shown=arg.encode("utf-8", "backslashreplace").decode("ascii", "replace")
        ) from None


def _run(args: list[str]) -> int:
    if sys.stdout is None:  # started with it closed: there is nobody to tell
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 - it lives as long as the process
    asked = Settings()
    try:
        args = [_readable(arg) for arg in args]
        result = noonmark.main(args=args, prog_name="noonmark", standalone_mode=False, obj=asked)
        sys.stdout.flush()
        return result if isinstance(result, int) else problems.OK
    except click.exceptions.Exit as done:
        return done.exit_code
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message(), err=True)
        return problems.USAGE
    except (click.Abort, KeyboardInterrupt):
        return _told(problems.Trouble("interrupted", code=problems.INTERRUPTED), args, asked, quietly=True)
    except BrokenPipeError:
        _silence_stdout()
        return problems.UNREAD
    except SystemExit:  # not from a command: click met the broken pipe first, and leaves in this way
        _silence_stdout()
        return problems.UNREAD
    except Exception as fault:
        return _told(_as_trouble(fault, _language(args)), args, asked, fault=fault)


def _told(
    trouble: problems.Trouble,
    args: list[str],
    asked: Settings,
    *,
    quietly: bool = False,
    fault: Exception | None = None,
) -> int:
    """Tell why there is no answer: in words on stderr, or with ``--json`` as one object on stdout.

    Where an answer was printed already, a second object would spoil it.
    """
    lang = _language(args)
    if wants_json(args, asked) and not asked.answered and trouble.key != "unwritable":
        from noonmark.core.shown import json_text

        plain = {"v": 1, "error": trouble.plain(lang)}
        click.echo(json_text(plain, ascii_only=not writes_unicode(sys.stdout)))
    elif not quietly:
        click.echo(trouble.text(lang), err=True)
    if trouble.key == "fault" and ("-v" in args or "--verbose" in args):
        import traceback

        from noonmark.core.shown import shown

        click.echo(shown("".join(traceback.format_exception(fault))), err=True)
    return trouble.code


def _usage(error: click.ClickException, lang: str) -> problems.Trouble:
    ctx = error.ctx if isinstance(error, click.UsageError) else None
    said = error.format_message()
    if lang == "zh":
        from noonmark.faces.cli.usage_zh import in_chinese

        said = in_chinese(said)
    return problems.Trouble("usage", what=said, command=ctx.command_path if ctx is not None else "noonmark")


def _as_trouble(fault: Exception, lang: str) -> problems.Trouble:
    """Translate what other floors raise; whatever is unknown is a fault in noonmark and says so."""
    if isinstance(fault, problems.Trouble):
        return fault
    if isinstance(fault, click.ClickException):
        return _usage(fault, lang)
    from noonmark.explain.find import NotFound
    from noonmark.ports.store import StoreError, StoreUnusable, StoreUrlError

    if "noonmark.rules.problems" in sys.modules:  # only who read rules can have been refused
        from noonmark.rules.problems import ProblemList

        if isinstance(fault, ProblemList):
            return problems.Trouble("rules_refused", problems=fault.shown(lang))

    from noonmark.core.wellformed import TooLarge

    if isinstance(fault, TooLarge):
        return problems.Trouble("bad_payload", error=str(fault))
    if isinstance(fault, NotFound):
        told = {"what": fault.what(lang), "do": fault.do(lang), "name": fault.name}
        return problems.Trouble("not_found", **told, code=problems.NOT_FOUND)
    if isinstance(fault, StoreUrlError):
        return problems.not_opened("", fault)
    if isinstance(fault, StoreUnusable):
        from noonmark.faces.cli.doctor_words import refused

        return problems.Trouble("store_unusable", error=refused(fault, lang), code=problems.UNREACHABLE)
    if isinstance(fault, StoreError):
        return problems.Trouble("store_away", error=str(fault), code=problems.UNREACHABLE)
    if isinstance(fault, OSError):
        error = fault.strerror or str(fault)
        if fault.filename is not None:
            return problems.Trouble("file_unusable", path=str(fault.filename)[:200], error=error)
        _silence_stdout()  # what could not be written is not to be tried again at exit
        return problems.Trouble("unwritable", error=error)
    return problems.Trouble("fault", error=f"{type(fault).__name__}: {fault}", code=problems.NO)


def _language(args: list[str]) -> str:
    """Return the language asked for, also where the line was refused before its options were read."""
    for index, word in enumerate(args):
        value = word.removeprefix("--lang=") if word.startswith("--lang=") else ""
        if word == "--lang" and index + 1 < len(args):
            value = args[index + 1]
        if value in ("en", "zh"):
            return value
    return Settings().language


def _silence_stdout() -> None:
    """The reader went away (``| head``): keep the interpreter from complaining at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


if __name__ == "__main__":
    main()
