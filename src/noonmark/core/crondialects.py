"""Expressions of other schedulers: recognised, never guessed.

Promise: a form that another scheduler reads otherwise than cron does is refused with the expression that means the same
here, wherever there is one, and what is told to write can be written.  Rule of the file: text in, text out; numbers that
count weekdays from another day come back as names.
"""

from __future__ import annotations

import re

from noonmark.core import durations, times
from noonmark.core.cronfields import ALIASES, MONTHS, WEEKDAYS, CronError, value_of, wrapped

_FIELD = rf"(?:[0-9*?/,#\-LW]|{'|'.join((*WEEKDAYS, *MONTHS))})+"
_YEAR = r"(?:19|20)\d\d"
_YEARS = re.compile(rf"\*|{_YEAR}(?:-{_YEAR})?(?:/\d+)?(?:,{_YEAR}(?:-{_YEAR})?)*")
_FULL_NAME = re.compile(
    r"(?:SUN|MON|TUES|WEDNES|THURS|FRI|SATUR)DAYS?|TUES|WEDS|THURS?(?!\d)"
    r"|JANUARY|FEBRUARY|MARCH|APRIL|JUNE|JULY|AUGUST|SEPT(?:EMBER)?|OCTOBER|NOVEMBER|DECEMBER"
)
_OTHER_NAMES = {
    **dict.fromkeys(("@MINUTELY", "@EVERY_MINUTE", "@EVERY-MINUTE", "@EVERYMINUTE"), "* * * * *"),
    "@NOON": "0 12 * * *",
    "@QUARTERLY": "0 0 1 */3 *",
}
_ONCE = frozenset({"@ONCE", "@NEVER", "@NONE", "@CONTINUOUS", "@MANUAL"})
_ORDER = "minute hour day-of-month month day-of-week year"


def foreign(expression: str) -> str | None:
    """Return why an expression that is no cron by its whole shape is refused; None when its fields are to be read."""
    text, shown = expression.strip(), expression[:80]
    upper = text.upper()
    if match := re.match(r"(?:CRON_)?TZ=\s*(\S*)", text, re.IGNORECASE):
        return f'cron "{shown}": the zone goes into its own field, tz: {match[1].strip(chr(34) + chr(39)).lstrip(":")}'
    if upper.startswith("@"):
        return _nickname(shown, text)
    if re.match(r"\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d|$)", upper):
        return _moment(shown, text)
    if match := re.fullmatch(r"(CRON|RATE|AT)\s*\(([^\"'=]*)\)", upper):
        return _provider(shown, match[1], match[2].strip())
    if match := re.match(rf"((?:{_FIELD}\s+){{4,5}}{_FIELD})\s+#(?:\s|$|[^0-9])", upper):
        kept = " ".join(text.split()[: len(match[1].split())])
        return f'cron "{shown}" ends in a comment; write {kept}, and the comment as reason:'
    several = [part.strip() for part in re.split(r"\s*(?:\|\|?|;|&&?|\s\+\s|,\s)\s*", text)]
    if len(several) > 1 and not any(map(_refused, several)):
        return f'cron "{shown}" holds {len(several)} schedules; write one rule for each, under names of their own'
    match = re.fullmatch(r"""(?:-\s*)?(?:(?:cron|crontab|schedule)\s*[:=]?\s*)?(["'`\[]?)(.*?)["'`\]]?""", text)
    inner = match[2] if match else text
    if inner != text and len(inner.split()) in (5, 6) and not _refused(inner):
        return f'cron "{shown}" cannot be read: write {inner} alone'
    fields = upper.split()
    return None if len(fields) >= 5 and _is_cron(fields[:5]) else _borrowed(shown, text)


