"""Instants and local time: what a wall clock shows, what it means, and how both are written.

Promise: every conversion between UTC microseconds and local time is exact through gaps and folds.  A local time that
does not exist means the end of its gap; one that happens twice means the first.  Rule of the file: arithmetic happens
on UTC microseconds; aware datetimes are made only to be shown.
"""

from __future__ import annotations

import re
from datetime import date, datetime, timedelta
from functools import lru_cache

from noonmark.core.model import DAY, HOUR, MINUTE, SECOND, Micros, Window
from noonmark.core.zones import EPOCH, EPOCH_DATE, local_micros, resolve_wall, stretches_from
from noonmark.core.zones import tzdata_version as tzdata_version
from noonmark.core.zones import zone as zone

_DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_CLOCK = re.compile(r"([01][0-9]|2[0-3]):([0-5][0-9])(?::([0-5][0-9]))?")


def to_datetime(us: Micros) -> datetime:
    """Return an instant as an aware UTC datetime.

    Raises:
        ValueError: outside the years 1 to 9999.
    """
    try:
        return EPOCH + timedelta(microseconds=us)
    except OverflowError:
        raise ValueError(f"{us} microseconds are outside the years 1 to 9999") from None


def from_datetime(moment: datetime) -> Micros:
    """Return an aware datetime as UTC microseconds; a naive one is refused, since nobody can say which instant it is.

    Raises:
        ValueError: naive datetime.
    """
    if moment.utcoffset() is None:
        raise ValueError(
            f"{moment.isoformat()} has no time zone, so it names no instant; "
            "pass an aware datetime, for example with tzinfo=ZoneInfo('Asia/Shanghai')"
        )
    return (moment - EPOCH) // timedelta(microseconds=1)


def instant_of(when: datetime | str) -> Micros:
    """Return an aware datetime, or an ISO text with Z, an offset or a zone behind it, as UTC microseconds.

    Raises:
        ValueError: no moment, or one whose zone nobody can tell.
    """
    if isinstance(when, datetime):
        return from_datetime(when)
    if isinstance(when, str):
        return parse_instant(when, None)
    raise ValueError(f'{when!r} is no moment; pass an aware datetime or a text such as "2026-12-01T09:00:00+08:00"')


_FIRST_TOLD: Micros = -62_135_510_400_000_000  # 2 January of the year 1, so that no zone pushes it out of the calendar
_LAST_TOLD: Micros = 253_402_214_400_000_000  # 31 December 9999, likewise


def told(us: Micros) -> Micros:
    """Return an instant that can be told in every zone: one outside the calendar is drawn to its end.

    Only for showing; a stored instant may be damaged, and a list must not end because of it.
    """
    return min(max(us, _FIRST_TOLD), _LAST_TOLD)


# --- local time ----------------------------------------------------------------------------------------


def local(us: Micros, tz: str) -> datetime:
    """Return an instant as an aware datetime in the zone, its fold set.

    Raises:
        ValueError: unknown zone, or outside the years 1 to 9999.
    """
    try:
        return to_datetime(us).astimezone(zone(tz))
    except OverflowError:
        raise ValueError(f"{us} microseconds are outside the years 1 to 9999 in {tz}") from None


def resolve_local(naive: datetime, tz: str) -> Micros:
    """Return the instant of a local time: the end of the gap where it does not exist, the first one where it is twice.

    Raises:
        ValueError: aware datetime, or outside the years 1 to 9999.
    """
    if naive.tzinfo is not None:
        raise ValueError(f"{naive.isoformat()} has a zone already; a local time has none")
    return resolve_wall(local_micros(naive), tz)


def fold_of(us: Micros, tz: str) -> int:
    """Return 1 when the local time of the instant has been there before (the repeated hour), else 0."""
    return local(us, tz).fold


def local_date(us: Micros, tz: str) -> str:
    """Return the local date, ``2026-11-28``."""
    return local(us, tz).date().isoformat()


def business_date(us: Micros, tz: str, rule: str) -> str:
    """Return the date the work of this moment is about.

    Args:
        us: the scheduled time, UTC microseconds.
        tz: the job's zone.
        rule: ``same`` (the local date) or ``previous_day``.
    """
    return business_date_of(local(us, tz).date(), rule)


def business_date_of(day: date, rule: str) -> str:
    """Return the business date for a local date.

    Raises:
        ValueError: unknown rule.
    """
    if rule == "same":
        return day.isoformat()
    if rule == "previous_day":
        return (day - timedelta(days=1)).isoformat()
    raise ValueError(f'business_date "{rule}" is unknown; write same or previous_day')


def is_weekend(us: Micros, tz: str) -> bool:
    """Return True on a local Saturday or Sunday."""
    return local(us, tz).weekday() >= 5


def weekday_name(us: Micros, tz: str) -> str:
    """Return the local weekday, ``Sat``."""
    return _DAYS[local(us, tz).weekday()]


