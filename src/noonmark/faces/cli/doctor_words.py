"""What the stores' own findings say in Chinese, by code.

Rule of the file: only text.  The English is the store's, where the code is found out (``ports/doctor.py``); the names in
braces are those of the finding's ``detail``.  A code that stands nowhere here is told in English.
"""

from __future__ import annotations

IN_CHINESE: dict[str, tuple[str, str]] = {}
"""Code -> what is and what it means, what to do ("" when there is nothing to do)."""


def told(code: str, sentence: str, remedy: str, detail: dict[str, object], lang: str) -> tuple[str, str]:
    """Return sentence and remedy of a finding in ``lang`` ("zh", else English as the store said it)."""
    known = IN_CHINESE.get(code) if lang == "zh" else None
    if known is None:
        return sentence, remedy
    try:
        return known[0].format(**detail), known[1].format(**detail)
    except (KeyError, IndexError):  # a store of another version, whose detail has other names
        return sentence, remedy
