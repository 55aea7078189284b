"""What the server is and what it can promise, found out and never assumed.

Rule of the file: INFO and CONFIG may be forbidden (managed services do that).  What could not be read is a finding of its
own; no promise is made on it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from redis import exceptions

from noonmark.ports.doctor import Finding
from noonmark.ports.store import Capability
from noonmark.stores.redis import errors
from noonmark.stores.redis.address import Address
from noonmark.stores.redis.connection import Link, Wait

OLDEST = (6, 2)
KNOWS_WAITAOF = (7, 2)
KNOWS_SHARDED = (7, 0)
NEAR_FULL = 0.8
SETTINGS = ("appendonly", "appendfsync", "save", "maxmemory", "maxmemory-policy", "min-replicas-to-write")


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """What was read from one server; None = it would not say."""

    name: str = "Redis"  # or Valkey
    version: tuple[int, ...] = ()  # of the commands it knows; Valkey says which Redis it speaks
    shown: str = "?"  # its own version
    is_cluster: bool = False
    replicas: int | None = None
    aof: bool | None = None
    settings: Mapping[str, str] = field(default_factory=dict)
    used_memory: int | None = None
    maxmemory: int | None = None
    policy: str | None = None
    unread: tuple[str, ...] = ()

    def setting(self, name: str) -> str | None:
        """Return a setting, None where the server would not say."""
        return self.settings.get(name)


def look(link: Link) -> Server:
    """Read what the server says about itself."""
    unread: list[str] = []
    info: dict[str, str] = {}
    settings: dict[str, str] = {}
    questions = [("INFO",), *(("CONFIG GET", name) for name in SETTINGS)]  # one by one: before 7 it takes one pattern
    for question, reply in zip(questions, link.ask_all(questions), strict=True):
        if isinstance(reply, exceptions.ResponseError):
            unread += [question[0]] if question[0] not in unread else []
        elif isinstance(reply, Exception):
            raise errors.translated(link.url, reply)
        elif question[0] == "INFO":
            info = _info(reply)
        else:
            settings |= _pairs(reply)
    is_valkey = "valkey_version" in info
    return Server(
        name="Valkey" if is_valkey else "Redis",
        version=_version(info.get("redis_version", "")),
        shown=info.get("valkey_version") or info.get("redis_version") or "?",
        is_cluster=info.get("redis_mode") == "cluster" or info.get("cluster_enabled") == "1",
        replicas=_number(info.get("connected_slaves")),
        aof=None if "aof_enabled" not in info else info["aof_enabled"] == "1",
        settings=settings,
        used_memory=_number(info.get("used_memory")),
        maxmemory=_number(info.get("maxmemory") or settings.get("maxmemory")),
        policy=info.get("maxmemory_policy") or settings.get("maxmemory-policy"),
        unread=tuple(unread),
    )


def _info(reply: Any) -> dict[str, str]:
    """Return INFO as text by name, whether the driver has parsed it or not."""
    if isinstance(reply, Mapping):
        return {str(name): str(value) for name, value in reply.items()}
    lines = (line.partition(":") for line in str(reply).splitlines() if line and not line.startswith("#"))
    return {name: value for name, _, value in lines}


def _pairs(reply: Any) -> dict[str, str]:
    if isinstance(reply, Mapping):
        return {str(name): str(value) for name, value in reply.items()}
    return dict(zip(reply[::2], reply[1::2], strict=True))


def _version(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split(".") if part.isdigit())


def _number(text: str | None) -> int | None:
    with contextlib.suppress(TypeError, ValueError):
        return int(text or "")
    return None


# --- what follows from it ---------------------------------------------------------------------------


def wait_for(server: Server, address: Address) -> Wait | None:
    """Return what is waited for before a caller is answered, as the URL asks."""
    patience = int(address.timeout * 800)  # less than the socket waits, so that it is the server who says so
    if address.durability == "host" and server.setting("appendfsync") != "always":
        return Wait(("WAITAOF", 1, 0, patience), (1, 0))
    if address.durability == "failover":
        if server.version >= KNOWS_WAITAOF:
            return Wait(("WAITAOF", 1, address.replicas, patience), (1, address.replicas))
        return Wait(("WAIT", address.replicas, patience), (address.replicas,))
    return None


def promises(server: Server, address: Address) -> set[Capability]:
    """Return what the server, as it is, can promise."""
    found = {Capability.SHARED}
    if server.aof:
        found.add(Capability.DURABLE_PROCESS)
        if server.setting("appendfsync") == "always" or address.durability:
            found.add(Capability.DURABLE_HOST)
    if address.durability == "failover":
        found.add(Capability.DURABLE_FAILOVER)
    elif server.replicas is None or server.replicas > 0 or address.kind == "sentinel":
        found.add(Capability.FAILOVER_LOSS)
    return found


def findings(server: Server, address: Address) -> list[Finding]:
    """Return what a person should know about the server."""
    found = [_of_version(server), *_of_place(server, address), *_of_eviction(server), *_of_memory(server)]
    found += _of_persistence(server, address)
    found += [*_of_replicas(server, address)]
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


def _of_persistence(server: Server, address: Address) -> Collection[Finding]:
    found = [*_of_durability(server, address)]
    if server.aof:
        found += _of_aof(server, address)
    elif server.aof is not None:
        saves = bool(server.setting("save"))
        lost = "everything since its last snapshot (minutes)" if saves else "everything"
        found.append(
            Finding(
                code="persistence_snapshots" if saves else "persistence_none",
                level="warn",
                sentence=f"The server keeps no append-only file: when it ends, {lost} is gone, accepted jobs included.",
                remedy=(
                    "Run CONFIG SET appendonly yes and CONFIG SET appendfsync everysec (or always), and write the same "
                    "into the server's configuration."
                ),
                detail={"appendonly": "no", "save": server.setting("save") or ""},
            )
        )
    return found


def _of_durability(server: Server, address: Address) -> Collection[Finding]:
    """Say why what the URL asks for cannot be had."""
    if not address.durability:
        return ()
    if server.aof is False:
        return (
            Finding(
                code="aof_required",
                level="refuse",
                sentence=f"The URL asks for durability={address.durability}, but the server keeps no append-only file.",
                remedy="Run CONFIG SET appendonly yes, and write the same into the server's configuration.",
                detail={"durability": address.durability},
            ),
        )
    if server.version < KNOWS_WAITAOF and server.setting("appendfsync") != "always":
        return (
            Finding(
                code="waitaof_required",
                level="refuse",
                sentence=f"{server.name} {server.shown} has no WAITAOF, which durability={address.durability} needs.",
                remedy="Use Redis 7.2 or newer or Valkey, or set appendfsync always.",
                detail={"durability": address.durability, "server": server.name, "version": server.shown},
            ),
        )
    return ()


def _of_aof(server: Server, address: Address) -> Collection[Finding]:
    fsync = server.setting("appendfsync")
    told = {
        "always": "The server writes every change to its disk before it answers.",
        "everysec": "The server writes to its disk once a second: a power cut loses about the last second.",
        "no": "The server leaves writing to the operating system: a power cut loses about the last half minute.",
    }
    if fsync not in told:
        return ()
    detail = {"appendonly": "yes", "appendfsync": fsync, "durability": address.durability}
    if address.durability and fsync != "always":
        return (
            Finding(
                code="aof_slow",
                level="warn",
                sentence=(
                    f"durability={address.durability} waits for the disk, and with appendfsync {fsync} the server writes "
                    "to it once a second or less: every change takes that long."
                ),
                remedy="Set appendfsync always, here and on the replicas.",
                detail=detail,
            ),
        )
    return (Finding(code=f"aof_{fsync}", level="ok", sentence=told[fsync], detail=detail),)


def _of_replicas(server: Server, address: Address) -> Collection[Finding]:
    if address.durability == "failover" or (address.kind != "sentinel" and not server.replicas):
        return ()
    wanted = server.setting("min-replicas-to-write")
    detail = {"replicas": server.replicas, "min_replicas_to_write": wanted}
    if wanted is not None and wanted.isdigit() and int(wanted) > 0:
        return (
            Finding(
                code="replicas_bounded",
                level="ok",
                sentence=(
                    "Replication is asynchronous: a failover can lose what was accepted since the replica last "
                    f"answered; min-replicas-to-write {wanted} keeps that short."
                ),
                detail=detail,
            ),
        )
    return (
        Finding(
            code="replicas_unbounded",
            level="warn",
            sentence=(
                "There are replicas, or sentinels that would promote one, and min-replicas-to-write is 0 or unknown: a "
                "failover can lose every job accepted and every success recorded since the replica fell behind, and "
                "what succeeded may run again."
            ),
            remedy="Set min-replicas-to-write 1 and min-replicas-max-lag 10, or add durability=failover to the URL.",
            detail=detail,
        ),
    )
