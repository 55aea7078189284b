"""Locks on etcd: a key that lives as long as its lease, and the revision of its creation as the fence.

Promises: at most one holder as long as a majority of the members agrees, whatever single members or clocks do; fences
come from the cluster's one revision counter, so they grow across all names (a cluster restored from an old snapshot
counts on from there, unless it is restored with ``--bump-revision``).  A holder that stands still past its ttl has lost
the lock without knowing: only the fence, checked by what is protected, stops it.

Rule of the file: a lease belongs to one grant and to nothing else, so ending the lease ends exactly that grant.  etcd
counts leases in whole seconds and never below about two (1.5 x its election timeout): trust ends with the ttl, but the
lock of a holder that died is free only when the lease is over.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from noonmark.core.model import SECOND, Micros
from noonmark.locks.checks import check, drift
from noonmark.locks.etcd_link import Link
from noonmark.ports.lock import Grant

PREFIX = "noonmark/locks/"
_REMEMBERED = 4096
"""How many names and leases are remembered.  Forgetting one costs a round trip, nothing else."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Hold:
    """What we know of a grant of ours."""

    lease: int
    seconds: int  # asked for; etcd may have given more
    fence: int


class EtcdLocks:
    """The locks of one etcd, or of one cluster.

    Args:
        url: ``etcd://user:password@host:2379,host:2379?ca=…&cert=…&key=…&server_name=…&timeout=5``.

    Raises:
        LockUrlError: with what to write instead.
    """

    kind = "etcd"

    def __init__(self, url: str) -> None:
        self._link = Link(url)
        # Both belong to the link's loop.
        self._holds: OrderedDict[tuple[str, str], _Hold] = OrderedDict()
        self._busy: OrderedDict[str, None] = OrderedDict()

    @property
    def url(self) -> str:
        """Where it is, without secrets."""
        return self._link.place.shown

    def acquire(self, name: str, ttl: Micros, token: str) -> Grant | None:
        """Take the lock if it is free; None when somebody holds it."""
        check(name, token, ttl)
        fence = self._link.call(lambda client: self._acquire(client, name, _seconds(ttl), token), _patience(ttl))
        return None if fence is None else Grant(fence=fence, validity=ttl - drift(ttl))

    def renew(self, name: str, ttl: Micros, token: str) -> Grant | None:
        """Count the ttl anew if ``token`` holds the lock; else None."""
        check(name, token, ttl)
        fence = self._link.call(lambda client: self._renew(client, name, _seconds(ttl), token), _patience(ttl))
        return None if fence is None else Grant(fence=fence, validity=ttl - drift(ttl))

    def release(self, name: str, token: str) -> bool:
        """Free the lock if ``token`` holds it."""
        check(name, token)
        return self._link.call(lambda client: self._release(client, name, token), self._link.place.timeout)

    def close(self) -> None:
        """Close the connection and end its thread; what is held lapses with its ttl."""
        self._link.close()

    # -- on the loop --------------------------------------------------------------------------------

    async def _acquire(self, client: Any, name: str, seconds: int, token: str) -> int | None:
        key, value = lock_key(name), token.encode()
        if name in self._busy:  # who waits asks with a read first: it leaves no lease and no entry in etcd's log
            found = await client.get(key)
            if found is not None and found.value != value:
                return None
        lease = await client.lease(seconds)
        try:
            is_ours, answers = await client.transaction(
                compare=[client.transactions.create(key) == 0],
                success=[client.transactions.put(key, value, lease.id), client.transactions.get(key)],
                failure=[client.transactions.get(key)],
            )
        except BaseException:
            self._revoke(lease.id)  # whether or not the key is there, it must not outlive a call that failed
            raise
        found = answers[-1][0][1]
        if not is_ours and found.value == value:  # our own, from an earlier call: count the ttl anew
            return await self._move(client, name, token, lease.id, seconds)
        if not is_ours:
            self._revoke(lease.id)
            _remember(self._busy, name, None)
            return None
        self._busy.pop(name, None)
        fence = int(found.create_revision)
        _remember(self._holds, (name, token), _Hold(lease=lease.id, seconds=seconds, fence=fence))
        return fence

    async def _renew(self, client: Any, name: str, seconds: int, token: str) -> int | None:
        hold = self._holds.get((name, token))
        if hold is not None and hold.seconds == seconds:
            # The lease first: were the key read first, it could lapse between the two and both would say yes.
            kept = await client.refresh_lease(hold.lease)
            found = await client.get(lock_key(name)) if kept is not None and kept.TTL > 0 else None
            if found is not None and found.value == token.encode() and found.create_revision == hold.fence:
                return hold.fence
            self._holds.pop((name, token), None)
        # Granted or renewed by another client, or for another length: give it a lease that fits.
        found = await client.get(lock_key(name))
        if found is None or found.value != token.encode():
            return None
        lease = await client.lease(seconds)
        return await self._move(client, name, token, lease.id, seconds)

    async def _release(self, client: Any, name: str, token: str) -> bool:
        key = lock_key(name)
        is_ours, answers = await client.transaction(
            compare=[client.transactions.value(key) == token.encode()],
            success=[client.transactions.get(key), client.transactions.delete(key)],
            failure=[],
        )
        self._holds.pop((name, token), None)
        if is_ours:
            self._revoke(int(answers[0][0][1].lease))
        return bool(is_ours)

    async def _move(self, client: Any, name: str, token: str, lease: int, seconds: int) -> int | None:
        """Hang the key on a fresh lease, if it is still ours; the revision of its creation, our fence, stays."""
        key, value = lock_key(name), token.encode()
        # Should this fail, the fresh lease must be left alone: the key may hang on it already, and the holder still trusts.
        is_ours, answers = await client.transaction(
            compare=[client.transactions.value(key) == value],
            success=[client.transactions.get(key), client.transactions.put(key, value, lease)],
            failure=[],
        )
        if not is_ours:
            self._revoke(lease)
            return None
        before = answers[0][0][1]
        if before.lease != lease:
            self._revoke(int(before.lease))
        fence = int(before.create_revision)
        _remember(self._holds, (name, token), _Hold(lease=lease, seconds=seconds, fence=fence))
        return fence

    def _revoke(self, lease: int) -> None:
        if lease:
            self._link.errand(lambda client: client.revoke_lease(lease))


def lock_key(name: str) -> bytes:
    """Return the key of a lock: one path element, whatever the name holds, so that names can be granted by prefix."""
    return (PREFIX + quote(name, safe="")).encode()


def _seconds(ttl: Micros) -> int:
    return max(1, -(-ttl // SECOND))


def _patience(ttl: Micros) -> float:
    """An answer that comes when the ttl is over is worth nothing."""
    return max(ttl / 1e6, 0.2)


def _remember(memory: OrderedDict[Any, Any], key: Any, value: Any) -> None:
    memory[key] = value
    memory.move_to_end(key)
    while len(memory) > _REMEMBERED:
        memory.popitem(last=False)
