"""May this occurrence start now?  One ordered table of small checks, and one pure function over it.

Rules of the file: a check sees the job, the row, the facts and the store's time, and answers with what was wanted and
what was seen.  The first refusal decides.  A check that lacks a fact says which one it needs; the caller fetches
exactly those and asks again, so a dear look-up is paid for only when it can change the answer.  The engine, ``why``,
``next``, dry runs and the simulator all call this function; nothing else in noonmark decides.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from noonmark.core import conditions, times
from noonmark.core.model import (
    MINUTE,
    Check,
    Decision,
    Event,
    Fact,
    Job,
    Micros,
    Occurrence,
    Origin,
    State,
    Verdict,
)

LATE_AFTER: Micros = MINUTE
"""A first look later than this is a catch-up, not an ordinary start that was a little slow."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """Everything a check may see."""

    job: Job
    row: Occurrence
    facts: Mapping[str, Fact]
    now: Micros


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What a check says: passed, refused (``event`` set), or in need of facts."""

    check: Check
    verdict: Verdict | None = None
    event: Event | None = None
    code: str = ""
    detail: Mapping[str, Any] = field(default_factory=dict)
    recheck_at: Micros | None = None
    needs: tuple[str, ...] = ()
    seen: Mapping[str, int] = field(default_factory=dict)


def decide(job: Job, row: Occurrence, facts: Mapping[str, Fact], now: Micros) -> Decision:
    """Decide about one occurrence.

    Args:
        job: the rule in force.
        row: the occurrence, as leased for this look.
        facts: what is known so far, by fact name; more may be asked for.
        now: the store's time, UTC microseconds.

    Returns:
        A decision.  ``needs`` non-empty: fetch those facts and call again.  Otherwise ``event`` is START, PARK (with
        ``recheck_at``), SKIP or MISS, and ``checks`` holds every check of the table in order, those behind the first
        refusal with ``passed`` None.
    """
    look = Look(job=job, row=row, facts=facts, now=now)
    if row.cancel_requested:
        return cancelled(row)
    checks: list[Check] = []
    seen: dict[str, int] = {}
    for name, ask in CHECKS:
        answer = ask(look)
        seen.update(answer.seen)
        checks.append(answer.check)
        if answer.event is None and not answer.needs:
            continue
        if answer.event is Event.PARK:
            answer = _or_too_late(look, answer, checks)
        rest = {later: Check(name=later, passed=None) for later, _ in CHECKS[len(checks) :]}
        if answer.event is Event.MISS and "duplicate" in rest:
            # What has its outcome already was not missed: the key is asked before an alarm is raised.
            claim = duplicate(look)
            rest["duplicate"] = claim.check
            answer = claim if claim.needs or claim.event is Event.SKIP else answer
        return Decision(
            verdict=answer.verdict or Verdict.SKIP_DEP,
            event=answer.event or Event.PARK,
            code=answer.code or f"needs_{name}",
            detail=answer.detail,
            checks=(*checks, *rest.values()),
            recheck_at=_within_limits(look, answer.recheck_at),
            needs=answer.needs,
            seen=seen,
        )
    late = max(0, now - row.scheduled_for)
    return Decision(
        verdict=Verdict.SHOULD_RUN,
        event=Event.START,
        code="ready",
        detail={"late": late},
        checks=tuple(checks),
        seen=seen,
    )


def cancelled(row: Occurrence) -> Decision:
    """Carry out a cancel that was noted on a row which only a look can end; nothing else is asked any more."""
    unreached = tuple(Check(name=name, passed=None) for name, _ in CHECKS)
    detail = {"by": row.actor, "reason": row.note}
    return Decision(verdict=Verdict.SKIP_GUARD, event=Event.CANCEL, code="cancelled", detail=detail, checks=unreached)


# --- the checks, cheapest first --------------------------------------------------------------------


def paused(look: Look) -> Answer:
    """An operator's word outranks everything, and costs nothing to read."""
    name = f"pause:{look.job.name}"
    fact = look.facts.get(name)
    if fact is None:
        return Answer(check=Check(name="paused", passed=None), needs=(name,))
    state = fact.value or {}
    at, until = state.get("paused_at"), state.get("resumed_at")
    in_pause = at is not None and at <= look.row.scheduled_for and (until is None or look.row.scheduled_for < until)
    seen = {name: fact.version}
    if not state.get("paused") and not (in_pause and not is_wanted(look.row)):
        return Answer(check=Check(name="paused", passed=True, wanted="not paused", seen="not paused"), seen=seen)
    check = Check(name="paused", passed=False, wanted="not paused", seen="paused")
    detail = {"reason": state.get("reason", ""), "since": at}
    if not is_wanted(look.row):  # an un-pause never runs the past, so the moment is over
        return Answer(
            check=check, verdict=Verdict.SKIP_PAUSED, event=Event.SKIP, code="job_paused", detail=detail, seen=seen
        )
    return Answer(
        check=check,
        verdict=Verdict.SKIP_PAUSED,
        event=Event.PARK,
        code="waiting_for_resume",
        detail=detail,
        recheck_at=look.now + look.job.catch_up.recheck,
        seen=seen,
    )


