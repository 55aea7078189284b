"""Jobs as process groups: commands, and Python functions with ``isolation="process"``.

Promises: every such run is one group that can be killed as a whole (SIGTERM, a short grace, SIGKILL); it does not
outlive its worker, and what its process started does not outlive that process; what it printed last is kept.

Rule of the file: runs in a pool thread, one per process, so that waiting is plain code.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import selectors
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import Any

from noonmark.core.codec import canonical
from noonmark.engine.callbacks import Callbacks
from noonmark.engine.groups import end_group, signal_group
from noonmark.engine.reaper import Reaper
from noonmark.engine.runs import ERROR_LIMIT, Finish, Run, parameters, stored, succeeded, tail

_LOG = logging.getLogger("noonmark.engine")
_POLL = 0.05
_LINE_LIMIT = 250
"""So much of the last line that a process wrote to stderr stands beside how it ended."""


class ProcessRunner:
    """Runs commands and child interpreters."""

    def __init__(self, callbacks: Callbacks, *, kill_grace: float = 2.0) -> None:
        self._callbacks = callbacks
        self._grace = kill_grace
        self._reaper = Reaper(grace=kill_grace)
        self._groups: set[int] = set()

    def execute(self, run: Run) -> Finish:
        """Run one process to its end."""
        if run.stop_reason:
            return Finish(run, ok=False, error="stopped before it began")
        return self._command(run) if run.handler.kind == "command" else self._child(run)

    def stop(self, run: Run) -> None:
        """Kill the run's group: politely first, then for good."""
        process: subprocess.Popen[bytes] | None = run.handle
        if process is not None:
            threading.Thread(target=self._kill, args=(process,), name="noonmark-kill", daemon=True).start()

    def close(self) -> None:
        """Kill every group that is left, and the reaper."""
        for group in list(self._groups):
            signal_group(group, signal.SIGKILL)
        self._reaper.close()

    def _kill(self, process: subprocess.Popen[bytes]) -> None:
        signal_group(process.pid, signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(self._grace)
        signal_group(process.pid, signal.SIGKILL)  # grandchildren that ignored SIGTERM, too

    def _start(self, run: Run, command: list[str] | list[bytes], **options: Any) -> subprocess.Popen[bytes]:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
            **options,
        )
        self._groups.add(process.pid)
        self._reaper.watch(process.pid)
        run.handle = process
        if run.stop_reason:  # the stop came while the process was being made
            self.stop(run)
        return process

    def _ended(self, run: Run, process: subprocess.Popen[bytes]) -> tuple[int, int]:
        """End what the process left behind, which would work on without the lease; return what ``end_group`` does."""
        left, unmoved = end_group(process.pid, self._grace)
        self._groups.discard(process.pid)
        self._reaper.forget(process.pid)
        if left:
            _LOG.warning(
                "run %s of %s ended and left %d of its processes behind; %s (what is to live on needs a session of its "
                "own: setsid)",
                run.row.run_id,
                run.row.job,
                left,
                f"{unmoved} are another user's and go on" if unmoved else "they were ended",
            )
        return left, unmoved

    def _command(self, run: Run) -> Finish:
        try:
            told = {name: _bytes(value) for name, value in environment(run).items()}
            process = self._start(run, [_bytes(word) for word in run.job.command], env={**os.environ, **told})
        except (OSError, ValueError) as error:
            what = f"the command {run.job.command[0]!r} could not be started: {error}"
            return Finish(run, ok=False, error=what, code="start_failed", detail={"error": str(error)[:300]})
        with process:
            output = _Output(process)
            output.collect()
            left = self._ended(run, process)
        if process.returncode == 0:
            result = {"exit": 0, "stdout": output.text("stdout"), "stderr": output.text("stderr")}
            return _with_left(succeeded(run, result), left)
        return _with_left(_exit_failure(run, process.returncode, output), left)

    def _child(self, run: Run) -> Finish:
        ours, theirs = socket.socketpair()
        with ours:
            with theirs:
                command = [sys.executable, "-m", "noonmark.engine.child", str(theirs.fileno())]
                env = {**os.environ, "PYTHONPATH": os.pathsep.join(part for part in sys.path if part)}
                try:
                    process = self._start(run, command, env=env, pass_fds=(theirs.fileno(),))
                except OSError as error:
                    return Finish(run, ok=False, error=str(error), code="start_failed", detail={"error": str(error)})
            with process:
                talk = _Talk(ours, self._callbacks.journal(run), self._greeting(run))
                output = _Output(process)
                output.collect(ours, talk.on_readable)
                left = self._ended(run, process)
        if talk.ending is None:
            return _with_left(_exit_failure(run, process.returncode, output), left)
        return _with_left(_child_finish(run, talk.ending, output), left)

    def _greeting(self, run: Run) -> dict[str, Any]:
        fn = run.handler.fn
        assert fn is not None
        main = sys.modules.get("__main__")
        return {
            "module": fn.__module__,
            "function": fn.__qualname__,
            "main": getattr(main, "__file__", None) if fn.__module__ == "__main__" else None,
            "context_param": run.handler.context_param,
            "accepts": None if run.handler.accepts is None else sorted(run.handler.accepts),
            "facts": {**asdict(self._callbacks.facts(run)), "params": parameters(run)},
        }


