"""From a call or an event to rows in the store.

Rule of the file: rules are the store's, not this process's: what is asked for is judged by the revision in force.
"""

from __future__ import annotations

import getpass
import inspect
import json
import os
import socket
import uuid
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from noonmark.core import codec, model, series, times
from noonmark.core.params import storable_text, text_given
from noonmark.door.views import Emitted, Enqueued
from noonmark.ports.store import CallerTransactions, Capability, Store

if TYPE_CHECKING:
    from noonmark.engine.deeds import Deed


def actor_here() -> str:
    """Return who acts when nobody is named: this user at this machine, as the ledger shows it."""
    try:
        user = getpass.getuser()
    except (KeyError, OSError):  # a container's uid without a name
        user = f"uid {os.getuid()}"
    return f"{user}@{socket.gethostname()}".encode("utf-8", "backslashreplace").decode("utf-8")


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
    conn: object | None = None,
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
        conn: the caller's own connection, in whose transaction the occurrence is added.

    Raises:
        ValueError: the job runs for each of several subjects, and the params do not say for which; or no transaction
            of ``conn`` can be joined.
    """
    for what, text in (("reason", note), ("actor", actor)):
        storable_text(what, text)
    now = store.now()
    rows = store.jobs([job.name])
    if conn is not None:
        job = _in_force(job, rows)
    subject = subject_of(job, params)
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
    return _enqueued(row, add(store, request_id, [row], conn)[0])


def run_deeds(
    store: Store, job: model.Job, number: int, params: Mapping[str, Any], *, note: str, again: bool
) -> list[Deed]:
    """Return what asking for a run by hand is to be remembered as: the moment that it was, and the command."""
    from noonmark.engine.deeds import of_run
    from noonmark.explain.meant import for_text

    return [
        of_run(
            row,
            params,
            when=for_text(job, row.scheduled_for, row.business_date, None),
            by=row.actor,
            reason=note,
            again=again,
        )
        for row in store.occurrences(model.Query(ids=(number,)))
    ]


def add(
    store: Store, request_id: str, rows: Sequence[model.NewOccurrence], conn: object | None
) -> Sequence[model.Added]:
    """Add rows, inside the caller's transaction where he hands over his connection."""
    if conn is None:
        return store.add(request_id, rows)
    return joining(store, conn).add_within(conn, request_id, rows)


def joining(store: Store, conn: object) -> CallerTransactions:
    """Return the store as one that joins the transactions of callers.

    Raises:
        ValueError: it does not, or the connection is one of asyncio's, whose statements have to be awaited.
    """
    if Capability.CALLER_TRANSACTION not in store.capabilities:
        raise ValueError(
            f"the store {store.url} cannot join your transaction; leave conn out and ask after your commit, "
            "or use a store that can: sqlite:///, postgresql://"
        )
    if hasattr(conn, "run_sync"):
        raise ValueError(
            f"conn is SQLAlchemy's {type(conn).__name__}, whose statements have to be awaited; hand over the plain one "
            'inside it: await conn.run_sync(lambda inner: job.later("30m", conn=inner)(...))'
        )
    statements = getattr(conn, "execute", None)
    if inspect.iscoroutinefunction(statements) or type(conn).__module__.partition(".")[0] in ("aiosqlite", "asyncpg"):
        kind = f"{type(conn).__module__}.{type(conn).__qualname__}"
        raise ValueError(
            f"conn is a {kind}, whose statements have to be awaited; use a plain connection for this transaction "
            "(in asyncio: in a thread, with asyncio.to_thread), or SQLAlchemy's run_sync"
        )
    return cast(CallerTransactions, store)


def _in_force(job: model.Job, rows: Sequence[model.JobRow]) -> model.Job:
    """Return the store's rule: a rule cannot be declared while the caller's transaction may hold the store's locks."""
    if not rows or not rows[0].rule:
        raise ValueError(
            f"{job.name} is not in force in the store yet, and a rule is not declared inside your transaction; "
            "call declare() of the scheduler once at start-up, or start a worker first"
        )
    return codec.job_from_text(rows[0].rule)


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


def event_named(name: object, given: object) -> str:
    """Return the identity of an event: the one that it was given, or a new one.

    Raises:
        TypeError, ValueError: its name or its identity is empty or no text.
    """
    if not isinstance(name, str) or not name:
        raise ValueError(f"the event's name is {name!r}; say what happened, for example emit('order.created')")
    if given is None:
        return uuid.uuid4().hex
    return text_given("id", str(given) if type(given) is int else given)  # a database's number is as good a name


def add_event(
    store: Store, name: str, event_id: str, payload: Mapping[str, Any], *, conn: object | None = None
) -> Emitted:
    """Add one occurrence per job (and subject) that waits for the event, all or none."""
    if conn is not None:
        joining(store, conn)  # also where no job waits: what works today must not be refused tomorrow
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
    answers = add(store, uuid.uuid4().hex, rows, conn) if rows else []
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
