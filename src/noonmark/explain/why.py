"""Why did this run, not run, run late, run twice?  One sentence, the checks behind it, and what to do.

Rule of the file: it reads, gathers and arranges; what is said stands in ``stories.py`` and ``absent.py``, what was
checked in ``evidence.py``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from noonmark.core import former, late, rollback, times
from noonmark.core.model import (
    FAR,
    OPEN_STATES,
    Decision,
    Event,
    Job,
    JobRow,
    Micros,
    Occurrence,
    Origin,
    Query,
    State,
    Story,
    Verdict,
    WorkerInfo,
)
from noonmark.core.model.rollback import Epoch
from noonmark.core.stored import object_of
from noonmark.engine.witnessing import Witness, Witnessed
from noonmark.explain import evidence, generations, over, remedies, repeats, unresolved
from noonmark.explain.absent import absence
from noonmark.explain.endings import in_range
from noonmark.explain.explanation import Explanation, Scene, Shown, Telling
from noonmark.explain.find import Asked, Found, NotFound, find, perhaps_lost, while_nobody_is_awake
from noonmark.explain.fragments import former_lines, late_lines, left_lines, short_error
from noonmark.explain.meant import for_text
from noonmark.explain.outages import outages
from noonmark.explain.outcomes import OVERDUE_AFTER, WORTH_SAYING
from noonmark.explain.processes import Lives, as_known, processes
from noonmark.explain.stories import tell
from noonmark.explain.voice import Voice
from noonmark.ports.store import Store

RUNS_COUNTED = 10_000
"""Most runs in progress that are counted to tell whether workers are full."""
_UNFINISHED = frozenset({"lost", "handed_back", "cancelled"})
"""Ends of a try that the sentence need not tell; another try comes, or came too late."""
_ATTEMPT_WORDS = {
    "success": "try_success",
    "failed": "try_failed",
    "lost": "try_lost",
    "handed_back": "try_handed_back",
    "cancelled": "try_cancelled",
    "running": "try_running",
}


def why(
    store: Store,
    name: str | None = None,
    *,
    at: str | None = None,
    key: str | None = None,
    occurrence_id: int | None = None,
    lang: str = "en",
    tz: str | None = None,
    now: Micros | None = None,
    lives: Lives | None = None,
    witness: Witness | None = None,
) -> Explanation:
    """Explain one occurrence, or the absence of one.

    Args:
        store: where the ledger is.
        name, at, key, occurrence_id: which one is meant, see ``find``.
        lang: "en" or "zh".
        tz: zone in which times are told; the job's own when left out.
        now: store time in microseconds; read from the store when left out.
        lives: says of a worker of the reader's own machine whether its process lives, None for any other.
        witness: says what the workers' journals have of ranges that the store lost.

    Raises:
        NotFound: no such job, key or occurrence.
        ValueError: ``at`` cannot be read.
    """
    now = store.now() if now is None else now
    try:
        found = find(store, name, at=at, key=key, occurrence_id=occurrence_id, tz=tz, now=now)
    except NotFound as error:
        raise perhaps_lost(error, store, Voice(lang=lang, zone=tz or "UTC", now=now)) from None
    found = while_nobody_is_awake(store, found, now, lives)
    voice = Voice(lang=lang, zone=tz or (found.job.tz if found.job is not None else "UTC"), now=now)
    if found.row is None:
        assert found.asked is not None, "find answers with a row or with the time asked about"
        return _explain_absence(store, found, found.asked, voice, lives)
    return explain(store, found, voice, lives, witness)


def explain(
    store: Store, found: Found, voice: Voice, lives: Lives | None = None, witness: Witness | None = None
) -> Explanation:
    """Explain a row that was found."""
    assert found.row is not None
    story = store.story(found.row.id)
    if story is None:  # pruned between two reads
        story = Story(occurrence=found.row, attempts=(), ledger=(), notes=(), alerts=())
    scene = _scene(store, found, story, voice, lives, witness)
    telling = tell(scene)
    moment = found.row.scheduled_for
    if found.asked is not None and found.row.range_until is not None:
        moment = min(max(found.asked.start, moment), found.row.range_until)
        telling = in_range(scene, moment)
    telling = over.with_its_job(scene, telling, is_newest=found.is_newest)
    replayed, standing = _replays(store, scene)
    lines = (*telling.lines, *_lines(scene), *over.stays_queued(scene))
    if found.is_newest:
        lines = (*lines, *unresolved.others(store, scene.row, voice))
    if recorded_by_take(scene, replayed):
        lines = (*lines, voice.say("line_replayed"))
    if standing is not None and scene.row.state is State.PENDING and not evidence.recorded_checks(scene):
        lines = (*lines, _standing(standing, voice))
        replayed = standing
    return _assemble(scene, telling, moment, evidence.shown_checks(scene, replayed), lines)


def recorded_by_take(scene: Scene, replayed: Decision | None) -> bool:
    """Return True when the start itself left no checks (``take`` began it) and they were replayed."""
    return replayed is not None and not evidence.recorded_checks(scene)


def _assemble(
    scene: Scene, telling: Telling, moment: Micros, checks: tuple[Shown, ...], lines: tuple[str, ...]
) -> Explanation:
    row, story = scene.row, scene.story
    when = ""
    if row.code == "window_closed":  # no other row's commands name it, and it is not free
        when = for_text(scene.job, moment, row.business_date, scene.voice.zone)
    return Explanation(
        job=row.job,
        sentence=telling.sentence,
        outcome=telling.outcome or "skipped",
        zone=scene.voice.zone,
        now=scene.now,
        lang=scene.voice.lang,
        occurrence_id=row.id,
        subject=row.subject,
        key=row.key,
        business_date=row.business_date,
        scheduled_for=moment,
        state=row.state.value,
        verdict=row.verdict,
        code=telling.code,
        final=row.state not in OPEN_STATES,
        revision=row.revision,
        decided_by=scene.name_of(story.ledger[-1].worker) if story.ledger and story.ledger[-1].worker else "",
        looks=evidence.looks(scene),
        checks=checks,
        runs=story.attempts,
        run_lines=_run_lines(scene),
        lines=lines,
        remedy=remedies.filled_in(telling.remedy, row, remedies.again(telling.remedy, scene, moment)),
        commands=remedies.commands(row, telling.outcome, when),
        job_ended=scene.over,
    )


def _scene(
    store: Store, found: Found, story: Story, voice: Voice, lives: Lives | None, witness: Witness | None
) -> Scene:
    row = story.occurrence
    ids: set[int] = {row.duplicate_of} if row.duplicate_of else set()
    detail = object_of(row.detail)
    ids |= {detail[name] for name in ("holder", "occupant") if isinstance(detail.get(name), int)}
    related = {other.id: other for other in store.occurrences(Query(ids=tuple(ids)))} if ids else {}
    if row.range_until is not None:
        related |= {other.id: other for other in _after_range(store, row)}
    known = processes(everybody := store.workers(), lives)
    workers = as_known(everybody, known, voice.now)
    facts = store.facts([rollback.FACT, former.FACT, late.fact_name(row.id)])
    epochs = rollback.epochs_of(facts[rollback.FACT].value)
    its_end, cut = over.ends_for(store, found, row)
    return Scene(
        story=story,
        job=found.job,
        job_row=found.job_row,
        workers=workers,
        voice=voice,
        related=related,
        before=generations.one_before(store, row),
        idle_holder=_idle_holder(store, row, related, workers, voice.now),
        duplicates=_refused_for(store, row),
        following=found.following,
        untold=repeats.untold(epochs, found.job, row),
        lost=_repeated_since(epochs, story),
        witnessed=_witnessed(epochs, story, witness),
        former=former.former_of(facts[former.FACT]),
        late=late.late_of(facts[late.fact_name(row.id)], story),
        outages=outages(store, workers, row.scheduled_for),
        in_progress=_in_progress(store, row, voice),
        over=its_end,
        ended_by=cut,
        processes=known,
    )


def _idle_holder(
    store: Store, row: Occurrence, related: Mapping[int, Occurrence], workers: Sequence[WorkerInfo], now: Micros
) -> str:
    """Return why nobody will run the row that holds the key of a duplicate: another job's, which was perhaps renamed."""
    holder = related.get(row.duplicate_of or 0)
    if holder is None or holder.job == row.job or holder.state not in OPEN_STATES or holder.holder:
        return ""
    job_row = next(iter(store.jobs([holder.job])), None)
    if job_row is None or not job_row.rule:
        return "ended"
    awake = [worker for worker in workers if worker.is_awake(now)]
    return "no_code" if awake and not any(holder.job in worker.jobs for worker in awake) else ""


