"""What a person calls the faults of a simulation, and the columns in which he reads what came of it.

Rule of the file: only names, so that the command line knows them without the simulator.
"""

from __future__ import annotations

KINDS: dict[str, tuple[str, ...]] = {
    "crash": ("crash", "crash all"),
    "pause": ("pause",),
    "restart": ("stop",),
    "outage": ("outage", "cut"),
    "replies": ("flaky", "twice"),
    "clock": ("step", "drift", "leap"),
    "slow": ("slow",),
}
"""What a person calls a fault -> the kinds of the plan."""
RAN = ("on_time", "caught_up", "taken_over", "marked_done")
"""Outcomes of moments that were done: on time, or late."""
COLUMNS: dict[str, tuple[str, ...]] = {
    "skipped": ("skipped", "refused_duplicate"),
    "missed": ("missed",),
    "failed": ("failed",),
    "cancelled": ("cancelled", "handled"),
    "open": ("due", "waiting", "retrying", "running", "planned"),
}
"""The other columns -> the outcomes (``explain.outcomes``) that are counted there; each outcome stands in one of them."""
