"""Worker processes by fork: a hundred workers cost as little as ten, so that the machine is free for the faults.

Promise: every worker is a process of its own, killed, stopped and waited for as such; none outlives the suite, however
that ends.  Rule of the file: the nursery itself has one thread, opens no store, and only forks.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import select
import signal
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

ROOT = Path(__file__).resolve().parents[1]
_DEATH_SIGNAL = 1


class Process(Protocol):
    """What the suite does with a worker; ``subprocess.Popen`` does it, too."""

    pid: int

    def poll(self) -> int | None:
        """Return the exit code, None while it runs."""
        ...

    def wait(self, timeout: float | None = None) -> int:
        """Wait for the end."""
        ...

    def send_signal(self, number: int, /) -> None:
        """Signal it."""
        ...


class Nursery:
    """Forks workers on request; a context manager."""

    def __init__(self) -> None:
        path = os.pathsep.join([str(ROOT), *filter(None, sys.path)])
        self._process = subprocess.Popen(
            [sys.executable, "-m", "faults.nursery"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": path},
            start_new_session=True,
        )
        self._mutex = threading.Lock()
        self._news = threading.Condition()
        self._born: dict[int, int] = {}
        self._ended: dict[int, int] = {}
        self._numbers = iter(range(1 << 30))
        self._reader = threading.Thread(target=self._read, name="nursery", daemon=True)
        self._reader.start()

    def fork(self, arguments: Sequence[str], environment: Mapping[str, str], said: Path) -> Forked:
        """Start ``faults.worker`` with these arguments; what it says goes to a file."""
        number = next(self._numbers)
        order = {"number": number, "argv": list(arguments), "env": dict(environment), "said": str(said)}
        assert self._process.stdin is not None
        with self._mutex:
            self._process.stdin.write(json.dumps(order).encode() + b"\n")
            self._process.stdin.flush()
        with self._news:
            if not self._news.wait_for(lambda: number in self._born, 60):
                raise RuntimeError("the nursery does not answer")
            return Forked(self, self._born[number])

    def code(self, pid: int) -> int | None:
        """Return the exit code of a worker."""
        with self._news:
            return self._ended.get(pid)

    def wait(self, pid: int, timeout: float | None) -> int:
        """Wait for a worker's end."""
        with self._news:
            if not self._news.wait_for(lambda: pid in self._ended, timeout):
                raise subprocess.TimeoutExpired(f"worker {pid}", timeout or 0)
            return self._ended[pid]

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            news = json.loads(line)
            with self._news:
                if "born" in news:
                    self._ended.pop(news["pid"], None)  # numbers come again
                    self._born[news["born"]] = news["pid"]
                else:
                    self._ended[news["pid"]] = news["code"]
                self._news.notify_all()

    def close(self) -> None:
        """End it and every worker that is left."""
        assert self._process.stdin is not None
        with contextlib.suppress(OSError):
            self._process.stdin.close()
        self._process.wait(30)
        self._reader.join(10)
        if self._process.stdout is not None:
            self._process.stdout.close()

    def kill(self) -> None:
        """End it at once; workers end with it."""
        self._process.kill()
        self._process.wait()

    def __enter__(self) -> Nursery:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Forked:
    """One forked worker."""

    def __init__(self, nursery: Nursery, pid: int) -> None:
        self._nursery = nursery
        self.pid = pid

    def poll(self) -> int | None:
        """Return the exit code (minus the signal's number, if one ended it), None while it runs."""
        return self._nursery.code(self.pid)

    def wait(self, timeout: float | None = None) -> int:
        """Wait for the end."""
        return self._nursery.wait(self.pid, timeout)

    def send_signal(self, number: int, /) -> None:
        """Signal it, unless it has ended."""
        if self.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, number)


# -- the nursery's own process ------------------------------------------------------------------------


def _tell(**news: Any) -> None:
    os.write(1, json.dumps(news).encode() + b"\n")


def _live(order: Mapping[str, Any]) -> int:
    """Be the worker: the child's whole life."""
    ctypes.CDLL(None).prctl(_DEATH_SIGNAL, signal.SIGKILL)
    said = os.open(order["said"], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    nothing = os.open(os.devnull, os.O_RDONLY)
    for source, target in ((nothing, 0), (said, 1), (said, 2)):
        os.dup2(source, target)
    os.environ.update(order["env"])
    from faults.worker import main

    return main(order["argv"])


def _bear(order: Mapping[str, Any]) -> None:
    pid = os.fork()
    if pid:
        _tell(born=order["number"], pid=pid)
        return
    code = 1
    try:
        code = _live(order)
    except BaseException:
        traceback.print_exc()
    finally:
        with contextlib.suppress(Exception):
            sys.stderr.flush()
        os._exit(code)


def _reap(*, flags: int) -> bool:
    """Report a child that has ended; False when there is none."""
    try:
        pid, status = os.waitpid(-1, flags)
    except ChildProcessError:
        return False
    if pid:
        _tell(pid=pid, code=os.waitstatus_to_exitcode(status))
    return pid > 0


def serve() -> None:
    """Fork what is ordered on standard input until it closes; then end every worker that is left."""
    import faults.worker  # everything a worker needs is loaded once

    faults.worker.load()
    waiting = b""
    while True:
        ready, _, _ = select.select([0], [], [], 0.02)
        while _reap(flags=os.WNOHANG):
            pass
        if not ready:
            continue
        chunk = os.read(0, 65_536)
        if not chunk:
            break
        *orders, waiting = (waiting + chunk).split(b"\n")
        for order in orders:
            _bear(json.loads(order))
    for child in _children():
        for number in (signal.SIGCONT, signal.SIGKILL):
            with contextlib.suppress(ProcessLookupError):
                os.kill(child, number)
    end = time.monotonic() + 10
    while time.monotonic() < end and _reap(flags=0):
        pass


def _children() -> list[int]:
    listed = Path(f"/proc/self/task/{os.getpid()}/children").read_text(encoding="ascii")
    return [int(pid) for pid in listed.split()]


if __name__ == "__main__":
    serve()