class _Output:
    """Collects the last of what a process prints, until it ends."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process
        self._kept = {"stdout": bytearray(), "stderr": bytearray()}

    def text(self, stream: str) -> str:
        """Return the end of a stream; bytes that are no UTF-8 are shown as such."""
        return tail(self._kept[stream].decode("utf-8", "backslashreplace"))

    def collect(self, extra: socket.socket | None = None, on_extra: Callable[[], bool] | None = None) -> None:
        """Read until the process ends.  A grandchild that keeps the pipe open does not keep us."""
        with selectors.DefaultSelector() as selector:
            for name in self._kept:
                pipe = getattr(self._process, name)
                os.set_blocking(pipe.fileno(), False)
                selector.register(pipe, selectors.EVENT_READ, name)
            if extra is not None:
                selector.register(extra, selectors.EVENT_READ, "extra")
            pidfd = _pidfd(self._process.pid)
            try:
                if pidfd is not None:
                    selector.register(pidfd, selectors.EVENT_READ, "end")
                while self._process.poll() is None:
                    self._read_ready(selector, None if pidfd is not None else _POLL, on_extra)
                self._read_ready(selector, 0, on_extra)
            finally:
                if pidfd is not None:
                    os.close(pidfd)

    def _read_ready(
        self, selector: selectors.BaseSelector, timeout: float | None, on_extra: Callable[[], bool] | None
    ) -> None:
        for key, _ in selector.select(timeout):
            if key.data == "extra":
                if on_extra is None or not on_extra():
                    selector.unregister(key.fileobj)
            elif key.data != "end" and not self._read(key.data):
                selector.unregister(key.fileobj)

    def _read(self, name: str) -> bool:
        pipe, kept = getattr(self._process, name), self._kept[name]
        while True:
            try:
                chunk = os.read(pipe.fileno(), 65536)
            except BlockingIOError:
                return True
            if not chunk:
                return False
            kept += chunk
            del kept[: -ERROR_LIMIT * 4]  # UTF-8 needs at most four bytes a character


class _Talk:
    """The parent's side of a conversation with a child interpreter: JSON, one object a line."""

    def __init__(self, ours: socket.socket, ask: Callable[[str, tuple[Any, ...]], Any], greeting: object) -> None:
        self._socket = ours
        self._ask = ask
        self._buffer = b""
        self.ending: Mapping[str, Any] | None = None
        with contextlib.suppress(OSError):  # it died at once: its exit code says so
            self._socket.sendall(canonical(greeting).encode() + b"\n")

    def on_readable(self) -> bool:
        """Answer what the child asks; False when it has closed its side."""
        try:
            chunk = self._socket.recv(1 << 20)
        except OSError:
            return False
        if not chunk:
            return False
        *lines, self._buffer = (self._buffer + chunk).split(b"\n")
        for line in lines:
            message = json.loads(line)
            if message["op"] == "end":
                self.ending = message
                continue
            try:
                answer = {"answer": self._ask(message["op"], tuple(message["args"]))}
            except Exception as error:  # the child must hear of it, else it waits for ever
                answer = {"error": f"{type(error).__name__}: {error}"}
            with contextlib.suppress(OSError):
                self._socket.sendall(json.dumps(answer).encode() + b"\n")
        return True


