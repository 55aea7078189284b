"""The judge: what should have happened by plain arithmetic, what did happen by the effects, what the store says of it.

Promise: nothing that the product computes is taken for granted.  Due moments are multiples of the period; a run is what
the job itself wrote; of the store only decisions and attempts are asked, and they have to account for all of it.

Rule of the file: it imports nothing of noonmark, and every class of fault it names can be shown to it in a test.
Moments are microseconds since 1970 by the store's clock, unless a name says otherwise.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from faults.effects import Effect, of_phase

SECOND = 1_000_000
ENDS = frozenset({"SUCCESS", "FAILED_MANUAL", "SKIPPED", "CANCELLED"})
LOSING = frozenset({"lost", "failed", "handed_back", "cancelled"})
"""Outcomes of an attempt that explain why there is another one."""
FLAGS = frozenset({"held_rollback", "restored_epoch"})
"""Codes of a ledger line that say of a row: it may have run before."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """What the store says of one due moment, or of a span of them (``until``); ``why`` None: it was not asked."""

    job: str
    key: str
    at: int
    until: int | None = None
    state: str
    verdict: str
    why: str | None = None
    attempts: tuple[tuple[int, str], ...] = ()  # fence, outcome


@dataclass(frozen=True, slots=True, kw_only=True)
class Gap:
    """While nobody could run anything: from, until, and when somebody looked again at the earliest and the latest."""

    since: int
    until: int
    looked: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Lost:
    """What a store forgot when it came back older: it may hold what was due in between, and knows no more of the rest.

    Args:
        since: the due moment up to which everything had been decided when the copy was made.
        copied: what was accepted after this moment is not in the copy.
        until: the loss had been noticed by then.
    """

    since: int
    copied: int
    until: int

    def covers(self, due: int) -> bool:
        """True when what was due then need not be decided by itself."""
        return self.since < due <= self.until


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """All that the judge is given."""

    effects: Sequence[Effect]
    recorded: Sequence[Recorded]
    since: int
    until: int
    period: int = 2 * SECOND
    ticks: Sequence[str] = ("tick", "latest", "skip")
    asked: Mapping[str, int] = field(default_factory=dict)  # key -> earliest moment it may be due
    accepted: Mapping[str, int] = field(default_factory=dict)  # key -> moment before the store was asked for it
    ahead: int = 0  # how much the store's clock was ahead of the monotonic one, at the most, in µs
    judge_early: bool = True
    gap: Gap | None = None
    lost: Lost | None = None
    skip_limit: int = 2 * SECOND


@dataclass(slots=True, kw_only=True)
class Findings:
    """What the judge found; every list names the keys."""

    due: int = 0
    ran: int = 0
    recorded: int = 0
    doubled: list[str] = field(default_factory=list)
    explained: list[str] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)
    early: list[str] = field(default_factory=list)
    stale_attempted: int = 0
    stale_refused: int = 0
    stale_accepted: list[str] = field(default_factory=list)
    off_policy: list[str] = field(default_factory=list)
    told: int = 0  # decisions that ``why`` was asked about
    silent: list[str] = field(default_factory=list)  # decided, but ``why`` has nothing to say


def expected(since: int, until: int, period: int) -> list[int]:
    """Return the due moments of a grid anchored at the epoch: since < moment <= until."""
    first = (since // period + 1) * period
    return list(range(first, until + 1, period))


def due_of(key: str) -> int:
    """Return the moment in the key of a tick."""
    moment = datetime.fromisoformat(key.partition(":")[2])
    return round(moment.timestamp() * SECOND)


def judge(history: History) -> Findings:
    """Compare what should have happened with what did, and both with what the store says."""
    found = Findings()
    begins: dict[str, list[Effect]] = defaultdict(list)
    for effect in of_phase(history.effects, "begin"):
        begins[effect.key].append(effect)
    records = {record.key: record for record in history.recorded if record.key and record.until is None}
    _judge_repeats(found, history, begins, records)
    for job in history.ticks:
        _judge_ticks(found, history, job, begins)
    _judge_asked(found, history, begins, records)
    if history.judge_early:
        _judge_early(found, history, begins)
    _judge_stale(found, history.effects)
    _judge_told(found, history.recorded)
    if history.gap is not None:
        _judge_policies(found, history, history.gap, begins)
    return found


def is_forgotten(history: History, key: str, record: Recorded | None) -> bool:
    """Return True when the store may have forgotten what became of a key: a repeat of it must be flagged instead.

    What was asked for was due at some moment from the earliest on; which one, only the store's record says.
    """
    lost, due = history.lost, history.asked.get(key)
    if lost is None:
        return False
    if due is None:
        return key.partition(":")[0] in history.ticks and lost.covers(due_of(key))
    is_covered = lost.covers(due) or (record is not None and lost.covers(record.at))
    return is_covered or lost.copied <= history.accepted.get(key, 0) <= lost.until


def _judge_repeats(
    found: Findings, history: History, begins: Mapping[str, Sequence[Effect]], records: Mapping[str, Recorded]
) -> None:
    """A second start is explained only by a recorded attempt before it that was lost, failed or handed back."""
    for key, starts in begins.items():
        record = records.get(key)
        if len(starts) < 2 or is_forgotten(history, key, record):
            continue
        outcomes = dict(record.attempts) if record is not None else {}
        fences = sorted({start.fence for start in starts})
        is_told = len(fences) == len(starts) and all(outcomes.get(fence, "") in LOSING for fence in fences[:-1])
        (found.explained if is_told else found.doubled).append(key)


def _judge_ticks(found: Findings, history: History, job: str, begins: Mapping[str, Sequence[Effect]]) -> None:
    ran = {due_of(key) for key in begins if key.startswith(f"{job}:")}
    rows = [record for record in history.recorded if record.job == job]
    single = {record.at: record for record in rows if record.until is None}
    spans = [record for record in rows if record.until is not None]
    for due in expected(history.since, history.until, history.period):
        record = single.get(due) or next((one for one in spans if one.at <= due <= (one.until or 0)), None)
        name = f"{job}@{due / SECOND:.0f}"
        if history.lost is not None and history.lost.covers(due):
            if record is not None and record.state == "SUCCESS" and due not in ran:
                found.lost.append(f"{name} (said to have run)")
            continue
        found.due += 1
        found.ran += due in ran
        if record is None or record.state not in ENDS or not record.verdict:
            found.lost.append(name)
            continue
        found.recorded += 1
        if record.state == "SUCCESS" and due not in ran:
            found.lost.append(f"{name} (said to have run)")


def _judge_asked(
    found: Findings, history: History, begins: Mapping[str, Sequence[Effect]], records: Mapping[str, Recorded]
) -> None:
    for key in history.asked:
        record = records.get(key)
        if is_forgotten(history, key, record):
            continue
        found.due += 1
        found.ran += key in begins
        if record is None or record.state not in ENDS or not record.verdict:
            found.lost.append(key)
            continue
        found.recorded += 1
        if record.state == "SUCCESS" and key not in begins:
            found.lost.append(f"{key} (said to have run)")


def _judge_told(found: Findings, recorded: Iterable[Recorded]) -> None:
    """Every decision that ``why`` was asked about, whatever it is and whoever wanted it, has its sentence."""
    for record in recorded:
        if record.why is None or record.state not in ENDS:
            continue
        found.told += 1
        if not record.why:
            found.silent.append(record.key or f"{record.job}@{record.at / SECOND:.0f}")


def unflagged(fences: Sequence[int], lines: Iterable[tuple[int, str]]) -> bool:
    """Return True when a key was started again and no line of its ledger had said by then that it may be a repeat.

    Args:
        fences: of its starts, in the order in which they happened.
        lines: of its ledger: the fence under which each was written, and its code.
    """
    flags = [fence for fence, code in lines if code in FLAGS]
    return any(not any(first < flag <= second for flag in flags) for first, second in itertools.pairwise(fences))


def _judge_early(found: Findings, history: History, begins: Mapping[str, Sequence[Effect]]) -> None:
    """Early means: before its moment even if the store's clock was as far ahead as it was ever seen to be."""
    for key, starts in begins.items():
        due = history.asked.get(key)
        if due is None and key.partition(":")[0] in history.ticks:
            due = due_of(key)
        first = min(start.mono for start in starts) // 1000
        if due is not None and first + history.ahead < due:
            found.early.append(f"{key} by {(due - first - history.ahead) / SECOND:.3f} s")