def next_weekday(us: Micros, tz: str) -> Micros:
    """Return the start (00:00 local, or the end of the gap there) of the next local Monday-to-Friday day."""
    day = local(us, tz).date() + timedelta(days=1)
    while day.weekday() >= 5:
        day += timedelta(days=1)
    return start_of_day(day, tz)


def start_of_day(day: date, tz: str) -> Micros:
    """Return the instant at which a local date begins."""
    return resolve_wall((day - EPOCH_DATE).days * DAY, tz)


# --- windows -----------------------------------------------------------------------------------------------


def check_window(window: Window) -> list[str]:
    """Return why this window must be refused; an empty list means it is sound."""
    if window.length is not None:
        problems = []
        if window.start is not None or window.end is not None:
            problems.append("a window has either start and end, or a length; drop one of them")
        if window.length <= 0:
            problems.append('window length must be longer than nothing, for example "2h"')
        if window.crosses_midnight:
            problems.append("crosses_midnight belongs to start and end; a length runs across midnight by itself")
        return problems
    if window.start is None or window.end is None:
        return ['a window needs start and end ("09:00" and "12:00"), or a length ("2h")']
    problems = [
        f'window {name} "{text[:20]}" is no time of day; write it as "HH:MM" or "HH:MM:SS"'
        for name, text in (("start", window.start), ("end", window.end))
        if _clock(text) is None or (name == "start" and text.startswith("24"))
    ]
    if problems:
        return problems
    start, end = _clock(window.start) or 0, _clock(window.end) or 0
    if start == end:
        return [
            f'window end "{window.end}" equals its start, so it is never open; for the whole day leave the window out'
        ]
    if end < start and not window.crosses_midnight:
        problem = (
            f'window end "{window.end}" is before its start "{window.start}"; '
            "a window may cross midnight only with crosses_midnight: true"
        )
        return [problem]
    if start < end and window.crosses_midnight:
        return [f'window "{window.start}"-"{window.end}" does not cross midnight; drop crosses_midnight']
    return []


def window_bounds(
    window: Window, scheduled: Micros, tz: str, *, meant: Micros | None = None
) -> tuple[Micros | None, Micros | None]:
    """Return the instance of the window for a moment: the one that contains it, else the next one that opens after it.

    Args:
        window: a sound window (see ``check_window``).
        scheduled: the moment, UTC microseconds.
        tz: the zone its times are read in.
        meant: wall-clock time the rule meant, where a gap moved the moment; it keeps what was left of its window then,
            since a window that lies in the gap as well would otherwise send the day's run to the next day.

    Returns:
        ``(not_before, not_after)``, UTC microseconds, the end exclusive.

    Raises:
        ValueError: the window is not sound.
    """
    if window.length is not None:
        return scheduled, scheduled + window.length
    start, end = _span(window)
    shown = local_micros(local(scheduled, tz).replace(tzinfo=None))
    today = (shown if meant is None else meant) // DAY
    following: tuple[Micros, Micros] | None = None
    for day in range(today - 1, today + 8):
        if following is not None and day > today:
            break  # only where an hour is repeated may yesterday's instance open again after today's has
        low, high = day * DAY + start, day * DAY + end
        for opens, closes in _openings(low, high, tz):
            if opens <= scheduled < closes:
                return opens, closes
            if scheduled < closes and not (meant is not None and low <= meant < high):
                following = min(following or (opens, closes), (opens, closes))
        if meant is not None and low <= meant < high:
            return scheduled, scheduled + high - meant
    if following is not None:
        return following
    raise ValueError(
        f"the window {window.start}-{window.end} does not open within a week of {nominal_text(scheduled, tz)}"
    )


def window_of_day(window: Window, us: Micros, tz: str) -> tuple[Micros | None, Micros | None]:
    """Return today's instance of the window: the one that contains the instant, else the local date's, even closed."""
    bounds = window_bounds(window, us, tz)
    if window.length is not None or (bounds[0] is not None and bounds[0] <= us):
        return bounds
    midnight = local_micros(local(us, tz).replace(tzinfo=None)) // DAY * DAY
    start, end = _span(window)
    today = _openings(midnight + start, midnight + end, tz)
    return today[-1] if today else bounds


@lru_cache(maxsize=1024)
def _span(window: Window) -> tuple[Micros, Micros]:
    """Return start and end in microseconds after midnight, the end a day later where the window crosses it."""
    problems = check_window(window)
    if problems:
        raise ValueError(problems[0])
    start, end = _clock(window.start or "") or 0, _clock(window.end or "") or 0
    return start, end + DAY if end < start else end


