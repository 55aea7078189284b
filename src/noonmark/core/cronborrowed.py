"""Schedules that are no cron expression at all: calls of libraries, calendars of systemd, words of people.

Promise: what is translated means the same here, as its own scheduler reads it; what cannot be said in one expression is
not translated.  Rule of the file: text in, text out, of what has been refused already; whether an answer can be written
here is for ``core/crondialects.py`` to see.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from typing import Any

from noonmark.core.cronfields import ALIASES, MONTHS, WEEKDAYS
from noonmark.core.durations import length_meant
from noonmark.core.values import dataclass

_MONDAY_FIRST = (*WEEKDAYS[1:], WEEKDAYS[0])
_CLOCK = r"(\d{1,2})(?::([0-5]\d))?(?::([0-5]\d))?\s*(AM|PM|UHR|H)?"
_PARTS = frozenset({"year", "month", "day", "week", "day_of_week", "hour", "minute", "second"})
_LENGTHS = {"weeks": "w", "days": "d", "hours": "h", "minutes": "m", "seconds": "s"}
_CALENDARS = {
    "MINUTELY": "* * * * *",
    "HOURLY": "0 * * * *",
    "DAILY": "0 0 * * *",
    "WEEKLY": "0 0 * * MON",
    "MONTHLY": "0 0 1 * *",
    "QUARTERLY": "0 0 1 1,4,7,10 *",
    "SEMIANNUALLY": "0 0 1 1,7 *",
    "YEARLY": "0 0 1 1 *",
    "ANNUALLY": "0 0 1 1 *",
}
"""What systemd means by a word alone; its week begins on Monday."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Meant:
    """What a schedule of another scheduler is here: one of ``cron``, ``every`` and ``at``, and the zone if it names one."""

    cron: str = ""
    every: str = ""
    at: str = ""
    tz: str = ""


def meant(text: str) -> Meant | None:
    """Return what is meant by a text that is no cron expression; None where it cannot be told, or said."""
    text = text.strip()
    if re.fullmatch(r"[A-Za-z_][\w.]*\(.*\)", text, re.DOTALL):
        return _call(text)
    return _interval(text) or _words(text) or _calendar(text)


def _interval(text: str) -> Meant | None:
    # A number behind the R says after how many times it ends, which nothing here does.
    if match := re.fullmatch(r"R/([^/]+)/(P[^/]+)", text, re.IGNORECASE):
        length = length_meant(match[2])
        return Meant(every=f'{length} with anchor: "{match[1]}"') if length else None
    length = length_meant(re.sub(r"(?i)^OnUnit(?:In)?ActiveSec\s*=", "", text))
    return Meant(every=length) if length else None


# --- words -----------------------------------------------------------------------------------------------


def _words(text: str) -> Meant | None:
    """``9am``, ``daily at 21:30``, ``every Monday 09:00``."""
    match = re.fullmatch(rf"(?:(.*\D)\s+)?(?:AT\s+|@\s*)?{_CLOCK}", _hours_by_name(text.upper()))
    if match is None:
        return None
    day, hour, minute, second, half = match.groups()
    if half in (None, "H", "UHR") and not minute and not day and half != "UHR":
        return None  # a number alone is anything
    clock = _clock(int(hour), int(minute or 0), half)
    days = _days(re.sub(r"\s+AT$", "", day or "DAILY").strip())
    if clock is None or days is None or int(second or 0):
        return None
    return Meant(cron=f"{clock} * * {days}")


def _hours_by_name(text: str) -> str:
    plain = re.sub(r"^AT\s+", "", text)
    return re.sub(r"\bMIDNIGHT$", "00:00", re.sub(r"\bNOON$", "12:00", plain))


def _clock(hour: int, minute: int, half: str | None) -> str | None:
    if half in ("AM", "PM"):
        if not 1 <= hour <= 12:
            return None
        hour = hour % 12 + (12 if half == "PM" else 0)
    return f"{minute} {hour}" if hour < 24 else None


