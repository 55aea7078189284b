"""The sentences of one kind of problem.

Rule of the file: they start small and end without a full stop, so that they can be joined into one line.
"""

from __future__ import annotations

from noonmark.core.values import dataclass


@dataclass(frozen=True, slots=True)
class Message:
    """What, why and what to do, in two languages; templates over the problem's detail, "" = goes without saying."""

    what_en: str
    why_en: str
    remedy_en: str
    what_zh: str
    why_zh: str
    remedy_zh: str
