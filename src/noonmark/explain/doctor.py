"""What is right and what is wrong with a store and whoever works with it: the doctor's own questions.

Promises: reads only; every finding says what it means for the jobs and what to do.  Rule of the file: the store's own
findings come first, and nothing that a store says about itself is said here again.
"""

from __future__ import annotations

import platform
import sys
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace
from importlib import metadata
from pathlib import Path
from typing import cast

from noonmark.core import former, rollback
from noonmark.core.codec import digest
from noonmark.core.model import MINUTE, SECOND, Cron, Every, Job, JobRow, Micros, Query, WorkerInfo
from noonmark.core.times import length_text, to_datetime, tzdata_version
from noonmark.engine import copied, places
from noonmark.engine.host import lives_here
from noonmark.engine.witnessing import Untold, untold
from noonmark.explain.find import read_rule
from noonmark.explain.processes import as_known, processes
from noonmark.explain.returning import returning
from noonmark.ports.clock import Clock
from noonmark.ports.doctor import Diagnoses, Finding
from noonmark.ports.rollback import Guarded
from noonmark.ports.store import Capability, Store

SKEW: Micros = SECOND
"""Clocks that are further apart than this are reported; what is due is decided by the store's clock alone."""
WAITS: Micros = MINUTE
"""Work that has been due for longer while nobody is awake is told as what must be mended."""
DRIVERS = ("apsw", "psycopg", "redis", "hiredis", "aetcd", "kazoo")
_SHOWN = 5
FRONTIERS_AT_ONCE = 100_000
"""Open frontiers that are read together, to learn of most series that they go on."""

_DURABILITY = {
    Capability.DURABLE_FAILOVER: Finding(
        code="durability_failover",
        level="ok",
        sentence="What was acknowledged survives the loss of the store's machine: a replica had it first.",
        about="durability",
    ),
    Capability.DURABLE_HOST: Finding(
        code="durability_host",
        level="ok",
        sentence="What was acknowledged survives a power cut of the store's machine, but not the loss of its disk.",
        about="durability",
    ),
    Capability.DURABLE_PROCESS: Finding(
        code="durability_process",
        level="warn",
        sentence="What was acknowledged survives the end of the store's process; a power cut may cost the last moments.",
        remedy="For more: synchronous=FULL (SQLite), appendfsync always (Redis), fsync on (PostgreSQL).",
        about="durability",
    ),
}
"""The strongest class that a store promises, told where the store has not told it in words of its own."""
_NOTHING = Finding(
    code="durability_none",
    level="warn",
    sentence="What was acknowledged may be gone when the store's process crashes.",
    remedy="Set appendonly yes (Redis), synchronous_commit on (PostgreSQL), or use a store that keeps: sqlite:///PATH.",
    about="durability",
)


def examine(
    store: Store, clock: Clock, declared: Iterable[Job] = (), *, version: str = "", memories: Sequence[Path] = ()
) -> list[Finding]:
    """Ask the store, the machine, the workers and the rules.

    Args:
        store: the store as opened.
        clock: this machine's.
        declared: the rules that this folder declares, to be compared with those in force.
        version: of noonmark here.
        memories: the state folders of the workers whose receipts are compared; none: nothing is known of any.
    """
    own = store.diagnose() if isinstance(store, Diagnoses) else []
    now = store.now()
    everybody, boot_id = store.workers(), clock.boot_id()
    known = processes(everybody, lambda worker: lives_here(worker, boot_id))
    workers = [worker for worker in as_known(everybody, known, now) if worker.is_awake(now)]
    rows = store.jobs()
    return [
        *own,
        *promises(store.capabilities, own),
        *_notified(store.capabilities),
        *_clock(store, clock),
        *_workers(store, workers, rows, version),
        *_rollback(store, workers),
        *_untold(untold(memories, store), memories),
        *_another(store, memories),
        *_former(store),
        *_copied(store),
        *_rules(store, rows, workers),
        *_declared(rows, declared),
        *returning(store, now),
    ]


def of_this_machine(version: str) -> list[Finding]:
    """Say which versions are in use here."""
    found = {"python": platform.python_version(), "noonmark": version or "?", "tzdata": tzdata_version() or "?"}
    for name in DRIVERS:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    detail: dict[str, object] = {"versions": ", ".join(f"{name} {text}" for name, text in found.items())}
    sentence = f"In use here: {detail['versions']}, on {sys.platform}."
    detail["platform"] = sys.platform
    return [Finding(code="versions", level="ok", sentence=sentence, detail=detail)]


