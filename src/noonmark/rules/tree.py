"""Plain values that remember where they were written.

Rule of the file: a ``Map`` is a dict and a ``Seq`` a list, so that every reader may take them for what they are; marks
ride along and follow a value when it is moved to its canonical name.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from typing import Any

from noonmark.core.values import dataclass


@dataclass(frozen=True, slots=True)
class Mark:
    """Where a value stands: its own line and column, those of its name, and the path as it was spelled."""

    line: int
    column: int
    path: str
    name_line: int = 0
    name_column: int = 0


class Plain(str):
    """Text that was written without quotes."""

    __slots__ = ()


class Map(dict[str, Any]):
    """A mapping with marks per name."""

    __slots__ = ("mark", "marks")

    def __init__(self, mark: Mark) -> None:
        super().__init__()
        self.mark = mark
        self.marks: dict[str, Mark] = {}

    def put(self, name: str, value: Any, mark: Mark) -> None:
        """Add or replace a value together with its mark."""
        self[name] = value
        self.marks[name] = mark

    def drop(self, name: str) -> tuple[Any, Mark]:
        """Remove a value and return it with its mark."""
        return self.pop(name), self.marks.pop(name, self.mark)

    def mark_of(self, name: str) -> Mark:
        """Return the mark of a name, or the mapping's own where it is not there."""
        return self.marks.get(name, self.mark)


class Seq(list[Any]):
    """A list with marks per item."""

    __slots__ = ("mark", "marks")

    def __init__(self, mark: Mark) -> None:
        super().__init__()
        self.mark = mark
        self.marks: list[Mark] = []

    def put(self, value: Any, mark: Mark) -> None:
        """Append an item together with its mark."""
        self.append(value)
        self.marks.append(mark)


def find_mark(root: Map, path: Sequence[str | int]) -> Mark:
    """Return the mark of what ``path`` leads to.

    Where it was not written: the name of the deepest part that was, with the rest appended to its spelled path.
    """
    here: Any = root
    mark = root.mark
    for index, part in enumerate(path):
        if isinstance(here, Map) and isinstance(part, str) and part in here.marks:
            mark, here = here.marks[part], here.get(part)
        elif isinstance(here, Seq) and isinstance(part, int) and part < len(here.marks):
            mark, here = here.marks[part], here[part]
        else:
            rest = ".".join(str(missing) for missing in path[index:])
            line, column = (mark.name_line, mark.name_column) if mark.name_line else (mark.line, mark.column)
            return Mark(line, column, join(mark.path, rest), line, column)
    return mark


def join(path: str, name: str | int) -> str:
    """Return the path of something inside ``path``."""
    if isinstance(name, int):
        return f"{path}[{name}]"
    return f"{path}.{name}" if path else name


def nearest(word: str, known: Iterable[str]) -> str:
    """Return the known word that is most like ``word``, or an empty text."""
    close = difflib.get_close_matches(word[:100].lower(), {name.lower(): name for name in known}, n=1, cutoff=0.6)
    return next((name for name in known if name.lower() == close[0]), close[0]) if close else ""


def plain(value: Any) -> Any:
    """Return the value without marks, as JSON and pydantic know it."""
    if isinstance(value, dict):
        return {name: plain(item) for name, item in value.items()}
    if isinstance(value, list):
        return [plain(item) for item in value]
    return str(value) if isinstance(value, str) else value
