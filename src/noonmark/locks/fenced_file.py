"""A fenced value as a file, for the processes of one machine (and network file systems whose ``flock`` works).

Rule of the file: under one ``flock`` the fence is compared and written down for good before the content is touched; the
content is replaced in one step, so a crash leaves the old or the new one.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

from noonmark.locks.fenced import stale

_DIGITS = 19
"""As many as a signed 64-bit number has; always all of them, so that writing it is one step."""


class FencedFile:
    """The content of one file; its fence is kept beside it, in ``NAME.fence``.

    Args:
        path: the file; its folder must exist.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._path = Path(path)
        self._fence_path = self._path.with_name(self._path.name + ".fence")

    def read(self, fence: int) -> bytes | None:
        """Register the fence and return the content; None if there is no such file yet.

        Raises:
            StaleFence: a greater one is registered.
        """
        with self._registered(fence):
            try:
                return self._path.read_bytes()
            except FileNotFoundError:
                return None

    def write(self, fence: int, value: bytes) -> None:
        """Register the fence and replace the content.

        Raises:
            StaleFence: a greater one is registered; nothing changed.
        """
        with self._registered(fence):
            number, name = tempfile.mkstemp(prefix=f".{self._path.name}.", dir=self._path.parent)
            try:
                with open(number, "wb") as file:
                    file.write(value)
                    file.flush()
                    os.fsync(file.fileno())
                with contextlib.suppress(FileNotFoundError):
                    os.chmod(name, self._path.stat().st_mode & 0o7777)
                os.replace(name, self._path)
            except BaseException:
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(name)
                raise
            _make_lasting(self._path.parent)

    @contextlib.contextmanager
    def _registered(self, fence: int) -> Iterator[None]:
        with open(os.open(self._fence_path, os.O_RDWR | os.O_CREAT, 0o644), "r+b", buffering=0) as file:
            fcntl.flock(file, fcntl.LOCK_EX)  # closing the file lets go of it
            known = int(os.pread(file.fileno(), _DIGITS, 0) or b"0")
            if known > fence:
                raise stale(str(self._path), fence, known)
            if known < fence:
                os.pwrite(file.fileno(), b"%0*d" % (_DIGITS, fence), 0)
                os.fsync(file.fileno())
            yield


def _make_lasting(folder: Path) -> None:
    number = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(number)
    finally:
        os.close(number)
