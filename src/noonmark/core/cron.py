"""Cron rules: which instants an expression means in a zone.

Promise: ``next_after``, ``previous_before`` and ``matches`` tell one story, answers strictly increase, and every search
is bounded.  cronsim reads the fields and judges days (it agrees with Vixie cron on every expression tried); the walk
through the day and through changes of offset is ours, so that all zones, also those that shift by half an hour, obey
one rule.

The rule of the file, as in Vixie cron: an expression whose second, minute and hour fields do not begin with ``*`` names
*fixed local times*: one in a gap runs at the end of the gap, one that happens twice runs the first time.  Every other
expression is *interval-like* and matches whatever the clock shows in real time, the repeated hour included.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator
from datetime import date, datetime
from functools import lru_cache

from cronsim import CronSim, CronSimError

from noonmark.core import cronfields, cronreading, zones
from noonmark.core.cronfields import CronError as CronError
from noonmark.core.model import DAY, HOUR, MINUTE, SECOND, Micros
from noonmark.core.values import dataclass
from noonmark.core.zones import Stretch

YEARS_AHEAD = 50
"""A search gives up after this many years; the rarest possible date (a leap day on one weekday) comes within 40."""

_EPOCH_ORDINAL = date(1970, 1, 1).toordinal()
_DAY_SECONDS = 86_400


@dataclass(frozen=True, slots=True)
class CronRule:
    """An expression in a zone, ready to be asked.  Compare and hash by identity of ``parse_cron``'s answer."""

    normalised: str
    tz: str
    is_fixed_time: bool
    reading: tuple[str, ...]
    """Warnings about the text alone."""
    shortest_gap: Micros
    """Smallest distance of two moments by the clock, microseconds, at most one day."""
    months: frozenset[int]
    hours: tuple[int, ...]
    minutes: tuple[int, ...]
    seconds: tuple[int, ...]
    day_matches: Callable[[date], bool]

    @property
    def warnings(self) -> tuple[str, ...]:
        """What is legal but often not meant, the dates without a run in this zone's gaps among it."""
        return (*self.reading, *_silence(self))

    def next_after(self, us: Micros) -> Micros | None:
        """Return the first moment strictly after the instant, None when there is none within ``YEARS_AHEAD``."""
        for stretch in zones.stretches_from(us, self.tz):
            if stretch.start - us > YEARS_AHEAD * 366 * DAY:
                return None
            low, high = self._span(stretch)
            wall = self._first(low if us < stretch.start else max(low, us + stretch.offset + 1), high)
            if wall is not None:
                return max(stretch.start, wall - stretch.offset)
        return None

    def previous_before(self, us: Micros) -> Micros | None:
        """Return the last moment strictly before the instant, None when there is none within ``YEARS_AHEAD``."""
        for stretch in zones.stretches_back(us - 1, self.tz):
            if us - stretch.end > YEARS_AHEAD * 366 * DAY:
                return None
            low, high = self._span(stretch)
            wall = self._last(low, min(high, us + stretch.offset))
            if wall is not None:
                return max(stretch.start, wall - stretch.offset)
        return None

    def matches(self, us: Micros) -> bool:
        """Return True when the instant is a moment of this rule."""
        return self.wall_of(us) is not None

    def wall_of(self, us: Micros) -> Micros | None:
        """Return the wall-clock time (``zones.local_micros``) that the rule meant by this moment, None if it is none.

        It differs from the clock's own only at the end of a gap: there it is the time that was jumped over, unless the
        time at the end of the gap is meant as well.
        """
        if not zones.EARLIEST <= us < zones.LATEST:
            return None
        stretch = zones.stretch_at(us, self.tz)
        low, high = self._span(stretch)
        shown = us + stretch.offset
        if low <= shown < high and self._first(shown, shown + 1) is not None:
            return shown
        return self._first(low, shown) if us == stretch.start else None

    def silent_dates(self, after: Micros, until: Micros) -> tuple[str, ...]:
        """Return the local dates on which the rule has times but none of them exists, so that nothing runs.

        Args:
            after: exclusive, UTC microseconds.
            until: inclusive; at most ``YEARS_AHEAD`` are looked at.
        """
        if self.is_fixed_time:
            return ()
        found: list[str] = []
        for stretch in zones.stretches_from(after, self.tz):
            if stretch.start > min(until, after + YEARS_AHEAD * 366 * DAY):
                break
            if stretch.start <= after or stretch.offset <= stretch.before:
                continue
            gap_start, gap_end = stretch.start + stretch.before, stretch.start + stretch.offset
            for day in range(gap_start // DAY, (gap_end - 1) // DAY + 1):
                midnight = day * DAY
                lost = self._first(max(gap_start, midnight), min(gap_end, midnight + DAY))
                kept = self._first(midnight, gap_start), self._first(gap_end, midnight + DAY)
                if lost is not None and kept == (None, None):
                    found.append(zones.naive_local(midnight).date().isoformat())
        return tuple(found)

    def _span(self, stretch: Stretch) -> tuple[Micros, Micros]:
        """Return the wall-clock span, start included, whose matches fall into the stretch."""
        # Fixed times are met once: what the clock shows again is left out, what it jumped over is let in.
        return stretch.start + (stretch.before if self.is_fixed_time else stretch.offset), stretch.end + stretch.offset

    def _first(self, low: Micros, high: Micros) -> Micros | None:
        """Return the first matching wall-clock time in ``[low, high)``."""
        day, second = divmod(-(-low // SECOND), _DAY_SECONDS)
        stop = -(-high // SECOND)  # exclusive, whole seconds
        if day * _DAY_SECONDS + second >= stop:
            return None
        if self._day(day):
            found = self._time_from(second)
            if found is not None:
                wall = day * _DAY_SECONDS + found
                return wall * SECOND if wall < stop else None
        for following in self._days_from(day + 1, stop):
            wall = following * _DAY_SECONDS + (self.hours[0] * 60 + self.minutes[0]) * 60 + self.seconds[0]
            return wall * SECOND if wall < stop else None
        return None

    def _last(self, low: Micros, high: Micros) -> Micros | None:
        """Return the last matching wall-clock time in ``[low, high)``."""
        least = -(-low // SECOND)
        day, second = divmod(-(-high // SECOND) - 1, _DAY_SECONDS)
        if day * _DAY_SECONDS + second < least:
            return None
        if self._day(day):
            found = self._time_until(second)
            if found is not None:
                wall = day * _DAY_SECONDS + found
                return wall * SECOND if wall >= least else None
        for earlier in self._days_back(day - 1, least):
            wall = earlier * _DAY_SECONDS + (self.hours[-1] * 60 + self.minutes[-1]) * 60 + self.seconds[-1]
            return wall * SECOND if wall >= least else None
        return None

    def _day(self, day: int) -> bool:
        at = date.fromordinal(day + _EPOCH_ORDINAL)
        return at.month in self.months and self.day_matches(at)

    def _days_from(self, day: int, stop: int) -> Iterator[int]:
        while day * _DAY_SECONDS < stop:
            at = date.fromordinal(day + _EPOCH_ORDINAL)
            if at.month not in self.months:
                at = at.replace(year=at.year + at.month // 12, month=at.month % 12 + 1, day=1)
                day = at.toordinal() - _EPOCH_ORDINAL
                continue
            if self.day_matches(at):
                yield day
            day += 1

    def _days_back(self, day: int, least: int) -> Iterator[int]:
        while (day + 1) * _DAY_SECONDS > least:
            at = date.fromordinal(day + _EPOCH_ORDINAL)
            if at.month not in self.months:
                day -= at.day
                continue
            if self.day_matches(at):
                yield day
            day -= 1

    def _time_from(self, second: int) -> int | None:
        """Return the first matching second of the day that is ``second`` or later."""
        hour, rest = divmod(second, 3600)
        minute, rest = divmod(rest, 60)
        at = bisect_left(self.hours, hour)
        if at == len(self.hours):
            return None
        if self.hours[at] == hour:
            of_minute = bisect_left(self.minutes, minute)
            if of_minute < len(self.minutes) and self.minutes[of_minute] == minute:
                of_second = bisect_left(self.seconds, rest)
                if of_second < len(self.seconds):
                    return second - rest + self.seconds[of_second]
                of_minute += 1
            if of_minute < len(self.minutes):
                return (hour * 60 + self.minutes[of_minute]) * 60 + self.seconds[0]
            at += 1
        return (self.hours[at] * 60 + self.minutes[0]) * 60 + self.seconds[0] if at < len(self.hours) else None

    def _time_until(self, second: int) -> int | None:
        """Return the last matching second of the day that is ``second`` or earlier."""
        hour, rest = divmod(second, 3600)
        minute, rest = divmod(rest, 60)
        at = bisect_right(self.hours, hour) - 1
        if at < 0:
            return None
        if self.hours[at] == hour:
            of_minute = bisect_right(self.minutes, minute) - 1
            if of_minute >= 0 and self.minutes[of_minute] == minute:
                of_second = bisect_right(self.seconds, rest) - 1
                if of_second >= 0:
                    return second - rest + self.seconds[of_second]
                of_minute -= 1
            if of_minute >= 0:
                return (hour * 60 + self.minutes[of_minute]) * 60 + self.seconds[-1]
            at -= 1
        return (self.hours[at] * 60 + self.minutes[-1]) * 60 + self.seconds[-1] if at >= 0 else None


@lru_cache(maxsize=16_384)
def parse_cron(expression: str, tz: str) -> CronRule:
    """Read an expression of 5 fields, or 6 with seconds first, or an alias such as ``@daily``.

    Args:
        expression: Vixie cron (0 and 7 are Sunday; both day fields set mean OR), also ``L``, ``LW``, ``5L``, ``MON#1``, and
            ``?`` for ``*`` in a day field.
        tz: IANA name of the zone the fields are read in.

    Raises:
        CronError: unreadable, out of range, or a date that never comes.
        ValueError: unknown zone.
    """
    zones.zone(tz)
    fields = cronfields.split(expression)
    try:
        # Six fields, so that cronsim leaves gaps and folds alone; they are dealt with here.
        plain = " ".join(cronfields.plain(index, field) for index, field in enumerate(fields))
        reader = CronSim(plain, datetime(2000, 1, 1))  # noqa: DTZ001 - a wall-clock reading, no instant
    except CronSimError as error:
        raise CronError(cronfields.refusal(expression, fields, str(error))) from None
    months = frozenset(reader.months)
    if not _ever(months, reader.match_day):
        raise CronError(
            f'cron "{expression}": no year has such a day (day {fields[3]} in month {fields[4]}), so it never occurs; '
            "write L for the last day of a month"
        )
    hours, minutes, seconds = tuple(sorted(reader.hours)), tuple(sorted(reader.minutes)), tuple(sorted(reader.seconds))
    return CronRule(
        normalised=" ".join(fields[1:] if seconds == (0,) else fields),
        tz=tz,
        is_fixed_time=not any(field.startswith("*") for field in fields[:3]),
        reading=tuple(cronreading.warnings(fields, months, has_seconds=len(expression.split()) == 6)),
        shortest_gap=_shortest_gap(hours, minutes, seconds),
        months=months,
        hours=hours,
        minutes=minutes,
        seconds=seconds,
        day_matches=reader.match_day,
    )


@lru_cache(maxsize=1)
def _leap_year() -> tuple[date, ...]:
    """Return the days of a leap year: almost every rule that ever matches does so in one."""
    first = date(2000, 1, 1).toordinal()
    return tuple(date.fromordinal(ordinal) for ordinal in range(first, first + 366))


def _ever(months: frozenset[int], day_matches: Callable[[date], bool]) -> bool:
    """Return True if some date of the 400 years after which the calendar repeats matches."""
    if any(day.month in months and day_matches(day) for day in _leap_year()):
        return True
    # Only a leap day tied to a weekday is left: the year 2000 has every date, but each on one weekday.
    return any(
        day_matches(date(year, month, day))
        for year in range(2000, 2400)
        for month in sorted(months)
        for day in _days_of(year, month)
    )


def _days_of(year: int, month: int) -> range:
    following = date(year + month // 12, month % 12 + 1, 1)
    return range(1, (following - date(year, month, 1)).days + 1)


def _shortest_gap(hours: tuple[int, ...], minutes: tuple[int, ...], seconds: tuple[int, ...]) -> Micros:
    if len(seconds) > 1:
        return min(_distances(seconds, 60)) * SECOND
    hour_apart = min(_distances(hours, 24), default=24)
    if len(minutes) == 1:
        return hour_apart * HOUR
    distances = _distances(minutes, 60)
    return min(*distances[:-1], (hour_apart - 1) * 60 + distances[-1]) * MINUTE


def _distances(values: tuple[int, ...], turn: int) -> list[int]:
    """Return the steps from each value to the next, round the clock."""
    return [
        (following - value - 1) % turn + 1 for value, following in zip(values, (*values[1:], values[0]), strict=True)
    ]


@lru_cache(maxsize=1024)
def _silence(rule: CronRule) -> tuple[str, ...]:
    # The zone data say until when their authors looked; the two years from there are worth a warning.
    start = zones.year_start(int(zones.tzdata_version()[:4]))
    silent = rule.silent_dates(start, start + 2 * 366 * DAY)
    if not silent:
        return ()
    warning = (
        f"it follows real time because of the *, and on {', '.join(silent)} all its times fall into the hour that "
        f"{rule.tz} leaves out: no run on that date; write fixed minutes (0,30) to run at the end of the gap"
    )
    return (warning,)