def _borrowed(shown: str, text: str) -> str | None:
    """What is no cron expression at all."""
    from noonmark.core import cronborrowed  # it reads Python, and only what is refused comes here

    found = cronborrowed.meant(text)
    if found is None:
        if re.fullmatch(r"[A-Za-z_][\w.]*\(.*\)", text, re.DOTALL):
            return f'cron "{shown}" is a call; write the expression itself, for example 0 9 * * MON-FRI, or every: 5m'
        return None
    if found.every:
        return _interval(shown, found.every)
    if found.at:
        return _moment(shown, found.at)
    cron = _straight(found.cron)
    if _refused(cron) and not text.endswith(")"):
        return None  # it only looked like one
    if text.upper() == "WEEKLY":
        return f'cron "{shown}" is unknown; write {cron}, with the day that is meant'
    return _instead(shown, cron, zone=found.tz)


def _instead(
    shown: str, cron: str, *, zone: str = "", note: str = "", form: str = "is another scheduler's form"
) -> str:
    """Return the refusal that tells this expression; where it cannot be written here either, why."""
    return _refused(cron) or f'cron "{shown}" {form}; write {cron}{f", tz: {zone}" if zone else ""}{note}'


def _refused(cron: str) -> str:
    """Return why an expression cannot be written here, empty where it can."""
    from noonmark.core import cron as reading  # it reads expressions through this file

    try:
        reading.parse_cron(cron, "UTC")
    except CronError as error:
        return str(error)
    return ""


def writable(cron: str) -> str:
    """Return the expression as it can be written here, empty where it cannot be."""
    written = _straight(cron)
    return "" if _refused(written) else written


def _straight(cron: str) -> str:
    """Return the expression with ranges that go round written out."""
    fields = cron.upper().split()
    first = 6 - len(fields)
    return " ".join(
        ",".join(_straight_term(at + first, term) for term in field.split(",")) for at, field in enumerate(fields)
    )


def _straight_term(index: int, term: str) -> str:
    span, _, step = term.partition("/")
    start, dash, end = span.partition("-")
    low, high = (value_of(index, text) for text in (start, end))
    if not dash or low is None or high is None or low <= high or (step and not step.isdigit()):
        return term
    return wrapped(index, low, high, int(step[:9]) if step else 0)


def _interval(shown: str, length: str) -> str:
    return f'cron "{shown}": an interval is no cron; write every: {length}'


def _length(text: str) -> str:
    return durations.length_meant(text) or "with a length, for example 5m"


def _moment(shown: str, text: str) -> str:
    if re.fullmatch(r"\d{4}-\d\d-\d\d", text):
        text += "T09:00:00"
    try:
        times.parse_instant(text, "UTC")
    except ValueError:
        text = "2026-12-01T09:00:00"
    return f'cron "{shown}" is a single moment; write at: "{text[:40]}"'


def _nickname(shown: str, text: str) -> str | None:
    word, _, rest = text.partition(" ")
    upper, rest = word.upper(), rest.strip()
    if upper == "@EVERY":
        return _interval(shown, _length(rest.lower()))
    if upper in ("@REBOOT", "@STARTUP"):
        return (
            f'cron "{shown}" names no moment: where several workers start at several times nobody can say which start '
            "counts; call the function where the program starts, or write manual: true and ask for a run from there"
        )
    if upper in _ONCE:
        return (
            f'cron "{shown}" is no schedule; write at: for a single moment, or manual: true for a job that is asked for'
        )
    if upper in _OTHER_NAMES:
        return f'cron "{shown}" is unknown; write {_OTHER_NAMES[upper]}'
    if upper in ("@WEEKDAYS", "@WEEKDAY", "@WEEKENDS", "@WEEKEND"):
        days = "MON-FRI" if "DAYS" in upper or upper == "@WEEKDAY" else "SAT,SUN"
        return f'cron "{shown}" is unknown; write 0 0 * * {days}, with the hour that is meant'
    if upper in ALIASES and rest:
        if _is_zone(rest):
            return f'cron "{shown}": the zone goes into its own field, tz: {rest}'
        return f'cron "{shown}" is a line of a crontab; write cron: "{word}", and the command as command:'
    return None


def _is_zone(text: str) -> bool:
    if re.fullmatch(r"[A-Za-z]+(/[A-Za-z0-9_+\-]+)+|(?:UTC|GMT)?[+\-]\d{1,2}(?::?\d\d)?|Z", text):
        return "//" not in text and not text.startswith(("usr/", "bin/", "opt/", "home/"))
    try:
        times.zone(text.upper() if len(text) == 3 else text)
    except ValueError:
        return False
    return True


