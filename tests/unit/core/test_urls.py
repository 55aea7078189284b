"""URLs as text: a password that was not percent-encoded is cut in two, and neither half is quoted."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from noonmark.core.errors_zh import in_chinese
from noonmark.core.urls import may_cut_a_password, stands_twice
from noonmark.locks import LockError, open_locks
from noonmark.locks.errors import LockUrlError
from noonmark.ports.store import StoreError, StoreUrlError
from noonmark.wiring import open_store


@pytest.mark.parametrize(
    ("opener", "schemes"),
    [
        (open_store, ("redis", "valkey", "redis+sentinel", "redis+cluster", "postgresql")),
        (open_locks, ("redis", "redis+sentinel", "redis+cluster", "redlock", "postgresql", "etcd", "zookeeper")),
    ],
)
@pytest.mark.parametrize("password", ["half/whole", "half?whole", "12/whole", "wh@le/whole"])
def test_no_half_of_a_password_is_shown(opener: Callable[[str], Any], schemes: tuple[str, ...], password: str) -> None:
    for scheme in schemes:
        if scheme == "postgresql" and "?" not in password:
            continue  # libpq takes these as they are meant, or for a host, whose name it does not say
        try:
            opened = opener(f"{scheme}://ada:{password}@127.0.0.1:1/0")
            said = opened.url  # asked only when a lock is
            opened.close()
        except (StoreError, LockError) as refused:
            said = f"{refused} {refused.__cause__}"
        assert "whole" not in said, said
        assert "half" not in said, said


def test_an_at_sign_that_cuts_nothing_is_told_apart() -> None:
    assert not may_cut_a_password("redis://ada:secret@host/0")
    assert not may_cut_a_password("sqlite:////home/ada@host/a.db?x=1")
    assert may_cut_a_password("redis://ada:sec/ret@host/0")


@pytest.mark.parametrize(
    ("opener", "url"),
    [
        (open_store, "sqlite:///a.db?synchronous=FULL&synchronous=NORMAL"),
        (open_store, "sqlite:///a.db?driver=apsw&driver=apsw"),
        (open_store, "postgresql://127.0.0.1:1/d?schema=a&schema=b"),
        (open_store, "postgresql://127.0.0.1:1/d?pool_size=2&migrate=no&pool_size=4"),
        (open_store, "postgresql://127.0.0.1:1/d?sslmode=disable&sslmode=require"),
        (open_store, "redis://127.0.0.1:1/0?namespace=a&namespace=b"),
        (open_store, "rediss://127.0.0.1:1/0?ssl_cert_reqs=none&ssl_cert_reqs=required"),
        (open_store, "redis+sentinel://127.0.0.1:1/s?sentinel_password=a&sentinel_password=b"),
        (open_store, "redis+cluster://127.0.0.1:1/?timeout=1&timeout=2"),
        (open_locks, "redis://127.0.0.1:1/0?timeout=1&timeout=2"),
        (open_locks, "redis://127.0.0.1:1/0?namespace=a&namespace=b"),
        (open_locks, "redlock://127.0.0.1:1,127.0.0.1:2,127.0.0.1:3?timeout=1&timeout=2"),
        (open_locks, "postgresql://127.0.0.1:1/d?schema=a&schema=b"),
        (open_locks, "postgresql://127.0.0.1:1/d?sslmode=disable&sslmode=require"),
        (open_locks, "postgresql://127.0.0.1:1/d?kind=advisory&kind=advisory"),
        (open_locks, "sqlite:///a.db?driver=apsw&driver=sqlite3"),
        (open_locks, "etcd://127.0.0.1:1?timeout=1&timeout=2"),
        (open_locks, "zookeeper://127.0.0.1:1?timeout=1&timeout=2"),
    ],
)
def test_an_option_that_stands_twice_is_refused_by_every_store_and_lock(
    opener: Callable[[str], Any], url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises((StoreUrlError, LockUrlError), match="stands twice in the URL") as refused:
        opener(url)
    assert "写了两次" in in_chinese(str(refused.value))
    assert not list(tmp_path.iterdir())


def test_which_option_stands_twice_is_said_and_no_value_of_it() -> None:
    assert stands_twice("a=1&b=2&%61=3") == (
        'the option "a" stands twice in the URL, and only one of the two could count; write it once'
    )
    assert stands_twice("a=1&b=1") == stands_twice("") == ""
