"""What a job may raise to say what should happen next, in people's words.

Rule of the file: the engine knows the types of ``engine.errors``; these only read durations and moments.
"""

from __future__ import annotations

import re
from datetime import datetime, timedelta

from noonmark.core import times
from noonmark.door.words import micros
from noonmark.engine import errors
from noonmark.ports.clock import SystemClock
from noonmark.rules.parts import Length


class RetryLater(errors.Retry):
    """Fail this attempt and try again, not before ``after``.

    ``after`` is "90s", a timedelta, or what a ``Retry-After`` header says: seconds, as a number or as the text of one, or
    a date.  An aware datetime or an ISO text with its offset is a moment, by this machine's clock.  Without it the job's
    backoff decides.  Either way it uses up a retry.
    """

    def __init__(self, message: str = "", *, after: Length | float | datetime | None = None) -> None:
        super().__init__(message, after=_wait(after))


def _wait(after: Length | float | datetime | None) -> timedelta | None:
    if after is None or isinstance(after, timedelta):
        return after
    if isinstance(after, str) and re.fullmatch(r"\s*[0-9]{1,12}(?:\.[0-9]{1,9})?\s*", after):
        after = float(after)
    if isinstance(after, (int, float)):
        return timedelta(seconds=max(0.0, min(float(after), 366 * 86_400.0)))
    moment = _moment(after) if isinstance(after, str) else after
    if moment is None:
        return timedelta(microseconds=micros(str(after), "after"))
    return timedelta(microseconds=max(0, times.instant_of(moment) - SystemClock().wall()))


def _moment(text: str) -> datetime | None:
    """Return the moment of a date, as headers or ISO texts have it; None where it is none."""
    if re.match(r"\s*\d{4}-\d\d-\d\d", text):
        return times.to_datetime(times.parse_instant(text, None))
    if re.search(r"\d\d:\d\d:\d\d", text):
        from email.utils import parsedate_to_datetime  # dear, and needed only here

        return parsedate_to_datetime(text)
    return None
