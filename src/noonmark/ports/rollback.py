"""The guard port: how a store proves that it still holds what it acknowledged.

Every store of noonmark has it beside its verbs (``Capability.PROVES``); ``take`` and ``settle`` of such a store accept a
``link``.  With it, a batch is appended to the writer's chain in its own transaction:

* the request is looked up first: a repeated one answers as before and appends nothing;
* the head of the writer must be ``link.before`` (then it becomes ``link.hash``), or ``link.hash`` already (a write whose
  answer was lost, and whose request is forgotten by now); anything else raises ``ChainBroken`` and changes nothing;
* ``settle`` appends whatever it is told; ``take`` only when it started a row by itself, but it compares whenever it
  leases one, and where that costs nothing, always.

Rule of the file: what is absent is judged by ``core.receipts.judge`` and by nobody else.
"""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from noonmark.core.model import Micros
from noonmark.core.model.rollback import Claim, Proof, Writer


class ChainBroken(Exception):
    """The writer's last acknowledged link is not the head of its chain, or another server answers: prove first.

    Nothing was changed.  It is no proof of a rollback: a write that landed although its answer was lost does it, too.
    """


class Guarded(Protocol):
    """What a store offers so that a rollback cannot stay silent."""

    def store_id(self) -> str:
        """Return the name that this namespace was given when it was made; see ``ports.archive``."""
        ...

    def identity(self) -> str:
        """Return what changes when another server, or another state of it, may serve the store; costs next to nothing.

        Where only an exchange with the server can tell, this is what the last exchange told.
        """
        ...

    def prove(self, claim: Claim, *, at: Micros | None = None) -> Proof:
        """Judge a claim and act on it, in one transaction; repeating it gives the same.

        A writer that is not known is entered.  An acknowledged write that is gone is a rollback: the fact ``rollback``
        lists it, an urgent alert is opened, every open row whose moment has come is gated (so ``take`` starts none by
        itself), and every job's pause version and the rules version grow (so no decision from before can start one).
        Whoever lost writes in the same rollback joins it.
        """
        ...

    def writers(self) -> list[Writer]:
        """Read every writer, the one that proved itself last first."""
        ...


@runtime_checkable
class Placed(Protocol):
    """What a store offers whose URL means something else in another folder."""

    @property
    def place(self) -> str:
        """Where it is, as a URL that means the same in every folder."""
        ...
