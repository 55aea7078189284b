"""The store's time: one for all processes of a boot, never backwards, not moved by one wrong wall clock."""

from __future__ import annotations

from pathlib import Path

import pytest

from noonmark.core.model import DAY, HOUR, MINUTE, SECOND, Micros, Renewal, Taken
from noonmark.ports.clock import STRANGE
from noonmark.ports.store import StoreUnusable
from noonmark.stores.sqlite import SqliteStore
from noonmark.stores.sqlite.clock import NO_BOOT_ID, agreed_shift
from noonmark.testing.builders import make_activation, make_caller_row, make_worker
from noonmark.testing.clock import START, VirtualClock

TTL = 30 * SECOND


def _open(path: Path, clock: VirtualClock) -> SqliteStore:
    return SqliteStore(path, clock=clock, synchronous="OFF")


def test_time_follows_the_boot_clock_not_the_wall(store: SqliteStore, clock: VirtualClock) -> None:
    assert store.now() == START
    clock.advance(5 * SECOND)
    clock.step_wall(-3 * HOUR)
    assert store.now() == START + 5 * SECOND


def test_a_process_with_a_wrong_wall_clock_shares_the_time_of_the_others(store: SqliteStore, path: Path) -> None:
    wrong = VirtualClock(START + 7 * DAY, boot=1_000_000)
    other = _open(path, wrong)
    assert other.now() == store.now() == START
    other.close()


def test_a_boot_anchors_time_anew_from_the_wall(store: SqliteStore, path: Path, clock: VirtualClock) -> None:
    store.signal("s", [])
    clock.reboot(down_for=HOUR)
    other = _open(path, clock)
    assert other.now() == START + HOUR
    assert other.tallies().open_alerts == ()
    other.close()


def test_a_wall_clock_behind_after_a_boot_moves_nothing_back_and_is_an_alert(
    store: SqliteStore, path: Path, clock: VirtualClock
) -> None:
    clock.advance(10 * SECOND)
    store.signal("s", [])  # leaves its mark
    clock.reboot()
    clock.step_wall(-DAY)
    other = _open(path, clock)
    assert other.now() == START + 10 * SECOND
    clock.advance(SECOND)
    assert other.now() == START + 11 * SECOND
    (alert,) = other.tallies().open_alerts
    assert (alert.kind, alert.level, alert.code) == ("clock", 2, "clock_behind")
    other.close()


def test_a_store_that_lived_through_a_boot_goes_on(store: SqliteStore, clock: VirtualClock) -> None:
    clock.reboot(down_for=HOUR)  # a virtual machine that was resumed elsewhere looks like this
    assert store.now() == START + HOUR
    clock.advance(SECOND)
    assert store.now() == START + HOUR + SECOND


def test_no_time_that_was_written_is_ever_given_again(store: SqliteStore, path: Path, clock: VirtualClock) -> None:
    store.activate("a", [make_activation(effective_at=0)], actor="ada")
    store.add("b", [make_caller_row("a", at=START)])
    clock.advance(HOUR)
    fence = _take(store, "t1").rows[0].fence
    clock.reboot()
    clock.step_wall(-10 * HOUR)
    other = _open(path, clock)
    assert other.now() >= fence
    other.close()


def _take(store: SqliteStore, request: str) -> Taken:
    return store.take(request, "w1", limit=10, runnable={"job": TTL}, look_lease=5 * SECOND)


def _beat(store: SqliteStore, name: str, offset: Micros) -> Micros:
    return store.heartbeat(make_worker(name, wall_offset=offset), TTL)


def test_a_machine_that_booted_in_1970_and_was_set_right_is_believed(path: Path) -> None:
    clock = VirtualClock(5 * SECOND)
    store = _open(path, clock)
    store.activate("a", [make_activation(effective_at=0)], actor="ada")
    store.add("b", [make_caller_row("a", at=store.now())])
    run = _take(store, "t").rows[0]
    assert _beat(store, "w1", 0) == 5 * SECOND
    clock.step_wall(START)
    clock.advance(SECOND)
    now = _beat(store, "w1", clock.wall() - store.now())
    assert now == store.now() == clock.wall()
    (alert,) = store.tallies().open_alerts
    assert (alert.kind, alert.level, alert.code) == ("clock", 2, "clock_forward")
    renewed = store.renew("w1", [Renewal(occurrence_id=run.id, fence=run.fence, lease=TTL)])
    assert renewed.lost == frozenset()
    assert _take(store, "t2").rows == ()  # the lease moved along, so nobody takes the run over
    assert store.workers()[0].wall_offset == 0
    clock.advance(SECOND)
    _beat(store, "w1", 0)
    assert store.now() == clock.wall()  # and it is not moved twice
    store.close()


