"""Many at once: of all who ask at the same moment one gets it, and between two holders nobody else was there."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

from noonmark.testing.locking.harness import TTL, LockHarness

THREADS, ROUNDS = 6, 12


def of_many_who_ask_at_once_one_gets_it(harness: LockHarness) -> None:
    """Where several servers vote the vote may split, so that nobody gets it; never do two, and soon one does."""
    both = (harness.locks, harness.other)
    together = threading.Barrier(THREADS)

    def ask(number: int) -> bool:
        token = harness.token()
        together.wait(10)
        return both[number % 2].acquire(harness.name(), TTL, token) is not None

    with ThreadPoolExecutor(THREADS) as pool:
        for _ in range(50):
            winners = sum(pool.map(ask, range(THREADS)))
            if winners:
                break
    assert winners == 1


def of_many_with_one_token_all_get_the_same_fence(harness: LockHarness) -> None:
    token = harness.token()
    together = threading.Barrier(THREADS)

    def ask(_number: int) -> int:
        together.wait(10)
        granted = harness.locks.acquire(harness.name(), TTL, token)
        assert granted is not None
        return granted.fence

    with ThreadPoolExecutor(THREADS) as pool:
        assert len(set(pool.map(ask, range(THREADS)))) == 1
    assert harness.release(token)
    assert harness.is_free()


def holders_never_overlap_and_fences_tell_their_order(harness: LockHarness) -> None:
    both = (harness.locks, harness.other)
    inside, fences = [0], []

    def work(number: int) -> None:
        locks = both[number % 2]
        for _ in range(ROUNDS):
            token = harness.token()
            while (granted := locks.acquire(harness.name(), TTL, token)) is None:
                pass
            inside[0] += 1
            assert inside[0] == 1, "two hold the lock"
            fences.append(granted.fence)
            inside[0] -= 1
            assert locks.release(harness.name(), token)

    with ThreadPoolExecutor(3) as pool:
        list(pool.map(work, range(3)))
    assert len(fences) == 3 * ROUNDS
    assert fences == sorted(set(fences))


def a_release_beside_a_renewal_leaves_the_lock_free(harness: LockHarness) -> None:
    for number in range(5):
        token, name = harness.token(), f"race-{number}"
        harness.acquire(token, name)
        with ThreadPoolExecutor(2) as pool:
            renewal = pool.submit(harness.renew, token, name)
            assert pool.submit(harness.release, token, name).result() is True
            renewal.result()
        assert harness.renew(token, name) is None
        assert harness.is_free(name)
