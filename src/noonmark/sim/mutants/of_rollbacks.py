"""Bugs of the guard against rollbacks: losses that nobody tells, holds that do not hold, repeats without a flag.

Rule of the file: each world here loses writes; what is planted is one line of the guard that somebody left out.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from noonmark.core import receipts, rollback
from noonmark.engine import chain
from noonmark.sim import faults as f
from noonmark.sim.mutants.plant import Anything, Mutant, Needs, Planter
from noonmark.sim.plan import Plan
from noonmark.stores.memory import proving
from noonmark.stores.memory.tables import Tables


def _loses_much(plan: Plan) -> bool:
    return sum(isinstance(fault, f.Failover) and fault.lose > 10 for fault in plan.faults) > 1


_LOSSY = Needs(faults=(f.Failover,), replicas=2, when=_loses_much)


def _never_hold(planter: Planter) -> None:
    planter.put(rollback, "held", lambda *_: None)


def _drop_the_flag(planter: Planter) -> None:
    planter.put(rollback, "flagged", lambda decision, *_: decision)


def _find_everything_there(planter: Planter) -> None:
    planter.put(receipts, "is_there", lambda *_: True)


def _erase_the_fact(planter: Planter) -> None:
    def make(prove: Anything) -> Anything:
        def forgetful(them: Tables, *args: Any) -> Any:
            proof = prove(them, *args)
            them.facts.pop(rollback.FACT, None)
            return proof

        return forgetful

    planter.around(proving, "prove", make)


def _raise_no_alert(planter: Planter) -> None:
    planter.put(proving, "_say", lambda *_: None)


def _gate_nothing(planter: Planter) -> None:
    planter.put(proving, "_hold", lambda *_: None)


def _compare_no_link(planter: Planter) -> None:
    """Then nobody proves anything before his next start."""
    planter.put(proving, "check", lambda *_: None)
    planter.put(chain.ChainedStore, "_ensure", lambda them: them._witness is None and them._prove())


def _end_the_range_where_it_began(planter: Planter) -> None:
    def make(judge: Anything) -> Anything:
        def short(*args: Any) -> Any:
            judged = judge(*args)
            if judged.opened is None:
                return judged
            epochs = tuple(replace(epoch, lost_until=epoch.lost_from) for epoch in judged.epochs)
            return replace(judged, epochs=epochs, rollbacks=rollback.to_plain(epochs))

        return short

    planter.around(receipts, "judge", make)


def _see_a_loss_in_every_proof(planter: Planter) -> None:
    planter.put(receipts, "is_there", lambda receipt, _known: receipt.seq < 3)


def _count_heartbeats_as_survived(planter: Planter) -> None:
    """Those that came since the store was back as well."""

    def survived(known: receipts.Known) -> int:
        moments = [at for at in (known.head.at if known.head is not None else None, known.beat) if at is not None]
        return max(moments, default=known.as_of)

    planter.put(receipts, "survived_until", survived)


def _goes_back_unseen(plan: Plan) -> bool:
    """Near the end, where people ask for less and workers idle."""
    late = [fault for fault in plan.faults if isinstance(fault, f.Failover) and fault.at > plan.length * 4 // 5]
    return any(fault.unseen and fault.lose > 10 for fault in late)


ROLLBACK_MUTANTS: tuple[Mutant, ...] = (
    Mutant(name="what a rollback may have run is not held", plant=_never_hold, needs=_LOSSY),
    Mutant(name="a repeat after a rollback has no flag", plant=_drop_the_flag, needs=_LOSSY),
    Mutant(
        name="whatever was acknowledged counts as there",
        plant=_find_everything_there,
        seen_in="every scheduler that was measured",
        needs=_LOSSY,
    ),
    Mutant(name="the fact of a rollback is erased", plant=_erase_the_fact, needs=_LOSSY),
    Mutant(name="a rollback raises no alert", plant=_raise_no_alert, needs=_LOSSY),
    Mutant(name="rows of a rollback are not gated", plant=_gate_nothing, needs=_LOSSY),
    Mutant(name="links are compared with nothing", plant=_compare_no_link, needs=_LOSSY),
    Mutant(
        name="heartbeats since a store came back have survived",
        plant=_count_heartbeats_as_survived,
        seen_in="a SQLite file restored under an idle worker",
        needs=Needs(faults=(f.Failover,), when=_goes_back_unseen),
    ),
    Mutant(name="a rollback ends where it began", plant=_end_the_range_where_it_began, needs=_LOSSY),
    Mutant(
        name="a rollback is seen where nothing is lost",
        plant=_see_a_loss_in_every_proof,
        needs=Needs(faults=(f.Crash,)),
    ),
)
