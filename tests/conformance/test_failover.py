"""A primary dies in the middle of a story: what its replica had goes on where it was."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from noonmark.core.model import State
from noonmark.ports.store import Capability
from noonmark.testing import servers
from noonmark.testing.conformance import Harness
from noonmark.testing.contention import contend
from noonmark.testing.faults import Persistent
from noonmark.wiring import open_store

PATIENCE = 30.0


def wait_a_little(_failures: int) -> None:
    time.sleep(0.05)


@pytest.fixture(scope="module")
def pair() -> Iterator[servers.Sentinel]:
    """A primary and a replica that write everything to disk before they say so, and three sentinels."""
    durable = {"appendonly": "yes", "appendfsync": "always", "min-replicas-to-write": "1"}
    with servers.start_sentinel(kind="valkey", options=durable) as started:
        yield started


@pytest.mark.timeout(120)
def test_a_story_goes_on_after_a_failover(pair: servers.Sentinel) -> None:
    with closing(open_store(pair.url_with(namespace="story"))) as store:
        harness = Harness(Persistent(store, tries=600, pause=wait_a_little))
        harness.activate()
        run, look = harness.running("a"), harness.looked_at("b")
        first = store.add("asked once", [harness.caller_row("c", at=60)], at=harness.at(0))
        assert pair.primary.command("WAIT", 1, 5000) == 1
        pair.fail_over()
        pair.start()
        assert harness.end(run, at=1).outcome == "applied"
        assert harness.start(look, at=1).outcome == "applied"
        assert harness.end(run, at=2).outcome == "applied", "the answered fence is known there, too"
        assert harness.store.add("asked once", [harness.caller_row("c", at=60)], at=harness.at(2)) == first
        assert harness.row(run.id).state is State.SUCCESS
        assert harness.take_ids("w2", at=2) == []


@pytest.mark.timeout(120)
def test_a_listener_hears_of_earlier_moments_after_a_failover(pair: servers.Sentinel) -> None:
    heard = threading.Event()
    with closing(open_store(pair.url_with(namespace="heard"))) as store:
        harness = Harness(Persistent(store, tries=600, pause=wait_a_little))
        stop = store.listen(heard.set)
        try:
            assert pair.primary.command("WAIT", 1, 5000) == 1
            pair.fail_over()
            pair.start()
            servers.wait_until(lambda: Capability.NOTIFY in store.capabilities, PATIENCE, "the listener to be back")
            heard.clear()
            harness.store.add(harness.request(), [harness.caller_row(at=-1)])
            assert heard.wait(PATIENCE), "nobody was told of a row that is due"
        finally:
            stop()


@pytest.fixture
def quick_pair() -> Iterator[servers.Sentinel]:
    """A pair of the system's Redis: Valkey's replica tells only once a second what is on its disk."""
    durable = {"appendonly": "yes", "appendfsync": "always"}
    with servers.start_sentinel(kind="redis", options=durable) as started:
        yield started


@pytest.mark.timeout(240)
@pytest.mark.server("redis", "second")
def test_no_run_is_lost_or_doubled_when_the_primary_dies_while_workers_fight(
    quick_pair: servers.Sentinel, tmp_path: Path
) -> None:
    url = quick_pair.url_with(namespace="fight", durability="failover")
    disturbed = threading.Event()

    def kill_and_heal() -> None:
        servers.wait_until(lambda: (tmp_path / "journal").exists(), PATIENCE, "the fight to begin")
        time.sleep(0.2)
        quick_pair.fail_over()
        disturbed.set()
        quick_pair.start()

    with closing(open_store(url)) as store:
        enemy = threading.Thread(target=kill_and_heal)
        enemy.start()
        try:
            persistent = Persistent(store, tries=600, pause=wait_a_little)
            outcome = contend(persistent, tmp_path, url=url, workers=3, rounds=400)
        finally:
            enemy.join(PATIENCE)
        assert disturbed.is_set(), "the fight was over before anybody died"
        outcome.check()
