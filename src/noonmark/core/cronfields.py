"""The text of a cron expression: what is read, what is refused, and what is worth a warning.

Promise: an expression that is accepted means what a person reads in it; one that is refused says which field, why, and
what to write instead.  Rule of the file: text in, text out; which moments an expression yields is ``core/cron.py``'s.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

ALIASES = {
    "@YEARLY": "0 0 1 1 *",
    "@ANNUALLY": "0 0 1 1 *",
    "@MONTHLY": "0 0 1 * *",
    "@WEEKLY": "0 0 * * SUN",
    "@DAILY": "0 0 * * *",
    "@MIDNIGHT": "0 0 * * *",
    "@HOURLY": "0 * * * *",
}
NAMES = ("second", "minute", "hour", "day-of-month", "month", "day-of-week")
RANGES = ((0, 59), (0, 59), (0, 23), (1, 31), (1, 12), (0, 7))
_WEEKDAYS = ("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT")
_MONTHS = ("JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC")
_LONGEST_EXPRESSION = 400


class CronError(ValueError):
    """An expression that is refused; the text says which field, why, and what to write instead."""


def split(expression: str) -> list[str]:
    """Return six upper-case fields, seconds first."""
    if not isinstance(expression, str):
        raise CronError(f"cron {expression!r} is no text; quote it, for example '0 9 * * MON-FRI'")
    shown = expression[:80]
    if len(expression) > _LONGEST_EXPRESSION:
        raise CronError(
            f'cron "{shown}..." is longer than {_LONGEST_EXPRESSION} characters; split it into several jobs'
        )
    if not expression.isascii() or any(character < " " and character != "\t" for character in expression):
        raise CronError(
            f"cron {shown!r} holds a line break or a character that cron does not know; retype it in plain ASCII"
        )
    text = expression.upper().strip()
    if text.startswith("@"):
        if text in ALIASES:
            text = ALIASES[text]
        elif text.startswith("@EVERY"):
            raise CronError(f'cron "{shown}": an interval is no cron; write every: {text[6:].strip().lower() or "5m"}')
        else:
            known = ", ".join(alias.lower() for alias in ALIASES)
            raise CronError(f'cron "{shown}" is unknown; known are {known}')
    if re.match(r"(CRON_)?TZ=", text):
        raise CronError(
            f'cron "{shown}": the zone goes into its own field, tz: {shown.partition("=")[2].split(" ")[0]}'
        )
    fields = text.split()
    if len(fields) == 5:
        return ["0", *fields]
    if len(fields) == 6:
        return fields
    if len(fields) == 7:
        raise CronError(f'cron "{shown}" has 7 fields; a year is not supported, list single moments with at: instead')
    raise CronError(
        f'cron "{shown}" has {len(fields)} field{"" if len(fields) == 1 else "s"}, but 5 are needed: '
        "minute hour day-of-month month day-of-week (or 6, with the second first)"
    )


def check_field(index: int, field: str) -> None:
    """Refuse what cronsim would read in a way nobody means."""
    name, (least, most) = NAMES[index], RANGES[index]
    if field == "?":
        raise CronError(f"cron field {name}: write * instead of ?")
    for term in field.split(","):
        if index == 3 and re.fullmatch(r"\d{1,2}W", term):
            raise CronError(f"cron field {name}: {term} (nearest weekday) is not supported; write LW, or use a weekday")
        span, slash, step = term.partition("/")
        if slash and step.isdigit() and int(step[:9]) > most - least + (index in (3, 4)):
            raise CronError(
                f"cron field {name}: the step in {term} is above {most}, so it would run once each {_round(index)}; "
                "for a longer interval use every:"
            )
        start, dash, end = span.partition("-")
        if dash:
            low, high = _value(index, start), _value(index, end)
            if low is not None and high is not None and low > high:
                raise CronError(f"cron field {name}: {span} runs backwards; write {_wrapped(index, low, high)}")


def _round(index: int) -> str:
    return ("minute", "hour", "day", "month", "year", "week")[index]


def _value(index: int, text: str) -> int | None:
    if text.isdigit():
        value = int(text[:9])
        return value if RANGES[index][0] <= value <= RANGES[index][1] else None
    if index == 4 and text in _MONTHS:
        return _MONTHS.index(text) + 1
    return _WEEKDAYS.index(text) if index == 5 and text in _WEEKDAYS else None


def _wrapped(index: int, low: int, high: int) -> str:
    """Return how a range that goes round is written without."""

    def span(start: int, end: int) -> str:
        names = [
            _WEEKDAYS[value % 7] if index == 5 else _MONTHS[value - 1] if index == 4 else str(value)
            for value in (start, end)
        ]
        return names[0] if start == end else "-".join(names)

    top = 6 if index == 5 else RANGES[index][1]
    return f"{span(min(low, top), top)},{span(RANGES[index][0], high)}"


def refusal(expression: str, fields: list[str], error: str) -> str:
    name = error.removeprefix("Bad ")
    if name not in NAMES:
        return f'cron "{expression}" cannot be read: {error}'
    index = NAMES.index(name)
    if index == 3 and re.fullmatch(r"[0-9,\-/]+", fields[3]) and re.fullmatch(r"[0-9A-Z,\-/]+", fields[4]):
        days = [int(number) for number in re.findall(r"\d+", fields[3])]
        if days and min(days) >= 1 and max(days) <= 31:
            return (
                f'cron "{expression}": day {fields[3]} never occurs in month {fields[4]}; '
                "write L for the last day of a month"
            )
    least, most = RANGES[index]
    extra = {3: ", L or LW", 4: " or JAN-DEC", 5: " (0 and 7 are Sunday) or SUN-SAT"}.get(index, "")
    return (
        f'cron "{expression}": the {name} field "{fields[index]}" cannot be read; '
        f"allowed are {least}-{most}{extra}, lists, ranges and steps"
    )


def warnings(fields: list[str]) -> list[str]:
    """Return what is legal but often not meant."""
    found = [warning for index in range(4) for warning in _uneven(index, fields[index])]
    if not fields[3].startswith("*") and not fields[5].startswith("*"):
        found.append(
            f"both day fields are set: it runs on day-of-month {fields[3]} OR on day-of-week {fields[5]}, as cron does"
        )
    return found


def _uneven(index: int, field: str) -> Iterator[str]:
    """Steps begin anew each hour, day, month: ``*/40`` is no interval of 40 minutes."""
    match = re.fullmatch(r"(?:\*|0|0-59|0-23)/(\d+)", field)
    if match is None:
        return
    step, size = int(match.group(1)), (60, 60, 24, 31)[index]
    if size % step and step < size:
        unit = ("seconds", "minutes", "hours", "days")[index]
        yield (
            f"{field} in the {NAMES[index]} field is not every {step} {unit}: it begins anew each {_round(index)}; "
            "use every: for that"
        )
