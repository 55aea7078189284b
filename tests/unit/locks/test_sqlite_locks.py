"""Locks in a file: reboots, wrong wall clocks, long transactions of others, and what stays behind."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path

import apsw
import pytest

from noonmark.core.model import DAY, HOUR, SECOND
from noonmark.locks import LockError, LockUnusable, sqlite
from noonmark.locks.sqlite import NO_BOOT_ID, SqliteLocks
from noonmark.ports.clock import STRANGE, Clock
from noonmark.testing.clock import VirtualClock

TTL = 60 * SECOND
Open = Callable[..., SqliteLocks]


class Nameless(VirtualClock):
    """The clock of a system that cannot tell boots apart."""

    def boot_id(self) -> str:
        return NO_BOOT_ID


@pytest.fixture
def open_file(tmp_path: Path) -> Iterator[Open]:
    with contextlib.ExitStack() as stack:

        def open_(clock: Clock | None = None) -> SqliteLocks:
            return stack.enter_context(contextlib.closing(SqliteLocks(f"sqlite:///{tmp_path}/a.db", clock=clock)))

        yield open_


def test_a_lock_ends_with_its_ttl_on_the_boot_clock(open_file: Open) -> None:
    clock = VirtualClock()
    locks = open_file(clock)
    assert locks.acquire("a", TTL, "t") is not None
    clock.advance(TTL - 1)
    assert locks.acquire("a", TTL, "u") is None
    assert locks.renew("a", TTL, "t") is not None
    clock.advance(TTL)
    assert locks.renew("a", TTL, "t") is None
    assert locks.release("a", "t") is False
    assert locks.acquire("a", TTL, "u") is not None


def test_a_wall_clock_that_jumps_ends_no_lock_and_lets_fences_grow(open_file: Open) -> None:
    clock = VirtualClock()
    locks = open_file(clock)
    fences = []
    for jump in (0, 400 * DAY, -800 * DAY, 0):
        clock.step_wall(jump)
        granted = locks.acquire("a", TTL, "t")
        assert granted is not None
        fences.append(granted.fence)
        assert locks.acquire("a", TTL, "stranger") is None
        assert locks.release("a", "t")
    assert fences == sorted(set(fences))


def test_processes_with_different_wall_clocks_agree_about_the_end(open_file: Open) -> None:
    right, wrong = VirtualClock(), VirtualClock(wall=VirtualClock().wall() - 5 * HOUR)
    one, other = open_file(right), open_file(wrong)
    first = one.acquire("a", TTL, "t")
    assert first is not None
    assert other.acquire("a", TTL, "u") is None
    right.advance(TTL)
    wrong.advance(TTL)
    second = other.acquire("a", TTL, "u")
    assert second is not None
    assert second.fence > first.fence


@pytest.mark.parametrize("make", [VirtualClock, Nameless], ids=["with a boot id", "without"])
def test_a_reboot_frees_every_lock(make: type[VirtualClock], open_file: Open) -> None:
    clock = make(boot=5 * DAY)
    first = open_file(clock).acquire("a", TTL, "t")
    assert first is not None
    clock.reboot(down_for=10 * SECOND)
    locks = open_file(clock)
    assert locks.renew("a", TTL, "t") is None
    second = locks.acquire("a", TTL, "u")
    assert second is not None
    assert second.fence > first.fence
    assert locks.acquire("a", TTL, "v") is None


def test_without_a_boot_id_locks_are_kept_as_with_one(open_file: Open) -> None:
    clock = Nameless()
    one, other = open_file(clock), open_file(clock)
    granted = one.acquire("a", TTL, "t")
    assert granted is not None
    clock.advance(TTL // 2)
    assert other.acquire("a", TTL, "u") is None
    assert one.renew("a", TTL, "t") == granted
    assert one.release("a", "t")


def test_a_renewal_that_waited_takes_back_nothing_that_a_later_one_promised(open_file: Open) -> None:
    """Two renewals cross at the file's lock: the one asked first is carried out last."""
    clock = VirtualClock()
    early, late = open_file(clock), open_file(clock)
    assert early.acquire("a", TTL, "t") is not None
    asked = clock.boot()
    clock.advance(10 * SECOND)
    assert late.renew("a", TTL, "t") is not None

    class Then(VirtualClock):
        def boot(self) -> int:
            return asked

    stale = open_file(Then())
    assert stale.renew("a", TTL, "t") is not None
    clock.advance(TTL - 1)
    assert late.acquire("a", TTL, "u") is None, "the later renewal counts"


def test_a_long_transaction_of_somebody_else_is_waited_for_and_then_said(
    tmp_path: Path, open_file: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite, "PATIENCE", 0.2)
    locks = open_file()
    with contextlib.closing(apsw.Connection(str(tmp_path / "a.db-locks"))) as busy:
        busy.execute("BEGIN IMMEDIATE")
        with pytest.raises(LockError, match="write lock") as away:
            locks.acquire("a", TTL, "t")
        assert not isinstance(away.value, LockUnusable)
        busy.execute("ROLLBACK")
        assert locks.acquire("a", TTL, "t") is not None


def test_names_that_nobody_used_for_a_day_are_forgotten(tmp_path: Path, open_file: Open) -> None:
    clock = VirtualClock(boot=10 * DAY)
    locks = open_file(clock)
    for name in ("old", "released", "kept"):
        assert locks.acquire(name, 3 * DAY if name == "kept" else TTL, "t") is not None
    locks.release("released", "t")
    clock.advance(2 * DAY)
    assert locks.acquire("new", TTL, "t") is not None
    locks.release("new", "t")
    open_file(clock)
    with contextlib.closing(apsw.Connection(str(tmp_path / "a.db-locks"))) as look:
        names = look.execute("SELECT name FROM noonmark_lock ORDER BY name").fetchall()
    assert names == [("kept",), ("new",)]


def test_a_closed_file_says_so(tmp_path: Path) -> None:
    locks = SqliteLocks(f"sqlite:///{tmp_path}/a.db")
    locks.close()
    locks.close()
    with pytest.raises(LockUnusable, match="closed"):
        locks.acquire("a", TTL, "t")


def test_a_process_with_another_boot_time_clock_than_the_holder_is_refused(tmp_path: Path) -> None:
    class Strange(VirtualClock):
        def boot_id(self) -> str:
            return f"{super().boot_id()}{STRANGE}faked"

    url = f"sqlite:///{tmp_path / 'noonmark.db'}"
    alone = SqliteLocks(url, clock=Strange(boot=10**15))
    assert alone.acquire("other", SECOND, "them") is not None, "where nobody else is it may be tried"
    alone.close()
    (tmp_path / "noonmark.db-locks").unlink()
    ours = SqliteLocks(url, clock=VirtualClock())
    assert ours.acquire("name", 30 * SECOND, "us") is not None
    with pytest.raises(LockUnusable, match="another boot-time clock than the others"):
        SqliteLocks(url, clock=Strange(boot=10**15))
    ours.close()
