"""What can go wrong with a lock, said so that a person can act.

Rule of the file: ``LockError`` (in ``ports.lock``) means that the service did not answer; what stands here are answers.
"""

from __future__ import annotations

from noonmark.core.urls import without_quoted_secrets
from noonmark.ports.lock import LockError, LockUnusable


class LockTaken(Exception):
    """Somebody else holds the lock, and the time to wait for it is over."""


class LockLost(Exception):
    """The lock is not ours any more, or may not be: what it protects must not be touched."""


class StaleFence(LockLost):
    """A later holder has been here: the read or write was refused and nothing changed."""


class LockUrlError(LockUnusable, ValueError):
    """The URL names no lock service; the message says what to write instead.

    No secret of the URL stands in it, whatever it quotes.
    """

    def __init__(self, said: str = "") -> None:
        super().__init__(without_quoted_secrets(said))


class LockDriverMissing(LockUrlError):
    """The URL is fine, but the package that speaks to such a service is not installed here; the message says how to."""


def no_answer(where: str, said: str) -> LockError:
    """Return the error that says that a service did not answer.

    Args:
        where: the service, without secrets.
        said: why, in the driver's words.
    """
    return LockError(
        f"{where} does not answer: {_ended(said)} It may have been done all the same; a lock frees itself after its ttl."
    )


def refusal(where: str, said: str, remedy: str) -> LockUnusable:
    """Return the error that says that a service does not serve until somebody acts, and what to do."""
    return LockUnusable(f"{where} refuses to serve locks: {_ended(said)} {remedy}")


def within(error: BaseException) -> str:
    """Return what an error says, to stand inside a sentence."""
    return str(error).rstrip(". ")


def _ended(said: str) -> str:
    """Drivers end what they say with a full stop, a question mark or nothing."""
    said = " ".join(said.split())
    return said if said.endswith(("?", "!")) else f"{said.rstrip('. ')}."
