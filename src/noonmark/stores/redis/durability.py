"""What a server as found keeps after a crash, and what has to be waited for so that it does.

Rule of the file: no promise is made on what could not be read, and one that the URL asks for and the server cannot keep
is refused.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from noonmark.ports.doctor import Finding
from noonmark.ports.store import Capability
from noonmark.stores.redis.address import Address
from noonmark.stores.redis.connection import Wait
from noonmark.stores.redis.server import Server

KNOWS_WAITAOF = (7, 2)
TELLS_THE_TRUTH = (8, 0)
"""Redis from which WAITAOF is to be believed under appendfsync everysec (github.com/redis/redis/pull/13793); in Valkey
9.1 it still answers before the disk has the write, as a trace of its system calls shows."""


def wait_for(server: Server, address: Address) -> Wait | None:
    """Return what is waited for before a caller is answered, as the URL asks."""
    patience = address.timeout * 0.8  # less than the socket waits, so that it is the server who says so
    replicas = address.replicas if address.durability == "failover" else 0
    disk = bool(address.durability) and server.setting("appendfsync") != "always"
    return Wait(disk=disk, replicas=replicas, patience=patience) if disk or replicas else None


def promises(server: Server, address: Address) -> set[Capability]:
    """Return what the server, as it is, can promise."""
    found = {Capability.SHARED}
    if server.aof:
        found.add(Capability.DURABLE_PROCESS)
        if server.setting("appendfsync") == "always" or address.durability:
            found.add(Capability.DURABLE_HOST)
    if address.durability == "failover":
        if not lacks_replicas(server, address):
            found.add(Capability.DURABLE_FAILOVER)
    elif server.replicas is None or server.replicas > 0 or address.kind == "sentinel":
        found.add(Capability.FAILOVER_LOSS)
    return found


def of_persistence(server: Server, address: Address) -> Collection[Finding]:
    """Say what the end of the server costs, and a power cut."""
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
                about="durability",
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
    if server.setting("appendfsync") == "always":
        return ()
    if server.version < KNOWS_WAITAOF:
        return (
            Finding(
                code="waitaof_required",
                level="refuse",
                sentence=f"{server.name} {server.shown} has no WAITAOF, which durability={address.durability} needs.",
                remedy="Use Redis 7.2 or newer or Valkey, or set appendfsync always.",
                detail={"durability": address.durability, "server": server.name, "version": server.shown},
            ),
        )
    if server.name != "Redis" or server.version < TELLS_THE_TRUTH:
        return (
            Finding(
                code="waitaof_early",
                level="refuse",
                sentence=(
                    f"The URL asks for durability={address.durability}, and {server.name} {server.shown} answers WAITAOF "
                    "before the disk has the write, unless appendfsync is always."
                ),
                remedy="Set appendfsync always on the server, and let this user read it (+config|get).",
                detail={"durability": address.durability, "server": server.name, "version": server.shown},
            ),
        )
    return ()


_AOF = {
    "always": Finding(
        code="aof_always",
        level="ok",
        sentence="The server writes every change to its disk before it answers: what was acknowledged survives a power cut.",
        about="durability",
    ),
    "everysec": Finding(
        code="aof_everysec",
        level="warn",
        sentence=(
            "The server writes to its disk once a second: what was acknowledged survives the end of its process, and a "
            "power cut loses about the last second."
        ),
        remedy="For more: appendfsync always on the server.",
        about="durability",
    ),
    "no": Finding(
        code="aof_no",
        level="warn",
        sentence=(
            "The server leaves writing to the operating system: what was acknowledged survives the end of its process, "
            "and a power cut loses about the last half minute."
        ),
        remedy="Set appendfsync everysec or always on the server.",
        about="durability",
    ),
}


def _of_aof(server: Server, address: Address) -> Collection[Finding]:
    fsync = server.setting("appendfsync")
    if fsync not in _AOF:
        return ()
    detail = {"appendonly": "yes", "appendfsync": fsync, "durability": address.durability}
    if address.durability and fsync != "always":  # the class is what the URL asks for; here only what it costs
        return (
            Finding(
                code="aof_slow",
                level="warn",
                sentence=(
                    f"durability={address.durability} waits for the disk, and with appendfsync {fsync} the server writes "
                    "to it once a second or less: every change takes that long."
                ),
                remedy="Set appendfsync always on the server.",
                detail=detail,
            ),
        )
    if address.durability:
        return ()
    return (replace(_AOF[fsync], detail=detail),)


def lacks_replicas(server: Server, address: Address) -> bool:
    """Return True when not even one write could be confirmed as the URL asks."""
    return address.durability == "failover" and server.in_step is not None and server.in_step < address.replicas


def of_replicas(server: Server, address: Address) -> Collection[Finding]:
    """Say what a failover costs."""
    if lacks_replicas(server, address):
        detail = {"wanted": address.replicas, "found": server.in_step}
        return (
            Finding(
                code="replicas_missing",
                level="refuse",
                sentence=(
                    f"The URL asks for durability=failover, which waits for {address.replicas} replicas, and "
                    f"{server.in_step} answer: no write could be confirmed."
                ),
                remedy="Attach a replica to this server (replicaof), or leave durability=failover out of the URL.",
                detail=detail,
                about="durability",
            ),
        )
    if address.durability == "failover" or (address.kind != "sentinel" and not server.replicas):
        return ()
    wanted = server.setting("min-replicas-to-write")
    told: dict[str, object] = {"replicas": server.replicas, "min_replicas_to_write": wanted}
    if wanted is not None and wanted.isdigit() and int(wanted) > 0:
        return (
            Finding(
                code="replicas_bounded",
                level="ok",
                about="failover",
                sentence=(
                    "Replication is asynchronous: a failover can lose what was accepted since the replica last "
                    f"answered; min-replicas-to-write {wanted} keeps that short."
                ),
                detail=told,
            ),
        )
    return (
        Finding(
            code="replicas_unbounded",
            level="warn",
            about="failover",
            sentence=(
                "There are replicas, or sentinels that would promote one, and min-replicas-to-write is 0 or unknown: a "
                "failover can lose every job accepted and every success recorded since the replica fell behind, and "
                "what succeeded may run again."
            ),
            remedy="Set min-replicas-to-write 1 and min-replicas-max-lag 10, or add durability=failover to the URL.",
            detail=told,
        ),
    )
