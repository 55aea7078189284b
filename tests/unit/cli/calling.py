"""What a call of the command line in this process gives back."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What a call printed and how it ended."""

    code: int
    out: str
    err: str

    @property
    def plain(self) -> Any:
        """The JSON on stdout."""
        return json.loads(self.out)


Noonmark = Callable[..., Answer]
