"""``noonmark store copy`` between stores of different kinds, as a person calls it, and back again."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import time
import uuid
from pathlib import Path
from typing import Any, cast

import pytest

import noonmark
from noonmark import Scheduler, manual
from noonmark.core.urls import with_option
from noonmark.engine.copied import Copied, copied, is_mark
from noonmark.testing.archives import make_busy, plain, read_all
from noonmark.testing.builders import make_worker
from noonmark.wiring import open_store

SERVERS = ("valkey", "postgres")


@pytest.fixture(params=SERVERS)
def server_url(request: pytest.FixtureRequest) -> str:
    """The URL of a fresh namespace on a server."""
    server = request.getfixturevalue(request.param)
    option = "schema" if request.param == "postgres" else "namespace"
    return with_option(server.url, option, f"copy_{uuid.uuid4().hex[:8]}")


def call(*args: str) -> tuple[int, dict[str, Any], str]:
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith("NOONMARK_")},
        "PYTHONPATH": str(Path(noonmark.__file__).parents[1]),
    }
    done = subprocess.run(
        [sys.executable, "-m", "noonmark.faces.cli", *args, "--json"],
        env=environment, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    return done.returncode, json.loads(done.stdout or "{}"), done.stderr


def records(url: str) -> list[str]:
    with contextlib.closing(cast(Any, open_store(url))) as store:
        return plain([record for record in read_all(store, 1000) if not is_mark(record)])


def mark_of(url: str) -> Copied | None:
    with contextlib.closing(open_store(url)) as store:
        return copied(store)


def test_a_namespace_moves_to_a_server_and_back_with_ledger_and_keys(server_url: str, tmp_path: Path) -> None:
    first, last = f"sqlite:///{tmp_path}/first.db", f"sqlite:///{tmp_path}/last.db"
    with contextlib.closing(open_store(first)) as store:
        harness = make_busy(store)
        for worker in ("w1", "w2"):
            store.heartbeat(make_worker(worker, ended_at=1), 1_000_000, at=harness.at(40))
    for start, end in ((first, server_url), (server_url, last)):
        code, told, said = call("store", "copy", start, end)
        assert (code, told["done"], told["refused"]) == (0, False, []), said
        code, told, said = call("store", "copy", start, end, "--go")
        assert (code, told["same"]) == (0, True), (told, said)
    assert records(server_url) == records(first) == records(last)
    assert [mark_of(url) is None for url in (first, server_url, last)] == [False, False, True]
    code, told, _ = call("store", "copy", first, server_url, "--go")
    assert (code, told["copied"]) == (0, 0), "it is complete"
    code, told, _ = call("store", "copy", last, server_url, "--go")
    assert code == 3, "it came from another store"


def test_a_key_that_was_done_before_the_move_is_done_after_it(server_url: str, tmp_path: Path) -> None:
    ran: list[int] = []

    def app(url: str) -> Scheduler:
        made = Scheduler(url, rules=False)

        @made.job(manual(), name="bill", key="bill:{n}", reason="Once per order.")
        def bill(n: int) -> None:
            ran.append(n)

        return made

    def work(scheduler: Scheduler, until: int) -> None:
        worker = scheduler.worker(concurrency=2)
        deadline = time.monotonic() + 20
        worker.start()
        while time.monotonic() < deadline and not (
            len(ran) >= until and not scheduler.occurrences("bill", states=["RUNNING"])
        ):
            time.sleep(0.01)
        worker.stop()

    here = f"sqlite:///{tmp_path}/here.db"
    with app(here) as before:
        for n in (1, 2):
            before.jobs["bill"].later("0s")(n=n)
        before.jobs["bill"].later("1h")(n=3)
        work(before, 2)
    code, told, said = call("store", "copy", here, server_url, "--go")
    assert (code, told.get("same")) == (0, True), (told, said)
    with app(server_url) as after:
        assert after.jobs["bill"].later("0s")(n=1).duplicate
        assert after.jobs["bill"].later("0s")(n=3).duplicate
        assert not after.jobs["bill"].later("0s")(n=4).duplicate
        work(after, 3)
    assert sorted(ran) == [1, 2, 4]


def test_a_server_that_is_away_ends_with_4_and_leaves_the_rest_as_it_was(tmp_path: Path) -> None:
    first = f"sqlite:///{tmp_path}/first.db"
    with contextlib.closing(open_store(first)) as store:
        store.signal("r", [])
    code, _, said = call("store", "copy", first, "redis://127.0.0.1:1/0", "--go")
    assert code == 4, said
    assert "Traceback" not in said
