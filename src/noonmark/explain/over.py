"""What ``why`` says of a row whose job was ended: first of all, or beside its story.

Rule of the file: as in ``explain/stories.py``; whether and how a job was ended is read in ``explain/ended.py``.
"""

from __future__ import annotations

from dataclasses import replace

from noonmark.core.model import Occurrence, State
from noonmark.explain.ended import BY_REVISION, JobEnd, ended_by, ends_of
from noonmark.explain.explanation import Scene, Telling
from noonmark.explain.find import Found
from noonmark.ports.store import Store


def ends_for(store: Store, found: Found, row: Occurrence) -> tuple[JobEnd | None, JobEnd | None]:
    """Return the end of the row's job, where it has no rule in force, and the end by which the row was not run."""
    job_row = found.job_row
    is_over = job_row is not None and not job_row.rule
    if not is_over and row.code != BY_REVISION:
        return None, None
    ends = ends_of(store.tallies(revisions=True))
    over = ends.get((row.job, job_row.revision)) if job_row is not None and is_over else None
    return over, ended_by(ends, row)


def with_its_job(scene: Scene, telling: Telling, *, is_newest: bool) -> Telling:
    """Say that the job was ended: first of all where it was the job that was asked about, else beside the row's story."""
    if scene.over is None or scene.ended_by == scene.over:
        return telling
    said = scene.over.sentence(scene.voice)
    if not is_newest:
        return replace(telling, lines=(*telling.lines, said))
    newest = scene.voice.say("line_newest", id=scene.row.id, sentence=telling.sentence)
    remedy = telling.remedy or scene.voice.say("do_declare")
    return replace(telling, sentence=said, lines=(newest, *telling.lines), remedy=remedy)


def stays_queued(scene: Scene) -> tuple[str, ...]:
    """Say of a row that is still queued that it will not run while nobody declares its job again."""
    row, voice = scene.row, scene.voice
    if scene.over is None or row.state is not State.PENDING or row.code == "job_ended":
        return ()
    return (voice.say("as_things_stand_not", reason=voice.reason("job_ended", {"job": row.job})),)
