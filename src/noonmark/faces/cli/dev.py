"""``noonmark dev``: one worker that starts anew when a file changes.

Rule of the file: the worker is a process of its own, so that a reload is a clean start and a broken file stops nothing
but itself.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

import click

from noonmark.faces.cli import problems
from noonmark.faces.cli.dev_changes import PAUSE, Changes
from noonmark.faces.cli.numbers import Within
from noonmark.faces.cli.session import Command, Session, settings_of

WATCHED = frozenset({".py", ".yaml", ".yml"})
_SKIPPED = frozenset({"__pycache__", "node_modules", "venv", "site-packages"})
FILES_LIMIT = 2_000
"""Most files watched: a home folder by mistake must not keep the disk busy."""
FILES_NAMED = 3
"""Most files that are named as the worker's own."""
GRACE_SECONDS = 10.0


@click.command(cls=Command, acts=True)
@click.argument("app", envvar="NOONMARK_APP")
@click.option("--name", default="dev", show_default=True, help="The worker's name for people.")
@click.option(
    "--poll",
    default=0.5,
    show_default=True,
    type=Within(0.05, 60.0),
    help="Look for changes every so many seconds.",
)
@click.pass_context
def dev(ctx: click.Context, app: str, name: str, poll: float) -> int:
    """Run one worker for APP, print its decisions, and start it anew when a .py or .yaml file changes."""
    from noonmark.faces.cli.apps import files_of
    from noonmark.wiring import shown

    here = Session(settings_of(ctx))
    roots = files_of(app)
    here.remark(here.word("dev_begins", app=app, store=shown(here.settings.store_url)))
    stop = _stop_on_signals()
    far_end, leash = os.pipe()  # only this process holds the leash: however it ends, the worker notices
    changes, was_there = Changes(), False
    while not stop:
        changes.begin(stamps(roots), time.monotonic())
        process = subprocess.Popen(
            [*_command(here, app, name), "--leash", str(far_end)], env=_environment(here), pass_fds=(far_end,)
        )
        try:
            has_changed = _wait(here, process, roots, changes, poll, stop)
        finally:
            _end(process)
        is_gone = process.returncode == problems.NOT_FOUND
        was_there = was_there or not is_gone
        if not has_changed and not stop:
            # Mistyped; but a file that was there is being replaced, by an editor or a checkout.
            if is_gone and not was_there:
                return problems.NOT_FOUND
            has_changed = _counts(here, changes, roots)  # what it wrote, or a person, between the last look and its end
            if not has_changed:
                here.remark(here.word("dev_ended", code=process.returncode))
            while not stop and not has_changed:
                time.sleep(poll)
                has_changed = changes.count_after_end(stamps(roots), time.monotonic())
        if has_changed:
            here.remark(here.word("dev_changed"))
            _look_on(roots, changes, poll, stop)
    os.close(leash)
    os.close(far_end)
    return problems.INTERRUPTED


def _counts(here: Session, changes: Changes, roots: list[Path]) -> bool:
    """Say whether a change starts the worker anew, and once why one does not."""
    knew = bool(changes.own)
    counts = changes.count(stamps(roots), time.monotonic())
    if changes.own and not knew:
        files = ", ".join(sorted(str(path) for path in changes.own)[:FILES_NAMED])
        here.remark(here.word("dev_own", files=files))
    return counts


def _look_on(roots: list[Path], changes: Changes, poll: float, stop: list[int]) -> None:
    """Look on without a worker where the changes may have been its own."""
    until = time.monotonic() + changes.pause
    while not stop and time.monotonic() < until:
        time.sleep(min(poll, PAUSE))
        if not changes.is_quiet(stamps(roots)):
            return


def stamps(roots: Iterable[Path]) -> dict[Path, int]:
    """Return the modification times of the watched files below the roots."""
    found: dict[Path, int] = {}
    for path in _files(roots):
        with contextlib.suppress(OSError):  # an editor may be replacing it right now
            found[path] = path.stat().st_mtime_ns
        if len(found) >= FILES_LIMIT:
            break
    return found


def _files(roots: Iterable[Path]) -> Iterator[Path]:
    folders = list(roots)
    while folders:
        folder = folders.pop()
        with contextlib.suppress(OSError):
            for path in sorted(folder.iterdir()):
                if path.is_dir() and not path.name.startswith(".") and path.name not in _SKIPPED:
                    folders.append(path)
                elif path.suffix in WATCHED:
                    yield path


def _command(here: Session, app: str, name: str) -> list[str]:
    command = [sys.executable, "-m", "noonmark.faces.cli", "worker", app, "--name", name, "--grace", "5s"]
    if here.settings.lang:
        command += ["--lang", here.settings.lang]
    if here.settings.tz:
        command += ["--tz", here.settings.tz]
    if here.settings.json:
        command += ["--json"]
    return [*command, *(["--verbose"] if here.settings.verbose else [])]


def _environment(here: Session) -> dict[str, str]:
    """Say where the store is in the environment: a command line, password and all, can be read by every user."""
    return {**os.environ, **({"NOONMARK_URL": here.settings.url} if here.settings.url else {})}


def _wait(
    here: Session, process: subprocess.Popen[bytes], roots: list[Path], changes: Changes, poll: float, stop: list[int]
) -> bool:
    """Wait for the worker's end or a signal, both False, or for a change that counts."""
    while not stop:
        try:
            process.wait(timeout=poll)
        except subprocess.TimeoutExpired:
            if _counts(here, changes, roots):
                return True
        else:
            return False
    return False


def _end(process: subprocess.Popen[bytes]) -> None:
    """Stop the worker kindly, then not."""
    if process.poll() is not None:
        return
    process.terminate()
    try:
        process.wait(timeout=GRACE_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _stop_on_signals() -> list[int]:
    """Return a list that a signal fills, so that the loop above ends at its next look."""
    seen: list[int] = []
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda received, _frame: seen.append(received))
    return seen
