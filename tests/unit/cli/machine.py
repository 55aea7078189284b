"""A machine whose state folder remembers what the desk's store has lost."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from desk import Desk

from noonmark.core.model import HOUR, SECOND, Event, Query, State
from noonmark.core.model.rollback import Claim, Receipt
from noonmark.engine.statefolder import StateFolder
from noonmark.testing.builders import make_caller_row, make_end


class Machine:
    """The state folder of one writer beside the desk's store, which lost its last link."""

    def __init__(self, desk: Desk, folder: Path) -> None:
        self.desk, self.store, self.folder = desk, desk.store, folder
        self.desk.later(HOUR)
        self.memory = StateFolder(folder).open(self.store.store_id(), "w1")
        self.claim = Claim(writer=self.memory.writer, worker="w1", receipt=None)
        self.there: Receipt = self.store.prove(self.claim).receipt
        self.desk.later(SECOND)
        self.lost = replace(self.there, seq=self.there.seq + 1, hash="f" * 64, at=self.desk.now)
        self.memory.keep(self.lost)

    def remember(self, key: str, outcome: str = "success", *, later: int = 0) -> None:
        self.memory.record(
            self.lost.seq, self.lost.hash, self.lost.at + later,
            [(7, "mail", "", "l:1", key, self.desk.now, "2026-11-27", "event", outcome, 9)],
        )  # fmt: skip

    def prove(self) -> None:
        self.memory.keep(self.store.prove(replace(self.claim, receipt=self.lost)).receipt)

    def hold(self, key: str, *, job: str = "mail") -> int:
        row = make_caller_row(f"again:{key}", at=self.desk.now, job=job, key=key, gated=True)
        (added,) = self.store.add(self.desk.request(), [row])
        (look,) = (each for each in self.desk.take() if each.id == added.id)
        park = make_end(look, Event.PARK, due_at=self.desk.now + HOUR, code="held_rollback", verdict="skip_lease")
        assert self.store.settle(self.desk.request(), "w1", [park])[0].outcome == "applied"
        return added.id

    def state(self, number: int) -> State:
        return self.store.occurrences(Query(ids=(number,)))[0].state
