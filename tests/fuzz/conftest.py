"""How many examples were asked for, checked before anything is collected."""

from __future__ import annotations

import os
import re

import pytest


def pytest_configure() -> None:
    """Refuse a number of examples that is none, in one line."""
    asked = os.environ.get("NOONMARK_FUZZ", "0")
    if re.fullmatch(r"\d{1,9}", asked, re.ASCII) is None:
        raise pytest.UsageError(
            f"NOONMARK_FUZZ (EXAMPLES of make fuzz) is {asked!r}, not a whole number: say how many examples of each kind"
        )