def environment(run: Run) -> dict[str, str]:
    """Return what a command is told of its run, as environment variables."""
    row = run.row
    return {
        "NOONMARK_KEY": row.key,
        "NOONMARK_FENCE": str(run.fence),
        **({"NOONMARK_LOCK_FENCE": str(run.lock_fence)} if run.lock_fence else {}),
        "NOONMARK_ATTEMPT": str(row.attempt),
        "NOONMARK_RUN_ID": row.run_id,
        "NOONMARK_JOB": row.job,
        "NOONMARK_BUSINESS_DATE": row.business_date,
        "NOONMARK_PARAMS": json.dumps(parameters(run), ensure_ascii=False),
    }


def _bytes(text: str) -> bytes:
    """Return a text as the locale writes it; as UTF-8 where the locale has no such letters, so that it starts at all."""
    try:
        return os.fsencode(text)
    except UnicodeEncodeError:
        return text.encode("utf-8", "replace")


def _with_left(finish: Finish, left: tuple[int, int]) -> Finish:
    """Say beside how a run ended how many of its processes had to be ended for it, and how many could not be."""
    behind, unmoved = left
    if behind > unmoved:
        finish.detail["left_behind"] = behind - unmoved
    if unmoved:
        finish.detail["left_running"] = unmoved
    return finish


def _exit_failure(run: Run, returncode: int, output: _Output) -> Finish:
    how = f"killed by {_signal_name(-returncode)}" if returncode < 0 else f"exit code {returncode}"
    said = [line.strip() for line in output.text("stderr").splitlines() if line.strip()]
    if said:  # why shows one line, and the number alone tells nobody what went wrong
        how = f"{how}: {said[-1][:_LINE_LIMIT]}"
    text = "\n".join(part for part in (output.text("stdout"), output.text("stderr")) if part)
    whole = (
        f"{how}\n{tail(text, ERROR_LIMIT - len(how) - 2)}" if text else how
    )  # how it ended stands first, however long
    return Finish(run, ok=False, error=whole, detail={"error": how})


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:  # most of the real-time signals have none
        return f"signal {number}"


def _child_finish(run: Run, ending: Mapping[str, Any], output: _Output) -> Finish:
    kind, code = ending["kind"], ""
    if kind == "ok":
        return Finish(run, ok=True, code="succeeded") if ending["value"] == "null" else stored(run, ending["value"])
    if kind == "not_stored":
        return Finish(run, ok=True, code="result_not_stored", detail={"why": ending["value"]})
    if kind == "lost":
        run.lost = True
    code = {"do_not_retry": "not_retryable", "effect_unknown": "effect_unknown"}.get(kind, "")
    text = "\n".join(part for part in (output.text("stderr"), ending["value"]) if part)
    return Finish(
        run,
        ok=False,
        error=tail(text),
        retryable=code == "",
        retry_after=ending.get("after"),
        code=code,
        detail={"error": str(ending["value"]).strip().rpartition("\n")[2][:300]},
    )


def _pidfd(pid: int) -> int | None:
    try:
        return os.pidfd_open(pid)
    except (AttributeError, OSError):  # not Linux, or an old kernel: then the end is polled for
        return None
