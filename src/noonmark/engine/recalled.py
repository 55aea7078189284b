"""What the journals of this host have of what the store lost and nobody has let go: read when it may have changed.

Rule of the file: belongs to the worker's chain (``engine/chain.py``), and runs in its thread.
"""

from __future__ import annotations

from collections.abc import Sequence

from noonmark.core.model import Occurrence
from noonmark.core.model.rollback import LET_RUN, Epoch
from noonmark.engine import witnessing
from noonmark.engine.statefolder import StateFolder


class Recalled:
    """The successes in lost ranges, as far as this host knows."""

    def __init__(self, folder: StateFolder) -> None:
        self._folder = folder
        self._unreleased: tuple[Epoch, ...] = ()
        self._over_at = 0
        self._lost: witnessing.Known = {}

    def forget(self) -> None:
        """Know nothing: it was about another store."""
        self._unreleased, self._over_at, self._lost = (), 0, {}

    def read(self, store: str, unreleased: Sequence[Epoch]) -> None:
        """Read the journals if other rollbacks are open than when they were read last."""
        if self._folder.root is not None and tuple(unreleased) != self._unreleased:
            self._unreleased = tuple(unreleased)
            self._read(store)

    def listen(self, store: str) -> None:
        """While a rollback is open: hear of runs of this machine that have ended over it since the journals were read."""
        if self._unreleased and self._folder.over_at(store) != self._over_at:
            self._read(store)

    def _read(self, store: str) -> None:
        assert self._folder.root is not None, "asked only of workers that have one"
        self._over_at = self._folder.over_at(store)  # before the lines: what comes meanwhile is read again
        self._lost = witnessing.lost_successes([self._folder.root], store, self._unreleased)

    def has_run(self, row: Occurrence) -> bool:
        """True for a row whose key succeeded in what the store lost, unless a person has let it run."""
        return bool(self._lost) and (row.job, row.key) in self._lost and row.code not in LET_RUN