def _repeated_since(epochs: Sequence[Epoch], story: Story) -> Epoch | None:
    """Return the newest rollback of which a run of the row may be a repeat: later ones concern older rows as well."""
    return next((epoch for epoch in reversed(epochs) if repeats.may_be_of(epoch, story.occurrence, story)), None)


def _witnessed(epochs: Sequence[Epoch], story: Story, witness: Witness | None) -> Witnessed | None:
    """Return the success in a lost range that the workers' journals have of the row's key."""
    if witness is None or not epochs:
        return None
    known, row, begun = witness(epochs), story.occurrence, repeats.begun(story)
    return repeats.known_of(known, row, max(begun)) if begun else repeats.ran_before(known, row)


def _in_progress(store: Store, row: Occurrence, voice: Voice) -> Counter[str]:
    """Count the runs of each worker, where a row is overdue and it may be that all of them are full."""
    is_open = row.state in (State.PENDING, State.FAILED_RETRYING)
    if not is_open or row.due_at is None or row.due_at > voice.now - OVERDUE_AFTER:
        return Counter()
    running = store.occurrences(Query(states=frozenset({State.RUNNING}), limit=RUNS_COUNTED))
    return Counter(other.holder for other in running if other.holder and not other.looking)


def _after_range(store: Store, row: Occurrence) -> list[Occurrence]:
    """The row that counts instead of a compressed range, where the rule keeps the latest."""
    if row.code == "missed_skipped" or row.verdict != Verdict.SKIP_SUPERSEDED:
        return []
    return store.occurrences(
        Query(
            job=row.job,
            subject=row.subject,
            scheduled_from=min((row.range_until or row.scheduled_for) + 1, FAR),
            oldest_first=True,
            limit=1,
        )
    )


