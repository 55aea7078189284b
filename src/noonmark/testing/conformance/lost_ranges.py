"""What a rollback says of the range that was lost: where it begins, and which numbers of rows it leaves out.

Only stores that say ``Capability.PROVES`` are tried.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from noonmark.core import receipts
from noonmark.core.model import SECOND
from noonmark.core.model.rollback import ChainLink, Claim, Proof, Receipt
from noonmark.ports.store import Capability
from noonmark.testing.builders import make_worker
from noonmark.testing.conformance.harness import Harness


def _proves(harness: Harness) -> bool:
    return Capability.PROVES in harness.store.capabilities


def _prove(harness: Harness, receipt: Receipt | None = None, *, writer: str = "p1", at: float = 0) -> Proof:
    guard: Any = harness.store
    proof: Proof = guard.prove(Claim(writer=writer, worker="w1", receipt=receipt), at=harness.at(at))
    return proof


def _grown(harness: Harness) -> Receipt:
    """Return the receipt of a writer that settled an empty batch."""
    receipt = _prove(harness).receipt
    link = _next(receipt)
    store: Any = harness.store
    store.settle(harness.request(), "w1", (), at=harness.at(), link=link)
    return _after(receipt, link)


def _lost(receipt: Receipt) -> Receipt:
    """Return a receipt for one more link than the store ever saw."""
    return _after(receipt, _next(receipt))


def _next(receipt: Receipt) -> ChainLink:
    return ChainLink(
        writer=receipt.writer,
        seq=receipt.seq + 1,
        before=receipt.hash,
        hash=receipts.hash_of(receipt.hash, "r"),
    )


def _after(receipt: Receipt, link: ChainLink) -> Receipt:
    return replace(receipt, seq=link.seq, hash=link.hash)


def a_heartbeat_that_came_since_the_store_was_back_has_not_survived(harness: Harness) -> None:
    if not _proves(harness):
        return
    receipt = replace(_lost(_grown(harness)), at=harness.at(5), worker="w1", beat=harness.at(20))
    harness.store.heartbeat(make_worker("w1"), 30 * SECOND, at=harness.at(20))
    (epoch,) = _prove(harness, receipt, at=30).epochs
    assert (epoch.lost_from, epoch.lost_until) == (harness.at(0), harness.at(30))


def where_a_writer_is_gone_what_came_since_its_last_word_has_not_survived(harness: Harness) -> None:
    if not _proves(harness):
        return
    harness.activate()
    known = _grown(harness)
    harness.store.heartbeat(make_worker("w2"), 30 * SECOND, at=harness.at(3))
    harness.store.heartbeat(make_worker("w3"), 30 * SECOND, at=harness.at(7))
    assert _prove(harness, known, at=8).outcome == "present"
    gone = replace(known, writer="p7", at=harness.at(5))
    (epoch,) = _prove(harness, gone, writer="p7", at=9).epochs
    assert (epoch.lost_from, epoch.lost_until) == (harness.at(3), harness.at(9))


def where_a_writer_is_gone_each_kind_of_word_from_before_tells_how_far_the_store_reaches(harness: Harness) -> None:
    if not _proves(harness):
        return
    harness.activate(at=10)
    receipt = _prove(harness, at=20).receipt
    store: Any = harness.store
    store.settle(harness.request(), "w1", (), at=harness.at(30), link=_next(receipt))
    for seconds in (40, 100):
        harness.store.heartbeat(make_worker("w2"), 30 * SECOND, at=harness.at(seconds))
    reaches = []
    for number, word in enumerate((45, 40, 30, 20, 10)):
        gone = replace(receipt, writer=f"gone-{number}", at=harness.at(word))
        (epoch,) = _prove(harness, gone, writer=gone.writer, at=110).epochs
        reaches.append(epoch.lost_from and round((epoch.lost_from - harness.t0) / SECOND))
    assert reaches == [40, 30, 20, 10, 0], "a worker's start, a writer's link, its proof, a rule; and nothing at all"


def a_number_of_a_row_that_may_have_been_lost_is_not_soon_another_rows(harness: Harness) -> None:
    if not _proves(harness):
        return
    receipt = _grown(harness)
    _prove(harness, _lost(receipt), at=60)
    harness.activate(at=61)
    first = harness.add_one(harness.caller_row("a", at=62), at=62)
    assert first == 1_001, "no row was made before: a thousand are left out"
    _prove(harness, _lost(replace(_prove(harness, at=63).receipt, at=harness.at(63))), at=3663)
    second = harness.add_one(harness.caller_row("b", at=3664), at=3664)
    # A store may have used up a number or two for a request that came twice.
    assert first + 1_001 <= second < first + 1_010
    third = harness.add_one(harness.caller_row("c", at=3665), at=3665)
    assert second < third < second + 10, "the next one goes on from there"
