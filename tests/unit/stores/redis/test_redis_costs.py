"""What a script reads does not grow with what waits, counted by what the server was asked for."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Protocol

import pytest
import redis

from noonmark.core.model import Event, Gates
from noonmark.stores.redis import RedisStore
from noonmark.testing.builders import make_end
from noonmark.testing.conformance.harness import Harness
from noonmark.testing.servers import Redis

SLOT = "slot:job:"


class Count(Protocol):
    def __call__(self, key: str) -> AbstractContextManager[list[int]]: ...


@pytest.fixture
def fields_read(server: Redis) -> Count:
    """Count the fields of a hash that are read in a block."""

    @contextmanager
    def count(key: str) -> Iterator[list[int]]:
        found: list[int] = []
        client = redis.Redis.from_url(server.url)
        with client.monitor() as monitor:
            yield found
            client.echo("noonmark-end")
            for told in monitor.listen():
                words = str(told["command"]).split()
                if words[0].upper() == "ECHO":
                    break
                if words[0].upper() in ("HGET", "HMGET") and words[1].endswith(f":{key}"):
                    found.append(len(words) - 2)
        client.close()

    return count


def test_who_leaves_a_slot_reads_a_page_of_the_queue_and_not_all_that_wait(
    store: RedisStore, fields_read: Count
) -> None:
    harness = Harness(store)
    harness.activate()
    occupant = harness.looked_at("occupant")
    harness.start(occupant, slot=SLOT)
    harness.add(*(harness.series_row(f"n{n}", at=n / 1000, due_at=harness.at(2)) for n in range(500)), at=2)
    seen = Gates(revision=1, facts={SLOT: 1})
    looks = harness.take("w1", at=2, limit=500).rows
    harness.settle(*(make_end(row, Event.PARK, due_at=harness.at(62), gates=seen) for row in looks), at=2)
    with fields_read("head") as heads:
        harness.end(occupant, at=3)
    assert harness.take_one(at=3).id == looks[0].id
    assert 1 < sum(heads) <= 25


def test_the_revisions_of_one_job_are_read_alone(store: RedisStore, fields_read: Count) -> None:
    harness = Harness(store)
    for number in range(1, 4):
        for job in range(100):
            harness.activate(job=f"job{job}", digest=f"d{number}", expected_revision=number - 1)
    with fields_read("revision") as entries:
        assert len(store.tallies(revisions=["job7"]).revisions) == 3
    assert sum(entries) == 3


def test_revisions_of_before_entries_named_the_one_before_are_found_all_the_same(
    store: RedisStore, server: Redis, namespace: str
) -> None:
    harness = Harness(store)
    for number in range(1, 4):
        for job in ("a", "b"):
            harness.activate(job=job, digest=f"d{number}", expected_revision=number - 1)
    told = store.tallies(revisions=["a"]).revisions
    client = redis.Redis.from_url(server.url)
    key = f"noonmark:{{{namespace}}}:revision"
    shorter = "local p = cmsgpack.unpack(redis.call('HGET', KEYS[1], ARGV[1])) p[9] = nil return cmsgpack.pack(p)"
    for field in client.hkeys(key):
        client.hset(key, field, client.eval(shorter, 1, key, field))
    client.close()
    assert len(told) == 3
    assert store.tallies(revisions=["a"]).revisions == told


def test_entries_that_do_not_name_the_one_before_are_sought_a_few_thousand_at_a_time(
    store: RedisStore, server: Redis, namespace: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ten years of other jobs' changes may lie between two of this one, and a script holds up the server."""
    harness = Harness(store)
    harness.activate(job="a", digest="d1", expected_revision=0)
    client, prefix = redis.Redis.from_url(server.url), f"noonmark:{{{namespace}}}:"
    others = (
        "local p = cmsgpack.unpack(redis.call('HGET', KEYS[1], ARGV[1])) p[9] = nil"
        " redis.call('HSET', KEYS[1], ARGV[1], cmsgpack.pack(p)) p[1] = 'other'"
        " for n = 2, 12000 do redis.call('HSET', KEYS[1], string.format('%012d', n), cmsgpack.pack(p)) end"
        " redis.call('HSET', KEYS[2], 'revision', 12000)"
    )
    (first,) = client.hkeys(f"{prefix}revision")
    client.eval(others, 2, f"{prefix}revision", f"{prefix}meta", first)
    harness.activate(job="a", digest="d2", expected_revision=1)
    newest = max(client.hkeys(f"{prefix}revision"))
    shorter = "local p = cmsgpack.unpack(redis.call('HGET', KEYS[1], ARGV[1])) p[9] = nil return cmsgpack.pack(p)"
    client.hset(f"{prefix}revision", newest, client.eval(shorter, 1, f"{prefix}revision", newest))
    client.close()
    read, asked = store.read, []

    def count(name: str, about: object) -> object:
        asked.append(name)
        return read(name, about)

    monkeypatch.setattr(store, "read", count)
    told = store.tallies(revisions=["a", "nobody"]).revisions
    assert [row.revision for row in told] == [1, 2]
    assert asked.count("lineage") == 3


def test_a_job_with_more_revisions_than_a_page_is_read_whole(store: RedisStore) -> None:
    harness = Harness(store)
    for number in range(1, 1_203):
        harness.activate(digest=f"d{number}", expected_revision=number - 1)
    harness.activate(job="other", digest="d")
    told = store.tallies(revisions=["job", "other"]).revisions
    assert [row.revision for row in told] == [*range(1, 1_203), 1]


def test_an_alert_that_closes_asks_for_what_waits_for_another_kind_by_the_page(
    store: RedisStore, fields_read: Count
) -> None:
    harness = Harness(store)
    about = harness.urgent_among_others(700).id
    with fields_read("head") as heads:
        harness.act("mark_done", occurrence_id=about)
    assert harness.story(about).alerts[0].closed_at is not None
    assert len(heads) < 10, "a hundred thousand may wait"
