"""The store that lay here before this one: told once, to every store alike, until a person takes it away.

To a store that is another one nothing is missing, so nothing but the memory of its workers can say that something is.

Rule of the file: pure.  The word is a flag, so every store has it, and whoever knows better clears it.
"""

from __future__ import annotations

from collections.abc import Mapping

from noonmark.core.model import AlertWrite, Fact, Micros
from noonmark.core.stored import word_of
from noonmark.core.values import dataclass

FLAG = "noonmark:another-store"
"""Name of the flag; its value is the id of the store before."""
FACT = f"flag:{FLAG}"
CLEAR = f"noonmark signal {FLAG} --clear"
"""What takes the word away."""
CODE = "another_store"
"""Code of the alert, which belongs to no job, and of the line in the ledger."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Former:
    """The store before, by its id, and since when another one is known to lie here (store time, UTC microseconds)."""

    store: str
    at: Micros


def former_of(fact: Fact | None) -> Former | None:
    """Return what the fact says, None where nobody knows of another store, or a person took the word away."""
    return Former(store=word_of(fact.value), at=fact.set_at or 0) if fact is not None and fact.is_set else None


def is_told(fact: Fact | None) -> bool | None:
    """Return whether the word stands; None: it was never given, False: a person took it away."""
    return None if fact is None or not fact.version else fact.is_set


def alert(store: str) -> AlertWrite:
    """Return the urgent alert that another store lay here; without its id, the all-clear."""
    if not store:
        return AlertWrite(job="", kind=CODE, level=0, code="", clear=True)
    return AlertWrite(job="", kind=CODE, level=3, code=CODE, detail=detail(store))


def detail(store: str) -> Mapping[str, str]:
    """Return the arguments of the sentence."""
    return {"before": store}
