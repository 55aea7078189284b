"""How the file is: its settings, its disk, and what a power cut would cost.

Rule of the file: reads only, except for one small file of its own beside the database, which tells how long this disk
takes to say that something is written.
"""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Callable
from pathlib import Path

from noonmark.ports.doctor import Finding
from noonmark.stores.sqlite import errors, schema
from noonmark.stores.sqlite.transaction import Reads

CHECKED_UP_TO = 100 * 1024 * 1024
"""A file up to this size, in bytes, is read through for damage; a larger one would keep a person waiting."""
LEAST_FREE = 200 * 1024 * 1024
LARGE_LOG = 256 * 1024 * 1024
TOO_FAST = 15e-6
"""Seconds below which no disk can have written: the fsync is answered from memory."""
_NETWORK = frozenset({"nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "fuse.sshfs", "fuse.s3fs", "afs", "ceph"})
_IN_MEMORY = frozenset({"tmpfs", "ramfs"})


def diagnose(
    connection: Reads, path: Path, synchronous: str, library: str, *, only_looks: bool = False
) -> list[Finding]:
    """Look at the file as it is now; ``only_looks``: this user may not write it."""
    if only_looks:
        return [*_looked_at(path), *_damage(connection, path), *_place(path), *_log(path)]
    questions: tuple[Callable[[], list[Finding]], ...] = (
        lambda: _settings(connection, path, synchronous, library),
        lambda: _damage(connection, path),
        lambda: _place(path),
        lambda: _room(path),
        lambda: _log(path),
        lambda: _writing(path, synchronous),
    )
    return [finding for question in questions for finding in question()]


def _settings(connection: Reads, path: Path, synchronous: str, library: str) -> list[Finding]:
    detail = {"path": str(path), "schema": schema.version(), "synchronous": synchronous, "library": library}
    sentence = "{path} is a noonmark file (schema {schema}), journal WAL, synchronous {synchronous}, {library}."
    found = [Finding(code="sqlite_file", level="ok", sentence=sentence.format(**detail), detail=detail)]
    mode = str(connection.execute("PRAGMA journal_mode").fetchone()[0])
    if mode != "wal":
        found.append(
            Finding(
                code="sqlite_journal",
                level="warn",
                sentence=f"The journal mode is {mode}, not WAL: readers and writers hold each other up.",
                remedy="Somebody changed it; open the store again with no other program using the file.",
                detail={"mode": mode},
            )
        )
    return found


def _looked_at(path: Path) -> list[Finding]:
    detail = {"path": str(path)}
    sentence = (
        f"This user may only read {path}, so it is only looked at: nothing can be asked for or changed from here."
    )
    remedy = "If this user is to act or to run workers, give it the right to write the file and its folder."
    return [Finding(code="sqlite_only_looks", level="warn", sentence=sentence, remedy=remedy, detail=detail)]


def _damage(connection: Reads, path: Path) -> list[Finding]:
    size = path.stat().st_size
    if size > CHECKED_UP_TO:
        detail = {"megabytes": size // 1024**2}
        sentence = f"The file has {detail['megabytes']} MB; it was not read through for damage."
        remedy = "To do so, when it is quiet: sqlite3 FILE 'PRAGMA quick_check'"
        return [Finding(code="sqlite_unchecked", level="ok", sentence=sentence, remedy=remedy, detail=detail)]
    said = str(connection.execute("PRAGMA quick_check(1)").fetchone()[0])
    if said == "ok":
        return [Finding(code="sqlite_sound", level="ok", sentence="The file was read through; nothing is damaged.")]
    return [
        Finding(
            code="sqlite_damaged",
            level="refuse",
            sentence=f"The file is damaged: {said}.",
            remedy="Stop the workers, keep the file, and restore it from a backup.",
            detail={"said": said},
        )
    ]


def _place(path: Path) -> list[Finding]:
    kind = file_system(path)
    if kind in _NETWORK:
        return [
            Finding(
                code="sqlite_on_network",
                level="warn",
                sentence=f"The file is on a network file system ({kind}): its locks may not hold between machines.",
                remedy="Keep it on a local disk, and let one machine use it; for several, use postgresql:// or redis://.",
                detail={"kind": kind},
            )
        ]
    if kind in _IN_MEMORY:
        return [
            Finding(
                code="sqlite_in_memory",
                level="warn",
                sentence=f"The file is on {kind}, which is memory: it is gone when this machine goes down.",
                remedy="Keep it on a disk.",
                detail={"kind": kind},
            )
        ]
    return []


def file_system(path: Path, mounts: Path = Path("/proc/mounts")) -> str:
    """Return the kind of the file system that holds the path, "" where the system does not say."""
    try:
        lines = mounts.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return ""
    place, best, kind = os.path.realpath(path), "", ""
    for line in lines:
        fields = line.split()
        if len(fields) < 3:
            continue
        point = fields[1].replace("\\040", " ")
        inside = place == point or place.startswith(point.rstrip("/") + "/")
        if inside and len(point) >= len(best):  # of two at one place the later one is on top
            best, kind = point, fields[2]
    return kind


def _room(path: Path) -> list[Finding]:
    free = errors.free_bytes(str(path))
    if free is None or free >= LEAST_FREE:
        return []
    if free < errors.NO_ROOM:
        return [_full(free)]
    detail = {"megabytes": free // 1024**2}
    sentence = f"Only {detail['megabytes']} MB are free beside the file; once it is full, every worker waits."
    return [Finding(code="sqlite_room", level="warn", sentence=sentence, remedy="Free some space.", detail=detail)]


def _full(free: int) -> Finding:
    detail = {"kilobytes": free // 1024}
    sentence = (
        f"The disk is full ({detail['kilobytes']} KB are free beside the file): nothing starts and nothing is recorded; "
        "workers wait, and go on by themselves when there is room."
    )
    return Finding(code="sqlite_full", level="refuse", sentence=sentence, remedy="Free some space.", detail=detail)


def _log(path: Path) -> list[Finding]:
    log = Path(f"{path}-wal")
    size = log.stat().st_size if log.exists() else 0
    if size <= LARGE_LOG:
        return []
    detail = {"megabytes": size // 1024**2}
    sentence = f"The write-ahead log has grown to {detail['megabytes']} MB: some program has been reading for long."
    remedy = "End the program that keeps the file open (a backup, an open sqlite3 shell)."
    return [Finding(code="sqlite_log", level="warn", sentence=sentence, remedy=remedy, detail=detail)]


def _writing(path: Path, synchronous: str) -> list[Finding]:
    """Measure how long the disk takes to confirm a write, the middle one of five."""
    try:
        seconds = fsync_seconds(path.parent)
    except OSError as error:
        if error.errno == errno.EDQUOT:  # the disk has room, but not for this user
            return [_full(0)]
        detail = {"error": error.strerror or str(error)}
        sentence = f"How long this disk takes to confirm a write could not be measured: {detail['error']}."
        return [Finding(code="fsync_unknown", level="warn", sentence=sentence, detail=detail)]
    detail = {"milliseconds": f"{seconds * 1000:.3g}"}
    if synchronous == "FULL" and seconds < TOO_FAST:
        sentence = (
            f"This disk confirms a write after {detail['milliseconds']} ms, faster than any can write: "
            "a power cut may lose what was acknowledged."
        )
        remedy = "Use a disk whose write cache is safe, or turn that cache off."
        return [Finding(code="fsync_too_fast", level="warn", sentence=sentence, remedy=remedy, detail=detail)]
    sentence = f"This disk confirms a write (fsync) after {detail['milliseconds']} ms."
    return [Finding(code="fsync_time", level="ok", sentence=sentence, detail=detail)]


def fsync_seconds(folder: Path) -> float:
    """Return how long a write of one page takes to be confirmed in this folder, in seconds."""
    import tempfile  # only for who examines the disk

    times = []
    with tempfile.TemporaryFile(dir=folder) as file:
        for _ in range(5):
            file.write(os.urandom(4096))
            file.flush()
            begin = time.perf_counter()
            os.fsync(file.fileno())
            times.append(time.perf_counter() - begin)
    return sorted(times)[len(times) // 2]
