"""The locks of jobs, through the same ``lock()`` that everybody uses.

Promise: a rule's lock is found where the rule says, else where locks are kept here, and is never another kind than the
rule names.

Rule of the file: from rules to ``lock()`` and back; what a lock is stands elsewhere.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from datetime import timedelta

from noonmark.core.model import LockRule
from noonmark.core.urls import lock_kind, without_secrets
from noonmark.locks.errors import LockTaken, LockUrlError
from noonmark.locks.held import Held
from noonmark.locks.holding import Lock, lock
from noonmark.ports.lock import KeptLock, LockError


class JobLockSource:
    """Where the locks of jobs come from.

    Args:
        store_url: whose server keeps locks when neither the rule nor NOONMARK_LOCK_URL says otherwise.
    """

    def __init__(self, store_url: str) -> None:
        self._store_url = store_url

    def keep(self, rule: LockRule, name: str, on_lost: Callable[[], None]) -> KeptLock | None:
        """Take the lock and keep it renewed; None when somebody holds it."""
        url = self._url(rule)
        kind = lock_kind(url.partition("://")[0])
        if rule.kind and kind != rule.kind:
            raise LockUrlError(
                f"the rule wants a lock of kind {rule.kind}, and {without_secrets(url)} is {kind or 'no lock service'}; "
                "write lock.at, or set NOONMARK_LOCK_URL"
            )
        try:
            return keep(lock(name, ttl=timedelta(microseconds=rule.ttl), at=url, on_lost=on_lost))
        except LockError:
            raise
        except (ValueError, TypeError) as error:
            raise LockUrlError(str(error)) from error

    def place(self, rule: LockRule) -> str:
        """Return where the rule's lock is, without secrets."""
        try:
            return without_secrets(self._url(rule))
        except LockError:
            return ""

    def close(self) -> None:
        """Nothing of its own: services are shared by the process and end with it."""

    def _url(self, rule: LockRule) -> str:
        if rule.at.startswith("env:"):
            name = rule.at.removeprefix("env:")
            found = os.environ.get(name, "").strip()
            if not found:
                raise LockUrlError(f"lock.at names the environment variable {name}, which is not set here")
            return found
        return rule.at or os.environ.get("NOONMARK_LOCK_URL", "").strip() or self._store_url


def keep(wanted: Lock) -> KeptLock | None:
    """Take a lock and keep it as the engine does; None when somebody holds it."""
    try:
        return _Kept(wanted.acquire())
    except LockTaken:
        return None


class _Kept:
    """A held lock as the engine keeps it."""

    def __init__(self, held: Held) -> None:
        self._held = held

    @property
    def fence(self) -> int:
        """Greater than that of every earlier holder."""
        return self._held.fence

    @property
    def lost(self) -> bool:
        """True once it is not ours any more, or may not be."""
        return self._held.lost

    def release(self) -> None:
        """Give it back."""
        self._held.release()

    def abandon(self) -> None:
        """Stop renewing and leave it to its ttl."""
        self._held.service.keeper.forget(self._held)
