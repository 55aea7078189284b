"""One line per outcome: watches the store and tells what became of each occurrence.

Rule of the file: reads only, and tells only what the rows say.
"""

from __future__ import annotations

from collections.abc import Callable

from noonmark.core import times
from noonmark.core.model import OPEN_STATES, SECOND, Micros, Occurrence, Query, State, WorkerInfo
from noonmark.core.stored import object_of
from noonmark.explain.fragments import waited_for
from noonmark.explain.outcomes import OUTCOMES, outcome_of
from noonmark.explain.render import pad
from noonmark.explain.voice import Voice
from noonmark.faces.cli.demo_words import say
from noonmark.ports.store import Store

JOB_WIDTH, WORD_WIDTH = 18, 14
LATE_FROM: Micros = SECOND
"""Lateness below this is not worth telling."""
PAGE = 500


class Watcher:
    """Follows all occurrences from the first one on; call ``poll`` every now and then."""

    def __init__(
        self,
        store: Store,
        zone: str,
        lang: str,
        names: dict[int, str],
        echo: Callable[[str], None],
        *,
        ascii_only: bool,
    ) -> None:
        self._store, self._zone, self._lang, self._echo = store, zone, lang, echo
        self._names = names  # process id -> w1, w2, w3
        self._ascii = ascii_only
        self._last_id = 0
        self._open: dict[int, Occurrence] = {}
        self._told_waiting: dict[int, str] = {}
        self._incarnations: dict[str, WorkerInfo] = {}
        self.takeovers = 0
        self.on_end: Callable[[Occurrence], None] | None = None  # called behind the line of an ended occurrence

    def poll(self) -> None:
        """Read what changed and print it, oldest first."""
        now = self._store.now()
        rows = self._store.occurrences(Query(ids=tuple(self._open), limit=PAGE)) if self._open else []
        fresh = self._store.occurrences(Query(after_id=self._last_id, limit=PAGE))
        self._last_id = max([self._last_id, *(row.id for row in fresh)])
        for row in sorted([*rows, *fresh], key=lambda each: (each.ended_at or now, each.id)):
            self._follow(row, now)

    def _follow(self, row: Occurrence, now: Micros) -> None:
        before = self._open.get(row.id)
        if row.takeovers > (before.takeovers if before else 0) and row.state is State.RUNNING and not row.looking:
            self._tell_takeover(row, now)
            self._open[row.id] = row
            return
        if row.takeovers > (before.takeovers if before else 0) and row.state in OPEN_STATES:
            return  # being looked at: the takeover is told when it happened
        outcome = outcome_of(row, now)
        if row.state in OPEN_STATES:
            self._open[row.id] = row
            if outcome == "waiting" and self._told_waiting.get(row.id) != row.code:
                self._told_waiting[row.id] = row.code
                self._line(now, "", row.job, outcome, self._reason(row, now))
            elif outcome == "retrying" and (before is None or before.state is not State.FAILED_RETRYING):
                self._line(now, self._worker_of(row), row.job, outcome, self._reason(row, now))
            return
        self._open.pop(row.id, None)
        self._tell_end(row, outcome)
        if self.on_end is not None:
            self.on_end(row)

    def _tell_end(self, row: Occurrence, outcome: str) -> None:
        at = row.ended_at or row.scheduled_for
        late = (row.first_started_at or row.scheduled_for) - row.scheduled_for
        if row.state is not State.SUCCESS:
            if row.range_count or outcome != "skipped" or row.code not in {"revision_superseded", "range_superseded"}:
                self._line(at, self._worker_of(row), row.job, outcome, self._reason(row, at))
            return
        words = say(self._lang, "key", key=row.key)
        if late >= LATE_FROM:
            story, voice = self._store.story(row.id), self._voice(at)
            what = waited_for(story.ledger, voice) if story is not None else ""
            length = voice.length(late // SECOND * SECOND)
            words += "   " + say(self._lang, "late_after" if what else "late", length=length, what=what)
        self._line(at, self._worker_of(row), row.job, outcome, words)

    def _tell_takeover(self, row: Occurrence, now: Micros) -> None:
        self.takeovers += 1
        story = self._store.story(row.id)
        attempts = story.attempts if story else ()
        lost = [attempt for attempt in attempts if attempt.outcome == "lost"]
        steps = [note.name for note in story.notes if note.kind == "step" and note.fence < row.fence] if story else []
        if not steps:
            told = say(self._lang, "no_steps")
        elif len(steps) == 1:
            told = say(self._lang, "step", steps=steps[0])
        else:
            told = say(self._lang, "steps", steps=", ".join(f'"{step}"' for step in steps))
        order = sorted({attempt.fence for attempt in attempts} | {row.fence})
        old = f"#{order.index(lost[-1].fence) + 1}" if lost else "?"
        new = f"#{order.index(row.fence) + 1}"
        words = say(self._lang, "fence", old=old, new=new, attempt=row.attempt, steps=told)
        self.line(now, self.name(row.holder), row.job, "+", say(self._lang, "taken_over"), words)

    # -- lines --------------------------------------------------------------------------------------

    def tell_gone(self, name: str, pid: int) -> None:
        """Tell that a worker process is no more, and what it held."""
        info = next((worker for worker in self._store.workers() if worker.pid == pid), None)
        now = self._store.now()
        if info is None:
            self.note(say(self._lang, "gone", worker=name))
            return
        seen = self._clock(info.seen_at)
        held = [
            row
            for row in self._store.occurrences(Query(open_only=True, limit=PAGE))
            if row.holder == info.id and row.state is State.RUNNING
        ]
        if held:
            until = self._clock(max(row.due_at or 0 for row in held))
            jobs = ", ".join(sorted({row.job for row in held}))
            words = say(self._lang, "gone_holding", seen=seen, job=jobs, until=until)
        else:
            words = say(self._lang, "gone_idle", seen=seen)
        self.headed(now, say(self._lang, "gone", worker=name), words)

    def note(self, text: str) -> None:
        """Print a remark with the time."""
        self._echo(f"{self._clock(self._store.now())}  --  {text}")

    def headed(self, at: Micros, head: str, words: str) -> None:
        """Print a line about the play itself, in the columns of the others."""
        self._echo(f"{self._clock(at)}  --  {pad(head, JOB_WIDTH)}  {words}")

    def below(self, words: str) -> None:
        """Print what belongs to the line before, under its words."""
        self._echo(" " * (len("00:00:00  --  ") + JOB_WIDTH + 2) + words)

    def line(self, at: Micros, worker: str, job: str, glyph: str, word: str, words: str) -> None:
        """Print one line in columns."""
        columns = [self._clock(at), pad(worker, 2), pad(job, JOB_WIDTH), glyph, pad(word, WORD_WIDTH) + words]
        self._echo("  ".join(columns).rstrip())

    def name(self, incarnation: str) -> str:
        """Return w1, w2 or w3 for a worker incarnation."""
        if incarnation and incarnation not in self._incarnations:
            self._incarnations = {worker.id: worker for worker in self._store.workers()}
        known = self._incarnations.get(incarnation)
        return self._names.get(known.pid, known.name) if known else ""

    def _line(self, at: Micros, worker: str, job: str, outcome: str, words: str) -> None:
        known = OUTCOMES[outcome]
        glyph = known.ascii if self._ascii else known.glyph
        self.line(at, worker, job, glyph, known.zh if self._lang == "zh" else known.en, words)

    def _worker_of(self, row: Occurrence) -> str:
        if row.worker:
            return self.name(row.worker)
        if row.holder:
            return self.name(row.holder)
        story = self._store.story(row.id)
        return self.name(story.attempts[-1].worker) if story and story.attempts else ""

    def _reason(self, row: Occurrence, now: Micros) -> str:
        if row.range_count:
            return say(self._lang, "range", count=row.range_count)
        return self._voice(now).reason(row.code, object_of(row.detail))

    def _voice(self, now: Micros) -> Voice:
        return Voice(lang=self._lang, zone=self._zone, now=now)

    def _clock(self, at: Micros) -> str:
        return times.local(at, self._zone).strftime("%H:%M:%S")
