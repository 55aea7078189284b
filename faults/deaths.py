"""Workers that are killed, stopped, starved, told to end and struck at every named point."""

from __future__ import annotations

import contextlib
import secrets
import signal
import subprocess
import threading
import time
from pathlib import Path

from faults import figures, jobs
from faults.cells import Stage, cell
from faults.figures import Outcome
from faults.nursery import Process
from faults.site import COMES, Asked, NotSo, Site
from noonmark.core.model import Event, Note, Settlement, State

HUNGER = 192 << 20
"""Bytes of memory at which a worker is killed, as a machine without memory would do."""


def running(site: Site, asked: Asked) -> Process:
    """Wait until a run has begun, and return its worker."""
    site.wait(lambda: site.begins(asked.key.partition(":")[0], asked.key), f"{asked.key} to begin")
    return site.by_pid(site.begins(asked.key.partition(":")[0], asked.key)[-1].pid)


def takeover(site: Site, asked: Asked, since: float) -> float:
    """Wait until somebody else has begun the run; return how long that took from a monotonic moment."""
    job = asked.key.partition(":")[0]
    count = len(site.begins(job, asked.key))
    site.wait(lambda: len(site.begins(job, asked.key)) > count, f"{asked.key} to be taken over")
    return site.begins(job, asked.key)[-1].mono / 1e9 - since


@cell("F1", "no fault", seconds=16)
def f1(stage: Stage, outcome: Outcome) -> None:
    """Twelve seconds of nothing but work."""
    site = stage.site()
    site.begin()
    site.ask_delayed()
    site.sleep(12)
    site.finish(outcome)


@cell("F2", "SIGKILL of the worker that runs the long job", seconds=24)
def f2(stage: Stage, outcome: Outcome) -> None:
    """Kill the runner three seconds in, watch the takeover, start a worker again."""
    site = stage.site()
    site.begin()
    site.ask_delayed()
    long = site.ask("long", 1)
    runner = running(site, long)
    site.sleep(3)
    killed = time.monotonic()
    site.kill(runner)
    outcome.within("takeover", takeover(site, long, killed), figures.takeover(site.lease))
    site.worker()
    site.wait(lambda: site.row(long).state is State.SUCCESS, "the long run to end")
    site.finish(outcome, repeats=True)


@cell("F3", "SIGSTOP of the runner past its lease, then SIGCONT", seconds=26)
def f3(stage: Stage, outcome: Outcome) -> None:
    """Freeze the runner; its successor works; the frozen copy wakes and goes on writing, and is refused."""
    site = stage.site()
    site.begin()
    site.ask_delayed()
    long = site.ask("long", 1)
    runner = running(site, long)
    site.sleep(3)
    refused_before = site.store.tallies().stale_refused
    stopped = time.monotonic()
    site.freeze(runner)
    # The holder is known to be alive (its process is there), so its lease of time is waited for once more.
    took = takeover(site, long, stopped)
    outcome.within("takeover", took, figures.takeover(site.lease, is_alive=True))
    attempts, refused = zombie(site, long)
    site.sleep(2)
    runner.send_signal(signal.SIGCONT)
    site.wait(lambda: site.row(long).state is State.SUCCESS, "the successor to end")
    site.wait(lambda: [one for one in site.effects if one.phase == "refused"], "the woken copy's own refusal")
    found = site.finish(outcome, repeats=True)
    own = site.store.tallies().stale_refused - refused_before - refused
    outcome.add("stale writes tried", found.stale_attempted + attempts + own, least=1)
    outcome.add("stale writes refused", found.stale_refused + refused + own)
    outcome.add("stale writes accepted", len(found.stale_accepted) + attempts - refused, most=0)
    outcome.add("succeeded copies", len([one for one in site.effects if one.phase == "end" and one.key == long.key]))


def zombie(site: Site, asked: Asked) -> tuple[int, int]:
    """Write to the store as the lost copy would; return how often, and how often it was refused."""
    story = site.store.story(asked.id)
    assert story is not None
    old = min(story.attempts, key=lambda attempt: attempt.fence)
    refused = 0
    for number in range(5):
        note = Note(kind="step", name=f"zombie-{number}", value="1", fence=old.fence)
        refused += not site.store.note_if_held(old.worker, asked.id, old.fence, note)
        item = Settlement(occurrence_id=asked.id, fence=old.fence, event=Event.SUCCEED, result='"zombie"')
        (answer,) = site.store.settle(secrets.token_hex(8), old.worker, [item])
        refused += answer.outcome == "stale"
    return 10, refused


