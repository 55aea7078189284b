"""URLs as text: a password that was not percent-encoded is cut in two, and neither half is quoted."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from noonmark.core.urls import may_cut_a_password
from noonmark.locks import LockError, open_locks
from noonmark.ports.store import StoreError
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
