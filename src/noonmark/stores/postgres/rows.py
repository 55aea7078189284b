"""Occurrences as rows of the table, and back.

Rule of the file: the column list is the field list of ``Occurrence``, in its order, and exists once.  A verb works on
mutable drafts of the same layout; what leaves this store is an ``Occurrence``, made of a draft without a copy.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields
from typing import Any, cast

from noonmark.core.model import Micros, NewOccurrence, Occurrence, State
from noonmark.core.stored import ORIGINS, STATES
from noonmark.stores.postgres.arrays import ESCAPE, numbers, switches, texts, unescaped
from noonmark.stores.postgres.exchange import Row

FIELDS: tuple[str, ...] = tuple(field.name for field in fields(Occurrence))
COLUMNS = ", ".join(FIELDS)
OWN_COLUMNS = "slot, waits, run_fence, run_worker, answered"
AT = {name: index for index, name in enumerate(FIELDS)}
"""Position of a column in a row read with ``COLUMNS``."""

_TEXT = ("job", "subject", "identity", "key", "nominal", "business_date", "params", "worker", "holder", "code", "detail",
         "actor", "note", "queue")  # fmt: skip
_TEXT_OR_NONE = ("result", "error")


class Draft:
    """An occurrence that a verb is changing: the same fields, assignable."""

    __slots__ = FIELDS

    def __getattr__(self, name: str) -> Any:  # tells the type checker; every slot is assigned by ``draft``
        raise AttributeError(name)


def _compile_drafter(*, restores: bool) -> Callable[..., Any]:
    """Write out the assignments once; a loop over 44 fields would cost as much as all the SQL of a row."""
    lines = [f"def draft({', '.join(FIELDS)}):", "    made = Draft()"]
    for name in FIELDS:
        if name == "state":
            lines.append("    made.state = STATES[state]")
        elif name == "origin":
            lines.append("    made.origin = ORIGINS[origin]")
        else:
            lines.append(f"    made.{name} = {name}")
    if restores:
        escapes = [f"ESCAPE in {name}" for name in _TEXT]
        escapes += [f"({name} is not None and ESCAPE in {name})" for name in _TEXT_OR_NONE]
        lines.append(f"    if {' or '.join(escapes)}: restore(made)")
    lines.append("    return made")
    scope: dict[str, Any] = {
        "Draft": Draft, "STATES": STATES, "ORIGINS": ORIGINS, "ESCAPE": ESCAPE, "restore": _restore
    }  # fmt: skip
    exec("\n".join(lines), scope)
    return cast("Callable[..., Any]", scope["draft"])


def _restore(made: Any) -> None:
    for name in (*_TEXT, *_TEXT_OR_NONE):
        value = getattr(made, name)
        if value is not None:
            setattr(made, name, unescaped(value))


draft: Callable[..., Any] = _compile_drafter(restores=True)
"""Build a draft from the values of its columns as the server gave them, in order."""

fresh: Callable[..., Any] = _compile_drafter(restores=False)
"""Build a draft from values that never were on the server: nothing in them is an escape."""


def finished(made: Any) -> Occurrence:
    """Turn a draft that nobody will change any more into the occurrence."""
    made.__class__ = Occurrence
    return cast("Occurrence", made)


def make(row: Sequence[Any]) -> Occurrence:
    """Build an occurrence from a row read with ``COLUMNS``."""
    return finished(draft(*row))


@dataclass(slots=True)
class Line:
    """A row on the desk, with what only this store keeps about it."""

    row: Any  # a Draft
    slot: str = ""
    waits: bool = False
    run_fence: int = 0
    run_worker: str = ""
    answered: int = 0
    before: State | None = None  # its state in the table; None: it is not there yet
    due_before: Micros | None = None
    is_changed: bool = False
    is_stamped: bool = False


def line_from_columns(row: Row) -> Line:
    """Return the line of a row read with ``COLUMNS`` and ``OWN_COLUMNS``."""
    *columns, slot, waits, run_fence, run_worker, answered = row
    made = draft(*columns)
    return Line(made, unescaped(slot), waits, run_fence, unescaped(run_worker), answered, made.state, made.due_at)


def due_moment(new: NewOccurrence) -> Micros:
    """Return when a new row first needs attention."""
    return new.scheduled_for if new.due_at is None else new.due_at


def new_line(
    occurrence_id: int,
    new: NewOccurrence,
    now: Micros,
    *,
    generation: int = 0,
    claimed: bool = False,
    detail: str = "{}",
    duplicate_of: int | None = None,
) -> Line:
    """Return the line of a row that is to be inserted."""
    is_open = new.state is State.PENDING
    made = fresh(
        occurrence_id, new.job, new.subject, new.identity, new.key, generation, claimed, new.state.value,
        due_moment(new) if is_open else None, new.scheduled_for, new.nominal, new.business_date, new.not_before,
        new.not_after, new.expires_at, new.origin.value, new.frontier, new.gated, new.params, new.revision, new.worker,
        0, 0, 0, 0, "", False, False, new.verdict, new.code, detail, now, None, None, None if is_open else now,
        duplicate_of, new.range_until, new.range_count, None, None, new.actor, new.note, new.queue, new.priority,
    )  # fmt: skip
    return Line(made, is_changed=True)


# --- columns of many rows ---------------------------------------------------------------------------------------

_KINDS: dict[str, tuple[str, Callable[[Iterable[Any]], str]]] = {
    "bigint": ("bigint", numbers),
    "boolean": ("boolean", switches),
    "text": ("text", texts),
}
_NUMBERS = frozenset(
    {"id", "generation", "due_at", "scheduled_for", "not_before", "not_after", "expires_at", "revision", "attempt",
     "takeovers", "lost", "fence", "created_at", "started_at", "first_started_at", "ended_at", "duplicate_of",
     "range_until", "range_count", "priority", "run_fence", "answered"}
)  # fmt: skip
_BOOLEANS = frozenset({"claimed", "frontier", "gated", "looking", "cancel_requested", "waits"})
_OF_LINE = frozenset({"slot", "waits", "run_fence", "run_worker", "answered"})


def kind_of(column: str) -> str:
    """Return the type of a column as an array parameter has it."""
    return "bigint" if column in _NUMBERS else "boolean" if column in _BOOLEANS else "text"


def unnested(columns: Sequence[str]) -> str:
    """Return the ``unnest`` of one parameter per column."""
    return "unnest(" + ", ".join(f"${n}::{kind_of(name)}[]" for n, name in enumerate(columns, 1)) + ")"


def as_columns(lines: Sequence[Line], columns: Sequence[str]) -> list[str]:
    """Return the values of these columns, one array each."""
    arrays = []
    for name in columns:
        write = _KINDS[kind_of(name)][1]
        if name in _OF_LINE:
            arrays.append(write([getattr(line, name) for line in lines]))
        else:
            arrays.append(write([getattr(line.row, name) for line in lines]))
    return arrays


INSERTED = (*FIELDS[:21], "fence", "holder", "looking", "verdict", "code", "detail", "created_at", "ended_at",
            "duplicate_of", "range_until", "range_count", "actor", "note", "queue", "priority")  # fmt: skip
INSERT = (
    f"INSERT INTO ~occurrence ({', '.join(INSERTED)}) SELECT * FROM {unnested(INSERTED)}"
    f" AS n ({', '.join(INSERTED)}) ORDER BY job, subject, identity"
)
LIVED = (
    "generation", "claimed", "state", "due_at", "not_before", "not_after", "expires_at", "frontier", "gated", "revision",
    "attempt", "takeovers", "lost", "fence", "holder", "looking", "cancel_requested", "verdict", "code", "detail",
    "started_at", "first_started_at", "ended_at", "duplicate_of", "result", "error", "actor", "note", "slot", "waits",
    "run_fence", "run_worker", "answered",
)  # fmt: skip
"""What changes while a row is looked at, run and ended."""
STAMPED = ("key", "scheduled_for", "nominal", "business_date", "params", "queue", "priority")
"""What only another revision of the rule changes."""


def _update(columns: Sequence[str]) -> str:
    sets = ", ".join(f"{name} = n.{name}" for name in columns)
    names = ("id", *columns)
    source = f"{unnested(names)} AS n ({', '.join(names)})"
    return f"UPDATE ~occurrence AS o SET {sets} FROM {source} WHERE o.id = n.id AND o.id = ANY($1::bigint[])"


LIVE, STAMP = _update(LIVED), _update(STAMPED)
