"""What a machine of a simulated world remembers across its processes: the receipts of its writer, without files.

Rule of the file: as the state folder of production, but nothing here touches a disk.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from noonmark.core.model import Micros
from noonmark.core.model.rollback import Receipt
from noonmark.engine.statefolder import StateFolder, Witness


class MachineMemory(StateFolder):
    """The state folder of one machine, on which one worker runs at a time."""

    def __init__(self, name: str) -> None:
        super().__init__(None)
        self.name = name
        self.receipts: dict[str, Receipt] = {}  # by store
        self.here = ""  # the store that lies at the one address there is, as far as it is known

    def open(self, store: str, worker: str) -> Witness:  # noqa: ARG002
        """Become the machine's one writer."""
        return _Remembering(self, store)

    def others(self, store: str) -> Iterator[Witness]:  # noqa: ARG002
        """Yield nobody: there is one writer."""
        return iter(())

    def lay_before(self, url: str, store: str) -> str:  # noqa: ARG002
        """Return the store that is remembered, "" when it is this one or none is."""
        return "" if self.here == store else self.here

    def lies_at(self, url: str, store: str) -> None:  # noqa: ARG002
        """Remember which store lies there."""
        self.here = store


class _Remembering(Witness):
    def __init__(self, machine: MachineMemory, store: str) -> None:
        super().__init__(machine.name, store, None, None)
        self._machine = machine
        self.receipt = machine.receipts.get(store)

    @property
    def is_blind(self) -> bool:
        return False

    def keep(self, receipt: Receipt) -> None:
        self.receipt = self._machine.receipts[self.store] = receipt

    def record(
        self, seq: int, hash_: str, at: Micros, outcomes: Sequence[Sequence[Any]], *, begun: Micros | None = None
    ) -> None:
        """Keep no journal: nobody imports it here."""