@cell("F8", "all workers SIGKILLed for seven seconds", seconds=20)
def f8(stage: Stage, outcome: Outcome) -> None:
    """Kill all, wait seven seconds, start three: catch-up is exactly the stated policy."""
    site = stage.site()
    site.begin()
    site.ask_delayed(12, first=0.5, gap=0.8)
    site.sleep(2.5)
    killed = time.monotonic()
    for worker in site.alive():
        site.kill(worker)
    site.sleep(7)
    back = time.monotonic()
    for _ in range(3):
        site.worker()
    outcome.within("first run after the start", site.back_after(back), figures.START)
    site.sleep(4)
    site.finish(outcome, repeats=True, gap=(killed + 0.2, back))


@cell("M1", "a worker out of memory (SIGKILL by size)", seconds=14)
def m1(stage: Stage, outcome: Outcome) -> None:
    """A job eats memory; at 192 MB its worker is killed, as the kernel would do; the next attempt eats none."""
    site = stage.site()
    site.begin()
    hungry = site.ask("hungry", 1)
    victim = running(site, hungry)
    site.wait(lambda: resident(victim.pid) > HUNGER, "the memory to be eaten")
    killed = time.monotonic()
    site.kill(victim)
    outcome.within("takeover", takeover(site, hungry, killed), figures.takeover(jobs.HUNGRY_LEASE))
    site.worker()
    site.wait(lambda: site.row(hungry).state is State.SUCCESS, "the second attempt")
    site.sleep(2)
    site.finish(outcome, repeats=True)


def resident(pid: int) -> int:
    """Return how much memory a process holds, in bytes."""
    with contextlib.suppress(OSError, IndexError):
        return int(Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()[1]) * 4096
    return 0


@cell("X1", "an occurrence that kills every worker that takes it", seconds=22)
def x1(stage: Stage, outcome: Outcome) -> None:
    """It is contained after max_takeovers: FAILED_MANUAL with an urgent alert, and workers live on."""
    site = stage.site()
    site.begin()
    poison = site.ask("poison", 1)
    supervisor = Supervisor(site)
    ended = site.wait(lambda: site.row(poison).state is State.FAILED_MANUAL, "FAILED_MANUAL", pause=0.1)
    assert ended
    row = site.row(poison)
    alert = site.wait(lambda: urgent(site, poison), "the urgent alert")
    last = max(one.mono for one in site.begins("poison")) / 1e9
    seen = time.monotonic()
    deaths = len(site.begins("poison"))
    # The last death is noticed when its lease ends: the alert is counted from there.
    outcome.within("alert", max(0.0, seen - last - jobs.POISON_LEASE), figures.ALERT)
    outcome.add("deaths", deaths, most=figures.DEATHS)
    outcome.add("takeovers", row.takeovers)
    outcome.add("alerts that name it", 1 if alert else 0, least=1)
    site.sleep(4)
    outcome.add("deaths afterwards", len(site.begins("poison")) - deaths, most=0)
    supervisor.end()
    site.asked.remove(poison)
    site.finish(outcome, repeats=True)


def urgent(site: Site, asked: Asked) -> bool:
    """Return True when there is an urgent alert of this occurrence."""
    alerts = site.store.tallies().open_alerts
    return any(alert.level == 3 and alert.occurrence_id == asked.id for alert in alerts)


class Supervisor:
    """Starts a worker for each one that died, half a second later, as an init system does."""

    def __init__(self, site: Site) -> None:
        self._site = site
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    def _watch(self) -> None:
        while not self._over.wait(0.1):
            for worker in self._site.alive():
                if worker.poll() == -signal.SIGKILL:
                    self._site.ended.add(worker.pid)
                    self._over.wait(0.5)
                    self._site.worker()

    def end(self) -> None:
        """Supervise no more."""
        self._over.set()
        self._thread.join(10)


