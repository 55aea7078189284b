"""URLs of Redis and Valkey servers: what may stand in one, and what it means.

Rule of the file: an option that is not known is refused with the known ones, never passed on in the hope that somebody
understands it.
"""

from __future__ import annotations

import difflib
import os
import re
from dataclasses import dataclass, field
from typing import Any, Literal
from urllib.parse import parse_qsl, unquote

from noonmark.core.urls import CUT_PASSWORD, count, may_cut_a_password, place_shown, stands_twice, unfit
from noonmark.ports.store import StoreUrlError

PORT, SENTINEL_PORT = 6379, 26379
DATABASES = 2**31 - 1
SCHEMES = (
    "redis",
    "rediss",
    "valkey",
    "valkeys",
    "redis+sentinel",
    "rediss+sentinel",
    "redis+cluster",
    "rediss+cluster",
)
OPTIONS = ("namespace", "timeout", "durability", "replicas", "sentinel_username", "sentinel_password")
TLS_OPTIONS = (
    "ssl_ca_certs", "ssl_ca_path", "ssl_certfile", "ssl_keyfile", "ssl_password", "ssl_cert_reqs", "ssl_check_hostname",
)  # fmt: skip
_NAMESPACE = re.compile(r"[A-Za-z0-9._-]{1,64}")
_DURABILITY = ("host", "failover")
_SWITCHES = {"1": True, "true": True, "yes": True, "0": False, "false": False, "no": False}
_CERT_REQS = ("required", "optional", "none")

