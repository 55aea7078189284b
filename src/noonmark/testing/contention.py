"""Several workers fight for the same rows, and it is counted what they did.

One row is a counter: whoever holds it reads a number from a file, writes the next one back, unprotected, and gives the
row back; two holders at a time would lose an update.  The other rows are to be run by exactly one worker each.  Every run
is told to a journal that the store cannot touch, before the store hears of it.

Rule of the file: nothing here looks into the store to learn what happened, but to compare it with the journal.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import threading
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from noonmark.core.model import LOOK_LEASE, SECOND, Event, Micros, Occurrence, Query, Settlement, State
from noonmark.ports.store import Store
from noonmark.testing.builders import make_activation, make_caller_row, make_end
from noonmark.testing.faults import Persistent

LEASE: Micros = 60 * SECOND
PLAIN = 200
"""How many rows are to be run once each."""
_PATIENCE = 180.0
_BATCH = 7


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What the journal tells, and what the store tells."""

    counter: int  # in the file, at the end
    raised: int  # as the journal has it
    wanted: int
    runs: dict[int, int]  # occurrence -> how often it was run, of the rows to be run once
    states: dict[str, int]  # of those rows, as the store has it
    fences: list[int]  # of the counter's runs, in the order of the numbers they wrote
    attempts: int  # of the counter's row, as the store has it
    workers: dict[str, int]  # worker -> how many runs

    def check(self) -> None:
        """Fail unless everything was run exactly once and nothing was lost."""
        assert self.counter == self.raised == self.wanted == self.attempts, self
        assert self.fences == sorted(set(self.fences)), "a later holder had an older fence"
        assert self.runs == dict.fromkeys(self.runs, 1), {row: n for row, n in self.runs.items() if n != 1}
        assert self.states == {str(State.SUCCESS): PLAIN}, self.states
        assert len(self.runs) == PLAIN
        assert len(self.workers) > 1, "one worker did it all: nobody fought"


def contend(store: Store, folder: Path, *, url: str | None, workers: int, rounds: int) -> Outcome:
    """Let workers fight and return what happened.

    Args:
        store: an empty namespace.
        folder: for the counter and the journal.
        url: with which the workers, as processes, open the same namespace; None = they are threads with this store.
        workers: how many.
        rounds: how often the counter is to be raised.
    """
    now = store.now()
    store.activate("begin", [make_activation(effective_at=now)], actor="contention")
    rows = [make_caller_row("counter", at=now)] + [make_caller_row(f"plain{n}", at=now) for n in range(PLAIN)]
    counter, *plain = (added.id for added in store.add("rows", rows))
    (folder / "counter").write_text("0", encoding="ascii")
    names = [f"fighter{n}" for n in range(workers)]
    if url is None:
        _fight_in_threads(store, folder, names, counter, rounds)
    else:
        _fight_in_processes(url, folder, names, counter, rounds)
    return _outcome(store, folder, counter, plain, rounds)


def _fight_in_threads(store: Store, folder: Path, names: list[str], counter: int, rounds: int) -> None:
    failures: list[BaseException] = []

    def run(name: str) -> None:
        try:
            fight(store, folder, name, counter, rounds)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=run, args=(name,), name=name) for name in names]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(_PATIENCE)
    assert not failures, failures
    assert not any(thread.is_alive() for thread in threads), "a worker did not come to an end"


def _fight_in_processes(url: str, folder: Path, names: list[str], counter: int, rounds: int) -> None:
    fighters = [
        subprocess.Popen(
            [sys.executable, "-m", __name__, url, str(folder), name, str(counter), str(rounds), str(len(names))],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for name in names
    ]
    said = []
    for fighter in fighters:
        try:
            said.append(fighter.communicate(timeout=_PATIENCE)[0])
        except subprocess.TimeoutExpired:
            fighter.kill()
            said.append(f"killed after {_PATIENCE:g} s: {fighter.communicate()[0]}")
    assert all(fighter.returncode == 0 for fighter in fighters), "\n".join(said)


def fight(store: Store, folder: Path, name: str, counter: int, rounds: int) -> None:
    """Work until nothing is left to do."""
    number = 0
    deadline = time.monotonic() + _PATIENCE
    while time.monotonic() < deadline:
        number += 1
        taken = store.take(f"{name}-{number}", name, limit=_BATCH, runnable={"job": LEASE}, look_lease=LOOK_LEASE)
        if taken.rows:
            items = [_run(row, taken.now, folder, name, counter, rounds) for row in taken.rows]
            answers = store.settle(f"{name}-{number}", name, items)
            assert all(answer.outcome == "applied" for answer in answers), answers
        elif not store.occurrences(Query(open_only=True, limit=1)):
            return
        else:
            time.sleep(0.002)
    raise AssertionError(f"{name} was not done within {_PATIENCE:g} s")


def _run(row: Occurrence, now: Micros, folder: Path, name: str, counter: int, rounds: int) -> Settlement:
    assert row.state is State.RUNNING, row
    line: dict[str, object] = {"row": row.id, "fence": row.fence, "worker": name}
    ending = make_end(row)
    if row.id == counter:
        place = folder / "counter"
        value = int(place.read_text(encoding="ascii")) + 1
        time.sleep(0.0005)  # long enough for somebody who should not be here to read the same number
        place.write_text(str(value), encoding="ascii")
        line["value"] = value
        if value < rounds:
            ending = make_end(row, Event.FAIL_RETRY, due_at=now)
    with (folder / "journal").open("a", encoding="ascii") as journal:
        journal.write(json.dumps(line) + "\n")
    return ending


def _outcome(store: Store, folder: Path, counter: int, plain: list[int], rounds: int) -> Outcome:
    journal = [json.loads(line) for line in (folder / "journal").read_text(encoding="ascii").splitlines()]
    raised = sorted((line for line in journal if line["row"] == counter), key=lambda line: int(line["value"]))
    story = store.story(counter)
    assert story is not None
    rows = store.occurrences(Query(ids=tuple(plain), limit=len(plain)))
    return Outcome(
        counter=int((folder / "counter").read_text(encoding="ascii")),
        raised=len(raised),
        wanted=rounds,
        runs=dict(Counter(line["row"] for line in journal if line["row"] != counter)),
        states=dict(Counter(str(row.state) for row in rows)),
        fences=[line["fence"] for line in raised],
        attempts=len(story.attempts),
        workers=dict(Counter(line["worker"] for line in journal)),
    )


def _wait_for_the_others(folder: Path, name: str, workers: int) -> None:
    """Begin together, however long a process takes to start, so that there is somebody to fight."""
    (folder / f"here-{name}").touch()
    deadline = time.monotonic() + 60
    while len(list(folder.glob("here-*"))) < workers and time.monotonic() < deadline:
        time.sleep(0.002)


def main() -> None:
    """Be one of the workers."""
    from noonmark.wiring import open_store

    asked = argparse.ArgumentParser(description="one of the workers that fight for rows")
    for argument, kind in (
        ("url", str),
        ("folder", Path),
        ("name", str),
        ("counter", int),
        ("rounds", int),
        ("workers", int),
    ):
        asked.add_argument(argument, type=kind)
    told = asked.parse_args()
    store = open_store(told.url)
    try:
        _wait_for_the_others(told.folder, told.name, told.workers)
        fight(
            Persistent(store, pause=lambda failures: time.sleep(0.02 * failures)),
            told.folder,
            told.name,
            told.counter,
            told.rounds,
        )
    finally:
        store.close()


if __name__ == "__main__":
    main()
