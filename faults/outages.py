"""Stores that are killed, networks that are cut, silent, slow and forgetful, disks that are full or lie."""

from __future__ import annotations

import contextlib
import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from faults import figures
from faults.cells import SERVERS, Stage, cell
from faults.figures import Outcome
from faults.places import Place
from faults.site import Site
from noonmark.testing.proxy import Proxy
from noonmark.testing.servers import Server, wait_until
from noonmark.testing.servers.server import children

COMMITS = {"postgres": b"COMMIT", "valkey": b"EVALSHA", "redis": b"EVALSHA"}
"""Bytes of the one request that gives a verb its effect."""


@cell("F4", "the store killed, back after ten seconds", seconds=26)
def f4(stage: Stage, outcome: Outcome) -> None:
    """Ticks and delayed jobs fall due before, during and after; on a file somebody's transaction stays open."""
    site = stage.site(stage.place(own=True))
    site.begin()
    site.ask_delayed(12, first=0.5, gap=1.1)
    site.sleep(2)
    away = time.monotonic()
    site.place.away()
    site.sleep(10)
    site.place.back()
    back = time.monotonic()
    outcome.within("back", site.back_after(back), figures.BACK)
    site.sleep(4)
    # A worker that was about to take when the store went gets what was due then: the gap begins a little later.
    site.finish(outcome, gap=(away + 0.3, back))


def behind_a_proxy(stage: Stage) -> tuple[Site, Proxy]:
    """Make a site whose workers know only the proxy."""
    place = stage.place()
    assert place.server is not None
    proxy = Proxy(place.server.port)
    stage.ends.append(proxy.close)
    return stage.site(place, workers_url=place.through(proxy.port)), proxy


@cell("P1", "every connection cut, four times", stores=SERVERS, seconds=15)
def p1(stage: Stage, outcome: Outcome) -> None:
    """A reset of everything, again and again."""
    site, proxy = behind_a_proxy(stage)
    site.begin()
    site.ask_delayed(10, first=0.3, gap=0.6)
    worst, cut = 0.0, 0
    for _ in range(4):
        cut += proxy.cut()
        worst = max(worst, back_when_due(site, time.monotonic()))
        site.sleep(0.7)
    outcome.within("back", worst, figures.BACK)
    outcome.add("connections cut", cut, least=12)
    site.finish(outcome)


