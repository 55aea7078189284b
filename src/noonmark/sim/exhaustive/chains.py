"""A store that forgets, in the small world: what a worker's chain remembers, and what somebody outside saw of it.

The chain itself is the engine's own (``engine.chain``); here is only what it is brought back with between two steps.

Rule of the file: values, and the two ways between them and the engine's own objects.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass, replace
from typing import Any

from noonmark.core import rollback
from noonmark.core.model import SECOND, Event, Fact, Micros
from noonmark.core.model.rollback import Receipt, Serving
from noonmark.engine.loop import Engine
from noonmark.engine.statefolder import Witness

COMING_BACK: Micros = SECOND // 2
"""For so long after the first proof nobody may start anything unless every living worker has proved itself."""
ASKS_AGAIN: Micros = SECOND // 10
"""Whoever waits for others asks no sooner than that."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Chain:
    """What one worker's chain remembers (``engine.chain.ChainedStore``), and its rules of the loss (``lost_until``)."""

    receipt: Receipt
    identity: str
    serving: Serving | None
    awaits: bool
    asked_at: Micros
    epoch_at: Micros
    offset: Micros
    rolled_back: bool
    lost_until: Micros


def remembered(engine: Engine) -> Chain | None:
    """Return what the engine's own object remembers, None before its first proof."""
    chain = engine.chain
    if chain._witness is None or chain._witness.receipt is None:
        return None
    return Chain(
        receipt=chain._witness.receipt,
        identity=chain._identity,
        serving=chain._serving,
        awaits=chain._awaits,
        asked_at=chain._asked_at,
        epoch_at=chain._epoch_at,
        offset=chain._offset,
        rolled_back=chain._rolled_back,
        lost_until=engine.rules.lost_until,
    )


def remind(engine: Engine, memory: Chain | None) -> None:
    """Let the engine's own object remember it."""
    if memory is None:
        return
    chain, engine.rules.lost_until = engine.chain, memory.lost_until
    chain._witness = Witness(memory.receipt.writer, memory.receipt.store, None, None)
    chain._witness.receipt = memory.receipt
    chain._identity, chain._serving = memory.identity, memory.serving
    chain._awaits, chain._asked_at = memory.awaits, memory.asked_at
    chain._epoch_at = memory.epoch_at
    chain._offset = chain._answered = memory.offset
    chain._rolled_back = memory.rolled_back


def serving_name(forgotten: int) -> str:
    """Return which server it is that serves, after the store has forgotten so often."""
    return f"server{forgotten}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Past:
    """What somebody outside saw: which successes were acknowledged to whom, and what came of the loss."""

    acked: frozenset[tuple[str, str]] = frozenset()  # key, worker
    forgotten_at: Micros | None = None
    first_proof_at: Micros | None = None
    provers: frozenset[str] = frozenset()  # who has proved itself since
    is_released: bool = False
    let_go: frozenset[str] = (
        frozenset()
    )  # keys of rows that a person let go, one by one, while others had to be looked at


def seen(past: Past, calls: Iterable[Any], keys: dict[int, str], now: Micros) -> Past:
    """Return what is known after these calls.

    Args:
        calls: those that reached the store.
        keys: of the rows, by id.
        now: the store's time.
    """
    for call in calls:
        if call.verb == "settle":
            done = {
                (keys[item.occurrence_id], call.args[1])
                for item, answer in zip(call.args[2], call.answer, strict=True)
                if item.event is Event.SUCCEED and answer.outcome == "applied"
            }
            past = replace(past, acked=past.acked | done)
        elif call.verb == "prove" and past.forgotten_at is not None:
            first, who = now if past.first_proof_at is None else past.first_proof_at, call.args[0].worker
            # Of what comes to light only now a person's word from before said nothing.
            new = set() if who in past.provers else {key for key, worker in past.acked if worker == who}
            past = replace(past, provers=past.provers | {who}, first_proof_at=first, let_go=past.let_go - new)
    return past


def epochs_in(fact: Fact | None, now: Micros) -> Hashable:
    """Return what the rollbacks on record mean from now on."""
    epochs = rollback.epochs_of(fact.value if fact is not None else None)
    return tuple(
        (each.number, each.lost_until - now, each.detected_at - now, each.released_at is not None, each.writers)
        for each in epochs
    )
