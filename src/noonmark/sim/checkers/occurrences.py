"""L1, I4, I8, I13, L6: the moments that should exist are there, each once, and what was missed follows the rule's policy.

Rule of the file: which moments those are is the almanac's word, over the rules that were in force; a moment that fell
into a change of rules may be of either.
After a failover moments that had ended may be done again; all of them must be there once, all the same.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from itertools import product

from noonmark.core.model import DAY, MINUTE, OPEN_STATES, SECOND, Event, Job, Micros, Occurrence, Origin, State, Verdict
from noonmark.sim import almanac
from noonmark.sim.checkers.events import Judged
from noonmark.sim.checkers.rulebook import Rule
from noonmark.sim.checkers.watch import Watch
from noonmark.sim.history import Call

FRESH: Micros = 5 * SECOND
"""What became due so shortly before the end is not looked for yet."""
AHEAD: Micros = 8 * DAY
_MISSED = {"superseded": "latest", "missed_skipped": "skip"}


class Occurrences(Watch):
    """Compares rows with the almanac."""

    name = "occurrences"

    # -- what was missed, as it is judged ---------------------------------------------------------------

    def on_call(self, call: Call) -> None:
        """Judge every first look at a frontier row."""
        del call
        for judged in self.ground.judged:
            before = judged.before
            if judged.answer.outcome != "applied" or judged.was_answered or before is None:
                continue
            if before.frontier and not before.cancel_requested and judged.item.event is not Event.CANCEL:
                rule = self.ground.rules.now(before.job)
                if rule is not None and any(new.frontier for new in judged.item.adds):
                    self._judge_look(judged, before, rule.job)
                    self._judge_successor(before)

    def _judge_look(self, judged: Judged, row: Occurrence, job: Job) -> None:
        """What was certain when the row was leased, and what had become certain when it was settled, must be kept."""
        policy, code = job.catch_up.missed, judged.item.code
        self.prove("first looks at frontiers")
        name = f"r{row.id} of {row.job} ({row.scheduled_for})"
        if code in _MISSED and policy != _MISSED[code]:
            self.blame("L6", f"{name} ended as {code}, but the rule says {policy}")
        if not job.guardrails.allow_weekend or policy == "all":
            return
        newer_then = bool(almanac.moments(job, row.scheduled_for, judged.taken_at))
        newer_now = bool(almanac.moments(job, row.scheduled_for, judged.at))
        late_then, late_now = judged.taken_at - row.scheduled_for, judged.at - row.scheduled_for
        if policy == "skip":
            limit = almanac.limit(job)
            grace = MINUTE if limit is None else min(limit, MINUTE)
            newer_then, newer_now = newer_then or late_then > grace, newer_now or late_now > grace
        wanted = "superseded" if policy == "latest" else "missed_skipped"
        if newer_then:
            self.prove(f"missed moments, {policy}")
            if code != wanted:
                self.blame("L6", f"{name} was missed, and is not {wanted} but {code}")
        elif not newer_now and code == wanted:
            self.blame("L6", f"{name} ended as {code}, and was the latest")

    def _judge_successor(self, row: Occurrence) -> None:
        series = (row.job, row.subject)
        open_rows = (self.ground.rows[row_id] for row_id in self.ground.open)
        count = sum(other.frontier and (other.job, other.subject) == series for other in open_rows)
        if count != 1:
            self.blame("I13", f"after the look at r{row.id} {row.job} {row.subject} has {count} frontiers")

    # -- what is there in the end -------------------------------------------------------------------------

    def at_end(self) -> None:
        """Compare every series with what it should have yielded."""
        by_series: dict[tuple[str, str], list[Occurrence]] = defaultdict(list)
        for row in self.ground.rows.values():
            if row.origin is Origin.SCHEDULE:
                by_series[(row.job, row.subject)].append(row)
        for name, known in self.ground.rules.rules.items():
            job = known[-1].job
            if known[0].effective_at < self.world.plan.start:
                self.blame("I8", f"{name} is in force since {known[0].effective_at}, before anybody declared it")
            if not job.is_series:
                continue
            if job.scope == "each_worker":
                subjects = [subject for at, subject in by_series if at == name]
            else:
                subjects = [
                    ",".join(f"{field}={value}" for field, value in zip(job.each, values, strict=True))
                    for values in product(*job.each.values())
                ]
            self._judge_keys(name, [row for series, rows in by_series.items() if series[0] == name for row in rows])
            for subject in subjects:
                self._judge_series(name, subject, by_series.get((name, subject), []))
        for (name, subject), rows in by_series.items():
            if name not in self.ground.rules.rules:
                self.blame("I8", f"{len(rows)} rows of {name} {subject}, which nobody declared")

    def _judge_series(self, name: str, subject: str, rows: Sequence[Occurrence]) -> None:
        now = self.world.store.now()
        is_own = self.ground.rules.rules[name][-1].job.scope == "each_worker"
        first = min((row.scheduled_for for row in rows), default=now)
        last = max((row.range_until or row.scheduled_for for row in rows), default=first)
        if not self.ground.had_quiet:  # whoever was to look at the last moments may be away
            now = (
                min([row.scheduled_for for row in rows if row.frontier and row.state in OPEN_STATES], default=now)
                - FRESH
            )
        expected: dict[Micros, Rule] = {}
        allowed: set[Micros] = set()  # of a rule that was still believed in
        for rule, until, believed in self.ground.rules.reigns(name):
            after = max(rule.effective_at, first - 1) if is_own else rule.effective_at
            end = min(until, last if is_own and self._is_gone(subject) else now - FRESH)
            expected.update((moment, rule) for moment in almanac.moments(rule.job, after, end))
            allowed.update(almanac.moments(rule.job, until, min(believed, now)))
        single: dict[Micros, list[Occurrence]] = defaultdict(list)
        ranges: list[Occurrence] = []
        for row in rows:
            if row.range_until is None:
                single[row.scheduled_for].append(row)
            else:
                ranges.append(row)
        for moment in expected:
            self._judge_moment(name, subject, moment, single.get(moment, []), ranges)
        for record in ranges:
            self._judge_range(record, expected)
        for moment, found in single.items():
            if moment <= now - FRESH and moment not in expected and moment not in allowed:
                self._judge_extra(found)
        self._judge_frontier(name, subject, rows)

    def _judge_keys(self, name: str, rows: Sequence[Occurrence]) -> None:
        """Two moments, or two subjects, are two outcomes, unless the key is about the date alone."""
        if any("{business_date}" in rule.job.key for rule in self.ground.rules.rules[name]):
            return
        seen: dict[str, Occurrence] = {}
        for row in rows:
            other = seen.setdefault(row.key, row) if row.key else row
            if (other.subject, other.scheduled_for) != (row.subject, row.scheduled_for):
                self.blame("S1", f"r{row.id} and r{other.id} of {name} share the key {row.key}")

    def _judge_moment(
        self, name: str, subject: str, moment: Micros, found: list[Occurrence], ranges: list[Occurrence]
    ) -> None:
        self.prove("moments")
        what = f"{name} {subject}".strip() + f" at {moment}"
        covering = [row for row in ranges if row.scheduled_for <= moment <= (row.range_until or 0)]
        if not found and not covering:
            self.blame("L1", f"{what} is not there")
        if len(found) + len(covering) > 1:
            self.blame("I8", f"{what} is there {len(found) + len(covering)} times")
        for row in found:
            if row.code == "revision_superseded" and row.state is State.SKIPPED:
                self.blame("L1", f"{what} (r{row.id}) was ended by a revision, although the rule yields it")
            elif (
                row.state in OPEN_STATES
                and self.ground.had_quiet
                and (row.due_at is None or row.due_at < self.world.store.now() - FRESH or not row.code)
            ):
                self.blame("I4", f"{what} (r{row.id}) is {row.state} ({row.code}), due at {row.due_at}")
            elif row.state not in OPEN_STATES and not row.verdict and not row.code:
                self.blame("L1", f"{what} (r{row.id}) ended {row.state} without a reason")

    def _judge_range(self, record: Occurrence, expected: dict[Micros, Rule]) -> None:
        self.prove("range records")
        policy = {rule.job.catch_up.missed for rule in self.ground.rules.rules[record.job]}
        until = record.range_until or 0
        inside = [moment for moment in expected if record.scheduled_for <= moment <= until]
        if record.state is not State.SKIPPED or record.claimed or record.key:
            self.blame("L6", f"range r{record.id} of {record.job} is {record.state} and claims {record.key}")
        if policy == {"all"}:
            self.blame("L6", f"range r{record.id} of {record.job}, of which every round must run")
        if record.range_count != len(inside):
            self.blame("L6", f"range r{record.id} of {record.job} counts {record.range_count}, it is {len(inside)}")

    def _judge_extra(self, found: Sequence[Occurrence]) -> None:
        for row in found:
            # A cancel that was noted before a rule took the moment away stays: the row is cancelled, not superseded.
            was_cancelled = row.state is State.CANCELLED and row.cancel_requested
            if not (was_cancelled or row.verdict == Verdict.SKIP_SUPERSEDED) or row.first_started_at is not None:
                what = f"{row.state} ({row.verdict}, {row.code})"
                self.blame("I8", f"r{row.id} of {row.job} at {row.scheduled_for}, which no rule yields, is {what}")

    def _judge_frontier(self, name: str, subject: str, rows: Sequence[Occurrence]) -> None:
        rule, now = self.ground.rules.now(name), self.world.store.now()
        assert rule is not None
        frontiers = [row for row in rows if row.frontier and row.state in OPEN_STATES]
        if rule.job.scope == "each_worker" and self._is_gone(subject):
            if frontiers:
                self.blame("I13", f"{name} of {subject}, who is gone, has an open frontier (r{frontiers[0].id})")
            return
        if len(frontiers) > 1:
            self.blame("I13", f"{name} {subject} has {len(frontiers)} frontiers")
        self.prove("frontiers")
        if not frontiers:
            if almanac.moments(rule.job, now, now + AHEAD):
                self.blame("I13", f"{name} {subject} has no frontier")
            return
        at = frontiers[0].scheduled_for
        if not almanac.is_moment(rule.job, at):
            self.blame("I13", f"the frontier of {name} {subject} is at {at}, which the rule does not yield")
        if almanac.moments(rule.job, max(now, rule.effective_at), at - 1):
            self.blame("I13", f"the frontier of {name} {subject} is at {at}, and skips a moment before")

    def _is_gone(self, worker: str) -> bool:
        """Return True for a worker that stopped or was not heard of in time."""
        return self.ground.workers.get(worker, 0) <= self.world.store.now()
