"""When was anybody awake?  Intervals in which a worker lived, from heartbeats alone.

Rule of the file: pure.  A worker that said good-bye lived until it said so; one that fell silent is believed to have
lived until it was last heard of, not until its heartbeat would have lapsed.
"""

from __future__ import annotations

from collections.abc import Iterable

from noonmark.core.model import Micros, WorkerInfo
from noonmark.core.values import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """An interval of store time; None is open (since ever, or until now and on)."""

    start: Micros | None
    end: Micros | None


def life(worker: WorkerInfo, now: Micros) -> tuple[Micros, Micros]:
    """Return from when to when this incarnation lived, as far as its heartbeats prove."""
    if worker.ended_at is not None:
        return worker.started_at, worker.ended_at
    return worker.started_at, (now if worker.until > now else max(worker.started_at, worker.seen_at))


def awake_spans(workers: Iterable[WorkerInfo], now: Micros) -> list[tuple[Micros, Micros]]:
    """Return merged, ordered intervals in which at least one worker lived."""
    merged: list[tuple[Micros, Micros]] = []
    for start, end in sorted(life(worker, now) for worker in workers):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(merged[-1][1], end))
        else:
            merged.append((start, end))
    return merged


def asleep_at(workers: Iterable[WorkerInfo], moment: Micros, now: Micros) -> Span | None:
    """Return the interval around ``moment`` in which nobody was awake, or None when somebody was.

    ``start`` None: no worker had ever been awake before.  ``end`` None: nobody has been since.
    """
    before: Micros | None = None
    for start, end in awake_spans(workers, now):
        if start <= moment <= end:
            return None
        if end < moment:
            before = end
        else:
            return Span(start=before, end=start)
    return Span(start=before, end=None)


def alive_with(workers: Iterable[WorkerInfo], job: str, now: Micros) -> tuple[int, int]:
    """Return how many workers are awake, and how many of them run ``job``."""
    awake = [worker for worker in workers if worker.is_awake(now)]
    return len(awake), sum(1 for worker in awake if job in worker.jobs)
