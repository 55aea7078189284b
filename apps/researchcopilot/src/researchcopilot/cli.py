"""The command line: ask, read, serve, work.

Rules of the file: it translates and decides nothing; what went wrong is told in one line with what to do, never as a
traceback.  Exit codes are noonmark's: 0 yes, 1 the answer is no, 2 usage, 4 store unreachable, 5 not found, 130
interrupted.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import apsw
import click

from noonmark import StoreError
from researchcopilot import __version__
from researchcopilot.answer import compose, retrieve
from researchcopilot.corpus import CorpusError, open_corpus
from researchcopilot.data import FILE_NAME, Data, Run
from researchcopilot.desk import BadQuestionError, UnavailableError, checked
from researchcopilot.index import IndexUnusableError, rebuild
from researchcopilot.locations import DEFAULT_DATA, default_url
from researchcopilot.model import ModelBusyError, ModelRefusedError, from_environment
from researchcopilot.pages import languages
from researchcopilot.views import answer_text, run_line, run_to_plain

if TYPE_CHECKING:
    from noonmark import Scheduler

Command = TypeVar("Command", bound=Callable[..., Any])
POLL = 0.2
"""Seconds between two looks for an answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where everything lies: own folder, corpus, noonmark's store."""

    data: Path
    corpus: str | None
    url: str
    lang: str

    def open(self) -> Data:
        """Open the own folder, making it if it is not there."""
        try:
            return Data(self.data)
        except OSError as trouble:
            raise RefusedError(
                f"cannot use the folder {self.data}: {trouble.strerror}. Take another: --data", 4
            ) from None
        except apsw.Error as trouble:
            raise RefusedError(
                f"cannot use {self.data / FILE_NAME}: {trouble}. Move it away, or take another folder: --data", 4
            ) from None

    def scheduler(self) -> Scheduler:
        """Declare the jobs on the store."""
        from researchcopilot import scheduler  # reading documents needs no scheduler, and starts faster without

        return scheduler.build(self.url, self.data, self.corpus, lang=self.lang)


def with_place(command: Command) -> Command:
    """Add the options that say where things lie, and hand them over as one ``place``."""

    @click.option("--data", envvar="RESEARCHCOPILOT_DATA", default=DEFAULT_DATA, show_default=True, help="Own folder.")
    @click.option("--corpus", envvar="RESEARCHCOPILOT_CORPUS", help="Folder of .md, .txt, .html, .pdf files.")
    @click.option("--url", envvar="NOONMARK_URL", help="noonmark's store; default: a file in the own folder.")
    @click.option("--lang", envvar="RESEARCHCOPILOT_LANG", default="en", type=click.Choice(languages()))
    @wraps(command)
    def placed(data: str, corpus: str | None, url: str | None, lang: str, **rest: Any) -> Any:
        return command(Place(data=Path(data), corpus=corpus, url=url or default_url(data), lang=lang), **rest)

    return placed  # type: ignore[return-value]


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="researchcopilot")
def cli() -> None:
    """Ask a folder of documents; get answers with their sources. The background work runs on noonmark."""


@cli.command()
@click.argument("question")
@click.option("--deep", is_flag=True, help="Read document by document and answer from the best of all.")
@click.option("--wait", is_flag=True, help="Wait for the answer and print it.")
@click.option("--timeout", default=120.0, show_default=True, help="Seconds to wait.")
@click.option("--here", is_flag=True, help="Answer in this process, without scheduler and worker; nothing is stored.")
@with_place
def ask(place: Place, question: str, *, deep: bool, wait: bool, timeout: float, here: bool) -> None:
    """Store a run that answers QUESTION; a worker executes it."""
    if here:
        _answer_here(place, question)
        return
    from researchcopilot.scheduler import desk

    data = place.open()
    with place.scheduler() as sched:
        run = desk(sched, data).ask(question, deep=deep).run
        if not sched.workers(alive=True):
            click.echo("no worker is awake; start one in another terminal: researchcopilot worker", err=True)
    if not wait:
        click.echo(run.id)
        click.echo(f"a worker answers it; read it with: researchcopilot show {run.id}", err=True)
        return
    _print_run(_wait_for(data, run, timeout), as_json=False)


@cli.command()
@click.argument("run_id", metavar="RUN")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@with_place
def show(place: Place, run_id: str, *, as_json: bool) -> None:
    """Print the run RUN with its answer and sources."""
    run = place.open().run(run_id)
    if run is None:
        raise RefusedError(f"there is no run {run_id!r} in {place.data}. Try: researchcopilot runs", 5)
    _print_run(run, as_json=as_json)


