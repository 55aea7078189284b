"""Wake-up across processes: a datagram to everybody who listens at this file, and no idle work at all.

Rule of the file: a hint, never a promise.  Each listening store has a socket in a private directory named after the
file; whoever commits something that is due earlier than known sends one byte to each.  Nothing is awaited, nothing
retried: a full buffer means that the listener is about to wake anyway, a dead socket is removed.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import socket
import stat
import threading
import weakref
from collections.abc import Callable, Iterator
from functools import cached_property
from pathlib import Path

_HINT, _STOP = b"!", b"."
_LONGEST_PATH = 100
"""Unix socket paths end at 104 or 108 bytes, depending on the system."""


def meeting_place(path: Path) -> Path | None:
    """Return the private directory where the listeners at this file meet, or None where there can be none."""
    if not hasattr(socket, "AF_UNIX"):
        return None
    name = hashlib.sha256(os.fsencode(os.path.realpath(path))).hexdigest()[:16]
    for root in _roots():
        place = Path(root) / f"noonmark-{os.getuid()}" / name
        if len(os.fsencode(place)) + 34 <= _LONGEST_PATH and _is_private(place.parent) and _is_private(place):
            return place
    return None


def _roots() -> Iterator[str]:
    if own := os.environ.get("XDG_RUNTIME_DIR"):
        yield own
    import tempfile  # it tries to write where it points to, so only who needs it asks

    yield tempfile.gettempdir()


def _is_private(directory: Path) -> bool:
    """Create the directory if need be; True only if it is ours and nobody else can enter it."""
    try:
        with contextlib.suppress(FileExistsError):
            directory.mkdir(mode=0o700)
        found = directory.lstat()
    except OSError:
        return False
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid() and not found.st_mode & 0o077


class Wake:
    """The listeners of one store object, and its voice to those of others."""

    def __init__(self, path: Path) -> None:
        self._path = Path(os.path.realpath(path))  # where it is now, whatever the working folder is later
        self._lock = threading.Lock()
        self._callbacks: list[Callable[[], None]] = []
        self._voice: socket.socket | None = None
        self._ear: socket.socket | None = None
        self._ear_path = ""
        self._thread: threading.Thread | None = None

    @cached_property
    def _place(self) -> Path | None:  # who only reads meets nobody
        return meeting_place(self._path)

    @property
    def works(self) -> bool:
        """True when other processes can be told."""
        return self._place is not None

    def listen(self, callback: Callable[[], None]) -> Callable[[], None]:
        """Call back, from any thread, at every hint; return a function that stops it."""
        with self._lock:
            self._callbacks.append(callback)
            if self._thread is None and self._place is not None:
                self._open_ear(self._place)

        def stop() -> None:
            with self._lock:
                if callback in self._callbacks:
                    self._callbacks.remove(callback)

        return stop

    def _open_ear(self, place: Path) -> None:
        ear = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        name = str(place / f"{os.getpid()}-{os.urandom(6).hex()}.sock")
        try:
            ear.bind(name)
        except OSError:
            ear.close()
            self._place = None  # from here on the engine polls
            return
        self._ear, self._ear_path = ear, name
        self._thread = threading.Thread(target=self._hear, args=(ear,), name="noonmark-wake", daemon=True)
        self._thread.start()

    def _hear(self, ear: socket.socket) -> None:
        while True:
            try:
                said = ear.recv(16)
            except OSError:
                return
            if said == _STOP:
                return
            self._call()

    def _call(self) -> None:
        with self._lock:
            callbacks = list(self._callbacks)
        for callback in callbacks:
            callback()

    def tell(self) -> None:
        """Tell every listener, here and in other processes, that something is due earlier than known."""
        self._call()
        place = self._place
        if place is None:
            return
        try:
            names = [entry.path for entry in os.scandir(place) if entry.name.endswith(".sock")]
        except OSError:
            return
        others = [name for name in names if name != self._ear_path]
        if not others:
            return
        with self._lock:
            if self._voice is None:
                self._voice = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
                self._voice.setblocking(False)
                weakref.finalize(self, self._voice.close)  # a script that just ends leaves nothing to complain of
            for name in others:
                self._say(self._voice, name)

    @staticmethod
    def _say(voice: socket.socket, name: str) -> None:
        try:
            voice.sendto(_HINT, name)
        except OSError as problem:
            if problem.errno == errno.ECONNREFUSED:  # nobody is bound to it any more
                with contextlib.suppress(OSError):
                    os.unlink(name)

    def close(self) -> None:
        """Stop listening, and leave no socket behind."""
        with self._lock:
            ear, voice, thread = self._ear, self._voice, self._thread
            self._ear = self._voice = self._thread = None
            self._callbacks.clear()
        if ear is not None:
            with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as own:
                own.sendto(_STOP, self._ear_path)
            if thread is not None and thread is not threading.current_thread():
                thread.join(1.0)
            ear.close()
            with contextlib.suppress(OSError):
                os.unlink(self._ear_path)
        if voice is not None:
            voice.close()
