"""Occurrences as rows of the file, and back.

Rule of the file: the column list is the field list of ``Occurrence``, in its order, and exists once.  Ten thousand rows
are read for every drain, so a row becomes a value by way of a mutable draft of the same layout, which is nine times
cheaper than the frozen constructor; outside this module nobody ever sees a draft.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from typing import Any, TypeAlias, cast

from noonmark.core.model import Micros, NewOccurrence, Occurrence, State
from noonmark.core.stored import ORIGINS, STATES

Row: TypeAlias = tuple[Any, ...]

FIELDS: tuple[str, ...] = tuple(field.name for field in fields(Occurrence))
COLUMNS = ", ".join(FIELDS)
AT = {name: index for index, name in enumerate(FIELDS)}
"""Position of a column in a row read with ``COLUMNS``."""


_BOOLEANS = frozenset({"claimed", "frontier", "gated", "looking", "cancel_requested"})


class _Draft:
    """An occurrence under construction: the same slots, in the same order, but assignable."""

    __slots__ = FIELDS


def _compile_maker() -> Callable[..., Occurrence]:
    """Write out the assignments once; a loop over 44 fields would cost as much as all the SQL of a row."""
    lines = [f"def make({', '.join(FIELDS)}):", "    draft = Draft()"]
    for name in FIELDS:
        if name == "state":
            lines.append("    draft.state = STATES[state]")
        elif name == "origin":
            lines.append("    draft.origin = ORIGINS[origin]")
        elif name in _BOOLEANS:
            lines.append(f"    draft.{name} = {name} == 1")
        else:
            lines.append(f"    draft.{name} = {name}")
    lines += ["    draft.__class__ = Occurrence", "    return draft"]
    scope: dict[str, Any] = {"Draft": _Draft, "STATES": STATES, "ORIGINS": ORIGINS, "Occurrence": Occurrence}
    exec("\n".join(lines), scope)
    return cast("Callable[..., Occurrence]", scope["make"])


make: Callable[..., Occurrence] = _compile_maker()
"""Build an occurrence from the values of its columns, in order (as read from the file)."""

_INSERTED = (
    "job", "subject", "identity", "key", "generation", "claimed", "state", "due_at", "scheduled_for", "nominal",
    "business_date", "not_before", "not_after", "expires_at", "origin", "frontier", "gated", "params", "revision",
    "worker", "verdict", "code", "detail", "created_at", "ended_at", "duplicate_of", "range_until", "range_count",
    "actor", "note", "queue", "priority",
)  # fmt: skip

INSERT = (
    f"INSERT INTO occurrence ({', '.join(_INSERTED)}) VALUES ({', '.join('?' * len(_INSERTED))})"
    " ON CONFLICT (job, subject, identity) DO NOTHING RETURNING id"
)


def due_moment(new: NewOccurrence) -> Micros:
    """Return when a new row first needs attention."""
    return new.scheduled_for if new.due_at is None else new.due_at


def inserted(
    new: NewOccurrence,
    now: Micros,
    *,
    generation: int = 0,
    claimed: bool = False,
    detail: str = "{}",
    duplicate_of: int | None = None,
) -> Row:
    """Return the bindings of ``INSERT`` for a new row."""
    is_open = new.state is State.PENDING
    return (
        new.job, new.subject, new.identity, new.key, generation, int(claimed), new.state.value,
        due_moment(new) if is_open else None, new.scheduled_for, new.nominal, new.business_date, new.not_before,
        new.not_after, new.expires_at, new.origin.value, int(new.frontier), int(new.gated), new.params,
        new.revision, new.worker, new.verdict, new.code, detail, now, None if is_open else now, duplicate_of,
        new.range_until, new.range_count, new.actor, new.note, new.queue, new.priority,
    )  # fmt: skip
