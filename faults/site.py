"""A site: one store, three workers, the effects file, and everything a cell does with them.

Promise: nothing of a cell outlives it, and what it measured is counted on the monotonic clock.  Rule of the file: it
stages and observes; what is right is the checker's business and the bounds are in ``figures``.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from faults import jobs
from faults.checker import ENDS, Findings, Gap, History, Lost, Recorded, judge
from faults.effects import FILE, Effect, Reader, of_phase
from faults.faking import fake_clock, sweep
from faults.figures import Outcome
from faults.nursery import ROOT, Nursery, Process
from faults.places import Place
from noonmark import Scheduler
from noonmark.core.model import Micros, Occurrence, Origin, Query
from noonmark.core.times import from_datetime
from noonmark.explain.why import why
from noonmark.ports.store import Store

SECOND = 1_000_000
WORKERS = 3
COMES = 60.0
"""Seconds to wait for what a cell stages: no bound, only longer than a machine with other tests on it stands still."""
WHY_OF_OTHERS = 200
"""``why`` is asked about every tick and every run that the cell asked for; of a crowd beside them, about so many."""


class NotSo(AssertionError):
    """Something that a cell waited for did not come true."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """One run that the cell asked for."""

    id: int
    key: str
    accepted: Micros  # read before the store was asked
    earliest: Micros  # reckoned before the store was asked: nothing may begin before
    due: Micros  # as the store has it, a little later


class Site:
    """One store and its workers.

    Args:
        place: the store.
        nursery: forks the workers.
        folder: for effects, logs and state.
        workers_url: how the workers reach the store, where it differs from how we do.
        lease: of the long job, in seconds.
    """

    def __init__(
        self, place: Place, nursery: Nursery, folder: Path, *, workers_url: str = "", lease: float = 3.0, size: int = 0
    ) -> None:
        self.place = place
        self.folder = folder
        self.workers_url = workers_url or place.url
        self.lease = lease
        self.size = size
        self._nursery = nursery
        self._numbers = itertools.count(1)
        self.sched = Scheduler(place.url, rules=False, patience="20s")
        jobs.declare(self.sched, lease=f"{lease:g}s")
        self.log = folder / "effects.log"
        self.log.touch()
        self._reader = Reader(self.log)
        self.workers: list[Process] = []
        self._logs: dict[int, Path] = {}
        self.ended: set[int] = set()  # by our hand: their end is no fault
        self.since: Micros = 0
        self.asked: list[Asked] = []
        self._aheads: list[Micros] = []

    # -- workers ----------------------------------------------------------------------------------

    def worker(self, *more: str, faked: str = "", source: Path | None = None, url: str = "", name: str = "") -> Process:
        """Start a worker.

        Args:
            more: further options of ``faults.worker``.
            faked: offset for libfaketime, "" = this machine's clock.
            source: where another version of the package lies.
            url: another way to the store.
        """
        name = name or f"w{next(self._numbers)}"
        arguments = [url or self.workers_url, "--name", name, "--lease", f"{self.lease:g}s", "--size", str(self.size)]
        arguments += more
        environment = {FILE: str(self.log), "NOONMARK_STATE": str(self.folder / "state" / name)}
        said = self.folder / f"{name}.log"
        if not faked and source is None:
            process: Process = self._nursery.fork(arguments, environment, said)
        else:
            process = _start_afresh(arguments, environment, said, faked=faked, source=source)
        self.workers.append(process)
        self._logs[process.pid] = said
        return process

    def begin(self, *groups: Sequence[str], count: int = WORKERS) -> None:
        """Start the workers and wait until ticks come; what is due from then on counts."""
        jobs.declare_ticks(self.sched, size=self.size)
        self.sched.declare()
        for number in range(count):
            self.worker(*(groups[number] if number < len(groups) else ()))
        self.settle_in()

    def settle_in(self) -> None:
        """Wait until every worker is known and ticks come, then begin to count."""
        running = [one for one in self.workers if one.poll() is None]
        self.wait(lambda: len(self.store.workers()) >= len(running), "the workers to be known")
        seen = len(self.begins("tick"))
        self.wait(lambda: len(self.begins("tick")) > seen, "a first tick")
        self.since = self.store.now()
        self.look_at_clock()

    def kill(self, process: Process, number: int = signal.SIGKILL) -> None:
        """End a worker, or tell it to end; its end is ours."""
        self.ended.add(process.pid)
        process.send_signal(number)

    def freeze(self, process: Process) -> None:
        """Stop a worker, but not in the middle of a write to a file: nobody could write there until it goes on."""
        for _ in range(50):
            process.send_signal(signal.SIGSTOP)
            if not self.place.is_locked():
                return
            process.send_signal(signal.SIGCONT)
            self.sleep(0.02)
        raise NotSo("the worker was in the middle of a write whenever it was stopped")

    def alive(self) -> list[Process]:
        """Return the workers that have not been ended by us."""
        return [one for one in self.workers if one.pid not in self.ended]

    def by_pid(self, pid: int) -> Process:
        """Return the worker with this number."""
        return next(one for one in self.workers if one.pid == pid)

    def exits(self) -> list[str]:
        """Return the workers that ended by themselves."""
        return [f"{one.pid} ended with {one.poll()}" for one in self.alive() if one.poll() is not None]

    # -- asking and observing -------------------------------------------------------------------------

    @property
    def store(self) -> Store:
        """The store, as the cell sees it."""
        return self.sched.store

    def ask(self, job: str, n: int | str, delay: float = 0.0) -> Asked:
        """Ask for one run of a job; it counts as accepted."""
        accepted = self.store.now()
        earliest = accepted + round(delay * SECOND)
        answer = self.sched.jobs[job].later(f"{round(delay * 1000)}ms")(n=n)
        due = from_datetime(answer.due_at)
        made = Asked(id=answer.id, key=answer.key, accepted=accepted, earliest=earliest, due=due)
        self.asked.append(made)
        return made

    def ask_delayed(self, count: int = 10, *, first: float = 0.5, gap: float = 1.0) -> list[Asked]:
        """Ask for delayed runs, the first one in so many seconds."""
        begun = len(self.asked)
        return [self.ask("delayed", begun + n, first + n * gap) for n in range(count)]

    @property
    def effects(self) -> list[Effect]:
        """Every effect so far."""
        return self._reader.read()

    def begins(self, job: str, key: str = "") -> list[Effect]:
        """Return the starts of a job, or of one key."""
        return [one for one in of_phase(self.effects, "begin", job) if not key or one.key == key]

    def row(self, asked: Asked) -> Occurrence:
        """Read one occurrence."""
        return self.store.occurrences(Query(ids=(asked.id,)))[0]

    def wait(self, is_so: Callable[[], Any], what: str, *, at_most: float = COMES, pause: float = 0.05) -> Any:
        """Wait until something is so, and return it."""
        end = time.monotonic() + at_most
        while not (found := is_so()):
            if time.monotonic() > end:
                raise NotSo(f"waited {at_most:g} s for {what}")
            time.sleep(pause)
        return found

    def sleep(self, seconds: float) -> None:
        """Let time pass."""
        time.sleep(seconds)

    def first_begin_after(self, moment: float, *job_names: str) -> float | None:
        """Return the monotonic moment of the first start after this one, in seconds."""
        names = job_names or ("tick", "latest", "skip", "delayed")
        moments = [one.mono / 1e9 for one in self.effects if one.phase == "begin" and one.job in names]
        return min((at for at in moments if at >= moment), default=None)

    def back_after(self, moment: float) -> float:
        """Wait for the first run after the store's return at this moment; return how long it took."""
        return float(self.wait(lambda: self.first_begin_after(moment), "a run after the return")) - moment

    # -- clocks -----------------------------------------------------------------------------------------

    def look_at_clock(self) -> None:
        """Note how far the store's clock is ahead of the monotonic one, at the most."""
        bounds = []
        for _ in range(5):
            before = time.monotonic_ns() // 1000
            bounds.append(self.store.now() - before)
        self._aheads.append(min(bounds))

    def at(self, moment: float) -> Micros:
        """Return the store's time at a monotonic moment, as the clocks stood last."""
        return round(moment * SECOND) + self._aheads[-1]

    def save(self) -> tuple[Micros, Micros]:
        """Copy the store; return up to which due moment everything was decided by then, and the moment of the copy."""
        now = self.store.now()
        under_way = self.store.occurrences(Query(open_only=True, scheduled_until=now + 1, limit=1000))
        self.place.save()
        return min([now, *(row.scheduled_for - 1 for row in under_way)]), now

    # -- the end ------------------------------------------------------------------------------------------

    def finish(
        self,
        outcome: Outcome,
        *,
        repeats: bool = False,
        gap: tuple[float, float] | None = None,
        judge_early: bool = True,
        lost: Lost | None = None,
    ) -> Findings:
        """Stop counting, wait for the last decisions, judge, and add what was found to the outcome.

        Args:
            outcome: of the cell.
            repeats: starts again that a lost attempt explains are expected.
            gap: monotonic moments between which nobody could run anything: the catch-up policies are judged.
            judge_early: False where the store's own clock was moved.
            lost: what the store forgot; what may have run in it is held for a person and not waited for.
        """
        last = max((one.due for one in self.asked), default=0)
        self.wait(lambda: self.store.now() > last, "the last moment that was asked for")
        until = self.store.now()
        self.look_at_clock()
        with contextlib.suppress(NotSo):
            # A tick that was caught in the middle when its worker was killed is taken over when its usual lease ends.
            patience = 40 if repeats else 12
            self.wait(lambda: self._all_decided(until, lost), "the last decisions", at_most=patience, pause=0.2)
        exits = self.exits()
        history = History(
            effects=self.effects,
            recorded=self.recorded(until),
            since=self.since,
            until=until,
            asked={one.key: one.earliest for one in self.asked},
            accepted={one.key: one.accepted for one in self.asked},
            ahead=max(self._aheads),
            judge_early=judge_early,
            gap=None if gap is None else Gap(since=self.at(gap[0]), until=self.at(gap[1]), looked=self.at(gap[1] + 2)),
            lost=lost,
        )
        found = judge(history)
        outcome.judge(found, repeats=repeats)
        outcome.add("exits", len(exits), most=0)
        outcome.notes += exits
        if gap is not None:
            outcome.add("off policy", len(found.off_policy), most=0)
        return found

    def _all_decided(self, until: Micros, lost: Lost | None) -> bool:
        due = self.store.occurrences(Query(open_only=True, scheduled_until=until + 1, limit=1000))
        return all(lost is not None and lost.covers(row.scheduled_for) for row in due)

    def recorded(self, until: Micros) -> list[Recorded]:
        """Return what the store says of every moment that counts."""
        rows: list[Occurrence] = []
        # Some cells ask for much before the counting begins, and on a busy machine that takes them minutes.
        after, first = 0, min([self.since, *(one.earliest for one in self.asked)]) - 60 * SECOND
        while True:
            page = self.store.occurrences(
                Query(scheduled_from=first, scheduled_until=until + 1, after_id=after, limit=1000)
            )
            rows += page
            if len(page) < 1000:
                break
            after = page[-1].id
        counts: dict[str, int] = {}
        for effect in of_phase(self.effects, "begin"):
            counts[effect.key] = counts.get(effect.key, 0) + 1
        asked = self._to_ask_about(rows)
        return [self._record(row, is_repeated=counts.get(row.key, 0) > 1, is_asked=row.id in asked) for row in rows]

    def _to_ask_about(self, rows: Sequence[Occurrence]) -> set[int]:
        """Return the rows that ``why`` is asked about."""
        keys = {one.key for one in self.asked}
        ended = [row for row in rows if row.state.value in ENDS]
        ours = [row.id for row in ended if row.origin is Origin.SCHEDULE or row.key in keys]
        others = [row.id for row in ended if row.origin is not Origin.SCHEDULE and row.key not in keys]
        return {*ours, *others[:: max(1, len(others) // WHY_OF_OTHERS)]}

    def _record(self, row: Occurrence, *, is_repeated: bool, is_asked: bool) -> Recorded:
        attempts: tuple[tuple[int, str], ...] = ()
        if is_repeated and (story := self.store.story(row.id)) is not None:
            attempts = tuple((one.fence, one.outcome) for one in story.attempts)
        return Recorded(
            job=row.job,
            key=row.key,
            at=row.scheduled_for,
            until=row.range_until,
            state=row.state.value,
            verdict=row.verdict,
            why=why(self.store, occurrence_id=row.id).sentence if is_asked else None,
            attempts=attempts,
        )

    def said(self, lines: int = 8, workers: int = 6) -> str:
        """Return the end of what the last workers said, without what went well, for a report."""
        texts = []
        logs = sorted(self.folder.glob("w*.log"), key=lambda log: int(log.stem[1:]))
        for log in logs[-workers:]:
            told = log.read_text(encoding="utf-8", errors="replace").splitlines()
            tail = [line for line in told if "Every check passed" not in line][-lines:]
            texts.append(f"--- {log.stem}\n" + "\n".join(tail))
        return "\n".join(texts)

    def where(self, process: Process) -> str:
        """End a worker that did not come where it should; return what it said last, and where its threads stood."""
        log = self._logs[process.pid]
        process.send_signal(signal.SIGUSR2)
        with contextlib.suppress(NotSo):  # it may not have come so far that it could tell
            self.wait(lambda: b"Current thread" in log.read_bytes(), "its stack", at_most=5)
        self.sleep(0.2)  # so that the stack is there to its end
        self.kill(process)
        told = log.read_text(encoding="utf-8", errors="replace").splitlines()
        return "\n".join([f"exit code {process.poll()}", *told[-60:]])

    def close(self) -> None:
        """End every worker and give the store back."""
        for process in self.workers:
            for number in (signal.SIGCONT, signal.SIGKILL):
                process.send_signal(number)
        for process in self.workers:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(10)
        self.sched.close()


def _start_afresh(
    arguments: Sequence[str], environment: dict[str, str], said: Path, *, faked: str, source: Path | None
) -> subprocess.Popen[bytes]:
    """Start a worker that cannot be forked: under a false clock, or of another version."""
    path = [str(source)] if source is not None else []
    kept = os.pathsep.join([*path, str(ROOT), *filter(None, sys.path)])
    env = {**os.environ, **environment, "PYTHONPATH": kept}
    if faked:
        sweep()
        env |= fake_clock(faked)
    with said.open("ab") as log:
        return subprocess.Popen(
            [sys.executable, "-m", "faults.worker", *arguments], env=env, stdout=log, stderr=log, cwd=said.parent
        )
