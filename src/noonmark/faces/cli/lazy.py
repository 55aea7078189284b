"""A click group that imports a command only when it is called, and commands that share the global options.

Rule of the file: ``noonmark --help`` must stay cheap, so names and short helps of commands stand here, not in their
modules.
"""

from __future__ import annotations

import gc
import importlib
from collections.abc import Sequence
from typing import Any

import click

from noonmark.faces.cli import problems
from noonmark.faces.cli.settings import Settings, global_options

COMMANDS: dict[str, tuple[str, str]] = {
    "init": ("init", "Write noonmark.yaml and jobs.py to start from."),
    "demo": ("demo", "Show it work: three workers, one is killed, nothing is lost."),
    "dev": ("dev", "Run one worker, restart it when a file changes, print decisions."),
    "worker": ("worker", "Run a worker for an app until it is told to stop."),
    "jobs": ("jobs", "List the jobs: schedule, next, last outcome, recent ones."),
    "show": ("show", "Show one job's rule with every default."),
    "next": ("next", "Show what is coming, in local time and UTC."),
    "why": ("why", "Say why something ran, did not run, ran late or ran twice."),
    "history": ("history", "List what became of occurrences."),
    "run": ("run", "Ask for a run now; the same key is refused if it is done."),
    "retry": ("retry", "Try an occurrence that needs a person again."),
    "cancel": ("cancel", "Cancel an occurrence, or everything open with a key."),
    "mark": ("mark", "Record that an occurrence is done, handled or will not run."),
    "pause": ("pause", "Pause a job."),
    "resume": ("resume", "Resume a paused job; the past is not run."),
    "end": ("end", "End a job: take its rule back, keep its history."),
    "signal": ("signal", "Set or clear a flag and wake what waits for it."),
    "flags": ("flags", "Show the flags that jobs depend on."),
    "backlog": ("backlog", "Show what is due or waiting, and what it is blocked on."),
    "leases": ("leases", "Show who holds what until when, and which workers live."),
    "verify": ("verify", "Prove that nothing was lost and nothing ran twice."),
    "simulate": ("simulate", "Live through days of your rules with faults; say what would be missed."),
    "doctor": ("doctor", "Examine the store, clocks, workers and rules; say what to mend."),
    "ledger": ("ledger", "After a store lost data: see what is held, bring back outcomes, let go."),
    "store": ("store", "Bring a store up to date, or copy a namespace to another one."),
    "rules": ("rules", "Check, show or apply a rules file."),
    "schema": ("schema", "Print the JSON Schema of rules files."),
    "version": ("version", "Print the versions in use."),
}
"""Command -> (module and attribute name in this package, short help)."""


class LazyGroup(click.Group):
    """The ``noonmark`` command."""

    def format_usage(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Say how it is called."""
        _write_usage(self, ctx, formatter)

    def format_help_text(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Say what it is, in the reader's language."""
        if not _is_chinese(ctx):
            return super().format_help_text(ctx, formatter)
        from noonmark.faces.cli import help_zh

        with formatter.indentation():
            help_zh.write_paragraphs(formatter, help_zh.HEADING)
        return None

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the options, then the commands."""
        _write_options(ctx, formatter, "Options", self.get_params(ctx))
        self.format_commands(ctx, formatter)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Say what the exit codes mean."""
        if not _is_chinese(ctx):
            return super().format_epilog(ctx, formatter)
        from noonmark.faces.cli import help_zh

        with formatter.indentation():
            help_zh.write_paragraphs(formatter, help_zh.EPILOG)
        return None

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """Return the commands in the order in which a newcomer meets them."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - click's signature
        """Import a command when it is asked for."""
        if cmd_name not in COMMANDS:
            return None
        module = importlib.import_module(f"noonmark.faces.cli.{COMMANDS[cmd_name][0]}")
        command = getattr(module, COMMANDS[cmd_name][0])
        assert isinstance(command, click.Command)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Name the nearest command when there is none of that name."""
        if args and not args[0].startswith("-") and args[0] not in COMMANDS:
            import difflib

            near = difflib.get_close_matches(args[0], COMMANDS, n=1)
            hint = f" Did you mean {near[0]!r}?" if near else ""
            raise click.UsageError(f"There is no command {args[0]!r}.{hint}", ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List commands without importing them."""
        told = {name: text for name, (_, text) in COMMANDS.items()}
        title = "Commands"
        if _is_chinese(ctx):
            from noonmark.faces.cli import help_zh

            told, title = help_zh.COMMANDS, help_zh.TITLES[title]
        with formatter.section(title):
            formatter.write_dl([(name, told[name]) for name in COMMANDS])


class Command(click.Command):
    """A command that also takes the global options, so that ``noonmark why JOB --json`` works.

    With ``acts`` it does something, so that ``--now``, which only reads can pretend, is refused.
    """

    def __init__(self, *args: Any, acts: bool = False, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.acts = acts
        taken = {name for param in self.params for name in param.opts}
        self.shared = [option for option in global_options() if not taken.intersection(option.opts)]
        self.params.extend(self.shared)

    def invoke(self, ctx: click.Context) -> Any:
        """Carry the command out, unless it was given an option that it could only ignore."""
        if self.acts:
            refuse_pretending(settings_of(ctx))
        if not gc.isenabled():
            gc.freeze()
            gc.enable()
        return super().invoke(ctx)

    def format_usage(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Say how it is called."""
        _write_usage(self, ctx, formatter)

    def format_help_text(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Say what it does, in the reader's language."""
        if not _is_chinese(ctx) or self.name not in COMMANDS:
            return super().format_help_text(ctx, formatter)
        from noonmark.faces.cli import help_zh

        with formatter.indentation():
            for text in (help_zh.COMMANDS[self.name], help_zh.LONG[self.name]):
                if text:
                    help_zh.write_paragraphs(formatter, text)
        return None

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Show the command's own options first."""
        own = [param for param in self.get_params(ctx) if param not in self.shared]
        for title, params in (("Options", own), ("Global options", self.shared)):
            _write_options(ctx, formatter, title, params)


def _write_usage(command: click.Command, ctx: click.Context, formatter: click.HelpFormatter) -> None:
    pieces = " ".join(command.collect_usage_pieces(ctx))
    if not _is_chinese(ctx):
        return formatter.write_usage(ctx.command_path, pieces)
    from noonmark.faces.cli import help_zh

    for english, chinese in help_zh.PIECES.items():
        pieces = pieces.replace(english, chinese)
    return formatter.write_usage(ctx.command_path, pieces, prefix=help_zh.USAGE)


def _write_options(
    ctx: click.Context, formatter: click.HelpFormatter, title: str, params: Sequence[click.Parameter]
) -> None:
    told = [(param, record) for param in params if (record := param.get_help_record(ctx)) is not None]
    records = [record for _, record in told]
    if _is_chinese(ctx):
        from noonmark.faces.cli import help_zh

        title = help_zh.TITLES[title]
        command = ctx.command.name or ""
        records = [(names, help_zh.option_help(param.opts, text, command)) for param, (names, text) in told]
        if records:
            with formatter.section(title):
                help_zh.write_options(formatter, records)
        return
    if records:
        with formatter.section(title):
            formatter.write_dl(records)


def _is_chinese(ctx: click.Context) -> bool:
    return settings_of(ctx).language == "zh"


def settings_of(ctx: click.Context) -> Settings:
    """Return the settings that the options of this call add up to."""
    return ctx.ensure_object(Settings)


def refuse_pretending(settings: Settings) -> None:
    """Refuse ``--now`` where something is done: what is done is done at the store's time."""
    if settings.now:
        raise problems.Trouble("now_reads_only")
