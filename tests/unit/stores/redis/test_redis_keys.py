"""No key without a listed reason."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from noonmark.stores.redis import keys, open_redis
from noonmark.testing.archives import make_busy
from noonmark.testing.conformance import Harness, cases
from noonmark.testing.servers import Redis, start_redis


@pytest.fixture(scope="module")
def used() -> Iterator[Redis]:
    """A server of its own that has run every case of the suite, each in a namespace."""
    with start_redis() as server:
        for number, case in enumerate(cases()):
            store = open_redis(f"{server.url}?namespace=case{number}")
            try:
                case.run(Harness(store))
            finally:
                store.close()
        store = open_redis(f"{server.url}?namespace=busy")
        make_busy(store)
        store.close()
        yield server


def _names(server: Redis) -> list[str]:
    return list(server.command("KEYS", "*"))


def test_every_key_is_in_the_list_and_has_the_type_that_is_written_there(used: Redis) -> None:
    unknown, wrong = set(), set()
    for name in _names(used):
        head, brace, rest = name.partition("}:")
        assert (head.startswith("noonmark:{"), brace) == (True, "}:"), name
        entry = keys.listed(rest)
        if entry is None:
            unknown.add(rest)
        elif used.command("TYPE", name) != entry.type:
            wrong.add((rest, entry.type))
    assert not unknown
    assert not wrong


def test_every_entry_of_the_list_is_used(used: Redis) -> None:
    seen = {keys.listed(name.partition("}:")[2]) for name in _names(used)}
    unused = {key.pattern for key in keys.KEYS if key not in seen}
    # a wake row lives until the next take only, and an import only in a copy
    assert unused <= {"import", "wake"}


def test_only_remembered_requests_and_links_expire(used: Redis) -> None:
    lengths = {"req": 3_600_000, "link": 7 * 86_400_000}
    for name in _names(used):
        length = lengths.get(name.partition("}:")[2].partition(":")[0])
        left = int(used.command("PTTL", name))
        assert left == -1 if length is None else 0 < left <= length, name


def test_a_key_that_nobody_knows_is_told_apart() -> None:
    assert keys.listed("head") is not None
    assert keys.listed("log:17") is not None
    assert keys.listed("log:x") is None
    assert keys.listed("rows:a:b\nc") is not None
    assert keys.listed("heads") is None
