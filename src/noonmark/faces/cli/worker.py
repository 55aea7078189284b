"""``noonmark worker``: run the jobs of an app until told to stop."""

from __future__ import annotations

import gc
import os
import signal
import threading

import click

from noonmark.faces.cli import problems
from noonmark.faces.cli.session import Command, Session, settings_of


@click.command(cls=Command, acts=True)
@click.argument("app", envvar="NOONMARK_APP")
@click.option(
    "-n",
    "--concurrency",
    "concurrency",
    type=click.IntRange(1, 10_000),
    default=100,
    envvar="NOONMARK_CONCURRENCY",
    show_default=True,
    show_envvar=True,
    help="How many runs at once.",
)
@click.option("--name", default="", envvar="NOONMARK_WORKER_NAME", show_envvar=True, help="Its name for people.")
@click.option("--grace", default="30s", show_default=True, help="How long runs may finish after SIGTERM.")
@click.option(
    "--state",
    default=None,
    metavar="DIR",
    envvar="NOONMARK_STATE",
    show_envvar=True,
    help="Where it remembers what the store acknowledged; none: nowhere.",
)
@click.option(
    "--log-format",
    type=click.Choice(["text", "json"]),
    default=None,
    envvar="NOONMARK_LOG_FORMAT",
    show_envvar=True,
    help="Log lines on stderr; text, or json with --json.",
)
@click.option(
    "--log-level",
    type=click.Choice(["debug", "info", "warning", "error"], case_sensitive=False),
    default=None,
    envvar="NOONMARK_LOG_LEVEL",
    show_envvar=True,
    help="How much to log; info, debug with -v, warning with -q.",
)
@click.option(
    "--keep-good",
    is_flag=True,
    envvar="NOONMARK_KEEP_GOOD",
    show_envvar=True,
    help="Run the jobs that are right although others in the rules are wrong; each mistake is logged as an ERROR.",
)
@click.option("--leash", type=click.IntRange(3), default=None, hidden=True, help="A pipe: stop when it closes.")
@click.pass_context
def worker(
    ctx: click.Context,
    app: str,
    concurrency: int,
    name: str,
    grace: str,
    state: str | None,
    log_format: str | None,
    log_level: str | None,
    keep_good: bool,
    leash: int | None,
) -> int:
    """Run the jobs of APP: module:sched, path.py, path.py:sched or noonmark.yaml.

    SIGTERM or Ctrl-C: take nothing new, let runs finish for --grace, hand the rest back.  A second one stops at once.
    """
    from noonmark.core.durations import parse_duration
    from noonmark.core.wellformed import check_worker_name
    from noonmark.faces.cli import logs
    from noonmark.faces.cli.apps import load_app

    here = Session(settings_of(ctx))
    try:
        parse_duration(grace)
    except ValueError as error:
        raise problems.Trouble("bad_grace", error=str(error)) from None
    try:
        check_worker_name(name)
    except ValueError as error:
        raise problems.Trouble("bad_worker_name", error=str(error)) from None
    usual = "debug" if here.settings.verbose else "warning" if here.settings.quiet else "info"
    logs.set_up(
        form=log_format or ("json" if here.settings.json else "text"), level=log_level or usual, zone=here.zone("")
    )
    if leash is not None:
        _stop_when_let_go(leash)
    sched = load_app(app, url=here.settings.url or None)
    sched.keep_good = sched.keep_good or keep_good
    gc.freeze()  # the app's modules and jobs stay: looking through them for garbage would only make starts late
    try:
        sched.worker(concurrency=concurrency, name=name, grace=grace, state=state).run()
    finally:
        sched.close()
    return problems.OK


def _stop_when_let_go(leash: int) -> None:
    """Stop as on SIGTERM when the other end of this pipe closes: whoever started this worker is gone, even by -9."""
    os.set_inheritable(leash, False)

    def wait() -> None:
        os.read(leash, 1)
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=wait, name="noonmark-leash", daemon=True).start()
