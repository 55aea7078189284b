"""Wake-up: heard across stores, said to be absent while it is, and made good when it is back."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator

import pytest

from noonmark.core.model import SECOND
from noonmark.ports.store import Capability, StoreUnreachable
from noonmark.stores.redis import RedisStore, open_redis, wake
from noonmark.testing.builders import make_caller_row
from noonmark.testing.proxy import Proxy
from noonmark.testing.servers import Redis, start_redis


class Ear:
    """Counts what is heard."""

    def __init__(self) -> None:
        self.heard = 0
        self._more = threading.Condition()

    def __call__(self) -> None:
        with self._more:
            self.heard += 1
            self._more.notify_all()

    def hears(self, times: int, *, within: float = 10.0) -> bool:
        with self._more:
            return self._more.wait_for(lambda: self.heard >= times, within)


def _wait_until(true: Callable[[], bool], within: float = 10.0) -> bool:
    end = time.monotonic() + within
    while not true():
        if time.monotonic() > end:
            return False
        threading.Event().wait(0.01)
    return True


@pytest.fixture
def own() -> Iterator[Redis]:
    """A server that the test may ill-treat."""
    with start_redis() as server:
        yield server


def test_what_one_store_makes_due_another_one_hears(reopen: Callable[..., RedisStore]) -> None:
    here, there, ear = reopen(), reopen(), Ear()
    there.listen(ear)
    here.add("a", [make_caller_row("a", at=here.now() - 1)])
    assert ear.hears(1)


def test_a_store_hears_itself_once(store: RedisStore) -> None:
    ear = Ear()
    store.listen(ear)
    store.add("a", [make_caller_row("a", at=store.now() - 1)])
    assert ear.hears(1)
    assert not ear.hears(2, within=0.2)


def test_what_is_due_later_than_known_is_no_news(reopen: Callable[..., RedisStore]) -> None:
    here, there, ear = reopen(), reopen(), Ear()
    here.add("a", [make_caller_row("a", at=here.now() + 60 * SECOND)])
    there.listen(ear)
    here.add("b", [make_caller_row("b", at=here.now() + 90 * SECOND)])
    assert not ear.hears(1, within=0.2)
    here.add("c", [make_caller_row("c", at=here.now() + 30 * SECOND)])
    assert ear.hears(1)


def test_namespaces_do_not_hear_each_other(server: Redis, store: RedisStore) -> None:
    other, ear = open_redis(f"{server.url}?namespace=elsewhere"), Ear()
    try:
        other.listen(ear)
        store.add("a", [make_caller_row("a", at=store.now() - 1)])
        assert not ear.hears(1, within=0.2)
    finally:
        other.close()


def test_who_stopped_listening_is_not_called(reopen: Callable[..., RedisStore]) -> None:
    here, there, ear, stays = reopen(), reopen(), Ear(), Ear()
    stop = there.listen(ear)
    there.listen(stays)
    stop()
    stop()
    here.add("a", [make_caller_row("a", at=here.now() - 1)])
    assert stays.hears(1)
    assert ear.heard == 0


def test_a_broken_connection_is_said_mended_and_made_good(own: Redis) -> None:
    store, ear = open_redis(own.url), Ear()
    try:
        store.listen(ear)
        assert Capability.NOTIFY in store.capabilities
        own.command("CLIENT", "KILL", "TYPE", "pubsub")
        assert ear.hears(1), "something may have been said meanwhile"
        assert _wait_until(lambda: Capability.NOTIFY in store.capabilities)
        assert ear.heard == 1
        store.add("a", [make_caller_row("a", at=store.now() - 1)])
        assert ear.hears(2)
    finally:
        store.close()


def test_while_the_server_is_away_nothing_is_promised(own: Redis) -> None:
    store, ear = open_redis(own.url), Ear()
    try:
        store.listen(ear)
        own.kill()
        assert _wait_until(lambda: Capability.NOTIFY not in store.capabilities)
        own.start()
        assert ear.hears(1)
        assert _wait_until(lambda: Capability.NOTIFY in store.capabilities)
    finally:
        store.close()


def test_closing_ends_the_thread(store: RedisStore) -> None:
    before = set(threading.enumerate())  # what other tests left may end meanwhile
    store.listen(Ear())
    (listening,) = set(threading.enumerate()) - before
    began = time.monotonic()
    store.close()
    assert not listening.is_alive()
    assert time.monotonic() - began < 10.0


def test_idling_writes_nothing(own: Redis) -> None:
    store = open_redis(own.url)
    try:
        store.add("a", [make_caller_row("a", at=store.now() + 60 * SECOND)])
        before = _changes(own)
        for n in range(20):
            store.take(f"t{n}", "w", limit=10, runnable={}, look_lease=SECOND)
        store.now()
        store.tallies()
        store.jobs()
        assert _changes(own) == before
    finally:
        store.close()


def _changes(server: Redis) -> str:
    lines = server.command("INFO", "persistence").splitlines()
    return next(line for line in lines if line.startswith("rdb_changes_since_last_save"))


def test_a_connection_that_is_open_and_mute_is_found_out_and_made_good(
    own: Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Half open: nothing is refused, nothing arrives.  Only asking finds out."""
    monkeypatch.setattr(wake, "HEARD_WITHIN", 0.05)
    monkeypatch.setattr(wake, "PING_AFTER", 0.6)
    with Proxy(own.port) as proxy:
        store, ear = open_redis(f"redis://127.0.0.1:{proxy.port}/0?timeout=1"), Ear()
        store.listen(ear)
        assert not ear.hears(1, within=1.5), "while the server answers, silence is no reason for anything"
        assert Capability.NOTIFY in store.capabilities
        proxy.blackhole()
        assert _wait_until(lambda: Capability.NOTIFY not in store.capabilities)
        proxy.cut()
        proxy.heal()
        assert ear.hears(1)
        assert _wait_until(lambda: Capability.NOTIFY in store.capabilities)
        store.close()


def test_a_reply_that_got_lost_costs_one_error_and_no_second_effect(own: Redis) -> None:
    with Proxy(own.port) as proxy:
        store = open_redis(f"redis://127.0.0.1:{proxy.port}/0?timeout=1")
        store.add("warm", [make_caller_row("warm", at=0)])
        row = make_caller_row("a", at=0)
        proxy.drop_replies(b"add:lost", times=1)
        try:
            answers = store.add("lost", [row])
        except StoreUnreachable:
            answers = store.add("lost", [row])
        assert [answer.outcome for answer in answers] == ["added"]
        assert proxy.dropped == 1
        assert store.tallies().duplicates_refused == 0
        store.close()
