"""Servers that are killed, stopped, cut off and silent, under three workers: nobody exits, nothing is lost or doubled."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest
from sites import KINDS, Site


@pytest.fixture(scope="module", params=sorted(KINDS))
def site(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """One server and three workers, for all tests: whoever lives through one outage has to live through the next."""
    made = Site(KINDS[request.param], tmp_path_factory.mktemp(request.param))
    yield made
    made.close()


def test_a_server_that_is_killed_and_comes_back_on_its_port(site: Site) -> None:
    with site.outage(3) as back:
        site.server.kill()
        time.sleep(3)
        site.server.start()
        back.append(time.monotonic())


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


def test_connections_that_are_all_cut_at_once(site: Site) -> None:
    with site.outage(0) as back:
        assert site.proxy.cut() >= 3
        back.append(time.monotonic())


def test_a_network_that_refuses_for_a_while(site: Site) -> None:
    with site.outage(2) as back:
        site.proxy.refuse()
        time.sleep(2)
        site.proxy.accept()
        back.append(time.monotonic())


def test_a_network_that_swallows_everything_for_a_while(site: Site) -> None:
    with site.outage(5) as back:
        site.proxy.blackhole()
        time.sleep(5)
        site.proxy.heal()
        back.append(time.monotonic())


def test_replies_that_are_lost_after_their_effect(site: Site) -> None:
    with site.outage(0) as back:
        before = site.proxy.dropped
        site.proxy.drop_replies(site.kind.commits, times=12)
        deadline = time.monotonic() + 20
        while site.proxy.dropped < before + 12:
            assert time.monotonic() < deadline
            time.sleep(0.02)
        back.append(time.monotonic())
