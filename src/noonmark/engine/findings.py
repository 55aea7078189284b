"""What a worker finds out about its store, as its log says it.

Rule of the file: words only; what follows from it is done in ``chain``.
"""

from __future__ import annotations

import logging

_LOG = logging.getLogger("noonmark.engine")


def tell_another(place: str, before: str) -> None:
    """Another store lies there than the one that this worker knew."""
    _LOG.error(
        "another store lies at %s than the one that this worker knew (%s): what that one held is not here (occurrences, "
        "pauses, flags, outcomes); runs under way are stopped, and the jobs are declared anew.  See: noonmark doctor",
        place,
        before,
    )


def tell_elsewhere(place: str, before: str) -> None:
    """Another store lies there than the one that the workers of this host knew."""
    _LOG.warning(
        "another store lies at %s than the one that the workers of this host knew (%s); what that one held, and "
        "what was done there, is not known here",
        place,
        before,
    )


def tell_blind(why: str) -> None:
    """This worker remembers nothing beyond its process."""
    _LOG.info("this worker is blind: after a restart it cannot prove what the store held (%s)", why)


def tell_lost(writer: str, number: int) -> None:
    """The store went back in time."""
    _LOG.error(
        "the store lost what it had acknowledged to %s (rollback %d); what may have run in what it lost is held for a "
        "person: noonmark ledger show",
        writer,
        number,
    )
