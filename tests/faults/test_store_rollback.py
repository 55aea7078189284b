"""A store that goes back in time: without the guard the loss is silent, with it nothing is silently done twice."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from fleet import wait_for
from rollbacks import Office, Place, PostgresPlace, SqlitePlace, ValkeyPlace

from noonmark import State
from noonmark.core.model import Query

PLACES: dict[str, Callable[[Path], Place]] = {"sqlite": SqlitePlace, "postgres": PostgresPlace, "valkey": ValkeyPlace}


@pytest.fixture(params=sorted(PLACES))
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    made = PLACES[request.param](tmp_path)
    yield made
    if hasattr(made, "close"):
        made.close()


@pytest.fixture
def office(place: Place, tmp_path: Path) -> Iterator[Office]:
    made = Office(place, tmp_path)
    yield made
    made.close()


def noonmark(office: Office, *args: str, code: int = 0) -> Any:
    """Run a command on the office's store."""
    command = [sys.executable, "-m", "noonmark.faces.cli", *args, "--url", office.place.url, "--json"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == code, (done.stdout, done.stderr)
    return json.loads(done.stdout) if done.stdout.startswith("{") else done.stdout


def lose_what_was_sent(office: Office, *, state: str = "state") -> None:
    """Send three mails and let the store forget that they were sent; one more is due later."""
    office.send(1, 2, 3)
    office.send(99, delay="1h")
    office.place.keep()
    office.worker(state)
    office.done(1, 2, 3)
    office.stop()
    office.place.put_back()
    office.reopen()


def come_back_without(office: Office, *numbers: int) -> None:
    """Let mails be asked for and sent, and the store forget all of that; a worker that remembers has proved it."""
    office.send(99, delay="1h")
    office.place.keep()
    office.worker()
    office.send(*numbers)
    office.done(*numbers)
    office.stop()
    office.place.put_back()
    office.reopen()
    office.worker()
    wait_for(lambda: len(office.epochs()) == 1, what="the rollback on record")


def test_a_blind_worker_repeats_what_its_store_forgot_and_nothing_says_so(office: Office) -> None:
    lose_what_was_sent(office, state="none")
    office.worker("none")
    office.sent(1, 2, 3, 1, 2, 3)
    assert office.epochs() == ()
    assert office.desk.store.tallies().open_alerts == ()


@pytest.mark.parametrize("alive", [True, False], ids=["a worker lives", "the worker was killed"])
def test_a_file_moved_into_place_beside_the_old_ones_log_is_refused_by_everybody_until_that_is_away(
    tmp_path: Path, alive: bool
) -> None:
    place = SqlitePlace(tmp_path)
    office = Office(place, tmp_path)
    file = tmp_path / "noonmark.db"
    office.send(99, delay="1h")
    place.keep()
    office.worker()
    office.send(1, 2, 3)
    office.done(1, 2, 3)
    if not alive:
        left = {side: Path(f"{file}{side}").read_bytes() for side in ("-wal", "-shm", "-pair")}
        inodes = {side: Path(f"{file}{side}").rename(tmp_path / f"left{side}") for side in left}
        office.stop()  # as if it had been killed: its log stays, the very file
        office.desk.close()
        for side, kept in inodes.items():
            kept.write_bytes(left[side])
            kept.rename(f"{file}{side}")
    shutil.copy(tmp_path / "kept.db", tmp_path / "new.db")
    (tmp_path / "new.db").replace(file)
    before = file.read_bytes()
    for command in (("ledger", "show"), ("history", "mail"), ("jobs",)):
        assert "another file was put in its place" in noonmark(office, *command, code=4)["error"]["what"]
    assert "another file was put in its place" in json.dumps(noonmark(office, "doctor", code=1))
    assert file.read_bytes() == before
    for side in ("-wal", "-shm"):
        Path(f"{file}{side}").rename(f"{file}{side}.old")
    office.reopen()
    if not alive:
        office.worker()
    wait_for(lambda: len(office.epochs()) == 1, what="the rollback on record")
    office.send(4)
    office.sent(1, 2, 3, 4)
    assert office.epochs()[0].released_at is None
    office.close()


def test_a_worker_that_remembers_holds_what_its_store_forgot(office: Office) -> None:
    lose_what_was_sent(office)
    office.worker()
    office.holds(1, 2, 3)
    office.sent(1, 2, 3)
    (epoch,) = office.epochs()
    assert epoch.number == 1
    (alert,) = office.desk.store.tallies().open_alerts
    assert (alert.code, alert.level) == ("store_rolled_back", 3)
    office.send(4)
    office.sent(1, 2, 3, 4)  # what is asked for now runs as usual


def test_what_is_released_runs_again_and_says_that_it_may_be_a_repeat(office: Office) -> None:
    lose_what_was_sent(office)
    office.worker()
    office.holds(1, 2, 3)
    shown = noonmark(office, "ledger", "show")
    assert [len(shown["rollbacks"]), len(shown["held"])] == [1, 3]
    noonmark(office, "doctor", code=1)
    noonmark(office, "ledger", "release", "--as", "run", "--reason", "the provider says they were not sent")
    office.sent(1, 2, 3, 1, 2, 3)
    office.done(1, 2, 3)
    rows = office.desk.store.occurrences(Query(job="mail", states=frozenset({State.SUCCESS})))
    for row in rows:
        story = office.desk.store.story(row.id)
        assert story is not None
        assert [line.code for line in story.ledger if line.event == "start"] == ["restored_epoch"]
    told = noonmark(office, "why", "--occurrence", f"r{rows[0].id}")
    assert any("may be a repeat" in line for line in told["lines"])
    assert office.desk.store.tallies().open_alerts == ()
    assert noonmark(office, "ledger", "release", "--as", "run", "--reason", "again", code=3)["rows"] == 0


def test_what_is_released_as_done_never_runs(office: Office) -> None:
    lose_what_was_sent(office)
    office.worker()
    office.holds(1, 2, 3)
    answer = noonmark(office, "ledger", "release", "--as", "done", "--reason", "the provider has them")
    assert answer["rows"] == 3
    office.done(1, 2, 3)
    office.send(4)
    office.sent(1, 2, 3, 4)


def test_the_journal_of_the_workers_brings_back_what_was_done(office: Office) -> None:
    lose_what_was_sent(office)
    office.worker()
    office.holds(1, 2, 3)
    file = office.folder / "ledger.jsonl"
    folder = str(office.folder / "state")
    assert noonmark(office, "ledger", "export", str(file), "--from-state", folder)["outcomes"] == 3
    dry = noonmark(office, "ledger", "import", str(file))
    assert (dry["mark"], dry["done"], office.held() != set()) == (3, False, True)
    assert noonmark(office, "ledger", "import", str(file), "--go")["mark"] == 3
    office.done(1, 2, 3)
    assert noonmark(office, "ledger", "import", str(file), "--go")["there"] == 3
    noonmark(office, "ledger", "release", "--as", "run", "--reason", "nothing is left")
    office.send(4)
    office.sent(1, 2, 3, 4)


def test_a_row_that_the_store_forgot_as_a_whole_is_entered_as_done(office: Office) -> None:
    office.worker()
    office.send(7)
    office.done(7)
    office.stop()
    office.place.keep()
    office.worker()
    office.send(1, 2)
    office.done(1, 2)
    office.stop()
    office.place.put_back()
    office.reopen()
    file = office.folder / "ledger.jsonl"
    noonmark(office, "ledger", "export", str(file), "--from-state", str(office.folder / "state"))
    answer = noonmark(office, "ledger", "import", str(file), "--go")
    assert (answer["make"], answer["there"]) == (2, 1)
    office.worker()
    office.done(1, 2, 7)
    (again,) = office.send(1)
    assert again.duplicate_of is not None, "its key is held again"
    office.sent(7, 1, 2)


def test_a_ledger_that_was_changed_is_refused(office: Office) -> None:
    office.worker()
    office.send(1, 2)
    office.done(1, 2)
    file = office.folder / "ledger.jsonl"
    noonmark(office, "ledger", "export", str(file))
    whole = file.read_text(encoding="utf-8")
    for damaged in (whole.replace("mail:1", "mail:7"), "".join(whole.splitlines(keepends=True)[:-1])):
        file.write_text(damaged, encoding="utf-8")
        noonmark(office, "ledger", "import", str(file), "--go", code=3)


def test_a_store_that_is_put_back_under_living_workers_is_noticed_before_anything_is_repeated(office: Office) -> None:
    office.worker("one")
    office.worker("two")
    office.send(99, delay="1h")
    office.send(*range(20), delay="1s")
    office.place.keep()
    office.done(*range(20))
    office.place.put_back()
    office.reopen()
    wait_for(lambda: office.epochs(), at_most=60, what="the rollback")
    office.holds(*range(20))
    office.send(50)
    office.sent(*range(20), 50)
    assert len(office.epochs()) == 1, "whoever lost something in it joined"


def test_a_file_that_is_restored_under_an_idle_worker_has_lost_what_the_journal_knows(tmp_path: Path) -> None:
    place = SqlitePlace(tmp_path)
    office = Office(place, tmp_path)
    try:
        office.worker()
        office.send(7)
        office.done(7)
        place.keep()
        kept_at = office.desk.store.now()
        office.send(1)
        office.done(1)
        (row,) = office.desk.store.occurrences(Query(key="mail:1"))
        place.restore()
        office.reopen()
        wait_for(lambda: office.epochs(), at_most=60, what="the rollback: nothing but heartbeats tells of it")
        (epoch,) = office.epochs()
        assert epoch.lost_from <= kept_at
        (again,) = office.send(1)
        assert again.id > row.id, "no two runs have one number"
        office.holds(1)
        release = ("ledger", "release", "--as", "run", "--reason", "why not", "--state", str(tmp_path / "state"))
        assert "ran" in noonmark(office, *release, code=3)["error"]["what"]
        office.sent(7, 1)
    finally:
        office.close()


def test_one_worker_proves_for_its_host_before_another_takes_anything(office: Office) -> None:
    """The first worker did the work; the second, which lost nothing, is the only one that comes back."""
    office.worker()
    idle = office.worker()
    office.send(1, 2, 3, delay="1s")
    office.place.keep()
    office.done(1, 2, 3)
    office.stop()
    assert not idle.is_running
    office.place.put_back()
    office.reopen()
    office.worker()
    office.holds(1, 2, 3)
    office.sent(1, 2, 3)


def test_a_job_whose_repeat_does_no_harm_runs_on(place: Place, tmp_path: Path) -> None:
    office = Office(place, tmp_path, on_rollback="run")
    try:
        lose_what_was_sent(office)
        office.worker()
        office.sent(1, 2, 3, 1, 2, 3)
        assert len(office.epochs()) == 1
        assert office.held() == set()
    finally:
        office.close()


def test_a_state_folder_that_is_gone_or_older_than_the_store_alarms_nobody(office: Office) -> None:
    import shutil

    office.worker()
    office.send(1)
    office.done(1)
    office.stop()
    shutil.copytree(office.folder / "state", office.folder / "older")
    office.worker()
    office.send(2)
    office.done(2)
    office.stop()
    office.worker("older")
    office.send(3)
    office.done(3)
    office.stop()
    shutil.rmtree(office.folder / "state")
    office.worker()
    office.send(4)
    office.sent(1, 2, 3, 4)
    assert office.epochs() == ()


def test_a_folder_that_cannot_be_written_makes_the_worker_blind_and_says_so(office: Office) -> None:
    (office.folder / "state").write_text("a file, where a folder should be", encoding="utf-8")
    office.worker()
    office.send(1)
    office.done(1)
    assert [worker["blind"] for worker in noonmark(office, "leases")["workers"] if worker["awake"]] == [True]
    codes = {finding["code"] for finding in noonmark(office, "doctor")["findings"]}
    assert "workers_blind" in codes


def test_who_asks_again_for_what_was_lost_is_held_where_a_journal_knows_that_it_ran(office: Office) -> None:
    come_back_without(office, 3)
    office.send(3, 4)
    office.sent(3, 4)
    office.holds(3)
    noonmark(office, "ledger", "release", "--as", "run", "--reason", "the provider lost it, too")
    office.sent(3, 3, 4)
    office.done(3, 4)


def test_who_asks_again_for_what_was_lost_is_done_by_the_journal_or_by_a_word(office: Office) -> None:
    come_back_without(office, 3, 4)
    office.send(3, 4)
    office.holds(3, 4)
    file = str(office.folder / "ledger.jsonl")
    noonmark(office, "ledger", "export", file, "--from-state", str(office.folder / "state"))
    assert noonmark(office, "ledger", "import", file)["mark"] == 2
    assert noonmark(office, "ledger", "release", "--as", "done", "--reason", "they have it")["rows"] == 2
    office.done(3, 4)
    assert noonmark(office, "ledger", "import", file, "--go")["there"] == 2
    office.sent(3, 4)
