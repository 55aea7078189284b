"""Locks for everybody: one interface over six kinds of service, with tokens, fences and an end of trust.

A lock is an optimisation: it keeps two from doing the same work at once, most of the time.  What must never happen twice
needs a key (the scheduler's jobs have one) or a fence that the protected thing itself checks (``FencedResource``).

Rule of the file: names only, each imported when it is first used.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from noonmark.locks.bare import ZSET, acquire, poll_once, release, renew, schedule
    from noonmark.locks.errors import LockLost, LockTaken, LockUrlError, StaleFence
    from noonmark.locks.fenced import Fenced, FencedResource
    from noonmark.locks.fenced_file import FencedFile
    from noonmark.locks.fenced_key import FencedKey
    from noonmark.locks.fenced_row import FencedRow, guard
    from noonmark.locks.held import Held
    from noonmark.locks.holding import Lock, lock
    from noonmark.locks.opening import open_locks
    from noonmark.ports.lock import Grant, LockError, Locks, LockUnusable

_HOMES = {
    "noonmark.locks.bare": ("ZSET", "acquire", "poll_once", "release", "renew", "schedule"),
    "noonmark.locks.errors": ("LockLost", "LockTaken", "LockUrlError", "StaleFence"),
    "noonmark.locks.fenced": ("Fenced", "FencedResource"),
    "noonmark.locks.fenced_file": ("FencedFile",),
    "noonmark.locks.fenced_key": ("FencedKey",),
    "noonmark.locks.fenced_row": ("FencedRow", "guard"),
    "noonmark.locks.held": ("Held",),
    "noonmark.locks.holding": ("Lock", "lock"),
    "noonmark.locks.opening": ("open_locks",),
    "noonmark.ports.lock": ("Grant", "LockError", "LockUnusable", "Locks"),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [
    "ZSET",
    "Fenced",
    "FencedFile",
    "FencedKey",
    "FencedResource",
    "FencedRow",
    "Grant",
    "Held",
    "Lock",
    "LockError",
    "LockLost",
    "LockTaken",
    "LockUnusable",
    "LockUrlError",
    "Locks",
    "StaleFence",
    "acquire",
    "guard",
    "lock",
    "open_locks",
    "poll_once",
    "release",
    "renew",
    "schedule",
]


def __getattr__(name: str) -> Any:
    home = _HOME_OF.get(name)
    if home is None:
        raise AttributeError(f"module 'noonmark.locks' has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(home), name)
    globals()[name] = value
    return value