@cli.command()
@click.option("-n", "--limit", default=20, show_default=True, type=click.IntRange(1, 1000))
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@with_place
def runs(place: Place, *, limit: int, as_json: bool) -> None:
    """List the newest runs."""
    found = place.open().runs(limit=limit)
    if as_json:
        _echo_json([run_to_plain(run) for run in found])
        return
    for run in found:
        click.echo(run_line(run))
    if not found:
        click.echo('no run yet. Try: researchcopilot ask "What is a lease?"')


@cli.command()
@with_place
def index(place: Place) -> None:
    """Build the search index now; exit 1 if a file could not be read."""
    built = rebuild(open_corpus(place.corpus), place.data / "index")
    state = "changed" if built.changed else "unchanged"
    click.echo(f"{built.documents} documents, {built.passages} passages, {state}")
    for problem in built.problems:
        click.echo(f"left out: {problem.file}: {problem.message}", err=True)
    if built.problems:
        raise SystemExit(1)


@cli.command()
@click.option("--port", default=8790, show_default=True, type=click.IntRange(0, 65535), help="0 takes any free port.")
@with_place
def serve(place: Place, *, port: int) -> None:
    """Serve the HTTP API on 127.0.0.1; Ctrl-C stops."""
    from researchcopilot.api import Server
    from researchcopilot.scheduler import desk

    data = place.open()
    with place.scheduler() as sched:
        try:
            server = Server(desk(sched, data), port=port)
        except OSError as trouble:
            raise RefusedError(f"cannot listen on port {port}: {trouble.strerror}. Take another: --port", 2) from None
        with server:
            click.echo(f"listening on {server.address}, for example {server.address}/healthz")
            server.serve_forever()


@cli.command()
@with_place
def worker(place: Place) -> None:
    """Run the jobs until Ctrl-C: answer runs, keep the index fresh, write digests and reports."""
    place.open()
    with place.scheduler() as sched:
        sched.run()


# --- how it is told ------------------------------------------------------------------------------------


class RefusedError(Exception):
    """A refusal that says what, why and what to do, with its exit code."""

    def __init__(self, message: str, code: int) -> None:
        super().__init__(message)
        self.code = code


def main() -> None:
    """Run the command line and exit with its code."""
    try:
        cli.main(standalone_mode=False)
    except click.ClickException as refusal:
        refusal.show()  # click's own usage errors
        raise SystemExit(refusal.exit_code) from None
    except (click.Abort, KeyboardInterrupt):
        exec("")  # or else CPython may end a program begun with -m by the signal, although it was caught here
        raise SystemExit(130) from None
    except _TOLD as trouble:
        click.echo(f"researchcopilot: {trouble}", err=True)
        raise SystemExit(_code_of(trouble)) from None


_TOLD = (
    RefusedError,
    StoreError,
    BadQuestionError, CorpusError, IndexUnusableError, ModelBusyError, ModelRefusedError, UnavailableError, apsw.Error,
    OSError, ValueError,
)  # fmt: skip


def _code_of(trouble: BaseException) -> int:
    if isinstance(trouble, RefusedError):
        return trouble.code
    if isinstance(trouble, (UnavailableError, StoreError, apsw.Error, OSError)):
        return 4
    return 1 if isinstance(trouble, (ModelBusyError, ModelRefusedError)) else 2


def _answer_here(place: Place, question: str) -> None:
    from researchcopilot.index import ensure

    question = checked(question)
    folder = place.data / "index"
    ensure(open_corpus(place.corpus), folder)
    click.echo(answer_text(compose(question, retrieve(folder, question), from_environment(os.environ))))


def _wait_for(data: Data, run: Run, timeout: float) -> Run:
    deadline = time.monotonic() + timeout
    while run.state == "asked" and time.monotonic() < deadline:
        time.sleep(POLL)
        run = data.run(run.id) or run
    return run


def _print_run(run: Run, *, as_json: bool) -> None:
    if as_json:
        _echo_json(run_to_plain(run))
    elif run.answer is not None:
        click.echo(answer_text(run.answer))
    elif run.state == "failed":
        click.echo(f"{run.id} failed: {run.error}", err=True)
    else:
        click.echo(f"{run.id} is not answered yet", err=True)
    if run.state != "answered":
        raise SystemExit(1)


def _echo_json(value: Any) -> None:
    click.echo(json.dumps(value, ensure_ascii=False, indent=2))
