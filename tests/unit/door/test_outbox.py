"""later(conn=...): the occurrence is there when the caller commits, and only then."""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import apsw
import pytest
import sqlalchemy
from sqlalchemy.orm import Session

from noonmark import Scheduler, manual, on_event
from noonmark.core.model import NewOccurrence, Query
from noonmark.ports.store import StoreUnreachable
from noonmark.stores.sqlite import SqliteStore, caller
from noonmark.testing.builders import make_activation, make_caller_row

DRIVERS = ("apsw", "sqlite3")
Shop = tuple[Scheduler, Path, Callable[[], Any]]


def connect(path: Path, driver: str) -> Any:
    return apsw.Connection(str(path)) if driver == "apsw" else sqlite3.connect(path)


@pytest.fixture(params=DRIVERS)
def driver(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def sched(tmp_path: Path, driver: str) -> Iterator[Scheduler]:
    """A shop whose orders stand in the store's own file."""
    with Scheduler(f"sqlite:///{tmp_path}/app.db?synchronous=NORMAL&driver={driver}", rules=False) as scheduler:

        @scheduler.job(manual(), name="close_unpaid", key="unpaid:{order_id}", reason="Free the stock.")
        def close_unpaid(order_id: int, note: str = "") -> None: ...

        @scheduler.job(on_event("order.paid"), name="send", key="send:{order_id}", reason="They paid.")
        def send(order_id: int) -> None: ...

        scheduler.declare()
        yield scheduler


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "app.db"


@pytest.fixture
def conn(sched: Scheduler, path: Path, driver: str) -> Iterator[Any]:
    """The application's own connection, in a transaction that has written an order."""
    assert sched.store.now() > 0
    opened = connect(path, driver)
    opened.execute("CREATE TABLE shop_order (id INTEGER PRIMARY KEY, total INTEGER)")
    if driver == "apsw":
        opened.execute("BEGIN IMMEDIATE")
    opened.execute("INSERT INTO shop_order VALUES (42, 100)")
    yield opened
    opened.close()


def commit(conn: Any) -> None:
    conn.execute("COMMIT")


def rollback(conn: Any) -> None:
    conn.execute("ROLLBACK")


def orders(path: Path, driver: str) -> int:
    with contextlib.closing(connect(path, driver)) as other:
        return int(other.execute("SELECT count(*) FROM shop_order").fetchone()[0])


# -- both or neither ------------------------------------------------------------------------------------


def test_what_is_rolled_back_leaves_nothing(sched: Scheduler, conn: Any, path: Path, driver: str) -> None:
    asked = sched.jobs["close_unpaid"].later("30m", conn=conn)(order_id=42)
    assert asked.key == "unpaid:42"
    rollback(conn)
    assert sched.occurrences() == []
    assert sched.store.facts(["key:unpaid:42"])["key:unpaid:42"].value is None
    assert orders(path, driver) == 0
    assert not sched.jobs["close_unpaid"].later("30m")(order_id=42).duplicate


def test_what_is_committed_is_there_with_the_callers_own_rows(
    sched: Scheduler, conn: Any, path: Path, driver: str
) -> None:
    asked = sched.jobs["close_unpaid"].later("30m", conn=conn)(order_id=42)
    assert sched.occurrences() == [], "not before the commit"
    commit(conn)
    (row,) = sched.occurrences("close_unpaid")
    assert (row.id, row.run_id, row.key, dict(row.params)) == (asked.id, asked.run_id, "unpaid:42", {"order_id": 42})
    assert orders(path, driver) == 1


def test_at_and_emit_join_a_transaction_too(sched: Scheduler, conn: Any) -> None:
    from datetime import UTC, datetime

    sched.jobs["close_unpaid"].at(datetime(2030, 1, 1, tzinfo=UTC), conn=conn)(order_id=1)
    emitted = sched.emit("order.paid", id="e1", conn=conn, order_id=1)
    assert len(emitted.enqueued) == 1
    assert sched.occurrences() == []
    commit(conn)
    assert {row.job for row in sched.occurrences()} == {"close_unpaid", "send"}
    assert sched.emit("order.paid", id="e1", order_id=1).enqueued[0].duplicate


def test_an_event_that_nobody_waits_for_is_fine_and_one_without_a_way_in_is_not(sched: Scheduler, conn: Any) -> None:
    assert sched.emit("nobody.waits", conn=conn).enqueued == ()
    with (
        Scheduler("memory://", rules=False) as other,
        pytest.raises(ValueError, match="leave conn out and ask after your commit"),
    ):
        other.emit("nobody.waits", conn=conn)


def test_a_held_key_is_answered_as_a_duplicate_inside_the_transaction(sched: Scheduler, conn: Any) -> None:
    first = sched.jobs["close_unpaid"].later("30m", conn=conn)(order_id=42)
    again = sched.jobs["close_unpaid"].later("30m", conn=conn)(order_id=42)
    assert (again.duplicate, again.duplicate_of) == (True, first.id)
    commit(conn)
    assert len(sched.occurrences()) == 2


def test_a_request_id_that_is_repeated_gets_the_first_answer(sched: Scheduler, conn: Any) -> None:
    store: Any = sched.store
    row = make_caller_row("x", at=store.now(), job="close_unpaid")
    first = store.add_within(conn, "request-1", [row])
    assert store.add_within(conn, "request-1", [row]) == first
    commit(conn)
    assert store.add("request-1", [row]) == first, "the same request by the other way is the same request"
    assert [line.outcome for line in store.add("request-2", [row])] == ["duplicate_identity"]


def test_counts_go_along_with_the_transaction(sched: Scheduler, conn: Any) -> None:
    sched.jobs["close_unpaid"].later("30m", conn=conn)(order_id=1)
    rollback(conn)
    conn.execute("BEGIN IMMEDIATE")
    sched.jobs["close_unpaid"].later("30m", conn=conn)(order_id=2)
    commit(conn)
    assert dict(sched.store.tallies().by_state) == {"PENDING": 1}


# -- refusals leave the caller's transaction as it was ----------------------------------------------------


def test_a_payload_that_cannot_be_stored_is_refused_and_the_transaction_goes_on(
    sched: Scheduler, conn: Any, path: Path, driver: str
) -> None:
    with pytest.raises(TypeError, match="cannot be stored as JSON"):
        sched.jobs["close_unpaid"].later("30m", conn=conn)(order_id=object())
    with pytest.raises(TypeError, match="needs order_id"):
        sched.jobs["close_unpaid"].later("30m", conn=conn)()
    sched.jobs["close_unpaid"].later("30m", conn=conn)(order_id=1)
    commit(conn)
    assert len(sched.occurrences()) == orders(path, driver) == 1


def test_a_fault_in_the_middle_takes_back_what_was_added_and_nothing_else(
    sched: Scheduler, conn: Any, path: Path, driver: str
) -> None:
    store: Any = sched.store
    good = make_caller_row("good", at=store.now(), job="close_unpaid")
    bad = make_caller_row("bad", at=store.now(), job="close_unpaid", params="\ud800")
    with pytest.raises(UnicodeEncodeError):
        store.add_within(conn, "request-1", [good, bad])
    commit(conn)
    assert sched.occurrences() == []
    assert orders(path, driver) == 1


def test_a_job_that_is_not_in_force_is_not_declared_inside_the_transaction(sched: Scheduler, conn: Any) -> None:
    @sched.job(manual(), reason="It is new.")
    def fresh() -> None: ...

    with pytest.raises(ValueError, match=r"declare\(\) of the scheduler once at start-up"):
        fresh.later("1m", conn=conn)()
    commit(conn)
    sched.declare()
    conn.execute("BEGIN IMMEDIATE")
    assert not fresh.later("1m", conn=conn)().duplicate
    commit(conn)


def test_the_rule_in_force_judges_what_is_asked_for(sched: Scheduler, conn: Any) -> None:
    rollback(conn)
    row = sched.store.jobs(["close_unpaid"])[0]
    change = make_activation(
        "close_unpaid", rule=row.rule.replace("unpaid:{order_id}", "open:{order_id}"), digest="newer",
        expected_revision=row.revision, effective_at=sched.store.now(),
    )  # fmt: skip
    sched.store.activate("newer", [change], actor="another deployment")
    conn.execute("BEGIN IMMEDIATE")
    assert sched.jobs["close_unpaid"].later("1m", conn=conn)(order_id=7).key == "open:7"
    commit(conn)
    assert sched.store.jobs(["close_unpaid"])[0].revision == row.revision + 1


def test_a_connection_without_a_transaction_is_refused_or_begun_as_its_driver_does(
    sched: Scheduler, conn: Any, driver: str
) -> None:
    commit(conn)
    if driver == "apsw":
        with pytest.raises(ValueError, match="BEGIN IMMEDIATE"):
            sched.jobs["close_unpaid"].later("1m", conn=conn)(order_id=1)
        return
    sched.jobs["close_unpaid"].later("1m", conn=conn)(order_id=1)
    assert conn.in_transaction
    assert sched.occurrences() == []
    conn.commit()
    assert len(sched.occurrences()) == 1
    conn.isolation_level = None
    with pytest.raises(ValueError, match="BEGIN IMMEDIATE"):
        sched.jobs["close_unpaid"].later("1m", conn=conn)(order_id=2)


@pytest.mark.parametrize("how", ["query_only", "mode=ro"])
def test_a_connection_that_may_not_write_is_refused_in_words_of_its_own(
    sched: Scheduler, conn: Any, path: Path, driver: str, how: str
) -> None:
    commit(conn)
    if how == "query_only":
        other = connect(path, driver)
        other.execute("PRAGMA query_only = ON")
    elif driver == "apsw":
        other = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
    else:
        other = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    with contextlib.closing(other):
        other.execute("BEGIN")
        with pytest.raises(ValueError, match=r"^your connection is read-only, .*pass one that may write"):
            sched.jobs["close_unpaid"].later("1m", conn=other)(order_id=1)
        assert other.execute("SELECT count(*) FROM shop_order").fetchone()[0] == 1, "its transaction goes on"
    assert sched.occurrences() == []


def test_a_connection_to_another_file_is_refused(sched: Scheduler, tmp_path: Path, driver: str) -> None:
    for place in (tmp_path / "other.db", ":memory:"):
        with contextlib.closing(connect(place, driver)) as other:  # type: ignore[arg-type]
            other.execute("BEGIN IMMEDIATE")
            with pytest.raises(ValueError, match="your tables have to be in the store's file"):
                sched.jobs["close_unpaid"].later("1m", conn=other)(order_id=1)
            other.execute("ROLLBACK")


def test_the_other_librarys_connection_is_refused_with_the_url_that_would_do(
    sched: Scheduler, tmp_path: Path, driver: str
) -> None:
    other_driver = next(name for name in DRIVERS if name != driver)
    wanted = r"driver=sqlite3" if driver == "apsw" else r"sqlite:///PATH"
    with (
        contextlib.closing(connect(tmp_path / "never-opened.db", other_driver)) as other,
        pytest.raises(ValueError, match=wanted),
    ):
        sched.jobs["close_unpaid"].later("1m", conn=other)(order_id=1)


def test_anything_else_is_refused_by_its_name(sched: Scheduler) -> None:
    with pytest.raises(ValueError, match=r"conn is a pathlib\.PosixPath; this store is a SQLite file"):
        sched.jobs["close_unpaid"].later("1m", conn=Path("x"))(order_id=1)


def test_connections_of_asyncio_are_refused_with_a_way_out(sched: Scheduler) -> None:
    class AsyncConnection:
        async def execute(self, statement: str) -> None: ...

    class AsyncSession(AsyncConnection):
        async def run_sync(self, function: Any) -> None: ...

    with pytest.raises(ValueError, match=r"asyncio\.to_thread"):
        sched.jobs["close_unpaid"].later("1m", conn=AsyncConnection())(order_id=1)
    with pytest.raises(ValueError, match=r"await conn\.run_sync"):
        sched.jobs["close_unpaid"].later("1m", conn=AsyncSession())(order_id=1)

    async def ask() -> str:
        return (await sched.jobs["close_unpaid"].later("1m")(order_id=9)).key

    assert asyncio.run(ask()) == "unpaid:9"


def test_somebody_elses_lock_is_told_as_the_store_being_away(
    sched: Scheduler, conn: Any, path: Path, driver: str
) -> None:
    with contextlib.closing(connect(path, driver)) as other:
        (other.set_busy_timeout(1) if driver == "apsw" else other.execute("PRAGMA busy_timeout = 1"))
        other.execute("BEGIN")  # deferred: it has no lock yet, and conn holds the only one there is
        with pytest.raises(StoreUnreachable, match="write lock"):
            sched.jobs["close_unpaid"].later("1m", conn=other)(order_id=1)
    rollback(conn)


# -- the caller's own settings ------------------------------------------------------------------------------


def test_row_factories_and_traces_of_the_caller_are_left_alone(sched: Scheduler, conn: Any, driver: str) -> None:
    if driver == "apsw":

        def as_dict(cursor: apsw.Cursor, row: Any) -> Any:
            return {column[0]: value for column, value in zip(cursor.get_description(), row, strict=True)}

        conn.row_trace = as_dict
    else:
        conn.row_factory, conn.text_factory = sqlite3.Row, bytes
    asked = sched.jobs["close_unpaid"].later("1m", conn=conn)(order_id=1)
    assert sched.jobs["close_unpaid"].later("1m", conn=conn)(order_id=1).duplicate_of == asked.id
    if driver == "apsw":
        assert conn.row_trace is as_dict
    else:
        assert (conn.row_factory, conn.text_factory) == (sqlite3.Row, bytes)
    commit(conn)


# -- SQLAlchemy -----------------------------------------------------------------------------------------------


@pytest.fixture
def engine(path: Path) -> Iterator[sqlalchemy.Engine]:
    made = sqlalchemy.create_engine(f"sqlite:///{path}")
    with made.begin() as opened:
        opened.execute(sqlalchemy.text("CREATE TABLE shop_order (id INTEGER PRIMARY KEY)"))
    yield made
    made.dispose()


INSERT = sqlalchemy.text("INSERT INTO shop_order VALUES (1)")


@pytest.mark.parametrize("driver", ["sqlite3"], indirect=True)
@pytest.mark.parametrize("write_first", [True, False])
def test_sqlalchemys_connection_commits_and_rolls_back_both(
    sched: Scheduler, engine: sqlalchemy.Engine, path: Path, write_first: bool
) -> None:
    job = sched.jobs["close_unpaid"]
    for keep in (False, True):
        with contextlib.suppress(KeyboardInterrupt), engine.begin() as opened:
            if write_first:
                opened.execute(INSERT)
            job.later("1m", conn=opened)(order_id=1)
            if not write_first:
                opened.execute(INSERT)
            if not keep:
                raise KeyboardInterrupt
        assert len(sched.occurrences()) == orders(path, "sqlite3") == int(keep)


@pytest.mark.parametrize("driver", ["sqlite3"], indirect=True)
def test_sqlalchemys_session_commits_and_rolls_back_both(
    sched: Scheduler, engine: sqlalchemy.Engine, path: Path
) -> None:
    job = sched.jobs["close_unpaid"]
    with Session(engine) as session:
        job.later("1m", conn=session)(order_id=1)
        session.execute(INSERT)
        session.rollback()
        assert sched.occurrences() == []
        job.later("1m", conn=session)(order_id=1)
        session.execute(INSERT)
        session.commit()
    assert len(sched.occurrences()) == orders(path, "sqlite3") == 1


@pytest.mark.parametrize("driver", ["sqlite3"], indirect=True)
def test_a_sqlalchemy_connection_that_would_never_commit_is_refused(
    sched: Scheduler, engine: sqlalchemy.Engine
) -> None:
    with engine.connect() as opened, pytest.raises(ValueError, match=r"engine\.begin\(\)"):
        sched.jobs["close_unpaid"].later("1m", conn=opened)(order_id=1)


@pytest.mark.parametrize("driver", ["apsw"], indirect=True)
def test_sqlalchemy_needs_the_store_to_use_pythons_own_library(sched: Scheduler, tmp_path: Path) -> None:
    assert sched.store.now() > 0
    engine = sqlalchemy.create_engine(f"sqlite:///{tmp_path}/another-file.db")
    with engine.begin() as opened, pytest.raises(ValueError, match=r"driver=sqlite3"):
        sched.jobs["close_unpaid"].later("1m", conn=opened)(order_id=1)
    engine.dispose()


# -- who waits hears of the commit ----------------------------------------------------------------------------


def test_listeners_are_told_after_the_commit_and_not_before(sched: Scheduler, conn: Any) -> None:
    heard = threading.Event()
    stop = sched.store.listen(heard.set)
    sched.jobs["close_unpaid"].later("0s", conn=conn)(order_id=1)
    assert not heard.wait(0.1), "it is not there yet"
    commit(conn)
    assert heard.wait(8), "sooner than a worker looks by itself (10 s)"
    assert sched.store.occurrences(Query(key="unpaid:1"))
    stop()


def test_after_a_rollback_nobody_is_told_and_the_looking_out_ends(
    sched: Scheduler, conn: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(caller, "LOOKED_FOR", 0.05)
    heard = threading.Event()
    stop = sched.store.listen(heard.set)
    sched.jobs["close_unpaid"].later("0s", conn=conn)(order_id=1)
    rollback(conn)
    deadline = time.monotonic() + 5
    while _lookouts() and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not _lookouts()
    assert not heard.is_set()
    stop()


def test_closing_the_store_ends_the_looking_out(sched: Scheduler, conn: Any) -> None:
    sched.jobs["close_unpaid"].later("0s", conn=conn)(order_id=1)
    assert _lookouts()
    sched.close()
    assert not _lookouts()
    rollback(conn)


def _lookouts() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "noonmark-lookout"]


def test_a_store_with_pythons_own_library_keeps_what_the_other_wrote(tmp_path: Path) -> None:
    first = SqliteStore(tmp_path / "a.db", synchronous="OFF")
    rows: list[NewOccurrence] = [make_caller_row("x", at=first.now())]
    added = first.add("r", rows)
    first.close()
    second = SqliteStore(tmp_path / "a.db", synchronous="OFF", driver="sqlite3")
    assert second.add("r", rows) == added
    assert {finding.code for finding in second.diagnose()} >= {"sqlite_file", "fsync_time"}
    second.close()