def back_when_due(site: Site, moment: float) -> float:
    """Return how long after a moment something ran, counted from when something was due: nothing can run before."""
    now = site.at(moment)
    ticks = (now // 2_000_000 + 1) * 2_000_000
    due = min([ticks, *(one.earliest for one in site.asked if one.earliest >= now)])
    return max(0.0, site.back_after(moment) - (due - now) / 1e6)


@cell("P2", "a half-open network: connected, and nobody answers", stores=SERVERS, seconds=18)
def p2(stage: Stage, outcome: Outcome) -> None:
    """Five seconds of a black hole."""
    site, proxy = behind_a_proxy(stage)
    site.begin()
    site.ask_delayed(12, first=0.3, gap=0.8)
    site.sleep(1)
    proxy.blackhole()
    site.sleep(5)
    proxy.heal()
    outcome.within("back", site.back_after(time.monotonic()), figures.BACK)
    site.sleep(3)
    site.finish(outcome)


@cell("P3", "a slow network: 150 ms each way", stores=SERVERS, seconds=15)
def p3(stage: Stage, outcome: Outcome) -> None:
    """Every chunk comes late for six seconds."""
    site, proxy = behind_a_proxy(stage)
    site.begin()
    site.ask_delayed(10, first=0.3, gap=0.6)
    proxy.delay(0.15)
    site.sleep(6)
    proxy.heal()
    outcome.within("back", back_when_due(site, time.monotonic()), figures.BACK)
    site.sleep(1)
    site.finish(outcome)


@cell("P4", "replies dropped after the server has applied", stores=SERVERS, seconds=16)
def p4(stage: Stage, outcome: Outcome) -> None:
    """Twenty verbs take effect and nobody hears so."""
    site, proxy = behind_a_proxy(stage)
    site.begin()
    site.ask_delayed(20, first=0.2, gap=0.3)
    proxy.drop_replies(COMMITS[stage.store], times=20)
    proxy.cut()  # a session of PostgreSQL spells COMMIT out only once: those that are there would never say it again
    site.wait(lambda: proxy.dropped >= 20, "twenty lost replies")
    proxy.heal()
    outcome.within("back", back_when_due(site, time.monotonic()), figures.BACK)
    outcome.add("replies dropped", proxy.dropped, least=20)
    site.sleep(1)
    site.finish(outcome)


# -- disks ------------------------------------------------------------------------------------------------

DISK_MB = {"sqlite": 24, "postgres": 160, "valkey": 24, "redis": 24}


class SmallDisk:
    """A tmpfs of a few megabytes that can be filled and emptied; only root may mount one."""

    def __init__(self, folder: Path, megabytes: int) -> None:
        folder.chmod(0o711)  # the server may be another user
        self.folder = folder / "disk"
        self.folder.mkdir()
        subprocess.run(
            ["mount", "-t", "tmpfs", "-o", f"size={megabytes}m,mode=0777", "none", str(self.folder)],
            check=True,
            capture_output=True,
            timeout=20,
        )
        self._ballast = self.folder / "ballast"

    def fill(self) -> None:
        """Leave no byte."""
        with self._ballast.open("ab", buffering=0) as file, contextlib.suppress(OSError):
            while True:
                file.write(bytes(4096))

    def empty(self) -> None:
        """Make room."""
        self._ballast.unlink(missing_ok=True)

    def close(self) -> None:
        """Unmount it."""
        subprocess.run(["umount", "-l", str(self.folder)], check=False, capture_output=True, timeout=20)


def small_disk(stage: Stage) -> SmallDisk | None:
    """Mount a small disk, None where that is not allowed."""
    if shutil.which("mount") is None:
        return None
    try:
        disk = SmallDisk(stage.folder, DISK_MB[stage.store])
    except (OSError, subprocess.SubprocessError):
        return None
    stage.ends.insert(0, disk.close)
    return disk


def place_on(stage: Stage, disk: SmallDisk) -> Place:
    """Make a place whose data lie on the small disk."""
    if stage.store == "sqlite":
        place = stage.place()
        place.file = disk.folder / "noonmark.db"
        place.url = f"sqlite:///{place.file}"
        return place

    def move(server: Server) -> None:
        made: Any = server
        if stage.store == "postgres":
            made.data = disk.folder / "data"
            made.options = {**made.options, "min_wal_size": "32MB", "max_wal_size": "48MB"}
        else:
            made.options = {**made.options, "dir": str(disk.folder)}

    return stage.place(own=True, prepare=move)


@cell("D1", "a full disk, until somebody makes room", seconds=24)
def d1(stage: Stage, outcome: Outcome) -> None:
    """Six seconds without a free byte; a server that ends of it is started again when there is room."""
    disk = small_disk(stage)
    if disk is None:
        outcome.not_tried = "a small disk cannot be mounted here (it takes root)"
        return
    site = stage.site(place_on(stage, disk), size=100_000)
    site.begin()
    site.ask_delayed(10, first=0.5, gap=0.8)
    disk.fill()
    site.sleep(6)
    disk.empty()
    server = site.place.server
    if server is not None and not server.is_running:
        outcome.notes.append("the server ended, and was started again")
        server.start()
    outcome.within("back", back_when_due(site, time.monotonic()), figures.BACK)
    told = [log.read_text(encoding="utf-8", errors="replace") for log in stage.folder.glob("w*.log")]
    met = sum(1 for text in told if "does not answer" in text or "has no room" in text)
    outcome.add("workers that met it", met, least=1)
    site.sleep(4)
    site.finish(outcome, repeats=True)


@cell("D2", "fsync fails (strace injects EIO)", seconds=24)
def d2(stage: Stage, outcome: Outcome) -> None:
    """Every fsync and fdatasync of the store's process fails for two seconds; a server that ends is started again."""
    if shutil.which("strace") is None:
        outcome.not_tried = "strace is not installed"
        return
    site = stage.site(stage.place(own=True))
    site.begin()
    site.ask_delayed(10, first=0.5, gap=0.8)
    server = site.place.server
    if server is None:
        pids = [one.pid for one in site.workers]
    elif stage.store == "postgres":
        pids = children(server.pid)  # its own recovery, by new processes, finds an honest disk
    else:
        pids = [server.pid]
    with liar(pids, stage.folder / "strace.log", threads=stage.store != "postgres") as injected:
        site.sleep(2.5)
    outcome.add("calls that failed", injected(), least=1)
    if server is not None:
        with contextlib.suppress(Exception):
            wait_until(lambda: not server.is_running or _serves(site), 10, "the server's own recovery")
        if not server.is_running:
            outcome.notes.append("the server ended, and was started again")
            server.start()
    outcome.within("back", back_when_due(site, time.monotonic()), figures.BACK)
    site.sleep(3)
    site.finish(outcome, repeats=True)


def _serves(site: Site) -> bool:
    try:
        site.store.now()
    except Exception:
        return False
    return True


@contextlib.contextmanager
def liar(pids: list[int], log: Path, *, threads: bool) -> Any:
    """Let every fsync of these processes (with all their threads) fail while the block runs; gives a count of them."""
    command = ["strace", *(["-f"] if threads else []), "-qq", "-o", str(log), "-e", "trace=fsync,fdatasync"]
    command += ["-e", "inject=fsync,fdatasync:error=EIO"]
    for pid in pids:
        command += ["-p", str(pid)]
    tracer = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def count() -> int:
        return log.read_text(errors="replace").count("(INJECTED)") if log.exists() else 0

    made: Callable[[], int] = count
    try:
        yield made
    finally:
        tracer.send_signal(signal.SIGINT)
        with contextlib.suppress(subprocess.TimeoutExpired):
            tracer.wait(10)
        if tracer.poll() is None:
            tracer.kill()
            tracer.wait()
