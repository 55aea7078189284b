"""What a job may raise to say what should happen next, in people's words.

Rule of the file: the engine knows the types of ``engine.errors``; these only read durations.
"""

from __future__ import annotations

from datetime import timedelta

from noonmark.door.words import micros
from noonmark.engine import errors
from noonmark.rules.parts import Length


class RetryLater(errors.Retry):
    """Fail this attempt and try again, not before ``after``.

    ``after`` is "90s", a timedelta, or seconds as a ``Retry-After`` header has them; without it the job's backoff
    decides.  Either way it uses up a retry.
    """

    def __init__(self, message: str = "", *, after: Length | float | None = None) -> None:
        super().__init__(message, after=_wait(after))


def _wait(after: Length | float | None) -> timedelta | None:
    if after is None or isinstance(after, timedelta):
        return after
    if isinstance(after, (int, float)):
        return timedelta(seconds=max(0.0, min(float(after), 366 * 86_400.0)))
    return timedelta(microseconds=micros(after, "after"))
