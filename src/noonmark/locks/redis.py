"""Locks on one Redis or Valkey: a key that frees itself, compared and changed in one script.

Promises: one holder at a time for as long as the server keeps its data and its clock runs evenly; fences grow as long
as the server keeps the fence memory or its clock does not go back.  A replica that takes over may lack the newest
grants: then two may hold one lock, and only the fence (checked by what is protected) tells them apart.

Rule of the file: the key is ``lock:{name}`` and its value the token, so plain ``SET NX PX`` users share the lock.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from noonmark.core.model import Micros
from noonmark.core.urls import without_secrets
from noonmark.locks.checks import FENCE_MEMORY, check, drift
from noonmark.locks.redis_link import connect, run_on_pool, run_script, translated
from noonmark.ports.lock import Grant, LockUnusable
from noonmark.ports.process import opened_elsewhere, owner


@lru_cache(maxsize=4096)
def keys_of(name: str) -> tuple[str, str]:
    """Return the key of a lock and that of its fence memory, in the same slot of a cluster."""
    key = f"lock:{name}"
    begin = key.find("{")
    end = key.find("}", begin + 1)
    tag = key[begin + 1 : end] if 0 <= begin < end - 1 else key
    return key, f"fence:{{{tag}}}" if tag == key else f"fence:{{{tag}}}:{key}"


class RedisLocks:
    """The locks of one Redis, Valkey, Sentinel service or cluster.

    Args:
        url: see ``redis_link.connect``.
        client: used instead of a client of our own, and left open by ``close``.
    """

    kind = "redis"

    def __init__(self, url: str = "", *, client: Any = None) -> None:
        from redis import exceptions

        self._errors = (exceptions.RedisError, exceptions.RedisClusterException, OSError)
        self._broken = exceptions.ConnectionError
        self._owned = client is None
        self._cluster = "+cluster:" in url
        self._owner = owner()
        self._url = without_secrets(url) if url else "redis (a client of the caller)"
        try:
            self._client = connect(url) if client is None else client
        except self._errors as error:  # a cluster is asked for its nodes at once
            raise translated(self._url, error) from error
        # A cluster chooses among many pools, and a caller's client may be anything that has evalsha.
        self._pool = getattr(self._client, "connection_pool", None) if self._owned and not self._cluster else None

    @property
    def url(self) -> str:
        """Where it is, without secrets."""
        return self._url

    def acquire(self, name: str, ttl: Micros, token: str) -> Grant | None:
        """Take the lock if it is free; None when somebody holds it."""
        return self._hold("acquire", name, ttl, token)

    def renew(self, name: str, ttl: Micros, token: str) -> Grant | None:
        """Count the ttl anew if ``token`` holds the lock; else None."""
        return self._hold("renew", name, ttl, token)

    def _hold(self, how: str, name: str, ttl: Micros, token: str) -> Grant | None:
        check(name, token, ttl)
        keys = keys_of(name)
        if self._cluster and "}" in name and keys[1].startswith("fence:{lock:"):
            raise ValueError(f'in a cluster a lock\'s name cannot have a lone or empty brace: "{name}"')
        milliseconds = -(-ttl // 1000)
        memory = milliseconds + FENCE_MEMORY // 1000
        answer = self._run("hold", keys, token, milliseconds, memory, how, 0, again=True)
        return None if answer is None else Grant(fence=int(answer[0]), validity=ttl - drift(ttl))

    def release(self, name: str, token: str) -> bool:
        """Free the lock if ``token`` holds it."""
        check(name, token)
        return bool(self._run("release", keys_of(name)[:1], token))

    def _run(self, name: str, keys: tuple[str, ...], *args: str | int, again: bool = False) -> Any:
        if not self._owner.is_here and self._owned:
            raise LockUnusable(opened_elsewhere(self._url))
        try:
            if self._pool is not None:
                return run_on_pool(self._pool, name, keys, *args)
            return run_script(self._client, name, keys, *args)
        except self._errors as error:
            # A connection that died while idle costs a repetition where that changes nothing.  A release repeated after
            # a lost answer would say that the lock was not ours.
            if again and type(error) is self._broken:
                return self._run(name, keys, *args)
            raise translated(self._url, error) from error

    def close(self) -> None:
        """Close the client if it is ours."""
        if self._owned and self._owner.is_here:
            self._client.close()
