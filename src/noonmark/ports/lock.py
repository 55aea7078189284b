"""The lock port: one name, at most one holder, for as long as the server says.

Rule of the file: a lock is an optimisation.  Whoever holds one may have lost it without knowing (a pause, a partition, a
failover), so every grant carries a fence, and what the lock protects has to refuse old fences (``FencedResource``).

Times are lengths in microseconds; no instant of one machine is compared with one of another.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from noonmark.core.model import Micros


class LockError(Exception):
    """The lock service did not answer, so the outcome is unknown; the token tells later whose lock it is."""


class LockUnusable(LockError):
    """The lock service cannot serve until a person acts; the message says what to do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Grant:
    """What a holder got."""

    fence: int  # greater than that of every earlier grant of this name
    validity: Micros  # how long to trust it, counted from when it was asked for; never longer than the ttl


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
