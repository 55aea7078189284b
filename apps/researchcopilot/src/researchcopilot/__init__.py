"""ResearchCopilot: a research assistant over a folder of documents, with its background work on noonmark.

Rule of the package: of noonmark it imports only the public door (``import noonmark``), like any stranger.  The map of
its jobs is ``scheduler.py``.
"""

from __future__ import annotations

__version__ = "0.1.0"
