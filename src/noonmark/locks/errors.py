"""What can go wrong with a lock, said so that a person can act.

Rule of the file: ``LockError`` (in ``ports.lock``) means that the service did not answer; what stands here are answers.
"""

from __future__ import annotations

from noonmark.ports.lock import LockUnusable


class LockTaken(Exception):
    """Somebody else holds the lock, and the time to wait for it is over."""


class LockLost(Exception):
    """The lock is not ours any more, or may not be: what it protects must not be touched."""


class StaleFence(LockLost):
    """A later holder has been here: the read or write was refused and nothing changed."""


class LockUrlError(LockUnusable, ValueError):
    """The URL names no lock service; the message says what to write instead."""


class LockDriverMissing(LockUrlError):
    """The URL is fine, but the package that speaks to such a service is not installed here; the message says how to."""
