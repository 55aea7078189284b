"""Regular expressions that most processes never use, compiled by those that do.

Rule of the file: to whoever uses one it is a compiled pattern.
"""

from __future__ import annotations

import re
from typing import Any, cast


class _Later:
    def __init__(self, text: str, flags: int) -> None:
        self._made = text, flags

    def __getattr__(self, name: str) -> Any:
        compiled = re.compile(*self._made)
        for kept in ("search", "match", "fullmatch", "findall", "finditer", "sub"):
            setattr(self, kept, getattr(compiled, kept))
        return getattr(compiled, name)


def pattern(text: str, flags: int = 0) -> re.Pattern[str]:
    """Return a regular expression that is compiled when it is first used, which most commands never do."""
    return cast("re.Pattern[str]", _Later(text, flags))
