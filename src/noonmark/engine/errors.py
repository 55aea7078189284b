"""The exceptions that pass between a job and the engine.

Rule of the file: a job says with a type what should happen next; the engine never guesses from a message.
"""

from __future__ import annotations

from datetime import timedelta


class Retry(Exception):
    """Fail this attempt and try again, not before ``after`` where the other side said so (``Retry-After``)."""

    def __init__(self, message: str = "", *, after: timedelta | None = None) -> None:
        super().__init__(message)
        self.after = after


class DoNotRetry(Exception):
    """Fail for good: another attempt would fail the same way, so a person is asked at once."""


class LeaseLost(Exception):
    """This run is no longer ours: another worker may run it, and every write of this one is refused."""


class EffectUnknown(Exception):
    """An outside effect was begun and nobody knows whether it happened; it is never repeated blindly."""


class NoSuchJob(LookupError):
    """The registry has nothing to run under this name."""


class GateClosed(Exception):
    """The worker is stopping and no longer waits for its store."""


def said_by(error: BaseException) -> str:
    """Return the text of an error, empty where it cannot even be made: no error may keep its run from ending."""
    try:
        return str(error)
    except Exception:
        return ""
