"""Worlds in virtual time, for every test that wants the real engine without waiting; and real servers, one per worker.

A server that comes as a wheel is required: a test that wants it and does not find it fails, with the remedy.  Second
versions come from the system's packages: a test marked ``server("redis", "second")`` runs where there is one, and the
end of the run names what was missing.  With NOONMARK_SERVERS=all they are required, too.

A test marked ``long(seconds)`` is among the first to begin, so that nobody waits for it at the end; long tests of one file
stay on one worker, one after another.
"""

from __future__ import annotations

import atexit
import gc
import itertools
import os
import re
import signal
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from noonmark.testing import servers
from noonmark.testing.world import World

ALL_ARE_REQUIRED = os.environ.get("NOONMARK_SERVERS") == "all"
SECOND_VERSIONS = ("postgres", "redis", "etcd", "zookeeper")
settings.register_profile("shared machine", deadline=None)  # how long one example takes says how busy the machine is
settings.load_profile("shared machine")
_FOLDERS = itertools.count(1)
_STATE = tempfile.TemporaryDirectory(prefix="noonmark-state-")
atexit.register(_STATE.cleanup)


def pytest_configure(config: pytest.Config) -> None:
    os.environ["XDG_STATE_HOME"] = _STATE.name  # what workers remember of a test's store is gone with the tests
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        # Started in the background of a script, where Ctrl-C is ignored; what the tests start must hear it all the same.
        signal.signal(signal.SIGINT, signal.default_int_handler)
    config.addinivalue_line(
        "markers", 'server(kind, which): runs where that server is; which = "second" is no wheel\'s'
    )
    config.addinivalue_line("markers", "long(seconds): takes about so long, most of it waiting, and begins first")


def pytest_collection() -> None:
    gc.disable()  # twenty thousand tests are made, none is garbage; looking for some is a quarter of the work


def pytest_collection_finish() -> None:
    gc.enable()
    gc.freeze()  # nor is any of it worth looking at again while they run


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> Iterator[None]:
    """Put the long tests first, once everybody else has said in which order to run."""
    _skip_without_servers(items)
    yield
    workers = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    if workers > 1:
        items[:] = _long_first(items, workers)


def _long_first(items: list[pytest.Item], workers: int) -> list[pytest.Item]:
    """Return the same tests in an order in which each worker begins with about as many seconds of long ones.

    ``--dist worksteal`` gives each worker an equal share of the list, and takes from the end of a share what another does.
    """
    lengths: dict[Path, float] = {}
    long: dict[Path, list[pytest.Item]] = {}
    rest: list[pytest.Item] = []
    for item in items:
        mark = item.get_closest_marker("long")
        if mark is None:
            rest.append(item)
            continue
        lengths[item.path] = lengths.get(item.path, 0.0) + mark.args[0]
        long.setdefault(item.path, []).append(item)
    shares: list[list[pytest.Item]] = [[] for _ in range(workers)]
    seconds = [0.0] * workers
    for path in sorted(long, key=lambda path: (-lengths[path], str(path))):
        least = seconds.index(min(seconds))
        shares[least] += long[path]
        seconds[least] += lengths[path]
    left, unshared = iter(rest), len(items)
    for place, share in enumerate(shares):
        size = unshared // (workers - place)
        share += itertools.islice(left, max(0, size - len(share)))
        unshared -= len(share)
    return [item for share in shares for item in share]


def _skip_without_servers(items: list[pytest.Item]) -> None:
    if ALL_ARE_REQUIRED:
        return
    for item in items:
        for mark in item.iter_markers("server"):
            kind = mark.args[0]
            if servers.second(kind) is None:
                item.add_marker(pytest.mark.skip(reason=f"no {kind} of the system: {servers.remedy(kind)}"))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    missing = [kind for kind in SECOND_VERSIONS if servers.second(kind) is None]
    for kind in missing:
        terminalreporter.write_line(f"not tried, for want of the system's {kind}: {servers.remedy(kind)}", yellow=True)


def _second(kind: str) -> str:
    found = servers.second(kind)
    if found is None:
        raise servers.MissingServer(f"the system has no {kind}; to get it: {servers.remedy(kind)}")
    return found.version


@pytest.fixture(scope="session")
def postgres() -> Iterator[servers.Postgres]:
    """The wheel's PostgreSQL, which forgets everything in a power cut; use a schema of your own and kill it not."""
    with servers.start_postgres(options=servers.FORGETFUL) as server:
        yield server


@pytest.fixture(scope="session")
def second_postgres() -> Iterator[servers.Postgres]:
    """The system's PostgreSQL, likewise; mark the test with ``server("postgres", "second")``."""
    with servers.start_postgres(_second("postgres"), options=servers.FORGETFUL) as server:
        yield server


@pytest.fixture(scope="session")
def valkey() -> Iterator[servers.Redis]:
    """The wheel's Valkey, which writes nothing to disk; use a namespace of your own and kill it not."""
    with servers.start_redis(kind="valkey") as server:
        yield server


@pytest.fixture(scope="session")
def second_redis() -> Iterator[servers.Redis]:
    """The system's Redis, likewise; mark the test with ``server("redis", "second")``."""
    with servers.start_redis(_second("redis"), kind="redis") as server:
        yield server


@pytest.fixture(scope="session")
def redis_cluster() -> Iterator[servers.RedisCluster]:
    """Three nodes of the wheel's Valkey as a cluster."""
    with servers.start_cluster(kind="valkey") as cluster:
        yield cluster


@pytest.fixture
def tmp_path(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Path:
    """A folder of this test's own; pytest's looks through those of all tests before it, and keeps a link to the newest."""
    path = tmp_path_factory.getbasetemp() / f"{re.sub(r'[^A-Za-z0-9]', '_', request.node.name)[:30]}-{next(_FOLDERS)}"
    path.mkdir(mode=0o700)
    return path


@pytest.fixture
def make_world() -> Iterator[Callable[..., World]]:
    """Make worlds that are ended after the test."""
    worlds: list[World] = []

    def make(**options: Any) -> World:
        worlds.append(World(**options))
        return worlds[-1]

    yield make
    for world in worlds:
        world.close()


@pytest.fixture(params=["memory", "sqlite"])
def any_world(request: pytest.FixtureRequest, tmp_path: Path, make_world: Callable[..., World]) -> Callable[..., World]:
    """Make worlds on each store in turn."""
    if request.param == "memory":
        return make_world

    def make(**options: Any) -> World:
        from noonmark.stores.sqlite import SqliteStore

        return make_world(store=lambda clock: SqliteStore(tmp_path / "w.db", clock=clock, synchronous="OFF"), **options)

    return make
