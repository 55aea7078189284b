"""The tellers of what did not run to its end, or was ended by a person.

Rule of the file: as in ``explain/stories.py``, which lists all tellers.
"""

from __future__ import annotations

from noonmark.core import phrasing
from noonmark.core.model import SECOND, Micros, Origin
from noonmark.core.told import key_told
from noonmark.explain.awake import asleep_at
from noonmark.explain.explanation import Scene, Telling
from noonmark.explain.fragments import actor_of, away_text, limit_text, short_error, spaced, who_and_why
from noonmark.explain.losses import fence_lines, loss_lines
from noonmark.explain.outages import away_between

LOOKED_LATE: Micros = 5 * SECOND
"""A row that nobody held back, and whose end was found so long after its limit, waited for a worker with a free slot."""
PERSON_CODES = frozenset({"marked_done", "marked_skip", "marked_handled"})
_IDLE = {"ended": "line_holder_ended", "no_code": "line_holder_no_code"}


def by_person(scene: Scene) -> Telling:
    """Marked done, or handled, or never to run, by a person."""
    row, voice = scene.row, scene.voice
    key = {"marked_done": "ran_by_person", "marked_handled": "handled_person"}.get(row.code, "skipped_person")
    return Telling(sentence=voice.say(key, **who_and_why(scene)))


def _away_lines(scene: Scene, since: Micros, until: Micros | None) -> tuple[str, ...]:
    away = away_between(scene.outages, since, until if until is not None else scene.now)
    return () if away is None else (away_text(scene, away, "line_away"),)


def missed(scene: Scene) -> Telling:
    """Wanted, but its window or limit closed: say what it waited for until then, or that nobody was awake."""
    row, voice = scene.row, scene.voice
    limit = limit_text(scene)
    if scene.story.attempts and row.first_started_at is not None:
        failed = scene.failed_attempts
        error = voice.error(short_error(failed[-1].error if failed else row.error))
        sentence = voice.say(
            "missed_after_tries", attempts=scene.tries_made, tries=scene.tries, error=error, limit=limit
        )
        return Telling(sentence=sentence, lines=loss_lines(scene))
    if scene.waits:
        last = scene.waits[-1]
        if last.code == "slot_wait":  # whoever it waited for then may have ended long before
            return Telling(sentence=voice.say("missed_queued", limit=limit))
        reason = spaced(scene, voice.reason(last.code, last.detail))
        return Telling(sentence=voice.say("missed_waiting", reason=reason, limit=limit), remedy=voice.remedy(last.code))
    closed = [at for at in (row.not_after, row.expires_at) if at is not None]
    if row.origin is not Origin.SCHEDULE and closed and row.created_at >= min(closed):
        return Telling(sentence=voice.say("missed_asked_late", limit=limit, asked=voice.moment(row.created_at)))
    span = asleep_at(scene.workers, row.scheduled_for, scene.now)
    away = away_between(scene.outages, row.scheduled_for, row.ended_at or scene.now)
    if away is not None and span is None:
        from_, to = voice.moment(away.start), voice.moment(away.end)
        return Telling(sentence=voice.say("missed_away", from_=from_, to=to, worker=away.name, limit=limit))
    if span is not None and span.end is not None:
        from_ = voice.moment(span.start) if span.start is not None else voice.say("ever")
        return Telling(
            sentence=voice.say("missed_asleep", from_=from_, to=voice.moment(span.end), limit=limit),
            lines=_away_lines(scene, row.scheduled_for, row.ended_at),
        )
    if row.ended_at is not None and closed and row.ended_at > min(closed) + LOOKED_LATE:
        return Telling(sentence=voice.say("missed_looked_late", limit=limit, ended=voice.moment(row.ended_at)))
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
        attempts=scene.tries_made,
        tries=scene.tries,
        ended=voice.moment(row.ended_at or scene.now),
    )
    failures = scene.failed_attempts
    lines: tuple[str, ...] = ()
    if len(failures) > 1 and failures[0].error != failures[-1].error:
        lines = (voice.say("line_first_failure", error=voice.error(short_error(failures[0].error))),)
    return Telling(sentence=sentence, lines=(*lines, *loss_lines(scene), *fence_lines(scene)))


def skipped(scene: Scene) -> Telling:
    """What the rule excludes, one moment or a whole range of missed ones."""
    row, voice = scene.row, scene.voice
    if row.code == "marked_skip":
        return by_person(scene)
    if row.range_until is not None:
        return in_range(scene, row.scheduled_for)
    if scene.ended_by is not None:
        sentence = voice.say("ended_before_due", due=voice.moment(row.scheduled_for), **scene.ended_by.told(voice))
        return Telling(sentence=sentence, remedy=voice.say("do_declare" if scene.over is not None else "do_run"))
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
    lines = _away_lines(scene, row.scheduled_for, row.range_until or row.scheduled_for)
    return Telling(sentence=sentence, lines=lines, code=row.code or "range_superseded")


def refused(scene: Scene) -> Telling:
    """A duplicate: name the holder of the key, and what became of it."""
    row, voice = scene.row, scene.voice
    holder_id = row.duplicate_of or scene.detail().get("holder")
    holder = scene.related.get(holder_id) if holder_id else None
    if holder is None:
        return Telling(sentence=voice.say("duplicate_unknown", key=key_told(row.job, row.key)))
    since = holder.ended_at if holder.ended_at is not None else holder.started_at
    when = voice.say("duplicate_when", at=voice.moment(since)) if since is not None else ""
    lines: tuple[str, ...] = ()
    remedy = ""
    if scene.idle_holder:
        lines = (voice.say(_IDLE[scene.idle_holder], holder=holder.id, job=holder.job),)
        remedy = voice.say("do_idle_holder", holder=holder.id, job=holder.job)
    return Telling(
        sentence=voice.say(
            "duplicate",
            key=key_told(row.job, row.key),
            holder=holder.id,
            job=holder.job,
            state=phrasing.state(holder.state, voice.lang),
            when=when,
        ),
        lines=lines,
        code=row.code or "key_held",
        remedy=remedy,
    )


def cancelled(scene: Scene) -> Telling:
    """Cancelled, by a person or because its worker is gone."""
    row, voice = scene.row, scene.voice
    if row.code in PERSON_CODES:
        return by_person(scene)
    who = who_and_why(scene)
    if row.code == "cancelled_before_create":
        return Telling(sentence=voice.say("cancelled_unknown", **who))
    if actor_of(scene):
        return Telling(sentence=voice.say("cancelled", **who), lines=loss_lines(scene))
    reason = voice.reason(row.code, row.detail) if row.code else voice.say("no_reason")
    said = voice.say("cancelled_system", ended=who["ended"], reason=reason)
    return Telling(sentence=said, lines=loss_lines(scene))
