"""Command jobs: argument lists, never a shell; parameters as data; and only what the worker itself declares."""

from __future__ import annotations

import json
import queue
import secrets
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from noonmark.core.model import SECOND, Event, Job, Manual, Occurrence, Origin, Query, Retry, State
from noonmark.core.series import row_for_call
from noonmark.engine.activate import declare
from noonmark.engine.registry import Registry
from noonmark.engine.rules import Rules
from noonmark.engine.signals import Decided, Finished, Happening
from noonmark.engine.worker import Worker
from noonmark.stores.memory import MemoryStore
from noonmark.testing.builders import make_job

TELL = (
    sys.executable,
    "-c",
    "import json, os, sys; print(json.dumps([sys.argv[1:], json.loads(os.environ['NOONMARK_PARAMS'])]))",
)
EVIL = "$(touch pwned); `touch pwned` && touch pwned | touch pwned\n'\"; touch pwned #"


class Place:
    """A store, and a worker that declares one job."""

    def __init__(self) -> None:
        self.store = MemoryStore()
        self.told: queue.SimpleQueue[Happening] = queue.SimpleQueue()
        self.worker: Worker | None = None

    def ask(self, job: Job, params: dict[str, Any]) -> int:
        """Ask for a run, whoever declares the job."""
        now = self.store.now()
        revision = self.store.jobs([job.name])[0].revision
        row = row_for_call(
            job,
            request_id=secrets.token_hex(4),
            due_at=now,
            params=params,
            key=None,
            revision=revision,
            now=now,
            origin=Origin.LATER,
        )
        return self.store.add(secrets.token_hex(4), [row])[0].id

    def work(self, job: Job) -> None:
        """Start a worker that declares the job."""
        registry = Registry()
        registry.declare(job)
        self.worker = Worker(self.store, registry, observer=self.told.put, grace=SECOND)
        self.worker.start()

    def wait(self, kind: type[Any], at_most: float = 60) -> Any:
        """Wait for the worker's word."""
        end = time.monotonic() + at_most
        while not isinstance(told := self.told.get(timeout=max(0.01, end - time.monotonic())), kind):
            pass
        return told

    def row(self, number: int) -> Occurrence:
        """Read the row."""
        return self.store.occurrences(Query(ids=(number,)))[0]


@pytest.fixture
def place() -> Iterator[Place]:
    made = Place()
    yield made
    if made.worker is not None:
        made.worker.stop(grace=0)
    made.store.close()


def command(name: str = "work", *words: str) -> Job:
    """Make a job of a command."""
    return Job(name=name, trigger=Manual(), reason="a test", retry=Retry(max=0), command=words)


def test_parameters_reach_a_command_as_json_and_never_as_words_of_it(
    place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    params = {"evil": EVIL, "nul": "a\0b", "list": ["--flag"], "sign": "城\u202e"}
    job = command("work", *TELL, "{evil}", "$HOME", "{params.evil}")
    declare(place.store, [job], actor="test")
    number = place.ask(job, params)
    place.work(job)
    place.wait(Finished)
    row = place.row(number)
    assert row.state is State.SUCCESS, row.error
    argv, told = json.loads(json.loads(row.result or "")["stdout"])
    assert argv == ["{evil}", "$HOME", "{params.evil}"], (
        "words of a command are written in the rule and stay as written"
    )
    assert told == params
    assert list(tmp_path.iterdir()) == []


def test_a_worker_runs_only_the_command_that_it_declares_itself(place: Place, tmp_path: Path) -> None:
    mark = tmp_path / "pwned"
    job = command("work", sys.executable, "-c", "pass")
    declare(place.store, [job], actor="test")
    first = place.ask(job, {})
    place.work(job)
    place.wait(Finished)
    assert place.row(first).state is State.SUCCESS, "from here on the worker has put its own rule in force"
    evil = command("work", sys.executable, "-c", f"open({str(mark)!r}, 'w')")
    declare(place.store, [evil], actor="who can write to the store")
    number = place.ask(evil, {})
    decided = place.wait(Decided)
    while decided.row.id != number:
        decided = place.wait(Decided)
    assert (decided.decision.event, decided.decision.code) == (Event.PARK, "handler_missing")
    assert place.row(number).state is State.PENDING
    assert not mark.exists()


@pytest.mark.parametrize(
    ("own", "stored"),
    [
        (make_job("work", run="json:dumps"), make_job("work", command=("touch", "pwned"))),
        (make_job("work", command=("true",)), make_job("work", command=("true", "--pwned"))),
        (make_job("work", command=("true",)), make_job("work", run="os:abort")),
    ],
)
def test_a_stored_rule_cannot_turn_a_job_into_a_command_or_a_command_into_another(own: Job, stored: Job) -> None:
    store = MemoryStore()
    registry = Registry([own])
    declare(store, [stored], actor="who can write to the store")
    rules = Rules(registry)
    rules.load(store.jobs(), 1)
    assert rules.runs("work") is None
    assert "work" not in rules.runnable


def test_a_stored_rule_cannot_name_another_function(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.abort", lambda: pytest.fail("it was called"))
    store = MemoryStore()
    rules = Rules(Registry([make_job("work", run="json:dumps")]))
    declare(store, [make_job("work", run="os:abort")], actor="who can write to the store")
    rules.load(store.jobs(), 1)
    found = rules.runs("work")
    assert found is not None
    assert found[1].fn is json.dumps
