"""What the reader's own machine knows of its workers: a kernel is never wrong, where a heartbeat is an estimate.

Rule of the file: whoever asks about workers (``why``, ``verify``) asks here, so that they say the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import TypeAlias

from noonmark.core.model import Micros, WorkerInfo

Lives: TypeAlias = Callable[[WorkerInfo], bool | None]
"""Says of a worker of the reader's own machine whether its process lives, None for any other."""


def processes(workers: Iterable[WorkerInfo], lives: Lives | None) -> dict[str, bool]:
    """Return of the workers that did not say good-bye whether their process lives, where that is known."""
    if lives is None:
        return {}
    answers = {worker.id: lives(worker) for worker in workers if worker.ended_at is None}
    return {worker: answer for worker, answer in answers.items() if answer is not None}


def as_known(workers: Iterable[WorkerInfo], known: Mapping[str, bool], now: Micros) -> tuple[WorkerInfo, ...]:
    """Return the workers; the heartbeat of one whose process is known to be no more counts no longer."""
    return tuple(
        replace(worker, until=min(worker.until, now)) if known.get(worker.id) is False else worker for worker in workers
    )
