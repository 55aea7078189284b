"""Which rule of a job was in force when, and when a job was paused.

Rule of the file: read from the answers of ``activate`` and ``act`` alone; which moments a rule yields stands in the
almanac.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from noonmark.core.codec import job_from_text
from noonmark.core.model import FAR, Job, JobRow, Micros


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One revision: whatever is scheduled after ``effective_at`` is its; ``put_at`` is when the store was told."""

    revision: int
    effective_at: Micros
    put_at: Micros
    job: Job


@dataclass(frozen=True, slots=True, kw_only=True)
class Pause:
    """A pause of a job: ``since <= t < until``."""

    since: Micros
    until: Micros = FAR


class Rulebook:
    """Every rule of one world, and its pauses."""

    def __init__(self) -> None:
        self.rules: dict[str, list[Rule]] = {}
        self.pauses: dict[str, list[Pause]] = {}

    def read(self, row: JobRow, at: Micros) -> None:
        """Read a job row as ``activate`` answered it."""
        known = self.rules.setdefault(row.name, [])
        if row.rule and (not known or row.revision > known[-1].revision):
            job = job_from_text(row.rule)
            known.append(Rule(revision=row.revision, effective_at=row.effective_at, put_at=at, job=job))

    def pause(self, job: str, at: Micros, *, is_pause: bool) -> None:
        """Read that a job was paused, or goes on."""
        known = self.pauses.setdefault(job, [])
        if is_pause:
            known.append(Pause(since=at))
        elif known:
            known[-1] = Pause(since=known[-1].since, until=at)

    def take_back(self, job: str, row: JobRow | None) -> None:
        """Forget what a failover lost: ``row`` is the job as the store has it now, None = not at all."""
        revision = 0 if row is None else row.revision
        self.rules[job] = [rule for rule in self.rules[job] if rule.revision <= revision]
        known = self.pauses.get(job, [])
        is_paused = row is not None and row.paused
        if known and is_paused and known[-1].until != FAR:  # it was resumed, and the store has forgotten it
            known[-1] = Pause(since=known[-1].since)
        elif known and not is_paused and known[-1].until == FAR:
            known.pop()

    def now(self, job: str) -> Rule | None:
        """Return the rule in force."""
        known = self.rules.get(job)
        return known[-1] if known else None

    def of(self, job: str, revision: int) -> Rule | None:
        """Return the rule of a revision."""
        return next((rule for rule in self.rules.get(job, ()) if rule.revision == revision), None)

    def reigns(self, job: str) -> Iterator[tuple[Rule, Micros, Micros]]:
        """Yield each rule with ``(after, until]``, the moments that are its, and with how far it was still believed.

        The third value is when the store was told of the next one: a moment between may have been acted on already.
        """
        known = self.rules.get(job, [])
        for index, rule in enumerate(known):
            following = known[index + 1] if index + 1 < len(known) else None
            yield (
                rule,
                FAR if following is None else following.effective_at,
                FAR if following is None else following.put_at,
            )

    def that_yields(self, job: str, moment: Micros) -> list[Rule]:
        """Return the rules that a scheduled moment may be of: one, or two where it fell into a change."""
        return [rule for rule, _, believed in self.reigns(job) if rule.effective_at < moment <= believed]

    def paused_at(self, job: str, moment: Micros) -> bool:
        """Return True when the job was paused at that moment."""
        return any(pause.since <= moment < pause.until for pause in self.pauses.get(job, ()))
