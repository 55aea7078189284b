"""Values as the scripts want them, and answers as the port wants them.

Rule of the file: what a script compares travels as numbers and short texts; what it only keeps (parameters, identities,
dates) travels as JSON that no script decodes and encodes again, so that every number and every text comes back as it was.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields
from typing import Any, TypeAlias, cast

from noonmark.core.model import (
    Act,
    Acted,
    Activation,
    Added,
    Alert,
    AlertWrite,
    Attempt,
    Event,
    Fact,
    FactWrite,
    Gates,
    JobRow,
    LedgerLine,
    Micros,
    NewOccurrence,
    Note,
    Occurrence,
    Origin,
    Passed,
    Settled,
    Settlement,
    State,
    WorkerInfo,
)
from noonmark.core.stored import ORIGINS, STATES
from noonmark.stores.redis.layout import LINE, SHOWN

Plain: TypeAlias = list[Any]
Texts: TypeAlias = list[str]

EXACT = 1 << 53
"""Scripts count in doubles, which are exact below this (microseconds: until the year 2255)."""
FIRST_TEXT = 5
"""Index of the first free argument of a script."""


def dump(value: object) -> str:
    """Return compact JSON."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def fact_text(value: object) -> str | None:
    """Return the one text of a fact's value, so that equal values are equal texts; None clears."""
    return None if value is None else json.dumps(value, ensure_ascii=False, sort_keys=True)


def instant(value: Micros, what: str) -> Micros:
    """Return the number if a script can count with it.

    Raises:
        ValueError: it is beyond the year 2255.
    """
    if not -EXACT < value < EXACT:
        raise ValueError(f"{what} is {value}; this store keeps instants until the year 2255 and numbers below 2**53")
    return value


def instant_or_none(value: Micros | None, what: str) -> Micros | None:
    """Return the number if there is one and a script can count with it."""
    return None if value is None else instant(value, what)


# --- into the store ---------------------------------------------------------------------------------


def new_row(new: NewOccurrence, texts: Texts) -> Plain:
    """Return a row on its way (``layout.NEW``); its body is appended to the script's texts."""
    range_until = instant_or_none(new.range_until, "range_until")
    texts.append(
        dump(
            [new.identity, new.nominal, new.business_date, new.params, new.queue, new.priority, range_until,
             new.range_count]
        )
    )  # fmt: skip
    due = new.scheduled_for if new.due_at is None else new.due_at
    return [
        new.job, new.subject, new.key, new.origin.value, new.worker, instant(new.scheduled_for, "scheduled_for"),
        new.state.value, instant(due, "due_at"), int(new.frontier), int(new.gated), new.revision,
        instant_or_none(new.not_before, "not_before"), instant_or_none(new.not_after, "not_after"),
        instant_or_none(new.expires_at, "expires_at"), new.verdict, new.code, new.actor, new.note, int(new.claim),
        int(new.again), new.identity, range_until, FIRST_TEXT - 1 + len(texts),
    ]  # fmt: skip


def new_rows(rows: Iterable[NewOccurrence], texts: Texts) -> list[Plain]:
    """Return rows on their way."""
    return [new_row(new, texts) for new in rows]


def settlement(item: Settlement, texts: Texts) -> Plain:
    """Return an outcome on its way (``layout.SETTLEMENT``; a success that carries nothing else is shorter)."""
    gates = item.gates
    if item.event is Event.SUCCEED and not (item.ledger or item.adds or item.facts or item.alerts):
        return [item.occurrence_id, item.fence, item.verdict, item.code, item.detail, item.result, item.error]
    return [
        item.occurrence_id, item.fence, item.event.value, instant_or_none(item.due_at, "due_at"), item.lease,
        None if gates is None else _gates(gates), item.verdict, item.code, item.detail, item.checks, item.ledger,
        new_rows(item.adds, texts) if item.adds else None,
        [_fact_write(fact) for fact in item.facts] if item.facts else None,
        [alert_write(alert) for alert in item.alerts] if item.alerts else None,
        item.result, item.error,
    ]  # fmt: skip


def _gates(gates: Gates) -> Plain:
    return [gates.revision, gates.pause_version, list(map(list, gates.facts.items())), gates.slot, gates.ignore_window]


def _fact_write(fact: FactWrite) -> Plain:
    return [fact.name, fact_text(fact.value), fact.actor]


def alert_write(alert: AlertWrite) -> Plain:
    detail = json.dumps(dict(alert.detail), ensure_ascii=False)
    return [alert.job, alert.kind, alert.level, alert.code, detail, alert.occurrence_id, alert.clear]