def _provider(shown: str, kind: str, inner: str) -> str:
    """``cron(...)``, ``rate(...)`` and ``at(...)`` of a cloud provider, which reads them in UTC."""
    if kind == "RATE":
        return _interval(shown, _length(inner.lower()))
    if kind == "AT":
        return _moment(shown, inner)
    fields = inner.split()
    meant = _of_provider(fields)
    if meant is None:
        form = "another scheduler's form, and not right there either"
        return f'cron "{shown}" is {form}: it wants {_ORDER}, one day field as ?'
    return _instead(shown, meant, note=_year_note(fields[5]))


def _of_provider(fields: list[str]) -> str | None:
    """Return minute to weekday of six fields with the year last, in which 1 is Sunday; None where they are wrong there."""
    if len(fields) != 6 or not _YEARS.fullmatch(fields[5]) or (fields[2] == "?") == (fields[4] == "?"):
        return None
    weekday = counted_from_sunday(fields[4])
    if weekday is None or not all(re.fullmatch(_FIELD, field) for field in fields[:4]):
        return None
    return _straight(" ".join("*" if field == "?" else field for field in (*fields[:4], weekday)))


def _year_note(year: str) -> str:
    return "" if year == "*" else " (a year is not supported; list single moments with at: instead)"


def counted_from_sunday(field: str) -> str | None:
    """Return a weekday field in which 1 is Sunday with names in place of numbers; None where a number is none of 1-7."""
    return "SAT" if field == "L" else _named_days(field, 1, range(1, 8))


def _counted_from_monday(field: str) -> str | None:
    return _named_days(field, 0, range(8))


def _named_days(field: str, sunday: int, numbers: range) -> str | None:
    """Return a weekday field in which Sunday has this number with names; a step, which goes on to the last, as a list."""
    found: list[str] = []
    for term in field.split(","):
        if any(int(number) not in numbers for number in re.findall(r"(?<![#/\d])\d+", term)):
            return None
        span, slash, step = term.partition("/")
        ends = [
            int(end) if end.isdigit() else WEEKDAYS.index(end) + sunday if end in WEEKDAYS else None
            for end in span.split("-")
        ]
        if slash and step.isdigit() and int(step) and None not in ends:
            first, last = ends[0] or 0, (ends[1] or 0) if len(ends) > 1 else numbers[-1]
            length = last - first + (7 if last < first else 0)
            listed = [WEEKDAYS[(first + at - sunday) % 7] for at in range(0, length + 1, int(step))]
            found.append(",".join(dict.fromkeys(listed)))
        else:
            found.append(re.sub(r"(?<![#/\d])\d+", lambda match: WEEKDAYS[(int(match[0]) - sunday) % 7], term))
    return ",".join(found)


def fields_refused(expression: str) -> str | None:
    """Return why more than five fields are refused; None when they are to be read (six: the second first)."""
    shown, fields = expression[:80], expression.split()
    upper = [field.upper() for field in fields]
    if len(fields) < 6:
        return None
    if _is_cron(upper[:5]) and (rest := _what_follows(shown, fields)):
        return rest
    if len(fields) == 6 and _year_is_last(upper):
        meant = _of_provider(upper)
        if meant is None:
            meant = " ".join("*" if field == "?" else field for field in fields[:5])
        look = f"six fields are read with the second first, but these look like {_ORDER}"
        return _refused(meant) or f'cron "{shown}": {look}; write {meant}{_year_note(upper[5])}'
    if len(fields) == 7 and _YEARS.fullmatch(upper[6]):
        if upper[6] == "*" and (six := _of_seven(upper[:6])) is not None:
            return f'cron "{shown}" has 7 fields; a year is not supported, write {six} (the second first)'
        return f'cron "{shown}" has 7 fields; a year is not supported, list single moments with at: instead'
    if len(fields) > 6:
        return (
            f'cron "{shown}" has {len(fields)} fields; write the five of the schedule here, a command as command:, '
            "a comment as reason:"
        )
    return None


