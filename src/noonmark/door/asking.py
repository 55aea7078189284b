"""From a call or an event to rows in the store.

Rule of the file: rules are the store's, not this process's: what is asked for is judged by the revision in force.
"""

from __future__ import annotations

import getpass
import json
import os
import socket
import uuid
from collections.abc import Callable, Mapping
from typing import Any

from noonmark.core import codec, model, series, times
from noonmark.door.views import Emitted, Enqueued
from noonmark.ports.store import Store


def actor_here() -> str:
    """Return who acts when nobody is named: this user at this machine, as the ledger shows it."""
    try:
        user = getpass.getuser()
    except (KeyError, OSError):  # a container's uid without a name
        user = f"uid {os.getuid()}"
    return f"{user}@{socket.gethostname()}"


def add_call(
    store: Store,
    job: model.Job,
    *,
    origin: model.Origin,
    params: Mapping[str, Any],
    due: Callable[[model.Micros], model.Micros],
    key: str | None,
    note: str = "",
    again: bool = False,
    actor: str = "",
) -> Enqueued:
    """Add the occurrence that a caller asks for.

    Args:
        store: where.
        job: the rule, as this process declares it and the store has it in force.
        origin: LATER or MANUAL.
        params: arguments of the run, fit to be stored.
        due: the due moment, from the store's time.
        key: dedupe key as it is, None = the job's template.
        note: why, for the ledger.
        again: take a done key over as a new generation.
        actor: who asks.

    Raises:
        ValueError: the job runs for each of several subjects, and the params do not say for which.
    """
    subject = subject_of(job, params)
    now = store.now()
    rows = store.jobs([job.name])
    request_id = uuid.uuid4().hex
    row = series.row_for_call(
        job,
        request_id=request_id,
        due_at=due(now),
        params=dict(params),
        key=key,
        revision=rows[0].revision if rows else 0,
        now=now,
        origin=origin,
        actor=actor or actor_here(),
        note=note,
        again=again,
        subject=subject,
    )
    return _enqueued(row, store.add(request_id, [row])[0])


def subject_of(job: model.Job, params: Mapping[str, Any]) -> str:
    """Return the subject that the params name, "" for a job without ``each``.

    Raises:
        ValueError: they name none, or one that the job does not have.
    """
    for name, values in job.each.items():
        if params.get(name) not in values:
            given = f"has no {name} {params[name]!r}" if name in params else f"runs for each {name}: say for which"
            raise ValueError(f"{job.name} {given}; there are {', '.join(values)}")
    matching = (
        subject for subject, values in series.subjects(job) if all(params[name] == values[name] for name in job.each)
    )
    return next(matching, "")


def add_event(store: Store, name: str, event_id: str, payload: Mapping[str, Any]) -> Emitted:
    """Add one occurrence per job (and subject) that waits for the event, all or none."""
    now = store.now()
    rows: list[model.NewOccurrence] = []
    for waiter in store.jobs(event=name):
        job = codec.job_from_plain(json.loads(waiter.rule))
        rows.extend(
            series.row_for_event(
                job,
                event_id=event_id,
                emitted_at=now,
                payload=dict(payload),
                revision=waiter.revision,
                subject=subject,
            )
            for subject, _ in series.subjects(job)
        )
    answers = store.add(uuid.uuid4().hex, rows) if rows else []
    return Emitted(id=event_id, enqueued=tuple(map(_enqueued, rows, answers)))


def _enqueued(row: model.NewOccurrence, answer: model.Added) -> Enqueued:
    is_new = answer.outcome == "added"
    return Enqueued(
        id=answer.id,
        run_id=f"r{answer.id}",
        job=row.job,
        key=row.key,
        due_at=times.to_datetime(row.scheduled_for if row.due_at is None else row.due_at),
        duplicate=not is_new,
        duplicate_of=None if is_new else (answer.duplicate_of or answer.id),
    )
