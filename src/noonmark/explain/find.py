"""Which occurrence does the person mean?  A job, and perhaps a time, a key or an id.

Rule of the file: reads only.  Nothing found is an answer (``NotFound``) that says what was looked for and what is near.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

from noonmark.core import codec, rollback, series, times
from noonmark.core.model import DAY, FAR, MINUTE, SECOND, Job, JobRow, Micros, Occurrence, Query, State, Verdict
from noonmark.core.told import Told
from noonmark.core.values import dataclass
from noonmark.explain.awake import alive_with
from noonmark.explain.messages import message
from noonmark.explain.outcomes import OVERDUE_AFTER, outcome_of
from noonmark.explain.processes import Lives, as_known, processes
from noonmark.explain.voice import Voice
from noonmark.ports.store import Store

_MAY_BE_LOST = {"no_occurrence": "no_occurrence_lost", "no_key": "no_key_lost"}
SUBJECTS_NAMED = 8
"""Most subjects that are named to who mistyped one."""
NOISE = frozenset({Verdict.SKIP_SUPERSEDED.value, Verdict.SKIP_DUPLICATED.value})
"""Verdicts of rows that stand in the shadow of another row: told only when asked for."""


class NotFound(LookupError):
    """There is no such job, occurrence or key: ``what`` and ``do`` are messages, told in the reader's language."""

    def __init__(self, what: str, do: str = "", /, **args: object) -> None:
        super().__init__(message(what, "en", **args))
        self.name = what
        """Which of them, for programs: the name of the message."""
        self._do, self._args = do, args

    @property
    def args_told(self) -> Mapping[str, object]:
        """What is filled in."""
        return self._args

    @property
    def hint(self) -> str:
        """What to do, in English."""
        return self.do("en")

    def what(self, lang: str) -> str:
        """Return what is not there."""
        return message(self.name, lang, **self._args)

    def do(self, lang: str) -> str:
        """Return what to do about it."""
        return message(self._do, lang, **self._args) if self._do else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A stretch of time a person named: ``start`` inclusive, ``end`` exclusive, UTC microseconds."""

    start: Micros
    end: Micros


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What the question is about: a row, or a job and a moment for which there is no row.

    ``job`` is the last rule of a job that was ended; None when the stored rule cannot be read by this version, or the
    row's job is not stored.
    """

    name: str
    row: Occurrence | None
    job_row: JobRow | None
    job: Job | None
    asked: Asked | None = None
    following: Occurrence | None = None  # the job's next open row, where the newest one was asked for
    is_newest: bool = False  # only the job was named


def perhaps_lost(error: NotFound, store: Store, voice: Voice) -> NotFound:
    """Return the answer for a number or a key that is not there, where the store went back in time: it may have been lost.

    That is said while the rollback is open, and for a day after its release.
    """
    if error.name not in _MAY_BE_LOST:
        return error
    epochs = rollback.epochs_of(store.facts([rollback.FACT])[rollback.FACT].value)
    recent = [each for each in epochs if each.released_at is None or voice.now < each.released_at + DAY]
    if not recent:
        return error
    since, until = voice.span(min(each.lost_from for each in recent), max(each.lost_until for each in recent))
    about = {"since": since, "until": until, "zone": voice.zone, "epoch": recent[-1].number}
    return NotFound(_MAY_BE_LOST[error.name], "do_lost", **error.args_told, **about)


def parse_at(text: str, tz: str) -> Asked:
    """Read a time a person typed: a date, a minute or a second, with or without an offset.

    Raises:
        ValueError: not ISO 8601.
    """
    text = text.strip().replace(" ", "T")
    start = times.parse_instant(f"{text}T00:00:00" if re.fullmatch(r"\d{4}-\d\d-\d\d", text) else text, tz)
    if "T" not in text:
        return Asked(start=start, end=times.parse_instant(f"{_next_day(text)}T00:00:00", tz))
    precise = re.search(r"T\d\d:?\d\d:?\d\d", text) is not None
    return Asked(start=start, end=start + (SECOND if precise else MINUTE))


def parse_id(text: str) -> int:
    """Read an occurrence id, ``123`` or ``r123``.

    Raises:
        ValueError: neither.
    """
    match = re.fullmatch(r"r?([0-9]{1,18})", text.strip())  # no store counts further
    if match is None:
        raise ValueError(f"{text[:100]!r} is no occurrence: write its number, as 123 or r123")
    return int(match[1])