def passed_rows(passed: Sequence[Passed]) -> list[Plain]:
    """Return rows that a rule leaves behind."""
    return [[row.occurrence_id, row.fence, row.verdict, row.code, row.detail, row.checks] for row in passed]


def activation(change: Activation, texts: Texts) -> Plain:
    """Return a rule on its way (``layout.CHANGE``)."""
    texts.append(change.rule)
    rule = FIRST_TEXT - 1 + len(texts)
    return [
        change.name, change.digest, change.expected_revision, instant(change.effective_at, "effective_at"), change.event,
        rule, new_rows(change.frontiers, texts), passed_rows(change.passed), new_rows(change.adds, texts),
    ]  # fmt: skip


def card(worker: WorkerInfo) -> str:
    """Return what a worker says of itself; when it was heard of is the store's to say."""
    return dump(
        [worker.name, worker.host, worker.pid, worker.process_started, worker.boot_id, worker.tzdata, worker.version,
         worker.wall_offset, list(worker.jobs)]
    )  # fmt: skip


# --- out of the store -------------------------------------------------------------------------------


class _Draft:
    """An occurrence under construction: the same slots, in the same order, but assignable."""

    __slots__ = tuple(field.name for field in fields(Occurrence))


FROM_HEAD = {
    "due": "due_at", "scheduled": "scheduled_for", "expires": "expires_at", "cancel": "cancel_requested",
    "started": "started_at", "first": "first_started_at", "ended": "ended_at", "created": "created_at",
}  # fmt: skip
_FROM_BODY = ("identity", "nominal", "business_date", "params", "queue", "priority", "range_until", "range_count")
_BOOLEANS = frozenset({"claimed", "frontier", "gated", "looking", "cancel_requested"})


def _compile_maker() -> Callable[..., Occurrence]:
    """Write out the assignments once; a loop over 44 fields would cost more than the script spends on a row."""
    lines = [f"def make(id, body, result, error, head, loads=loads):", "    draft = Draft()"]  # noqa: F541
    lines += [f"    ({', '.join(f'{name}_' for name in SHOWN)}, *_) = head"]
    lines += [f"    ({', '.join(f'draft.{name}' for name in _FROM_BODY)}) = loads(body)"]
    lines += ["    draft.id, draft.result, draft.error = id, result, error"]
    for name in SHOWN:
        field = FROM_HEAD.get(name, name)
        if field == "state":
            lines.append("    draft.state = STATES[state_]")
        elif field == "origin":
            lines.append("    draft.origin = ORIGINS[origin_]")
        elif field in _BOOLEANS:
            lines.append(f"    draft.{field} = {name}_ == 1")
        else:
            lines.append(f"    draft.{field} = {name}_")
    lines += ["    draft.__class__ = Occurrence", "    return draft"]
    scope: dict[str, Any] = {
        "Draft": _Draft, "STATES": STATES, "ORIGINS": ORIGINS, "Occurrence": Occurrence, "loads": json.loads,
    }  # fmt: skip
    exec("\n".join(lines), scope)
    return cast("Callable[..., Occurrence]", scope["make"])


occurrence: Callable[..., Occurrence] = _compile_maker()
"""Build an occurrence from what ``rows`` and ``take`` return: id, body, result, error, head."""


def added(answer: Plain) -> Added:
    """Return the answer to one added row."""
    outcome, row, holder = answer
    return Added(outcome=outcome, id=row, duplicate_of=holder)


def settled(answers: Sequence[Any], items: Sequence[Settlement]) -> list[Settled]:
    """Return the answers to a settle; equal successes share one value."""
    found: list[Settled] = []
    same: Settled | None = None
    for answer, item in zip(answers, items, strict=False):
        if answer == 1:
            if same is None or same.fence != item.fence:
                same = Settled(outcome="applied", fence=item.fence, state=State.SUCCESS)
            found.append(same)
            continue
        outcome, fence, lease_until, changed, holder, state = answer
        found.append(
            Settled(
                outcome=outcome,
                fence=fence,
                lease_until=lease_until,
                changed=tuple(changed),
                holder=holder,
                state=None if state is None else STATES[state],
            )
        )
    return found


def acted(answer: Plain) -> Acted:
    """Return the answer to an act."""
    outcome, ids, state = answer
    return Acted(outcome=outcome, ids=tuple(ids), state=None if state is None else STATES[state])


