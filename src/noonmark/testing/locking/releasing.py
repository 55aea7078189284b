"""``release``: the holder frees its lock; nobody frees another's."""

from __future__ import annotations

from noonmark.testing.locking.harness import TTL, LockHarness, any_client


def the_holder_frees_its_lock(harness: LockHarness) -> None:
    token = harness.token()
    harness.acquire(token)
    assert harness.release(token) is True
    assert harness.is_free()


@any_client
def the_holder_may_free_it_through_another_client(harness: LockHarness) -> None:
    token = harness.token()
    harness.acquire(token)
    assert harness.other.release(harness.name(), token) is True
    assert harness.is_free()


def another_token_frees_nothing(harness: LockHarness) -> None:
    holder = harness.token()
    granted = harness.acquire(holder)
    assert harness.release(harness.token()) is False
    assert harness.other.release(harness.name(), harness.token()) is False
    assert not harness.is_free()
    assert harness.renew(holder) == granted


def a_second_release_frees_nothing(harness: LockHarness) -> None:
    token = harness.token()
    harness.acquire(token)
    assert harness.release(token) is True
    assert harness.release(token) is False


def a_second_release_leaves_the_next_holder_alone(harness: LockHarness) -> None:
    first, second = harness.token(), harness.token()
    harness.acquire(first)
    harness.release(first)
    granted = harness.other.acquire(harness.name(), TTL, second)
    assert granted is not None
    assert harness.release(first) is False
    assert harness.other.renew(harness.name(), TTL, second) == granted


def a_lock_that_never_was_cannot_be_freed(harness: LockHarness) -> None:
    assert harness.release(harness.token()) is False


def a_lock_whose_time_ran_out_cannot_be_freed(harness: LockHarness) -> None:
    token = harness.token()
    harness.acquire(token)
    harness.expire()
    assert harness.release(token) is False
    assert harness.is_free()


def a_former_holder_does_not_free_its_successors_lock(harness: LockHarness) -> None:
    first, second = harness.token(), harness.token()
    harness.acquire(first)
    harness.expire()
    granted = harness.other.acquire(harness.name(), TTL, second)
    assert granted is not None
    assert harness.release(first) is False
    assert harness.other.renew(harness.name(), TTL, second) == granted


def freeing_one_lock_frees_no_other(harness: LockHarness) -> None:
    token = harness.token()
    harness.acquire(token, "a")
    harness.acquire(token, "b")
    assert harness.release(token, "a")
    assert not harness.is_free("b")