def _days(words: str) -> str | None:
    words = re.sub(r"^(?:EVERY|EACH|ON)\s+", "", words)
    if words in ("DAY", "DAILY"):
        return "*"
    if words in ("WEEKDAY", "WEEKDAYS", "WORKDAY", "WORKDAYS"):
        return "MON-FRI"
    if words in ("WEEKEND", "WEEKENDS"):
        return "SAT,SUN"
    named = [word for word in re.split(r"\s*,\s*|\s+AND\s+|\s*&\s*|\s+", words) if word]
    return ",".join(word[:3] for word in named) if all(re.fullmatch(_DAY_NAME, word) for word in named) else None


_DAY_NAME = r"(?:SUN|MON|TUE|WED|THU|FRI|SAT)(?:[A-Z]*DAYS?|S|RS|R)?"


# --- systemd ------------------------------------------------------------------------------------------------


def _calendar(text: str) -> Meant | None:
    """``Mon..Fri *-*-* 09:00:00 Europe/Berlin`` of systemd, in which weekday and date must both hold."""
    words = re.sub(r"(?i)^OnCalendar\s*=\s*", "", text).split()
    zone = ""
    if len(words) > 1 and re.fullmatch(r"UTC|[A-Za-z]+(?:/[A-Za-z0-9_+\-]+)+", words[-1]):
        zone = words.pop()
    if len(words) == 1 and words[0].upper() in _CALENDARS:
        return Meant(cron=_CALENDARS[words[0].upper()], tz=zone)
    weekday, date, clock = "*", "*-*", "0:0:0"
    if words and re.match(r"[A-Za-z]", words[0]):
        weekday = _names_of(words.pop(0))
    if words and ":" not in words[0]:
        date = words.pop(0)
    if words:
        clock = words.pop(0)
    elif date == "*-*":
        return None
    parts = [_spans(part) for part in clock.split(":")]
    # The year, where it is *, is left out; what counts from the end of the month follows a ~.
    month, dash, day = re.sub(r"^\*-(?=.*[-~])", "", date).replace("~", "-~").partition("-")
    days = "L" if day in ("~1", "~01") else _spans(day)
    of_year = _spans(month)
    both = None if days is None or of_year is None or not weekday else _both(days, weekday)
    if words or len(parts) not in (2, 3) or not dash or both is None or None in parts:
        return None
    hour, minute, second = (part or "0" for part in (*parts, "0")[:3])
    at = f"{minute} {hour}" if second == "0" else f"{second} {minute} {hour}"
    return Meant(cron=f"{at} {both[0]} {of_year} {both[1]}", tz=zone)


def _names_of(text: str) -> str:
    """Return weekdays as they are written here, empty where they are none; a range may go round."""
    found: list[str] = []
    for term in text.upper().rstrip(",").split(","):
        ends = [name[:3] for name in re.split(r"\.\.|-", term)]
        if len(ends) > 2 or not all(name in WEEKDAYS for name in ends) or not re.fullmatch(r"[A-Z.\-]+", term):
            return ""
        first, last = _MONDAY_FIRST.index(ends[0]), _MONDAY_FIRST.index(ends[-1])
        count = (last - first) % 7 + 1
        is_range = len(ends) == 2 and WEEKDAYS.index(ends[0]) <= WEEKDAYS.index(ends[1])
        found += ["-".join(ends)] if is_range else [_MONDAY_FIRST[(first + step) % 7] for step in range(count)]
    return ",".join(found)


def _spans(text: str) -> str | None:
    plain = re.sub(r"\b0+(?=\d)", "", text.replace("..", "-"))
    return plain if re.fullmatch(r"[0-9*,/\-]+", plain) else None


def _both(day: str, weekday: str) -> tuple[str, str] | None:
    """Return the two day fields of a schedule in which both must hold, None where one expression cannot say it."""
    if day == "*" or weekday == "*" or day.startswith("*") or weekday.startswith("*"):
        return day, weekday
    week = {"1-7": 1, "8-14": 2, "15-21": 3, "22-28": 4}.get(re.sub(r"\b0", "", day))
    if week is not None and re.fullmatch(r"[A-Z]{3}(?:,[A-Z]{3})*", weekday):
        return "*", ",".join(f"{name}#{week}" for name in weekday.split(","))
    return None


