"""The checks behind a sentence: as the ledger recorded them, else replayed through ``decide``.

Rule of the file: what was recorded is never recomputed; a replay is used only where nothing was recorded, and said so.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace

from noonmark.core import codec, rollback, times
from noonmark.core.decide import decide
from noonmark.core.model import Check, Decision, Fact, Job, JobRow, Micros, Occurrence, State
from noonmark.explain import check_words
from noonmark.explain.describe import trigger_source
from noonmark.explain.explanation import Looks, Scene, Shown
from noonmark.explain.voice import Voice

Fetch = Callable[[Collection[str]], Mapping[str, Fact]]


def shown_checks(scene: Scene, replayed: Decision | None = None) -> tuple[Shown, ...]:
    """Return every check in its order: the schedule, what ``decide`` asked, and who holds the lease."""
    if not scene.row.job:  # a key that was cancelled before anybody asked: no rule, so nothing was ever checked
        return ()
    recorded = recorded_checks(scene)
    checks = recorded if recorded else (replayed.checks if replayed is not None else ())
    middle = tuple(_shown(check, scene) for check in checks)
    return (schedule_check(scene.job, scene.row.scheduled_for, scene.voice), *middle, _lease(scene))


def recorded_checks(scene: Scene) -> tuple[Check, ...]:
    """Return the checks of the last ledger line that recorded any."""
    for line in reversed(scene.story.ledger):
        # A look at a lapsed run asks about its lease only; who holds that is told from the attempts.
        checks = tuple(check for check in codec.checks_from_json(line.checks or "[]") if check.name != "lease")
        if checks:
            return checks
    return ()


def schedule_check(job: Job | None, at: Micros, voice: Voice) -> Shown:
    """Show the rule and the moment it yields, with the offset in force."""
    rule = trigger_source(job.trigger, voice.lang) if job is not None else "?"
    local = times.local(times.told(at), voice.zone)
    seen = voice.say("check_due", at=f"{voice.clock(at)} {local.isoformat()[-6:]}")
    return Shown(name="schedule", ok=True, wanted=rule, seen=seen)


def replay(job: Job, job_row: JobRow | None, row: Occurrence, fetch: Fetch, now: Micros) -> Decision:
    """Ask ``decide`` as the engine would, fetching the facts it needs."""
    facts = {f"pause:{job.name}": pause_fact(job.name, job_row), **fetch([rollback.FACT])}
    for _ in range(10):
        decision = decide(job, row, facts, now)
        missing = [name for name in decision.needs if name not in facts]
        if not missing:
            return decision
        got = fetch(missing)
        facts.update({name: got.get(name, Fact(name=name)) for name in missing})
    return decision


def pause_fact(name: str, job_row: JobRow | None) -> Fact:
    """Return a job's pause as the fact that ``decide`` reads."""
    if job_row is None:
        return Fact(name=f"pause:{name}")
    value = {
        "paused": job_row.paused,
        "paused_at": job_row.paused_at,
        "resumed_at": job_row.resumed_at,
        "reason": job_row.pause_reason,
    }
    return Fact(name=f"pause:{name}", version=job_row.pause_version, value=value)


def replay_start(scene: Scene) -> Decision | None:
    """Replay the start of a run that ``take`` began by itself: such a row had no gate but clock, pause and key."""
    row, job = scene.row, scene.job
    if job is None or row.first_started_at is None or recorded_checks(scene):
        return None
    begun = replace(row, first_started_at=None, verdict="", claimed=True, state=State.PENDING, cancel_requested=False)
    plain = replace(job, depends_on=()) if not row.gated else job
    return replay(plain, None, begun, lambda _: {}, row.first_started_at)


def looks(scene: Scene) -> Looks | None:
    """Count the looks that said "not yet", folded ones included."""
    waits = scene.waits
    if not waits:
        return None
    return Looks(count=sum(line.count for line in waits), first=waits[0].at, last=waits[-1].last_at)


def _shown(check: Check, scene: Scene) -> Shown:
    seen = check.seen if check.passed is not None else scene.voice.say("check_not_reached")
    zone = check_words.zone_of(check.name, scene.job.tz if scene.job is not None else "", scene.voice.zone)
    return Shown(name=check.name, ok=check.passed, wanted=check.wanted, seen=seen, zone=zone)


def _lease(scene: Scene) -> Shown:
    row, voice = scene.row, scene.voice
    if row.state is State.RUNNING and not row.holder:
        return Shown(name="lease", ok=None, seen=voice.say("check_lease_free"))
    if row.state is State.RUNNING:
        held = voice.moment(row.due_at) if row.due_at is not None else "?"
        seen = voice.say("check_lease_held", worker=scene.name_of(row.holder), at=held, fence=scene.fence(row.fence))
        return Shown(name="lease", ok=not row.looking, seen=seen)
    if scene.story.attempts:
        last = scene.story.attempts[-1]
        seen = voice.say("check_lease_was", worker=scene.name_of(last.worker), fence=scene.fence(last.fence))
        return Shown(name="lease", ok=True, seen=seen)
    if row.state in (State.PENDING, State.FAILED_RETRYING):
        return Shown(name="lease", ok=None, seen=voice.say("check_lease_free"))
    return Shown(name="lease", ok=None, seen=voice.say("check_not_reached"))
