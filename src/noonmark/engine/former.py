"""What a worker remembers of the store that lay here before the one that lies here now, for runs that went on.

Promise: a run of the former store that ends well is in the journal of that store, which alone can bring it back (``ledger
export --from-state --of``); nothing of it reaches the store that lies here now.

Rule of the file: belongs to the worker's chain (``engine/chain.py``), and runs in its thread.
"""

from __future__ import annotations

from collections.abc import Iterable

from noonmark.core.model import Micros, Occurrence
from noonmark.engine.endings import ending
from noonmark.engine.statefolder import Witness


class Former:
    """Our memory of the last store but this one."""

    def __init__(self) -> None:
        self._witness: Witness | None = None

    def keep(self, witness: Witness) -> None:
        """Go on being the writer that we were in a store that we have worked in."""
        if self._witness is not witness:
            self.close()
        self._witness = witness

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
