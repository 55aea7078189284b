"""What a worker remembers of the store that lay here before the one that lies here now, for runs that went on.

Promise: a run of the former store that ends well is in the journal of that store, which alone can bring it back (``ledger
export --from-state --of``); nothing of it reaches the store that lies here now.

Rule of the file: belongs to the worker's chain (``engine/chain.py``), and runs in its thread.
"""

from __future__ import annotations

from collections.abc import Iterable

from noonmark.core.model import Micros, Occurrence
from noonmark.engine import findings
from noonmark.engine.endings import ending
from noonmark.engine.statefolder import StateFolder, Witness


class Former:
    """Our memory of the last store but this one.

    Args:
        folder: what the workers of this host remember.
        place: the address of the store.
    """

    def __init__(self, folder: StateFolder, place: str) -> None:
        self._folder = folder
        self._place = place
        self._witness: Witness | None = None
        self.before = ""
        """The store that lay here before the one that is asked, until that one has heard of it."""

    def look(self, store: str, ours: str) -> None:
        """See what lay here before the store that is to be asked; ``ours``: the one that we have worked in, if any."""
        before = self._folder.lay_before(self._place, store)
        self.before = before or ours
        if before and not ours:
            findings.tell_elsewhere(self._place, before)

    def is_told_to(self, store: str) -> None:
        """This store has answered, so it has heard of the one before; until then that stays news for the next worker."""
        self._folder.lies_at(self._place, store)
        self.before = ""

    def keep(self, witness: Witness) -> None:
        """Go on being the writer that we were in a store that we have worked in; another one lies there now."""
        findings.tell_another(self._place, witness.store)
        if self._witness is not witness:
            self.close()
        self._witness = witness

    def give_back(self, store: str) -> Witness | None:
        """Return the memory that is kept here if it is of this store, which lies there again; it is kept no more."""
        witness = self._witness
        if witness is None or witness.store != store:
            return None
        self._witness = None
        return witness

    def record(self, runs: Iterable[tuple[Occurrence, int]], at: Micros) -> None:
        """Write down that these rows ran to a success, by fence.

        Args:
            runs: the rows as they were started, and the fences.
            at: when, store time, UTC microseconds; of this store, for the other one tells none any more.
        """
        witness = self._witness
        if witness is None or witness.receipt is None:
            return
        receipt = witness.receipt
        for row, fence in runs:
            witness.record(receipt.seq, receipt.hash, at, [ending(row, "success", fence)], begun=row.started_at)

    def close(self) -> None:
        """Let another process be that writer."""
        if self._witness is not None:
            self._witness.close()
