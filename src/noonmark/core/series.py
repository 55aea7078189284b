"""Rows from rules: the occurrence that stands for a moment, an event, or somebody's request.

Promise: whoever makes a row for one moment makes the same row (identity, key, gates), so that replicas, catch-up,
activation and ``verify`` agree.  Rule of the file: pure; what a row carries is computed here and nowhere else.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from functools import lru_cache
from itertools import product
from typing import Any

from noonmark.core import keys, times
from noonmark.core.codec import canonical
from noonmark.core.model import Job, Micros, NewOccurrence, OnEvent, Origin
from noonmark.core.moments import Moment as Moment
from noonmark.core.moments import count_between as count_between
from noonmark.core.moments import default_max_delay, moment_at
from noonmark.core.moments import moments_between as moments_between
from noonmark.core.moments import next_moment as next_moment
from noonmark.core.moments import previous_moment as previous_moment
from noonmark.core.params import refuse_missing, text_given

EACH_WORKER = "each_worker"
_CALLS = {Origin.MANUAL: "m", Origin.BACKFILL: "b"}


def subjects(job: Job) -> list[tuple[str, dict[str, str]]]:
    """Return the subjects of a job, text and values: ``("channel=ops", {"channel": "ops"})``.

    Without ``each`` there is one, ``("", {})``.

    Raises:
        ValueError: two subjects with one text, since their rows would be taken for each other.
    """
    return [(text, dict(values)) for text, values in _named(job).items()]


def subject_values(job: Job, subject: str) -> dict[str, str]:
    """Return the values behind a subject's text, empty when the rule does not know it."""
    return dict(_named(job).get(subject, {})) if subject and job.each else {}


def _named(job: Job) -> Mapping[str, Mapping[str, str]]:
    try:
        return _values_of(tuple((name, tuple(values)) for name, values in job.each.items()))
    except LookupError as error:
        raise ValueError(
            f"job {job.name}: two subjects are both called {error.args[0]}; "
            "values of each with a comma are ambiguous here"
        ) from None


@lru_cache(maxsize=8)
def _values_of(each: tuple[tuple[str, tuple[str, ...]], ...]) -> Mapping[str, Mapping[str, str]]:
    """Return the values of each subject by its text; kept, for a moment of ten thousand subjects asks as often."""
    names = [name for name, _ in each]
    found: dict[str, Mapping[str, str]] = {}
    for values in product(*(values for _, values in each)):
        named = dict(zip(names, values, strict=True))
        text = ",".join(f"{name}={value}" for name, value in named.items())
        if found.setdefault(text, named) != named:
            raise LookupError(text)
    return found


def row_for_moment(
    job: Job,
    moment: Moment,
    *,
    revision: int,
    subject: str = "",
    params: Mapping[str, Any] | None = None,
    worker: str = "",
    frontier: bool = True,
) -> NewOccurrence:
    """Return the row of a moment.

    Args:
        revision: of the rule that yields it.
        subject, params: text and values of the subject, as ``subjects`` gives them.
        worker: incarnation, for jobs of scope each_worker.
        frontier: whether its first look adds the successor.
    """
    values = dict(params or {})
    not_before, not_after = _window(job, moment.at, meant=moment.meant)
    max_delay = default_max_delay(job, moment.at)
    return NewOccurrence(
        job=job.name,
        identity=moment.identity,
        key=keys.row_key(
            job,
            business_date=moment.business_date,
            scheduled_for=moment.at,
            subject=subject,
            subject_params=values,
            worker=worker,
        ),
        scheduled_for=moment.at,
        due_at=moment.at,
        subject=subject,
        nominal=moment.nominal,
        business_date=moment.business_date,
        not_before=not_before,
        not_after=not_after,
        expires_at=None if max_delay is None else moment.at + max_delay,
        origin=Origin.SCHEDULE,
        frontier=frontier,
        gated=_gated(job),
        params=_json(values),
        revision=revision,
        worker=worker,
    )


def frontier_rows(job: Job, after: Micros, *, revision: int, worker: str = "") -> tuple[NewOccurrence, ...]:
    """Return one frontier row for each subject: the first moment after the instant, nothing where there is none.

    A job of scope each_worker has one, for the worker given (its incarnation is the subject).
    """
    if job.scope == EACH_WORKER and not worker:
        return ()
    moment = next_moment(job, after)
    if moment is None:
        return ()
    if job.scope == EACH_WORKER:
        return (row_for_moment(job, moment, revision=revision, subject=worker, worker=worker),)
    return tuple(
        row_for_moment(job, moment, revision=revision, subject=subject, params=values)
        for subject, values in subjects(job)
    )


def row_for_event(
    job: Job, *, event_id: str, emitted_at: Micros, payload: Mapping[str, Any], revision: int, subject: str = ""
) -> NewOccurrence:
    """Return the row that an event makes due, ``delay`` after it was emitted; one event id, one row.

    Args:
        event_id: the caller's name of this event, the same in every delivery.
        emitted_at: UTC microseconds.
        payload: the event's fields; they are the run's params, and the key template knows them as ``{event.*}``.

    Raises:
        MissingParamError: a template of the job is made of a field that the payload has not.
    """
    trigger = job.trigger
    if not isinstance(trigger, OnEvent):
        raise ValueError(f"job {job.name} is not triggered by an event")
    scheduled = emitted_at + trigger.delay
    values = subject_values(job, subject)
    business_date = times.business_date(scheduled, job.tz, job.business_date)
    not_before, not_after = _window(job, scheduled)
    bound: keys.Bound = {
        "business_date": business_date,
        "scheduled_for": scheduled,
        "subject": subject,
        "subject_params": values,
        "params": {**{name: value for name, value in payload.items() if name != "id"}, **job.params},
        "event": {"name": trigger.name, **payload, "id": event_id},
    }
    refuse_missing(job, keys.names_of(job, **bound), key=keys.template_of(job), event=True)
    return NewOccurrence(
        job=job.name,
        identity=f"e:{event_id}",
        key=keys.row_key(job, **bound),
        scheduled_for=scheduled,
        due_at=scheduled,
        subject=subject,
        nominal=times.nominal_text(scheduled, job.tz),
        business_date=business_date,
        not_before=not_before,
        not_after=not_after,
        expires_at=_explicit_limit(job, scheduled),
        origin=Origin.EVENT,
        gated=_gated(job),
        claim=True,
        params=_json({**values, **payload}),
        revision=revision,
    )