# --- calls ---------------------------------------------------------------------------------------------------


def _call(text: str) -> Meant | None:
    """``crontab(...)`` of Celery, ``CronTrigger(...)`` of APScheduler, timetables of Airflow, and their like."""
    try:
        tree = ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    if not isinstance(tree, ast.Call):
        return None
    name = ast.unparse(tree.func).rpartition(".")[2]
    given = [_value(value) for value in tree.args]
    named = {word.arg: _value(word.value) for word in tree.keywords if word.arg}
    if name == "crontab":
        return _celery(given, named)
    if name in ("CronTrigger", "cron_trigger"):
        return None if given else _apscheduler(named)
    if name in ("timedelta", "IntervalTrigger", "CalendarIntervalTrigger"):
        return _length(given, named)
    if name == "DateTrigger" and isinstance(when := named.get("run_date", given[0] if given else None), str):
        return Meant(at=when)
    return _holds_an_expression(name, given, named)


def _value(tree: ast.expr) -> Any:
    try:
        return ast.literal_eval(tree)
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
        return tree


def _holds_an_expression(name: str, given: list[Any], named: Mapping[str, Any]) -> Meant | None:
    inner = next(
        (
            named[word]
            for word in ("cron", "cron_schedule", "expression", "schedule", "cron_expression")
            if word in named
        ),
        given[0]
        if given
        else next((named[word] for word in ("interval", "run_every", "delta") if word in named), None),
    )
    if name == "from_crontab" and isinstance(inner, str) and re.search(r"\d\S*$", inner):
        return None  # its numbers of weekdays count from Monday, though they are written as cron's
    must_both_hold = name == "from_crontab" or named.get("day_or") is False
    if must_both_hold and isinstance(inner, str) and len(fields := inner.split()) == 5:
        both = _both(fields[2], _short(fields[4].upper()))
        if both is None:
            return None
        inner = " ".join((*fields[:2], both[0], fields[3], both[1]))
    texts = [value for value in given if isinstance(value, str)]
    if isinstance(inner, str) and len(texts) <= 1 and (len(inner.split()) in (5, 6) or inner.upper() in ALIASES):
        zone = next((named[word] for word in ("timezone", "tz", "execution_timezone") if word in named), "")
        return Meant(cron=inner, tz=zone if isinstance(zone, str) else "")
    if isinstance(inner, ast.Call):
        return _call(ast.unparse(inner))
    if name == "schedule" and isinstance(inner, (int, float)) and not isinstance(inner, bool):
        return _interval(f"{inner}s")
    return None


def _length(given: list[Any], named: Mapping[str, Any]) -> Meant | None:
    if given or not named or any(word not in (*_LENGTHS, "timezone", "jitter") for word in named):
        return None
    length = length_meant("".join(f"{named[word]}{unit}" for word, unit in _LENGTHS.items() if named.get(word)))
    return Meant(every=length) if length else None


def _celery(given: list[Any], named: Mapping[str, Any]) -> Meant | None:
    """Day and weekday must both hold there; the order of further arguments changed between versions."""
    fields = dict(zip(("minute", "hour"), given, strict=False)) | dict(named)
    known = ("minute", "hour", "day_of_month", "month_of_year", "day_of_week")
    if len(given) > 2 or any(word not in known for word in named):
        return None
    texts = [_list_or_text(fields.get(word, "*")) for word in known]
    if not all(texts):
        return None
    minute, hour, day, month, weekday = (str(text).upper().replace(" ", "") for text in texts)
    both = _both(day, _weekdays(weekday, WEEKDAYS))
    return None if both is None else Meant(cron=f"{minute} {hour} {both[0]} {_short(month)} {both[1]}")


