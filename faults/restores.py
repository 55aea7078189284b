"""Stores that come back older than they were: a failover that lost seconds, a database restored from yesterday.

What was acknowledged and is gone cannot be had again; what counts is whether a repeat is flagged.  Without the rollback
guard these cells only count; with it a repeat that is not flagged is red.
"""

from __future__ import annotations

import importlib.util
import signal
import time
from collections import Counter

from faults.cells import Stage, cell
from faults.effects import of_phase
from faults.figures import Outcome
from faults.site import Site
from noonmark.core.model import Query

FLAGS = ("held_rollback", "restored_epoch")
"""Codes of a ledger line that say of a row: it may have run before."""


def guard_is_there() -> bool:
    """Return whether this noonmark proves at a reconnect that what it was told is still there."""
    return importlib.util.find_spec("noonmark.core.rollback") is not None


@cell("F5", "a failover to a copy that is 3.5 s old", seconds=24)
def f5(stage: Stage, outcome: Outcome) -> None:
    """Twelve delayed jobs accepted before, three in the lost window."""
    site = stage.site(stage.place(own=True))
    site.begin()
    site.ask_delayed(12, first=0.3, gap=0.5)
    site.sleep(0.5)
    site.place.save()
    saved = time.monotonic()
    for n in range(3):
        site.ask("delayed", f"window-{n}", 2 + n)
    site.sleep(max(0.0, 3.5 - (time.monotonic() - saved)))
    if site.place.server is None:  # a file does not fail over: its workers crash with their machine
        for worker in site.alive():
            site.kill(worker)
            worker.wait(10)
        site.sched.close()
    else:
        site.place.away()
    site.place.restore()
    if site.place.server is None:
        for number in range(3):
            site.worker(name=f"w{number + 1}")  # each finds its own state again
    site.sleep(10)
    count_repeats(site, outcome)


@cell("R4", "a database restored from yesterday", seconds=24)
def r4(stage: Stage, outcome: Outcome) -> None:
    """All workers end in order, the store is put back to an old copy, all start again."""
    site = stage.site(stage.place(own=True))
    site.begin()
    site.place.save()
    site.ask_delayed(10, first=0.2, gap=0.3)
    site.sleep(6)
    for worker in site.alive():
        site.kill(worker, signal.SIGTERM)
    codes = [worker.wait(25) for worker in site.workers]
    outcome.add("exit codes that are not 0", len([code for code in codes if code]), most=0)
    if site.place.server is None:
        site.sched.close()
    else:
        site.place.away()
    site.place.restore()
    for number in range(3):
        site.worker(name=f"w{number + 1}")
    site.sleep(8)
    count_repeats(site, outcome)


def count_repeats(site: Site, outcome: Outcome) -> None:
    """Count what ran again and what was accepted and is gone; a repeat is flagged when its row says that it may be one."""
    site.wait(lambda: site.store.workers(), 20, "the store")
    starts = Counter(one.key for one in of_phase(site.effects, "begin"))
    again = [key for key, count in starts.items() if count > 1]
    there = {row.key for row in site.store.occurrences(Query(limit=100_000))}
    gone = [one.key for one in site.asked if one.key not in there]
    outcome.add("repeats", len(again))
    outcome.add("accepted and gone", len(gone))
    outcome.add("exits", len(site.exits()), most=0)
    outcome.add("runs after the return", len(site.begins("tick")), least=1)
    alerts = [alert for alert in site.store.tallies().open_alerts if alert.code == "store_rolled_back"]
    held = [row for row in site.store.occurrences(Query(open_only=True, limit=10_000)) if row.code == "held_rollback"]
    outcome.add("held for a person", len(held))
    if not guard_is_there():
        outcome.counted = "this noonmark has no rollback guard"
        return
    silent = [key for key in again if not _is_flagged(site, key)]
    outcome.add("alerts of the rollback", len(alerts), least=1)
    outcome.add("silent repeats", len(silent), most=0)
    outcome.notes += [f"silent: {', '.join(silent[:5])}"] if silent else []


def _is_flagged(site: Site, key: str) -> bool:
    for row in site.store.occurrences(Query(key=key, limit=10)):
        story = site.store.story(row.id)
        if story is not None and any(line.code in FLAGS for line in story.ledger):
            return True
    return False
