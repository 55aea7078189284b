"""The text of a cron expression: what is read and what is refused.

Promise: an expression that is accepted means what a person reads in it; one that is refused says which field, why, and
what to write instead.  Rule of the file: text in, text out; which moments an expression yields is ``core/cron.py``'s,
what is worth a warning ``core/cronreading.py``'s, and what other schedulers write ``core/crondialects.py``'s.
"""

from __future__ import annotations

import re

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
WEEKDAYS = ("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT")
MONTHS = ("JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC")
_LONGEST_EXPRESSION = 400
_USUAL = re.compile(r"[0-9A-Z*/,#\-]+")
_NUMBERS = re.compile(r"[0-9*/,\-]+")


class CronError(ValueError):
    """An expression that is refused; the text says which field, why, and what to write instead."""


def split(expression: str) -> list[str]:
    """Return six upper-case fields, seconds first.

    Raises:
        CronError: no text, an interval, or the form of another scheduler.
    """
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
    fields = ALIASES.get(text, text).split()
    if len(fields) == 5 and all(map(_NUMBERS.fullmatch, fields[:2])) and all(map(_USUAL.fullmatch, fields)):
        return ["0", *fields]
    return _unusual(expression, fields)


def _unusual(expression: str, fields: list[str]) -> list[str]:
    from noonmark.core import crondialects  # rare: not on the way of every start

    shown = expression[:80]
    reason = crondialects.foreign(expression) or crondialects.fields_refused(expression)
    if reason is not None:
        raise CronError(reason)
    if expression.strip().startswith("@"):
        known = ", ".join(alias.lower() for alias in ALIASES)
        raise CronError(f'cron "{shown}" is unknown; known are {known}')
    if len(fields) not in (5, 6):
        raise CronError(
            f'cron "{shown}" has {len(fields)} field{"" if len(fields) == 1 else "s"}, but 5 are needed: '
            "minute hour day-of-month month day-of-week (or 6, with the second first)"
        )
    try:
        return crondialects.question_marks(shown, fields)
    except ValueError as error:
        raise CronError(str(error)) from None


def plain(index: int, field: str) -> str:
    """Return a field in the words that cronsim reads as everybody does.

    Raises:
        CronError: what it would read in a way nobody means.
    """
    name, (least, most) = NAMES[index], RANGES[index]
    if not _NUMBERS.fullmatch(field) or field == "24":
        from noonmark.core import crondialects

        reason = crondialects.field_refused(index, name, field)
        if reason is not None:
            raise CronError(reason)
    terms = field.split(",")
    for at, term in enumerate(terms):
        span, slash, step = term.partition("/")
        if slash and step.isdigit() and int(step[:9]) > most - least + (index in (3, 4)):
            raise CronError(
                f"cron field {name}: the step in {term} is above {most}, so it would run once each {_round(index)}; "
                "for a longer interval use every:"
            )
        start, dash, end = span.partition("-")
        low, high = value_of(index, start), value_of(index, end)
        if dash and low is not None and high is not None and low > high:
            written = wrapped(index, low, high, int(step[:9]) if step.isdigit() else 0)
            raise CronError(f"cron field {name}: {span if not slash else term} runs backwards; write {written}")
        if dash and slash and step.strip("0") and low == high is not None:
            terms[at] = start  # cronsim goes on to the end of the field from a span of one
        elif index == 5 and term[:-1] in WEEKDAYS and term.endswith("L"):
            terms[at] = f"{WEEKDAYS.index(term[:-1])}L"
    return ",".join(terms)


def _round(index: int) -> str:
    return ("minute", "hour", "day", "month", "year", "week")[index]


def value_of(index: int, text: str) -> int | None:
    if text.isdigit():
        value = int(text[:9])
        return value if RANGES[index][0] <= value <= RANGES[index][1] else None
    if index == 4 and text in MONTHS:
        return MONTHS.index(text) + 1
    return WEEKDAYS.index(text) if index == 5 and text in WEEKDAYS else None


def wrapped(index: int, low: int, high: int, step: int) -> str:
    """Return how a range that goes round is written without; one with a step as the list of its values."""
    least, most = RANGES[index]
    if index == 5:
        low, high, most = low % 7, high % 7, 6  # 7 is Sunday as well

    def named(value: int) -> str:
        return WEEKDAYS[value] if index == 5 else MONTHS[value - 1] if index == 4 else str(value)

    def span(start: int, end: int) -> str:
        return named(start) if start == end else f"{named(start)}-{named(end)}"

    if step > 1:
        size = most - least + 1
        return ",".join(named((low - least + at) % size + least) for at in range(0, (high - low) % size + 1, step))
    return span(low, high) if low <= high else f"{span(low, most)},{span(least, high)}"


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
