"""From a URL to a lock service.

Rule of the file: a kind is imported when it is asked for, so that nobody pays for a driver that is not used.
"""

from __future__ import annotations

import difflib
import importlib
import importlib.util
import os
from typing import Any

from noonmark.core.urls import (
    CUT_PASSWORD,
    DEFAULT_URL,
    DRIVERS,
    driver_missing,
    may_cut_a_password,
    without_secrets,
)
from noonmark.locks.errors import LockDriverMissing, LockUrlError
from noonmark.ports.lock import Locks

_KINDS = {
    "memory": ("noonmark.locks.memory", "open_memory", ""),
    "sqlite": ("noonmark.locks.sqlite", "open_sqlite", ""),
    "redis": ("noonmark.locks.redis", "RedisLocks", "redis"),
    "rediss": ("noonmark.locks.redis", "RedisLocks", "redis"),
    "valkey": ("noonmark.locks.redis", "RedisLocks", "redis"),
    "valkeys": ("noonmark.locks.redis", "RedisLocks", "redis"),
    "redis+sentinel": ("noonmark.locks.redis", "RedisLocks", "redis"),
    "redis+cluster": ("noonmark.locks.redis", "RedisLocks", "redis"),
    "rediss+sentinel": ("noonmark.locks.redis", "RedisLocks", "redis"),
    "rediss+cluster": ("noonmark.locks.redis", "RedisLocks", "redis"),
    "redlock": ("noonmark.locks.redlock", "Redlock", "redis"),
    "postgresql": ("noonmark.locks.postgres_kinds", "open_postgres", "postgres"),
    "postgres": ("noonmark.locks.postgres_kinds", "open_postgres", "postgres"),
    "etcd": ("noonmark.locks.etcd", "EtcdLocks", "etcd"),
    "etcds": ("noonmark.locks.etcd", "EtcdLocks", "etcd"),
    "zookeeper": ("noonmark.locks.zookeeper", "ZooKeeperLocks", "zookeeper"),
    "zookeepers": ("noonmark.locks.zookeeper", "ZooKeeperLocks", "zookeeper"),
}
"""Scheme -> module, callable of the URL, and the extra that installs its driver."""


def lock_url(url: str | None = None) -> str:
    """Return the URL in force: the argument, else NOONMARK_LOCK_URL, else NOONMARK_URL, else the SQLite file.

    Raises:
        LockUrlError: an argument without anything in it, as an unset variable gives: a lock on this machine, which the
            default may mean, would keep nobody on another one away.
        TypeError: an argument that is no text.
    """
    if url is not None and not isinstance(url, str):
        raise TypeError(f"a lock URL is text, not {type(url).__name__}")
    if url is not None and not url.strip():
        raise LockUrlError(
            "the lock URL is empty; write one, for example redis://host:6379/0, or leave it out:"
            " then NOONMARK_LOCK_URL counts, else NOONMARK_URL, else a SQLite file on this machine"
        )
    for found in (url, os.environ.get("NOONMARK_LOCK_URL"), os.environ.get("NOONMARK_URL")):
        if found and found.strip():
            return found.strip()
    return DEFAULT_URL


def open_locks(url: str | None = None) -> Locks:
    """Open the lock service at ``url``; close it with ``close``.

    Args:
        url: one of

            ``redis://host:6379/0`` (also rediss, valkey, valkeys), ``redis+sentinel://h:p,h:p/service``,
            ``redis+cluster://h:p,h:p``;
            ``redlock://h:p,h:p,h:p`` (three or five independent servers);
            ``postgresql://user@host/db`` (``?kind=advisory`` for session locks);
            ``etcd://h:p``; ``zookeeper://h:p,h:p,h:p``;
            ``sqlite:///file.db``; ``memory://``.

            None = NOONMARK_LOCK_URL, else NOONMARK_URL, else a file in ``.noonmark/``.

    Raises:
        LockUrlError: no such service, with what to write instead.
        LockDriverMissing: the package that speaks to it is not installed.
        LockError: the service does not answer (most are asked only when a lock is).
    """
    chosen = lock_url(url)
    scheme, separator, _ = chosen.partition("://")
    scheme = scheme.lower()
    if not separator or scheme not in _KINDS:
        close = difflib.get_close_matches(scheme, _KINDS, n=1) if separator else []
        meant = f"did you mean {close[0]}://? " if close else ""
        known = ", ".join(f"{name}://" for name in _KINDS)
        raise LockUrlError(f'"{without_secrets(chosen)}" names no lock service; {meant}known: {known}')
    module, name, extra = _KINDS[scheme]
    try:
        if (
            extra and importlib.util.find_spec(DRIVERS[extra]) is None
        ):  # most are imported only when a lock is asked for
            raise LockDriverMissing(driver_missing(scheme, DRIVERS[extra], extra))
        opener: Any = getattr(importlib.import_module(module), name)
        locks: Locks = opener(chosen)
    except LockDriverMissing:
        raise
    except LockUrlError:
        if may_cut_a_password(chosen):
            raise LockUrlError(CUT_PASSWORD) from None
        raise
    except ImportError as missing:
        package = (missing.name or "").partition(".")[0] or DRIVERS[extra]
        raise LockDriverMissing(driver_missing(scheme, package, extra)) from missing
    return locks
