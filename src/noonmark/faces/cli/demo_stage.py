"""The demo's stage: a folder of its own, and worker processes that never outlive it.

Rule of the file: everything started here is ended here, whatever happens: each worker is the head of its own process
group, and on Linux the kernel ends it even if the demo itself is killed.
"""

from __future__ import annotations

import contextlib
import fcntl
import importlib
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

from noonmark.faces.cli.problems import REFUSED, UNREACHABLE, Trouble

MARK = ".noonmark-demo"
"""The file that says: this folder is the demo's, it may be emptied."""
WORKERS = ("w1", "w2", "w3")
PATIENCE = 5.0
"""Seconds between asking a worker to stop and ending it."""


class Place(NamedTuple):
    """A folder that is this demo's for as long as ``lock``, an open file, is held."""

    folder: Path
    emptied: bool  # an earlier demo had left something there
    lock: int

    def leave(self) -> None:
        """Give the folder up; what is in it stays."""
        os.close(self.lock)


def prepare(folder: Path, *, keep: bool) -> Place:
    """Make an empty folder that is the demo's own.

    With ``keep`` what an earlier demo left stays, and the new folder gets a number.

    Raises:
        Trouble: the folder holds something that is not ours, a demo is playing there, or it cannot be made.
    """
    if keep:
        number, base = 1, folder
        while folder.exists():
            number += 1
            folder = base.with_name(f"{base.name}-{number}")
    emptied, lock = False, None
    try:
        if folder.exists():
            if not folder.is_dir():
                raise Trouble("demo_file", folder=str(folder), code=REFUSED)
            inside = list(folder.iterdir())
            if inside and not (folder / MARK).is_file():
                raise Trouble("demo_not_ours", folder=str(folder), code=REFUSED)
            lock = _locked(folder)
            for path in inside:
                if path.name != MARK:
                    shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
            emptied = bool(inside)
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)  # its logs and its store are nobody else's
        lock = _locked(folder) if lock is None else lock
        (folder / MARK).write_text("This folder was written by `noonmark demo`, which may empty it again.\n", "utf-8")
        (folder / ".gitignore").write_text("*\n", "utf-8")
    except OSError as trouble:
        raise Trouble("demo_no_folder", folder=str(folder), error=trouble.strerror, code=UNREACHABLE) from None
    return Place(folder, emptied, lock)


def _locked(folder: Path) -> int:
    """Hold the mark of this folder; the kernel lets go of it when the demo ends, however it does."""
    mark = os.open(folder / MARK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        fcntl.flock(mark, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(mark)
        raise Trouble("demo_running", folder=str(folder), code=REFUSED) from None
    return mark


def find_app() -> Path:
    """Return the folder from which ResearchCopilot is imported: in this package, or in a checkout beside it.

    Raises:
        Trouble: it is not there.
    """
    package = Path(__file__).resolve().parents[2]
    for place in (package / "demo_app", package.parents[1] / "apps" / "researchcopilot" / "src"):
        if (place / "researchcopilot" / "scheduler.py").is_file():
            return place
    raise Trouble("demo_no_app")


def load(app: Path, name: str) -> ModuleType:
    """Import a module of the application."""
    if str(app) not in sys.path:
        sys.path.insert(0, str(app))
    return importlib.import_module(name)


class Troupe:
    """The worker processes."""

    def __init__(self, folder: Path, environment: Mapping[str, str], app: Path) -> None:
        self.folder = folder
        self.processes: dict[str, subprocess.Popen[bytes]] = {}
        self.gone: set[str] = set()
        own = str(Path(__file__).resolve().parents[3])
        path = os.pathsep.join(filter(None, [str(app), own, os.environ.get("PYTHONPATH", "")]))
        remembers = {"NOONMARK_STATE": str(folder / "state")}  # and no demo leaves anything in the user's own
        self._environment = {**os.environ, **environment, **remembers, "PYTHONPATH": path}

    def start(self) -> None:
        """Start every worker."""
        for name in WORKERS:
            with self.log_of(name).open("wb") as log:
                self.processes[name] = subprocess.Popen(
                    [sys.executable, *_entrance(), "worker", "researchcopilot.scheduler:sched", "--name", name],
                    env=self._environment,
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    start_new_session=True,
                )

    def log_of(self, name: str) -> Path:
        """Return the file with what a worker says."""
        return self.folder / f"{name}.log"

    def newly_gone(self) -> list[tuple[str, int]]:
        """Return (name, exit code) of the workers that ended since the last call."""
        ended = [
            (name, code)
            for name, process in self.processes.items()
            if name not in self.gone and (code := process.poll()) is not None
        ]
        self.gone.update(name for name, _ in ended)
        return ended

    def kill(self, name: str) -> None:
        """End a worker with everything it started, at once and without a word (-9)."""
        _signal_group(self.processes[name], signal.SIGKILL)
        self.processes[name].wait()

    def stop(self) -> None:
        """Ask all workers to stop, and end those that do not; nothing is left behind."""
        running = [process for process in self.processes.values() if process.poll() is None]
        for process in running:
            _signal_group(process, signal.SIGTERM)
        for process in running:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(PATIENCE)
        for process in self.processes.values():
            _signal_group(process, signal.SIGKILL)  # the group may outlive its head
            process.wait()


def _entrance() -> list[str]:
    """How Python enters noonmark; on Linux the kernel is asked first to end the process together with the demo."""
    if not sys.platform.startswith("linux"):
        return ["-m", "noonmark.faces.cli"]
    lines = (
        "import ctypes, runpy, signal",
        "ctypes.CDLL(None).prctl(1, signal.SIGKILL)",  # 1 is PR_SET_PDEATHSIG
        "runpy.run_module('noonmark.faces.cli', run_name='__main__', alter_sys=True)",
    )
    return ["-c", "\n".join(lines)]


def command_name() -> str:
    """Return how a person calls noonmark here: by name if the shell finds it, else by path."""
    if shutil.which("noonmark"):
        return "noonmark"
    beside = Path(sys.executable).with_name("noonmark")
    if not beside.exists():
        return f"{sys.executable} -m noonmark"
    with contextlib.suppress(ValueError):
        return str(beside.relative_to(Path.cwd()))
    return str(beside)


@contextlib.contextmanager
def termination_raises() -> Iterator[None]:
    """Turn SIGTERM and a closed terminal into KeyboardInterrupt, so that every ``finally`` is reached."""

    def interrupt(_number: int, _frame: object) -> None:
        raise KeyboardInterrupt

    before = {number: signal.signal(number, interrupt) for number in (signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _signal_group(process: subprocess.Popen[bytes], number: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, number)
