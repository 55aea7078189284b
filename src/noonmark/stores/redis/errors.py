"""What goes wrong between here and the server, said so that a person can act.

Rule of the file: no redis-py exception leaves this store.  What may pass by itself (a connection, a failover, a server that
starts) is ``StoreUnreachable``: the caller repeats with the same request id.  What only a person can mend (a password, a
missing right) is ``StoreUnusable``.

A server whose memory is full (OOM), or that cannot save (MISCONF), refuses writes until that has passed.  It is
``StoreFull``: it may need a person and it may not (a failed fork passes), workers that wait lose nothing, and the message
says what to look at.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from redis import exceptions

from noonmark.ports.store import StoreError, StoreFull, StoreUnreachable, StoreUnusable
from noonmark.stores.redis.sentinels import NoPrimary

PASSING = {
    "LOADING": "the server is loading its data",
    "READONLY": "this server is a replica now",
    "MASTERDOWN": "the replica has lost its primary",
    "CLUSTERDOWN": "the cluster does not serve this slot",
    "TRYAGAIN": "the cluster is moving this slot",
    "ASK": "the cluster is moving this slot",
    "MOVED": "the cluster has moved this slot",
    "BUSY": "the server is busy with a script",
    "NOREPLICAS": "too few replicas are in step (min-replicas-to-write)",
    "NOSCRIPT": "the server has forgotten a script",
    "UNBLOCKED": "a failover interrupted the wait for a replica",
}
"""Beginnings of error replies that may pass by themselves."""

_FULL = "its memory is full"
_MAKE_ROOM = "Raise maxmemory, or remove what else lives in this server; nothing of the last change was kept."
_CANNOT_SAVE = "the server cannot save its data and refuses writes; look at its log and its disk"

FOR_A_PERSON = {
    "NOAUTH": ("it asks for a password", "Write it into the URL: redis://user:password@host:6379/0."),
    "WRONGPASS": ("user name or password are wrong", "Correct them in the URL."),
    "NOPERM": (
        "the user lacks a right",
        "Grant it: ACL SETUSER name ~noonmark:* &noonmark:* ~lock:* ~fence:* +@all -@dangerous +info +config|get.",
    ),
    "CERTIFICATE": (
        "its certificate is not trusted",
        "Name the authority that signed it (ssl_ca_certs=FILE), and the host as the certificate does.",
    ),
    "WRONGTYPE": ("a key of this namespace holds something else", "Choose another namespace: ...?namespace=name."),
}


def unusable(url: str, why: str, remedy: str) -> StoreUnusable:
    """Return the error for a store that cannot serve until a person acts."""
    return StoreUnusable(f"cannot use the store {url}: {why}. {remedy}")


def unreachable(url: str, why: str) -> StoreUnreachable:
    """Return the error for a store that may come back by itself."""
    return StoreUnreachable(f"the store {url} does not answer: {why}")


def translated(url: str, error: Exception) -> StoreError:
    """Return the store error that says what this error means to a person."""
    said = " ".join(str(error).split()) or type(error).__name__
    word = said.removeprefix("-").split(" ", 1)[0].rstrip(":")
    if isinstance(error, NoPrimary):
        return _without_primary(url, error)
    if "CERTIFICATE_VERIFY_FAILED" in said:
        return unusable(url, f"its certificate is not trusted ({said})", FOR_A_PERSON["CERTIFICATE"][1])
    if isinstance(error, exceptions.AuthenticationError) or word in ("NOAUTH", "WRONGPASS"):
        why, remedy = FOR_A_PERSON["NOAUTH" if "NOAUTH" in said or "required" in said.lower() else "WRONGPASS"]
        return unusable(url, why, remedy)
    if isinstance(error, exceptions.NoPermissionError):
        why, remedy = FOR_A_PERSON["NOPERM"]
        return unusable(url, f"{why} ({said})", remedy)
    if isinstance(error, exceptions.OutOfMemoryError) or word == "OOM" or " OOM " in f" {said} ":
        return StoreFull(f"cannot use the store {url}: {_FULL}. {_MAKE_ROOM}")
    if word == "MISCONF" or " MISCONF " in f" {said} ":
        return StoreFull(str(unreachable(url, _CANNOT_SAVE)))
    for beginning, why in PASSING.items():
        if word == beginning or f" {beginning} " in f" {said} ":
            return unreachable(url, why)
    if isinstance(error, exceptions.BusyLoadingError):
        return unreachable(url, PASSING["LOADING"])
    if isinstance(error, exceptions.ReadOnlyError):
        return unreachable(url, PASSING["READONLY"])
    if isinstance(error, exceptions.TryAgainError):
        return unreachable(url, PASSING["TRYAGAIN"])
    if "cannot be used with replica instances" in said:  # WAIT, asked before anything is written
        return unreachable(url, PASSING["READONLY"])
    if isinstance(error, exceptions.AskError):  # MovedError is one, too
        return unreachable(url, PASSING["MOVED" if isinstance(error, exceptions.MovedError) else "ASK"])
    if isinstance(error, exceptions.ClusterDownError):
        return unreachable(url, PASSING["CLUSTERDOWN"])
    if isinstance(error, (exceptions.ConnectionError, exceptions.TimeoutError, OSError)):
        return unreachable(url, said)
    for beginning, (why, remedy) in FOR_A_PERSON.items():
        if word == beginning or f" {beginning} " in f" {said} ":
            return unusable(url, f"{why} ({said})", remedy)
    if "invalid DB index" in said or "DB index is out of range" in said:
        return unusable(url, "it has no database of this number", "Name another one: redis://host:6379/0.")
    if "cluster support disabled" in said:
        return unusable(url, "it is no cluster", "Write redis:// (or rediss://) in the URL.")
    if "unknown command 'SENTINEL'" in said:
        return unusable(url, "it is no sentinel", "Name the sentinels and their port (26379), or write redis://.")
    if "unknown command" in said.lower():
        return unusable(
            url, f"it does not know a command that is needed ({said})", "Use Redis 6.2 or newer, or Valkey."
        )
    return StoreError(f"the store {url} failed: {said}")


def _without_primary(url: str, error: NoPrimary) -> StoreError:
    if error.refused:
        return unusable(
            url, "the sentinels refuse the credentials", "Write sentinel_username and sentinel_password into the URL."
        )
    if error.known is not None:
        names = ", ".join(error.known) or "none"
        return unusable(
            url, f"the sentinels know no service {error.service} (they know: {names})", "Name one of those in the URL."
        )
    return unreachable(url, f"no sentinel names a primary of {error.service} ({error.said})")


@contextmanager
def translating(url: str) -> Iterator[None]:
    """Turn every error of the driver inside the block into a store error."""
    try:
        yield
    except StoreError:
        raise
    except (exceptions.RedisError, exceptions.RedisClusterException, OSError) as error:
        raise translated(url, error) from error
