"""What all servers of the launcher have in common: a process, a port, a folder, a log, and signals.

Rule of the file: a server is ready when *it* says so in its own log; something that answers on the port might be somebody
else's.  Everything waits with a deadline, and whoever waits in vain is shown the log.
"""

from __future__ import annotations

import contextlib
import os
import random
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, ClassVar, TypeVar
from urllib.parse import urlencode

from noonmark.testing.servers import guard
from noonmark.testing.servers.installations import Installation, choose

Self = TypeVar("Self", bound="Server")

START_PATIENCE = 60.0
"""Seconds until a server that does not get ready counts as failed; a busy machine with two cores needs some of them."""
STOP_PATIENCE = 20.0
"""Seconds until a server that was asked to stop is killed."""
_PORTS = range(12_000, 32_000)
"""Below the ports that the system gives to outgoing connections, so that a port is still free after a ``kill``."""
_LOG_LINES = 30
_TRIES = 5
_dice = random.SystemRandom()


class ServerError(RuntimeError):
    """A server did not start, did not get ready or did not stop; the message ends with its log."""


class Server:
    """One server process on 127.0.0.1 with a folder of its own.

    Args:
        version: which installation, by the beginning of its version; None = the first of ``find``.
        options: settings of the server by its own names.
        port: where to listen; None = a free one, kept for the life of this object.
    """

    kind: ClassVar[str]
    user: str | None = None
    """As whom to run it; None = as ourselves."""

    def __init__(
        self, version: str | None = None, *, options: Mapping[str, str] | None = None, port: int | None = None
    ) -> None:
        self.installation = self._choose(version)
        self.options = dict(options or {})
        self._asked_port = port
        self._process: subprocess.Popen[bytes] | None = None
        self._paused: list[int] = []
        self._log_begin = 0
        self._prepared = False
        self._served = False
        self._closed = False
        self.port = port or 0
        self.folder = Path(tempfile.mkdtemp(prefix=f"noonmark-{self.kind}-"))
        guard.watch_folder(self.folder)
        self.log = self.folder / "server.log"

    # -- what each kind says about itself -------------------------------------------------------

    def _choose(self, version: str | None) -> Installation:
        return choose(self.kind, version)

    @property
    def url(self) -> str:
        """Where clients find it."""
        raise NotImplementedError

    def _prepare(self) -> None:
        """Make the data folder; called once, before the first start."""

    def _command(self) -> Sequence[str | Path]:
        """Return the program and its arguments, for ``self.port``."""
        raise NotImplementedError

    def _environment(self) -> dict[str, str]:
        return {"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C", "TZ": "UTC"}

    def _is_ready(self, said: str) -> bool:
        """Tell from what the process said since its start whether it serves."""
        raise NotImplementedError

    def _port_was_taken(self, said: str) -> bool:
        return "address already in use" in said.lower()

    def _stop_signal(self) -> signal.Signals:
        return signal.SIGTERM

    # -- life -----------------------------------------------------------------------------------

    def start(self: Self) -> Self:
        """Start and wait until it serves; the folder of an earlier life is kept.

        Raises:
            ServerError: it ended or did not get ready in time, with the end of its log.
        """
        if self._closed:
            raise ServerError(f"{self} was closed; make a new one")
        if self.is_running:
            return self
        if self._process is not None:
            self._reap()  # it ended by itself
        if not self._prepared:
            self.port = self._asked_port or free_port()
            self._prepare()
            self._prepared = True
        for tries_left in reversed(range(_TRIES)):
            try:
                self._launch()
            except ServerError:
                fixed = self._asked_port is not None or self._served
                if fixed or not tries_left or not self._port_was_taken(self._said()):
                    raise
                self.port = free_port()
            else:
                self._served = True
                return self
        raise AssertionError("the last try either returned or raised")

    def _launch(self) -> None:
        self._log_begin = self.log.stat().st_size if self.log.exists() else 0
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                [os.fspath(part) for part in self._command()],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                cwd=self.folder,
                env=self._environment(),
                start_new_session=True,
                **_as_user(self.user),
            )
        guard.watch(self._process.pid)
        try:
            wait_until(self._ready_or_ended, START_PATIENCE, f"{self} to get ready", self.log_tail)
        except BaseException:
            self.kill()
            raise

    def _ready_or_ended(self) -> bool:
        assert self._process is not None
        ended = self._process.poll()
        said = self._said()
        if ended is not None:
            guard.unwatch(self._process.pid)
            self._process = None
            raise ServerError(f"{self} ended with {ended} instead of serving; its log:\n{self.log_tail()}")
        return self._is_ready(said)

    def stop(self) -> None:
        """Ask it to stop, and wait; kill it when it does not within 20 s.  Nothing happens when it does not run."""
        if self._process is None:
            return
        self.resume()
        self._process.send_signal(self._stop_signal())
        try:
            self._process.wait(STOP_PATIENCE)
        except subprocess.TimeoutExpired:
            self.kill()
        else:
            self._reap()

    def kill(self) -> None:
        """End it and its children by SIGKILL, as a crash would, and wait until they are gone."""
        if self._process is None:
            return
        if self._process.poll() is not None:  # its number may be another's by now
            self._reap()
            return
        main = self._process.pid
        os.kill(main, signal.SIGSTOP)  # or it begins another child while its children are counted
        wait_until(lambda: not is_running(main), STOP_PATIENCE, f"{self} to stand still")
        family = [main, *children(main)]
        for pid in family:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self._process.wait()
        for pid in family[1:]:
            wait_until(lambda pid=pid: not is_alive(pid), STOP_PATIENCE, f"child {pid} of {self} to end")  # type: ignore[misc]
        self._reap()

    def _reap(self) -> None:
        assert self._process is not None
        for pid in (self._process.pid, *self._paused):
            guard.unwatch(pid)
        self._paused.clear()
        self._process = None

    def restart(self: Self) -> Self:
        """Stop if it runs, and start again: same port, same data."""
        self.stop()
        return self.start()

    def pause(self) -> None:
        """Freeze it and its children (SIGSTOP): connections stay open and nobody answers."""
        if self._process is None:
            raise ServerError(f"{self} does not run")
        os.kill(self._process.pid, signal.SIGSTOP)
        for pid in children(self._process.pid):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGSTOP)
                self._paused.append(pid)
                guard.watch(pid)  # a stopped child does not notice that its parent is gone

    def resume(self) -> None:
        """Let it go on (SIGCONT)."""
        if self._process is None:
            return
        for pid in (*self._paused, self._process.pid):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)
        for pid in self._paused:
            guard.unwatch(pid)
        self._paused.clear()

    def close(self) -> None:
        """Stop it and remove its folder.  Calling it twice does no harm."""
        if not self._closed:
            self.stop()
            self._closed = True
            shutil.rmtree(self.folder, ignore_errors=True)

    def __enter__(self: Self) -> Self:
        try:
            return self.start()
        except BaseException:
            self.close()
            raise

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __str__(self) -> str:
        return f"{self.installation} on port {self.port}"

    # -- looking at it ----------------------------------------------------------------------------

    @property
    def is_running(self) -> bool:
        """Whether the process is there (it may be paused)."""
        return self._process is not None and self._process.poll() is None

    @property
    def pid(self) -> int:
        """The number of its (main) process."""
        if self._process is None:
            raise ServerError(f"{self} does not run")
        return self._process.pid

    def url_with(self, **options: str) -> str:
        """Return the URL with more options in its query, such as ``schema=…`` or ``namespace=…``."""
        return with_options(self.url, options)

    def log_tail(self, lines: int = _LOG_LINES) -> str:
        """Return the last lines of its log."""
        said = self.log.read_text(encoding="utf-8", errors="replace") if self.log.exists() else ""
        return "\n".join(said.splitlines()[-lines:]) or "(empty)"

    def _said(self) -> str:
        with self.log.open("rb") as log:
            log.seek(self._log_begin)
            return log.read().decode(errors="replace")

    def _run(self, *command: str | Path) -> None:
        """Run a program of the installation to its end, in the folder, as the server's user."""
        done = subprocess.run(
            [os.fspath(part) for part in command],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            cwd=self.folder,
            env=self._environment(),
            timeout=START_PATIENCE,
            check=False,
            **_as_user(self.user),
        )
        if done.returncode:
            raise ServerError(
                f"{command[0]} ended with {done.returncode}; it said:\n{done.stdout.decode(errors='replace')}"
            )