def guard(look: Look) -> Answer:
    """Calendar guards bind every start; a moment the rule never wanted ends, anything else waits for a weekday."""
    if look.job.guardrails.allow_weekend:
        return Answer(check=Check(name="guard", passed=True, wanted="any day"))
    zone = look.job.tz
    if not is_wanted(look.row) and times.is_weekend(look.row.scheduled_for, zone):
        day = times.weekday_name(look.row.scheduled_for, zone)
        return Answer(
            check=Check(name="guard", passed=False, wanted="a weekday", seen=day),
            verdict=Verdict.SKIP_GUARD,
            event=Event.SKIP,
            code="weekend",
            detail={"day": day},
        )
    day = times.weekday_name(look.now, zone)
    if times.is_weekend(look.now, zone):
        return Answer(
            check=Check(name="guard", passed=False, wanted="a weekday", seen=day),
            verdict=Verdict.SKIP_GUARD,
            event=Event.PARK,
            code="weekend_wait",
            detail={"day": day},
            recheck_at=times.next_weekday(look.now, zone),
        )
    return Answer(check=Check(name="guard", passed=True, wanted="a weekday", seen=day))


def window(look: Look) -> Answer:
    """The window binds every start, retries and takeovers included; it needs only the clock."""
    row, zone = look.row, look.job.tz
    not_before, not_after = bounds(look)
    if not_before is None and not_after is None:
        return Answer(check=Check(name="window", passed=True, wanted="always"))
    opens = times.clock_text(not_before, zone) if not_before is not None else ""
    closes = times.clock_text(not_after, zone) if not_after is not None else ""
    wanted, seen = f"{opens}-{closes}", times.clock_text(look.now, zone)
    detail = {"opens": not_before, "closes": not_after, "zone": zone, "last": row.code}
    if not_after is not None and look.now >= not_after:
        return Answer(
            check=Check(name="window", passed=False, wanted=wanted, seen=seen),
            verdict=Verdict.SKIP_WINDOW,
            event=Event.MISS,
            code="window_closed",
            detail=detail,
        )
    if not_before is not None and look.now < not_before:
        return Answer(
            check=Check(name="window", passed=False, wanted=wanted, seen=seen),
            verdict=Verdict.SKIP_WINDOW,
            event=Event.PARK,
            code="window_not_open",
            detail=detail,
            recheck_at=not_before,
        )
    return Answer(check=Check(name="window", passed=True, wanted=wanted, seen=seen))


def limit(look: Look) -> Answer:
    """``max_delay`` binds the first start only: later attempts are bound by the window alone (DESIGN 2)."""
    row = look.row
    if row.expires_at is None or row.first_started_at is not None:
        return Answer(check=Check(name="limit", passed=True, wanted="no limit"))
    late, allowed = max(0, look.now - row.scheduled_for), row.expires_at - row.scheduled_for
    wanted, seen = f"at most {times.length_text(allowed)} late", f"{times.length_text(late)} late"
    if look.now > row.expires_at:
        return Answer(
            check=Check(name="limit", passed=False, wanted=wanted, seen=seen),
            verdict=Verdict.SKIP_EXPIRED,
            event=Event.MISS,
            code="limit_passed",
            detail={"late": late, "allowed": allowed, "last": row.code},
        )
    return Answer(check=Check(name="limit", passed=True, wanted=wanted, seen=seen))


def duplicate(look: Look) -> Answer:
    """Before the conditions: a finished digest must not wait for fresh data (DESIGN 11)."""
    row = look.row
    if row.claimed:
        return Answer(check=Check(name="duplicate", passed=True, wanted=f"{row.key} ours", seen="ours"))
    name = f"key:{row.key}"
    fact = look.facts.get(name)
    if fact is None:
        return Answer(check=Check(name="duplicate", passed=None, wanted=f"{row.key} free"), needs=(name,))
    holder = fact.value
    if not holder or holder["occurrence_id"] == row.id:
        return Answer(check=Check(name="duplicate", passed=True, wanted=f"{row.key} free", seen="free"))
    return Answer(
        check=Check(
            name="duplicate",
            passed=False,
            wanted=f"{row.key} free",
            seen=f"{holder['state']} by r{holder['occurrence_id']}",
        ),
        verdict=Verdict.SKIP_DUPLICATED,
        event=Event.SKIP,
        code="key_held",
        detail={
            "key": row.key,
            "holder": holder["occurrence_id"],
            "state": holder["state"],
            "ended_at": holder.get("ended_at"),
        },
    )


