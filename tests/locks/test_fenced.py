"""``FencedResource``: the latest holder wins at its first read, whatever the backing; why the write alone is too late."""

from __future__ import annotations

import contextlib
import sqlite3
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import apsw
import psycopg
import pytest
import redis

from noonmark.locks import (
    FencedFile,
    FencedKey,
    FencedResource,
    FencedRow,
    Grant,
    LockLost,
    StaleFence,
    guard,
    lock,
    open_locks,
)
from noonmark.locks.fenced_row import CREATE


def holder(fence: int) -> Grant:
    return Grant(fence=fence, validity=1_000_000)


OPENERS: dict[str, Callable[[pytest.FixtureRequest, Path, contextlib.ExitStack], Any]] = {}


def opener(function: Callable[..., Any]) -> Callable[..., Any]:
    OPENERS[function.__name__] = function
    return function


@opener
def file(_request: pytest.FixtureRequest, folder: Path, _stack: contextlib.ExitStack) -> Any:
    return FencedFile(folder / "value")


@opener
def redis_key(request: pytest.FixtureRequest, folder: Path, stack: contextlib.ExitStack) -> Any:
    client = stack.enter_context(redis.Redis.from_url(request.getfixturevalue("valkey").url))
    return FencedKey(client, f"fenced:{folder.name}")


@opener
def postgres_row(request: pytest.FixtureRequest, folder: Path, stack: contextlib.ExitStack) -> Any:
    connection = stack.enter_context(psycopg.connect(request.getfixturevalue("postgres").url, autocommit=True))
    return FencedRow(connection, folder.name)


@opener
def apsw_row(_request: pytest.FixtureRequest, folder: Path, stack: contextlib.ExitStack) -> Any:
    connection = stack.enter_context(contextlib.closing(apsw.Connection(str(folder / "f.db"))))
    return FencedRow(connection, "value")


@opener
def sqlite3_row(_request: pytest.FixtureRequest, folder: Path, stack: contextlib.ExitStack) -> Any:
    connection = stack.enter_context(contextlib.closing(sqlite3.connect(folder / "f.db", isolation_level=None)))
    return FencedRow(connection, "value")


@pytest.fixture(params=OPENERS)
def backing(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Any]:
    with contextlib.ExitStack() as stack:
        yield OPENERS[request.param](request, tmp_path, stack)


@pytest.fixture
def text(backing: Any) -> Callable[[str], Any]:
    """Write a value as this backing reads it."""
    return (lambda value: value) if isinstance(backing, FencedRow) else (lambda value: value.encode())


def test_what_was_never_written_reads_as_none(backing: Any) -> None:
    assert FencedResource(backing).read(holder(1)) is None


def test_a_holder_reads_what_it_wrote_and_so_does_the_next(backing: Any, text: Callable[[str], Any]) -> None:
    resource = FencedResource(backing)
    resource.write(holder(5), text("one"))
    assert resource.read(holder(5)) == text("one")
    resource.write(holder(5), text("two"))
    assert resource.read(holder(6)) == text("two")
    resource.write(holder(6), text("日报 " * 20_000))
    assert resource.read(holder(6)) == text("日报 " * 20_000)


def test_an_older_holder_neither_writes_nor_reads_after_a_write(backing: Any, text: Callable[[str], Any]) -> None:
    resource = FencedResource(backing)
    resource.write(holder(6), text("new"))
    with pytest.raises(StaleFence, match="later holder"):
        resource.write(holder(5), text("old"))
    with pytest.raises(StaleFence):
        resource.read(holder(5))
    assert resource.read(holder(6)) == text("new")


def test_an_older_holder_is_refused_as_soon_as_a_later_one_has_read(backing: Any, text: Callable[[str], Any]) -> None:
    resource = FencedResource(backing)
    resource.write(holder(1), text("10"))
    assert resource.read(holder(1)) == text("10")
    assert resource.read(holder(2)) == text("10")  # A was paused; B has the lock, and has only read
    with pytest.raises(StaleFence):
        resource.write(holder(1), text("11"))
    resource.write(holder(2), text("11"))
    assert resource.read(holder(3)) == text("11")


