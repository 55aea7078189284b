"""Durations as people write them, and back.

Promise: what is accepted means one thing only, and ``parse_duration(format_duration(us)) == us`` for every length from
one microsecond up.  Rule of the file: whole numbers of microseconds; anything that could be read in two ways is refused
with the spelling that says it.
"""

from __future__ import annotations

import re
from datetime import timedelta
from fractions import Fraction
from functools import lru_cache

from noonmark.core.model import DAY, HOUR, MINUTE, SECOND, Micros

UNITS: dict[str, Micros] = {
    "w": 7 * DAY,
    "d": DAY,
    "h": HOUR,
    "m": MINUTE,
    "s": SECOND,
    "ms": SECOND // 1000,
    "us": 1,
}
"""Units from the largest to the smallest, the order in which they are combined."""
LONGEST: Micros = 36_525 * DAY
"""A hundred years: longer is a slip of the pen."""

_WORDS = {
    "sec": "s",
    "secs": "s",
    "second": "s",
    "seconds": "s",
    "min": "m",
    "mins": "m",
    "minute": "m",
    "minutes": "m",
} | {"hr": "h", "hrs": "h", "hour": "h", "hours": "h", "day": "d", "days": "d", "week": "w", "weeks": "w"}
_PART = re.compile(r"\s*([0-9]{1,18}(?:\.[0-9]{1,9})?)\s*([A-Za-zµ]+)", re.ASCII)
_ISO = re.compile(
    r"P(?:(?P<w>[0-9]{1,9})W)?(?:(?P<d>[0-9]{1,9})D)?"
    r"(?:T(?:(?P<h>[0-9]{1,9})H)?(?:(?P<m>[0-9]{1,9})M)?(?:(?P<s>[0-9]{1,12}(?:\.[0-9]{1,6})?)S)?)?"
)
_HOW = 'write it like "90s", "5m", "1h30m", "2d" or "PT1H30M"'


def parse_duration(value: str | timedelta) -> Micros:
    """Read a duration: units ms, s, m, h, d, w, each at most once and from large to small, or ISO 8601.

    Args:
        value: text such as ``1h30m``, ``1800s``, ``PT30M``, or a timedelta.

    Returns:
        Microseconds, zero or more.

    Raises:
        ValueError: empty, negative, no unit, unknown unit, months or years; the text says what to write instead.
    """
    if isinstance(value, timedelta):
        return _checked(value // timedelta(microseconds=1), str(value))
    if not isinstance(value, str):
        raise ValueError(f"{value!r} has no unit, so it could be seconds or minutes; {_HOW}")
    text = value.strip()
    if not text:
        raise ValueError(f"a duration is empty; {_HOW}")
    if text[0] in "-−":
        raise ValueError(f'"{text[:40]}" is negative; a duration runs forwards')
    if text[0] == "P":
        return _checked(_iso(text), text)
    return _checked(_plain(text), text)


def length_meant(text: str) -> str:
    """Return, as it can be written here, the length that ``every 90 minutes``, ``an hour``, ``1.5 hours`` or ``PT5M`` is.

    Only for hints.  Empty where it is no length: months have none, and less than a second is not waited for.
    """
    words = re.sub(r"(?i)^@?(?:every|each)\s+", "", text.strip())
    if re.search(r"[0-9]\s*M$", words) and words[:1] not in "Pp":
        return ""  # a month to some, a minute to others
    words = words.lower()
    if re.fullmatch(r"p[0-9t].*", words):
        words = words.upper()
    else:
        words = re.sub(r"^(?:an?\s+)?(?=[a-z]+$)", "1", words.replace(" and ", " "))
        words = re.sub(r"[a-z]+", lambda match: _WORDS.get(match[0], match[0]), words)
    try:
        length = parse_duration(words)
    except ValueError:
        return ""
    try:
        return "" if length < SECOND else text if parse_duration(text) == length else format_duration(length)
    except ValueError:
        return format_duration(length)


def format_duration(us: Micros) -> str:
    """Return a duration as ``parse_duration`` reads it: ``1h30m``, ``0s``.

    Raises:
        ValueError: negative.
    """
    if us < 0:
        raise ValueError(f"{us} microseconds are negative; a duration runs forwards")
    parts: list[str] = []
    for unit, size in UNITS.items():
        if unit == "w" and us % size:
            continue  # "10d" is plainer than "1w3d"
        count, us = divmod(us, size)
        if count:
            parts.append(f"{count}{unit}")
    return "".join(parts) or "0s"


@lru_cache(maxsize=1024)
def _plain(text: str) -> Micros:
    total, position, last = Fraction(0), 0, -1
    order = list(UNITS)
    if re.fullmatch(r"[0-9.]+", text):
        raise ValueError(
            f'"{text[:40]}" has no unit, so is it seconds or minutes? write "{text[:20]}s" or "{text[:20]}m"'
        )
    while position < len(text):
        match = _PART.match(text, position)
        if match is None:
            raise ValueError(f'"{text[:40]}" is no duration; {_HOW}')
        unit = _unit(match.group(2), text)
        if order.index(unit) <= last:
            raise ValueError(f'"{text[:40]}" has units twice or out of order; write each once, large to small')
        last, position = order.index(unit), match.end()
        total += Fraction(match.group(1)) * UNITS[unit]
    if total.denominator != 1:
        raise ValueError(f'"{text[:40]}" is finer than a microsecond; {_HOW}')
    return int(total)


def _unit(word: str, text: str) -> str:
    if word in UNITS:
        return word
    if word == "M" or word.lower() in {"mo", "mon", "month", "months", "y", "yr", "year", "years"}:
        raise ValueError(f'"{text[:40]}": months and years have no fixed length; write days ("30d"), or m for minutes')
    plain = _WORDS.get(word.lower()) or (word.lower() if word.lower() in UNITS else None)
    hint = f"write {plain}" if plain else f"known are {', '.join(unit for unit in UNITS if unit != 'us')}"
    raise ValueError(f'"{text[:40]}": the unit "{word[:20]}" is unknown; {hint}')


def _iso(text: str) -> Micros:
    match = _ISO.fullmatch(text)
    if match is None or not any(match.groupdict().values()) or text.endswith("T"):
        months = re.match(r"P(\d+Y)?(\d+M)?", text)
        if months and any(months.groups()):
            raise ValueError(f'"{text[:40]}": months and years have no fixed length; write days, "P30D"')
        raise ValueError(f'"{text[:40]}" is no ISO 8601 duration; {_HOW}')
    total = sum((Fraction(count) * UNITS[unit] for unit, count in match.groupdict().items() if count), Fraction(0))
    return int(total)


def _checked(us: Micros, text: str) -> Micros:
    if us < 0:
        raise ValueError(f'"{text[:40]}" is negative; a duration runs forwards')
    if us > LONGEST:
        raise ValueError(f'"{text[:40]}" is longer than a hundred years; {_HOW}')
    return us
