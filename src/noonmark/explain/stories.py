"""One teller per outcome: the sentence ``why`` says about an occurrence that has a row.

Rule of the file: every teller is a pure function of the scene.  A teller never guesses: what the ledger, the attempts
and the heartbeats do not show is not said.
"""

from __future__ import annotations

from collections.abc import Callable

from noonmark.core import phrasing
from noonmark.core.decide import LATE_AFTER
from noonmark.core.model import SECOND
from noonmark.explain.awake import alive_with, asleep_at
from noonmark.explain.explanation import Scene, Telling
from noonmark.explain.fragments import (
    actor_of,
    cause_of_delay,
    fence_lines,
    how_lost,
    last_attempt,
    limit_text,
    short_error,
    spaced,
    waited_for,
    who_and_why,
)
from noonmark.explain.outcomes import OVERDUE_AFTER, lateness, outcome_of

ALL_IS_WELL = frozenset({"on_time", "caught_up", "taken_over", "marked_done", "handled", "running", "planned"})
"""Outcomes after which there is nothing to do."""
PERSON_CODES = frozenset({"marked_done", "marked_skip", "marked_handled"})


def tell(scene: Scene) -> Telling:
    """Tell the story of one occurrence."""
    outcome = outcome_of(scene.row, scene.now)
    telling = TELLERS[outcome](scene)
    return Telling(
        sentence=telling.sentence,
        lines=telling.lines,
        code=telling.code or scene.row.code,
        remedy="" if outcome in ALL_IS_WELL else telling.remedy or scene.voice.remedy(telling.code or scene.row.code),
        outcome=telling.outcome or outcome,
    )


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
        )
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


def by_person(scene: Scene) -> Telling:
    """Marked done, or handled, or never to run, by a person."""
    row, voice = scene.row, scene.voice
    key = {"marked_done": "ran_by_person", "marked_handled": "handled_person"}.get(row.code, "skipped_person")
    return Telling(sentence=voice.say(key, **who_and_why(scene)))


