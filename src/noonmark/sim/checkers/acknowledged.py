"""I12, S13: what somebody outside was told is so, is so; and nothing is there that nobody asked for.

Rule of the file: it starts from the answers that callers have in their hands.  A call that was carried out without its
caller ever hearing so is asked for, but not acknowledged.
What a failover lost is not asked about here; whoever was answered before or after it must find it.
"""

from __future__ import annotations

from noonmark.core.model import Acted, Added, Occurrence, Origin, State, Verdict
from noonmark.sim.checkers.watch import Watch
from noonmark.sim.deeds import Acknowledged as Word
from noonmark.sim.history import Call

_ENDED = frozenset({State.SUCCESS, State.FAILED_MANUAL, State.SKIPPED, State.CANCELLED})
_HOLDS = frozenset({State.PENDING, State.RUNNING, State.FAILED_RETRYING, State.FAILED_MANUAL, State.SUCCESS})
_ASKED = {Origin.LATER: "l:", Origin.MANUAL: "m:", Origin.EVENT: "e:", Origin.CANCEL: "x:"}


class Acknowledged(Watch):
    """Compares answers with rows."""

    name = "acknowledged"

    def on_call(self, call: Call) -> None:
        """Look whether a cancel is noted where it was promised, and that nothing begins that is to be cancelled."""
        for begun in self.ground.begun:
            if begun.before is not None:
                self.prove("starts of what nobody had cancelled")
                if begun.before.cancel_requested:
                    self.blame("S13", f"r{begun.row.id} of {begun.row.job} began, although it was to be cancelled")
        if call.verb != "act" or call.args[1].kind != "cancel" or self.ground.is_repeat:
            return
        for row_id in call.answer.ids if call.answer.outcome in ("requested", "done") else ():
            row = self.ground.rows[row_id]
            self.prove("cancels noted")
            if row.state not in _ENDED and not row.cancel_requested:
                self.blame("S13", f"r{row_id} was to be cancelled, it is {row.state}, and nothing says so")

    def at_end(self) -> None:
        """Look up everything that was acknowledged, and ask of every row who wanted it."""
        for word in self.world.outside.acknowledged:
            if not self.world.cluster.is_lost(word.number):
                self._judge(word)
        self._judge_origins()

    def _judge(self, word: Word) -> None:
        kind, answer = word.deed.kind, word.answer
        if answer is None:
            return
        self.prove(f"answers to {kind}")
        if kind in ("later", "run", "emit"):
            for added in answer:
                self._judge_added(word, added)
        elif kind == "cancel":
            self._judge_cancel(word, answer)
        elif kind == "flag":
            job = self.world.jobs[word.deed.what][0]
            name = f"flag:{word.deed.what}.ready:{self.world.day(job, word.deed.number)}"
            if not self.world.cluster.facts([name])[name].is_set:
                self.blame("I12", f"{name} was set, and is not there")
        elif kind == "mark" and answer.outcome == "done":
            marked = self.ground.rows.get(word.deed.number)
            if marked is None or marked.state is not answer.state:
                said = "not there" if marked is None else marked.state
                self.blame("S13", f"r{word.deed.number} was marked and became {answer.state}, and is {said}")
        elif kind == "retry" and answer.outcome == "done":
            row = self.ground.rows.get(word.deed.number)
            if row is None or (row.state is State.FAILED_MANUAL and (row.ended_at or 0) < word.at - 1):
                self._judge_retry(word, row)

    def _judge_added(self, word: Word, added: Added) -> None:
        row = self.ground.rows.get(added.id)
        name = f"{word.deed.kind} of {word.deed.what} ({word.request_id})"
        if row is None:
            self.blame("I12", f"{name}: r{added.id} was promised, and is not there")
            return
        if row.job != word.deed.what:
            self.blame("I12", f"{name}: r{added.id} is a row of {row.job}")
        if added.outcome == "duplicate_key":
            holder = self.ground.rows.get(added.duplicate_of or 0)
            if row.state is not State.SKIPPED or holder is None or holder.key != row.key or holder.id == row.id:
                self.blame("S13", f"{name}: r{row.id} was called a duplicate of r{added.duplicate_of}, which it is not")
        elif row.state is State.SKIPPED and not self._may_be_skipped(row):
            self.blame("I12", f"{name}: r{row.id} was promised, and skipped ({row.verdict}, {row.code})")
        if (
            self.ground.had_quiet
            and row.state not in _ENDED
            and not row.code
            and (row.due_at or 0) < self.world.store.now()
        ):
            self.blame("I12", f"{name}: r{row.id} was promised, and nothing came of it")

    def _may_be_skipped(self, row: Occurrence) -> bool:
        """A call's row may still end as a duplicate of one before it, meet one in progress, or be left out by a person."""
        if row.verdict == Verdict.SKIP_OVERLAP:
            return any(rule.job.one_at_a_time for rule in self.ground.rules.rules[row.job])
        if row.code == "marked_skip":
            return any(deed.kind == "mark" and deed.number == row.id for deed, _ in self.world.outside.asked)
        holder = self.ground.rows.get(row.duplicate_of or 0)
        return holder is not None and holder.key == row.key

    def _judge_cancel(self, word: Word, acted: Acted) -> None:
        for row_id in acted.ids:
            row = self.ground.rows.get(row_id)
            if row is None:
                self.blame("I12", f"r{row_id} was cancelled, and is not there")
            elif acted.outcome == "done" and row.state is not State.CANCELLED:
                self.blame("S13", f"r{row_id} was cancelled by {word.request_id}, and is {row.state}")
            elif acted.outcome == "requested" and row.state not in (State.CANCELLED, State.SUCCESS):
                if row.state is State.PENDING and row.frontier:
                    continue  # a series' next moment: it is cancelled when it comes
                self.blame("S13", f"r{row_id} was to be cancelled by {word.request_id}, and is {row.state}")

    def _judge_retry(self, word: Word, row: Occurrence | None) -> None:
        what = "is gone" if row is None else f"is {row.state} since {row.ended_at}"
        self.blame("I12", f"r{word.deed.number} was taken up again at {word.at}, and {what}")

    def _judge_origins(self) -> None:
        requests = {request for _, request in self.world.outside.asked}
        events = {f"run-{deed.number}" for deed, _ in self.world.outside.asked if deed.kind == "emit"}
        seen: set[tuple[str, str, str]] = set()
        for row in self.ground.rows.values():
            identity = (row.job, row.subject, row.identity)
            if identity in seen:
                self.blame("I8", f"r{row.id}: there are two rows for {identity}")
            seen.add(identity)
            prefix = _ASKED.get(row.origin)
            if prefix is None:
                continue
            self.prove("rows that somebody asked for")
            wanted = events if row.origin is Origin.EVENT else requests
            if row.identity.removeprefix(prefix) not in wanted:
                self.blame("I8", f"r{row.id} of {row.job}: nobody asked for {row.identity}")
        self._judge_cancelled_keys()
        done: dict[str, int] = {}
        for row in self.ground.rows.values():
            if row.origin in _ASKED and row.key and row.state in _HOLDS and not row.generation:
                other = done.setdefault(row.key, row.id)
                if other != row.id:
                    self.blame("S1", f"r{row.id} and r{other} both stand for {row.key}")

    def _judge_cancelled_keys(self) -> None:
        """What was cancelled before it was asked for is refused, unless a person insists."""
        held = {row.key: row for row in self.ground.rows.values() if row.origin is Origin.CANCEL}
        for row in self.ground.rows.values():
            cancel = held.get(row.key)
            if cancel is None or row.origin not in (Origin.LATER, Origin.EVENT) or row.id < cancel.id:
                continue
            self.prove("what was cancelled before it was asked for")
            if row.state is not State.SKIPPED:
                self.blame("S13", f"r{row.id} is {row.state}, although r{cancel.id} had cancelled {row.key} before")