def dependency(look: Look) -> Answer:
    """Every condition must hold; what was seen goes along as fact versions, to be compared again at the start."""
    job, row = look.job, look.row
    late = look.now - row.scheduled_for > LATE_AFTER
    if not job.depends_on:
        return Answer(check=Check(name="dependency", passed=True, wanted="nothing"))
    if late and not job.catch_up.only_if_data_ready and row.verdict != Verdict.SKIP_DEP:
        return Answer(check=Check(name="dependency", passed=True, wanted="nothing", seen="catch-up without data check"))
    names = {condition: conditions.fact_name(condition, job, row) for condition in job.depends_on}
    missing = tuple(dict.fromkeys(name for name in names.values() if name not in look.facts))
    wanted = ", ".join(dict.fromkeys(conditions.wanted_text(name) for name in names.values()))
    if missing:
        return Answer(check=Check(name="dependency", passed=None, wanted=wanted), needs=missing)
    seen = {name: look.facts[name].version for name in names.values()}
    unmet = [(condition, look.facts[name]) for condition, name in names.items() if not look.facts[name].is_set]
    if not unmet:
        return Answer(check=Check(name="dependency", passed=True, wanted=wanted, seen="all hold"), seen=seen)
    first, _ = unmet[0]
    return Answer(
        check=Check(
            name="dependency",
            passed=False,
            wanted=wanted,
            seen=", ".join(f"{conditions.wanted_text(f.name)} not set" for _, f in unmet),
        ),
        verdict=Verdict.SKIP_DEP,
        event=Event.PARK,
        code=conditions.missing_code(first),
        detail={"missing": [f.name for _, f in unmet], "why": first.reason},
        recheck_at=look.now + job.catch_up.recheck,
        seen=seen,
    )


def overlap(look: Look) -> Answer:
    """Last, because it is the answer that ages fastest; a skipped round is recorded, never silent."""
    job, row = look.job, look.row
    if not job.skips_overlap:
        return Answer(check=Check(name="overlap", passed=True, wanted="any number at once"))
    name = slot_name(job, row)
    fact = look.facts.get(name)
    if fact is None:
        return Answer(check=Check(name="overlap", passed=None, wanted="nobody in progress"), needs=(name,))
    occupant = fact.value
    if not occupant or occupant["occurrence_id"] == row.id:
        return Answer(check=Check(name="overlap", passed=True, wanted="nobody in progress", seen="nobody"))
    check = Check(name="overlap", passed=False, wanted="nobody in progress", seen=f"r{occupant['occurrence_id']}")
    detail = {"occupant": occupant["occurrence_id"]}
    if has_begun(row):  # it gave its slot up when it failed for good, or the rule had none then; it waits its turn
        return Answer(
            check=check,
            verdict=Verdict.SKIP_OVERLAP,
            event=Event.PARK,
            code="slot_wait",
            detail=detail,
            recheck_at=look.now + job.catch_up.recheck,
        )
    return Answer(check=check, verdict=Verdict.SKIP_OVERLAP, event=Event.SKIP, code="slot_taken", detail=detail)


CHECKS: tuple[tuple[str, Callable[[Look], Answer]], ...] = (
    ("paused", paused),
    ("guard", guard),
    ("window", window),
    ("limit", limit),
    ("duplicate", duplicate),
    ("dependency", dependency),
    ("overlap", overlap),
)


def is_wanted(row: Occurrence) -> bool:
    """Return True for a row that the calendar or a pause may delay but no longer exclude.

    That is one that somebody asked for (an event, a call, a person's retry) or that has started before.
    """
    return row.origin is not Origin.SCHEDULE or has_begun(row)


def has_begun(row: Occurrence) -> bool:
    """Return True for a row that started before, or that a person took up again: no rule may drop it any more."""
    taken_up = row.code == "retried" or (row.origin is Origin.SCHEDULE and row.actor != "")
    return taken_up or row.first_started_at is not None or row.state is not State.PENDING


def bounds(look: Look) -> tuple[Micros | None, Micros | None]:
    """Return the window that binds a start: the row's own, or today's for a row that a person took up again."""
    row, window = look.row, look.job.window
    if row.not_before is not None or row.not_after is not None or window is None:
        return row.not_before, row.not_after
    return times.window_of_day(window, look.now, look.job.tz)


def slot_name(job: Job, row: Occurrence) -> str:
    """Return the fact name of the overlap slot: one per job and subject."""
    return f"slot:{job.name}:{row.subject}"


def _or_too_late(look: Look, parked: Answer, checks: list[Check]) -> Answer:
    """What would wait although its window or limit is over has nothing to wait for: it ends, and says for what.

    Without this a pause or a weekend, which speak first, would have it looked at again at once, over and over.
    """
    behind = []
    for name, ask in CHECKS[len(checks) :]:
        if name not in ("guard", "window", "limit"):  # these three need no facts
            break
        answer = ask(look)
        behind.append(answer.check)
        if answer.event is Event.MISS:
            checks += behind
            return replace(answer, detail={**answer.detail, "last": parked.code})
    return parked


def _within_limits(look: Look, recheck_at: Micros | None) -> Micros | None:
    """Never look again later than the moment at which the answer changes by itself (DESIGN 1, parking)."""
    if recheck_at is None:
        return None
    row, (_, closes) = look.row, bounds(look)
    moments = [recheck_at]
    if closes is not None:
        moments.append(closes)
    if row.expires_at is not None and row.first_started_at is None:
        moments.append(row.expires_at + 1)
    return max(look.now, min(moments))
