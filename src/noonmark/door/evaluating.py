"""A dry decision: the function the engine calls, on the row the engine would look at, without a write.

Rule of the file: facts are fetched as the decision asks for them, exactly as the engine does.
"""

from __future__ import annotations

from noonmark.core import model, rollback, series
from noonmark.core.decide import decide
from noonmark.core.moments import Moment
from noonmark.core.stored import object_of
from noonmark.door.views import Evaluation, occurrence_view
from noonmark.ports.store import Store

ROUNDS = 10
"""A decision asks at most once per check; more rounds than checks would be a fault."""


def evaluate(
    store: Store, job: model.Job, now: model.Micros, subject: str = "", *, supposed: bool = False
) -> Evaluation:
    """Decide about the last due moment of the job as of ``now``, or where none was due yet about the next one, as of then.

    A moment from before the rule was in force was never due; only of a ``supposed`` time is it said what would have come
    of it.

    Raises:
        ValueError: the job has no moments by itself (event, manual) and no stored occurrence, or no such subject.
    """
    row = _row(store, job, now, subject, supposed=supposed)
    decision = (
        _decide(store, job, row, max(now, row.scheduled_for)) if row.state in model.OPEN_STATES else _as_ended(row)
    )
    return Evaluation(occurrence=occurrence_view(row, job.tz), decision=decision, zone=job.tz)


def _decide(store: Store, job: model.Job, row: model.Occurrence, now: model.Micros) -> model.Decision:
    facts: dict[str, model.Fact] = dict(store.facts([rollback.FACT]))
    decision = decide(job, row, facts, now)
    for _ in range(ROUNDS):
        if not decision.needs:
            break
        facts.update(store.facts(decision.needs))
        decision = decide(job, row, facts, now)
    return decision


def _as_ended(row: model.Occurrence) -> model.Decision:
    """An occurrence that has ended was decided about already; a done one would be a duplicate of itself."""
    if row.state is model.State.SUCCESS:
        detail = {"key": row.key, "holder": row.id, "state": row.state, "ended_at": row.ended_at}
        return model.Decision(
            verdict=model.Verdict.SKIP_DUPLICATED, event=model.Event.SKIP, code="key_held", detail=detail
        )
    event = model.Event.MISS if row.state is model.State.FAILED_MANUAL else model.Event.SKIP
    verdict = model.Verdict(row.verdict) if row.verdict else model.Verdict.SKIP_DUPLICATED
    return model.Decision(verdict=verdict, event=event, code=row.code or "key_held", detail=object_of(row.detail))


def _row(store: Store, job: model.Job, now: model.Micros, subject: str, *, supposed: bool) -> model.Occurrence:
    names = [name for name, _ in series.subjects(job)]
    if subject and subject not in names:
        raise ValueError(f"{job.name} has no subject {subject!r}; it has {', '.join(names)}")
    chosen = subject or names[0]
    rows = store.jobs([job.name])
    moment = series.previous_moment(job, now + 1) if job.is_series else None
    stored = _stored(store, job, chosen, moment)
    if stored is None and job.is_series and not (supposed and moment):
        began = rows[0].effective_at if rows else now
        if moment is None or moment.at <= began:
            moment = series.next_moment(job, now)
            stored = _stored(store, job, chosen, moment)
    if stored is not None:
        return stored
    if moment is None:
        newest = store.occurrences(model.Query(job=job.name, subject=chosen, limit=1))
        if not newest:
            raise ValueError(
                f"{job.name} has no occurrence to decide about: nothing is stored and nothing is scheduled"
            )
        return newest[0]
    params = dict(dict(series.subjects(job))[chosen])
    new = series.row_for_moment(job, moment, revision=rows[0].revision if rows else 0, subject=chosen, params=params)
    return as_row(new, now)


def _stored(store: Store, job: model.Job, subject: str, moment: Moment | None) -> model.Occurrence | None:
    if moment is None:
        return None
    found = store.occurrences(model.Query(job=job.name, subject=subject, identity=moment.identity, limit=1))
    return found[0] if found else None


def as_row(new: model.NewOccurrence, now: model.Micros) -> model.Occurrence:
    """Return a row as it would be, had it been added now: id 0, never looked at."""
    return model.Occurrence(
        id=0, job=new.job, subject=new.subject, identity=new.identity, key=new.key, generation=0, claimed=False,
        state=new.state, due_at=new.due_at, scheduled_for=new.scheduled_for, nominal=new.nominal,
        business_date=new.business_date, not_before=new.not_before, not_after=new.not_after, expires_at=new.expires_at,
        origin=new.origin, frontier=new.frontier, gated=new.gated, params=new.params, revision=new.revision,
        worker=new.worker, attempt=0, takeovers=0, lost=0, fence=0, holder="", looking=True, cancel_requested=False,
        verdict="", code="", detail="{}", created_at=now, started_at=None, first_started_at=None, ended_at=None,
        duplicate_of=None, range_until=None, range_count=0, result=None, error=None, actor="", note="",
        queue=new.queue, priority=new.priority,
    )  # fmt: skip
