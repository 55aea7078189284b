"""What this machine knows of its processes: who we are, and whether somebody else still lives.

Rule of the file: the only place in the engine that reads ``/proc``, the host name and the system's zone.
"""

from __future__ import annotations

import os
import secrets
import socket
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from noonmark.core.model import WORKER_NAME_LIMIT, WorkerInfo
from noonmark.core.wellformed import check_worker_name
from noonmark.ports.clock import Clock, namespace_offset


def process_started(pid: int) -> str:
    """Return the kernel's start time of a process, "" when there is no such process or no /proc.

    Pids are reused; the pair (pid, start time) is not, within one boot.
    """
    try:
        stat = Path(f"/proc/{pid}/stat").read_bytes()
    except OSError:
        return ""
    fields = stat.rpartition(b")")[2].split()  # the name in front may itself contain blanks and brackets
    if len(fields) < 20 or fields[0] in (b"Z", b"X"):
        return ""
    ahead = namespace_offset()  # who reads this in another time namespace must read the same
    if not ahead:
        return fields[19].decode("ascii")
    return str(int(fields[19]) - ahead * os.sysconf("SC_CLK_TCK") // 1_000_000_000)


def this_worker(clock: Clock, *, name: str, jobs: tuple[str, ...], version: str = "", tzdata: str = "") -> WorkerInfo:
    """Describe this process as a worker incarnation; the id is never used twice.

    Raises:
        ValueError: the name is too long, or no text.
    """
    check_worker_name(name)
    host, pid = socket.gethostname(), os.getpid()
    ours = name or host[:WORKER_NAME_LIMIT]
    return WorkerInfo(
        id=f"{ours}-{pid}-{secrets.token_hex(4)}",
        name=name or f"{ours}-{pid}",
        host=host,
        pid=pid,
        process_started=process_started(pid),
        boot_id=clock.boot_id(),
        started_at=clock.wall(),
        tzdata=tzdata,
        version=version,
        jobs=jobs,
    )


def is_alive(worker: Mapping[str, Any] | None, us: WorkerInfo, now: int) -> bool | None:
    """Tell whether a worker still lives; None when nothing is known of it.

    On our own host the kernel answers, at once and for sure; elsewhere the worker's heartbeat does, by the store's
    time.
    """
    if not worker:
        return None
    if worker.get("ended_at") is not None:
        return False
    if worker.get("host") == us.host and worker.get("boot_id") == us.boot_id and us.process_started:
        return process_started(int(worker["pid"])) == worker.get("process_started")
    until = worker.get("until")
    return until is not None and now < int(until)


def lives_here(worker: WorkerInfo, boot_id: str) -> bool | None:
    """Tell whether a worker's process lives, if it is one of this machine since its last boot; else None."""
    if worker.host != socket.gethostname() or worker.boot_id != boot_id or not process_started(os.getpid()):
        return None
    return bool(worker.process_started) and process_started(worker.pid) == worker.process_started


def system_zone() -> str:
    """Return the name of the machine's own zone, for the log line only: no rule is ever read in it."""
    named = os.environ.get("TZ", "").lstrip(":")
    if named:
        return named
    try:
        target = os.readlink("/etc/localtime")
    except OSError:
        return time.tzname[0]
    return target.partition("zoneinfo/")[2] or time.tzname[0]
