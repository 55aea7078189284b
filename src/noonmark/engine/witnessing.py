"""What the workers' journals of this machine have of the ranges that a store lost: which keys succeeded there.

Promise: a success is named only if a journal of this very store has it, acknowledged inside a lost range; without a
journal nothing is known, and nothing is denied.

Rule of the file: reads only; files are opened only where the store lost something.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from noonmark.core.model import Micros
from noonmark.core.model.rollback import Epoch
from noonmark.engine import statefolder
from noonmark.engine.exports import SUCCESS


@dataclass(frozen=True, slots=True, kw_only=True)
class Witnessed:
    """A success that was acknowledged and lost: which row it was then, and when (store time, UTC microseconds)."""

    writer: str
    occurrence: int
    fence: int
    at: Micros


Known: TypeAlias = Mapping[tuple[str, str], Witnessed]
"""The successes by job and key."""
Witness: TypeAlias = Callable[[Sequence[Epoch]], Known]


def witness(root: Path | None, store: str) -> Witness:
    """Return who can say what the journals in a state folder have about a store; ``root`` None: they have nothing."""
    return lambda epochs: {} if root is None else lost_successes(root, store, epochs)


def lost_successes(root: Path, store: str, epochs: Sequence[Epoch]) -> Known:
    """Return the last success of each key that the journals have in the lost ranges.

    Args:
        root: the state folder.
        store: its id.
        epochs: the rollbacks.
    """
    found: dict[tuple[str, str], Witnessed] = {}
    if not epochs:
        return found
    try:
        for told in statefolder.outcomes(root, store):
            if told["outcome"] == SUCCESS and told["key"] and _is_lost(told["at"], epochs):
                found[str(told["job"]), str(told["key"])] = Witnessed(
                    writer=str(told["writer"]), occurrence=told["occurrence"], fence=told["fence"], at=told["at"]
                )
    except OSError:  # another user's folder: then less is known
        return found
    return found


def _is_lost(at: object, epochs: Sequence[Epoch]) -> bool:
    return isinstance(at, int) and any(epoch.lost_from < at <= epoch.lost_until for epoch in epochs)
