"""One fault after another, drawn by a seed, while jobs keep coming: at the end each has one effect.

A longer day: ``BAD_DAY_SECONDS=120 BAD_DAY_SEED=7 pytest tests/faults/test_bad_days.py``.
"""

from __future__ import annotations

import os
import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

import awayjobs
import pytest
from fleet import wait_for
from sites import KINDS, Site

from noonmark.core.model import Micros, Origin
from noonmark.core.series import row_for_call
from noonmark.engine.activate import declare
from noonmark.ports.store import StoreUnreachable

T = TypeVar("T")
SECONDS = float(os.environ.get("BAD_DAY_SECONDS", "12"))
ASKED_AT_LEAST = 20
SEED = int(os.environ.get("BAD_DAY_SEED", "20261129"))


@pytest.fixture(params=sorted(KINDS))
def site(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Site]:
    """One server of each kind, and three workers."""
    made = Site(KINDS[request.param], tmp_path)
    yield made
    made.close()


class Misfortunes:
    """What can befall a site; each leaves it whole again."""

    def __init__(self, site: Site, dice: random.Random) -> None:
        self.site = site
        self.dice = dice
        self.happened: Counter[str] = Counter()

    def next(self) -> None:
        """Let one happen."""
        acts = [self.crash, self.restart, self.hang, self.refuse, self.cut, self.swallow, self.lose, self.slow]
        act = self.dice.choice(acts)
        self.happened[act.__name__] += 1
        act()
        self.wait(0, 0.7)

    def wait(self, least: float, most: float) -> None:
        time.sleep(self.dice.uniform(least, most))

    def crash(self) -> None:
        self.site.server.kill()
        self.wait(0, 1.5)
        self.site.server.start()

    def restart(self) -> None:
        self.site.server.stop()
        self.site.server.start()

    def hang(self) -> None:
        self.site.server.pause()
        self.wait(0.3, 2)
        self.site.server.resume()

    def refuse(self) -> None:
        self.site.proxy.refuse()
        self.wait(0.2, 2)
        self.site.proxy.accept()

    def cut(self) -> None:
        self.site.proxy.cut()

    def swallow(self) -> None:
        self.site.proxy.blackhole()
        self.wait(0.3, 3)
        self.site.proxy.heal()

    def lose(self) -> None:
        self.site.proxy.drop_replies(self.site.kind.commits, times=self.dice.randint(1, 8))
        self.site.proxy.cut()  # a session of PostgreSQL spells COMMIT out only once: these are to be new ones
        self.wait(0.1, 1)
        self.site.proxy.heal()

    def slow(self) -> None:
        self.site.proxy.delay(self.dice.uniform(0.01, 0.2))
        self.wait(0.3, 1.5)
        self.site.proxy.heal()


class Customer(threading.Thread):
    """Asks for runs all day, each under one request id until it is answered."""

    def __init__(self, site: Site, dice: random.Random) -> None:
        super().__init__(daemon=True)
        self._site = site
        self._dice = dice
        self._over = threading.Event()
        self.rows: list[int] = []

    def run(self) -> None:
        """Ask until the day is over."""
        number = 0
        while not self._over.wait(0.06):
            number += 1
            job, params = awayjobs.ONCE, {"n": number}
            if number % 7 == 0:
                job, params = awayjobs.LONG, {"n": number, "seconds": self._dice.randint(1, 3)}
            now: Micros = self._persist(self._site.store.now)
            request = f"customer-{number}"
            row = row_for_call(
                job,
                request_id=request,
                due_at=now + self._dice.randint(0, 2_000_000),
                params=params,
                key=None,
                revision=1,
                now=now,
                origin=Origin.LATER,
            )
            (added,) = self._persist(lambda request=request, row=row: self._site.store.add(request, [row]))
            assert added.outcome == "added", "the same request, however often it is repeated"
            self.rows.append(added.id)

    @staticmethod
    def _persist(verb: Callable[[], T]) -> T:
        while True:
            try:
                return verb()
            except StoreUnreachable:
                time.sleep(0.05)

    def end(self) -> None:
        """The day is over."""
        self._over.set()
        self.join(60)


def test_whatever_befalls_server_and_network_each_job_has_one_effect_and_nobody_exits(site: Site) -> None:
    dice = random.Random(SEED)
    declare(site.store, [awayjobs.ONCE, awayjobs.LONG], actor="test")
    customer = Customer(site, random.Random(SEED))
    customer.start()
    misfortunes = Misfortunes(site, dice)
    end = time.monotonic() + SECONDS
    # A busy machine spends a short day in two restarts of the server: then the day is longer.
    while time.monotonic() < end or (len(customer.rows) <= ASKED_AT_LEAST and time.monotonic() < end + 60):
        misfortunes.next()
    customer.end()

    told = f"seed {SEED}: {dict(misfortunes.happened)}"
    assert len(customer.rows) > ASKED_AT_LEAST, told
    wait_for(lambda: site.all_done(customer.rows), at_most=60, what=f"the rest ({told})\n{site.said()}")
    assert [worker.poll() for worker in site.fleet.processes] == [None] * 3, f"{told}\n{site.said()}"
    site.prove(customer.rows)
