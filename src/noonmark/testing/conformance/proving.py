"""The guard: chains of links, proofs, and what a rollback holds (``noonmark.ports.rollback``).

A rolled-back store is imitated by a writer that remembers more than the store holds: to the store that is the same.
Only stores that say ``Capability.PROVES`` are tried.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from noonmark.core import receipts, rollback
from noonmark.core.model import SECOND, Event, Settlement, State
from noonmark.core.model.rollback import ChainLink, Claim, Proof, Receipt
from noonmark.ports.rollback import ChainBroken
from noonmark.ports.store import Capability
from noonmark.testing.builders import LEASE, make_end, make_start, make_worker
from noonmark.testing.conformance.harness import Harness


def _proves(harness: Harness) -> bool:
    return Capability.PROVES in harness.store.capabilities


def _guard(harness: Harness) -> Any:
    return harness.store


def _prove(
    harness: Harness, receipt: Receipt | None = None, *, writer: str = "p1", worker: str = "w1", at: float = 0
) -> Proof:
    claim = Claim(writer=writer, worker=worker, receipt=receipt)
    proof: Proof = _guard(harness).prove(claim, at=harness.at(at))
    return proof


def _next(receipt: Receipt, request: str = "r") -> ChainLink:
    return ChainLink(
        writer=receipt.writer,
        seq=receipt.seq + 1,
        before=receipt.hash,
        hash=receipts.hash_of(receipt.hash, request),
    )


def _after(receipt: Receipt, link: ChainLink) -> Receipt:
    return replace(receipt, seq=link.seq, hash=link.hash)


def _settle(harness: Harness, link: ChainLink, *items: Settlement, request: str = "", at: float = 0) -> Any:
    store = _guard(harness)
    return store.settle(request or harness.request(), "w1", items, at=harness.at(at), link=link)


def _take(harness: Harness, link: ChainLink, *, request: str = "", at: float = 0) -> Any:
    return _guard(harness).take(
        request or harness.request(), "w1", limit=10, runnable={"job": LEASE}, look_lease=5 * SECOND,
        at=harness.at(at), link=link,
    )  # fmt: skip


def _is_broken(verb: Any) -> bool:
    try:
        verb()
    except ChainBroken:
        return True
    return False


def _grown(harness: Harness, links: int = 3) -> Receipt:
    """Return the receipt of a writer that settled a few empty batches."""
    receipt = _prove(harness).receipt
    for number in range(links):
        link = _next(receipt, f"grow-{number}")
        _settle(harness, link)
        receipt = _after(receipt, link)
    return receipt


def _lost(receipt: Receipt) -> Receipt:
    """Return a receipt for one more link than the store ever saw."""
    return _after(receipt, _next(receipt, "lost"))


def _head(harness: Harness, writer: str = "p1") -> tuple[int, str]:
    return next((each.seq, each.hash) for each in _guard(harness).writers() if each.id == writer)


def a_new_writer_begins_before_its_first_link(harness: Harness) -> None:
    if not _proves(harness):
        return
    proof = _prove(harness)
    assert (proof.outcome, proof.receipt.seq, proof.receipt.writer) == ("new", 0, "p1")
    assert proof.epochs == ()
    assert _head(harness) == (0, proof.receipt.hash)


def a_settle_appends_its_link(harness: Harness) -> None:
    if not _proves(harness):
        return
    receipt = _grown(harness)
    assert _head(harness) == (3, receipt.hash)
    assert _prove(harness, receipt).outcome == "present"


def a_take_that_starts_a_row_appends_its_link_and_an_idle_one_does_not(harness: Harness) -> None:
    if not _proves(harness):
        return
    harness.activate()
    receipt = _prove(harness).receipt
    link = _next(receipt)
    assert _take(harness, link).rows == ()
    assert _head(harness)[0] == 0
    harness.add_one(harness.caller_row())
    assert [row.state for row in _take(harness, link).rows] == [State.RUNNING]
    assert _head(harness) == (1, link.hash)


def a_take_that_only_looks_appends_nothing(harness: Harness) -> None:
    if not _proves(harness):
        return
    harness.activate()
    receipt = _prove(harness).receipt
    harness.add_one(harness.series_row())
    assert [row.looking for row in _take(harness, _next(receipt)).rows] == [True]
    assert _head(harness)[0] == 0


def a_link_that_does_not_follow_changes_nothing(harness: Harness) -> None:
    if not _proves(harness):
        return
    harness.activate()
    receipt = _grown(harness)
    run = harness.running()
    torn = _next(_lost(receipt))
    assert _is_broken(lambda: _settle(harness, torn, make_end(run, Event.SUCCEED)))
    assert harness.row(run.id).state is State.RUNNING
    assert _head(harness) == (3, receipt.hash)


def a_take_whose_link_does_not_follow_leases_nothing(harness: Harness) -> None:
    if not _proves(harness):
        return
    harness.activate()
    receipt = _grown(harness)
    row_id = harness.add_one(harness.caller_row())
    assert _is_broken(lambda: _take(harness, _next(_lost(receipt))))
    row = harness.row(row_id)
    assert (row.state, row.holder) == (State.PENDING, "")
    assert [each.id for each in _take(harness, _next(receipt)).rows] == [row_id]


def a_link_of_a_writer_that_is_not_known_is_refused(harness: Harness) -> None:
    if not _proves(harness):
        return
    stranger = ChainLink(writer="p9", seq=1, before="a", hash="b")
    assert _is_broken(lambda: _settle(harness, stranger))


def a_repeated_request_appends_one_link(harness: Harness) -> None:
    if not _proves(harness):
        return
    harness.activate()
    receipt = _prove(harness).receipt
    run = harness.running()
    link = _next(receipt)
    first = _settle(harness, link, make_end(run, Event.SUCCEED), request="same")
    assert _settle(harness, link, make_end(run, Event.SUCCEED), request="same") == first
    assert _head(harness) == (1, link.hash)


def a_link_that_is_the_head_already_lets_its_verb_pass(harness: Harness) -> None:
    if not _proves(harness):
        return
    receipt = _prove(harness).receipt
    link = _next(receipt)
    _settle(harness, link, request="one")
    _settle(harness, link, request="forgotten by now")
    assert _head(harness) == (1, link.hash)


def an_unacknowledged_write_that_landed_is_no_rollback(harness: Harness) -> None:
    if not _proves(harness):
        return
    receipt = _grown(harness)
    link = _next(receipt)
    _settle(harness, link)
    proof = _prove(harness, receipt, at=5)
    assert (proof.outcome, proof.receipt.seq, proof.receipt.hash) == ("present", 4, link.hash)
    assert proof.epochs == ()


def an_old_receipt_is_no_rollback(harness: Harness) -> None:
    if not _proves(harness):
        return
    first = _prove(harness).receipt
    newest = _grown(harness, 5)
    assert _prove(harness, first).outcome == "present"
    assert _prove(harness, newest).outcome == "present"


def a_receipt_from_before_what_is_kept_is_pruned_and_no_rollback(harness: Harness) -> None:
    if not _proves(harness):
        return
    old = _grown(harness, 1)
    # As if all links in between had been appended, too: what is kept is counted by their numbers.
    _settle(harness, replace(_next(old), seq=old.seq + receipts.LINKS_KEPT))
    assert _prove(harness, old).outcome == "present"


def a_receipt_of_another_store_is_no_rollback(harness: Harness) -> None:
    if not _proves(harness):
        return
    _grown(harness)
    foreign = Receipt(store="another", writer="p1", seq=99, hash="f" * 64)
    proof = _prove(harness, foreign)
    assert (proof.outcome, proof.epochs, proof.receipt.seq) == ("other", (), 3)


def an_acknowledged_write_that_is_gone_is_a_rollback(harness: Harness) -> None:
    if not _proves(harness):
        return
    receipt = _grown(harness)
    proof = _prove(harness, _lost(receipt), at=60)
    assert proof.outcome == "lost"
    (epoch,) = proof.epochs
    assert (epoch.number, epoch.lost_from, epoch.lost_until) == (1, harness.at(0), harness.at(60))
    assert epoch.writers == ("p1",)
    assert (proof.receipt.seq, proof.receipt.epoch) == (4, 1), "no number is used twice"
    _settle(harness, _next(proof.receipt))


def another_hash_at_the_same_number_is_a_rollback(harness: Harness) -> None:
    if not _proves(harness):
        return
    receipt = _grown(harness)
    assert _prove(harness, replace(receipt, hash="f" * 64)).outcome == "lost"


def a_heartbeat_that_is_gone_is_a_rollback(harness: Harness) -> None:
    if not _proves(harness):
        return
    receipt = _grown(harness)
    harness.store.heartbeat(make_worker("w1"), 30 * SECOND, at=harness.at(10))
    kept = replace(receipt, worker="w1", beat=harness.at(10))
    assert _prove(harness, kept, at=11).outcome == "present"
    assert _prove(harness, replace(kept, beat=harness.at(20)), at=31).outcome == "present", "one may be lost"
    proof = _prove(harness, replace(kept, beat=harness.at(60)), at=61)
    assert proof.outcome == "lost"
    assert proof.epochs[0].lost_from == harness.at(31), "it proved itself since"


def a_writer_that_is_gone_as_a_whole_is_a_rollback(harness: Harness) -> None:
    if not _proves(harness):
        return
    receipt = _prove(harness).receipt
    assert _prove(harness, replace(receipt, writer="p7"), writer="p7").outcome == "lost"


def a_repeated_claim_gives_the_same_and_opens_nothing_twice(harness: Harness) -> None:
    if not _proves(harness):
        return
    receipt = _lost(_grown(harness))
    first = _prove(harness, receipt, at=60)
    again = _prove(harness, receipt, at=61)
    assert (first.receipt.seq, first.receipt.hash) == (again.receipt.seq, again.receipt.hash)
    assert [epoch.number for epoch in again.epochs] == [1]
    assert len(harness.store.tallies().open_alerts) == 1


def who_lost_writes_in_the_same_rollback_joins_it(harness: Harness) -> None:
    if not _proves(harness):
        return
    other = _prove(harness, writer="p2", worker="w2").receipt
    _prove(harness, _lost(_grown(harness)), at=60)
    proof = _prove(harness, _lost(other), writer="p2", worker="w2", at=70)
    assert proof.outcome == "joined"
    assert [(epoch.number, epoch.writers) for epoch in proof.epochs] == [(1, ("p1", "p2"))]
    assert proof.receipt.epoch == 1


def a_rollback_after_a_rollback_is_another_one(harness: Harness) -> None:
    if not _proves(harness):
        return
    first = _prove(harness, _lost(_grown(harness)), at=60)
    second = _prove(harness, _lost(first.receipt), at=120)
    assert second.outcome == "lost"
    assert [epoch.number for epoch in second.epochs] == [1, 2]


def a_rollback_that_is_itself_lost_gets_a_higher_number(harness: Harness) -> None:
    if not _proves(harness):
        return
    receipt = replace(_lost(_grown(harness)), epoch=4)
    assert _prove(harness, receipt).receipt.epoch == 5


def a_rollback_is_an_urgent_alert_and_a_fact(harness: Harness) -> None:
    if not _proves(harness):
        return
    _prove(harness, _lost(_grown(harness)), at=60)
    (alert,) = harness.store.tallies().open_alerts
    assert (alert.kind, alert.level, alert.code, alert.job) == ("rollback", 3, "store_rolled_back", "")
    fact = harness.store.facts([rollback.FACT])[rollback.FACT]
    assert fact.version == 1
    assert [epoch.number for epoch in rollback.epochs_of(fact.value)] == [1]


def after_a_rollback_take_starts_nothing_whose_moment_had_come(harness: Harness) -> None:
    if not _proves(harness):
        return
    harness.activate()
    old = harness.add_one(harness.caller_row("old", at=-5))
    new = harness.add_one(harness.caller_row("new", at=90), at=0)
    before = harness.take(limit=0).rules_version
    _prove(harness, _lost(_grown(harness)), at=60)
    taken = harness.take(at=91)
    assert {row.id: row.looking for row in taken.rows} == {old: True, new: False}
    assert taken.rules_version > before


def after_a_rollback_no_decision_from_before_starts_anything(harness: Harness) -> None:
    if not _proves(harness):
        return
    harness.activate()
    row = harness.looked_at(at=-5)
    _prove(harness, _lost(_grown(harness)), at=2)
    settled = harness.settle(make_start(row), at=3)[0]
    assert settled.outcome == "changed"
    assert harness.row(row.id).state is State.PENDING


def after_a_rollback_no_decision_starts_anything_that_saw_a_version_which_was_lost(harness: Harness) -> None:
    if not _proves(harness):
        return
    harness.activate()
    row = harness.looked_at(at=-5)
    seen = harness.store.jobs(["job"])[0].pause_version + 1, harness.take(limit=0).rules_version + 1
    # As if a resume was lost with the rest: somebody has seen the versions that come next.
    _prove(harness, _lost(_grown(harness)), at=2)
    assert harness.settle(make_start(row, pause_version=seen[0]), at=3)[0].outcome == "changed"
    job, version = harness.store.jobs(["job"])[0], harness.take(limit=0).rules_version
    assert (job.pause_version, version) == (harness.at(2), harness.at(2))
    assert harness.act("pause", job="job", at=4).outcome == "done"
    assert harness.store.jobs(["job"])[0].pause_version == harness.at(2) + 1
    assert harness.take(limit=0).rules_version == version + 1


def who_lost_writes_in_a_rollback_that_was_let_go_finds_another_one(harness: Harness) -> None:
    if not _proves(harness):
        return
    other = _prove(harness, writer="p2", worker="w2").receipt
    (first,) = _prove(harness, _lost(_grown(harness)), at=60).epochs
    assert harness.act("release", epochs=((1, first.lost_until),), at=65).outcome == "done"
    proof = _prove(harness, _lost(other), writer="p2", worker="w2", at=70)
    assert (proof.outcome, proof.receipt.epoch) == ("lost", 2)
    assert [epoch.lost_until for epoch in proof.epochs] == [harness.at(60), harness.at(70)]
    assert len(harness.store.tallies().open_alerts) == 1


def a_proof_keeps_who_was_heard_of(harness: Harness) -> None:
    if not _proves(harness):
        return
    harness.store.heartbeat(make_worker("w1"), 30 * SECOND, at=harness.at(10))
    kept = replace(_grown(harness), worker="w1", beat=harness.at(10))
    proof = _prove(harness, kept, worker="w2", at=11)
    assert (proof.receipt.worker, proof.receipt.beat) == ("w1", harness.at(10))


def writers_are_read_with_their_head(harness: Harness) -> None:
    if not _proves(harness):
        return
    _prove(harness, writer="p2", worker="w2")
    receipt = _prove(harness, at=5).receipt
    _settle(harness, _next(receipt), at=7)
    first, second = _guard(harness).writers()
    assert (first.id, first.worker, first.seq, first.at) == ("p1", "w1", 1, harness.at(7))
    assert (first.proved_at, first.blind, first.epoch) == (harness.at(5), False, 0)
    assert (second.id, second.worker, second.seq) == ("p2", "w2", 0)
    assert first.proved_for == second.proved_for != ""


def the_server_is_remembered_with_how_far_its_data_reached(harness: Harness) -> None:
    if not _proves(harness):
        return
    harness.store.heartbeat(make_worker("w1"), 30 * SECOND, at=harness.at(3))
    first = _prove(harness, at=9).serving
    assert (first.since, first.as_of) == (harness.at(9), harness.at(3))
    assert _prove(harness, at=20).serving == first, "it is the same server still"