def _of_seven(six: list[str]) -> str | None:
    """Return the first six of seven fields, which are Quartz's, in which 1 is Sunday; None where they cannot be read."""
    weekday = counted_from_sunday(six[5])
    if weekday is None:
        return None
    written = _straight(" ".join("*" if field == "?" else field for field in (*six[:5], weekday)))
    return None if _refused(written) else written


def _is_cron(fields: list[str]) -> bool:
    return all(re.fullmatch(_FIELD, field) for field in fields)


def _what_follows(shown: str, fields: list[str]) -> str | None:
    """The five fields may be followed by what crontab files and other tools write there."""
    five, sixth, last = " ".join(fields[:5]), fields[5], fields[-1]
    if len(fields) <= 7 and _is_zone(last):
        return f'cron "{shown}": the zone goes into its own field, tz: {last}'
    if not re.fullmatch(_FIELD, sixth.upper()):
        form = "is a line of a crontab"
        return _refused(five) or f'cron "{shown}" {form}; write cron: "{five}", and the command as command:'
    return None


def _year_is_last(fields: list[str]) -> bool:
    days = "|".join(WEEKDAYS)
    return "?" in (fields[2], fields[4]) or bool(
        re.fullmatch(rf"{_YEAR}.*", fields[5]) or re.search(rf"(?:^|[,\-])(?:{days})", fields[4])
    )


def question_marks(shown: str, fields: list[str]) -> list[str]:
    """Return five or six fields as six, with ``*`` for the ``?`` of a day field.

    Raises:
        ValueError: a weekday is told by a number whose day depends on who wrote the ``?``.
    """
    is_short = len(fields) == 5
    second, minute, hour, day, month, weekday = ["0", *fields] if is_short else fields
    if day == "?" and not is_short:
        quartz, here = counted_from_sunday(weekday), _counted_from_monday(weekday)
        if quartz is not None and here is not None and quartz != here and weekday != "L":
            raise ValueError(
                f'cron "{shown}": with ? and six fields the weekday {weekday} may be Quartz\'s, where 1 is Sunday '
                f"({quartz}), or cron's, where 1 is Monday ({here}); write the names"
            )
    return [second, minute, hour, "*" if day == "?" else day, month, "*" if weekday == "?" else weekday]


def field_refused(index: int, name: str, field: str) -> str | None:
    """Return why one field is another scheduler's, with what to write; None when it is to be read."""
    if "?" in field:
        return f"cron field {name}: write * instead of ?"
    if full := _FULL_NAME.search(field):
        return f"cron field {name}: write {full[0][:3]} instead of {full[0]}"
    if re.match(r"[HR](?:$|[/(])", field):
        return f"cron field {name}: {field} lets the scheduler choose; write a number of your own, for example 17"
    if "~" in field:
        return f"cron field {name}: {field} is a random number; write one of your own, for example 17"
    if index == 2 and re.fullmatch(r"\d{1,2}(?:AM|PM)", field):
        hour = int(field[:-2]) % 12 + (12 if field.endswith("PM") else 0)
        return f"cron field {name}: write {hour} instead of {field}"
    if index == 2 and field == "24":
        return f"cron field {name}: write 0 instead of 24, which is midnight of the next day"
    for term in field.split(","):
        if index == 3 and re.fullmatch(r"\d{1,2}W", term):
            return f"cron field {name}: {term} (nearest weekday) is not supported; write LW, or use a weekday"
        if index == 3 and (match := re.fullmatch(r"(\d{1,2})-L", term)):
            return f"cron field {name}: write {match[1]}-31 instead of {term}"
        if index == 3 and re.fullmatch(r"LW?-\d+", term):
            return f"cron field {name}: {term} (days before the last) is not supported; write L, LW or the days"
        if index == 3 and re.fullmatch(r"LW?/\d+", term):
            return f"cron field {name}: {term} has a step, but there is one last day; write L"
        if index == 5 and term == "L":
            return f"cron field {name}: write SAT instead of L, or 6L for the last Saturday of the month"
    return None