# -- what the store promises --------------------------------------------------------------------------


def promises(can: Collection[Capability], own: Sequence[Finding]) -> Iterable[Finding]:
    """Say the class that a store promises, and what a failover may cost, unless it has told so itself.

    Args:
        can: what the store can promise.
        own: what it has found out about itself.
    """
    told = {finding.about for finding in own}
    if "durability" not in told:
        yield next((finding for capability, finding in _DURABILITY.items() if capability in can), _NOTHING)
    if Capability.FAILOVER_LOSS in can and "failover" not in told:
        sentence = "There are replicas, and one that takes over may lack the last acknowledged writes."
        yield Finding(code="failover_loss", level="warn", sentence=sentence, about="failover")


def _notified(can: Collection[Capability]) -> Iterable[Finding]:
    if Capability.NOTIFY not in can:
        sentence = "Workers are not told at once when something is due earlier: they look every 0.25 s."
        yield Finding(code="notify_absent", level="warn", sentence=sentence)


# -- the guard ----------------------------------------------------------------------------------------


def _rollback(store: Store, workers: Sequence[WorkerInfo]) -> Iterable[Finding]:
    epochs = rollback.epochs_of(store.facts([rollback.FACT])[rollback.FACT].value)
    open_ones = [epoch for epoch in epochs if epoch.released_at is None]
    if open_ones:
        sentence = "The store lost data that it had acknowledged; what may have run in it is held for a person."
        remedy = "noonmark ledger show"
        yield Finding(code="rollback_held", level="refuse", sentence=sentence, remedy=remedy)
    if Capability.PROVES not in store.capabilities:
        return
    blind = {writer.worker for writer in cast("Guarded", store).writers() if writer.blind}
    names = ", ".join(worker.name for worker in workers if worker.id in blind)
    if names:
        detail = {"workers": names}
        sentence = (
            f"Blind, without a state folder: {names}; after a restart they cannot tell whether the store lost data."
        )
        remedy = "Give them one that stays: noonmark worker --state DIR (NOONMARK_STATE)."
        yield Finding(code="workers_blind", level="warn", sentence=sentence, remedy=remedy, detail=detail)


def _untold(more: Untold, memories: Sequence[Path]) -> Iterable[Finding]:
    if more.lost:
        detail: dict[str, object] = {"writers": _names(more.lost)}
        sentence = (
            f"The store lacks what it had acknowledged to {detail['writers']}, as their receipts say: it went back in "
            "time."
        )
        remedy = (
            "The next worker that starts with them holds what may have run: noonmark worker APP, then noonmark ledger "
            "show"
        )
        yield Finding(code="rollback_untold", level="refuse", sentence=sentence, remedy=remedy, detail=detail)
    if more.unreadable:
        detail = {"writers": _names(more.unreadable), "folder": ", ".join(map(str, memories))}
        sentence = (
            f"The receipts of {detail['writers']} in {detail['folder']} cannot be read: whether the store lost something of "
            "them is not known."
        )
        remedy = "The next worker that starts here writes them anew; compare what the jobs did: noonmark ledger export"
        yield Finding(code="receipt_unreadable", level="warn", sentence=sentence, remedy=remedy, detail=detail)


def _another(store: Store, memories: Sequence[Path]) -> Iterable[Finding]:
    """Say that another store lay here: to this one nothing is missing, for nothing was ever in it."""
    if Capability.PROVES not in store.capabilities:
        return
    for folder, before in places.former(memories, places.place_of(store), cast("Guarded", store).store_id()):
        detail: dict[str, object] = {"before": before, "folder": str(folder)}
        sentence = (
            f"Another store lay here before, as workers of this machine remember: {before}. What it held is not in this one "
            "(occurrences, pauses, flags, outcomes), and nothing here can say what is missing."
        )
        remedy = (
            f"Put it back if that was not meant; what ran there: noonmark ledger export FILE --from-state {folder} "
            f"--of {before}. To hear of it no more, remove {folder / before}"
        )
        yield Finding(code="store_another", level="warn", sentence=sentence, remedy=remedy, detail=detail)


