"""The mark in a store that was copied to another one: who works on with both does everything twice.

Promise: the mark is in the source alone; it is a flag, so every store has it and a person can take it away with
``noonmark signal``.  Rule of the file: it says where to and when, and never a secret of a URL.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping

from noonmark.core.model import Fact, Micros
from noonmark.core.stored import word_of
from noonmark.core.times import to_datetime
from noonmark.core.values import dataclass
from noonmark.ports.archive import Record
from noonmark.ports.store import Store

FLAG = "noonmark:copied"
"""Name of the flag; its value says where to."""
FACT = f"flag:{FLAG}"
CLEAR = f"noonmark signal {FLAG} --clear"
"""What takes the mark away."""
_LOG = logging.getLogger("noonmark.engine")


@dataclass(frozen=True, slots=True, kw_only=True)
class Copied:
    """Where to a store was copied, as it may be shown, and when (store time, UTC microseconds)."""

    to: str
    at: Micros


def mark(source: Store, to: str, request_id: str, *, actor: str) -> None:
    """Mark a store as copied.

    Args:
        source: the store.
        to: where to, as it may be shown.
        request_id: the caller's, once per intention.
        actor: who copies.
    """
    source.signal(request_id, [Fact(name=FACT, value=to, actor=actor)])


def copied(store: Store) -> Copied | None:
    """Return where to and when the store was copied, None when it was not, or when a person took the mark away."""
    fact = store.facts([FACT]).get(FACT)
    if fact is None or not fact.is_set:
        return None
    return Copied(to=word_of(fact.value), at=fact.set_at or 0)


def is_mark(record: Record) -> bool:
    """Return True for the mark among the records of a store: it does not go along."""
    return record.kind == "fact" and record.fields.get("name") == FACT


def counts_of(store: Store, counts: Mapping[str, int]) -> dict[str, int]:
    """Return how many records go along, of those that are there."""
    fact = store.facts([FACT]).get(FACT)
    is_there = fact is not None and fact.version > 0
    return {kind: count - (is_there and kind == "fact") for kind, count in counts.items()}


def warn(store: Store) -> None:
    """Say in the log of a worker that it works on a store that was copied."""
    seen = copied(store)
    if seen is not None:
        when = to_datetime(seen.at).strftime("%Y-%m-%d %H:%M:%S UTC")
        _LOG.warning(
            "this store was copied to %s at %s: with workers on both, everything runs twice; if this one is to go on: %s",
            seen.to,
            when,
            CLEAR,
        )
