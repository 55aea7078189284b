"""First answers by request id, so that a repeated verb changes nothing.

Rule of the file: an answer is compact JSON.  Equal neighbours are folded, since five hundred equal successes are one
sentence.  Two deliveries of one request at the same moment: the second fails to insert, begins anew, and finds the answer.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from noonmark.core.model import Acted, Added, Settled, State
from noonmark.stores.postgres.desk import KEPT
from noonmark.stores.postgres.transaction import Transaction

PRUNED_AT_ONCE, PRUNED_EVERY = 500, 64
_REMEMBER = (
    "INSERT INTO ~request AS r VALUES ($1::text, $2::bigint, $3::text) ON CONFLICT (id)"
    # An answer of more than an hour ago makes room; a fresh one must stop us, as a duplicate does.
    " DO UPDATE SET at = excluded.at, answer = CASE WHEN r.at <= $4::bigint THEN excluded.answer END"
)
PRUNE = (
    "DELETE FROM ~request WHERE id = ANY(ARRAY(SELECT id FROM ~request WHERE at < $1::bigint ORDER BY at LIMIT $2::integer"
    " FOR UPDATE SKIP LOCKED))"
)
_turns = itertools.count(1)


def remember(tx: Transaction, name: str, answer: Any) -> None:
    """Keep the answer for an hour; now and then, forget old ones, so that the table keeps pace with any load."""
    text = json.dumps(answer, separators=(",", ":"), ensure_ascii=False)
    tx.later(_REMEMBER, name, tx.now, text, tx.now - KEPT)
    if next(_turns) % PRUNED_EVERY == 0:
        tx.later(PRUNE, tx.now - KEPT, 2 * PRUNED_EVERY)


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