Kind = Literal["single", "sentinel", "cluster"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """Where a namespace lives and how to get there."""

    scheme: str
    kind: Kind
    hosts: tuple[tuple[str, int], ...]
    service: str = ""  # the name under which the sentinels know the primary
    username: str | None = None
    password: str | None = None
    db: int = 0
    namespace: str = "noonmark"
    timeout: float = 5.0  # seconds to wait for an answer
    durability: str = ""  # "", "host" or "failover": what to wait for before a caller is answered
    replicas: int = 1  # how many replicas "failover" waits for
    sentinel: dict[str, str] = field(default_factory=dict)  # user and password of the sentinels
    tls: dict[str, Any] = field(default_factory=dict)  # what redis-py calls ssl_*

    @property
    def prefix(self) -> str:
        """Beginning of every key; the braces put all of them into one slot of a cluster."""
        return f"noonmark:{{{self.namespace}}}:"

    def shown(self) -> str:
        """Return the URL without secrets."""
        user = "***@" if self.username or self.password else ""
        hosts = ",".join(f"[{host}]:{port}" if ":" in host else f"{host}:{port}" for host, port in self.hosts)
        place = self.service if self.kind == "sentinel" else str(self.db) if self.db else ""
        if self.kind == "sentinel" and self.db:
            place = f"{place}/{self.db}"
        namespace = "" if self.namespace == "noonmark" else f"?namespace={self.namespace}"
        return f"{self.scheme}://{user}{hosts}/{place}{namespace}"


def parse(url: str) -> Address:
    """Read a store URL.

    Raises:
        StoreUrlError: it cannot be read; the message says what to write instead.
    """
    if why := unfit(url):
        raise StoreUrlError(f"the URL cannot be read: {why}")
    try:
        return _read(url)
    except StoreUrlError:
        if may_cut_a_password(url):
            raise StoreUrlError(CUT_PASSWORD) from None
        raise


def _read(url: str) -> Address:
    scheme, separator, rest = url.partition("://")
    scheme = scheme.lower()
    if not separator or scheme not in SCHEMES:
        raise StoreUrlError(
            f'"{scheme}://" names no Redis server; known: {", ".join(f"{name}://" for name in SCHEMES)}'
        )
    head, _, query = rest.partition("?")
    place, _, path = head.partition("/")
    login, at, hosts_text = place.rpartition("@")
    username, password = _login(login) if at else (None, None)
    kind: Kind = "sentinel" if "+sentinel" in scheme else "cluster" if "+cluster" in scheme else "single"
    hosts = tuple(_host(text, kind) for text in hosts_text.split(",") if text)
    if "@" in path:  # else half a password would pass for the name of a service
        raise StoreUrlError(CUT_PASSWORD)
    if not hosts:
        raise StoreUrlError(f"the URL names no host; write {scheme}://127.0.0.1:{PORT}/0")
    if kind == "single" and len(hosts) > 1:
        raise StoreUrlError("redis:// takes one host; several are redis+sentinel:// or redis+cluster://")
    service, db = _place(unquote(path), kind)
    fields = _options(query, tls=scheme.startswith("rediss") or scheme == "valkeys")
    return Address(
        scheme=scheme, kind=kind, hosts=hosts, service=service, username=username, password=password, db=db, **fields
    )


def _login(text: str) -> tuple[str | None, str | None]:
    name, colon, password = text.partition(":")
    return unquote(name) or None, (unquote(password) or None) if colon else None


def _host(text: str, kind: Kind) -> tuple[str, int]:
    usual = SENTINEL_PORT if kind == "sentinel" else PORT
    found = re.fullmatch(r"(\[[0-9A-Fa-f:.]+\]|[^:\[\]]+)(?::(\d+))?", text)
    port = count(found.group(2), 65535) if found and found.group(2) else usual
    if not found or not port:
        raise StoreUrlError(f'"{place_shown(text)}" is no host:port; write 127.0.0.1:{usual}')
    return found.group(1).strip("[]"), port


def _place(path: str, kind: Kind) -> tuple[str, int]:
    parts = [part for part in path.split("/") if part]
    service = ""
    if kind == "sentinel":
        if not parts:
            raise StoreUrlError(
                "the URL names no service; write redis+sentinel://host:26379/mymaster (the name the sentinels know)"
            )
        service = parts.pop(0)
    db = count(parts[0], DATABASES) if parts else 0
    if len(parts) > 1 or db is None:
        raise StoreUrlError(f'"{path}" is no database number; write redis://host:6379/0')
    if kind == "cluster" and db:
        raise StoreUrlError("a cluster has one database only; leave the number out")
    return service, db


def _options(query: str, *, tls: bool) -> dict[str, Any]:
    if why := stands_twice(query):
        raise StoreUrlError(why)
    known = OPTIONS + (TLS_OPTIONS if tls else ())
    fields: dict[str, Any] = {"sentinel": {}, "tls": {"ssl": True} if tls else {}}
    for option, value in parse_qsl(query, keep_blank_values=True):
        if option not in known:
            close = difflib.get_close_matches(option, known, n=1)
            meant = f"did you mean {close[0]}? " if close else ""
            raise StoreUrlError(f'redis has no option "{option}"; {meant}known: {", ".join(known)}')
        if option in TLS_OPTIONS:
            fields["tls"][option] = _tls_value(option, value)
        elif option.startswith("sentinel_"):
            fields["sentinel"][option.removeprefix("sentinel_")] = value
        else:
            fields[option] = _value(option, value)
    if fields.get("durability") != "failover" and "replicas" in fields:
        raise StoreUrlError("replicas=N says how many durability=failover waits for; write both or neither")
    return fields


def _tls_value(option: str, value: str) -> Any:
    if option == "ssl_check_hostname":
        if value.lower() not in _SWITCHES:
            raise StoreUrlError(f"{option}={value} is not possible; write {option}=yes or {option}=no")
        return _SWITCHES[value.lower()]
    if option == "ssl_cert_reqs" and value not in _CERT_REQS:
        raise StoreUrlError(f"{option}={value} is not possible; write {' or '.join(_CERT_REQS)}")
    if option in ("ssl_ca_certs", "ssl_certfile", "ssl_keyfile") and not os.path.isfile(value):
        raise StoreUrlError(f"{option}={value} is not possible; write the path of a file that is there")
    return value


def _value(option: str, value: str) -> Any:
    if option == "namespace":
        if not _NAMESPACE.fullmatch(value):
            raise StoreUrlError(
                f'namespace "{value}" is not possible; use letters, digits, ".", "_" and "-", at most 64'
            )
        return value
    if option == "durability":
        if value not in _DURABILITY:
            raise StoreUrlError(
                f"durability={value} is not possible; use host (wait for the server's disk) or failover (wait for a "
                "replica, too), or leave it out"
            )
        return value
    if option == "replicas":
        replicas = count(value, 1000)
        if not replicas:
            raise StoreUrlError(f"replicas={value} is not possible; write a number of at least 1")
        return replicas
    try:
        seconds = float(value)
    except ValueError:
        seconds = 0.0
    if not 0.1 <= seconds <= 300:
        raise StoreUrlError(f"timeout={value} is not possible; write seconds between 0.1 and 300")
    return seconds
