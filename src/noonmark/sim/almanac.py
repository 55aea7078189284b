"""Which moments should exist: an own calendar, by trying every minute.

Promise: independent of ``core``'s cron and of its zone data's reader; slow, and so simple that it can be read.

The rules it keeps (docs/time.md): a fixed local time that does not exist is the end of the gap, once; one that happens
twice is the first.  A cron with a star in its minutes or hours follows real time: every real minute whose local time
matches.  Both day fields set means or.  ``every`` is a grid in real time, ``at`` a list.

Rule of the file: no search is clever; five fields are all it reads.
"""

from __future__ import annotations

from calendar import day_abbr, month_abbr
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from itertools import pairwise
from zoneinfo import ZoneInfo

from noonmark.core.model import DAY, HOUR, MINUTE, SECOND, At, Cron, Every, Job, Micros, Window

_BOUNDS = ((0, 59), (0, 23), (1, 31), (1, 12), (0, 7))
_NAMES: tuple[dict[str, int], ...] = (
    {},
    {},
    {},
    {name.upper(): place for place, name in enumerate(month_abbr)},
    {name.upper(): (place + 1) % 7 for place, name in enumerate(day_abbr)},
)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def moments(job: Job, after: Micros, until: Micros) -> list[Micros]:
    """Return the moments with ``after < moment <= until`` (UTC microseconds) that a rule yields."""
    trigger = job.trigger
    if isinstance(trigger, Every):
        first = after - (after - trigger.anchor) % trigger.period + trigger.period
        return list(range(first, until + 1, trigger.period))
    if isinstance(trigger, At):
        listed = {_instant(text, trigger.tz) for text in trigger.moments}
        return sorted(moment for moment in listed if after < moment <= until)
    if isinstance(trigger, Cron):
        first = after - after % MINUTE + MINUTE
        return [minute for minute in range(first, until + 1, MINUTE) if _is_due(trigger.expression, trigger.tz, minute)]
    return []


def is_moment(job: Job, at: Micros) -> bool:
    """Return True when the rule yields a moment at exactly this instant."""
    return bool(moments(job, at - 1, at))


def limit(job: Job) -> Micros | None:
    """Return how late a first start of a scheduled moment may be, None = as late as its window lets it be."""
    if job.catch_up.max_delay is not None:
        return job.catch_up.max_delay
    if job.window is not None or isinstance(job.trigger, At) or not job.is_series:
        return None
    return min(max(_shortest_gap(job), MINUTE), HOUR)


def business_date(job: Job, at: Micros) -> str:
    """Return the date that a moment is about."""
    day = _local(at, job.tz).date() - timedelta(days=job.business_date == "previous_day")
    return day.isoformat()


def is_weekend(at: Micros, zone: str) -> bool:
    """Return True on a local Saturday or Sunday."""
    return _local(at, zone).weekday() >= 5


def is_open(window: Window, at: Micros, zone: str) -> bool:
    """Return True when the wall clock of the zone is inside the window."""
    if window.start is None or window.end is None:
        return True
    shown = f"{_local(at, zone):%H:%M:%S}"
    start, end = (text if len(text) == 8 else f"{text}:00" for text in (window.start, window.end))
    return start <= shown < end if start < end else shown >= start or shown < end


def is_repeated(at: Micros, zone: str) -> bool:
    """Return True in an hour that the clock shows for the second time."""
    return _local(at, zone).fold == 1


def closes(window: Window, scheduled: Micros, zone: str) -> Micros:
    """Return the instant at which the window of a scheduled moment has closed, to the minute."""
    at = scheduled
    while not is_open(window, at, zone):
        at += MINUTE - at % MINUTE
    while is_open(window, at, zone) and at < scheduled + 2 * DAY:
        at += MINUTE - at % MINUTE
    return at


# --- minutes -------------------------------------------------------------------------------------------


@lru_cache(maxsize=200_000)
def _is_due(expression: str, zone: str, minute: Micros) -> bool:
    fields = expression.split()
    now = _local(minute, zone)
    if any(field.startswith("*") for field in fields[:2]):
        return _fits(expression, now)
    skipped = _skipped(minute, zone)
    if any(_fits(expression, moment) for moment in skipped):
        return True
    return now.fold == 0 and _fits(expression, now)


def _skipped(minute: Micros, zone: str) -> Iterator[datetime]:
    """Yield the local minutes that the clock jumped over to show this one."""
    now, before = (_local(moment, zone).replace(tzinfo=None) for moment in (minute, minute - MINUTE))
    shown = before + timedelta(minutes=1)
    while shown < now:
        yield shown
        shown += timedelta(minutes=1)


def _fits(expression: str, at: datetime) -> bool:
    minute, hour, day, month, weekday = _read(expression)
    if at.minute not in minute or at.hour not in hour or at.month not in month:
        return False
    by_day, by_weekday = at.day in day, at.isoweekday() % 7 in weekday
    fields = expression.split()
    if fields[2].startswith("*") or fields[4].startswith("*"):
        return by_day and by_weekday
    return by_day or by_weekday


@lru_cache(maxsize=256)
def _read(expression: str) -> tuple[frozenset[int], ...]:
    read = [_field(text, *bounds, names) for text, bounds, names in zip(
        expression.split(), _BOUNDS, _NAMES, strict=True
    )]  # fmt: skip
    read[4] = frozenset(day % 7 for day in read[4])
    return tuple(read)


def _field(text: str, low: int, high: int, names: dict[str, int]) -> frozenset[int]:
    found: set[int] = set()
    for part in text.upper().split(","):
        span, _, step = part.partition("/")
        if span == "*":
            first, last = low, min(high, 6) if high == 7 else high
        else:
            first_text, dash, last_text = span.partition("-")
            first = _number(first_text, names)
            last = _number(last_text, names) if dash else (high if step else first)
        found.update(range(first, last + 1, int(step or 1)))
    return frozenset(found)


def _number(text: str, names: dict[str, int]) -> int:
    return names[text] if text in names else int(text)


# --- instants ------------------------------------------------------------------------------------------


@lru_cache(maxsize=20_000)
def _local(at: Micros, zone: str) -> datetime:
    return (_EPOCH + timedelta(microseconds=at)).astimezone(_zone(zone))


@lru_cache(maxsize=64)
def _zone(name: str) -> ZoneInfo:
    return ZoneInfo(name)


def _instant(text: str, zone: str) -> Micros:
    named = datetime.fromisoformat(text)
    if named.tzinfo is not None:
        return _micros(named)
    local = named.replace(tzinfo=_zone(zone))  # fold 0: the first of two
    at = _micros(local)
    if _local(at, zone).replace(tzinfo=None) == named:
        return at
    minute = at - DAY - at % MINUTE  # it does not exist: the end of the gap that it lies in
    while named not in list(_skipped(minute, zone)):
        minute += MINUTE
    return minute


def _micros(at: datetime) -> Micros:
    return (at - _EPOCH) // timedelta(microseconds=1)


@lru_cache(maxsize=256)
def _gap_of(expression: str) -> Micros:
    """The shortest distance between two times of a cron, on a plain fortnight of UTC."""
    begins = 1_767_225_600 * SECOND  # Thu 2026-01-01
    due = [begins + n * MINUTE for n in range(14 * 1440) if _fits(expression, _local(begins + n * MINUTE, "UTC"))]
    return min((later - earlier for earlier, later in pairwise(due)), default=DAY)


def _shortest_gap(job: Job) -> Micros:
    trigger = job.trigger
    if isinstance(trigger, Every):
        return trigger.period
    assert isinstance(trigger, Cron)
    return _gap_of(trigger.expression)
