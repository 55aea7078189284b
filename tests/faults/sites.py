"""A store on a real server, its proxy, and three workers behind the proxy: where outages are staged."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import awayjobs
from fleet import Fleet, wait_for

from noonmark.core.model import Occurrence, Query, State
from noonmark.explain.verify import verify
from noonmark.testing.proxy import Proxy
from noonmark.testing.servers import Server, start_postgres, start_redis
from noonmark.testing.servers.server import with_options

APPENDS = {"appendonly": "yes", "appendfsync": "always"}
"""What a killed Redis server had acknowledged is there when it is back."""


@dataclass(frozen=True)
class Kind:
    """One kind of store; ``commits`` are bytes of the one request that gives a verb its effect."""

    name: str
    start: Callable[[], Server]
    commits: bytes


KINDS = {
    "postgres": Kind("postgres", start_postgres, b"COMMIT"),
    "valkey": Kind("valkey", lambda: start_redis(kind="valkey", options=APPENDS), b"EVALSHA"),
}


def through(server: Server, proxy: Proxy, **options: str) -> str:
    """Return the server's URL by way of the proxy."""
    return with_options(server.url.replace(f":{server.port}/", f":{proxy.port}/"), options)


class Site:
    """One server, one proxy, and three workers that know only the proxy."""

    def __init__(self, kind: Kind, folder: Path, *, workers: int = 3) -> None:
        self.kind = kind
        self.server = kind.start()
        self.proxy = Proxy(self.server.port)
        self.proxied_url = through(self.server, self.proxy)
        self.fleet = Fleet(folder, self.server.url, workers=self.proxied_url, jobs="awayjobs.py")
        self.store = self.fleet.store
        self._asked = 0
        self.first_runs: list[float] = []
        """Seconds from each return to the first run."""
        for _ in range(workers):
            self.fleet.worker()
        wait_for(lambda: len(self.store.workers()) == workers, at_most=60, what=f"{workers} workers\n{self.said()}")
        wait_for(lambda: self.traces("beat"), at_most=60, what="the first beat")
        self.begun = self.store.now()

    def said(self) -> str:
        """Return what the workers said, for messages."""
        return self.fleet.said()

    def said_by(self, number: int) -> str:
        """Return what one worker said; -1 is the last one started."""
        logs = sorted(self.fleet.folder.glob("worker-*.log"), key=lambda log: int(log.stem.partition("-")[2]))
        return logs[number].read_text(encoding="utf-8", errors="replace")

    def traces(self, name: str) -> list[list[str]]:
        """Return the traces of a job: name, key, fence, pid, moment."""
        return [line.split() for line in self.fleet.effects(f"{name} ")]

    def ask(self, *delays: float) -> list[int]:
        """Ask for one run of ``once`` per delay (seconds); return their rows."""
        first, self._asked = self._asked, self._asked + len(delays)
        return [self.fleet.later(awayjobs.ONCE, int(delay * 1_000_000), n=first + n) for n, delay in enumerate(delays)]

    def ask_long(self, seconds: float) -> list[int]:
        """Ask for one run that takes so long."""
        self._asked += 1
        return [self.fleet.later(awayjobs.LONG, 0, n=self._asked, seconds=seconds)]

    def done(self, row_id: int) -> Occurrence | None:
        """Return the row once it has succeeded."""
        row = self.fleet.row(row_id)
        return row if row.state is State.SUCCESS else None

    @contextmanager
    def outage(self, length: float, *, at_most: float = 1.0) -> Iterator[list[Any]]:
        """Stage an outage of so many seconds: the block brings the store back at its end.

        Jobs fall due before, during and after it.  Afterwards nobody has exited, the first run came within ``at_most``
        seconds of the return, and every job has one success and one effect.
        """
        rows = self.ask(*[-0.0, 0.1, *(0.3 * n for n in range(1, int(length / 0.3) + 8))])
        returned: list[Any] = []
        yield returned
        (back,) = returned or [time.monotonic()]
        first = wait_for(lambda: self._first_since(back), at_most=60, what=f"a run after the return\n{self.said()}")
        wait_for(lambda: self.all_done(rows), at_most=60, what=f"the jobs of the outage\n{self.said()}")
        assert [worker.poll() for worker in self.fleet.processes] == [None] * len(self.fleet.processes), self.said()
        self.first_runs.append(first - back)
        assert first - back <= at_most, f"the first run came {first - back:.2f} s after the return\n{self.said()}"
        self.prove(rows)

    def _first_since(self, moment: float) -> float | None:
        moments = [float(trace[4]) for trace in [*self.traces("once"), *self.traces("beat")]]
        return min((at for at in moments if at >= moment), default=None)

    def all_done(self, rows: list[int]) -> bool:
        """Return True when all these rows have succeeded."""
        found = self.store.occurrences(Query(ids=tuple(rows), limit=len(rows)))
        return all(row.state is State.SUCCESS for row in found)

    def prove(self, rows: list[int]) -> None:
        """Prove by the effects and by the ledger that nothing was lost and nothing ran twice."""
        found = self.store.occurrences(Query(ids=tuple(rows), limit=len(rows)))
        effects = Counter(trace[1] for name in ("once", "beat", "end") for trace in self.traces(name))
        assert {row.key: effects[row.key] for row in found} == {row.key: 1 for row in found}, self.said()
        assert max(effects.values()) == 1, "a tick ran twice"
        report = verify(self.store, self.begun)
        assert report.problems == (), self.said()
        assert len(found) == len(rows)

    def close(self) -> None:
        """End workers, proxy and server."""
        self.fleet.close()
        self.proxy.close()
        self.server.close()
