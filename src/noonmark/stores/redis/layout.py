"""The order of fields in packed lists: what a script reads at a position is what Python writes there.

Rule of the file: one list per kind of value, and it exists once.  Scripts write ``head[STATE]``; the numbers are filled
in when a script is loaded, so a field is added here and nowhere else.
"""

from __future__ import annotations

HEAD = (
    "job", "subject", "key", "origin", "worker", "scheduled", "state", "due", "fence", "holder", "looking", "claimed",
    "generation", "frontier", "gated", "revision", "not_before", "not_after", "expires", "attempt", "takeovers", "lost",
    "cancel", "verdict", "code", "detail", "started", "first", "ended", "duplicate_of", "actor", "note", "created", "slot",
    "run_fence", "run_worker", "answered", "answered_as", "answers", "waits", "out",
)  # fmt: skip
"""An occurrence's head: what verbs compare and change."""

SHOWN = HEAD[: HEAD.index("slot")]
"""The part of it that an ``Occurrence`` shows; what follows only scripts need."""

BODY = ("identity", "nominal", "business_date", "params", "queue", "priority", "range_until", "range_count")
"""Its body: JSON that scripts do not look into on their way (positions 1, 3 and 7 are read by a few)."""

NEW = (
    "job", "subject", "key", "origin", "worker", "scheduled", "state", "due", "frontier", "gated", "revision",
    "not_before", "not_after", "expires", "verdict", "code", "actor", "note", "claim", "again", "identity",
    "range_until", "body",
)  # fmt: skip
"""A row on its way into the store; ``body`` is the index of its text among the script's arguments."""

SETTLEMENT = (
    "id", "fence", "event", "due", "lease", "gates", "verdict", "code", "detail", "checks", "ledger", "adds", "facts",
    "alerts", "result", "error",
)  # fmt: skip
GATES = ("revision", "pause", "facts", "slot", "ignore_window")
CHANGE = ("name", "digest", "expected", "effective", "event", "rule", "frontiers", "passed", "adds")
JOB = (
    "revision", "effective", "paused", "pause_version", "paused_at", "resumed_at", "reason", "event", "digest", "seq",
)  # fmt: skip
LINE = (
    "seq", "job", "at", "last_at", "count", "event", "verdict", "code", "detail", "checks", "worker", "fence", "revision",
    "actor",
)  # fmt: skip

_PREFIXES = {"": HEAD, "N_": NEW, "S_": SETTLEMENT, "G_": GATES, "C_": CHANGE, "J_": JOB, "L_": LINE}


def positions() -> dict[str, int]:
    """Return every name that scripts use for a position, and the position, counted from one."""
    return {
        f"{prefix}{name.upper()}": index
        for prefix, names in _PREFIXES.items()
        for index, name in enumerate(names, start=1)
    }
