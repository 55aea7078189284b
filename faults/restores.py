"""Stores that come back older than they were: a failover that lost seconds, a database restored from yesterday.

What was acknowledged and is gone cannot be had again; what counts is that whatever may run again is held, and that each
repeat says beforehand that it may be one.  Outside of what was lost everything is judged as in any other cell.
"""

from __future__ import annotations

import secrets
import signal
import time

from faults.cells import Stage, cell
from faults.checker import Lost, unflagged
from faults.effects import of_phase
from faults.figures import Outcome
from faults.site import COMES, Site
from noonmark.core.model import Micros, Occurrence, Query
from noonmark.engine import mending


@cell("F5", "a failover to a copy that is 3.5 s old", seconds=24)
def f5(stage: Stage, outcome: Outcome) -> None:
    """Twelve delayed jobs accepted before, three in the lost window."""
    site = stage.site(stage.place(own=True))
    site.begin()
    site.ask_delayed(12, first=0.3, gap=0.5)
    site.sleep(0.5)
    saved = site.save()
    began = time.monotonic()
    for n in range(3):
        site.ask("delayed", f"window-{n}", 2 + n)
    site.sleep(max(0.0, 3.5 - (time.monotonic() - began)))
    if site.place.server is None:  # a file does not fail over: its workers crash with their machine
        for worker in site.alive():
            site.kill(worker)
            worker.wait(COMES)
        site.sched.close()
    else:
        site.place.away()
    site.place.restore()
    if site.place.server is None:
        for number in range(3):
            site.worker(name=f"w{number + 1}")  # each finds its own state again
    after_the_return(site, outcome, *saved)


@cell("R4", "a database restored from yesterday", seconds=24)
def r4(stage: Stage, outcome: Outcome) -> None:
    """All workers end in order, the store is put back to an old copy, all start again."""
    site = stage.site(stage.place(own=True))
    site.begin()
    saved = site.save()
    site.ask_delayed(10, first=0.2, gap=0.3)
    site.sleep(6)
    for worker in site.alive():
        site.kill(worker, signal.SIGTERM)
    codes = [worker.wait(COMES) for worker in site.workers]
    outcome.add("exit codes that are not 0", len([code for code in codes if code]), most=0)
    if site.place.server is None:
        site.sched.close()
    else:
        site.place.away()
    site.place.restore()
    for number in range(3):
        site.worker(name=f"w{number + 1}")
    after_the_return(site, outcome, *saved)


def after_the_return(site: Site, outcome: Outcome, since: Micros, copied: Micros) -> None:
    """See the loss noticed, judge what lies outside of it, let go what is held, and look for repeats without a flag.

    Args:
        since: up to this due moment everything had been decided when the copy was made.
        copied: when that was.
    """
    site.wait(lambda: site.store.workers(), "the store")
    site.wait(lambda: _alerts(site), "the alert of the rollback")
    lost = Lost(since=since, copied=copied, until=site.store.now())
    outcome.add("alerts of the rollback", _alerts(site), least=1, most=1)
    site.sleep(7)
    there = {row.key for row in site.store.occurrences(Query(limit=100_000))}
    outcome.add("accepted and gone", sum(1 for one in site.asked if one.key not in there), least=1)
    outcome.add("runs after the return", len(site.begins("tick")), least=1)
    site.finish(outcome, lost=lost)
    held = site.wait(lambda: _held(site), "something that is held")
    outcome.add("held for a person", len(held), least=1)
    outcome.add("repeats before a person's word", len(again(site)), most=0)
    mending.release(site.store, lambda: secrets.token_hex(8), actor="ann", reason="See what runs twice.")
    site.wait(lambda: not _open(site, held), "what was held to have run")
    repeated = again(site)
    silent = [key for key, fences in repeated.items() if _is_silent(site, key, fences)]
    outcome.add("repeats", len(repeated), least=1)
    outcome.add("silent repeats", len(silent), most=0)
    outcome.notes += [f"silent: {', '.join(silent[:5])}"] if silent else []


def again(site: Site) -> dict[str, list[int]]:
    """Return what was started more than once, and under which fences, in order."""
    fences: dict[str, list[int]] = {}
    for one in sorted(of_phase(site.effects, "begin"), key=lambda one: one.mono):
        fences.setdefault(one.key, []).append(one.fence)
    return {key: found for key, found in fences.items() if len(found) > 1}


def _alerts(site: Site) -> int:
    return sum(1 for alert in site.store.tallies().open_alerts if alert.code == "store_rolled_back")


def _held(site: Site) -> list[Occurrence]:
    rows = site.store.occurrences(Query(open_only=True, limit=10_000))
    return [row for row in rows if row.code == "held_rollback"]


def _open(site: Site, rows: list[Occurrence]) -> list[Occurrence]:
    ids = tuple(row.id for row in rows)
    return site.store.occurrences(Query(ids=ids, open_only=True, limit=len(ids)))


def _is_silent(site: Site, key: str, fences: list[int]) -> bool:
    stories = [site.store.story(row.id) for row in site.store.occurrences(Query(key=key, limit=10))]
    lines = [(line.fence, line.code) for story in stories if story is not None for line in story.ledger]
    return unflagged(fences, lines)
