"""The lock port: one name, at most one holder, for as long as the server says.

Rule of the file: a lock is an optimisation.  Whoever holds one may have lost it without knowing (a pause, a partition, a
failover), so every grant carries a fence, and what the lock protects has to refuse old fences (``FencedResource``).

Times are lengths in microseconds; no instant of one machine is compared with one of another.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from noonmark.core.model import LockRule, Micros
from noonmark.core.values import dataclass


class LockError(Exception):
    """The lock service did not answer, so the outcome is unknown; the token tells later whose lock it is."""


class LockUnusable(LockError):
    """The lock service cannot serve until a person acts; the message says what to do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Grant:
    """What a holder got."""

    fence: int  # greater than that of every earlier grant of this name
    validity: Micros  # how long to trust it, counted from when it was asked for; never longer than the ttl


_new_grant: Callable[[type[Grant]], Grant] = object.__new__
_set_fence: Any = Grant.__dict__["fence"].__set__
_set_validity: Any = Grant.__dict__["validity"].__set__


def granted(fence: int, validity: Micros) -> Grant:
    """Return a grant, in the quickest way."""
    grant = _new_grant(Grant)
    _set_fence(grant, fence)
    _set_validity(grant, validity)
    return grant


class Locks(Protocol):
    """One lock service.  Safe to use from several threads; every call is one attempt and never waits for a holder."""

    @property
    def kind(self) -> str:
        """``redis redlock postgres postgres-advisory sqlite etcd zookeeper memory``."""
        ...

    @property
    def url(self) -> str:
        """Where it is, without secrets."""
        ...

    def acquire(self, name: str, ttl: Micros, token: str) -> Grant | None:
        """Take the lock if it is free; None when somebody holds it.

        Asking again with the token that holds it returns the same fence (a lost reply costs nothing) and counts the ttl
        anew.
        """
        ...

    def renew(self, name: str, ttl: Micros, token: str) -> Grant | None:
        """Count the ttl anew if ``token`` holds the lock, and return the grant with its unchanged fence; else None."""
        ...

    def release(self, name: str, token: str) -> bool:
        """Free the lock if ``token`` holds it; False (and nothing changes) when it does not."""
        ...

    def close(self) -> None:
        """Give back connections and threads.  Calling it twice does no harm."""
        ...


class KeptLock(Protocol):
    """A lock that is held and kept for a run: it is renewed by itself until it is given back or lost."""

    @property
    def fence(self) -> int:
        """Greater than that of every earlier holder."""
        ...

    @property
    def lost(self) -> bool:
        """True once it is not ours any more, or may not be."""
        ...

    def release(self) -> None:
        """Give it back.

        Raises:
            LockError: no answer; it is not renewed any more and frees itself within its ttl.
        """
        ...

    def abandon(self) -> None:
        """Stop renewing and do not give it back: what runs under it may not have ended."""
        ...


class LockSource(Protocol):
    """Where the locks of jobs come from.  Safe to use from several threads."""

    def keep(self, rule: LockRule, name: str, on_lost: Callable[[], None]) -> KeptLock | None:
        """Take a job's lock if it is free, and keep it; None when somebody holds it.

        Args:
            rule: where and for how long.
            name: the lock's name, rendered.
            on_lost: called at most once, from any thread, when it is lost while it is kept.

        Raises:
            LockError: the service does not answer, or the rule names none; the message says what to do.
        """
        ...

    def place(self, rule: LockRule) -> str:
        """Return where the rule's lock is, without secrets; "" when that is not known."""
        ...

    def close(self) -> None:
        """Give back connections and threads."""
        ...
