"""May this occurrence start now?  One ordered table of small checks, and one pure function over it.

Rules of the file: a check sees the job, the row, the facts and the store's time, and answers with what was wanted and
what was seen (``core/answers.py`` has the five answers).  The first refusal decides.  A check that lacks a fact says
which one it needs; the caller fetches exactly those and asks again, so a dear look-up is paid for only when it can
change the answer.  The engine, ``why``, ``next``, dry runs and the simulator all call this function; nothing else in
noonmark decides.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from noonmark.core import conditions, rollback, times
from noonmark.core.answers import Answer, Look, misses, passes, skips, unknown, waits
from noonmark.core.lifecycle import SLOT_WAIT
from noonmark.core.model import MINUTE, SECOND, Check, Decision, Event, Fact, Job, Micros, Occurrence, Verdict

LATE_AFTER: Micros = MINUTE
"""A first look later than this is a catch-up, not an ordinary start that was a little slow."""
LOCK_RECHECK: Micros = 5 * SECOND
"""Who outside frees a lock tells nobody here, so it is asked again at least this often; a run of ours raises a fact."""
LOCK_FREED: Micros = SECOND
"""A lock that a run of ours was about to give back so long ago, or less, may be free any moment: it is asked soon."""
LOCK_SOON: Micros = SECOND // 2


def decide(job: Job, row: Occurrence, facts: Mapping[str, Fact], now: Micros) -> Decision:
    """Decide about one occurrence.

    Args:
        job: the rule in force.
        row: the occurrence, as leased for this look.
        facts: what is known so far, by fact name; more may be asked for.  Whoever knows of a rollback of the store puts
            its fact in; without it none is reckoned with.
        now: the store's time, UTC microseconds.

    Returns:
        A decision.  ``needs`` non-empty: fetch those facts and call again.  Otherwise ``event`` is START, PARK (with
        ``recheck_at``), SKIP, MISS or CANCEL, and ``checks`` holds every check of the table in order, those that were
        not reached with ``passed`` None.
    """
    look = Look(job=job, row=row, facts=facts, now=now)
    if row.cancel_requested:
        return cancelled(row)
    lost = facts.get(rollback.FACT)
    held = rollback.held(job, row, lost, now)
    if held is not None:
        return held
    answers: dict[str, Answer] = {}
    for name, _, check in CHECKS:
        if name == "lock" and job.lock is None:
            continue  # hardly any job has one: no line says so
        answers[name] = check(look)
        if not answers[name].passed:
            return _refusal(look, name, answers)
    start = _decision(
        Verdict.SHOULD_RUN, Event.START, "ready", {"late": look.late}, answers=answers, has_lock=job.lock is not None
    )
    return rollback.flagged(start, job, row, lost)


def cancelled(row: Occurrence) -> Decision:
    """Carry out a cancel that was noted on a row which only a look can end; nothing else is asked any more."""
    detail = {"by": row.actor, "reason": row.note}
    return _decision(Verdict.SKIP_GUARD, Event.CANCEL, "cancelled", detail, answers={})


# --- the checks, in the order of the table ----------------------------------------------------------


def paused(look: Look) -> Answer:
    """An un-pause never runs the past, so a moment of the schedule inside a pause is over; what is wanted waits."""
    name = f"pause:{look.job.name}"
    fact = look.facts.get(name)
    if fact is None:
        return unknown(name)
    state = fact.value or {}
    since, until = state.get("paused_at"), state.get("resumed_at")
    due = look.row.scheduled_for
    was_paused = since is not None and since <= due and (until is None or due < until)
    detail = {"reason": state.get("reason", ""), "since": since}
    if not look.is_wanted and (state.get("paused") or was_paused):
        return skips("job_paused", detail, wanted="not paused", seen="paused", facts=(fact,))
    if state.get("paused"):
        recheck_at = look.now + look.job.catch_up.recheck
        return waits("waiting_for_resume", detail, wanted="not paused", seen="paused", until=recheck_at, facts=(fact,))
    return passes("not paused", "not paused", facts=(fact,))


def guard(look: Look) -> Answer:
    """The calendar binds every start; a moment the rule never wanted ends, anything else waits for a weekday."""
    if look.job.guardrails.allow_weekend:
        return passes("any day")
    zone, due = look.job.tz, look.row.scheduled_for
    if not look.is_wanted and times.is_weekend(due, zone):
        day = times.weekday_name(due, zone)
        return skips("weekend", {"day": day}, wanted="a weekday", seen=day)
    day = times.weekday_name(look.now, zone)
    if times.is_weekend(look.now, zone):
        monday = times.next_weekday(look.now, zone)
        return waits("weekend_wait", {"day": day}, wanted="a weekday", seen=day, until=monday)
    return passes("a weekday", day)


def window(look: Look) -> Answer:
    """The window binds every start, retries and takeovers included."""
    zone, (opens, closes) = look.job.tz, look.bounds
    if opens is None and closes is None:
        return passes("always")
    wanted = "-".join("" if bound is None else times.clock_text(bound, zone) for bound in (opens, closes))
    seen = times.clock_text(look.now, zone)
    detail = {"opens": opens, "closes": closes, "zone": zone, "last": look.row.code}
    if closes is not None and look.now >= closes:
        return misses("window_closed", detail, wanted=wanted, seen=seen)
    if opens is not None and look.now < opens:
        return waits("window_not_open", detail, wanted=wanted, seen=seen, until=opens)
    return passes(wanted, seen)


def limit(look: Look) -> Answer:
    """``max_delay`` binds the first start only: later attempts are bound by the window alone (docs/semantics.md 2)."""
    row = look.row
    if row.expires_at is None or row.first_started_at is not None:
        return passes("no limit")
    allowed = row.expires_at - row.scheduled_for
    wanted = f"at most {times.length_text(allowed)} late"
    seen = f"{times.length_text(look.late)} late" if look.late >= SECOND else "on time"
    if look.now > row.expires_at:
        detail = {"late": look.late, "allowed": allowed, "last": row.code}
        return misses("limit_passed", detail, wanted=wanted, seen=seen)
    return passes(wanted, seen)


def duplicate(look: Look) -> Answer:
    """One key, one outcome: whoever holds the key has it, or is about to."""
    row = look.row
    if row.claimed:
        return passes(f"{row.key} ours", "ours")
    name, wanted = f"key:{row.key}", f"{row.key} free"
    fact = look.facts.get(name)
    if fact is None:
        return unknown(name, wanted=wanted)
    claim = fact.value
    if not claim or claim["occurrence_id"] == row.id:
        return passes(wanted, "free")
    holder, state = claim["occurrence_id"], claim["state"]
    detail = {"key": row.key, "holder": holder, "state": state, "ended_at": claim.get("ended_at")}
    return skips("key_held", detail, wanted=wanted, seen=f"{state} by r{holder}")


def dependency(look: Look) -> Answer:
    """Every condition must hold; what was seen goes along as fact versions, to be compared again at the start."""
    job, row = look.job, look.row
    if not job.depends_on:
        return passes("nothing")
    is_catch_up = look.late > LATE_AFTER
    if is_catch_up and not job.catch_up.only_if_data_ready and row.verdict != Verdict.SKIP_DEP:
        return passes("nothing", "catch-up without data check")
    names = {condition: conditions.fact_name(condition, job, row) for condition in job.depends_on}
    wanted = ", ".join(dict.fromkeys(conditions.wanted_text(name) for name in names.values()))
    missing = dict.fromkeys(name for name in names.values() if name not in look.facts)
    if missing:
        return unknown(*missing, wanted=wanted)
    facts = tuple(look.facts[name] for name in names.values())
    unmet = [(condition, look.facts[name]) for condition, name in names.items() if not look.facts[name].is_set]
    if not unmet:
        return passes(wanted, "all hold", facts=facts)
    first, _ = unmet[0]
    return waits(
        conditions.missing_code(first),
        {"missing": [fact.name for _, fact in unmet], "why": first.reason},
        wanted=wanted,
        seen=", ".join(f"{conditions.wanted_text(fact.name)} not set" for _, fact in unmet),
        until=look.now + job.catch_up.recheck,
        facts=facts,
    )


def overlap(look: Look) -> Answer:
    """One at a time per job and subject; a round that is skipped for it is recorded, never silent.

    Who waits is handed the slot by the store when its turn comes, so nobody asks often, however many wait.
    """
    job, row = look.job, look.row
    if not job.one_at_a_time:
        return passes("any number at once")
    name, wanted = slot_name(job, row), "nobody in progress"
    fact = look.facts.get(name)
    if fact is None:
        return unknown(name, wanted=wanted)
    occupant = fact.value
    if not occupant or occupant["occurrence_id"] == row.id:
        return passes(wanted, "nobody")
    seen, detail = f"r{occupant['occurrence_id']}", {"occupant": occupant["occurrence_id"]}
    # What has begun gave its slot up when it failed for good, or the rule had none then; it may not vanish either.
    if look.has_begun or job.on_overlap == "queue_all":
        until = look.now + job.catch_up.recheck
        return waits(SLOT_WAIT, detail, wanted=wanted, seen=seen, until=until, facts=(fact,))
    return skips("slot_taken", detail, wanted=wanted, seen=seen)


def lock(look: Look) -> Answer:
    """Others outside noonmark contend for the same thing: who runs holds their lock from here to the run's end.

    Asking is taking, so it comes when nothing else stands in the way.  Who may not take it (a dry run) knows no value.
    """
    rule = look.job.lock
    if rule is None:
        return passes("no lock")
    name = conditions.lock_fact(look.job, look.row)
    shown = conditions.lock_name(name)
    wanted = f"{shown} ours"
    fact = look.facts.get(name)
    if fact is None:
        return unknown(name, wanted=wanted)
    # The stored fact of this name tells only that somebody gave the lock back: it wakes, and answers nothing.
    answer = fact.value if isinstance(fact.value, Mapping) else {}
    state, at = answer.get("state", ""), answer.get("at", "")
    if not state:
        return passes(wanted, "asked at the start")
    if state == "ours":
        return passes(wanted, f"ours, fence {answer['fence']}")
    detail = {"lock": shown, "at": at}
    until = look.now + min(look.job.catch_up.recheck, LOCK_RECHECK)
    if state == "away":
        detail["error"] = answer.get("error", "")
        return waits("lock_away", detail, wanted=wanted, seen="no answer", until=until, verdict=Verdict.SKIP_DEP)
    if look.has_begun or look.job.waits_for_lock:
        if fact.set_at is not None and look.now - fact.set_at < LOCK_FREED:
            until = min(until, look.now + LOCK_SOON)
        return waits("lock_wait", detail, wanted=wanted, seen="taken", until=until, facts=(fact,))
    return skips("lock_held", detail, wanted=wanted, seen="taken")


def slot_name(job: Job, row: Occurrence) -> str:
    """Return the fact name of the overlap slot: one per job and subject."""
    return f"slot:{job.name}:{row.subject}"


# --- the table: name, what a refusal is called, the check ------------------------------------------

CHECKS: tuple[tuple[str, Verdict, Callable[[Look], Answer]], ...] = (
    # an operator's word outranks everything, and costs next to nothing to read
    ("paused", Verdict.SKIP_PAUSED, paused),
    # these three need only the clock, so they spare look-ups that could not matter
    ("guard", Verdict.SKIP_GUARD, guard),
    ("window", Verdict.SKIP_WINDOW, window),
    ("limit", Verdict.SKIP_EXPIRED, limit),
    # before the conditions: a finished digest must not wait for fresh data (docs/semantics.md 3)
    ("duplicate", Verdict.SKIP_DUPLICATED, duplicate),
    # the dear one: asked only when a "yes" would start a run
    ("dependency", Verdict.SKIP_DEP, dependency),
    # late, because it is the answer that ages fastest
    ("overlap", Verdict.SKIP_OVERLAP, overlap),
    # last, because to ask is to take
    ("lock", Verdict.SKIP_OVERLAP, lock),
)
_VERDICTS = {name: verdict for name, verdict, _ in CHECKS}


# --- from answers to the decision --------------------------------------------------------------------


def _refusal(look: Look, name: str, answers: dict[str, Answer]) -> Decision:
    """The check ``name`` refused or lacks a fact, and so decides, but for two orders that would do harm."""
    if answers[name].event is Event.PARK:
        name = _over_already(look, name, answers)
    if answers[name].event is Event.MISS:
        # What has its outcome already was not missed: the key is asked before an alarm is raised.
        answers["duplicate"] = duplicate(look)
        if not answers["duplicate"].passed:
            name = "duplicate"
    answer = answers[name]
    if answer.event is None:
        return _decision(
            Verdict.SKIP_DEP,
            Event.PARK,
            f"needs_{name}",
            {},
            answers=answers,
            needs=answer.needs,
            has_lock=look.job.lock is not None,
        )  # no verdict yet: should a caller stop asking, what is not known counts as not ready
    return _decision(
        answer.verdict or _VERDICTS[name],
        answer.event,
        answer.code,
        answer.detail,
        answers=answers,
        recheck_at=_within_limits(look, answer.recheck_at),
        has_lock=look.job.lock is not None,
    )


def _over_already(look: Look, name: str, answers: dict[str, Answer]) -> str:
    """Return the check that decides about a row that would wait: one whose window or limit is over ends instead.

    Without this a pause or a weekend, which speak first, would have it looked at again at once, over and over.
    """
    behind: dict[str, Answer] = {}
    for later, _, check in CHECKS[len(answers) :]:
        if later not in ("guard", "window", "limit"):  # these three need no facts
            break
        behind[later] = check(look)
        if behind[later].event is Event.MISS:
            answers |= behind
            # it says what it waited for
            answers[later] = replace(behind[later], detail={**behind[later].detail, "last": answers[name].code})
            return later
    return name


def _within_limits(look: Look, recheck_at: Micros | None) -> Micros | None:
    """Never look again later than the moment at which the answer changes by itself (docs/semantics.md 1, parking)."""
    if recheck_at is None:
        return None
    row, (_, closes) = look.row, look.bounds
    moments = [recheck_at]
    if closes is not None:
        moments.append(closes)
    if row.expires_at is not None and row.first_started_at is None:
        moments.append(row.expires_at + 1)
    return max(look.now, min(moments))


def _decision(
    verdict: Verdict,
    event: Event,
    code: str,
    detail: Mapping[str, Any],
    *,
    answers: Mapping[str, Answer],
    recheck_at: Micros | None = None,
    needs: tuple[str, ...] = (),
    has_lock: bool = False,
) -> Decision:
    """Put a decision together, with a line for every check of the table, asked or not."""
    unasked = [Check(name=name, passed=None) for name, _, _ in CHECKS if name != "lock" or has_lock]
    return Decision(
        verdict=verdict,
        event=event,
        code=code,
        detail=detail,
        checks=tuple(answers[line.name].as_check(line.name) if line.name in answers else line for line in unasked),
        recheck_at=recheck_at,
        needs=needs,
        seen={name: version for answer in answers.values() for name, version in answer.versions.items()},
    )
