"""Why is there no row for a moment?  It lies before the rule, in the future, or nobody was awake.

Rule of the file: reads only; every answer is proved from revisions, the rule, the frontier and the heartbeats.
"""

from __future__ import annotations

from noonmark.core import series
from noonmark.core.model import Job, JobRow, Micros, Occurrence, Query, WorkerInfo
from noonmark.core.values import dataclass
from noonmark.explain.awake import asleep_at, awake_spans
from noonmark.explain.describe import trigger_text
from noonmark.explain.ended import JobEnd, end_of
from noonmark.explain.explanation import Telling
from noonmark.explain.find import Asked, Found, read_rule
from noonmark.explain.outages import away_between, outages
from noonmark.explain.voice import Voice
from noonmark.ports.store import Store


@dataclass(frozen=True, slots=True, kw_only=True)
class Absence:
    """The answer: what to say, and the moment of the rule that was meant, if there is one."""

    telling: Telling
    at: Micros
    job: Job | None


def absence(store: Store, found: Found, asked: Asked, workers: tuple[WorkerInfo, ...], voice: Voice) -> Absence:
    """Explain a moment without a row."""
    revisions = _revisions(store, found)
    shown = voice.day_and_clock(asked.start)
    first = min((row.effective_at for row in revisions), default=None)
    if first is not None and asked.end - 1 <= first:
        said: str = voice.say("before_rule", at=shown, job=found.name, effective=voice.day_and_clock(first))
        return Absence(
            telling=Telling(sentence=said, code="before_rule", outcome="skipped"), at=asked.start, job=found.job
        )
    over = _end_at(store, revisions, asked.end - 1)
    if over is not None:
        said = voice.say("after_job_ended", shown=shown, job=found.name, **over.told(voice))
        return Absence(
            telling=Telling(sentence=said, code="job_ended", outcome="skipped", remedy=voice.say("do_declare")),
            at=asked.start,
            job=found.job,
        )
    job = _rule_at(revisions, asked.end - 1) or found.job
    if job is None:
        said = voice.reason("rule_unreadable", {"job": found.name})
        return Absence(
            telling=Telling(sentence=said, code="rule_unreadable", outcome="unknown"), at=asked.start, job=None
        )
    if not job.is_series:
        said = voice.say("not_a_series", job=found.name, rule=trigger_text(job.trigger, voice.lang), at=shown)
        return Absence(telling=Telling(sentence=said, code="not_a_moment", outcome="skipped"), at=asked.start, job=job)
    moments = series.moments_between(job, asked.start - 1, asked.end - 1, limit=1)
    if not moments:
        telling = _no_moment(job, revisions, asked, voice)
        return Absence(telling=telling, at=asked.start, job=job)
    at = moments[0].at
    return Absence(telling=_unrecorded(store, job, at, workers, voice), at=at, job=job)


def _unrecorded(store: Store, job: Job, at: Micros, workers: tuple[WorkerInfo, ...], voice: Voice) -> Telling:
    """A moment of the rule in force then, without a row."""
    shown, now = voice.day_and_clock(at), voice.now
    if at > now:
        return Telling(
            sentence=voice.say("future", at=shown, in_=voice.distance(at)), code="not_due", outcome="planned"
        )
    span = asleep_at(workers, at, now)
    if job.scope == "each_worker" and span is not None:
        said = voice.say("each_worker_absent", job=job.name, at=shown)
        return Telling(sentence=said, code="nobody_awake", outcome="skipped")
    frontier = _open_frontier(store, job, at)
    if frontier is None:
        return Telling(sentence=voice.say("unaccounted", at=shown), code="unaccounted", outcome="missed")
    if span is not None:
        from_ = voice.day_and_clock(span.start) if span.start is not None else voice.say("ever")
        to = voice.day_and_clock(span.end) if span.end is not None else voice.say("now")
        said = voice.say("asleep_no_row", at=shown, from_=from_, to=to)
        return Telling(
            sentence=said, lines=_away_lines(store, workers, at, voice), code="nobody_awake", outcome="unknown"
        )
    behind = voice.day_and_clock(frontier.scheduled_for)
    said = voice.say("behind_frontier", at=shown, frontier=behind, id=frontier.id)
    lines = _away_lines(store, workers, at, voice)
    if not awake_spans(workers, now):
        lines = (voice.say("due_never_awake", due=behind), *lines)
    return Telling(sentence=said, lines=lines, code="behind_frontier", outcome="due")


def _away_lines(store: Store, workers: tuple[WorkerInfo, ...], at: Micros, voice: Voice) -> tuple[str, ...]:
    """Say that the store was away at that moment or later, as a worker wrote it down."""
    away = away_between(outages(store, workers, at), at, voice.now)
    if away is None:
        return ()
    from_, to = voice.day_and_clock(away.start), voice.day_and_clock(away.end)
    return (voice.say("line_away", from_=from_, to=to, worker=away.name),)


def _no_moment(job: Job, revisions: tuple[JobRow, ...], asked: Asked, voice: Voice) -> Telling:
    """The rule in force then does not yield it; perhaps a later one would."""
    shown = voice.day_and_clock(asked.start)
    for row in revisions:
        later = read_rule(row) if row.effective_at >= asked.end - 1 else None
        if later is None or not later.is_series:
            continue
        if series.moments_between(later, asked.start - 1, asked.end - 1, limit=1):
            said = voice.say(
                "before_revision",
                at=shown,
                job=job.name,
                revision=row.revision,
                effective=voice.day_and_clock(row.effective_at),
            )
            return Telling(sentence=said, code="before_rule", outcome="skipped")
    previous, following = series.previous_moment(job, asked.start), series.next_moment(job, asked.start)
    said = voice.say(
        "not_a_moment",
        job=job.name,
        at=shown,
        rule=trigger_text(job.trigger, voice.lang),
        previous=voice.day_and_clock(previous.at) if previous is not None else voice.say("none"),
        next=voice.day_and_clock(following.at) if following is not None else voice.say("none"),
    )
    return Telling(sentence=said, code="not_a_moment", outcome="skipped")


def _revisions(store: Store, found: Found) -> tuple[JobRow, ...]:
    rows = [row for row in store.tallies(revisions=[found.name]).revisions if row.name == found.name]
    if not rows and found.job_row is not None:
        rows = [found.job_row]
    return tuple(sorted(rows, key=lambda row: row.revision))


def _rule_at(revisions: tuple[JobRow, ...], moment: Micros) -> Job | None:
    """Return the rule in force for a moment: a revision counts for what is scheduled after it took effect."""
    in_force = [row for row in revisions if row.effective_at < moment]
    return read_rule(in_force[-1]) if in_force else None


def _end_at(store: Store, revisions: tuple[JobRow, ...], moment: Micros) -> JobEnd | None:
    """Return the end of the job, where no rule of it was in force for a moment."""
    in_force = [row for row in revisions if row.effective_at < moment]
    return end_of(store, in_force[-1]) if in_force else None


def _open_frontier(store: Store, job: Job, before: Micros) -> Occurrence | None:
    rows = store.occurrences(
        Query(job=job.name, frontier_only=True, open_only=True, scheduled_until=before, oldest_first=True, limit=1)
    )
    return rows[0] if rows else None