def _former(store: Store) -> Iterable[Finding]:
    """Say the same where nobody of this machine remembers it, and until a person takes the word away."""
    seen = former.former_of(store.facts([former.FACT])[former.FACT])
    if seen is not None:
        detail: dict[str, object] = {"before": seen.store, "at": to_datetime(seen.at).strftime("%Y-%m-%d %H:%M:%S UTC")}
        sentence = (
            f"Another store lay here until a worker found this one at {detail['at']}: {seen.store}. What it held is not in "
            "this one, and noonmark why says so."
        )
        remedy = f"Put it back if that was not meant. To hear of it no more: {former.CLEAR}"
        yield Finding(code="store_another_told", level="warn", sentence=sentence, remedy=remedy, detail=detail)


def _copied(store: Store) -> Iterable[Finding]:
    seen = copied.copied(store)
    if seen is not None:
        detail: dict[str, object] = {"to": seen.to, "at": to_datetime(seen.at).strftime("%Y-%m-%d %H:%M:%S UTC")}
        sentence = f"This store was copied to {seen.to} at {detail['at']}: with workers on both, everything runs twice."
        remedy = f"Start no worker here; if this one is to go on and not the copy: {copied.CLEAR}"
        yield Finding(code="store_copied", level="warn", sentence=sentence, remedy=remedy, detail=detail)


# -- clocks and workers -------------------------------------------------------------------------------


def _clock(store: Store, clock: Clock) -> Iterable[Finding]:
    before = clock.wall()
    now = store.now()
    offset = (before + clock.wall()) // 2 - now
    hundredths = round(offset * 100 / SECOND)
    detail = {"seconds": f"{hundredths / 100:+.2f}" if hundredths else "0.00"}
    if abs(offset) <= SKEW:
        sentence = f"This machine's clock differs by {detail['seconds']} s from the store's."
        yield Finding(code="clock_right", level="ok", sentence=sentence, detail=detail)
        return
    if store.url.startswith("sqlite:"):
        yield _beside_the_files_time(detail)
        return
    sentence = (
        f"This machine's clock differs by {detail['seconds']} s from the store's; what is due is decided by the store's, "
        "and times in logs here are by this machine's."
    )
    remedy = "Compare both with a time server, and set the one that is wrong (NTP)."
    yield Finding(code="clock_off", level="warn", sentence=sentence, remedy=remedy, detail=detail)


def _beside_the_files_time(detail: dict[str, str]) -> Finding:
    """Both are this machine's: the wall clock as it is now, and as it was when the file's time was anchored."""
    sentence = (
        f"This machine's clock differs by {detail['seconds']} s from the store's time, which was taken from it when the "
        "file was made or at the last boot, decides what is due, and never goes back."
    )
    remedy = (
        "Set this machine's clock if it is the wrong one (NTP). If it is right and the store is ahead, jobs run early: "
        "a copy has the right time (noonmark store copy FROM TO)."
    )
    return Finding(code="clock_off_file", level="warn", sentence=sentence, remedy=remedy, detail=detail)


def _workers(store: Store, workers: Sequence[WorkerInfo], rows: Sequence[JobRow], version: str) -> Iterable[Finding]:
    if not workers:
        if any(row.rule for row in rows):
            yield _nobody(store)
        return
    names = _names(worker.name for worker in workers)
    detail = {"count": len(workers), "workers": names}
    sentence = f"{len(workers)} workers are awake: {names}." if len(workers) > 1 else f"1 worker is awake: {names}."
    yield Finding(code="workers_awake", level="ok", sentence=sentence, detail=detail)
    skewed = [worker for worker in workers if abs(worker.wall_offset) > SKEW]
    if skewed:
        told = _names(f"{worker.name} ({worker.wall_offset / SECOND:+.1f} s)" for worker in skewed)
        yield Finding(
            code="workers_skewed",
            level="warn",
            sentence=f"Clocks of workers that differ from the store's: {told}; jobs run right, their logs are off.",
            remedy="Set those machines' clocks (NTP).",
            detail={"workers": told},
        )
    if other := _others(workers, lambda worker: worker.tzdata, tzdata_version()):
        yield Finding(
            code="workers_tzdata",
            level="warn",
            sentence="Zone data differs ({told}; here {here}): the same local time may mean two instants.".format(
                **other
            ),
            remedy="Install one version of the package tzdata everywhere.",
            detail=other,
        )
    if other := _others(workers, lambda worker: worker.version, version):
        yield Finding(
            code="workers_version",
            level="warn",
            sentence=(
                "Versions of noonmark differ ({told}; here {here}): a rule with a new field is not run by older ones."
            ).format(**other),
            remedy="Upgrade the older ones.",
            detail=other,
        )