def test_half_of_the_workers_is_no_majority(store: SqliteStore) -> None:
    _beat(store, "w1", 0)
    assert _beat(store, "w2", HOUR) == START
    assert _beat(store, "w3", HOUR + SECOND) == START + HOUR + SECOND


def test_the_dead_have_no_vote(store: SqliteStore, clock: VirtualClock) -> None:
    _beat(store, "w1", 0)
    clock.advance(TTL + 1)
    assert _beat(store, "w2", HOUR) == clock.wall() + HOUR


@pytest.mark.parametrize(
    ("offsets", "shift"),
    [
        ([], 0),
        ([0], 0),
        ([2 * SECOND], 0),  # within what is only reported
        ([3 * SECOND], 3 * SECOND),
        ([-HOUR, -HOUR], 0),  # time never goes back
        ([HOUR, 0], 0),
        ([HOUR, HOUR, 0], HOUR),
        ([HOUR, 2 * HOUR, 3 * HOUR], 0),  # they agree about nothing
        ([HOUR, HOUR + SECOND, DAY, DAY, 0], 0),
        ([0, HOUR, HOUR + SECOND // 2, HOUR + SECOND, DAY], HOUR + SECOND // 2),
    ],
)
def test_time_moves_only_for_a_majority_that_agrees(offsets: list[Micros], shift: Micros) -> None:
    assert agreed_shift(offsets) == shift


class _Strange(VirtualClock):
    """A process of the same boot whose boot-time clock is faked: it shows the time since 1970 instead."""

    def boot(self) -> Micros:
        return self.wall()

    def boot_id(self) -> str:
        return f"{super().boot_id()}{STRANGE}faked"


def test_a_process_with_another_boot_time_clock_is_refused_and_moves_nothing(
    store: SqliteStore, path: Path, clock: VirtualClock
) -> None:
    store.signal("s", [])
    with pytest.raises(StoreUnusable, match="another boot-time clock than the others"):
        _open(path, _Strange(START + 5 * MINUTE))
    clock.advance(SECOND)
    assert store.now() == START + SECOND
    assert store.tallies().open_alerts == ()


def test_a_store_that_was_begun_with_a_strange_clock_is_set_right_by_the_first_with_the_machine_s(path: Path) -> None:
    strange = _open(path, _Strange(START + 5 * MINUTE))
    assert strange.now() == START + 5 * MINUTE, "alone it may be tried with whatever clock"
    clock = VirtualClock(START + DAY)
    ours = _open(path, clock)
    assert ours.now() == START + DAY
    with pytest.raises(StoreUnusable, match="another boot-time clock"):
        strange.signal("s", [])
    for opened in (ours, strange):
        opened.close()


class _Leaping(VirtualClock):
    """The same where nothing tells it apart: no /proc, an older noonmark."""

    def boot(self) -> Micros:
        return self.wall()


def test_a_leap_of_years_that_no_wall_clock_confirms_is_a_stranger_s(store: SqliteStore, path: Path) -> None:
    store.signal("s", [])
    with pytest.raises(StoreUnusable, match="another boot-time clock than the others"):
        _open(path, _Leaping(START))
    assert store.now() == START


@pytest.mark.parametrize("step", [-30 * DAY, -HOUR, 0, HOUR, 30 * DAY])
@pytest.mark.parametrize("away", [HOUR, 30 * DAY, 800 * DAY])
def test_neither_a_long_sleep_nor_a_wall_clock_that_is_set_makes_anybody_a_stranger(
    store: SqliteStore, path: Path, clock: VirtualClock, step: Micros, away: Micros
) -> None:
    store.signal("s", [])
    clock.advance(away)  # suspended, or simply not used
    clock.step_wall(step)
    other = _open(path, clock)
    assert other.now() == store.now() == START + away
    other.signal("t", [])
    other.close()


class _NamelessBoots(VirtualClock):
    def boot_id(self) -> str:
        return NO_BOOT_ID


def test_without_boot_ids_the_wall_is_believed_at_opening_unless_somebody_works(path: Path) -> None:
    clock = _NamelessBoots(boot=1)
    store = _open(path, clock)
    clock.step_wall(HOUR)
    again = _open(path, clock)
    assert again.now() == store.now() == START + HOUR
    again.heartbeat(make_worker("w1"), TTL)
    clock.step_wall(HOUR)
    third = _open(path, clock)
    assert third.now() == START + HOUR
    for opened in (store, again, third):
        opened.close()
