"""Answers of verbs as plain values, for stores that remember the first one as text.

Rule of the file: equal neighbours of a settle are folded, since five hundred equal successes are one sentence.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from noonmark.core.model import Acted, Added, Settled, State, Taken


def _fold(answers: Sequence[Any]) -> list[list[Any]]:
    """Return runs as [length, answer]."""
    runs: list[list[Any]] = []
    previous: Any = None
    for answer in answers:
        if answer is previous or (runs and answer == previous):
            runs[-1][0] += 1
        else:
            runs.append([1, answer])
            previous = answer
    return runs


def _unfold(runs: Sequence[Sequence[Any]]) -> list[Any]:
    return [answer for length, answer in runs for _ in range(length)]


def settled_to_plain(answers: Sequence[Settled]) -> Any:
    """Return the answers of a settle, folded."""
    return [[length, asdict(answer)] for length, answer in _fold(answers)]


def settled_from_plain(plain: Any) -> list[Settled]:
    """Return the answers of a settle as first given."""
    runs = []
    for length, fields in plain:
        state = fields["state"]
        fields |= {"changed": tuple(fields["changed"]), "state": None if state is None else State(state)}
        runs.append((length, Settled(**fields)))
    return _unfold(runs)


def added_to_plain(answers: Sequence[Added]) -> Any:
    """Return the answers of an add."""
    return [[answer.outcome, answer.id, answer.duplicate_of] for answer in answers]


def added_from_plain(plain: Any) -> list[Added]:
    """Return the answers of an add as first given."""
    return [Added(outcome=outcome, id=row, duplicate_of=holder) for outcome, row, holder in plain]


def acted_to_plain(answer: Acted) -> Any:
    """Return the answer to an act."""
    return [answer.outcome, list(answer.ids), answer.state]


def acted_from_plain(plain: Any) -> Acted:
    """Return the answer to an act as first given."""
    outcome, ids, state = plain
    return Acted(outcome=outcome, ids=tuple(ids), state=None if state is None else State(state))


class IdleTakes:
    """Answers of takes that found nothing, kept by whoever asked, so that idling writes nothing anywhere.

    That of a repeat belongs into the store all the same: the first try may be on its way yet, or not be committed, and
    would lease to somebody who was answered that there is nothing.
    """

    KEPT = 256
    """More than a caller repeats, too few to matter."""

    def __init__(self) -> None:
        # Several threads may work with one store, and the oldest of these goes in one step.
        self._answers: OrderedDict[str, Taken] = OrderedDict()
        self._asked: OrderedDict[str, None] = OrderedDict()

    def is_repeat(self, name: str) -> bool:
        """Take note of a try of this request; True when it is not the first."""
        if name in self._asked:
            return True
        self._asked[name] = None
        if len(self._asked) > self.KEPT:
            self._asked.popitem(last=False)
        return False

    def get(self, name: str) -> Taken | None:
        """Return the first answer to this request."""
        return self._answers.get(name)

    def keep(self, name: str, taken: Taken) -> Taken:
        """Remember an answer, and return it."""
        self._answers[name] = taken
        if len(self._answers) > self.KEPT:
            self._answers.popitem(last=False)
        return taken
