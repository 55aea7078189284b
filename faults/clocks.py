"""Clocks that are wrong, that jump and that drift: of workers, and of the store's own server."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from faults import figures
from faults.cells import Stage, cell
from faults.faking import fake_clock, faketime_library
from faults.figures import Outcome
from faults.site import Site
from noonmark.testing.servers import Server

SECOND = 1_000_000


def with_offsets(stage: Stage, outcome: Outcome, *offsets: int) -> None:
    """One right worker, and two whose wall clocks are wrong by so many seconds."""
    site = stage.site()
    site.begin(count=1)
    is_faked = faketime_library() is not None
    for offset in offsets:
        if is_faked:
            site.worker(faked=f"{offset:+d}")
        else:
            site.worker("--clock", str(offset))
    outcome.notes.append(
        "clocks set wrong by libfaketime" if is_faked else "clocks set wrong inside the worker program"
    )
    site.settle_in()
    site.ask_delayed(10, first=0.5, gap=0.7)
    site.sleep(10)
    more = 0
    while len(took_part(site)) < 2 and more < 60:
        # Who gets a run is a race; on a busy machine two that began later may lose twenty in a row.
        site.ask_delayed(2, first=0.1, gap=0.2)
        more += 2
        site.sleep(0.5)
    site.finish(outcome)
    outcome.add("runs asked for in addition", more)
    seen = sorted(round(worker.wall_offset / SECOND) for worker in site.store.workers())
    outcome.add("wrong clocks reported", sum(1 for offset in offsets if offset in seen), least=len(offsets))
    outcome.add("workers that took part", len(took_part(site)), least=2)


def took_part(site: Site) -> set[int]:
    """Return the processes that ran something."""
    return {one.pid for one in site.begins("tick") + site.begins("delayed") + site.begins("latest")}


@cell("F6a", "one worker's clock 5 s ahead, one 5 s behind", seconds=17)
def f6a(stage: Stage, outcome: Outcome) -> None:
    """Five seconds each way."""
    with_offsets(stage, outcome, -5, 5)


@cell("F6b", "one worker's clock 300 s ahead, one 300 s behind", seconds=17)
def f6b(stage: Stage, outcome: Outcome) -> None:
    """Five minutes each way."""
    with_offsets(stage, outcome, -300, 300)


@cell("C1", "workers' clocks that step, jump back and forth, and drift", seconds=18)
def c1(stage: Stage, outcome: Outcome) -> None:
    """One goes back and forth by minutes, one drifts by 2 %, one steps by a second each way."""
    site = stage.site()
    site.begin(
        ["--clock", "0@0,300@2,-300@4,0@6,-5@7,5@8,0@9"], ["--clock", "drift:0.02"], ["--clock", "1@1,-1@3,1@5,-1@7"]
    )
    site.ask_delayed(10, first=0.5, gap=0.8)
    site.sleep(11)
    site.finish(outcome)


FAKEABLE = ("postgres", "valkey")
"""Debian's Redis does not start under libfaketime (its allocator asks for the time too early)."""


@cell("C2", "the clock of the store's server steps forward and back", stores=FAKEABLE, seconds=26)
def c2(stage: Stage, outcome: Outcome) -> None:
    """Forward, back for a moment, back by far, forward again: everything runs once, and work goes on."""
    if faketime_library() is None:
        outcome.not_tried = "libfaketime is not installed"
        return
    file = stage.folder / "clock"
    file.write_text("+0\n", encoding="utf-8")
    file.chmod(0o644)
    for folder in (stage.folder, *stage.folder.parents):
        if folder.stat().st_uid == stage.folder.stat().st_uid and folder.name:
            folder.chmod(folder.stat().st_mode | 0o011)  # the server may be another user

    def prepare(server: Server) -> None:
        made: Any = server
        usual = made._environment
        made._environment = lambda: {
            **usual(),
            **{name: value for name, value in fake_clock("").items() if name != "FAKETIME"},
            "FAKETIME_TIMESTAMP_FILE": str(file),
        }

    site = stage.site(stage.place(own=True, prepare=prepare))
    site.begin()
    site.ask_delayed(6, first=0.5, gap=1.0)
    outcome.add("seconds forward", step(site, file, "+4", 2.5), least=3)
    step(site, file, "+0", 1.5)
    ran = len(site.begins("plain"))
    outcome.add("seconds back", step(site, file, "-40", 0.3), most=0)
    back = time.monotonic()
    site.sched.jobs["plain"].later("0s")(n="after_the_step")
    site.wait(lambda: len(site.begins("plain")) > ran, "a run that was asked for after the step")
    outcome.within("held", time.monotonic() - back, figures.SET_BACK)
    site.wait(lambda: _clock_alerts(site), "the alert of the clock", pause=0.2)
    outcome.add("clock alerts", _clock_alerts(site), least=1)
    step(site, file, "+4", 3)
    site.finish(outcome, judge_early=False)


