"""One teller per outcome: the sentence ``why`` says about an occurrence that has a row.

Rule of the file: every teller is a pure function of the scene.  A teller never guesses: what the ledger, the attempts
and the heartbeats do not show is not said.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from noonmark.core.catalogue import WAIT
from noonmark.core.decide import LATE_AFTER
from noonmark.core.model import SECOND, Attempt, Micros, State
from noonmark.engine.passing import HALFWAY
from noonmark.explain.awake import alive_with, asleep_at
from noonmark.explain.endings import by_person, cancelled, failed, missed, refused, skipped
from noonmark.explain.explanation import Scene, Telling
from noonmark.explain.fragments import (
    away_before_start,
    away_text,
    cause_of_delay,
    last_attempt,
    short_error,
    spaced,
    waited_for,
    who_and_why,
)
from noonmark.explain.losses import fence_lines, how_lost, loss_lines, process_lines
from noonmark.explain.outcomes import OVERDUE_AFTER, WORTH_SAYING, lateness, outcome_of

ALL_IS_WELL = frozenset({"on_time", "caught_up", "taken_over", "marked_done", "handled", "running", "planned"})
"""Outcomes after which there is nothing to do."""


def tell(scene: Scene) -> Telling:
    """Tell the story of one occurrence."""
    outcome = outcome_of(scene.row, scene.now)
    telling = TELLERS[outcome](scene)
    return Telling(
        sentence=telling.sentence,
        lines=telling.lines,
        code=telling.code or scene.row.code,
        remedy=""
        if outcome in ALL_IS_WELL and scene.row.code not in WORTH_SAYING
        else _for_good(scene, telling.remedy or scene.voice.remedy(telling.code or scene.row.code)),
        outcome=telling.outcome or outcome,
    )


def _for_good(scene: Scene, remedy: str) -> str:
    """Return what to do; what ends a wait elsewhere (``start_failed``, say) may have ended this row for good."""
    if remedy not in WAIT or scene.row.state is not State.FAILED_MANUAL:
        return remedy
    own = scene.voice.remedy(scene.row.code)
    return own if own not in WAIT else scene.voice.remedy("failed_final")


# --- it ran ---------------------------------------------------------------------------------------


def on_time(scene: Scene) -> Telling:
    """A run at its moment, perhaps after retries."""
    if scene.failed_attempts:
        return _after_retries(scene)
    if (waited := _after_waiting(scene)) is not None:
        return waited
    row, voice = scene.row, scene.voice
    last = last_attempt(scene)
    start = row.started_at or row.scheduled_for
    end = row.ended_at if row.ended_at is not None else scene.now
    return Telling(
        sentence=voice.say(
            "ran_on_time",
            due=voice.moment(row.scheduled_for),
            started=voice.moment(start),
            worker=scene.name_of(last.worker if last else row.holder),
            took=voice.length(end - start),
        )
    )


def caught_up(scene: Scene) -> Telling:
    """A run that started late: say how late, and what it waited for."""
    if scene.failed_attempts:
        return _after_retries(scene)
    if (waited := _after_waiting(scene)) is not None:
        return waited
    row, voice = scene.row, scene.voice
    first = scene.story.attempts[0] if scene.story.attempts else None
    return Telling(
        sentence=voice.say(
            "ran_late",
            late=voice.length(lateness(row)),
            started=voice.moment(row.first_started_at or scene.now),
            worker=scene.name_of(first.worker if first else row.holder),
            cause=cause_of_delay(scene),
        ),
        lines=_away_lines(scene),
    )


def _after_waiting(scene: Scene) -> Telling | None:
    """A run that a check held back first: how late that made it, and for what it waited."""
    row, voice, what = scene.row, scene.voice, waited_for(scene.story.ledger, scene.voice)
    if not what or lateness(row) < SECOND:
        return None
    first = scene.story.attempts[0] if scene.story.attempts else None
    return Telling(
        sentence=voice.say(
            "ran_waited",
            late=voice.length(lateness(row)),
            started=voice.moment(row.first_started_at or scene.now),
            worker=scene.name_of(first.worker if first else row.holder),
            what=what,
        )
    )


def _away_lines(scene: Scene) -> tuple[str, ...]:
    """Beside a cause that came first, the store may have been away as well."""
    away = away_before_start(scene)
    if away is None or asleep_at(scene.workers, scene.row.scheduled_for, scene.now) is None:
        return ()
    return (away_text(scene, away, "line_away"),)


def taken_over(scene: Scene) -> Telling:
    """A run whose first holder was lost: say who, how, and which fence ended its power."""
    row, voice, last = scene.row, scene.voice, last_attempt(scene)
    lost = scene.lost_attempts
    if not lost or last is None:
        return on_time(scene)
    return Telling(
        sentence=voice.say(
            "ran_after_takeover",
            attempt=last.number,
            loss=how_lost(scene, lost[-1]),
            worker=scene.name_of(last.worker),
            taken=voice.moment(last.started_at),
            old=scene.fence(lost[-1].fence),
            new=scene.fence(last.fence),
            ended=voice.moment(last.ended_at or row.ended_at or scene.now),
        ),
        lines=fence_lines(scene),
        code="taken_over",
    )


def _after_retries(scene: Scene) -> Telling:
    row, voice, last = scene.row, scene.voice, last_attempt(scene)
    failed, since = scene.failed_attempts, scene.retried_at
    by_hand = since is not None and last is not None and last.started_at >= since
    return Telling(
        sentence=voice.say(
            "ran_after_persons_retry" if by_hand else "ran_after_retry",
            attempt=last.number if last else row.attempt,
            tries=scene.tries,
            before=len(failed),
            error=voice.error(short_error(failed[-1].error)),
            worker=scene.name_of(last.worker if last else row.holder),
            ended=voice.moment(row.ended_at or scene.now),
        )
    )


# --- it runs, or will -----------------------------------------------------------------------------


def running(scene: Scene) -> Telling:
    """Running now: by whom, until when the lease says so, and whether somebody asked to stop it."""
    row, voice, last = scene.row, scene.voice, last_attempt(scene)
    worker = scene.name_of(last.worker if last else row.holder)
    started = voice.moment(row.started_at or row.scheduled_for)
    if row.cancel_requested:
        sentence = voice.say("running_cancel", worker=worker, started=started, **who_and_why(scene))
        return Telling(sentence=sentence, lines=(*loss_lines(scene), *process_lines(scene)))
    if last is not None and last.outcome == "lost":
        return _without_holder(scene, last)
    if row.due_at is not None and row.due_at <= scene.now:
        loss = how_lost(scene, replace(last, ended_at=row.due_at)) if last is not None else ""
        lapsed = voice.say("running_lapsed", worker=worker, started=started, lease=voice.moment(row.due_at), loss=loss)
        return Telling(sentence=lapsed, code="lost")
    lease = voice.moment(row.due_at) if row.due_at is not None else "?"
    if scene.lost_attempts and last is not None:
        lost = scene.lost_attempts[-1]
        sentence = voice.say(
            "running_taken_over",
            attempt=last.number,
            loss=how_lost(scene, lost),
            worker=worker,
            taken=started,
            old=scene.fence(lost.fence),
            new=scene.fence(last.fence),
        )
        return Telling(sentence=sentence, lines=(*fence_lines(scene), *process_lines(scene)), code="taken_over")
    late = lateness(row)
    return Telling(
        sentence=voice.say(
            "running_late" if late > LATE_AFTER else "running",
            late=voice.length(late),
            started=started,
            worker=worker,
            attempt=max(1, row.attempt - row.takeovers),
            tries=scene.tries,
            lease=lease,
        ),
        lines=process_lines(scene),
    )


def _without_holder(scene: Scene, last: Attempt) -> Telling:
    """Its lease was found to be over: somebody looks at it now, or it waits for the next look."""
    row, voice = scene.row, scene.voice
    said = {
        "worker": scene.name_of(last.worker),
        "started": voice.moment(last.started_at),
        "found": voice.moment(last.ended_at or scene.now),
        "loss": how_lost(scene, last),
    }
    if row.looking:
        sentence = voice.say("running_looked_at", looker=scene.name_of(row.holder), **said)
        return Telling(sentence=sentence, code="lost")
    due = row.due_at if row.due_at is not None else scene.now
    sentence = voice.say(
        "running_waits",
        reason=spaced(scene, voice.reason(row.code, row.detail)),
        due=voice.moment(due),
        in_=voice.distance(due),
        **said,
    )
    return Telling(sentence=sentence, code=row.code)


def retrying(scene: Scene) -> Telling:
    """Between two attempts: which failed, which comes, and when."""
    row, voice = scene.row, scene.voice
    failures = max(1, row.attempt - row.takeovers)
    due = row.due_at if row.due_at is not None else scene.now
    error = voice.error(short_error(row.error or (scene.failed_attempts[-1].error if scene.failed_attempts else None)))
    telling = voice.say(
        "retrying",
        attempt=failures,
        tries=scene.tries,
        error=error,
        next=failures + 1,
        due=voice.moment(due),
        in_=voice.distance(due),
    )
    left = left_lines(scene, due)
    if row.verdict.startswith("skip_") and row.code:
        return Telling(sentence=telling, lines=(voice.reason(row.code, row.detail), *left, *loss_lines(scene)))
    return Telling(sentence=telling, lines=(*left, *loss_lines(scene)))


def waiting(scene: Scene) -> Telling:
    """A check said "not yet": which, how often it was asked, and when again."""
    if scene.row.state is State.RUNNING:  # its lease is over, and a rollback holds it
        return running(scene)
    row, voice = scene.row, scene.voice
    if row.code == HALFWAY:  # nobody looks at it before the import goes on
        return Telling(sentence=voice.reason(row.code, row.detail))
    due = row.due_at if row.due_at is not None else scene.now
    waits = scene.waits
    count = sum(line.count for line in waits)
    looks = voice.say("looks_one", first=voice.moment(waits[0].at if waits else row.created_at))
    if count > 1:
        looks = voice.say(
            "looks_many", count=count, first=voice.moment(waits[0].at), last=voice.moment(waits[-1].last_at)
        )
    lines = left_lines(scene, due)
    return Telling(
        sentence=voice.say(
            "waiting",
            reason=spaced(scene, voice.reason(row.code, row.detail)),
            looks=looks,
            due=voice.moment(due),
            in_=voice.distance(due),
        ),
        lines=lines,
    )


def left_lines(scene: Scene, due: Micros) -> tuple[str, ...]:
    """Say of a row whose next look or try is due that nobody is there for it, or that it is overdue."""
    able = alive_with(scene.workers, scene.row.job, scene.now)[1]
    if due > scene.now or (able and due > scene.now - OVERDUE_AFTER):
        return ()
    return (due_now(scene).sentence,)


def planned(scene: Scene) -> Telling:
    """Not due yet."""
    row, voice = scene.row, scene.voice
    due = row.due_at if row.due_at is not None else row.scheduled_for
    return Telling(sentence=voice.say("not_due", due=voice.moment(due), in_=voice.distance(due)), code="not_due")


def due_now(scene: Scene) -> Telling:
    """Due, and nobody has looked: because nobody is awake, nobody runs this job, or it is only a moment ago."""
    row, voice, now = scene.row, scene.voice, scene.now
    at = row.due_at if row.due_at is not None else row.scheduled_for
    due, ago = voice.moment(at), voice.length(now - at)
    awake, able = alive_with(scene.workers, row.job, now)
    if not awake:
        span = asleep_at(scene.workers, now, now)
        if span is not None and span.start is None:
            return Telling(sentence=voice.say("due_never_awake", due=due), code="nobody_awake", outcome="unknown")
        since = span.start if span is not None and span.start is not None else scene.now  # the last one left just now
        sentence = voice.say("due_asleep", due=due, from_=voice.moment(since))
        return Telling(sentence=sentence, code="nobody_awake", outcome="unknown")
    if not able:
        return Telling(
            sentence=voice.say("due_no_handler", due=due, job=row.job, awake=awake),
            code="handler_missing",
        )
    if now - at > OVERDUE_AFTER:
        return _overdue(scene, due, ago, awake)
    return Telling(sentence=voice.say("due_now", due=due, ago=ago), code="due")


def _overdue(scene: Scene, due: str, ago: str, awake: int) -> Telling:
    """Overdue although somebody is awake: a worker whose slots are all taken takes nothing; else it is a fault."""
    voice, job = scene.voice, scene.row.job
    able = [worker for worker in scene.workers if worker.is_awake(scene.now) and job in worker.jobs]
    running = sum(scene.in_progress.get(worker.id, 0) for worker in able)
    if all(scene.in_progress.get(worker.id, 0) for worker in able):
        sentence = voice.say("due_while_full", due=due, ago=ago, awake=awake, running=running)
        return Telling(sentence=sentence, code="overdue")
    return Telling(sentence=voice.say("due_overdue", due=due, ago=ago), code="overdue")


TELLERS: dict[str, Callable[[Scene], Telling]] = {
    "on_time": on_time,
    "caught_up": caught_up,
    "taken_over": taken_over,
    "marked_done": by_person,
    "handled": by_person,
    "running": running,
    "retrying": retrying,
    "waiting": waiting,
    "planned": planned,
    "due": due_now,
    "missed": missed,
    "failed": failed,
    "skipped": skipped,
    "refused_duplicate": refused,
    "cancelled": cancelled,
}
