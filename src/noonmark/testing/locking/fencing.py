"""Fences: whoever holds a lock later has the greater number, for as long as anybody may remember."""

from __future__ import annotations

from noonmark.testing.locking.harness import TTL, LockHarness


def a_fence_fits_into_a_signed_64_bit_column(harness: LockHarness) -> None:
    fence = harness.acquire(harness.token()).fence
    assert isinstance(fence, int)
    assert 0 < fence < 2**63


def every_grant_has_a_greater_fence(harness: LockHarness) -> None:
    fences = []
    for number in range(20):
        token = harness.token()
        locks = harness.other if number % 2 else harness.locks
        granted = locks.acquire(harness.name(), TTL, token)
        assert granted is not None
        fences.append(granted.fence)
        assert locks.release(harness.name(), token)
    assert fences == sorted(set(fences))


def a_reused_token_gets_a_greater_fence_for_its_next_grant(harness: LockHarness) -> None:
    token = harness.token()
    first = harness.acquire(token)
    assert harness.release(token)
    second = harness.acquire(token)
    harness.expire()
    third = harness.acquire(token)
    assert first.fence < second.fence < third.fence


def the_fence_grows_when_a_lock_is_taken_over(harness: LockHarness) -> None:
    first = harness.acquire(harness.token())
    harness.expire()
    second = harness.other.acquire(harness.name(), TTL, harness.token())
    assert second is not None
    assert second.fence > first.fence


def a_refused_one_uses_up_no_ones_fence(harness: LockHarness) -> None:
    holder = harness.token()
    granted = harness.acquire(holder)
    assert harness.other.acquire(harness.name(), TTL, harness.token()) is None
    assert harness.acquire(holder).fence == granted.fence


def a_new_client_goes_on_from_the_fences_of_the_others(harness: LockHarness) -> None:
    token = harness.token()
    first = harness.acquire(token)
    harness.release(token)
    second = harness.other.acquire(harness.name(), TTL, harness.token())
    assert second is not None
    assert second.fence > first.fence
