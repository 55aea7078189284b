"""Another store lay here before: told by whoever remembers it, once, until a person takes the word away.

Only stores that say ``Capability.PROVES`` are tried.
"""

from __future__ import annotations

from typing import Any

from noonmark.core import former
from noonmark.core.model import Fact
from noonmark.core.model.rollback import Claim, Proof, Receipt
from noonmark.ports.store import Capability
from noonmark.testing.conformance.harness import Harness


def _proves(harness: Harness) -> bool:
    return Capability.PROVES in harness.store.capabilities


def _prove(harness: Harness, writer: str, before: str = "", *, receipt: Receipt | None = None, at: float = 0) -> Proof:
    guard: Any = harness.store
    proof: Proof = guard.prove(Claim(writer=writer, worker="w1", receipt=receipt, before=before), at=harness.at(at))
    return proof


def _told(harness: Harness) -> former.Former | None:
    return former.former_of(harness.store.facts([former.FACT])[former.FACT])


def who_remembers_another_store_here_tells_this_one_urgently_and_once(harness: Harness) -> None:
    if not _proves(harness):
        return
    assert _prove(harness, "p1", "b" * 32, at=1).outcome == "new"
    assert _told(harness) == former.Former(store="b" * 32, at=harness.at(1))
    _prove(harness, "p1", "b" * 32, at=2)
    _prove(harness, "p2", "c" * 32, at=3)
    (alert,) = harness.store.tallies().open_alerts
    assert (alert.job, alert.kind, alert.level, alert.code) == ("", former.CODE, 3, former.CODE)
    assert (alert.opened_at, alert.count) == (harness.at(1), 1)
    told = _told(harness)
    assert told is not None
    assert told.store == "b" * 32


def who_comes_to_a_store_that_nobody_misses_tells_nothing(harness: Harness) -> None:
    if not _proves(harness):
        return
    receipt = _prove(harness, "p1").receipt
    assert _prove(harness, "p1", "b" * 32, receipt=receipt, at=1).outcome == "present", "it was here before"
    assert _told(harness) is None
    assert harness.store.tallies().open_alerts == ()


def a_word_of_another_store_that_a_person_took_away_is_over_and_not_told_again(harness: Harness) -> None:
    if not _proves(harness):
        return
    _prove(harness, "p1", "b" * 32, at=1)
    harness.store.signal(harness.request(), [Fact(name=former.FACT, actor="ada")], at=harness.at(2))
    _prove(harness, "p2", at=3)
    assert harness.store.tallies().open_alerts == ()
    _prove(harness, "p3", "b" * 32, at=4)
    assert _told(harness) is None
    assert harness.store.tallies().open_alerts == ()
