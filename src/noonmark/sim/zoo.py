"""The jobs that live in simulated worlds: one species for each thing a rule can say.

Rule of the file: a species is a rule and how its body behaves; the dice choose which ones live in a world, and their
numbers.  Whatever is added to the rule language gets a species here in the same change.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta

from noonmark.core import times
from noonmark.core.model import (
    HOUR,
    MINUTE,
    SECOND,
    At,
    CatchUp,
    Cron,
    Every,
    FlagSet,
    Guardrails,
    Job,
    LockRule,
    Manual,
    Micros,
    OnEvent,
    Retry,
    Succeeded,
    Window,
)

ZONES = ("UTC", "Asia/Shanghai", "America/New_York", "Europe/Berlin", "Asia/Kolkata", "Australia/Lord_Howe")


@dataclass(frozen=True, slots=True, kw_only=True)
class Body:
    """How a job's code behaves; shares are of its attempts."""

    shortest: Micros = SECOND // 2
    longest: Micros = 8 * SECOND
    fails: float = 0.0
    hangs: float = 0.0  # sleeps far beyond its timeout
    kills: float = 0.0  # takes its whole process with it
    steps: int = 0
    has_once: bool = False
    signals: str = ""  # a flag template it sets at its end


@dataclass(frozen=True, slots=True, kw_only=True)
class Specimen:
    """One job of a world."""

    job: Job
    body: Body = field(default_factory=Body)
    feeds: tuple[str, ...] = ()  # what actors outside do for it: later, emit, flag, cancel, pause, retry
    editable: bool = False


def minutely(dice: random.Random, start: Micros) -> Specimen:
    """A cron job of every minute, which must not overlap with itself."""
    del start
    retry = Retry(max=dice.choice((0, 1, 4)))
    rule = _job(dice, "minutely", Cron(expression="* * * * *", tz=dice.choice(ZONES)), retry=retry)
    return Specimen(job=rule, body=_body(dice, fails=0.1), feeds=("pause", "cancel"), editable=True)


def windowed(dice: random.Random, start: Micros) -> Specimen:
    """Every five minutes, but only within a window of the day that opens and closes while the world lasts."""
    zone = dice.choice(ZONES)
    opens = times.clock_text(start + dice.randrange(5, 40) * MINUTE, zone)[:5]
    closes = times.clock_text(start + dice.randrange(45, 110) * MINUTE, zone)[:5]
    if opens == closes:  # a repeated hour can show the same time twice
        closes = "23:59"
    window = Window(start=opens, end=closes, crosses_midnight=closes < opens)
    every = Cron(expression="*/5 * * * *", tz=zone)
    rule = _job(dice, "windowed", every, window=window, retry=Retry(max=2, base=20 * SECOND))
    return Specimen(job=rule, body=_body(dice, fails=0.3), feeds=("pause",))


def tick(dice: random.Random, start: Micros) -> Specimen:
    """A fixed grid of which every round must run: one after another where they queue, at once where they may overlap."""
    del start
    period = dice.choice((45, 90, 210)) * SECOND
    overlap = {45 * SECOND: None, 90 * SECOND: "queue_all", 210 * SECOND: "allow"}[period]
    catch_up = CatchUp(missed="all", max_delay=dice.choice((None, 2 * HOUR)), recheck=30 * SECOND)
    rule = _job(dice, "tick", Every(period=period, anchor=7 * SECOND), catch_up=catch_up, overlap=overlap)
    return Specimen(job=rule, body=_body(dice, fails=0.05, steps=2), editable=True)


def daily(dice: random.Random, start: Micros) -> Specimen:
    """A report of a fixed local time that waits for data, within a limit."""
    zone = dice.choice(ZONES)
    at = _wall_clock(start, zone, dice.randrange(10, 60))
    cron = Cron(expression=f"{int(at[3:5])} {int(at[:2])} * * *", tz=zone)
    catch_up = CatchUp(missed="latest", max_delay=dice.choice((None, 2 * HOUR)), recheck=MINUTE)
    condition = FlagSet(flag="daily.ready:{business_date}")
    rule = _job(
        dice,
        "daily",
        cron,
        key="daily:{business_date}",
        depends_on=(condition,),
        catch_up=catch_up,
        business_date=dice.choice(("same", "previous_day")),
    )
    return Specimen(job=rule, body=_body(dice, has_once=True), feeds=("flag", "run"))


def follower(dice: random.Random, start: Micros) -> Specimen:
    """Runs after the report of the same date."""
    zone = dice.choice(ZONES)
    at = times.clock_text(start + dice.randrange(15, 60) * MINUTE, zone)
    cron = Cron(expression=f"{int(at[3:5])} {int(at[:2])} * * *", tz=zone)
    limit = CatchUp(max_delay=2 * HOUR, recheck=MINUTE)
    rule = _job(dice, "follower", cron, depends_on=(Succeeded(job="daily"),), catch_up=limit)
    return Specimen(job=rule, body=_body(dice))


def hourly(dice: random.Random, start: Micros) -> Specimen:
    """Late is worthless: what could not start within its limit is skipped or missed."""
    del start
    catch_up = CatchUp(missed=dice.choice(("skip", "latest")), max_delay=dice.choice((2 * MINUTE, 10 * MINUTE)))
    cron = Cron(expression=f"{dice.randrange(60)} * * * *", tz=dice.choice(ZONES))
    return Specimen(job=_job(dice, "hourly", cron, catch_up=catch_up), body=_body(dice, fails=0.2))


def channels(dice: random.Random, start: Micros) -> Specimen:
    """One occurrence per subject."""
    del start
    cron = Cron(expression="*/2 * * * *", tz="UTC")
    rule = _job(dice, "channels", cron, each={"channel": ("ops", "dev", "a=b")}, key="c:{channel}:{scheduled_for}")
    return Specimen(job=rule, body=_body(dice, fails=0.1), editable=True)