def _judge_stale(found: Findings, effects: Iterable[Effect]) -> None:
    """A write is stale once a copy with a higher fence has begun; it was accepted if it was asked for after that."""
    newest: dict[str, tuple[int, int]] = {}
    asked: dict[tuple[str, int], Effect] = {}
    for effect in sorted(effects, key=lambda one: one.mono):
        fence, since = newest.get(effect.key, (0, 0))
        if effect.phase == "begin" and effect.fence > fence:
            newest[effect.key] = (effect.fence, effect.mono)
        elif effect.phase == "asked":
            asked[effect.key, effect.fence] = effect
        elif effect.phase in ("accepted", "refused") and effect.fence < fence:
            question = asked.get((effect.key, effect.fence))
            if question is None or question.mono < since:
                continue
            found.stale_attempted += 1
            if effect.phase == "refused":
                found.stale_refused += 1
            else:
                found.stale_accepted.append(f"{effect.key} fence {effect.fence}")


def _judge_policies(found: Findings, history: History, gap: Gap, begins: Mapping[str, Sequence[Effect]]) -> None:
    """After a gap: ``all`` runs each one, ``latest`` the newest only, ``skip`` none that is too late; each has a record."""
    missed = expected(gap.since, gap.until, history.period)
    for job in history.ticks:
        ran = {due_of(key) for key in begins if key.startswith(f"{job}:")}
        rows = [record for record in history.recorded if record.job == job]
        for due in missed:
            verdicts = {
                record.verdict
                for record in rows
                if record.at == due or (record.until is not None and record.at <= due <= record.until)
            }
            wanted = _wanted(job, due, missed, gap, history)
            if wanted == "run" and due not in ran:
                found.off_policy.append(f"{job}@{due / SECOND:.0f} did not run")
            elif wanted not in ("run", "either") and (due in ran or wanted not in verdicts):
                found.off_policy.append(f"{job}@{due / SECOND:.0f} wanted {wanted}, recorded {sorted(verdicts)}")


def _wanted(job: str, due: int, missed: Sequence[int], gap: Gap, history: History) -> str:
    if job == "tick":
        return "run"
    if job == "latest":
        # The newest due moment at the first look stands for all; one more may have come due between return and look.
        if due < missed[-1]:
            return "skip_superseded"
        return "either" if expected(gap.until, gap.looked, history.period) else "run"
    if gap.until - due > history.skip_limit:
        return "skip_expired"
    return "either"
