"""A take that is asked again while its first try is on its way: one answer, and no row for nobody."""

from __future__ import annotations

from typing import Any

import pytest

from noonmark.core.model import LOOK_LEASE, Query, State, Taken
from noonmark.ports.store import StoreUnreachable
from noonmark.stores.redis import RedisStore
from noonmark.stores.redis.connection import Link
from noonmark.testing.builders import LEASE, make_activation, make_caller_row


def take(store: RedisStore, request: str = "take") -> Taken:
    return store.take(request, "w1", limit=5, runnable={"job": LEASE}, look_lease=LOOK_LEASE)


def test_a_first_try_that_comes_after_its_repeat_found_nothing_leases_nothing(
    store: RedisStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.activate("rule", [make_activation("job", effective_at=store.now())], actor="w1")
    sent: list[tuple[Link, tuple[Any, ...], dict[str, Any]]] = []

    def lost(link: Link, *args: Any, **kwargs: Any) -> Any:
        sent.append((link, args, kwargs))
        raise StoreUnreachable("the connection was lost")

    with monkeypatch.context() as patch:
        patch.setattr(Link, "run", lost)
        with pytest.raises(StoreUnreachable):
            take(store)
    assert take(store).rows == ()
    store.add("add", [make_caller_row("a", at=store.now() - 1)])
    [(link, args, kwargs)] = sent
    assert link.run(*args, **kwargs)[4] == [], "what the first try leases, nobody hears of"
    assert [row.state for row in store.occurrences(Query(open_only=True))] == [State.PENDING]
    assert [row.key for row in take(store, "another").rows] == ["key:a"]


def test_a_take_that_finds_nothing_writes_nothing_unless_it_is_asked_again(
    store: RedisStore, namespace: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def requests() -> int:
        return sum(1 for _ in store._main.client().scan_iter(match=f"*{{*{namespace}}}*req:take:*"))

    take(store)
    assert requests() == 0
    run, fails = Link.run, iter([True, False])

    def lost_once(link: Link, *args: Any, **kwargs: Any) -> Any:
        if next(fails):
            raise StoreUnreachable("the connection was lost")
        return run(link, *args, **kwargs)

    monkeypatch.setattr(Link, "run", lost_once)
    with pytest.raises(StoreUnreachable):
        take(store, "second")
    take(store, "second")
    assert requests() == 1
