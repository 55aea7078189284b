"""What is legal in a cron expression but often not meant.

Promise: a warning says what the expression does and what to write for what was probably meant.  Rule of the file: the
written fields alone are looked at; what a zone makes of them is ``core/cron.py``'s.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from noonmark.core.cronfields import MONTHS, NAMES, RANGES, WEEKDAYS

_DAYS_IN = (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
_UNITS = ("seconds", "minutes", "hours", "days", "months", "days of the week")
_ROUNDS = ("minute", "hour", "day", "month", "year", "week")
_SIZES = (60, 60, 24, 31, 12, 7)


def warnings(fields: list[str], months: frozenset[int], *, has_seconds: bool) -> list[str]:
    """Return the warnings about six fields, seconds first, that mean these months.

    Args:
        has_seconds: whether the seconds were written, or added by ``cronfields.split``.
    """
    found = [
        warning for index, field in enumerate(fields) for term in field.split(",") for warning in _steps(index, term)
    ]
    return [*found, *_days(fields, months), *_slips(fields, has_seconds=has_seconds)]


def _steps(index: int, term: str) -> Iterator[str]:
    span, slash, step_text = term.partition("/")
    if not slash or not step_text.isdigit():
        return
    step, (least, most) = int(step_text), RANGES[index]
    low, dash, high = span.partition("-")
    whole = span == "*" or (low == str(least) and high in ("", str(most)) and (dash != "" or index != 5))
    # Steps begin anew each hour, day, month: */40 is no interval of 40 minutes.
    if whole and _SIZES[index] % step and step < _SIZES[index]:
        yield (
            f"{term} in the {NAMES[index]} field is not every {step} {_UNITS[index]}: it begins anew each {_ROUNDS[index]}; "
            f"use {'every:' if index < 4 else 'a list'} for that"
        )
    elif index == 5 and not dash and step > 1 and _goes_on_to_sunday(low, step):
        yield f"{term} in the day-of-week field goes on to 7, which is Sunday; write the days by name"
    elif dash and low.isdigit() and high.isdigit() and int(high) - int(low) < step:
        yield f"the step in {term} is longer than its range, so only {low} is left of it"


def _goes_on_to_sunday(low: str, step: int) -> bool:
    """Return True for days counted from one of the week that reach Sunday at its end, which others leave out."""
    start = WEEKDAYS.index(low) if low in WEEKDAYS else int(low) if low.isdigit() else 0
    return 0 < start < 7 and (7 - start) % step == 0


def _days(fields: list[str], months: frozenset[int]) -> Iterator[str]:
    day, weekday = fields[3], fields[5]
    stars = day.startswith("*"), weekday.startswith("*")
    if not any(stars):
        yield f"both day fields are set: it runs on day-of-month {day} OR on day-of-week {weekday}, as cron does"
    elif day != "*" and weekday != "*":
        starred, other = (day, weekday) if stars[0] else (weekday, day)
        yield f"{starred} begins with *, so it runs only on days that {other} names as well (AND), as cron does"
    numbers = [int(part) for part in re.findall(r"\d+", day)] if re.fullmatch(r"[\d,\-]+", day) else []
    if numbers and min(numbers) > 28 and weekday == "*":
        without = [MONTHS[month - 1].capitalize() for month in sorted(months) if _DAYS_IN[month - 1] < min(numbers)]
        if without:
            yield (
                f"day {day} does not exist in {', '.join(without)}: no run in that month; "
                "write L for the last day of every month"
            )
        elif 2 in months:
            yield f"day {day} of February comes in leap years only; write L for the last day of every month"


def _slips(fields: list[str], *, has_seconds: bool) -> Iterator[str]:
    second, minute, hour, day, month, weekday = fields
    if not has_seconds:
        if minute == "*" and hour != "*" and "-" not in hour:
            yield f"the minute field is *, so it runs in every minute of hour {hour}; write 0 there for once an hour"
        return
    # What other tools write with the second or the year last can be read here, too, but hardly means what it says.
    is_year_last = month != "*" and (hour, day, weekday) == ("*", "*", "*")
    if is_year_last or (not second.isdigit() and minute == "*" and weekday != "*"):
        yield (
            f"six fields are read with the second first: second {second}, minute {minute}, hour {hour}, "
            f"day {day}, month {month}, weekday {weekday}"
        )