@cell("R1", "rolling restart by SIGTERM", seconds=16)
def r1(stage: Stage, outcome: Outcome) -> None:
    """Each worker in turn ends and is replaced, in the middle of work."""
    site = stage.site()
    site.begin()
    site.ask_delayed(10, first=0.5, gap=0.6)
    long = site.ask("long", 1)
    codes = []
    for worker in list(site.workers):
        site.sleep(1)
        site.kill(worker, signal.SIGTERM)
        codes.append(worker.wait(COMES))
        site.worker()
    outcome.add("exit codes that are not 0", len([code for code in codes if code]), most=0)
    site.wait(lambda: site.row(long).state is State.SUCCESS, "the long run to end")
    site.finish(outcome, repeats=True)


# -- at every named point ---------------------------------------------------------------------------------

WAYS = {
    "lock held": "locked",
    "judged lapsed": "lapsed",
    "step done": "steps",
    "noted": "steps",
    "renew asked": "slow",
    "renewed": "slow",
    "rule changed": "rules",
    "told to stop": "stop",
    "handing back": "stop",
}
"""Which work brings a worker to a point; every other point lies on the way of every run."""


@cell("X3", "SIGKILL at each named point of the engine", seconds=25)
def x3(stage: Stage, outcome: Outcome) -> None:
    """A worker dies at each point; others end its work, with one success each."""
    strike_everywhere(stage, outcome, "kill", -signal.SIGKILL)


@cell("R3", "SIGTERM at each named point of the engine", seconds=25)
def r3(stage: Stage, outcome: Outcome) -> None:
    """A worker is told to end at each point; it ends with 0, and nothing is lost."""
    strike_everywhere(stage, outcome, "term", 0)


def strike_everywhere(stage: Stage, outcome: Outcome, kind: str, code: int) -> None:
    """Have one worker struck at every point, then let three whole ones end the work."""
    from noonmark.engine.points import Point

    site = stage.site(lease=1.0)
    site.sched.declare()
    site.sched.signal(jobs.FLAG)
    wanted = [
        point.value for point in Point if not (kind == "term" and point in (Point.TOLD_TO_STOP, Point.HANDING_BACK))
    ]
    missed = [
        f"not struck: {point}; {said}"
        for point in wanted
        if (said := struck(site, point, kind, WAYS.get(point, "looked"), code))
    ]
    outcome.add("points struck", len(wanted) - len(missed), least=len(wanted))
    outcome.notes += missed
    site.begin()
    site.wait(lambda: all(site.row(one).state is State.SUCCESS for one in site.asked), "the rest to be done")
    site.finish(outcome, repeats=True)
    paid: dict[str, int] = {}
    for effect in site.effects:
        if effect.phase == "paid":
            paid[effect.key] = paid.get(effect.key, 0) + 1
    outcome.add("once-effects called twice", sum(1 for count in paid.values() if count > 1), most=0)


def struck(site: Site, point: str, kind: str, way: str, code: int) -> str:
    """Bring a new worker to a point and wait for its end; return "", or where it was when it did not come there."""
    name = point.replace(" ", "-")
    job = {
        "steps": "steps",
        "slow": "slow",
        "lapsed": "slow",
        "stop": "slow",
        "rules": "plain",
        "locked": "locked",
    }.get(way, "looked")
    if way == "lapsed":
        first = site.worker("--no-ticks", "--strike", "renew asked=kill")
        site.ask(job, f"{kind}-{name}")
        with contextlib.suppress(subprocess.TimeoutExpired):
            first.wait(COMES)
        site.kill(first)
    victim = site.worker("--no-ticks", "--grace", "0s" if way == "stop" else "1s", "--strike", f"{point}={kind}")
    site.ended.add(victim.pid)
    if way != "lapsed":
        asked = site.ask(job, f"{kind}-{name}")
    if way == "stop":
        site.wait(lambda: site.begins(job, asked.key) or victim.poll() is not None, "the run")
        victim.send_signal(signal.SIGTERM)
    elif way == "rules":
        site.wait(lambda: site.begins(job, asked.key) or victim.poll() is not None, "the run")
        site.sched.pause("poison", reason="Moves the rules.")
        site.ask(job, f"{kind}-{name}-again")
        site.sched.resume("poison")
    try:
        ended = victim.wait(COMES)
    except subprocess.TimeoutExpired:
        return site.where(victim)
    if ended != code:
        raise NotSo(f"at {point} the worker ended with {ended}")
    return ""