def find(
    store: Store,
    name: str | None = None,
    *,
    at: str | None = None,
    key: str | None = None,
    occurrence_id: int | None = None,
    tz: str | None = None,
    now: Micros | None = None,
) -> Found:
    """Find what the person means; by default the job's newest occurrence that matters.

    Args:
        store: where to look.
        name: the job, or ``job[tenant=a]`` for one subject of it; may be left out with ``key`` or ``occurrence_id``.
        at: a time as typed; read in ``tz``, else in the job's zone.
        key: a rendered key; its newest generation is meant.
        occurrence_id: the row itself.
        tz: zone for ``at``.
        now: store time in microseconds; read from the store when left out.

    Raises:
        NotFound: no such job, key, id, or nothing recorded for the job yet.
        ValueError: ``at`` cannot be read.
    """
    now = store.now() if now is None else now
    if occurrence_id is not None:
        # what no store can count to is asked of none: drivers overflow
        rows = store.occurrences(Query(ids=(occurrence_id,))) if abs(occurrence_id) < 2**63 else []
        if not rows:
            raise NotFound("no_occurrence", "do_history", number=occurrence_id)
        return _with_job(store, rows[0])
    if key is not None:
        if name is not None and _of_subject(name) is not None:
            name = job_and_subject(store, name)[0].name
        return _with_job(store, _by_key(store, key, name))
    if name is None:
        raise NotFound("say_which", "do_jobs")
    job_row, subject = job_and_subject(store, name)
    asked_for, name = name, job_row.name
    job = last_rule(store, job_row)
    found = Found(name=name, row=None, job_row=job_row, job=job)
    if at is not None:
        return _by_time(store, found, parse_at(at, tz or (job.tz if job is not None else "UTC")), subject)
    row = newest(store, name, now, subject)
    if row is None and subject is not None:
        raise NotFound("nothing_recorded", "do_history_keys", name=Told(asked_for))
    if row is None:
        raise _nothing_recorded(job_row, job, now)
    coming = Query(
        job=name,
        subject=row.subject,
        open_only=True,
        scheduled_from=min(row.scheduled_for + 1, FAR),
        oldest_first=True,
        limit=1,
    )
    following = next(iter(store.occurrences(coming)), None)
    return _dated(store, replace(found, row=row, following=following, is_newest=True))


def while_nobody_is_awake(store: Store, found: Found, now: Micros, lives: Lives | None = None) -> Found:
    """Return the job's next row where it is due and nobody who can run it lives: that matters more than the run before."""
    coming = found.following
    if found.row is None or found.row.state not in (State.SUCCESS, State.SKIPPED, State.CANCELLED):
        return found  # what needs a person, or is under way, matters more
    if coming is None or (coming.due_at if coming.due_at is not None else coming.scheduled_for) > now:
        return found
    workers = as_known(everybody := store.workers(), processes(everybody, lives), now)
    if alive_with(workers, coming.job, now)[1]:
        return found
    return _dated(store, replace(found, row=coming, following=None))


def the_job(store: Store, name: str) -> JobRow:
    """Return the stored job, or raise ``NotFound`` with the nearest name."""
    rows = store.jobs([name])
    if rows:
        return rows[0]
    import difflib  # only on the way to an error

    near = difflib.get_close_matches(name, [row.name for row in store.jobs()], n=1, cutoff=0.5)
    raise NotFound(
        "no_job", "do_near" if near else "do_register", name=Told(name), url=store.url, near=Told("".join(near))
    )


def job_and_subject(store: Store, text: str) -> tuple[JobRow, str | None]:
    """Return the job that a person named and, where he wrote it as tables print it (``job[tenant=a]``), its subject."""
    parts = _of_subject(text)
    if parts is not None and not store.jobs([text]):
        name, subject = parts
        rows = store.jobs([name])
        if rows:
            if not store.occurrences(Query(job=name, subject=subject, limit=1)):
                _refuse_unknown_subject(rows[0], subject)
            return rows[0], subject
    return the_job(store, text), None


def _refuse_unknown_subject(row: JobRow, subject: str) -> None:
    """Of a subject that the rule has and of which nothing is recorded yet, that is the answer; what is mistyped is said."""
    job = read_rule(row)
    if job is None or job.scope == "each_worker":
        return
    known = [text for text, _ in series.subjects(job) if text]
    if subject in known:
        return
    names = ", ".join(known[:SUBJECTS_NAMED]) + (", …" if len(known) > SUBJECTS_NAMED else "")
    raise NotFound(
        "no_subject", "do_subjects" if known else "do_no_subjects", name=Told(row.name), subject=Told(subject),
        names=Told(names),
    )  # fmt: skip


