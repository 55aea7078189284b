"""What a run has written down durably: steps, once-effects, progress, flags.

Promise: what is here survives the worker, and is written only while the run holds its fence.  ``answer`` is the one
entry; a context in this process calls it through the gate, a child process over its socket.

An intent whose outcome nobody knew is answered by a person's retry: the effect may be caused once more, under an
intent of its own, for a note that is there is never written over.

Rule of the file: runs in the store thread, so it may call the store directly.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, TypedDict

from noonmark.core.model import Event, Fact, LedgerLine, Note
from noonmark.engine.points import Point, reach
from noonmark.engine.runs import Run
from noonmark.ports.store import Store

ROUND_MARK = "\x1f"
"""Stands in the name of an intent between the effect and how many times a person had answered for it."""


class Recollection(TypedDict):
    """What earlier attempts of this occurrence left behind: JSON text by name.

    ``answered`` are intents without a known outcome that a person looked at and let be tried again.
    """

    step: dict[str, str]
    intent: dict[str, str]
    answered: dict[str, str]
    done: dict[str, str]


def times_answered(ledger: Iterable[LedgerLine]) -> int:
    """Return how often a person let a row be tried again after it had ended because an effect's outcome was unknown."""
    answers, is_asked = 0, False
    for line in ledger:
        if line.event == Event.FAIL_MANUAL:
            is_asked = line.code == "effect_unknown"
        elif line.event == Event.RETRY:
            answers, is_asked = answers + is_asked, False
    return answers


def intent_name(effect: str, answers: int) -> str:
    """Return under which name the intent of an effect is kept."""
    is_plain = not answers and intended(effect) == (effect, 0)
    return effect if is_plain else f"{effect}{ROUND_MARK}{answers}"


def intended(name: str) -> tuple[str, int]:
    """Return the effect that an intent is of, and how many answers there had been when it was written."""
    effect, mark, answers = name.rpartition(ROUND_MARK)
    return (effect, int(answers)) if mark and answers.isdecimal() else (name, 0)


class Journal:
    """The durable memory of one run."""

    def __init__(self, store: Store, worker: str, run: Run) -> None:
        self._store = store
        self._worker = worker
        self._run = run

    def call(self, op: str, *args: Any) -> Callable[[], Any]:
        """Return what carries one request out, under one id however often the gate repeats it."""
        return partial(self.answer, secrets.token_hex(8), op, *args)

    def answer(self, request_id: str, op: str, *args: Any) -> Any:
        """Carry out ``recall()``, ``note(kind, name, json)`` or ``flag(name, set)``; a refused write answers False."""
        if op == "recall":
            return self._recall()
        if op == "note":
            return self._note(*args)
        if op == "flag":
            return self._flag(request_id, *args)
        raise ValueError(f"the journal knows no {op!r}")

    def _recall(self) -> Recollection | None:
        """Return the notes; None when the run is no longer ours, for then they may be those of our successor."""
        found: Recollection = {"step": {}, "intent": {}, "answered": {}, "done": {}}
        story = self._store.story(self._run.row.id)
        if story is None or story.occurrence.fence != self._run.fence:
            self._run.lost = True
            return None
        self._run.answers = times_answered(story.ledger)
        for note in story.notes:
            if note.kind == "step":
                found["step"][note.name] = note.value
            elif note.kind == "intent":
                effect, answers = intended(note.name)
                found["intent" if answers >= self._run.answers else "answered"][effect] = note.value
            elif note.kind == "done":
                found["done"][note.name] = note.value
        return found

    def _note(self, kind: str, name: str, value: str) -> bool:
        run = self._run
        if kind == "effects":
            run.effects = True  # before the write: if its answer is lost, the cautious side is kept
        if kind == "intent":
            name = intent_name(name, run.answers)
        note = Note(kind=kind, name=name, value=value, fence=run.fence)
        kept = self._store.note_if_held(self._worker, run.row.id, run.fence, note)
        reach(Point.NOTED)
        if not kept:
            run.lost = True
        return kept

    def _flag(self, request_id: str, name: str, value: bool) -> bool:
        # A flag knows no fence, so the run proves that it holds its own first: a stale copy announces nothing.
        if self._run.lost or not self._note("flag", name, "true" if value else "null"):
            return False
        actor = f"{self._run.row.job} {self._run.row.run_id}"
        fact = Fact(name=f"flag:{name}", value=True if value else None, actor=actor)
        self._store.signal(request_id, [fact])
        return True
