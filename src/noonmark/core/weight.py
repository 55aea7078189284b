"""How many bytes a name takes where it is kept: the same on every store, so that what one accepts fits into all of them.

Rule of the file: the heaviest store counts.  PostgreSQL knows no NUL character and no sign to escape it with, so both take
four bytes there (``stores/postgres/arrays.py``).
"""

from __future__ import annotations

_WRITTEN_OUT = (("\0", 3), ("\ue000", 1))
"""Signs that are kept as more bytes than they have in UTF-8, and how many more."""


def weight(text: str) -> int:
    """Return the bytes of a name, at most four for each character."""
    return len(text.encode("utf-8", "surrogatepass")) + sum(text.count(sign) * more for sign, more in _WRITTEN_OUT)
