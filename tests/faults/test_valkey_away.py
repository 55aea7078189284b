"""What only servers of the Redis family do to three workers: kicks, loading, no memory, another password, a failover."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import awayjobs
import pytest
from fleet import Fleet, wait_for
from sites import KINDS, Site

from noonmark.core.model import Query, State
from noonmark.testing.servers import Redis, start_sentinel


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """One Valkey and three workers."""
    made = Site(KINDS["valkey"], tmp_path_factory.mktemp("valkey"))
    yield made
    made.close()


@pytest.fixture
def server(site: Site) -> Redis:
    """The server, to be spoken to."""
    assert isinstance(site.server, Redis)
    return site.server


def test_clients_that_are_kicked_out_come_back(site: Site, server: Redis) -> None:
    with site.outage(0) as back:
        assert server.command("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes") >= 3
        server.command("CLIENT", "KILL", "TYPE", "pubsub")
        back.append(time.monotonic())


def test_a_server_that_loads_its_file_for_a_while_is_waited_for(site: Site, server: Redis) -> None:
    with site.outage(4) as back:
        server.kill()
        server.options["key-load-delay"] = "5000"  # µs per command of the file
        began = time.monotonic()
        try:
            server.start()
        finally:
            del server.options["key-load-delay"]
        back.append(time.monotonic())
    assert back[0] - began > 1.5, "everybody asked at least twice while it was loading, or the test tested nothing"


def test_a_server_without_memory_that_is_given_some_is_worked_with_again(site: Site, server: Redis) -> None:
    with site.outage(2) as back:
        server.command("CONFIG", "SET", "maxmemory", "1")
        wait_for(lambda: "the store has no room" in site.said(), what="the refusal")
        server.command("CONFIG", "SET", "maxmemory", "0")
        back.append(time.monotonic())


def test_a_password_that_changes_and_changes_back_ends_nobody(site: Site, server: Redis) -> None:
    said = site.said().count("the store cannot serve")
    with site.outage(2, at_most=3.5) as back:
        server.command("CONFIG", "SET", "requirepass", "changed")
        site.proxy.cut()
        wait_for(lambda: site.said().count("the store cannot serve") > said, what="the refusal")
        server.command("CONFIG", "SET", "requirepass", "", password="changed")
        back.append(time.monotonic())


def test_workers_follow_a_failover_by_sentinels(tmp_path: Path) -> None:
    with start_sentinel(kind="valkey") as pair:
        fleet = Fleet(tmp_path, pair.url, jobs="awayjobs.py")
        try:
            for _ in range(3):
                fleet.worker("--jobs", "once")
            wait_for(lambda: len(fleet.store.workers()) == 3, at_most=60, what="three workers")
            asked = [fleet.later(awayjobs.ONCE, int((4 + n / 10) * 1e6), n=n) for n in range(30)]
            pair.primary.command("WAIT", "1", "2000")  # what is acknowledged is on the replica, too
            pair.fail_over()
            back = time.monotonic()
            wait_for(
                lambda: all(row.state is State.SUCCESS for row in fleet.store.occurrences(Query(ids=tuple(asked)))),
                at_most=60,
                what=f"the jobs\n{fleet.said()}",
            )
            assert [worker.poll() for worker in fleet.processes] == [None] * 3, fleet.said()
            traces = [line.split() for line in fleet.effects("once ")]
            assert Counter(trace[1] for trace in traces) == {f"once:{n}": 1 for n in range(30)}
            late = [float(trace[4]) - back for trace in traces if float(trace[4]) > back]
            assert late, "the failover was over after the last job: the test tested nothing"
        finally:
            fleet.close()