def job_row(answer: Plain) -> JobRow:
    """Return a job from {name, job, rule}."""
    name, job, rule = answer
    revision, effective, paused, version, paused_at, resumed_at, reason, event, digest, _seq = job
    return JobRow(
        name=name,
        rule=rule,
        digest=digest,
        revision=revision,
        effective_at=effective,
        paused=paused == 1,
        pause_version=version,
        paused_at=paused_at,
        resumed_at=resumed_at,
        pause_reason=reason,
        event=event,
    )


def fact(name: str, answer: Plain) -> Fact:
    """Return a fact from what the script read, stored or derived."""
    if not answer:
        return Fact(name=name)
    kind, version, *rest = answer
    value: Any
    if kind == "fact":
        text, set_at, actor = rest
        return Fact(
            name=name, version=version, value=None if text is None else json.loads(text), set_at=set_at, actor=actor
        )
    if kind == "key":
        value = dict(zip(("occurrence_id", "state", "generation", "origin", "job", "ended_at"), rest, strict=True))
    elif kind == "slot":
        value = {"occurrence_id": rest[0], "since": rest[1]}
    elif kind == "pause":
        value = {"paused": rest[0] == 1, "paused_at": rest[1], "resumed_at": rest[2], "reason": rest[3]}
    else:
        _name, host, pid, process_started, boot_id, *_ = json.loads(rest[0])
        value = {
            "host": host,
            "pid": pid,
            "process_started": process_started,
            "boot_id": boot_id,
            "until": rest[1],
            "ended_at": rest[2],
        }
    return Fact(name=name, version=version, value=value)


def worker_info(answer: Plain) -> WorkerInfo:
    """Return a worker from {id, card, started_at, seen_at, until, ended_at}."""
    worker, text, started_at, seen_at, until, ended_at = answer
    name, host, pid, process_started, boot_id, tzdata, version, wall_offset, jobs = json.loads(text)
    return WorkerInfo(
        id=worker,
        name=name,
        host=host,
        pid=pid,
        process_started=process_started,
        boot_id=boot_id,
        started_at=started_at,
        seen_at=seen_at,
        until=until,
        ended_at=ended_at,
        tzdata=tzdata,
        version=version,
        wall_offset=wall_offset,
        jobs=tuple(jobs),
    )


def attempt(occurrence_id: int, answer: Plain) -> Attempt:
    """Return one try of an occurrence."""
    fence, number, worker, started_at, ended_at, outcome, error = answer
    return Attempt(
        occurrence_id=occurrence_id,
        fence=fence,
        number=number,
        worker=worker,
        started_at=started_at,
        ended_at=ended_at,
        outcome=outcome,
        error=error,
    )


def line(occurrence_id: int, answer: Plain) -> LedgerLine:
    """Return one line of the ledger."""
    values: Mapping[str, Any] = dict(zip(LINE, answer, strict=True))
    return LedgerLine(occurrence_id=occurrence_id, **values)


def note(answer: Plain) -> Note:
    """Return one remark of a run."""
    _place, kind, name, value, fence, at = answer
    return Note(kind=kind, name=name, value=value, fence=fence, at=at)


def alert(answer: Plain) -> Alert:
    """Return one alert."""
    number, job, kind, level, code, detail, occurrence_id, opened_at, updated_at, count, closed_at = answer
    return Alert(
        id=number,
        job=job,
        kind=kind,
        level=level,
        code=code,
        detail=detail,
        occurrence_id=occurrence_id,
        opened_at=opened_at,
        updated_at=updated_at,
        count=count,
        closed_at=closed_at,
    )


def act(request_id: str, wish: Act, texts: Texts, gone: Plain | None = None) -> Plain:
    """Return a person's act on its way; ``gone`` is what becomes of the rollbacks that a release names."""
    detail = json.dumps({"by": wish.actor, "reason": wish.reason}, ensure_ascii=False)
    held = new_row(holding(request_id, wish), texts) if wish.kind == "cancel" and wish.key else None
    return [
        wish.kind, wish.actor, wish.reason, wish.occurrence_id, wish.key, wish.job or "", wish.effective_at,
        passed_rows(wish.passed), new_rows(wish.adds, texts), detail, held, wish.epochs, gone,
    ]  # fmt: skip


def holding(request_id: str, wish: Act) -> NewOccurrence:
    """Return the row that holds a cancelled key which nobody has created yet; the script puts its own time in."""
    return NewOccurrence(
        job=wish.job or "",
        identity=f"x:{request_id}",
        key=wish.key or "",
        scheduled_for=0,
        due_at=0,
        origin=Origin.CANCEL,
        claim=True,
        actor=wish.actor,
        note=wish.reason,
    )