def row_for_call(
    job: Job,
    *,
    request_id: str,
    due_at: Micros,
    params: Mapping[str, Any],
    key: str | None,
    revision: int,
    now: Micros,
    origin: Origin,
    actor: str = "",
    note: str = "",
    again: bool = False,
    business_date: str | None = None,
    moment: Moment | None = None,
    subject: str = "",
    ignore_window: bool = False,
) -> NewOccurrence:
    """Return the row that somebody asked for: ``later`` and ``at`` (LATER), ``run`` (MANUAL), a filled date (BACKFILL).

    Args:
        request_id: the caller's, once per intention.
        due_at: UTC microseconds; for a backfill the moment it fills, which starts at ``now``.
        key: the key itself; None renders the job's template.
        now: store time, by which MANUAL and BACKFILL meet the window of today.
        business_date: the date the work is about; default that of ``due_at`` by the rule, or of the moment.
        moment: the moment of the schedule that a MANUAL row stands for; it starts at ``due_at`` all the same.
        subject, ignore_window: which of the job's subjects; whether a person overrides the window.

    Raises:
        MissingParamError: a template of the job is made of a param that nobody gives.
    """
    by_person = origin in (Origin.MANUAL, Origin.BACKFILL)
    filled = moment_at(job, due_at) if origin is Origin.BACKFILL else None
    moment = moment or filled or _this_moment(job, due_at)
    date, values = business_date or moment.business_date, subject_values(job, subject)
    call = f"{_CALLS.get(origin, 'l')}:{request_id}"
    start = now if origin is Origin.BACKFILL else due_at
    not_before, not_after = _window_today(job, start, ignored=ignore_window) if by_person else _window(job, due_at)
    return NewOccurrence(
        job=job.name,
        identity=filled.identity if filled else call,
        key=_call_key(job, key, _call_names(job, call, date, moment.at, subject, params), params),
        scheduled_for=moment.at,
        due_at=start,
        subject=subject,
        nominal=moment.nominal,
        business_date=date,
        not_before=not_before,
        not_after=not_after,
        expires_at=None if by_person else _explicit_limit(job, due_at),  # a person asks for it now, however late
        origin=origin,
        gated=_gated(job),
        claim=True,
        again=again,
        params=_json({**values, **params}),
        revision=revision,
        actor=actor,
        note=note,
    )


def _this_moment(job: Job, at: Micros) -> Moment:
    """Return a moment that is nobody's but the caller's."""
    date = times.business_date(at, job.tz, job.business_date)
    return Moment(at=at, identity="", nominal=times.nominal_text(at, job.tz), business_date=date)


def _call_names(
    job: Job, identity: str, date: str, scheduled: Micros, subject: str, params: Mapping[str, Any]
) -> keys.Bound:
    """Return what a call binds; one of an event's job stands for the event, its params for the event's fields."""
    trigger = job.trigger
    return {
        "business_date": date,
        "scheduled_for": scheduled,
        "subject": subject,
        "subject_params": subject_values(job, subject),
        "params": params,
        "event": {"name": trigger.name, **params, "id": identity} if isinstance(trigger, OnEvent) else None,
    }


def _call_key(job: Job, key: str | None, bound: keys.Bound, params: Mapping[str, Any]) -> str:
    """Return the key of a call: its own, else the job's template over what the call knows.

    Without a template of its own a job that is only called is kept apart by its params too: two calls for one moment
    with other params are two things.
    """
    refuse_missing(job, keys.names_of(job, **bound), key=keys.template_of(job) if key is None else None)
    if key is not None:
        return text_given("key", key)
    rendered = keys.row_key(job, **bound)
    if job.key or job.is_series or isinstance(job.trigger, OnEvent) or not params:
        return rendered
    return f"{rendered}:{hashlib.sha256(canonical(params).encode()).hexdigest()[:16]}"


def _gated(job: Job) -> bool:
    """Return True unless windows and limits alone gate a start: those ``take`` compares by itself."""
    return bool(job.depends_on) or not job.guardrails.allow_weekend or job.one_at_a_time or job.lock is not None


def _window(job: Job, scheduled: Micros, *, meant: Micros | None = None) -> tuple[Micros | None, Micros | None]:
    if job.window is None:
        return None, None
    return times.window_bounds(job.window, scheduled, job.tz, meant=meant)


def _window_today(job: Job, start: Micros, *, ignored: bool = False) -> tuple[Micros | None, Micros | None]:
    if ignored and job.window is not None:
        return start, None  # a window of its own, open to the end: none at all would mean today's
    return (None, None) if job.window is None else times.window_of_day(job.window, start, job.tz)


def _explicit_limit(job: Job, scheduled: Micros) -> Micros | None:
    """Rows that a caller adds have a limit only where the rule sets one (docs/semantics.md 6)."""
    return None if job.catch_up.max_delay is None else scheduled + job.catch_up.max_delay


def _json(values: Mapping[str, Any]) -> str:
    return json.dumps(values, ensure_ascii=False, allow_nan=False, separators=(",", ":")) if values else "{}"