def test_fences_are_compared_as_numbers_up_to_the_last_digit(backing: Any, text: Callable[[str], Any]) -> None:
    resource = FencedResource(backing)
    for fence in (9, 10, 99, 2**53, 2**53 + 1, 2**63 - 2, 2**63 - 1):
        resource.write(holder(fence), text(str(fence)))
        with pytest.raises(StaleFence):
            resource.write(holder(fence - 1), text("late"))
    assert resource.read(holder(2**63 - 1)) == text(str(2**63 - 1))


def test_checking_on_write_only_loses_an_acknowledged_update(backing: Any, text: Callable[[str], Any]) -> None:
    """The wrong way, shown: both holders look at the value by other means, and only their writes carry a fence."""
    value = [10]

    def write(fence: int, new: int) -> None:
        backing.write(fence, text(str(new)))
        value[0] = new

    seen_by_a = value[0]
    seen_by_b = value[0]  # A is paused here, with fence 1; B took over with fence 2 and has read
    write(1, seen_by_a + 1)  # accepted: no greater fence has been written
    write(2, seen_by_b + 1)
    assert value == [11], "two acknowledged increments, one left"
    assert backing.read(2) == text("11")


def test_a_lock_that_may_not_be_trusted_asks_nothing(backing: Any, text: Callable[[str], Any]) -> None:
    resource = FencedResource(backing)
    locks = open_locks("memory://")
    with lock("a", at=locks) as held:
        resource.write(held, text("mine"))
        assert resource.read(held) == text("mine")
    with pytest.raises(LockLost, match="released"):
        resource.write(held, text("late"))
    with pytest.raises(LockLost, match="released"):
        resource.read(held)
    assert resource.read(holder(held.fence)) == text("mine")
    locks.close()


def test_a_guard_fences_a_whole_transaction(postgres: Any) -> None:
    with psycopg.connect(postgres.url) as a, psycopg.connect(postgres.url) as b:
        a.execute(CREATE.format(table="noonmark_fenced"))
        a.execute("CREATE TABLE IF NOT EXISTS account (name text PRIMARY KEY, amount int)")
        a.execute("INSERT INTO account VALUES ('x', 10)")
        a.commit()
        guard(a, "account", holder(1))
        (seen,) = a.execute("SELECT amount FROM account").fetchone() or (0,)
        a.commit()
        guard(b, "account", holder(2))
        b.commit()
        with pytest.raises(StaleFence):
            guard(a, "account", holder(1))
        a.rollback()
        guard(b, "account", holder(2))
        b.execute("UPDATE account SET amount = %s", (seen + 1,))
        b.commit()
        assert a.execute("SELECT amount FROM account").fetchone() == (11,)


def test_a_guard_inside_a_transaction_that_is_rolled_back_registers_nothing(postgres: Any) -> None:
    with psycopg.connect(postgres.url) as a:
        a.execute(CREATE.format(table="noonmark_fenced"))
        a.commit()
        guard(a, "rolled-back", holder(9))
        a.rollback()
        guard(a, "rolled-back", holder(3))
        a.commit()


def test_a_table_name_is_a_name(tmp_path: Path) -> None:
    with contextlib.closing(apsw.Connection(str(tmp_path / "f.db"))) as connection:
        for table in ("a; DROP TABLE b", "", "a b", "a.b.c", 'a"'):
            with pytest.raises(ValueError, match="no plain table name"):
                FencedRow(connection, "x", table=table)


def test_of_concurrent_holders_only_updates_under_growing_fences_are_kept(tmp_path: Path) -> None:
    """Many threads with one file: whatever was acknowledged is in the count."""
    path, fences, acknowledged = tmp_path / "count", iter(range(1, 10_000)), []
    mutex = threading.Lock()

    def work(_number: int) -> None:
        resource = FencedResource(FencedFile(path))
        for _ in range(25):
            with mutex:
                mine = holder(next(fences))
            try:
                seen = int(resource.read(mine) or b"0")
                resource.write(mine, b"%d" % (seen + 1))
                acknowledged.append(mine.fence)
            except StaleFence:
                pass

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(4)))
    assert int(path.read_bytes()) == len(acknowledged)
    assert 0 < len(acknowledged) <= 100
