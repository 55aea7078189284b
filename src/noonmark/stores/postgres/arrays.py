"""Whole columns as PostgreSQL array literals: a batch of any size is one parameter per column.

Rule of the file: every parameter leaves as text and its type is named in the statement (``$1::bigint[]``), so that one
statement is prepared once, whatever the values are.  PostgreSQL knows no NUL character in text; it travels as two
characters of the private use area and comes back as it was, so no store differs in what a text may hold.
"""

from __future__ import annotations

from collections.abc import Iterable

ESCAPE = "\ue000"
_ZERO, _ITSELF = ESCAPE + "0", ESCAPE + "1"


def escaped(text: str) -> str:
    """Return the text without NUL characters."""
    if "\0" in text or ESCAPE in text:
        return text.replace(ESCAPE, _ITSELF).replace("\0", _ZERO)
    return text


def unescaped(text: str) -> str:
    """Return the text as it was before ``escaped``."""
    if ESCAPE in text:
        return text.replace(_ZERO, "\0").replace(_ITSELF, ESCAPE)
    return text


def numbers(values: Iterable[int | None]) -> str:
    """Return an array of integers; None is NULL."""
    return "{" + ",".join(["NULL" if value is None else str(value) for value in values]) + "}"


def switches(values: Iterable[bool]) -> str:
    """Return an array of booleans."""
    return "{" + ",".join(["t" if value else "f" for value in values]) + "}"


def texts(values: Iterable[str | None]) -> str:
    """Return an array of texts; None is NULL."""
    quoted = []
    for value in values:
        if value is None:
            quoted.append("NULL")
        elif "\\" in value or '"' in value:
            quoted.append('"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"')
        else:
            quoted.append(f'"{value}"')
    return "{" + ",".join(quoted) + "}"  # the link escapes what leaves, arrays like any other parameter