def _list_or_text(value: Any) -> str:
    if isinstance(value, bool):
        return ""
    if isinstance(value, (list, tuple, set)):
        return ",".join(sorted(map(str, value), key=lambda text: (len(text), text)))
    return str(value) if isinstance(value, (int, str)) else ""


def _short(field: str) -> str:
    """Return the field with three letters of each name, as cron has them."""
    return re.sub(r"[A-Z]{3,}", lambda match: match[0][:3] if match[0][:3] in (*WEEKDAYS, *MONTHS) else match[0], field)


def _weekdays(field: str, names: tuple[str, ...]) -> str:
    """Return a weekday field with names for the numbers, which count from ``names[0]``; a step becomes a list."""
    field = _short(field)
    if field == "*":
        return "*"
    found: list[str] = []
    for term in field.split(","):
        span, slash, step = term.partition("/")
        ends = [
            names[int(end)] if end.isdigit() and int(end) < 7 else "SUN" if end == "7" and names[0] == "SUN" else end
            for end in ("0-6" if span == "*" else span).split("-")
        ]
        if not all(end in names for end in ends) or (slash and not step.isdigit()):
            return term if "#" in term or term.endswith("L") else "?"
        first, last = names.index(ends[0]), names.index(ends[-1])
        listed = [names[(first + at) % 7] for at in range(0, (last - first) % 7 + 1, int(step or 1) or 1)]
        is_plain = not slash and len(ends) == 2 and WEEKDAYS.index(ends[0]) < WEEKDAYS.index(ends[1])
        found += ["-".join(ends)] if is_plain else listed
    return ",".join(dict.fromkeys(found))


def _apscheduler(named: Mapping[str, Any]) -> Meant | None:
    """What is finer than the finest part that is given is at its least; weekdays count from Monday; all must hold."""
    parts = {
        word: _list_or_text(value).upper() for word, value in named.items() if word in _PARTS and value is not None
    }
    rest = {word for word in named if word not in _PARTS}
    order = ("year", "month", "day", "week", "day_of_week", "hour", "minute", "second")
    if not parts or not all(parts.values()) or rest - {"timezone", "start_date", "end_date", "jitter"}:
        return None
    finest = max(order.index(word) for word in parts)
    least = {"month": "1", "day": "1", "hour": "0", "minute": "0", "second": "0"}
    full = {word: parts.get(word, least.get(word, "*") if order.index(word) > finest else "*") for word in order}
    day, weekday = _ordinal(full["day"]), full["day_of_week"]
    if any(re.search(r"\d-[A-Z]|[A-Z]-\d|[A-Z]/", full[word]) for word in ("month", "day_of_week")):
        return None  # names and numbers in one range, and steps of names, are not read there as they look
    if full["year"] != "*" or full["week"] != "*" or day is None:
        return None
    weekday = _weekdays(weekday, _MONDAY_FIRST)
    both = (
        _both(day, weekday)
        if "#" not in day and not re.search(r"[A-Z]L", day)
        else ("*", day)
        if weekday == "*"
        else None
    )
    if both is None:
        return None
    second = "" if full["second"] == "0" else f"{full['second']} "
    zone = named.get("timezone", "")
    cron = f"{second}{full['minute']} {full['hour']} {both[0]} {_short(full['month'])} {both[1]}".replace(", ", ",")
    return Meant(cron=cron, tz=zone if isinstance(zone, str) else "")


def _ordinal(day: str) -> str | None:
    """Return ``last``, ``2nd fri`` and ``last sun`` as they are written here; other days as they are."""
    if not re.search(r"[A-Z]", day):
        return day.replace(" ", "")
    if day == "LAST":
        return "L"
    found: list[str] = []
    for term in re.split(r"\s*,\s*", day):
        match = re.fullmatch(rf"(LAST|[1-5])(?:ST|ND|RD|TH)?\s+({'|'.join(WEEKDAYS)})[A-Z]*", term)
        if match is None:
            return None
        found.append(f"{match[2]}L" if match[1] == "LAST" else f"{match[2]}#{match[1]}")
    return ",".join(found)
