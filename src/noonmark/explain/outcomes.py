"""What people see of an occurrence: one outcome word, one glyph, for CLI, web and docs alike.

Rule of the file: an outcome is derived from the row and the time, never stored.
"""

from __future__ import annotations

from noonmark.core.decide import LATE_AFTER
from noonmark.core.model import MINUTE, Micros, Occurrence, State, Verdict
from noonmark.core.releasing import is_let_be
from noonmark.core.values import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """A word in both languages with its glyph and the glyph's ASCII stand-in; ``rank`` 0 is the worst."""

    en: str
    zh: str
    glyph: str
    ascii: str
    rank: int


OUTCOMES: dict[str, Outcome] = {
    "doubled": Outcome(en="RAN TWICE", zh="跑了两次", glyph="2", ascii="2", rank=0),
    "failed": Outcome(en="NEEDS A PERSON", zh="需要人工", glyph="x", ascii="x", rank=1),
    "missed": Outcome(en="MISSED", zh="漏跑", glyph="?", ascii="?", rank=2),
    "due": Outcome(en="due", zh="已到期", glyph="!", ascii="!", rank=3),
    "waiting": Outcome(en="waiting", zh="等待条件", glyph="…", ascii="w", rank=4),
    "retrying": Outcome(en="retrying", zh="重试中", glyph="r", ascii="r", rank=5),
    "running": Outcome(en="running", zh="运行中", glyph=">", ascii=">", rank=6),
    "taken_over": Outcome(en="taken over", zh="接管后成功", glyph="+", ascii="+", rank=7),
    "caught_up": Outcome(en="caught up", zh="补跑成功", glyph="+", ascii="+", rank=8),
    "refused_duplicate": Outcome(en="duplicate refused", zh="拦下重复", glyph="o", ascii="o", rank=9),
    "on_time": Outcome(en="on time", zh="准时", glyph="#", ascii="#", rank=10),
    "marked_done": Outcome(en="marked done", zh="人工标记完成", glyph="#", ascii="#", rank=11),
    "handled": Outcome(en="handled", zh="已人工处理", glyph="/", ascii="/", rank=12),
    "cancelled": Outcome(en="cancelled", zh="已取消", glyph="/", ascii="/", rank=13),
    "skipped": Outcome(en="skipped by rule", zh="按规则跳过", glyph="-", ascii="-", rank=14),
    "planned": Outcome(en="planned", zh="计划中", glyph="·", ascii=".", rank=15),
    "unknown": Outcome(en="nobody awake", zh="调度中断", glyph="~", ascii="~", rank=16),
}

MISSED_VERDICTS = frozenset({Verdict.SKIP_WINDOW.value, Verdict.SKIP_EXPIRED.value})
MISSED_CODES = frozenset({"window_closed", "limit_passed"})
WORTH_SAYING = frozenset({"result_not_stored"})
"""Reasons of a success that are told all the same: something of it is not there."""
OVERDUE_AFTER: Micros = MINUTE
"""Due longer than this with a worker awake is a fault, not a wait: twice the longest default lease."""
NOT_WAITING = frozenset({"started", "retried", "released", "restored_epoch", "handed_back"})
"""Codes of open rows that no check holds back: they only wait for a worker."""


def outcome_of(row: Occurrence, now: Micros) -> str:
    """Return the name (a key of ``OUTCOMES``) of what became of a row; ``now`` is store time, UTC microseconds."""
    if row.state in (State.RUNNING, State.FAILED_RETRYING) and is_let_be(row):
        return "waiting"  # for a person: nobody runs it, and no next attempt is planned
    match row.state:
        case State.SUCCESS:
            return _of_success(row)
        case State.RUNNING:
            return "running"
        case State.FAILED_RETRYING:
            return "retrying"
        case State.FAILED_MANUAL:
            return "missed" if is_missed(row) else "failed"
        case State.SKIPPED:
            return "refused_duplicate" if row.verdict == Verdict.SKIP_DUPLICATED else "skipped"
        case State.CANCELLED:
            return "handled" if row.code == "marked_handled" else "cancelled"
    if row.code and row.code not in NOT_WAITING:
        return "waiting"
    return "planned" if row.due_at is None or row.due_at > now else "due"


def is_missed(row: Occurrence) -> bool:
    """Return True for a wanted occurrence whose window or limit closed before it could start (again)."""
    return row.state is State.FAILED_MANUAL and (row.code in MISSED_CODES or row.verdict in MISSED_VERDICTS)


def lateness(row: Occurrence) -> Micros:
    """Return how long after its scheduled time the first attempt started, 0 when it has not."""
    return max(0, row.first_started_at - row.scheduled_for) if row.first_started_at is not None else 0


def _of_success(row: Occurrence) -> str:
    if row.code == "marked_done":
        return "marked_done"
    if row.takeovers:
        return "taken_over"
    return "caught_up" if lateness(row) > LATE_AFTER else "on_time"
