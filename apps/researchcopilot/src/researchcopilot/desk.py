"""Where questions come in, from the API and from the command line alike.

Rule of the file: handing the run to the scheduler is the one act that counts.  It carries the whole question, so a
crash right behind it loses nothing: the worker that runs it stores what is missing.  If it fails, nothing was
promised to anybody.
"""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from researchcopilot import clock
from researchcopilot.answer import QUESTION_LIMIT
from researchcopilot.data import Data, Run


class BadQuestionError(Exception):
    """The question cannot be asked; the message says why."""


class UnavailableError(Exception):
    """The scheduler's store did not take the run; nothing was stored, ask again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """A run on its way to a worker."""

    run_id: str
    question: str
    deep: bool
    asked_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """The run, and whether this call made it (False: the same name was used before)."""

    run: Run
    new: bool


class Desk:
    """Takes questions: hands them to ``enqueue`` (which raises ``UnavailableError``) and stores them in ``data``."""

    def __init__(self, data: Data, enqueue: Callable[[Order], None]) -> None:
        self.data = data
        self._enqueue = enqueue

    def ask(self, question: str, *, deep: bool = False, name: str = "") -> Asked:
        """Store a run and enqueue it.

        Args:
            question: 1 to 2000 characters.
            deep: read document by document, and write a survey.
            name: the caller's idempotency key; the same name gives the same run, however often it is sent.

        Raises:
            BadQuestionError: it is empty or too long, or ``name`` was used for another question.
            UnavailableError: the scheduler's store is away.
        """
        text = checked(question)
        order = Order(run_id=_run_id(name), question=text, deep=deep, asked_at=clock.now())
        known = self.data.run(order.run_id)
        if known is None:
            self._enqueue(order)
            is_new = self.data.add_run(order.run_id, text, order.asked_at, deep=deep)
            known = self.data.run(order.run_id)
            assert known is not None
            if is_new:
                return Asked(run=known, new=True)
        if known.question != text or known.deep != deep:
            raise BadQuestionError("this idempotency key was used for another question")
        return Asked(run=known, new=False)


def checked(question: str) -> str:
    """Return the question without the space around it.

    Raises:
        BadQuestionError: it is empty or too long.
    """
    text = question.strip()
    if not text:
        raise BadQuestionError("the question is empty")
    if len(text) > QUESTION_LIMIT:
        raise BadQuestionError(f"the question has {len(text)} characters; at most {QUESTION_LIMIT}")
    return text


def _run_id(name: str) -> str:
    return f"run-{hashlib.sha256(name.encode()).hexdigest()[:12] if name else uuid.uuid4().hex[:12]}"
