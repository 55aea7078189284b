"""What the server is and what that means for jobs, found out and never assumed.

Rule of the file: what could not be read is a finding of its own.
"""

from __future__ import annotations

from collections.abc import Collection

from noonmark.ports.doctor import Finding
from noonmark.stores.redis.address import Address
from noonmark.stores.redis.durability import of_persistence, of_replicas
from noonmark.stores.redis.server import Server

OLDEST = (6, 2)
NEAR_FULL = 0.8
PASSING = frozenset({"memory_full", "saving_fails"})
"""Codes of what is wrong only as long as there is no room: opening does not refuse it, workers wait."""


def findings(server: Server, address: Address) -> list[Finding]:
    """Return what a person should know about the server."""
    found = [
        _of_version(server),
        *_of_place(server, address),
        *_of_eviction(server),
        *_of_memory(server),
        *_of_saving(server),
    ]
    found += [*of_persistence(server, address), *of_replicas(server, address)]
    if server.unread:
        names = " and ".join(server.unread)
        found.append(
            Finding(
                code="server_unread",
                level="warn",
                sentence=f"The server does not let this user read {names}, so what it keeps after a crash is unknown.",
                remedy="Grant +info and +config|get, or look at appendonly, appendfsync and maxmemory-policy yourself.",
                detail={"commands": names},
            )
        )
    return found


def _of_version(server: Server) -> Finding:
    detail = {"server": server.name, "version": server.shown}
    if server.version and server.version < OLDEST:
        return Finding(
            code="server_too_old",
            level="refuse",
            sentence=f"{server.name} {server.shown} is too old; Redis 6.2 is the oldest that has what is needed.",
            remedy="Upgrade the server to Redis 6.2 or newer, or to Valkey.",
            detail=detail,
        )
    return Finding(code="server_version", level="ok", sentence=f"{server.name} {server.shown}.", detail=detail)


def _of_place(server: Server, address: Address) -> Collection[Finding]:
    if not server.is_cluster or address.kind == "cluster":
        return ()
    secure = "rediss" if address.tls else "redis"
    return (
        Finding(
            code="cluster_node",
            level="refuse",
            sentence="This server is one node of a cluster: it serves some namespaces now, and others after the next move.",
            remedy=f"Write {secure}+cluster://host:port,host:port/ in the URL.",
            detail={"scheme": f"{secure}+cluster"},
        ),
    )


def _of_eviction(server: Server) -> Collection[Finding]:
    if server.policy in (None, "noeviction"):
        return ()
    detail = {"policy": server.policy, "maxmemory": server.maxmemory}
    remedy = "Run CONFIG SET maxmemory-policy noeviction, and write the same into the server's configuration."
    if not server.maxmemory:
        return (
            Finding(
                code="eviction_possible",
                level="warn",
                sentence=(
                    f"maxmemory-policy is {server.policy}: as soon as maxmemory is set, the server would drop "
                    "occurrences or remembered requests."
                ),
                remedy=remedy,
                detail=detail,
            ),
        )
    return (
        Finding(
            code="eviction_on",
            level="refuse",
            sentence=(
                f"maxmemory-policy is {server.policy}: when memory is full the server drops keys, so occurrences or "
                "remembered requests would be lost without a word."
            ),
            remedy=remedy,
            detail=detail,
        ),
    )


def _of_memory(server: Server) -> Collection[Finding]:
    if not server.maxmemory or server.used_memory is None:
        return ()
    if server.used_memory >= server.maxmemory:
        return (_full(server.used_memory, server.maxmemory),)
    share = server.used_memory / server.maxmemory
    detail = {"used": server.used_memory, "maxmemory": server.maxmemory, "percent": round(100 * share)}
    if share < NEAR_FULL:
        return (Finding(code="memory_free", level="ok", sentence=f"Memory is {share:.0%} full.", detail=detail),)
    return (
        Finding(
            code="memory_near",
            level="warn",
            sentence=f"Memory is {share:.0%} full; at 100% the server refuses every write and nothing is scheduled.",
            remedy="Raise maxmemory, or remove what else lives in this server.",
            detail=detail,
        ),
    )


def _full(used: int, maxmemory: int) -> Finding:
    return Finding(
        code="memory_full",
        level="refuse",
        sentence="Memory is full: the server refuses every write, so nothing starts and nothing is recorded; workers wait.",
        remedy="Raise maxmemory, or remove what else lives in this server.",
        detail={"used": used, "maxmemory": maxmemory, "percent": round(100 * used / maxmemory)},
    )


def _of_saving(server: Server) -> Collection[Finding]:
    if not server.failing:
        return ()
    sentence = (
        f"The server could not write its {server.failing} and refuses every write until it can: nothing starts and nothing "
        "is recorded; workers wait."
    )
    remedy = "Look at its log, and at the room on its disk."
    return (
        Finding(code="saving_fails", level="refuse", sentence=sentence, remedy=remedy, detail={"file": server.failing}),
    )