def _openings(low: Micros, high: Micros, tz: str) -> list[tuple[Micros, Micros]]:
    """Return the spans of real time in which the wall clock is in ``[low, high)``, as one date's window.

    A window that the repeated hour interrupts, or that would end where it begins, stays open through it; one that was over
    before opens a second time.
    """
    found: list[tuple[Micros, Micros]] = []
    interrupted = False
    for stretch in stretches_from(low - 2 * DAY, tz):
        if stretch.start + min(stretch.offset, stretch.before) >= high:
            break
        first, last = max(low, stretch.start + stretch.offset), min(high, stretch.end + stretch.offset)
        if first >= last:
            continue
        opens, closes = first - stretch.offset, last - stretch.offset
        if interrupted or (found and found[-1][1] == opens):
            opens = found.pop()[0]
        found.append((opens, closes))
        interrupted = last < high
    return found


def _clock(text: str) -> Micros | None:
    """Return a time of day in microseconds after midnight; ``24:00`` is the end of the day."""
    if text in ("24:00", "24:00:00"):
        return DAY
    match = _CLOCK.fullmatch(text)
    if match is None:
        return None
    return int(match.group(1)) * HOUR + int(match.group(2)) * MINUTE + int(match.group(3) or 0) * SECOND


# --- words -----------------------------------------------------------------------------------------------


def nominal_text(us: Micros, tz: str) -> str:
    """Return the local time with its zone, ``2026-11-28T09:00:00 Asia/Shanghai``."""
    return f"{local(us, tz).replace(tzinfo=None, fold=0).isoformat()} {tz}"


def clock_text(us: Micros, tz: str) -> str:
    """Return the local time of day, ``18:30``, with seconds only where there are some."""
    moment = local(us, tz)
    return f"{moment:%H:%M:%S}" if moment.second else f"{moment:%H:%M}"


def stamp_text(us: Micros, tz: str) -> str:
    """Return the local time in full, ``Sat 28 Nov 2026 18:30:00``, in English whatever the host's locale."""
    moment = local(us, tz)
    return f"{_DAYS[moment.weekday()]} {moment.day} {_MONTHS[moment.month - 1]} {moment.year} {moment:%H:%M:%S}"


def offset_text(us: Micros, tz: str) -> str:
    """Return how far the local time is from UTC, ``+08:00``; to the second where a zone of old was so exact."""
    return local(us, tz).isoformat(timespec="microseconds")[len("2026-11-28T18:30:00.000000") :]


def length_text(us: Micros) -> str:
    """Return a length for people, at most two units: ``42 min``, ``1 h 30 min``, ``9.7 s``, ``250 ms``."""
    if us < 0:
        return f"-{length_text(-us)}"
    if us < SECOND:
        return f"{us // 1000} ms" if us >= 1000 or us == 0 else f"{us} µs"
    if us < MINUTE:
        tenths = us // (SECOND // 10)
        return f"{tenths // 10} s" if tenths % 10 == 0 or tenths >= 100 else f"{tenths // 10}.{tenths % 10} s"
    for size, unit, small, part in ((DAY, "d", HOUR, "h"), (HOUR, "h", MINUTE, "min"), (MINUTE, "min", SECOND, "s")):
        if us >= size:
            rest = us % size // small
            return f"{us // size} {unit} {rest} {part}" if rest else f"{us // size} {unit}"
    raise AssertionError("a minute or more was told above")


def parse_instant(text: str, tz: str | None) -> Micros:
    """Read ISO text as an instant; without offset it is local time in ``tz``.

    The zone may be written behind the time as well: ``2026-11-28T09:00:00 Asia/Shanghai``.

    Raises:
        ValueError: unreadable, a date without time, or a local time and no zone to read it in.
    """
    moment, named = _read(text)
    if moment.utcoffset() is not None:
        return from_datetime(moment)
    if not (named or tz):
        raise ValueError(f'"{text[:60]}" has no zone, so it names no instant; add Z, an offset or a tz')
    return resolve_local(moment, named or tz or "")


def local_text(text: str, tz: str) -> datetime | None:
    """Return the local time in ``tz`` that ISO text names, naive; None where it names an instant or another zone."""
    moment, named = _read(text)
    return None if moment.utcoffset() is not None or named not in ("", tz) else moment


def _read(text: str) -> tuple[datetime, str]:
    """Return the datetime of ISO text, aware if it has an offset, and the zone written behind it."""
    shown, named = text[:60], ""
    body, _, last = text.strip().rpartition(" ")
    if body and re.fullmatch(r"[A-Za-z_]+(/[A-Za-z0-9_+\-]+)*", last):
        text, named = body, last
    text = text.strip()
    if re.fullmatch(r"[0-9-]+", text) and _is_date(text):
        raise ValueError(f'"{shown}" has no time of day; write it as {shown}T09:00:00')
    try:
        moment = datetime.fromisoformat(text)
    except ValueError as error:
        raise ValueError(f'"{shown}" is no ISO time ({error}); write it like 2026-12-01T09:00:00') from None
    return moment, named


def _is_date(text: str) -> bool:
    try:
        date.fromisoformat(text)
    except ValueError:
        return False
    return True
