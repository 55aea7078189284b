"""S13, X2: what a failover loses is told, what may have run in it waits for a person, and no repeat is silent.

Rule of the file: acknowledged is what a worker was told together with a link of its chain.  What was lost, since when it
is known, and which rows it concerns is reckoned here from what crossed the wire and from the cluster's own count of its
writes; nothing of ``core.rollback`` is asked, and of the fact only what is written in it is read.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from noonmark.core.model import Event, Job, Micros, Occurrence, Origin, Query
from noonmark.core.model.rollback import ChainLink, Proof
from noonmark.explain.why import why
from noonmark.sim.checkers.events import Begun
from noonmark.sim.checkers.ground import Ground
from noonmark.sim.checkers.watch import Watch
from noonmark.sim.history import Call, Effect

if TYPE_CHECKING:
    from noonmark.sim.world import SimWorld

_FACT, _ALERT, _FLAG, _URGENT = "rollback", "store_rolled_back", "restored_epoch", 3
_GONE = frozenset({"lost", "joined"})


@dataclass(slots=True, kw_only=True)
class _Loss:
    """A rollback as it was proved on the wire: who proved it first, when, and up to when things are lost."""

    epoch: int
    number: int  # of the write
    detected_at: Micros
    until: Micros
    is_released: bool = False

    def concerns(self, row: Occurrence) -> bool:
        """May the row have run in what was lost?  Not when somebody asked for it since."""
        was_there = row.created_at < self.detected_at or row.origin is Origin.SCHEDULE
        return row.scheduled_for < self.until and was_there


@dataclass(frozen=True, slots=True, kw_only=True)
class _Told:
    """Something that a worker on a machine was told."""

    number: int
    at: Micros
    machine: str


class Rollbacks(Watch):
    """Watches worlds whose store loses what it acknowledged."""

    name = "rollbacks"
    hears_silence = True

    def __init__(self, world: SimWorld, ground: Ground) -> None:
        super().__init__(world, ground)
        self._is_lossy = world.plan.is_lossy
        self._links: dict[str, int] = {}  # hash of a link -> number of the write that appended it
        self._acknowledged: dict[str, _Told] = {}  # ... that a worker was told of
        self._told: list[_Told] = []  # every write of a worker that was answered
        self._succeeded: dict[tuple[str, str, str], int] = {}  # acknowledged success -> number of its write
        self._losses: dict[int, _Loss] = {}
        self._owing: set[str] = set()  # machines of which something is lost, and that have not asked since
        self._released: dict[int, int] = {}  # rows that a person let go -> number of the write
        self._early: list[Begun] = []  # repeats that began before anybody had proved a loss
        self._repeats: set[tuple[int, int]] = set()

    def on_call(self, call: Call) -> None:
        """Remember what was acknowledged and proved, and judge every start."""
        number = self.world.cluster.written
        if self._is_lossy:  # elsewhere nothing can be lost, so nothing need be remembered
            if call.told:
                self._told.append(_Told(number=number, at=call.at, machine=_machine(call.who)))
            link = call.kwargs.get("link")
            if link is not None:
                self._read_link(call, link, number)
        if call.verb == "prove":
            self._owing.discard(_machine(call.who))
            self._judge_proof(call, call.args[0].writer, call.answer, number)
        elif call.verb in ("act", "signal"):
            self._read_release(call, number)
        for begun in self.ground.begun:
            self._judge_start(begun)
            if call.told and _machine(begun.who) in self._owing:  # what arrives again late, nobody hears of
                self.blame(
                    "S13", f"{begun.who} began r{begun.row.id} on a store that lost what it was told, and never asked"
                )

    def on_failover(self) -> None:
        """Forget what the store no longer knows of rollbacks."""
        is_lost, newest = self.world.cluster.is_lost, self.world.cluster.failovers[-1]
        for told in self._acknowledged.values():
            if newest.kept < told.number <= newest.written:
                self._owing.add(told.machine)
        self._losses = {epoch: loss for epoch, loss in self._losses.items() if not is_lost(loss.number)}
        self._released = {row_id: number for row_id, number in self._released.items() if not is_lost(number)}
        for loss in self._losses.values():
            known = next((each for each in self._fact() if each["number"] == loss.epoch), None)
            loss.is_released = loss.is_released and known is not None and known["released_at"] is not None

    # -- what crossed the wire ----------------------------------------------------------------------------

    def _read_link(self, call: Call, link: ChainLink, number: int) -> None:
        if call.verb == "take" and all(row.looking for row in call.answer.rows):
            return  # nothing was appended
        number = self._links.setdefault(link.hash, number)
        if not call.told:
            return
        told = _Told(number=number, at=call.at, machine=_machine(call.who))
        self._acknowledged.setdefault(link.hash, told)
        if call.verb != "settle":
            return
        for item, answer in zip(call.args[2], call.answer, strict=True):
            if item.event is Event.SUCCEED and answer.outcome == "applied":
                row = self.world.cluster.occurrences(Query(ids=(item.occurrence_id,)))[0]
                self._succeeded[_identity(row)] = number

    def _judge_proof(self, call: Call, writer: str, proof: Proof, number: int) -> None:
        if proof.outcome not in _GONE:
            return
        machine = _machine(call.who)
        lost = [told for told in self._told if told.machine == machine and self.world.cluster.is_lost(told.number)]
        self.prove(f"proofs that something is {proof.outcome}")
        if not lost:
            self.blame("S13", f"{writer} proved at {call.at} that something is {proof.outcome}, and nothing is")
        epoch = proof.epochs[-1].number
        loss = self._losses.get(epoch)
        if loss is None:
            self._losses[epoch] = _Loss(epoch=epoch, number=number, detected_at=call.at, until=call.at)
            self._released.clear()  # what was let go before may have run since
            self._judge_alert(epoch)
            return
        for told in self._acknowledged.values():
            if told.machine == machine and self.world.cluster.is_lost(told.number):
                loss.until = max(loss.until, told.at)

    def _judge_alert(self, epoch: int) -> None:
        self.prove("losses with an alert")
        there = self.world.cluster.tallies().open_alerts
        if not any(alert.code == _ALERT and alert.level >= _URGENT for alert in there):
            self.blame("S13", f"rollback {epoch} was proved, and there is no alert")
        if not any(each["number"] == epoch for each in self._fact()):
            self.blame("S13", f"rollback {epoch} was proved, and the fact does not list it")

    def _read_release(self, call: Call, number: int) -> None:
        """A row that was let go or retried, or a whole rollback: which ones, the fact says afterwards."""
        if call.verb == "act":
            is_release = call.args[1].kind in ("release", "retry") and call.answer.outcome == "done"
            if is_release and call.args[1].occurrence_id:
                self._released[call.args[1].occurrence_id] = number
                return
        else:
            is_release = any(fact.name == _FACT for fact in call.args[1])
        for each in self._fact() if is_release else ():
            if each["number"] in self._losses and each["released_at"] is not None:
                self._losses[each["number"]].is_released = True

    # -- starts -----------------------------------------------------------------------------------------------

    def _judge_start(self, begun: Begun) -> None:
        row, name = begun.row, f"r{begun.row.id} of {begun.row.job} ({begun.row.scheduled_for})"
        concerning = [loss for loss in self._losses.values() if loss.concerns(row)]
        number = self._succeeded.get(_identity(row))
        if number is not None and not row.generation:
            self._repeats.add((row.id, row.fence))
            if not self.world.cluster.is_lost(number):
                self.blame("S1", f"{name} began again after its success, which was not lost")
            elif not concerning:
                self._early.append(begun)
        if not concerning:
            return
        self.prove("starts after a loss was proved")
        if begun.settlement is None or begun.settlement.code != _FLAG:
            code = "nothing" if begun.settlement is None else begun.settlement.code
            self.blame("S13", f"{name} may have run in what was lost, and began as {code}")
        rule = self.ground.rules.of(row.job, row.revision)
        if rule is None or not _waits(rule.job):
            return
        if row.id not in self._released and not all(loss.is_released for loss in concerning):
            self.blame("S13", f"{name} may have run in what was lost, and began before a person let it go")
        self.prove("starts that a person let go")

    def on_effect(self, effect: Effect) -> None:
        """Count the repeats that really ran."""
        if effect.phase == "start" and (effect.occurrence_id, effect.fence) in self._repeats:
            is_early = any(
                (each.row.id, each.row.fence) == (effect.occurrence_id, effect.fence) for each in self._early
            )
            self.prove("repeats before the loss was proved" if is_early else "repeats, each flagged")

    # -- in the end ---------------------------------------------------------------------------------------------

    def at_end(self) -> None:
        """Ask whether everything that was lost is told, and every repeat."""
        lossy = [failover for failover in self.world.cluster.failovers if failover.lost]
        self.prove("failovers that lost something", len(lossy))
        self.prove("successes that a failover could have lost", len(self._succeeded) if lossy else 0)
        epochs = self._fact()
        if self.ground.had_quiet:
            for told in self._acknowledged.values():
                if self.world.cluster.is_lost(told.number):
                    self.prove("acknowledged links that were lost")
                    if not any(each["from"] <= told.at <= each["until"] for each in epochs):
                        self.blame("S13", f"what {told.machine} was told at {told.at} is lost, and no rollback says so")
        for begun in self._early:
            self._judge_early(begun)

    def _judge_early(self, begun: Begun) -> None:
        """Nobody could have held it back; ``why`` must mark it all the same, unless its row is gone with another loss."""
        row = self.ground.rows.get(begun.row.id)
        if row is None or _identity(row) != _identity(begun.row) or self.world.cluster.is_lost(begun.number):
            return
        self.prove("repeats that why marks")
        if all(each["until"] <= row.scheduled_for for each in self._fact()):
            self.blame("S13", f"r{row.id} ({row.key}) was repeated in silence: no rollback concerns it")
        told = why(self.world.cluster, occurrence_id=row.id, lang="en")
        if not any(line.startswith("This may be a repeat") for line in told.lines):
            self.blame("S13", f"r{row.id} ({row.key}) was repeated in silence: why says {told.sentence!r}")

    def _fact(self) -> list[dict[str, Any]]:
        value: Any = self.world.cluster.facts([_FACT])[_FACT].value
        return list(value["epochs"]) if value else []


def _identity(row: Occurrence) -> tuple[str, str, str]:
    return row.job, row.subject, row.identity


def _machine(who: str) -> str:
    return who.partition(".")[0]


def _waits(job: Job) -> bool:
    return job.on_rollback == "hold"