def _nobody(store: Store) -> Finding:
    """Health is the age of what is undecided: with nobody awake it is not well where work waits, and well enough else."""
    remedy, tallies = "Start one: noonmark worker APP", store.tallies()
    since = tallies.earliest_due
    if since is None or tallies.now - since <= WAITS:
        sentence = "No worker is awake: what falls due now runs late, when one starts."
        return Finding(code="workers_none", level="warn", sentence=sentence, remedy=remedy)
    detail = {"at": to_datetime(since).strftime("%Y-%m-%d %H:%M:%S UTC"), "late": length_text(tallies.now - since)}
    sentence = f"No worker is awake, and work has been due since {detail['at']}, for {detail['late']}: nothing runs."
    return Finding(code="work_waits", level="refuse", sentence=sentence, remedy=remedy, detail=detail)


def _others(workers: Sequence[WorkerInfo], read: Callable[[WorkerInfo], str], here: str) -> dict[str, str]:
    """Return what is told of workers that have another version than this machine, {} when none has."""
    other = [worker for worker in workers if read(worker) and here and read(worker) != here]
    return {"told": _names(f"{worker.name} {read(worker)}" for worker in other), "here": here} if other else {}


# -- rules --------------------------------------------------------------------------------------------


def _rules(store: Store, rows: Sequence[JobRow], workers: Sequence[WorkerInfo]) -> Iterable[Finding]:
    active = [row for row in rows if row.rule]
    jobs = {row.name: read_rule(row) for row in active}
    unreadable = [name for name, job in jobs.items() if job is None]
    if unreadable:
        names = _names(unreadable)
        yield Finding(
            code="rules_unreadable",
            level="refuse",
            sentence=f"Rules that this version cannot read: {names}; it neither runs nor explains them.",
            remedy="Upgrade noonmark here, or register those jobs again.",
            detail={"jobs": names},
        )
    goes_on = Query(open_only=True, frontier_only=True, limit=FRONTIERS_AT_ONCE)
    frontiers = {row.job for row in store.occurrences(goes_on)}
    stopped = [
        name
        for name, job in jobs.items()
        if job is not None
        and isinstance(job.trigger, (Cron, Every))
        and job.scope == "cluster"
        and name not in frontiers
        and not store.occurrences(replace(goes_on, job=name, limit=1))  # there may be more than were read
    ]
    if stopped:
        names = _names(stopped)
        yield Finding(
            code="rules_without_next",
            level="warn",
            sentence=f"Schedules without a next moment: {names}.",
            remedy="A worker that runs them puts it in when it starts: noonmark worker APP",
            detail={"jobs": names},
        )
    if workers:
        able = {name for worker in workers for name in worker.jobs}
        idle = [name for name, job in jobs.items() if job is not None and name not in able]
        if idle:
            names = _names(idle)
            yield Finding(
                code="rules_nobody_runs",
                level="warn",
                sentence=f"Jobs that no worker now awake can run: {names}.",
                remedy="Start a worker whose app has them, or end them: noonmark end JOB --reason TEXT",
                detail={"jobs": names},
            )


def _declared(rows: Sequence[JobRow], declared: Iterable[Job]) -> Iterable[Finding]:
    in_force = {row.name: row.digest for row in rows if row.rule}
    wanted = {job.name: digest(job) for job in declared}
    other = sorted(name for name, text in wanted.items() if in_force.get(name) != text)
    if other:
        names = _names(other)
        yield Finding(
            code="rules_not_in_force",
            level="warn",
            sentence=f"Rules declared here that are not in force as they stand: {names}.",
            remedy="Start the worker, or put them in force: noonmark rules apply FILE",
            detail={"jobs": names},
        )
    elif wanted:
        sentence = f"All {len(wanted)} rules declared here are in force."
        yield Finding(code="rules_in_force", level="ok", sentence=sentence, detail={"count": len(wanted)})


def _names(names: Iterable[str]) -> str:
    """Return a few names, and how many more there are."""
    every = list(names)
    more = f", +{len(every) - _SHOWN}" if len(every) > _SHOWN else ""
    return ", ".join(every[:_SHOWN]) + more
