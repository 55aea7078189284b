"""Servers that are killed, stop, hang and refuse, under three workers: nobody exits, nothing is lost or doubled.

Networks that are cut, silent and forgetful are cells of the fault suite (``test_matrix.py``).
"""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from fleet import Fleet, wait_for
from sites import KINDS, Site

from noonmark import Scheduler, StoreUnreachable, manual
from noonmark.core.model import SECOND, Micros
from noonmark.explain.outages import Outage, outages


@pytest.fixture(scope="module", params=sorted(KINDS))
def site(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """One server and three workers, for all tests: whoever lives through one outage has to live through the next."""
    made = Site(KINDS[request.param], tmp_path_factory.mktemp(request.param))
    yield made
    made.close()


def test_a_server_that_is_killed_and_comes_back_on_its_port(site: Site) -> None:
    since = site.store.now()
    with site.outage(3) as back:
        site.server.kill()
        time.sleep(3)
        site.server.start()
        back.append(time.monotonic())
    # Once a minute at the latest; a worker that was busy coming back may have noted a short one besides.
    seen = wait_for(lambda: _all_three(site, since), at_most=75, what="what each worker wrote down about the outage")
    longest = {each.worker: max(o.end - o.start for o in seen if o.worker == each.worker) for each in seen}
    assert all(2 <= length / SECOND < 10 for length in longest.values()), seen


def _all_three(site: Site, since: Micros) -> tuple[Outage, ...]:
    """Everybody's times away once at least three workers told theirs: another test may have started a fourth."""
    found = outages(site.store, site.store.workers(), since)
    return found if len({outage.worker for outage in found}) >= 3 else ()


def test_a_server_that_is_shut_down_in_order_and_started_again(site: Site) -> None:
    with site.outage(2) as back:
        site.server.stop()
        time.sleep(2)
        site.server.start()
        back.append(time.monotonic())


def test_a_server_that_hangs_for_five_seconds(site: Site) -> None:
    with site.outage(5) as back:
        site.server.pause()
        time.sleep(5)
        site.server.resume()
        back.append(time.monotonic())


def test_a_network_that_refuses_for_a_while(site: Site) -> None:
    with site.outage(2) as back:
        site.proxy.refuse()
        time.sleep(2)
        site.proxy.accept()
        back.append(time.monotonic())


def test_a_run_that_is_longer_than_an_outage_ends_once_and_keeps_its_attempt(site: Site) -> None:
    (row_id,) = site.ask_long(6.0)
    wait_for(lambda: site.traces("begin"), what="the long run")
    with site.outage(3) as back:
        site.server.kill()
        time.sleep(3)
        site.server.start()
        back.append(time.monotonic())
    row = wait_for(lambda: site.done(row_id), at_most=60, what="the end of the long run")
    assert (row.attempt, row.takeovers, row.lost) == (1, 0, 0)
    assert (len(site.traces("begin")), len(site.traces("end"))) == (1, 1)


def test_a_worker_that_starts_before_its_store_waits_and_begins_within_a_second_of_its_coming(site: Site) -> None:
    for worker in site.fleet.processes:
        worker.send_signal(signal.SIGSTOP)
    try:
        site.server.kill()
        early = site.fleet.worker()
        wait_for(lambda: "waits for it" in site.said_by(-1), at_most=60, what="the first try")
        time.sleep(2)
        assert early.poll() is None
        site.server.start()
        back = time.monotonic()
        rows = site.ask(0.0, 0.1)
        wait_for(lambda: site.all_done(rows), at_most=60, what=f"a run\n{site.said_by(-1)}")
        first = min(float(trace[4]) for trace in site.traces("once") if int(trace[3]) == early.pid)
        # Half a second of it is for those who stand still: they were alive when the server went, and may yet prove.
        assert first - back <= 2.5, "connecting, proving, putting rules in force, and the first run"
        warnings = [line for line in site.said_by(-1).splitlines() if "WARNING" in line]
        assert len(warnings) == 2, f"said once that it is away, and once that it is back\n{warnings}"
    finally:
        site.server.start()
        for worker in site.fleet.processes:
            worker.send_signal(signal.SIGCONT)


def test_a_web_service_is_told_within_its_patience_and_asks_again_without_doubling(site: Site) -> None:
    with Scheduler(site.proxied_url, rules=False, patience="1s") as sched:

        @sched.job(manual(), key="order:{params.n}", reason="x")
        def order(n: int) -> None: ...

        first = order.later("1h")(n=1)
        dropped = site.proxy.dropped
        # Not COMMIT: a session of PostgreSQL spells that out only once, and this one has.
        site.proxy.drop_replies(b"order:2")
        again = order.later("1h")(n=2)
        assert site.proxy.dropped == dropped + 1
        assert not again.duplicate, "the answer was lost, asked for again and is the first one"
        site.proxy.refuse()
        began = time.monotonic()
        with pytest.raises(StoreUnreachable, match="It has been away for"):
            order.later("1h")(n=3)
        assert 0.3 < time.monotonic() - began < 3
        site.proxy.accept()
        assert not order.later("1h")(n=3).duplicate
        assert order.later("1h")(n=1).duplicate_of == first.id


def test_a_worker_that_is_told_to_stop_while_its_store_is_away_stops_soon_and_in_peace(site: Site) -> None:
    leaver = site.fleet.worker("--jobs", "once")
    wait_for(lambda: "runs 1 jobs" in site.said_by(-1), at_most=60, what="the worker")
    with site.outage(3) as back:
        site.proxy.refuse()
        time.sleep(1)
        leaver.send_signal(signal.SIGTERM)
        began = time.monotonic()
        assert leaver.wait(timeout=20) == 0
        took = time.monotonic() - began
        site.fleet.forget(leaver)
        time.sleep(1)
        site.proxy.accept()
        back.append(time.monotonic())
    assert took < 5, f"{took:.1f} s"


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_an_outage_longer_than_a_heartbeat_counts_ends_no_worker_s_own_series(kind: str, tmp_path: Path) -> None:
    with KINDS[kind].start() as server:
        fleet = Fleet(tmp_path, server.url, jobs="awayjobs.py")
        try:
            pids = {fleet.worker("--jobs", "own", "--ttl", "2").pid for _ in range(3)}
            wait_for(lambda: ticking(fleet, 0.0) == pids, at_most=60, what="the first ticks")
            server.kill()
            time.sleep(4)
            server.start()
            back = time.monotonic()
            wait_for(lambda: ticking(fleet, back) == pids, at_most=4, what=f"ticks of everybody\n{fleet.said()}")
        finally:
            fleet.close()


def ticking(fleet: Fleet, since: float) -> set[int]:
    traces = [line.split() for line in fleet.effects("own ")]
    return {int(trace[3]) for trace in traces if float(trace[4]) > since}
