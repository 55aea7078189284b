"""Many at once and others beside us: ten thousand overdue, an earlier version at the same store."""

from __future__ import annotations

import os
import shutil
import subprocess
import tarfile
import time
from pathlib import Path

from faults.cells import Stage, cell
from faults.figures import Outcome
from faults.nursery import ROOT
from noonmark.core.model import Origin, State
from noonmark.core.series import row_for_call

MANY = 10_000


@cell("X2", "ten thousand overdue when the workers start", seconds=25)
def x2(stage: Stage, outcome: Outcome) -> None:
    """All are run once, and the ticks beside them are decided."""
    site = stage.site()
    site.sched.declare()
    job, revision, now = site.sched.jobs["delayed"].job, site.store.jobs(["delayed"])[0].revision, site.store.now()
    for start in range(0, MANY, 1000):
        rows = [
            row_for_call(
                job,
                request_id=f"crowd-{n}",
                due_at=now - 1_000_000,
                params={"n": f"crowd-{n}"},
                key=None,
                revision=revision,
                now=now,
                origin=Origin.LATER,
            )
            for n in range(start, start + 1000)
        ]
        site.store.add(f"crowd-{start}", rows)
    began = time.monotonic()
    site.begin()
    site.wait(lambda: len(site.begins("delayed")) >= MANY, "all of them", pause=0.2)
    outcome.add("seconds for all", round(time.monotonic() - began, 1))
    site.wait(lambda: site.store.tallies().by_state.get(State.SUCCESS, 0) >= MANY, "their successes", pause=0.2)
    site.sleep(4)
    site.finish(outcome)
    starts = [one.key for one in site.begins("delayed")]
    outcome.add("overdue that ran", len(set(starts)), least=MANY, most=MANY)
    outcome.add("overdue that ran twice", len(starts) - len(set(starts)), most=0)


@cell("R2", "two versions side by side", seconds=18)
def r2(stage: Stage, outcome: Outcome) -> None:
    """Two workers of this version and one of an earlier commit on one store."""
    source = earlier(stage.folder)
    if isinstance(source, str):
        outcome.not_tried = source
        return
    site = stage.site()
    site.begin(count=2)
    old = site.worker(source=source[0])
    outcome.notes.append(f"the earlier one is {source[1]}")
    site.wait(lambda: len(site.store.workers()) >= 3 or old.poll() is not None, "the earlier version")
    if old.poll() is not None and "newer" in site.said(workers=1):
        outcome.not_tried = f"the earlier version {source[1]} refuses a store of this version's shape"
        return
    site.ask_delayed(20, first=0.2, gap=0.25)
    site.sleep(8)
    more = 0
    while old.pid not in {one.pid for one in site.effects} and more < 60:
        # Who gets a run is a race of three; on a busy machine the one that was not forked may lose twenty in a row.
        site.ask_delayed(2, first=0.1, gap=0.2)
        more += 2
        site.sleep(0.5)
    site.finish(outcome)
    outcome.add("runs asked for in addition", more)
    pids = {one.pid for one in site.effects}
    outcome.add("versions that took part", 1 + (old.pid in pids), least=2)


def earlier(folder: Path) -> tuple[Path, str] | str:
    """Unpack the package of an earlier commit; return where, and which, or why that cannot be done.

    FAULTS_EARLIER names the commit; else it is the newest tag, else the thirtieth commit back.
    """
    git = shutil.which("git")
    if git is None or not (ROOT / ".git").exists():
        return "the history is not at hand (no git, or no checkout)"
    wanted = os.environ.get("FAULTS_EARLIER", "")
    if not wanted:
        tag = subprocess.run(
            [git, "describe", "--tags", "--abbrev=0"], cwd=ROOT, capture_output=True, text=True, check=False
        )
        wanted = tag.stdout.strip() if tag.returncode == 0 else "HEAD~30"
    archive = folder / "earlier.tar"
    made = subprocess.run(
        [git, "archive", "-o", str(archive), wanted, "src"], cwd=ROOT, capture_output=True, check=False
    )
    if made.returncode:
        return f"the history does not reach back to {wanted}"
    with tarfile.open(archive) as tar:
        tar.extractall(folder / "earlier", filter="data")
    named = subprocess.run([git, "rev-parse", "--short", wanted], cwd=ROOT, capture_output=True, text=True, check=False)
    return folder / "earlier" / "src", f"{wanted} ({named.stdout.strip()})"
