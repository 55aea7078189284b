"""Expressions of other schedulers: recognised, never guessed.

Promise: a form that another scheduler reads otherwise than cron does is refused with the expression that means the same
here, wherever there is one.  Rule of the file: text in, text out; numbers that count weekdays from another day come back
as names.
"""

from __future__ import annotations

import re

from noonmark.core.cronfields import MONTHS, WEEKDAYS

_FIELD = rf"(?:[0-9*?/,#\-LW]|{'|'.join((*WEEKDAYS, *MONTHS))})+"
_YEAR = r"(?:19|20)\d\d"
_YEARS = re.compile(rf"\*|{_YEAR}(?:-{_YEAR})?(?:/\d+)?(?:,{_YEAR}(?:-{_YEAR})?)*")
_FULL_NAME = re.compile(
    r"(?:SUN|MON|TUES|WEDNES|THURS|FRI|SATUR)DAYS?"
    r"|JANUARY|FEBRUARY|MARCH|APRIL|JUNE|JULY|AUGUST|SEPT(?:EMBER)?|OCTOBER|NOVEMBER|DECEMBER"
)
_EVERY_MINUTE = frozenset({"@MINUTELY", "@EVERY_MINUTE", "@EVERY-MINUTE", "@EVERYMINUTE"})
_ONCE = frozenset({"@ONCE", "@NEVER", "@NONE"})
_ORDER = "minute hour day-of-month month day-of-week year"