def _of_subject(text: str) -> tuple[str, str] | None:
    """Return the job and the subject of ``job[subject]``; no pattern, which would try each of many brackets anew."""
    start = text.find("[", 1)
    if start < 0 or not text.endswith("]") or start + 2 > len(text) - 1:
        return None
    return text[:start], text[start + 1 : -1]


def read_rule(row: JobRow) -> Job | None:
    """Return the rule of a stored job, or None when this version cannot read it."""
    try:
        rule = codec.job_from_text(row.rule)
        times.zone(rule.tz)
    except (ValueError, KeyError, TypeError):
        return None
    return rule


def last_rule(store: Store, row: JobRow) -> Job | None:
    """Return the rule of a stored job, the last one that it had where it was ended; None where it cannot be read."""
    if row.rule:
        return read_rule(row)
    past = [old for old in store.tallies(revisions=[row.name]).revisions if old.name == row.name and old.rule]
    return read_rule(past[-1]) if past else None


def newest(store: Store, name: str, now: Micros, subject: str | None = None) -> Occurrence | None:
    """Return the newest occurrence that has an outcome, runs or is in trouble; else the newest due; else the next."""
    due = store.occurrences(Query(job=name, subject=subject, scheduled_until=now + 1, limit=200))
    for matters in (_has_a_story, _is_no_shadow, _is_any):
        for row in due:
            if matters(row, now):
                return row
    coming = store.occurrences(Query(job=name, subject=subject, scheduled_from=now, oldest_first=True, limit=1))
    return coming[0] if coming else None


def _is_any(_row: Occurrence, _now: Micros) -> bool:
    return True


def _is_no_shadow(row: Occurrence, _now: Micros) -> bool:
    return row.verdict not in NOISE and row.range_until is None


def _has_a_story(row: Occurrence, now: Micros) -> bool:
    """A row that is due this very second is about to be taken up: about it there is nothing to tell yet."""
    if not _is_no_shadow(row, now):
        return False
    if row.code == "worker_gone":  # the end of one worker's own series says nothing about the job
        return False
    outcome = outcome_of(row, now)
    due_at = row.due_at if row.due_at is not None else row.scheduled_for
    return outcome != "planned" and (outcome != "due" or due_at <= now - OVERDUE_AFTER)


def _by_key(store: Store, key: str, name: str | None) -> Occurrence:
    rows = store.occurrences(Query(key=key, job=name, limit=200))
    if not rows:
        raise NotFound("no_key", "do_history_keys", key=key)
    holders = [row for row in rows if row.claimed]
    return max(holders or rows, key=lambda row: (row.generation, row.id))


def _by_time(store: Store, found: Found, asked: Asked, subject: str | None) -> Found:
    query = Query(job=found.name, subject=subject, scheduled_from=asked.start, scheduled_until=asked.end, limit=200)
    rows = store.occurrences(query)
    single = [row for row in rows if row.range_until is None]
    if single:
        best = next((row for row in single if row.verdict not in NOISE), single[0])
        return _dated(store, replace(found, row=best))
    return replace(found, row=rows[0] if rows else None, asked=asked)


def _with_job(store: Store, row: Occurrence) -> Found:
    rows = store.jobs([row.job])
    job_row = rows[0] if rows else None
    job = last_rule(store, job_row) if job_row is not None else None
    return _dated(store, Found(name=row.job, row=row, job_row=job_row, job=job))


def _dated(store: Store, found: Found) -> Found:
    """Use the rule as it was for the row: an edit since must not rewrite the past."""
    row, job_row = found.row, found.job_row
    if row is None or job_row is None or row.revision in (0, job_row.revision):
        return found
    for old in store.tallies(revisions=[row.job]).revisions:
        if old.name == row.job and old.revision == row.revision:
            return replace(found, job=read_rule(old) or found.job)
    return found


def _nothing_recorded(row: JobRow, job: Job | None, now: Micros) -> NotFound:
    """Say what a person can do about a job of which there is no row: wait, ask for it, or see why it was ended."""
    if not row.rule:
        return NotFound("nothing_recorded_ended", "do_show", name=Told(row.name))
    from noonmark.explain.forecast import over_since  # only on the way to an error

    last = over_since(job, max(now, row.effective_at)) if job is not None else ""
    if last:
        return NotFound("nothing_to_come", "do_correct", name=Told(row.name), last=last)
    is_coming = job is None or job.is_series
    return NotFound("nothing_recorded", "do_next" if is_coming else "do_ask", name=Told(row.name))


def _next_day(text: str) -> str:
    return times.to_datetime(times.parse_instant(f"{text}T00:00:00", "UTC") + DAY).date().isoformat()
