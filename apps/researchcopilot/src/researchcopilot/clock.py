"""The one place in ResearchCopilot that reads the machine's clock; everything else is handed a moment."""

from __future__ import annotations

import time
from datetime import UTC, datetime


def now() -> datetime:
    """Return the present moment, aware, in UTC."""
    return datetime.fromtimestamp(time.time_ns() / 1e9, tz=UTC)