def _refused_for(store: Store, row: Occurrence) -> tuple[int, ...]:
    if not row.key or not row.claimed:
        return ()
    same = store.occurrences(Query(key=row.key, limit=200))
    return tuple(sorted(o.id for o in same if o.verdict == Verdict.SKIP_DUPLICATED and o.duplicate_of == row.id))


def _replays(store: Store, scene: Scene) -> tuple[Decision | None, Decision | None]:
    """Return the replayed start of a run without recorded checks, and how an open row stands now."""
    if scene.job is None:
        return None, None
    row = scene.row
    standing = None
    try:
        if row.state is State.PENDING and scene.over is None:
            at = max(scene.now, row.scheduled_for)
            standing = evidence.replay(scene.job, scene.job_row, row, store.facts, at)
        return evidence.replay_start(scene), standing
    except (
        ValueError,
        TypeError,
        ArithmeticError,
        LookupError,
    ):  # a damaged row: what is on record is told all the same
        return None, None


def _standing(decision: Decision, voice: Voice) -> str:
    if decision.event is Event.START:
        return voice.say("as_things_stand_runs")
    return voice.say("as_things_stand_not", reason=voice.reason(decision.code, decision.detail))


def _lines(scene: Scene) -> tuple[str, ...]:
    row, voice = scene.row, scene.voice
    lines: list[str] = []
    if row.code in WORTH_SAYING:
        lines.append(voice.reason(row.code, row.detail))
    if row.generation:
        lines.append(generations.told(row, scene.before, voice))
    if row.origin in (Origin.MANUAL, Origin.BACKFILL):
        actor = row.actor or voice.say("nobody")
        lines.append(voice.say("line_asked", actor=actor, at=voice.moment(row.created_at)))
        if row.note:
            lines.append(voice.say("line_note", actor=actor, note=voice.given(row.note)))
    lines += late_lines(scene)
    lines += left_lines(scene)
    steps = [note.name for note in scene.story.notes if note.kind == "step"]
    if steps:
        lines.append(voice.say("line_steps", names=", ".join(steps)))
    progress = [note for note in scene.story.notes if note.kind == "progress"]
    if progress and row.state is State.RUNNING:
        lines.append(voice.say("line_progress", text=progress[-1].value))
    if scene.duplicates:
        ids = ", ".join(f"r{number}" for number in scene.duplicates[:5])
        lines.append(voice.say("line_duplicates", count=len(scene.duplicates), ids=ids))
    if scene.following is not None:
        due = scene.following.due_at if scene.following.due_at is not None else scene.following.scheduled_for
        key = "line_next" if due >= scene.now else "line_next_due"
        lines.append(voice.say(key, due=voice.moment(due), in_=voice.distance(due)))
    lines += repeats.lines(scene)
    for alert in scene.story.alerts:
        state = (
            voice.say("alert_open")
            if alert.closed_at is None
            else voice.say("alert_closed", at=voice.moment(alert.closed_at))
        )
        at = voice.moment(alert.opened_at)
        lines.append(voice.say("line_alert", level=alert.level, kind=alert.kind, at=at, state=state))
    return (*lines, *former_lines(scene.former, voice))


