"""The suite that every store has to pass: what ``noonmark.ports.store`` says, one case per promise.

A case is a plain function of a ``Harness``; it never sleeps and needs no pytest.  To try your own store::

    from noonmark.testing.conformance import Harness, cases

    @pytest.mark.parametrize("case", cases(), ids=str)
    def test_my_store_keeps_the_port(case, tmp_path):
        store = MyStore(tmp_path)
        try:
            case.run(Harness(store))
        finally:
            store.close()

Rule of the package: a case uses only the port, a fresh store of its own, and ``at=`` for every instant.
"""

from __future__ import annotations

from noonmark.testing.conformance.harness import Case, Harness, collect


def cases() -> list[Case]:
    """Return every case, topic by topic, in the order in which they stand in their files."""
    from noonmark.testing.conformance import (
        activating,
        adding,
        alarms,
        former,
        frontier,
        gates,
        letting_go,
        limits,
        lost_ranges,
        marks,
        notes,
        pausing,
        proving,
        reads,
        renewing,
        requests,
        settling,
        signals,
        slots,
        takeovers,
        taking,
        tallies,
        workers,
    )

    topics = (
        adding,
        taking,
        takeovers,
        settling,
        alarms,
        gates,
        slots,
        frontier,
        renewing,
        signals,
        activating,
        marks,
        pausing,
        notes,
        workers,
        requests,
        reads,
        tallies,
        proving,
        letting_go,
        former,
        lost_ranges,
        limits,
    )
    return [case for topic in topics for case in collect(topic)]


def archive_cases() -> list[Case]:
    """Return the cases of ``noonmark.ports.archive``; each runs with an ``Archives`` (``noonmark.testing.archives``)."""
    from noonmark.testing.conformance import archiving, copying

    return [case for topic in (archiving, copying) for case in collect(topic, "archives")]


__all__ = ["Case", "Harness", "archive_cases", "cases"]
