"""The file and the write-ahead log that was begun for it, which SQLite itself cannot tell apart from any other two.

It replays whatever log lies beside a file onto it, and a process that has a file open goes on writing into it when another
one lies at its path.  So the pair that was opened last is written down beside it (``FILE-pair``): a log that is in it
together with *another* file was left behind when somebody put that file in its place.  Both are others in a copy of the
whole folder, and a log that SQLite made since is another one, so neither is an alarm.

Promise: what is refused here has been touched by nobody.  What is not known (no such note, no inodes) is no alarm.

Rule of the file: it never opens the database, for closing it would drop the locks that this process has on it.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import json
import os
import shlex
import stat
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from noonmark.core.values import dataclass
from noonmark.ports.store import StoreUnusable
from noonmark.stores.sqlite import errors

SIDES = LOG, INDEX = "-wal", "-shm"
_AT_FDCWD, _STATX_BTIME = -100, 0x800
_BIRTH_AT, _MASK_AT = 80, 0  # offsets in the kernel's struct statx


def file_identity(path: Path) -> str:
    """Return what tells one file at this path from another one that takes its place, "" while there is none."""
    inode = _inode(str(path))
    return f"file {inode}" if inode else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """What lay at the path when it was opened; ``log_inode`` 0: no log, or a file system without inodes."""

    path: str
    log: str
    inode: int
    log_inode: int

    @property
    def identity(self) -> str:
        """What tells this file from another one in its place."""
        return f"file {self.inode}" if self.inode else ""

    def trouble(self) -> str:
        """Return what has happened to the pair since: "" nothing, ``gone``, ``replaced``, or its ``log`` is not there."""
        inode = _inode(self.path)
        if inode != self.inode:
            return "replaced" if inode else "gone"
        return "log" if self.log_inode and _inode(self.log) != self.log_inode else ""


def refuse_strange_log(path: Path) -> None:
    """Refuse a file beside which a log lies that was begun for another one.

    Raises:
        StoreUnusable: the log would be replayed onto a file that was put in the place of its own.
    """
    known = _noted(path)
    if not known or not path.exists() or not path.stat().st_size:  # SQLite itself drops what lies beside an empty file
        return
    told = _told(path)
    left = [f"{path}{side}" for side in SIDES if told[side] and told[side] == known.get(side)]
    if left and told[""] != known.get(""):
        raise strange_log(path, left)


def strange_log(path: Path, left: Sequence[str]) -> StoreUnusable:
    """Return the refusal of a file beside which others lie that were left behind."""
    do = "; ".join(f"mv {shlex.quote(name)} {shlex.quote(f'{name}.old')}" for name in left)
    return errors.unusable(
        str(path),
        "another file was put in its place, and the log of the file that lay there before is still beside it "
        f"({', '.join(left)}); it would be replayed onto this one and damage it",
        f"Stop every process that uses the store, then move this away: {do}",
    )


def _told(path: Path) -> dict[str, str]:
    """Return what tells each part apart; SQLite keeps the other two beside the file that a link points to."""
    main = os.path.realpath(path)
    return {side: _told_apart(f"{main}{side}") for side in ("", *SIDES)}


def note(path: Path) -> Pair:
    """Return the pair that lies there while it is open, and write it down, where that can be done."""
    main, told = os.path.realpath(path), _told(path)
    if all(told.values()) and told != _noted(path):
        with contextlib.suppress(OSError):  # without a note nothing is known, and nothing refused
            _write(f"{main}-pair", json.dumps(told), stat.S_IMODE(os.stat(main).st_mode))
    return seen(path)


def seen(path: Path) -> Pair:
    """Return the pair that lies there, and write nothing down."""
    main = os.path.realpath(path)
    log = f"{main}{LOG}"
    return Pair(path=os.path.abspath(path), log=log, inode=_inode(main), log_inode=_inode(log))


def forget(path: Path) -> None:
    """Take the note away where the last one to close the file has taken the log away, so that only the file is left."""
    main = os.path.realpath(path)
    if not os.path.exists(f"{main}{LOG}"):
        with contextlib.suppress(OSError):
            os.unlink(f"{main}-pair")


def _noted(path: Path) -> dict[str, Any]:
    try:
        with open(f"{os.path.realpath(path)}-pair", encoding="utf-8") as file:
            found = json.load(file)
    except (OSError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _write(name: str, text: str, mode: int) -> None:
    draft = f"{name}.{os.getpid()}-{os.urandom(4).hex()}"
    handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with open(handle, "w", encoding="utf-8") as file:
            os.chmod(draft, mode)  # who may write the store may write this, too
            file.write(f"{text}\n")
        os.replace(draft, name)
    except OSError:
        os.unlink(draft)
        raise


def _inode(path: str) -> int:
    try:
        return os.stat(path).st_ino
    except OSError:
        return 0


def _told_apart(path: str) -> str:
    """Return what no file that comes later has: inodes are given anew, with the moment of birth they are not."""
    try:
        found = os.stat(path)
    except OSError:
        return ""
    if not found.st_ino:
        return ""
    born = getattr(found, "st_birthtime", None)
    return f"{found.st_ino} {_birth(path) if born is None else born}"


def _birth(path: str) -> str:
    """Return the moment of birth as Linux tells it, "" where it does not: Python asks for it from 3.15 on."""
    ask = _statx()
    if ask is None:
        return ""
    answer = ctypes.create_string_buffer(256)
    if ask(_AT_FDCWD, os.fsencode(path), 0, _STATX_BTIME, answer) != 0:
        return ""
    if not int.from_bytes(answer.raw[_MASK_AT : _MASK_AT + 4], sys.byteorder) & _STATX_BTIME:
        return ""
    seconds = int.from_bytes(answer.raw[_BIRTH_AT : _BIRTH_AT + 8], sys.byteorder, signed=True)
    parts = int.from_bytes(answer.raw[_BIRTH_AT + 8 : _BIRTH_AT + 12], sys.byteorder)
    return f"{seconds}.{parts:09}"


@functools.cache
def _statx() -> Any:
    if sys.platform != "linux":
        return None
    try:
        return ctypes.CDLL(None).statx
    except (OSError, AttributeError):  # an older C library
        return None
