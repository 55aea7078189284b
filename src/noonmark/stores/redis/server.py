"""What a server says about itself, read and never assumed.

Rule of the file: INFO and CONFIG may be forbidden (managed services do that); what could not be read is None.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from redis import exceptions

from noonmark.stores.redis import errors
from noonmark.stores.redis.address import Address
from noonmark.stores.redis.connection import Link

IN_STEP_WITHIN_MS = 500
"""How long replicas have to answer when a server is looked at."""
SETTINGS = (
    "appendonly",
    "appendfsync",
    "save",
    "maxmemory",
    "maxmemory-policy",
    "min-replicas-to-write",
    "stop-writes-on-bgsave-error",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """What was read from one server; None = it would not say."""

    name: str = "Redis"  # or Valkey
    version: tuple[int, ...] = ()  # of the commands it knows; Valkey says which Redis it speaks
    shown: str = "?"  # its own version
    is_cluster: bool = False
    replicas: int | None = None
    in_step: int | None = None  # of the replicas that durability=failover waits for: how many answer
    aof: bool | None = None
    settings: Mapping[str, str] = field(default_factory=dict)
    used_memory: int | None = None
    maxmemory: int | None = None
    policy: str | None = None
    failing: str = ""  # what it cannot write to its disk just now: its append-only file, or a snapshot
    unread: tuple[str, ...] = ()

    def setting(self, name: str) -> str | None:
        """Return a setting, None where the server would not say."""
        return self.settings.get(name)


def look(link: Link, address: Address) -> Server:
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
    in_step = None
    if address.durability == "failover":  # not from INFO: that counts replicas, too, which are still being filled
        in_step = int(link.ask("WAIT", address.replicas, IN_STEP_WITHIN_MS))
    is_valkey = "valkey_version" in info
    return Server(
        name="Valkey" if is_valkey else "Redis",
        version=_version(info.get("redis_version", "")),
        shown=info.get("valkey_version") or info.get("redis_version") or "?",
        is_cluster=info.get("redis_mode") == "cluster" or info.get("cluster_enabled") == "1",
        replicas=_number(info.get("connected_slaves")),
        in_step=in_step,
        aof=None if "aof_enabled" not in info else info["aof_enabled"] == "1",
        settings=settings,
        used_memory=_number(info.get("used_memory")),
        maxmemory=_number(info.get("maxmemory") or settings.get("maxmemory")),
        policy=info.get("maxmemory_policy") or settings.get("maxmemory-policy"),
        failing=_failing(info, settings),
        unread=tuple(unread),
    )


def _info(reply: Any) -> dict[str, str]:
    """Return INFO as text by name, whether the driver has parsed it or not."""
    if isinstance(reply, Mapping):
        return {str(name): str(value) for name, value in reply.items()}
    lines = (line.partition(":") for line in str(reply).splitlines() if line and not line.startswith("#"))
    return {name: value for name, _, value in lines}


def _failing(info: Mapping[str, str], settings: Mapping[str, str]) -> str:
    """Return what it could not write when it last tried, if it refuses every write because of that, else ""."""
    if info.get("aof_enabled") == "1" and info.get("aof_last_write_status") == "err":
        return "append-only file"
    stops = settings.get("save") and settings.get("stop-writes-on-bgsave-error") != "no"
    return "snapshot" if stops and info.get("rdb_last_bgsave_status") == "err" else ""


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
