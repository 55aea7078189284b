"""A namespace that is wiped and made anew under an open store is another store, in every store that is shared, and the
workers that were at work in it go on in the one that lies there now."""

from __future__ import annotations

import importlib
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from noonmark.core.model import SECOND, Every, Fact, Query
from noonmark.core.model.rollback import Claim
from noonmark.engine import gate
from noonmark.engine.registry import Registry
from noonmark.engine.worker import Worker
from noonmark.ports.store import StoreError
from noonmark.testing import servers
from noonmark.testing.builders import make_caller_row, make_job
from noonmark.testing.servers.server import with_options
from noonmark.wiring import open_store

TICK = make_job("tick", trigger=Every(period=SECOND // 2), key="tick:{scheduled_for}")


def wipe(kind: str, url: str) -> None:
    """Take everything away, as a person does."""
    if kind != "sqlite":
        importlib.import_module(f"noonmark.stores.{kind}.erasing").erase(url)
        return
    for side in ("", "-wal", "-shm"):
        Path(f"{url.removeprefix('sqlite:///')}{side}").unlink(missing_ok=side != "")


@pytest.fixture(params=["sqlite", "postgres", "redis"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[str, str]]:
    """The kind of store, and where one is that nobody else uses."""
    kind = str(request.param)
    if kind == "sqlite":
        yield kind, f"sqlite:///{tmp_path}/noonmark.db"
        return
    server: servers.Server = request.getfixturevalue("postgres" if kind == "postgres" else "valkey")
    option = "schema" if kind == "postgres" else "namespace"
    url = with_options(server.url, {option: f"anew{tmp_path.name[-20:].lower().replace('-', '')}"})
    yield kind, url
    importlib.import_module(f"noonmark.stores.{kind}.erasing").erase(url)


def test_a_namespace_that_was_made_anew_under_an_open_store_is_another_store_and_no_rollback(
    place: tuple[str, str],
) -> None:
    kind, url = place
    living = open_store(url)
    was = living.prove(Claim(writer="w-1", worker="w1", receipt=None))  # type: ignore[attr-defined]
    wipe(kind, url)
    other = open_store(url)
    other.add("r", [make_caller_row("a", at=SECOND)])
    proof = living.prove(Claim(writer="w-1", worker="w1", receipt=was.receipt))  # type: ignore[attr-defined]
    assert (proof.outcome, proof.epochs) == ("other", ())
    assert proof.receipt.store == living.store_id() == other.store_id() != was.receipt.store  # type: ignore[attr-defined]
    assert [row.gated for row in other.occurrences(Query())] == [False]
    living.close()
    other.close()


def store_id(store: Any) -> str:
    return str(store.store_id())


class Fleet:
    """Two workers in this process, each with a store of its own, and what their job did."""

    def __init__(self, url: str, folder: Path) -> None:
        self.ticks: list[float] = []
        self.stores = [open_store(url) for _ in range(2)]
        self.workers = [self._worker(store, folder) for store in self.stores]

    def _worker(self, store: Any, folder: Path) -> Worker:
        registry = Registry()
        registry.add(TICK, lambda: self.ticks.append(time.monotonic()))
        return Worker(store, registry, state=folder)

    def wait_for(self, is_so: Callable[[], bool], *, at_most: float) -> None:
        until = time.monotonic() + at_most
        while not is_so():
            assert time.monotonic() < until, "it never came"
            time.sleep(0.02)

    def wait_for_ticks(self, *, at_most: float) -> None:
        wanted = len(self.ticks) + 2
        self.wait_for(lambda: len(self.ticks) >= wanted, at_most=at_most)

    def __enter__(self) -> Fleet:
        for worker in self.workers:
            worker.start()
        return self

    def __exit__(self, *_: object) -> None:
        for worker in self.workers:
            worker.stop()
        for store in self.stores:
            store.close()


def test_workers_of_a_store_that_was_made_anew_declare_their_jobs_in_it_and_go_on(
    place: tuple[str, str], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    kind, url = place
    with Fleet(url, tmp_path / "state") as fleet:
        fleet.wait_for_ticks(at_most=60)
        was = store_id(fleet.stores[0])
        wipe(kind, url)
        looking = open_store(url)  # somebody else makes it anew: a command, a restore, another worker
        looking.signal("r", [Fact(name="x", value=True, actor="ada")])
        fleet.wait_for_ticks(at_most=60)
        fleet.wait_for(lambda: len(looking.workers()) == 2, at_most=60)
        assert store_id(looking) != was
        assert [job.name for job in looking.jobs()] == ["tick"]
        assert all(worker.is_running for worker in fleet.workers)
        looking.close()
    assert sum("another store lies" in record.message for record in caplog.records if record.levelname == "ERROR") == 2


def test_a_server_that_comes_back_empty_is_worked_with_anew(tmp_path: Path) -> None:
    with servers.start_redis(kind="valkey") as server, Fleet(server.url, tmp_path / "state") as fleet:
        fleet.wait_for_ticks(at_most=60)
        server.kill()  # it keeps nothing
        server.start()
        fleet.wait_for_ticks(at_most=60)
        looking = open_store(server.url)
        assert [job.name for job in looking.jobs()] == ["tick"]
        looking.close()


@pytest.mark.parametrize("place", ["sqlite", "postgres"], indirect=True)  # a namespace without keys is an empty one
def test_a_store_that_is_not_there_is_waited_for_and_never_made_anew_by_who_works_in_it(
    place: tuple[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kind, url = place
    monkeypatch.setattr(gate, "MENDING", SECOND // 10)
    with Fleet(url, tmp_path / "state") as fleet:
        fleet.wait_for_ticks(at_most=60)
        wipe(kind, url)
        time.sleep(2)
        assert all(worker.is_running for worker in fleet.workers)
        with pytest.raises(StoreError):
            open_store(url, create=False)
        open_store(url).close()
        fleet.wait_for_ticks(at_most=60)
