"""Numbers on the command line.

Rule of the file: a number that no arithmetic survives (nan, inf) is refused as any that is out of range.
"""

from __future__ import annotations

import math
from typing import Any

import click


class Within(click.FloatRange):
    """A finite number in a range, its ends included."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Read it."""
        if math.isnan(click.FLOAT.convert(value, param, ctx)):  # it compares with no bound, so the range lets it in
            self.fail(f"{value} is not in the range {self._describe_range()}.", param, ctx)
        return super().convert(value, param, ctx)
