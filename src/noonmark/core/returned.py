"""Rules that are in force again although another one had taken their place: older code may have been started.

Rule of the file: pure.  That a rule is older cannot be seen, only that it says what an earlier revision said.
"""

from __future__ import annotations

from collections.abc import Iterable

from noonmark.core.model import JobRow
from noonmark.core.values import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Replaced:
    """A revision and the one whose place it took; ``as_in``: an earlier revision that said the same, 0 = none did."""

    now: JobRow
    before: JobRow
    as_in: int = 0


def replaced(revisions: Iterable[JobRow]) -> dict[str, Replaced]:
    """Return by job what its newest revision replaced; ``revisions``: every one of every job, oldest first."""
    by_job: dict[str, list[JobRow]] = {}
    for row in revisions:
        by_job.setdefault(row.name, []).append(row)
    found = {}
    for name, rows in by_job.items():
        if len(rows) < 2:
            continue
        now, before = rows[-1], rows[-2]
        same = [row.revision for row in rows[:-2] if row.digest == now.digest and row.rule]
        found[name] = Replaced(now=now, before=before, as_in=same[-1] if same and now.rule else 0)
    return found