def _run_lines(scene: Scene) -> tuple[str, ...]:
    voice, attempts = scene.voice, scene.story.attempts
    colon = "：" if voice.lang == "zh" else ": "
    if len(attempts) < 2 and not any(attempt.error or attempt.outcome in _UNFINISHED for attempt in attempts):
        return ()
    return tuple(
        voice.say(
            "line_run",
            number=attempt.number,
            worker=scene.name_of(attempt.worker),
            fence=scene.fence(attempt.fence),
            started=voice.clock(attempt.started_at),
            ended=voice.clock(attempt.ended_at) if attempt.ended_at is not None else "…",
            outcome=voice.say(_ATTEMPT_WORDS[attempt.outcome])
            if attempt.outcome in _ATTEMPT_WORDS
            else attempt.outcome,
            error=f"{colon}{voice.error(short_error(attempt.error))}" if attempt.error else "",
        )
        for attempt in attempts
    )


def _explain_absence(store: Store, found: Found, asked: Asked, voice: Voice, lives: Lives | None) -> Explanation:
    workers = as_known(everybody := store.workers(), processes(everybody, lives), voice.now)
    answer = absence(store, found, asked, workers, voice)
    telling = answer.telling
    checks: tuple[Shown, ...] = ()
    if answer.job is not None and telling.outcome in ("planned", "unknown", "due", "missed"):
        checks = (evidence.schedule_check(answer.job, answer.at, voice),)
    return Explanation(
        job=found.name,
        sentence=telling.sentence,
        outcome=telling.outcome,
        zone=voice.zone,
        now=voice.now,
        lang=voice.lang,
        scheduled_for=answer.at,
        business_date=_business_date(answer.job, answer.at),
        code=telling.code,
        revision=_revision(found.job_row),
        checks=checks,
        lines=(*telling.lines, *former_lines(former.former_of(store.facts([former.FACT])[former.FACT]), voice)),
        remedy=telling.remedy or voice.remedy(telling.code),
    )


def _business_date(job: Job | None, at: Micros) -> str:
    return times.business_date(at, job.tz, job.business_date) if job is not None else ""


def _revision(row: JobRow | None) -> int:
    return row.revision if row is not None else 0