def metrics(dice: random.Random, start: Micros) -> Specimen:
    """Every minute on every worker."""
    del start
    cron = Cron(expression="* * * * *", tz="UTC")
    rule = _job(dice, "metrics", cron, scope="each_worker", key="m:{worker}:{scheduled_for}")
    return Specimen(job=rule, body=Body(longest=2 * SECOND))


def listed(dice: random.Random, start: Micros) -> Specimen:
    """A list of moments."""
    moments = sorted(start + dice.randrange(2, 110) * MINUTE for _ in range(4))
    texts = tuple(f"{times.to_datetime(moment):%Y-%m-%dT%H:%M:%S}Z" for moment in dict.fromkeys(moments))
    return Specimen(job=_job(dice, "listed", At(moments=texts)), body=_body(dice, fails=0.1))


def digest(dice: random.Random, start: Micros) -> Specimen:
    """A delayed job after each event, whatever how often the event is delivered."""
    del start
    trigger = OnEvent(name="run.finished", delay=dice.choice((0, 5, 40)) * SECOND)
    rule = _job(dice, "digest", trigger, key="digest:{event.id}", retry=Retry(max=2))
    return Specimen(job=rule, body=_body(dice, fails=0.3, steps=1), feeds=("emit", "cancel"))


def asked(dice: random.Random, start: Micros) -> Specimen:
    """What callers ask for, now or later, some of it twice."""
    del start
    rule = _job(dice, "asked", Manual(), key="asked:{params.order}", overlap=dice.choice(("allow", "skip")))
    return Specimen(job=rule, body=_body(dice, fails=0.1, has_once=True), feeds=("later", "cancel"))


def hanging(dice: random.Random, start: Micros) -> Specimen:
    """Sometimes it does not come back."""
    del start
    cron = Cron(expression="*/3 * * * *", tz="UTC")
    rule = _job(dice, "hanging", cron, timeout=40 * SECOND, retry=Retry(max=1))
    return Specimen(job=rule, body=_body(dice, hangs=0.3))


def poison(dice: random.Random, start: Micros) -> Specimen:
    """It takes its worker with it; after some of that a person must look."""
    del start
    rule = _job(
        dice, "poison", Manual(), key="poison:{params.order}", max_takeovers=dice.choice((1, 2)), on_rollback="run"
    )
    return Specimen(job=rule, body=_body(dice, kills=0.8), feeds=("seldom",))


def careful(dice: random.Random, start: Micros) -> Specimen:
    """A lost run is not repeated by itself."""
    del start
    cron = Cron(expression="*/4 * * * *", tz="UTC")
    rule = _job(dice, "careful", cron, on_lost=dice.choice(("manual", "wait")), timeout=2 * MINUTE)
    return Specimen(job=rule, body=_body(dice, longest=50 * SECOND), feeds=("retry",))


def locked(dice: random.Random, start: Micros) -> Specimen:
    """It shares something with people outside noonmark."""
    del start
    lock = LockRule(name="ledger", busy=dice.choice((None, "wait")), ttl=15 * SECOND)
    cron = Cron(expression="*/2 * * * *", tz="UTC")
    return Specimen(job=_job(dice, "locked", cron, lock=lock), body=_body(dice, longest=20 * SECOND))


def weekdays(dice: random.Random, start: Micros) -> Specimen:
    """Never at a weekend of its zone, which may begin or end while the world lasts."""
    del start
    guard = Guardrails(allow_weekend=False)
    cron = Cron(expression="*/10 * * * *", tz=dice.choice(ZONES))
    return Specimen(job=_job(dice, "weekdays", cron, guardrails=guard), body=_body(dice))


SPECIES: tuple[Callable[[random.Random, Micros], Specimen], ...] = (
    minutely, windowed, tick, daily, follower, hourly, channels, metrics, listed, digest, asked, hanging, poison,
    careful, locked, weekdays,
)  # fmt: skip


def populate(dice: random.Random, start: Micros) -> tuple[Specimen, ...]:
    """Return the jobs of a world that begins at ``start`` (UTC microseconds): four to eight, always one that is asked."""
    chosen = set(dice.sample(range(len(SPECIES)), dice.randrange(4, 9)))
    names = [make.__name__ for make in SPECIES]
    if names.index("follower") in chosen:
        chosen.add(names.index("daily"))
    chosen.add(names.index("asked"))
    return tuple(SPECIES[index](dice, start) for index in sorted(chosen))


def _wall_clock(start: Micros, zone: str, minutes: int) -> str:
    """Return what a clock on the wall would show so many minutes later if nobody set it: a time that may not exist."""
    shown = times.local(start, zone).replace(tzinfo=None) + timedelta(minutes=minutes)
    return f"{shown:%H:%M}"


def _job(dice: random.Random, name: str, trigger: Cron | Every | At | OnEvent | Manual, **fields: object) -> Job:
    lease = dice.choice((10, 15, 30)) * SECOND
    defaults: dict[str, object] = {"lease": lease, "reason": "the simulated world needs it"}
    return Job(name=name, trigger=trigger, **(defaults | fields))  # type: ignore[arg-type]


def _body(
    dice: random.Random,
    *,
    longest: Micros = 0,
    fails: float = 0.0,
    hangs: float = 0.0,
    kills: float = 0.0,
    steps: int = 0,
    has_once: bool = False,
) -> Body:
    longest = longest or dice.choice((2, 10, 45)) * SECOND
    share = dice.choice((0.0, 1.0, 2.0))
    return Body(longest=longest, fails=fails * share, hangs=hangs, kills=kills, steps=steps, has_once=has_once)
