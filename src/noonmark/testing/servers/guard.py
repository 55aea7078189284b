"""No server outlives the process that started it, however that process ends.

A shell waits at the other end of a pipe.  It is told the process id of each server; when the pipe breaks, because this
process ended in whatever way (``kill -9`` included), it kills the servers that are left and removes their folders.

Rule of the file: PR_SET_PDEATHSIG will not do.  It fires when the *thread* that forked ends, and the kernel forgets it
when the child becomes another user, as PostgreSQL must.
"""

from __future__ import annotations

import atexit
import os
import subprocess
import threading
from pathlib import Path

_SCRIPT = """
trap '' INT TERM HUP QUIT
pids= folders=
while read -r verb what; do
  case $verb in
    run) pids="$pids $what" ;;
    ended) left=; for pid in $pids; do [ "$pid" = "$what" ] || left="$left $pid"; done; pids=$left ;;
    folder) folders="$folders$what
" ;;
  esac
done
for pid in $pids; do kill -KILL "$pid" 2>/dev/null; done
[ -z "$pids" ] || sleep 0.3
printf '%s' "$folders" | while read -r folder; do rm -rf -- "$folder"; done
"""


class _Guard:
    """The shell and the pipe to it, made when the first server is."""

    def __init__(self) -> None:
        self._mutex = threading.Lock()
        self._shell: subprocess.Popen[bytes] | None = None

    def tell(self, verb: str, what: object) -> None:
        with self._mutex:
            if self._shell is None:
                self._shell = subprocess.Popen(
                    ["/bin/sh", "-c", _SCRIPT],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    start_new_session=True,  # a Ctrl-C at the terminal is not for it
                    cwd="/",
                )
                atexit.register(self.end)
            assert self._shell.stdin is not None
            self._shell.stdin.write(f"{verb} {what}\n".encode())
            self._shell.stdin.flush()

    def end(self) -> None:
        """Let the shell do its work, and wait for it: whoever exits leaves nothing behind."""
        with self._mutex:
            if self._shell is not None:
                shell, self._shell = self._shell, None
                shell.communicate()

    def forget(self) -> None:
        """In a forked child: the servers are the parent's; holding its pipe open would keep them alive after it."""
        self._mutex = threading.Lock()
        shell, self._shell = self._shell, None
        if shell is not None:
            assert shell.stdin is not None
            shell.stdin.close()
            shell.returncode = 0  # not this process's child: nothing to wait for


_guard = _Guard()
os.register_at_fork(after_in_child=_guard.forget)


def watch(pid: int) -> None:
    """Kill this process when we end."""
    _guard.tell("run", pid)


def unwatch(pid: int) -> None:
    """It has ended; its number may be another process's by now."""
    _guard.tell("ended", pid)


def watch_folder(folder: Path) -> None:
    """Remove this folder when we end."""
    assert "\n" not in str(folder)
    _guard.tell("folder", folder)
