"""Where things lie when nobody says otherwise."""

from __future__ import annotations

from pathlib import Path

DEFAULT_DATA = ".researchcopilot"
"""ResearchCopilot's own folder, below the current one."""


def default_url(data: str | Path) -> str:
    """Return noonmark's store when nobody names one: a SQLite file beside the application's own."""
    return f"sqlite:///{Path(data) / 'noonmark.db'}"
