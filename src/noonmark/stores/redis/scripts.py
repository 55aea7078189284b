"""The Lua scripts: read from ``lua/``, put together from what each one uses, known by their SHA-1.

Rule of the file: a script is one file per verb; what several verbs share stands in ``lua/common_*.lua`` and is put in front
of those that name it in their ``USES`` line.  The life cycle and its times come from ``core.lifecycle`` and positions from
``layout``, so that neither is written twice.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources

from noonmark.core.escalate import RAN
from noonmark.core.lifecycle import (
    ASKED_BY_A_PERSON,
    ATTEMPT_ENDS,
    CANCEL_WINS_OVER,
    CANCEL_WITHIN,
    KEPT,
    TRANSITIONS,
    YIELDING,
)
from noonmark.core.model import OPEN_STATES
from noonmark.stores.redis.layout import positions

_USES = re.compile(r"^-- USES: ([a-z ]+)$", re.MULTILINE)
_NAME = re.compile(r"\b[A-Z][A-Z_]+\b")
_COMMENT = re.compile(r"^\s*--.*\n", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Script:
    """One verb as the server runs it."""

    name: str
    text: str
    sha: str


def names() -> list[str]:
    """Return the names of all verbs that have a script."""
    folder = resources.files("noonmark.stores.redis") / "lua"
    found = (entry.name.removesuffix(".lua") for entry in folder.iterdir() if entry.name.endswith(".lua"))
    return sorted(name for name in found if not name.startswith("common_"))


@cache
def script(name: str) -> Script:
    """Return the script of a verb."""
    text = _read(name)
    uses = _USES.search(text)
    parts = uses.group(1).split() if uses is not None else []
    whole = "".join([_life_cycle(), *(_read(f"common_{part}") for part in parts), text])
    filled = _fill(_COMMENT.sub("", whole))
    return Script(name, filled, hashlib.sha1(filled.encode(), usedforsecurity=False).hexdigest())


def _read(name: str) -> str:
    return (resources.files("noonmark.stores.redis") / "lua" / f"{name}.lua").read_text(encoding="utf-8")


def _fill(text: str) -> str:
    known = positions()
    return _NAME.sub(lambda found: str(known.get(found.group(), found.group())), text)


def _life_cycle() -> str:
    tables: dict[str, Mapping[str, str]] = {
        "TRANSITIONS": {f"{state} {event}": after for (state, event), after in TRANSITIONS.items()},
        "ATTEMPT_ENDS": {str(state): end for state, end in ATTEMPT_ENDS.items()},
    }
    sets: dict[str, Iterable[str]] = {
        "CANCEL_WINS_OVER": CANCEL_WINS_OVER,
        "OPEN": OPEN_STATES,
        "YIELDING": YIELDING,
        "PERSONS": ASKED_BY_A_PERSON,
        "RAN": RAN,
    }
    numbers = {"CANCEL_WITHIN": CANCEL_WITHIN, "REMEMBERED_MS": KEPT // 1000}
    lines = [
        *(f"{name} = {{ {', '.join(_entries(table))} }}" for name, table in tables.items()),
        *(f"{name} = {{ {', '.join(_members(some))} }}" for name, some in sets.items()),
        *(f"{name} = {value}" for name, value in numbers.items()),
    ]
    return "".join(f"local {line}\n" for line in lines)


def _members(some: Iterable[str]) -> Iterator[str]:
    return (f"['{one}'] = true" for one in sorted(some))


def _entries(table: Mapping[str, str]) -> Iterator[str]:
    return (f"['{key}'] = '{value}'" for key, value in table.items())
