"""L5: what needs a person is told as long as it does, and nothing is told that is over.

Rule of the file: which kind of alert a row wants is worked out here once more; were it asked of ``core``, what is told of
the wrong kind would be right here.  At a failover rows and alerts step back together.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from noonmark.core.model import Alert, Occurrence, State, Verdict
from noonmark.sim.checkers.ground import Ground
from noonmark.sim.checkers.watch import Watch
from noonmark.sim.history import Call

if TYPE_CHECKING:
    from noonmark.sim.world import SimWorld

KINDS = ("failing", "missed", "poison")
URGENT = 3
TOLD = frozenset({State.FAILED_RETRYING, State.FAILED_MANUAL})
OVER = frozenset({State.SUCCESS, State.CANCELLED, State.SKIPPED})


class Alerts(Watch):
    """Compares the open alerts of a job with its rows, whenever one of them begins or ceases to be a trouble."""

    name = "alerts"

    def __init__(self, world: SimWorld, ground: Ground) -> None:
        super().__init__(world, ground)
        self._waiting: defaultdict[tuple[str, str], set[int]] = defaultdict(set)  # job, kind -> what needs a person

    def on_call(self, call: Call) -> None:
        """Judge the jobs that got into trouble or out of it."""
        del call
        jobs = set()
        for before, row in self.ground.changed:
            if row.state in TOLD or (before is not None and before.state in TOLD):
                self._sort(row)
                jobs.add(row.job)
        if jobs:
            there = self.world.cluster.tallies().open_alerts
            for job in jobs:
                self._judge(job, [alert for alert in there if alert.job == job and alert.kind in KINDS])

    def on_failover(self) -> None:
        """Sort what is there now."""
        self._waiting.clear()
        for row in self.ground.rows.values():
            self._sort(row)

    def at_end(self) -> None:
        """Judge every job that was ever in trouble."""
        there = self.world.cluster.tallies().open_alerts
        for job in {job for job, _ in self._waiting} | {alert.job for alert in there}:
            self._judge(job, [alert for alert in there if alert.job == job and alert.kind in KINDS])

    def _sort(self, row: Occurrence) -> None:
        for kind in KINDS:
            self._waiting[row.job, kind].discard(row.id)
        if row.state is State.FAILED_MANUAL:
            self._waiting[row.job, _kind_of(row)].add(row.id)

    def _judge(self, job: str, there: list[Alert]) -> None:
        for kind in KINDS:
            waiting = self._waiting[job, kind]
            alerts = [alert for alert in there if alert.kind == kind]
            urgent = [alert for alert in alerts if alert.level >= URGENT]
            self.prove("what needs a person and is told", len(waiting))
            if waiting and not urgent:
                self.blame("L5", f"r{max(waiting)} of {job} needs a person ({kind}), and there is no alert")
            if len(alerts) > 1:
                self.blame("L5", f"{job} has {len(alerts)} open alerts of one kind, {kind}")
            for alert in alerts:
                self._judge_alert(alert, waiting)

    def _judge_alert(self, alert: Alert, waiting: set[int]) -> None:
        self.prove("open alerts")
        row = self.ground.rows.get(alert.occurrence_id or 0)
        is_at_it = row is not None and row.state not in OVER and row.actor != ""  # a person has it tried again
        if alert.level >= URGENT and alert.occurrence_id not in waiting and not is_at_it:
            self.blame("L5", f"an urgent alert of {alert.job} ({alert.kind}) is about {_said(row)}, which needs nobody")
        if alert.level < URGENT and (row is None or row.state in OVER):
            self.blame("L5", f"an alert of {alert.job} ({alert.kind}) is open about {_said(row)}, which is over")


def _kind_of(row: Occurrence) -> str:
    if row.code == "poison":
        return "poison"
    return "failing" if row.verdict in ("", Verdict.SHOULD_RUN, Verdict.SKIP_LEASE) else "missed"


def _said(row: Occurrence | None) -> str:
    return "no row" if row is None else f"r{row.id}, {row.state} ({row.code})"
