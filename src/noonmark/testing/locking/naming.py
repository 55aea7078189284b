"""Names and tokens: any text names a lock of its own; what cannot be kept is refused before anything happens."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from noonmark.core.model import DAY
from noonmark.testing.locking.harness import TTL, LockHarness, raised

_TWINS = (
    ("Report", "report"),
    ("a", "a "),
    ("a", " a"),
    ("é", "e\u0301"),
    ("a/b", "a"),
    ("a:b", "a"),
    ("1", "01"),
    ("ss", "ß"),
)
_ODD = (
    "with space",
    "sla/sh//es/",
    "..",
    "'quoted' \"twice\"",
    "per%cent %s %(x)s",
    "back\\slash",
    "{brace}",
    "a{b}c",
    "colon:s:",
    "line\nbreak\ttab",
    "*?[x]",
    "日报:2026-11-28",
    "🌒",
    "--; DROP TABLE lease",
    "$1",
    "x" * 380,
)
"""With the harness's prefix the longest has 393 bytes; 400 are possible."""


def _refused(call: Callable[[], Any]) -> str:
    try:
        return raised(ValueError, call)
    except TypeError as error:
        return str(error)


def any_text_names_a_lock(harness: LockHarness) -> None:
    for name in _ODD:
        token = harness.token()
        granted = harness.acquire(token, name)
        assert harness.other.acquire(harness.name(name), TTL, harness.token()) is None, name
        assert harness.renew(token, name) == granted, name
        assert harness.release(token, name), name
        assert harness.is_free(name), name


def names_that_look_alike_are_different_locks(harness: LockHarness) -> None:
    for one, other in _TWINS:
        token = harness.token()
        harness.acquire(token, one)
        assert harness.is_free(other), (one, other)
        assert harness.release(token, one)


def any_text_is_a_token(harness: LockHarness) -> None:
    tokens = [text[:190] for text in _ODD]
    for number, token in enumerate(tokens):
        name = f"token-{number}"
        granted = harness.acquire(token, name)
        assert harness.renew(token, name) == granted, token
        assert harness.renew(token + "x", name) is None, token
        assert harness.release(token, name), token


def tokens_that_look_alike_are_different_holders(harness: LockHarness) -> None:
    for number, (one, other) in enumerate(_TWINS):
        name = f"twin-{number}"
        harness.acquire(one, name)
        assert harness.locks.acquire(harness.name(name), TTL, other) is None, (one, other)
        assert not harness.release(other, name), (one, other)
        assert harness.release(one, name), (one, other)


def a_name_that_cannot_be_kept_is_refused(harness: LockHarness) -> None:
    token = harness.token()
    for name in ("", "a\0b", "\ud800", "x" * 401, "é" * 201, None, b"bytes", 7):
        assert "name" in _refused(lambda name=name: harness.locks.acquire(name, TTL, token))  # type: ignore[misc]
        assert "name" in _refused(lambda name=name: harness.locks.renew(name, TTL, token))  # type: ignore[misc]
        assert "name" in _refused(lambda name=name: harness.locks.release(name, token))  # type: ignore[misc]


def a_token_that_cannot_be_kept_is_refused(harness: LockHarness) -> None:
    for token in ("", "a\0b", "\udfff", "x" * 201, None, 7):
        assert "token" in _refused(lambda token=token: harness.locks.acquire(harness.name(), TTL, token))  # type: ignore[misc]
    assert harness.is_free()


def a_ttl_that_cannot_be_kept_is_refused(harness: LockHarness) -> None:
    token = harness.token()
    for ttl in (0, -1, 9_999, 36_525 * DAY + 1, 2**63, 1e9, True, "30s", None):
        assert "ttl" in _refused(lambda ttl=ttl: harness.locks.acquire(harness.name(), ttl, token))  # type: ignore[misc]
    assert harness.is_free()


def a_very_long_ttl_is_kept(harness: LockHarness) -> None:
    token = harness.token()
    granted = harness.acquire(token, ttl=36_525 * DAY)
    assert not harness.is_free()
    assert harness.locks.renew(harness.name(), 36_525 * DAY, token) == granted
    assert harness.release(token)


def the_service_names_its_kind_and_place(harness: LockHarness) -> None:
    assert harness.locks.kind
    assert "://" in harness.locks.url
