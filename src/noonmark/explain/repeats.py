"""Runs that repeat, or may repeat, what the store lost when it went back in time.

Rule of the file: pure; *may be* is told from the rollbacks alone, *is* only where a journal has the success that was lost.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from noonmark.core import rollback
from noonmark.core.model import OPEN_STATES, Job, Micros, Occurrence, State, Story
from noonmark.core.model.rollback import Epoch
from noonmark.engine.witnessing import Known, Witnessed
from noonmark.explain.explanation import Scene


def may_be_of(epoch: Epoch, row: Occurrence, story: Story | None = None) -> bool:
    """Return True when a run of the row may repeat what was lost in the rollback.

    Args:
        epoch: the rollback.
        row: the occurrence.
        story: with it every attempt counts, without it the last one.
    """
    starts = begun(story) if story is not None else [row.started_at or 0]
    has_run_since = any(start > epoch.lost_from for start in starts)
    return has_run_since and (epoch.concerns(row) or epoch.may_repeat(row))


def begun(story: Story) -> list[Micros]:
    """Return when the attempts began that were not given back before anything was done."""
    return [attempt.started_at for attempt in story.attempts if attempt.outcome != "handed_back"]


def known_of(known: Known, row: Occurrence, started_at: Micros) -> Witnessed | None:
    """Return the success of the row's key that was lost before a run of it started, None when nobody knows one.

    A run that the store has is not what it lost, although its journal's line may lie in the lost range.
    """
    lost = known.get((row.job, row.key)) if row.key else None
    if lost is None or lost.fence == row.fence:
        return None
    return lost if (lost.at if lost.begun is None else lost.begun) < started_at else None


def ran_before(known: Known, row: Occurrence) -> Witnessed | None:
    """Return the success of the row's key that was lost, where the row itself has none and has not run since."""
    return known.get((row.job, row.key)) if row.key and row.state is not State.SUCCESS else None


def among(
    rows: Iterable[Occurrence], wanted: Collection[str], epochs: Sequence[Epoch], known: Known
) -> tuple[list[tuple[Occurrence, Witnessed]], int]:
    """Return the rows that ran twice although their rule does not want that, and how many others may have.

    Args:
        rows: the occurrences.
        wanted: jobs whose rule says ``on_rollback: run``; their repeats are counted only.
        epochs: the rollbacks.
        known: the successes that were lost, as far as journals have them.
    """
    twice, count = [], 0
    for row in rows:
        if row.started_at is None or not row.attempt or not epochs:
            continue
        lost = known_of(known, row, row.started_at)
        if lost is not None and row.state is State.SUCCESS and row.job not in wanted:
            twice.append((row, lost))
        elif lost is not None or any(may_be_of(epoch, row) for epoch in epochs):
            count += 1
    return twice, count


def untold(epochs: Sequence[Epoch], job: Job | None, row: Occurrence) -> tuple[str, Epoch] | None:
    """Return what is to be said of a row that has not run since a rollback in which it may have, and the newest of those.

    ``line_will_be_held``: it is open, and no worker has looked at it since; ``line_may_have_run``: it ended since.
    """
    for epoch in reversed(epochs):
        if not epoch.concerns(row):
            continue
        if row.state not in OPEN_STATES:
            has_ended = row.state is not State.SUCCESS and (row.ended_at or 0) > epoch.lost_from
            return ("line_may_have_run", epoch) if has_ended else None
        is_to_be_held = job is not None and job.on_rollback == "hold" and not epoch.is_released(row.job)
        is_held = row.code == rollback.HELD
        if is_to_be_held and not row.holder and not is_held and not rollback.is_let_run(row, epoch):
            return "line_will_be_held", epoch
    return None


def lines(scene: Scene) -> tuple[str, ...]:
    """Say that a run is, or may be, a repeat, or what a rollback means for a row that has not run since."""
    voice, lost, seen = scene.voice, scene.lost, scene.witnessed
    said: list[str] = []
    if seen is not None:
        line = "line_is_repeat" if begun(scene.story) else "line_ran_before"
        said.append(voice.say(line, writer=seen.writer, id=seen.occurrence, at=voice.moment(seen.at)))
    elif lost is not None:
        said.append(_about(scene, "line_repeat" if lost.concerns(scene.row) else "line_asked_again", lost))
    if scene.untold is not None and (scene.row.state in OPEN_STATES or not said):
        said.append(_about(scene, *scene.untold))
    return tuple(said)


def _about(scene: Scene, key: str, epoch: Epoch) -> str:
    voice = scene.voice
    return voice.say(key, since=voice.moment(epoch.lost_from), until=voice.moment(epoch.lost_until))