def _after_retries(scene: Scene) -> Telling:
    row, voice, last = scene.row, scene.voice, last_attempt(scene)
    failed = scene.failed_attempts
    return Telling(
        sentence=voice.say(
            "ran_after_retry",
            attempt=last.number if last else row.attempt,
            tries=scene.tries,
            before=len(failed),
            error=short_error(failed[-1].error),
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
        return Telling(sentence=voice.say("running_cancel", worker=worker, started=started, **who_and_why(scene)))
    lease = voice.moment(row.due_at) if row.due_at is not None else "?"
    if row.looking or (row.due_at is not None and row.due_at <= scene.now):
        return Telling(
            sentence=voice.say("running_lapsed", worker=worker, started=started, lease=lease),
            code=row.code if row.looking else "lost",
        )
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
        return Telling(sentence=sentence, lines=fence_lines(scene), code="taken_over")
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
    )


def retrying(scene: Scene) -> Telling:
    """Between two attempts: which failed, which comes, and when."""
    row, voice = scene.row, scene.voice
    failures = max(1, row.attempt - row.takeovers)
    due = row.due_at if row.due_at is not None else scene.now
    error = short_error(row.error or (scene.failed_attempts[-1].error if scene.failed_attempts else None))
    telling = voice.say(
        "retrying",
        attempt=failures,
        tries=scene.tries,
        error=error,
        next=failures + 1,
        due=voice.moment(due),
        in_=voice.distance(due),
    )
    if row.verdict.startswith("skip_") and row.code:
        return Telling(sentence=telling, lines=(voice.reason(row.code, row.detail),))
    return Telling(sentence=telling)


def waiting(scene: Scene) -> Telling:
    """A check said "not yet": which, how often it was asked, and when again."""
    row, voice = scene.row, scene.voice
    due = row.due_at if row.due_at is not None else scene.now
    waits = scene.waits
    count = sum(line.count for line in waits)
    looks = voice.say("looks_one", first=voice.moment(waits[0].at if waits else row.created_at))
    if count > 1:
        looks = voice.say(
            "looks_many", count=count, first=voice.moment(waits[0].at), last=voice.moment(waits[-1].last_at)
        )
    lines = () if due > scene.now - OVERDUE_AFTER else (due_now(scene).sentence,)
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
        if span is None or span.start is None:
            return Telling(sentence=voice.say("due_never_awake", due=due), code="nobody_awake", outcome="unknown")
        sentence = voice.say("due_asleep", due=due, from_=voice.moment(span.start))
        return Telling(sentence=sentence, code="nobody_awake", outcome="unknown")
    if not able:
        return Telling(
            sentence=voice.say("due_no_handler", due=due, job=row.job, awake=awake),
            code="handler_missing",
        )
    if now - at > OVERDUE_AFTER:
        return Telling(sentence=voice.say("due_overdue", due=due, ago=ago), code="overdue")
    return Telling(sentence=voice.say("due_now", due=due, ago=ago), code="due")


# --- it did not run -------------------------------------------------------------------------------


def missed(scene: Scene) -> Telling:
    """Wanted, but its window or limit closed: say what it waited for until then, or that nobody was awake."""
    row, voice = scene.row, scene.voice
    limit = limit_text(scene)
    if scene.story.attempts and row.first_started_at is not None:
        failed = scene.failed_attempts
        error = short_error(failed[-1].error if failed else row.error)
        sentence = voice.say(
            "missed_after_tries", attempts=len(scene.story.attempts), tries=scene.tries, error=error, limit=limit
        )
        return Telling(sentence=sentence)
    if scene.waits:
        last = scene.waits[-1]
        reason = spaced(scene, voice.reason(last.code, last.detail))
        return Telling(sentence=voice.say("missed_waiting", reason=reason, limit=limit), remedy=voice.remedy(last.code))
    span = asleep_at(scene.workers, row.scheduled_for, scene.now)
    if span is not None and span.end is not None:
        from_ = voice.moment(span.start) if span.start is not None else voice.say("ever")
        return Telling(
            sentence=voice.say("missed_asleep", from_=from_, to=voice.moment(span.end), limit=limit),
        )
    return Telling(sentence=voice.say("missed_plain", limit=limit))


def failed(scene: Scene) -> Telling:
    """Ended for good: the reason, how many tries, and the first error that started it all."""
    row, voice = scene.row, scene.voice
    detail = scene.detail()
    detail.setdefault("error", short_error(row.error))
    reason = spaced(scene, voice.reason(row.code, detail))
    if not scene.story.attempts:
        return Telling(sentence=voice.say("failed_unstarted", reason=reason))
    sentence = voice.say(
        "failed",
        reason=reason,
        attempts=len(scene.story.attempts),
        tries=scene.tries,
        ended=voice.moment(row.ended_at or scene.now),
    )
    failures = scene.failed_attempts
    lines: tuple[str, ...] = ()
    if len(failures) > 1 and failures[0].error != failures[-1].error:
        lines = (voice.say("line_first_failure", error=short_error(failures[0].error)),)
    return Telling(sentence=sentence, lines=(*lines, *fence_lines(scene)))


def skipped(scene: Scene) -> Telling:
    """What the rule excludes, one moment or a whole range of missed ones."""
    row, voice = scene.row, scene.voice
    if row.code == "marked_skip":
        return by_person(scene)
    if row.range_until is not None:
        return in_range(scene, row.scheduled_for)
    return Telling(sentence=voice.say("skipped", reason=voice.reason(row.code, row.detail)))


def in_range(scene: Scene, moment: int) -> Telling:
    """A moment inside a compressed range record."""
    row, voice = scene.row, scene.voice
    stand_in = next((other for other in scene.related.values() if other.id != row.id), None)
    if stand_in is not None:
        instead = voice.say("range_instead", due=voice.day_and_clock(stand_in.scheduled_for), id=stand_in.id)
    else:
        missed_policy = scene.job.catch_up.missed if scene.job is not None else "?"
        instead = voice.say("range_skipped", missed=missed_policy)
    count = voice.say("range_many") if row.range_count < 0 else row.range_count
    sentence = voice.say(
        "range",
        due=voice.day_and_clock(moment),
        count=count,
        from_=voice.day_and_clock(row.scheduled_for),
        to=voice.day_and_clock(row.range_until or row.scheduled_for),
        instead=instead,
    )
    return Telling(sentence=sentence, code=row.code or "range_superseded")


def refused(scene: Scene) -> Telling:
    """A duplicate: name the holder of the key, and what became of it."""
    row, voice = scene.row, scene.voice
    holder_id = row.duplicate_of or scene.detail().get("holder")
    holder = scene.related.get(holder_id) if holder_id else None
    if holder is None:
        return Telling(sentence=voice.say("duplicate_unknown", key=row.key))
    since = holder.ended_at if holder.ended_at is not None else holder.started_at
    when = voice.say("duplicate_when", at=voice.moment(since)) if since is not None else ""
    return Telling(
        sentence=voice.say(
            "duplicate",
            key=row.key,
            holder=holder.id,
            job=holder.job,
            state=phrasing.state(holder.state, voice.lang),
            when=when,
        ),
        code=row.code or "key_held",
    )


def cancelled(scene: Scene) -> Telling:
    """Cancelled, by a person or because its worker is gone."""
    row, voice = scene.row, scene.voice
    if row.code in PERSON_CODES:
        return by_person(scene)
    who = who_and_why(scene)
    if actor_of(scene):
        return Telling(sentence=voice.say("cancelled", **who))
    reason = voice.reason(row.code, row.detail) if row.code else voice.say("no_reason")
    return Telling(sentence=voice.say("cancelled_system", ended=who["ended"], reason=reason))


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
