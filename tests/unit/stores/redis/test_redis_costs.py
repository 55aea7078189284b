"""What a script reads does not grow with what waits, counted by what the server was asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
import redis

from noonmark.core.model import Event, Gates
from noonmark.stores.redis import RedisStore
from noonmark.testing.builders import make_end
from noonmark.testing.conformance.harness import Harness
from noonmark.testing.servers import Redis

SLOT = "slot:job:"


@pytest.fixture
def count_heads(server: Redis, namespace: str) -> Callable[[], object]:
    """Count the heads of occurrences that are read in a block."""

    @contextmanager
    def count() -> Iterator[list[int]]:
        found: list[int] = []
        client = redis.Redis.from_url(server.url)
        with client.monitor() as monitor:
            yield found
            client.echo("noonmark-end")
            for told in monitor.listen():
                words = str(told["command"]).split()
                if words[0].upper() == "ECHO":
                    break
                if words[0].upper() in ("HGET", "HMGET") and words[1].endswith(":head"):
                    found.append(len(words) - 2)
        client.close()

    return count


def test_who_leaves_a_slot_reads_a_page_of_the_queue_and_not_all_that_wait(
    store: RedisStore, count_heads: Callable[[], object]
) -> None:
    harness = Harness(store)
    harness.activate()
    occupant = harness.looked_at("occupant")
    harness.start(occupant, slot=SLOT)
    harness.add(*(harness.series_row(f"n{n}", at=n / 1000, due_at=harness.at(2)) for n in range(500)), at=2)
    seen = Gates(revision=1, facts={SLOT: 1})
    looks = harness.take("w1", at=2, limit=500).rows
    harness.settle(*(make_end(row, Event.PARK, due_at=harness.at(62), gates=seen) for row in looks), at=2)
    with count_heads() as heads:  # type: ignore[attr-defined]
        harness.end(occupant, at=3)
    assert harness.take_one(at=3).id == looks[0].id
    assert 1 < sum(heads) <= 25
