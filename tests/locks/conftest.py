"""Servers for the lock tests, started once per test process."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from noonmark.testing.servers import FORGETFUL, start_cluster, start_etcd, start_postgres, start_redis, start_zookeeper

if TYPE_CHECKING:
    from lock_places import Place

pytest.register_assert_rewrite("noonmark.testing.locking")


@pytest.fixture(scope="session")
def valkey() -> Iterator[Any]:
    with start_redis() as server:
        yield server


@pytest.fixture(scope="session")
def trio(valkey: Any) -> Iterator[list[Any]]:
    """Three independent servers."""
    with start_redis() as second, start_redis() as third:
        yield [valkey, second, third]


@pytest.fixture(scope="session")
def cluster() -> Iterator[Any]:
    with start_cluster() as servers:
        yield servers


@pytest.fixture(scope="session")
def postgres() -> Iterator[Any]:
    with start_postgres(options=FORGETFUL) as server:
        yield server


@pytest.fixture(scope="session")
def etcd() -> Iterator[Any]:
    with start_etcd(options={"unsafe-no-fsync": "true"}) as server:
        yield server


@pytest.fixture(scope="session")
def zookeeper() -> Iterator[Any]:
    with start_zookeeper(options={"maxSessionTimeout": "60000"}) as server:
        yield server


@pytest.fixture
def make_place(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[str], Place]:
    """Open a kind of lock by its name."""
    from lock_places import PLACES

    return lambda kind: PLACES[kind](request, tmp_path)
