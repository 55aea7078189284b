"""What people and programs outside do: they enqueue, announce, cancel, pause and edit, over a wire of their own.

Promise: whoever outside asks for something asks until he has his answer, under one request id; what was acknowledged
to him is remembered, so that it can be looked for.

Rule of the file: these are callers of the store as any; what they may expect is judged by the checkers.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import count
from typing import TYPE_CHECKING, Any

from noonmark.core.codec import job_from_text
from noonmark.core.model import MINUTE, SECOND, Act, Cron, Every, Fact, Job, Micros, NewOccurrence, Origin, Query, State
from noonmark.core.params import wanted_fields
from noonmark.core.series import row_for_call, row_for_event, subjects
from noonmark.engine.mending import release
from noonmark.ports.store import StoreError, StoreUnreachable
from noonmark.sim.plan import Deed
from noonmark.sim.store import Link

if TYPE_CHECKING:
    from noonmark.sim.world import SimWorld

PATIENCE: Micros = SECOND
"""How long somebody outside waits before he asks again."""
MARKS = ("mark_done", "mark_skip", "mark_handled")


@dataclass(frozen=True, slots=True, kw_only=True)
class Acknowledged:
    """Something the store said yes to."""

    at: Micros
    deed: Deed
    request_id: str
    answer: Any
    number: int  # of the store's last write when the answer was there


class Outsiders:
    """Everybody outside of one world."""

    def __init__(self, world: SimWorld, link: Link) -> None:
        self._world = world
        self.link = link
        self.acknowledged: list[Acknowledged] = []
        self.asked: list[tuple[Deed, str]] = []
        self._requests = count()
        self._open: dict[str, Callable[[], bool]] = {}  # by request

    def forget(self) -> None:
        """Another store lies there: what was asked for so far is nowhere, unless somebody still asks."""
        self.acknowledged.clear()
        self.asked = [(deed, request) for deed, request in self.asked if request in self._open]

    @property
    def is_waiting(self) -> bool:
        """True while somebody has no answer yet."""
        return bool(self._open)

    def do(self, deed: Deed) -> None:
        """Carry a deed out, or begin to."""
        _DEEDS[deed.kind](self, deed)

    def finish(self) -> None:
        """Get the answers that are still open; nothing stands in the way any more."""
        for ask in list(self._open.values()):
            if not ask():
                raise AssertionError("somebody outside gets no answer in quiet times")
        for deed in self._world.plan.deeds:
            if deed.kind == "pause":  # whatever became of its end: a job that stays paused ends nothing
                self._ask(replace(deed, kind="resume", number=1), self._acting("resume"))

    def _ask(self, deed: Deed, verb: Callable[[Deed, str], Any], *, request_id: str = "") -> None:
        """Ask until there is an answer."""
        number = next(self._requests)
        request = request_id or f"{deed.kind} {deed.what[:128]} {deed.number} {deed.at} {number}"
        self.asked.append((deed, request))

        def ask() -> bool:
            try:
                answer = verb(deed, request)
            except StoreError:
                return False
            self.acknowledged.append(
                Acknowledged(
                    at=self._world.store.now(),
                    deed=deed,
                    request_id=request,
                    answer=answer,
                    number=self._world.cluster.written,
                )
            )
            return True

        def again() -> None:
            if ask():
                del self._open[request]
            else:
                self._world.after(PATIENCE, again)

        self._open[request] = ask
        again()

    # -- the deeds --------------------------------------------------------------------------------------

    def later(self, deed: Deed) -> None:
        """Ask for runs; copies are separate intentions with one key."""
        for copy in range(deed.copies):
            self._ask(replace(deed, copies=copy), self._later)

    def run(self, deed: Deed) -> None:
        """Ask for a run by hand, now."""
        self._ask(deed, self._run)

    def emit(self, deed: Deed) -> None:
        """Announce an event, as often as its sender does."""
        for copy in range(deed.copies):
            self._ask(replace(deed, copies=copy), self._emit)

    def flag(self, deed: Deed) -> None:
        """Announce that the data of a day is there."""
        self._ask(deed, self._flag)

    def announce(self, deed: Deed) -> None:
        """Set a flag by its name."""
        self._ask(deed, lambda deed, request: self.link.signal(request, [Fact(name=f"flag:{deed.what}", value=True)]))

    def cancel(self, deed: Deed) -> None:
        """Cancel by key, known or not yet."""
        self._ask(deed, self._cancel)

    def pause(self, deed: Deed) -> None:
        """Pause a job."""
        self._ask(deed, self._acting("pause"))

    def resume(self, deed: Deed) -> None:
        """Let it go on."""
        self._ask(deed, self._acting("resume"))

    def retry(self, deed: Deed) -> None:
        """Try everything again that waits for a person."""
        try:
            failed = self.link.occurrences(Query(job=deed.what, states=frozenset({State.FAILED_MANUAL})))
        except StoreError:
            return
        for row in failed[:3]:
            act = Act(kind="retry", actor="ada", occurrence_id=row.id, reason="it was the weather")
            self._ask(replace(deed, number=row.id), lambda _, request, act=act: self.link.act(request, act))  # type: ignore[misc]

    def mark(self, deed: Deed) -> None:
        """Say of one of those that wait for a person what became of it outside."""
        try:
            failed = self.link.occurrences(Query(job=deed.what, states=frozenset({State.FAILED_MANUAL})))
        except StoreError:
            return
        if failed:
            kind, row = MARKS[deed.number % len(MARKS)], failed[deed.number % len(failed)]
            act = Act(kind=kind, actor="ada", occurrence_id=row.id, reason="looked it up")
            self._ask(replace(deed, number=row.id), lambda _, request: self.link.act(request, act))

    def release(self) -> None:
        """Let go what a rollback of the store holds, knowing that some of it may run again."""
        numbers = count()

        def verb(_deed: Deed, request: str) -> Any:
            found = release(self.link, lambda: f"{request} {next(numbers)}", actor="ada", reason="looked through")
            if found is not None and (found.left or found.added):
                raise StoreUnreachable("some of it a worker has to look at first, or is new: again")
            return found

        self._ask(Deed(at=0, kind="release", what=""), verb)

    def edit(self, deed: Deed) -> None:
        """Deploy another rule, machine by machine."""
        job = self._world.jobs[deed.what][0]
        self._world.roll_out(job.name, _edited(job, random.Random(f"{self._world.seed} {deed.at}")), 20 * SECOND)

    # -- the verbs --------------------------------------------------------------------------------------

    def _rule(self, name: str) -> tuple[Job, int]:
        rows = self.link.jobs([name])
        if not rows or not rows[0].rule:
            return self._world.jobs[name][0], 0
        return job_from_text(rows[0].rule), rows[0].revision

    def _later(self, deed: Deed, request: str) -> Any:
        job, revision = self._rule(deed.what)
        now = self.link.now()
        params = {"order": str(deed.number)}
        row: NewOccurrence = row_for_call(
            job, request_id=request, due_at=now + deed.delay, params=params, key=None, revision=revision, now=now,
            origin=Origin.LATER, actor="client",
        )  # fmt: skip
        return self.link.add(request, [row])

    def _run(self, deed: Deed, request: str) -> Any:
        job, revision = self._rule(deed.what)
        now = self.link.now()
        row = row_for_call(
            job, request_id=request, due_at=now, params={}, key=None, revision=revision, now=now,
            origin=Origin.MANUAL, actor="ada",
        )  # fmt: skip
        return self.link.add(request, [row])

    def _emit(self, deed: Deed, request: str) -> Any:
        job, revision = self._rule(deed.what)
        now = self.link.now()
        rows = [
            row_for_event(
                job,
                event_id=f"run-{deed.number}",
                emitted_at=now,
                payload=invented(job, deed.number),
                revision=revision,
                subject=subject,
            )
            for subject, _ in subjects(job)
        ]
        return self.link.add(request, rows)

    def _flag(self, deed: Deed, request: str) -> Any:
        job = self._world.jobs[deed.what][0]
        date = self._world.day(job, deed.number)
        return self.link.signal(request, [Fact(name=f"flag:{deed.what}.ready:{date}", value=True, actor="etl")])

    def _cancel(self, deed: Deed, request: str) -> Any:
        prefix = {"asked": "asked:", "digest": "digest:run-"}.get(deed.what)
        if prefix is None:
            key = self._some_key(deed)
            if not key:
                return None
        else:
            key = f"{prefix}{deed.number}"
        return self.link.act(request, Act(kind="cancel", actor="bob", key=key, job=deed.what, reason="changed my mind"))

    def _some_key(self, deed: Deed) -> str:
        rows = self.link.occurrences(Query(job=deed.what, open_only=True))
        return rows[deed.number % len(rows)].key if rows else ""

    def _acting(self, kind: str) -> Callable[[Deed, str], Any]:
        return lambda deed, request: self.link.act(request, Act(kind=kind, actor="ada", job=deed.what, reason="a look"))


def invented(job: Job, number: int) -> dict[str, Any]:
    """Return the fields of an event: every one that a template of the job is made of, different in each event."""
    return {"n": number} | {name: f"{name}-{number}" for name in wanted_fields(job)}


def _edited(job: Job, dice: random.Random) -> Job:
    """Return another version of a rule."""
    if isinstance(job.trigger, Cron):
        changes: list[dict[str, Any]] = [
            {"trigger": replace(job.trigger, expression=f"*/{dice.choice((2, 3))} * * * *")},
            {"trigger": replace(job.trigger, expression="1-59/2 * * * *")},
            {"retry": replace(job.retry, max=3)},
            {"reason": f"edited {dice.randrange(1000)}"},
        ]
    else:
        assert isinstance(job.trigger, Every)
        changes = [
            {"trigger": replace(job.trigger, period=dice.choice((60, 75)) * SECOND)},
            {"trigger": replace(job.trigger, anchor=dice.randrange(60) * SECOND)},
            {"timeout": 5 * MINUTE},
        ]
    return replace(job, **dice.choice(changes))


_DEEDS: dict[str, Callable[[Outsiders, Deed], None]] = {
    "later": Outsiders.later,
    "run": Outsiders.run,
    "emit": Outsiders.emit,
    "flag": Outsiders.flag,
    "announce": Outsiders.announce,
    "cancel": Outsiders.cancel,
    "pause": Outsiders.pause,
    "resume": Outsiders.resume,
    "retry": Outsiders.retry,
    "mark": Outsiders.mark,
    "edit": Outsiders.edit,
}
