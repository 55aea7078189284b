"""Reading what a store gives back, which may be damaged, forged, or from another version.

Promise: nothing here raises but ``RuleUnreadable``, whatever the text.  Rule of the file: what cannot be read is empty,
and a state or an origin that nobody knows is one that a person has to look at; only a rule is refused, because deciding
by half a rule would be wrong.
"""

from __future__ import annotations

import json
from dataclasses import fields
from typing import Any, TypeVar

from noonmark.core.model import Check, Origin, State

T = TypeVar("T")
LONGEST_WORD = 300
"""Characters; a store's name and the place of one are shorter."""


class RuleUnreadable(ValueError):
    """A stored rule that this version cannot read; the text says what and why."""


class Known(dict[str, T]):
    """Words of a closed set; an unknown one is read as ``other``."""

    def __init__(self, words: dict[str, T], other: T) -> None:
        super().__init__(words)
        self._other = other

    def __missing__(self, _word: str) -> T:
        return self._other


STATES: Known[State] = Known({state.value: state for state in State}, State.FAILED_MANUAL)
"""States by name; no worker touches FAILED_MANUAL, and every list shows it as one that needs a person."""
ORIGINS: Known[Origin] = Known({origin.value: origin for origin in Origin}, Origin.MANUAL)


def object_of(text: str | None) -> dict[str, Any]:
    """Return a stored JSON object, {} for what is none."""
    try:
        value = json.loads(text or "{}")
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def value_of(text: str | None) -> Any:
    """Return a stored JSON value, the text itself where it is no JSON."""
    if text is None:
        return None
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def word_of(value: object) -> str:
    """Return the value of a flag as a word within a sentence: whoever may set flags chose its length."""
    text = str(value)
    return text if len(text) <= LONGEST_WORD else f"{text[: LONGEST_WORD - 1]}…"


def names_of(text: str) -> tuple[str, ...]:
    """Return a stored list of names, () for what is none."""
    value = value_of(text)
    return tuple(name for name in value if isinstance(name, str)) if isinstance(value, list) else ()


def checks_of(text: str) -> tuple[Check, ...]:
    """Return the checks of a ledger line; cells that a newer version added, and rows that are no checks, are left out."""
    try:
        rows = json.loads(text or "[]")
    except (ValueError, RecursionError):
        return ()
    if not isinstance(rows, list):
        return ()
    return tuple(Check(name=row[0], passed=row[1], wanted=row[2], seen=row[3]) for row in rows if _is_check(row))


def _is_check(row: Any) -> bool:
    if not isinstance(row, list) or len(row) < 4 or not (row[1] is None or isinstance(row[1], bool)):
        return False
    return all(isinstance(cell, str) for cell in (row[0], row[2], row[3]))


_LARGEST = 1 << 62
_KINDS: dict[str, Any] = {
    "str": lambda value: isinstance(value, str),
    "bool": lambda value: isinstance(value, bool),
    "int": lambda value: _is_whole(value),
    "Micros": lambda value: _is_whole(value),
    "float": lambda value: isinstance(value, (int, float)) and not isinstance(value, bool),
    "tuple[str, ...]": lambda value: isinstance(value, tuple) and all(isinstance(item, str) for item in value),
    "Mapping[str, tuple[str, ...]]": lambda value: all(
        isinstance(name, str) and _KINDS["tuple[str, ...]"](items) for name, items in value.items()
    ),
}
_KINDS |= {f"{name} | None": lambda value, kind=kind: value is None or kind(value) for name, kind in _KINDS.items()}


def check_types(value: Any, where: str) -> None:
    """Refuse a rule, or a part of one, that has text where a number belongs, or a number that is no length of time.

    Raises:
        RuleUnreadable: it does; the text says where.
    """
    for part in fields(value):
        fits = _KINDS.get(str(part.type))
        if fits is not None and not fits(getattr(value, part.name)):
            raise RuleUnreadable(f"{where}: {part.name} cannot be {getattr(value, part.name)!r:.60}")
    if getattr(value, "period", 1) <= 0:
        raise RuleUnreadable(f"{where}: a period must be longer than nothing")


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and -_LARGEST <= value <= _LARGEST
