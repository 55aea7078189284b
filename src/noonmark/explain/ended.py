"""Jobs that were ended: by whom, when and why, and what that did to the moments that were still to come.

Rule of the file: reads only, and only for a job that has no rule any more; who and why stand in the ledger of acts.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from noonmark.core.model import JobRow, Micros, Occurrence, Tallies
from noonmark.core.stored import object_of
from noonmark.core.told import Told
from noonmark.core.values import dataclass
from noonmark.explain.voice import Voice
from noonmark.ports.store import Store

BY_REVISION = "revision_superseded"
"""The reason of a row that a revision ended before it was due; the end of a job is a revision, too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JobEnd:
    """The end of a job's rule: ``at`` in UTC microseconds; ``actor`` and ``reason`` are "" where no ledger has them."""

    job: str
    revision: int
    at: Micros
    actor: str = ""
    reason: str = ""

    def sentence(self, voice: Voice) -> Told:
        """Say when the job was ended, by whom and why."""
        return voice.say("job_was_ended", job=self.job, **self.told(voice))

    def told(self, voice: Voice) -> dict[str, str]:
        """Return when, who and why as template arguments."""
        return {
            "at": voice.moment(self.at),
            "actor": self.actor or voice.say("nobody"),
            "reason": voice.whole(self.reason) if self.reason.strip() else voice.say("no_reason"),
        }


Ends = Mapping[tuple[str, int], JobEnd]
"""Every end of every job, by job and revision."""


def ends_of(tallies: Tallies) -> dict[tuple[str, int], JobEnd]:
    """Return every end of a job on record; ``tallies`` must have been read with its revisions."""
    said = {(line.job, line.revision): line for line in tallies.acts if line.event == "end_job"}
    found: dict[tuple[str, int], JobEnd] = {}
    for row in tallies.revisions:
        if row.rule:
            continue
        line = said.get((row.name, row.revision))
        reason = object_of(line.detail).get("reason") if line is not None else ""
        found[row.name, row.revision] = JobEnd(
            job=row.name,
            revision=row.revision,
            at=line.at if line is not None else row.effective_at,
            actor=line.actor if line is not None else "",
            reason=reason if isinstance(reason, str) else "",
        )
    return found


def end_of(store: Store, row: JobRow | None) -> JobEnd | None:
    """Return the end of a job that has no rule in force, None for any other."""
    if row is None or row.rule:
        return None
    found = ends_of(store.tallies(revisions=True)).get((row.name, row.revision))
    return found or JobEnd(job=row.name, revision=row.revision, at=row.effective_at)


def ended_by(ends: Ends, row: Occurrence) -> JobEnd | None:
    """Return the end of the job that ended a row before it was due, None where a new rule or anything else did."""
    if row.code != BY_REVISION:
        return None
    revision = object_of(row.detail).get("revision")
    return ends.get((row.job, revision)) if isinstance(revision, int) else None


def plain(end: JobEnd | None, at: str | None) -> dict[str, Any] | None:
    """Return an end for JSON; ``at`` is its moment as the reader's zone writes it."""
    return None if end is None else {"at": at, "by": end.actor, "reason": end.reason, "revision": end.revision}