def step(site: Site, file: Path, offset: str, seconds: float) -> float:
    """Step the server's clock and let work go on for so long; return how far it went, in seconds."""
    before, asked = site.store.now(), time.monotonic()
    file.write_text(f"{offset}\n", encoding="utf-8")
    site.sleep(0.3)
    jump = (site.store.now() - before) / 1e6 - (time.monotonic() - asked)
    site.sleep(seconds - 0.3)
    return round(jump, 2)


def _clock_alerts(site: Site) -> int:
    return sum(1 for alert in site.store.tallies().open_alerts if alert.kind == "clock")


# -- F7: where a day has 23 or 25 hours -------------------------------------------------------------------

ZONES = ("America/New_York", "Europe/Berlin", "Australia/Lord_Howe", "America/Sao_Paulo", "Asia/Shanghai")


@cell("F7", "a daily job where clocks change", stores=("sqlite",), seconds=3)
def f7(stage: Stage, outcome: Outcome) -> None:
    """02:30 where it does not exist runs once, at the end of the gap; 01:30 where it comes twice runs once."""
    from noonmark.core.model import Cron, Job
    from noonmark.core.moments import moments_between

    wrong: list[str] = []
    count = 0
    for zone in ZONES:
        for hour, minute in ((1, 30), (2, 30), (3, 0), (0, 0)):
            job = Job(name="daily", trigger=Cron(expression=f"{minute} {hour} * * *", tz=zone), reason="F7")
            begin, end = datetime(2026, 1, 1, tzinfo=UTC), datetime(2027, 1, 1, tzinfo=UTC)
            first, last = (round(moment.timestamp() * SECOND) for moment in (begin, end))
            ours = [moment.at for moment in moments_between(job, first - 1, last, limit=1000)]
            theirs = [at for at in by_hand(zone, hour, minute) if first <= at <= last]
            count += len(theirs)
            if ours != theirs:
                wrong.append(f"{zone} {hour:02}:{minute:02} ({len(ours)} for {len(theirs)})")
    outcome.add("days", count, least=7_000)
    outcome.add("zones and times that differ", len(wrong), most=0)
    outcome.notes += wrong
    assert stage.store


def by_hand(zone: str, hour: int, minute: int) -> Iterator[int]:
    """Yield one moment per local day by looking at its minutes: the first that shows the time, or comes after it."""
    place = ZoneInfo(zone)
    day = date(2025, 12, 30)
    while day < date(2027, 1, 3):
        wanted = (day, hour * 60 + minute)
        before = datetime(day.year, day.month, day.day, hour, minute, tzinfo=place) - timedelta(days=1)
        start = before.astimezone(UTC) + timedelta(hours=21, minutes=50)
        assert _shown(start, place) < wanted
        moment = start
        while _shown(moment, place) < wanted:
            moment += timedelta(minutes=1)
        yield round(moment.timestamp() * SECOND)
        day += timedelta(days=1)


def _shown(moment: datetime, place: ZoneInfo) -> tuple[date, int]:
    here = moment.astimezone(place)
    return here.date(), here.hour * 60 + here.minute
