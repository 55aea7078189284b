"""The suite that every kind of lock has to pass: what ``noonmark.ports.lock`` says, one case per promise.

A case is a plain function of a ``LockHarness``; it never sleeps and needs no pytest.  To try your own kind::

    from noonmark.testing.locking import LockHarness, lock_cases

    @pytest.mark.parametrize("case", lock_cases(), ids=str)
    def test_my_locks_keep_the_port(case):
        with LockHarness(open_=lambda: MyLocks(url), expire=my_expire) as harness:
            case.run(harness)

Rule of the package: a case uses only the port (and ``lock()`` over it) and names of its own; the end of a ttl is brought
about by ``harness.expire``, never waited for.
"""

from __future__ import annotations

from noonmark.testing.locking.harness import LockCase, LockHarness, collect_locks


def lock_cases(*, session_bound: bool = False) -> list[LockCase]:
    """Return every case, topic by topic, in the order in which they stand in their files.

    Args:
        session_bound: the kind ties a lock to the session that took it, so another client with the same token is a
            stranger; leaves out the cases that show the opposite.
    """
    from noonmark.testing.locking import crowding, fencing, granting, holding, naming, releasing, renewing

    topics = (granting, renewing, releasing, fencing, naming, crowding, holding)
    cases = [case for topic in topics for case in collect_locks(topic)]
    return [case for case in cases if not (session_bound and case.any_client)]


__all__ = ["LockCase", "LockHarness", "lock_cases"]