def foreign(expression: str) -> str | None:
    """Return why an expression that is no cron by its whole shape is refused; None when its fields are to be read."""
    text, shown = expression.strip(), expression[:80]
    upper = text.upper()
    if match := re.match(r"(?:CRON_)?TZ=\s*(\S*)", text, re.IGNORECASE):
        return f'cron "{shown}": the zone goes into its own field, tz: {match[1].strip(chr(34) + chr(39))}'
    if upper.startswith("@"):
        return _nickname(shown, upper)
    if match := re.fullmatch(r"(?:EVERY\s+)?(\d+)\s*([SMHDW])[A-Z]*", upper):
        return f'cron "{shown}": an interval is no cron; write every: {match[1]}{match[2].lower()}'
    if match := re.fullmatch(r"([01]?\d|2[0-3]):([0-5]\d)", text):
        return f'cron "{shown}" is unknown; write {int(match[2])} {int(match[1])} * * *'
    if re.match(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d", upper):
        return f'cron "{shown}" is a single moment; write at: "{text[:40]}"'
    if match := re.fullmatch(r"(CRON|RATE|AT)\s*\((.*)\)", upper):
        return _provider(shown, match[1], match[2].strip())
    if match := re.match(rf"((?:{_FIELD}\s+){{4,5}}{_FIELD})\s+#(?:\s|$|[^0-9])", upper):
        kept = " ".join(text.split()[: len(match[1].split())])
        return f'cron "{shown}" ends in a comment; write {kept}, and the comment as reason:'
    return None


def _nickname(shown: str, upper: str) -> str | None:
    if re.fullmatch(r"@EVERY\s+\S.*|@EVERY", upper):
        return f'cron "{shown}": an interval is no cron; write every: {upper[6:].strip().lower() or "5m"}'
    if upper == "@REBOOT":
        return (
            f'cron "{shown}" names no moment: where several workers start at several times nobody can say which start '
            "counts; call the function where the program starts, or write manual: true and ask for a run from there"
        )
    if upper in _ONCE:
        return (
            f'cron "{shown}" is no schedule; write at: for a single moment, or manual: true for a job that is asked for'
        )
    if upper in _EVERY_MINUTE:
        return f'cron "{shown}" is unknown; write * * * * *'
    if upper in ("@WEEKDAYS", "@WEEKDAY", "@WEEKENDS", "@WEEKEND"):
        days = "MON-FRI" if "DAYS" in upper or upper == "@WEEKDAY" else "SAT,SUN"
        return f'cron "{shown}" is unknown; write 0 0 * * {days}, with the hour that is meant'
    return None


def _provider(shown: str, kind: str, inner: str) -> str:
    """``cron(...)``, ``rate(...)`` and ``at(...)`` of a cloud provider, which reads them in UTC."""
    if kind == "RATE":
        match = re.fullmatch(r"(\d+)\s+(MINUTE|HOUR|DAY)S?", inner)
        period = f"{match[1]}{match[2][0].lower()}" if match else "5m"
        return f'cron "{shown}": an interval is no cron; write every: {period}'
    if kind == "AT":
        return f'cron "{shown}" is a single moment; write at: "{inner}"'
    fields = inner.split()
    meant = _of_provider(fields)
    if meant is None:
        form = "another scheduler's form, and not right there either"
        return f'cron "{shown}" is {form}: it wants {_ORDER}, one day field as ?'
    return f'cron "{shown}" is another scheduler\'s form; write {meant}'


def _of_provider(fields: list[str]) -> str | None:
    """Return minute to weekday of six fields with the year last, in which 1 is Sunday; None where they are wrong there."""
    if len(fields) != 6 or not _YEARS.fullmatch(fields[5]) or (fields[2] == "?") == (fields[4] == "?"):
        return None
    weekday = counted_from_sunday(fields[4])
    if weekday is None or not all(re.fullmatch(_FIELD, field) for field in fields[:4]):
        return None
    five = " ".join([*("*" if field == "?" else field for field in fields[:4]), "*" if weekday == "?" else weekday])
    return _without_year(five, fields[5])


def _without_year(five: str, year: str) -> str:
    return five if year == "*" else f"{five} (a year is not supported; list single moments with at: instead)"


def counted_from_sunday(field: str) -> str | None:
    """Return a weekday field in which 1 is Sunday with names in place of numbers; None where a number is none of 1-7."""
    if field == "L":
        return "SAT"
    wrong = False

    def named(match: re.Match[str]) -> str:
        nonlocal wrong
        number = int(match[0])
        wrong = wrong or not 1 <= number <= 7
        return WEEKDAYS[(number - 1) % 7]

    days = re.sub(r"(?<![#/\d])\d+", named, field)
    return None if wrong else days


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
            meant = _without_year(" ".join("*" if field == "?" else field for field in fields[:5]), fields[5])
        return f'cron "{shown}": six fields are read with the second first, but these look like {_ORDER}; write {meant}'
    if len(fields) == 7 and _YEARS.fullmatch(upper[6]):
        if upper[6] == "*":
            return f'cron "{shown}" has 7 fields; a year is not supported, write the first six (the second first)'
        return f'cron "{shown}" has 7 fields; a year is not supported, list single moments with at: instead'
    if len(fields) > 6:
        return (
            f'cron "{shown}" has {len(fields)} fields; write the five of the schedule here, a command as command:, '
            "a comment as reason:"
        )
    return None


def _is_cron(fields: list[str]) -> bool:
    return all(re.fullmatch(_FIELD, field) for field in fields)


def _what_follows(shown: str, fields: list[str]) -> str | None:
    """The five fields may be followed by what crontab files and other tools write there."""
    sixth = fields[5]
    five = " ".join(fields[:5])
    if len(fields) == 6 and (
        re.fullmatch(r"[A-Za-z]+(/[A-Za-z0-9_+\-]+)+", sixth) or sixth.upper() in ("UTC", "GMT", "Z")
    ):
        return f'cron "{shown}": the zone goes into its own field, tz: {sixth}'
    if not re.fullmatch(_FIELD, sixth.upper()):
        return f'cron "{shown}" is a line of a crontab; write cron: "{five}", and the command as command:'
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
        if quartz is not None and quartz != here:
            raise ValueError(
                f'cron "{shown}": with ? and six fields the weekday {weekday} may be Quartz\'s, where 1 is Sunday '
                f"({quartz}), or cron's, where 1 is Monday ({here}); write the names"
            )
    return [second, minute, hour, "*" if day == "?" else day, month, "*" if weekday == "?" else weekday]


def _counted_from_monday(field: str) -> str:
    return re.sub(r"(?<![#/\d])\d+", lambda match: WEEKDAYS[int(match[0]) % 7], field)


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
