"""``renew``: the holder's ttl is counted anew, nobody else's."""

from __future__ import annotations

from noonmark.testing.locking.harness import TTL, LockHarness, any_client


def the_holder_renews_and_keeps_its_fence(harness: LockHarness) -> None:
    token = harness.token()
    granted = harness.acquire(token)
    for _ in range(3):
        renewed = harness.renew(token)
        assert renewed is not None
        assert renewed.fence == granted.fence
    assert not harness.is_free()


@any_client
def the_holder_may_renew_through_another_client(harness: LockHarness) -> None:
    token = harness.token()
    granted = harness.acquire(token)
    renewed = harness.other.renew(harness.name(), TTL, token)
    assert renewed is not None
    assert renewed.fence == granted.fence


def another_token_renews_nothing(harness: LockHarness) -> None:
    holder = harness.token()
    granted = harness.acquire(holder)
    assert harness.renew(harness.token()) is None
    assert harness.other.renew(harness.name(), TTL, harness.token()) is None
    assert harness.renew(holder) == granted


def a_lock_that_never_was_cannot_be_renewed(harness: LockHarness) -> None:
    assert harness.renew(harness.token()) is None
    assert harness.is_free()


def a_lock_whose_time_ran_out_cannot_be_renewed(harness: LockHarness) -> None:
    token = harness.token()
    harness.acquire(token)
    harness.expire()
    assert harness.renew(token) is None
    assert harness.is_free()


def a_lock_that_was_taken_over_cannot_be_renewed_by_its_former_holder(harness: LockHarness) -> None:
    first, second = harness.token(), harness.token()
    harness.acquire(first)
    harness.expire()
    granted = harness.other.acquire(harness.name(), TTL, second)
    assert granted is not None
    assert harness.renew(first) is None
    assert harness.other.renew(harness.name(), TTL, second) == granted


def a_lock_that_was_released_cannot_be_renewed(harness: LockHarness) -> None:
    token = harness.token()
    harness.acquire(token)
    assert harness.release(token)
    assert harness.renew(token) is None
    assert harness.is_free()


def renewing_one_lock_renews_no_other(harness: LockHarness) -> None:
    token = harness.token()
    harness.acquire(token, "a")
    harness.acquire(token, "b")
    harness.expire("b")
    assert harness.renew(token, "a") is not None
    assert harness.is_free("b")
