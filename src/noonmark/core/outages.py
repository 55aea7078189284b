"""How the times when a store was away are kept: as one fact per worker, ``away:WORKER`` with ``[[start, end], …]``.

Rule of the file: pure, and forgiving: what is not of that shape is no time away.
"""

from __future__ import annotations

from typing import Any

from noonmark.core.model import Micros


def fact_name(worker: str) -> str:
    """Return the name of the fact under which a worker incarnation keeps its times away."""
    return f"away:{worker}"


def spans(value: Any) -> list[tuple[Micros, Micros]]:
    """Return the times away (start, end; store time) that a fact's value tells."""
    if not isinstance(value, list):
        return []
    pairs = [span for span in value if isinstance(span, list) and len(span) == 2]
    return [(start, end) for start, end in pairs if isinstance(start, int) and isinstance(end, int) and start < end]
