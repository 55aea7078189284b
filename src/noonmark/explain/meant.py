"""Which moment of the schedule does a person mean who writes a date or a time, and how is a moment written for them?

Rule of the file: pure; a time is read in the job's zone unless the person reads times in another, then a moment is
written with its offset; what the rule does not yield, or not yet, is refused with what is near.
"""

from __future__ import annotations

import re
from datetime import date, timedelta

from noonmark.core import keys, series, times
from noonmark.core.model import FAR, MINUTE, SECOND, Job, Micros
from noonmark.core.moments import Moment, moment_at
from noonmark.core.values import dataclass
from noonmark.explain.find import parse_at

NAMED = 3
"""So many of several moments are named."""


class NotMeant(LookupError):
    """The rule does not yield what was asked for.

    ``name``: bad_for, no_moments, no_such_moment, moment_to_come or several_moments, with ``args`` for its words.
    """

    def __init__(self, name: str, /, **args: object) -> None:
        super().__init__(name)
        self.name = name
        self.args_told = args


@dataclass(frozen=True, slots=True, kw_only=True)
class Meant:
    """A business date, and the moment it is about; None where the rule yields no single one."""

    business_date: str | None = None  # None: that of the moment at which it is asked for
    moment: Moment | None = None


def meant(job: Job, text: str, now: Micros, zone: str = "") -> Meant:
    """Return what a date or a time stands for.

    Args:
        job: the rule in force.
        text: ``2026-11-28`` or ``2026-11-28T18:30``, with or without seconds and offset.
        now: store time, UTC microseconds.
        zone: in which a time without offset is read; the job's own when left out.

    Raises:
        NotMeant: it is neither a date nor a time, or the rule yields no single moment that is over there.
    """
    day = _day(text)
    if day is not None:
        return _of_day(job, day, now, zone)
    try:
        asked = parse_at(text, zone or job.tz)
    except ValueError:
        raise NotMeant("bad_for", text=text[:100]) from None
    if not job.is_series:
        raise NotMeant("no_moments", job=job.name)
    found = series.moments_between(job, asked.start - 1, asked.end - 1, limit=NAMED + 1)
    if not found:
        raise _not_there(job, text, asked.start, zone)
    if len(found) > 1:
        raise NotMeant("several_moments", job=job.name, text=text, **_named(job, found, zone))
    if found[0].at > now:
        raise NotMeant("moment_to_come", job=job.name, at=moment_text(job, found[0].at, zone))
    return Meant(business_date=found[0].business_date, moment=found[0])


def for_text(job: Job | None, scheduled_for: Micros, business_date: str, zone: str | None = "") -> str:
    """Return what a person writes after ``--for`` to mean this moment again: its date if that is enough.

    "" where the row says no moment at all, because somebody wrote into the store.  ``zone`` as in ``moment_text``.
    """
    try:
        if job is None or not job.is_series or moment_at(job, scheduled_for) is None:
            return business_date
        day = _day(business_date)
        if day is not None and (len(_moments_of(job, day, FAR)) == 1 or not _tells_moments_apart(job)):
            return business_date
        return moment_text(job, scheduled_for, zone)
    except (NotMeant, ValueError, OverflowError):
        return ""


def moment_text(job: Job, at: Micros, zone: str | None = "") -> str:
    """Return an instant as a person may write it for this job: local, with an offset where it would mean another.

    Args:
        job: whose local time it is.
        at: UTC microseconds.
        zone: in which the person's times are read; "" = the job's own, None = nobody knows, so with its offset.
    """
    shown = times.local(at, job.tz)
    text = shown.replace(tzinfo=None).isoformat(timespec="seconds" if at % MINUTE else "minutes")
    if zone is not None and at % SECOND == 0 and times.parse_instant(text, zone or job.tz) == at:
        return text
    return shown.isoformat(timespec="auto" if at % MINUTE else "minutes")


def _day(text: str) -> date | None:
    if re.fullmatch(r"\d{4}-\d\d-\d\d", text) is None:
        return None
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise NotMeant("bad_for", text=text) from None


def _of_day(job: Job, day: date, now: Micros, zone: str) -> Meant:
    found = _moments_of(job, day, now)
    if len(found) > 1 and _tells_moments_apart(job):
        raise NotMeant("several_moments", job=job.name, text=day.isoformat(), **_named(job, found, zone))
    # A run of today may be asked for before its moment; one of a later date would take that date's key from its moment.
    if not found and day.isoformat() > times.business_date(now, job.tz, job.business_date):
        to_come = _moments_of(job, day, FAR)
        if to_come:
            raise NotMeant("moment_to_come", job=job.name, at=moment_text(job, to_come[0].at, zone))
    return Meant(business_date=day.isoformat(), moment=found[0] if len(found) == 1 else None)


def _moments_of(job: Job, day: date, until: Micros) -> list[Moment]:
    """Return the first moments whose work is about a day."""
    if not job.is_series:
        return []
    try:
        first = day + timedelta(days=1 if job.business_date == "previous_day" else 0)
        start, end = (times.start_of_day(each, job.tz) for each in (first, first + timedelta(days=1)))
    except (OverflowError, ValueError):  # the calendar ends there
        return []
    found = series.moments_between(job, start - 1, min(end - 1, until), limit=NAMED + 1)
    return [moment for moment in found if moment.business_date == day.isoformat()]


def _tells_moments_apart(job: Job) -> bool:
    """True where two moments of one date have two keys."""
    return bool(set(keys.names_in(keys.template_of(job))) & {"scheduled_for", "occurrence"})


def _named(job: Job, moments: list[Moment], zone: str) -> dict[str, str]:
    texts = [moment_text(job, moment.at, zone) for moment in moments[:NAMED]]
    return {"moments": ", ".join([*texts, "…"] if len(moments) > NAMED else texts), "first": texts[0]}


def _not_there(job: Job, text: str, at: Micros, zone: str) -> NotMeant:
    near = (series.previous_moment(job, at), series.next_moment(job, at))
    return NotMeant(
        "no_such_moment",
        job=job.name,
        text=text,
        near=", ".join(moment_text(job, moment.at, zone) for moment in near if moment is not None) or "-",
    )
