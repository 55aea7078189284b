"""X1, X2, X3: every row can be explained, what is said agrees with what is so, and every second start has a cause.

Rule of the file: ``why`` is asked as a person would, the answer compared with a reading of the row of its own.
A failover may take the cause of a start back; whatever began since must have one.
"""

from __future__ import annotations

import re
from collections import defaultdict
from itertools import pairwise
from typing import TYPE_CHECKING

from noonmark.core.model import Attempt, Occurrence, State, Verdict
from noonmark.explain.why import why
from noonmark.sim.checkers.ground import Ground
from noonmark.sim.checkers.watch import Watch
from noonmark.sim.history import Effect

if TYPE_CHECKING:
    from noonmark.sim.world import SimWorld

CAUSES = frozenset({"failed", "lost", "handed_back", "cancelled"})
"""How an attempt may have ended that is followed by another."""
EVERY = 8
"""Of the plain successes every so manieth is asked for; of everything else each."""
_PLACE = re.compile(r"\{\w*\}")
_WORDS: dict[State, frozenset[str]] = {
    State.SUCCESS: frozenset({"on_time", "caught_up", "taken_over", "marked_done"}),
    State.FAILED_MANUAL: frozenset({"failed", "missed"}),
    State.SKIPPED: frozenset({"skipped", "refused_duplicate"}),
    State.CANCELLED: frozenset({"cancelled", "handled"}),
    State.RUNNING: frozenset({"running"}),
    State.FAILED_RETRYING: frozenset({"retrying"}),
    State.PENDING: frozenset({"planned", "due", "waiting"}),
}


class Explain(Watch):
    """Asks why."""

    name = "explain"

    def __init__(self, world: SimWorld, ground: Ground) -> None:
        super().__init__(world, ground)
        self._starts: defaultdict[int, list[Effect]] = defaultdict(list)

    def on_effect(self, effect: Effect) -> None:
        """Keep every start."""
        if effect.phase == "start":
            self._starts[effect.occurrence_id].append(effect)

    def at_end(self) -> None:
        """Ask about the rows, and look for the cause of every start."""
        for row in self.ground.rows.values():
            is_plain = row.state is State.SUCCESS and row.attempt == 1
            if not is_plain or row.id % EVERY == 0:
                self._ask(row)
            self._judge_starts(row, self._starts.get(row.id, []))
        self._judge_ledger()

    def _ask(self, row: Occurrence) -> None:
        self.prove("rows explained")
        try:
            told = why(self.world.cluster, occurrence_id=row.id, lang="zh" if row.id % 2 else "en")
        except Exception as error:
            self.blame("X1", f"why cannot explain r{row.id} of {row.job}: {type(error).__name__}: {error}")
            return
        job, _ = self.world.jobs[row.job]  # templates of its own may be quoted as they are
        if not told.sentence.strip() or set(_PLACE.findall(told.sentence)) - set(_PLACE.findall(repr(job))):
            self.blame("X1", f"why says nothing of r{row.id} of {row.job}: {told.sentence!r}")
        if told.outcome == "unknown" and not self.ground.had_quiet:
            return  # nobody was awake, and nobody came back
        if told.outcome not in _WORDS[row.state] or not _agrees(told.outcome, row):
            self.blame("X1", f"why calls r{row.id} of {row.job} {told.outcome}, it is {row.state} ({row.code})")
        if told.occurrence_id != row.id or told.state != row.state:
            self.blame("X1", f"why speaks of r{told.occurrence_id} ({told.state}), asked for r{row.id} ({row.state})")

    def _judge_starts(self, row: Occurrence, starts: list[Effect]) -> None:
        starts = [start for start in starts if self._is_since_failovers(start)]
        if len(starts) < 2:
            return
        story = self.world.cluster.story(row.id)
        attempts: dict[int, Attempt] = {} if story is None else {each.fence: each for each in story.attempts}
        for earlier, later in pairwise(starts):
            self.prove("second starts with a cause")
            known = attempts.get(earlier.fence)
            if later.fence not in attempts:
                self.blame(
                    "X2", f"r{row.id} of {row.job} started under fence {later.fence}, of which there is no record"
                )
            if known is None or (known.outcome not in CAUSES and earlier.fence < later.fence):
                outcome = "not on record" if known is None else known.outcome
                self.blame("X2", f"r{row.id} of {row.job} started again after an attempt that is {outcome}")

    def _is_since_failovers(self, start: Effect) -> bool:
        """Return True for a start of which no failover can have lost the record, or what came before."""
        failovers, begun = self.world.cluster.failovers, self.ground.began.get((start.occurrence_id, start.fence))
        return not failovers or (begun is not None and begun.number > failovers[-1].written)

    def _judge_ledger(self) -> None:
        """No two lines of the ledger have one number, whatever they are about."""
        found: list[int] = []
        for row_id in (0, *self.ground.rows):
            story = self.world.cluster.story(row_id) if row_id else None
            found += [line.seq for line in story.ledger] if story is not None else []
        if len(found) != len(set(found)):
            self.blame("X3", "two lines of the ledger have one number")
        self.prove("lines of the ledger", len(found))


def _agrees(word: str, row: Occurrence) -> bool:
    """Compare the finer words with what the row says."""
    if word == "missed":
        return row.verdict in (Verdict.SKIP_WINDOW, Verdict.SKIP_EXPIRED) or row.code in (
            "window_closed",
            "limit_passed",
        )
    if word == "refused_duplicate":
        return row.verdict == Verdict.SKIP_DUPLICATED
    if word == "taken_over":
        return row.takeovers > 0
    if word in ("on_time", "caught_up"):
        return row.takeovers == 0 and row.first_started_at is not None
    return True
