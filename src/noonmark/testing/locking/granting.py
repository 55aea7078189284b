"""``acquire``: a free lock is granted, a held one is not, and asking again costs nothing."""

from __future__ import annotations

from noonmark.core.model import DAY
from noonmark.testing.locking.harness import TTL, LockHarness, any_client


def a_free_lock_is_granted(harness: LockHarness) -> None:
    assert harness.locks.acquire(harness.name(), TTL, harness.token()) is not None


def a_held_lock_is_refused_to_another_client(harness: LockHarness) -> None:
    harness.acquire(harness.token())
    assert harness.other.acquire(harness.name(), TTL, harness.token()) is None


def a_held_lock_is_refused_to_another_token_of_the_same_client(harness: LockHarness) -> None:
    harness.acquire(harness.token())
    assert harness.locks.acquire(harness.name(), TTL, harness.token()) is None


def a_refusal_changes_nothing(harness: LockHarness) -> None:
    holder, stranger = harness.token(), harness.token()
    granted = harness.acquire(holder)
    for _ in range(3):
        assert harness.other.acquire(harness.name(), 2 * TTL, stranger) is None
    assert harness.renew(holder) == granted
    assert harness.other.renew(harness.name(), TTL, stranger) is None
    assert not harness.other.release(harness.name(), stranger)
    assert harness.release(holder)


def the_refused_one_gets_it_after_a_release(harness: LockHarness) -> None:
    first, second = harness.token(), harness.token()
    harness.acquire(first)
    assert harness.other.acquire(harness.name(), TTL, second) is None
    assert harness.release(first)
    assert harness.other.acquire(harness.name(), TTL, second) is not None


def locks_of_different_names_do_not_meet(harness: LockHarness) -> None:
    token = harness.token()
    harness.acquire(token, "a")
    harness.acquire(token, "b")
    harness.acquire(harness.token(), "c")
    assert harness.release(token, "a")
    assert not harness.is_free("b")
    assert not harness.is_free("c")


def asking_again_with_the_token_that_holds_it_returns_the_same_fence(harness: LockHarness) -> None:
    token = harness.token()
    granted = harness.acquire(token)
    assert [harness.acquire(token).fence for _ in range(3)] == [granted.fence] * 3
    assert not harness.is_free()


@any_client
def asking_again_works_from_another_client(harness: LockHarness) -> None:
    token = harness.token()
    granted = harness.acquire(token)
    again = harness.other.acquire(harness.name(), TTL, token)
    assert again is not None
    assert again.fence == granted.fence


def one_release_frees_what_was_asked_for_twice(harness: LockHarness) -> None:
    token = harness.token()
    harness.acquire(token)
    harness.acquire(token)
    assert harness.release(token)
    assert harness.is_free()


def a_lock_whose_time_ran_out_is_free(harness: LockHarness) -> None:
    harness.acquire(harness.token())
    harness.expire()
    assert harness.is_free()


def a_lock_whose_time_ran_out_is_granted_to_one_only(harness: LockHarness) -> None:
    harness.acquire(harness.token())
    harness.expire()
    assert harness.other.acquire(harness.name(), TTL, harness.token()) is not None
    assert harness.locks.acquire(harness.name(), TTL, harness.token()) is None


def its_former_holder_may_ask_anew_when_time_ran_out(harness: LockHarness) -> None:
    token = harness.token()
    first = harness.acquire(token)
    harness.expire()
    assert harness.acquire(token).fence > first.fence


def its_former_holder_is_refused_when_somebody_else_was_faster(harness: LockHarness) -> None:
    token = harness.token()
    harness.acquire(token)
    harness.expire()
    assert harness.other.acquire(harness.name(), TTL, harness.token()) is not None
    assert harness.locks.acquire(harness.name(), TTL, token) is None


def trust_never_exceeds_the_ttl_and_is_most_of_it(harness: LockHarness) -> None:
    for ttl in (2_000_000, TTL, DAY):
        granted = harness.acquire(harness.token(), f"ttl-{ttl}", ttl=ttl)
        assert min(ttl, harness.longest) // 2 < granted.validity <= ttl


def renewed_trust_never_exceeds_the_ttl_and_is_most_of_it(harness: LockHarness) -> None:
    token = harness.token()
    harness.acquire(token)
    renewed = harness.renew(token)
    assert renewed is not None
    assert TTL // 2 < renewed.validity <= TTL


def a_renewal_may_change_the_ttl(harness: LockHarness) -> None:
    token = harness.token()
    harness.acquire(token)
    renewed = harness.locks.renew(harness.name(), 3 * TTL, token)
    assert renewed is not None
    assert min(3 * TTL, harness.longest) // 2 < renewed.validity <= 3 * TTL