def _as_user(user: str | None) -> dict[str, Any]:
    if user is None:
        return {}
    import grp
    import pwd

    entry = pwd.getpwnam(user)
    return {"user": entry.pw_uid, "group": grp.getgrgid(entry.pw_gid).gr_gid, "extra_groups": []}


def with_options(url: str, options: Mapping[str, str]) -> str:
    """Return the URL with more options in its query."""
    return f"{url}{'&' if '?' in url else '?'}{urlencode(options)}" if options else url


def free_port() -> int:
    """Return a port of 127.0.0.1 on which nobody listens just now; a server that loses the race tries another."""
    for _ in range(1000):
        port = _dice.choice(_PORTS)
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
    raise ServerError("found no free port between 12000 and 32000 on 127.0.0.1")


def wait_until(fact: Callable[[], bool], patience: float, what: str, log: Callable[[], str] | None = None) -> None:
    """Wait until ``fact()`` is true.

    Args:
        patience: seconds.
        what: what is waited for, for the message.
        log: gives what to show beside it.

    Raises:
        ServerError: it did not become true in time.
    """
    deadline = time.monotonic() + patience
    pause = 0.002
    while not fact():
        if time.monotonic() > deadline:
            raise ServerError(f"waited {patience:g} s for {what}" + (f"; its log:\n{log()}" if log else ""))
        time.sleep(pause)
        pause = min(pause * 1.5, 0.05)


def children(pid: int) -> list[int]:
    """Return the processes that this one has begun and that still are."""
    return [child for child, parent in _processes() if parent == pid]


def is_alive(pid: int) -> bool:
    """Return whether there is such a process that has not ended (a zombie has)."""
    if not Path("/proc/self").exists():
        return any(other == pid for other, _ in _processes())
    return _state(pid) not in ("", "Z", "X")


def is_running(pid: int) -> bool:
    """Return whether it goes on: neither ended nor stopped; where nobody can say, it does not."""
    return _state(pid) not in ("", "Z", "X", "T", "t")


def _state(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/stat").read_bytes().rpartition(b") ")[2][:1].decode()
    except OSError:
        return ""


def _processes() -> Iterator[tuple[int, int]]:
    """Yield (process, its parent)."""
    if not Path("/proc/self/stat").exists():
        listed = subprocess.run(["ps", "-axo", "pid=,ppid="], capture_output=True, text=True, check=True).stdout
        for line in listed.splitlines():
            pid, parent = line.split()
            yield int(pid), int(parent)
        return
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                yield int(entry.name), int((entry / "stat").read_bytes().rpartition(b") ")[2].split()[1])
