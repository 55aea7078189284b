"""One server per test process, a fresh namespace per test."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator

import pytest

from noonmark.stores.redis import RedisStore, open_redis
from noonmark.testing.servers import Redis, start_redis

_NUMBERS = itertools.count(1)


@pytest.fixture(scope="session")
def server() -> Iterator[Redis]:
    started = start_redis()
    try:
        yield started
    finally:
        started.close()


@pytest.fixture
def namespace() -> str:
    return f"t{next(_NUMBERS)}"


@pytest.fixture
def reopen(server: Redis, namespace: str) -> Iterator[Callable[..., RedisStore]]:
    """Open the test's namespace, as often as wanted."""
    opened: list[RedisStore] = []

    def make(**options: str) -> RedisStore:
        more = "".join(f"&{name}={value}" for name, value in options.items())
        opened.append(open_redis(f"{server.url}?namespace={namespace}{more}"))
        return opened[-1]

    yield make
    for store in opened:
        store.close()


@pytest.fixture
def store(reopen: Callable[..., RedisStore]) -> RedisStore:
    return reopen()
