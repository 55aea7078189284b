"""What every store refuses before it writes anything: verbs whose arguments make no sense, or are too large.

Promise: no text and no list that a store keeps is longer than its limit in ``core/model/base.py``, whoever wrote it, and
the refusal names the limit.  Rule of the file: what fits is let through with a comparison of lengths, for every row of
every call passes here.  What is only compared and never kept is not measured one by one: the names of the jobs that a
worker can run, in ``take``, and what a read asks for.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence, Sized

from noonmark.core.lifecycle import is_end
from noonmark.core.model import (
    CALL_LIMIT,
    COUNT_LIMIT,
    ERROR_LIMIT,
    FACT_LIMIT,
    INDEX_LIMIT,
    JOBS_LIMIT,
    KEY_LIMIT,
    NAME_LIMIT,
    NOTE_LIMIT,
    PAYLOAD_LIMIT,
    REQUEST_LIMIT,
    RULE_LIMIT,
    WORKER_NAME_LIMIT,
    Act,
    Activation,
    AlertWrite,
    Event,
    Fact,
    FactWrite,
    Gates,
    Micros,
    NewOccurrence,
    Note,
    Origin,
    Passed,
    Renewal,
    Settlement,
    State,
    WorkerInfo,
)
from noonmark.core.model.rollback import ChainLink, Claim
from noonmark.core.weight import weight

STARTS = frozenset({Event.START, Event.TAKEOVER})
NEED_DUE_AT = frozenset({Event.PARK, Event.FAIL_RETRY, Event.HAND_BACK})
SETTLED = STARTS | NEED_DUE_AT | {Event.SKIP, Event.MISS, Event.SUCCEED, Event.FAIL_MANUAL, Event.CANCEL}
"""What a worker may say; the other events are a person's."""
MARKS = {
    "mark_done": (Event.MARK_DONE, "marked_done"),
    "mark_skip": (Event.MARK_SKIP, "marked_skip"),
    "mark_handled": (Event.MARK_HANDLED, "marked_handled"),
}
"""A person's marks: the event each one is, and the code of its reason."""
ACTS = frozenset({"retry", "release", "cancel", "pause", "resume", "end_job", *MARKS})


_SURELY_FOUND = INDEX_LIMIT // 4
"""So many characters are never too many bytes."""


class TooLarge(ValueError):
    """A text or a list that is longer than stores keep; the text says what, how long, and what is allowed."""


def check_call(request_id: str, worker: str = "", link: ChainLink | None = None) -> None:
    """Check what says which call it is, who makes it, and where his chain goes on.

    Raises:
        TooLarge: one of the texts is too long.
    """
    _short("the request id", request_id, REQUEST_LIMIT)
    _short("the name of the worker", worker, NAME_LIMIT)
    if link is not None:
        for text in (link.writer, link.before, link.hash, link.serving):
            _short("a part of the link", text, NAME_LIMIT)


def check_take(request_id: str, worker: str, runnable: Mapping[str, Micros], link: ChainLink | None) -> None:
    """Check who takes, and for how many jobs.

    Raises:
        TooLarge: a text is too long, or there are too many jobs.
    """
    check_call(request_id, worker, link)
    check_jobs(runnable)


def check_jobs(jobs: Sized) -> None:
    """Check how many jobs one worker runs.

    Raises:
        TooLarge: there are too many.
    """
    if len(jobs) > JOBS_LIMIT:
        raise TooLarge(f"{len(jobs)} jobs are more than {JOBS_LIMIT} for one worker; let workers share them")


def check_leases(worker: str, leases: Sequence[Renewal]) -> None:
    """Check who renews how many leases.

    Raises:
        TooLarge: the name is too long, or there are too many.
    """
    check_call("", worker)
    _few("leases in one call", leases)


def check_claim(claim: Claim) -> None:
    """Check what a writer says of itself and of what it was told.

    Raises:
        TooLarge: one of the texts is too long.
    """
    receipt = claim.receipt
    told = () if receipt is None else (receipt.store, receipt.writer, receipt.hash, receipt.worker)
    for text in (claim.writer, claim.worker, claim.before, *told):
        _short("a part of the claim", text, NAME_LIMIT)


def check_rows(wanted: Sequence[NewOccurrence], request_id: str = "") -> None:
    """Check rows to be added.

    Raises:
        ValueError: a row is neither waiting nor ended, or has no job or identity.
        TooLarge: there are too many, or something in one or the request id is too long.
    """
    check_call(request_id)
    _few("rows in one call", wanted)
    total = 0
    for row in wanted:
        if row.state is not State.PENDING and not is_end(row.state):
            raise ValueError(f"occurrence {row.identity!r} of job {row.job!r} cannot be added as {row.state}")
        if not row.job or not row.identity:
            raise ValueError("an occurrence needs a job and an identity")
        _short("the key", row.key, KEY_LIMIT)
        _short("the note or reason", row.note, NOTE_LIMIT)
        _small("the parameters", row.params)
        for what, text in (
            ("the name of the job", row.job),
            ("the identity", row.identity),
            ("the subject", row.subject),
            ("the actor", row.actor),
            ("the name of the worker", row.worker),
            ("a name", row.nominal),
            ("a name", row.business_date),
            ("a name", row.queue),
            ("a name", row.verdict),
            ("a name", row.code),
        ):
            if len(text) > _SURELY_FOUND:
                _short(what, text, NAME_LIMIT)
        if len(row.job) + len(row.subject) + len(row.identity) + len(row.business_date) > _SURELY_FOUND:
            _found_by("job, subject and identity", row.job, row.subject, row.identity)
            _found_by("job, subject and business date", row.job, row.subject, row.business_date)
        total += len(row.params)
    if total > CALL_LIMIT:
        raise TooLarge(f"the parameters of one call have {total} characters together, more than {CALL_LIMIT}")


def check_settlements(
    items: Sequence[Settlement], request_id: str = "", worker: str = "", link: ChainLink | None = None
) -> None:
    """Check outcomes, and who says them in which call.

    Raises:
        ValueError: a start without lease or gates, a wait without due_at, or an event that is not a worker's to say.
        TooLarge: there are too many, or something in one is too long.
    """
    check_call(request_id, worker, link)
    _few("outcomes in one call", items)
    for item in items:
        event = item.event
        _check_sizes(item)
        if event is Event.SUCCEED and not item.adds:
            continue
        if event not in SETTLED:
            raise ValueError(f"{event} is not settled, it is acted")
        if event in STARTS and (item.gates is None or item.lease <= 0):
            raise ValueError(f"{event} of occurrence {item.occurrence_id} needs gates and a lease")
        if event in NEED_DUE_AT and item.due_at is None:
            raise ValueError(f"{event} of occurrence {item.occurrence_id} needs due_at")
        check_rows(item.adds)


def _check_sizes(item: Settlement) -> None:
    if item.result is not None:
        _small("the result", item.result)
    if item.error is not None:
        _short("the error", item.error, ERROR_LIMIT)
    _small("the detail", item.detail)
    _small("the checks", item.checks)
    _short("a name", item.code, NAME_LIMIT)
    _short("a name", item.verdict, NAME_LIMIT)
    if item.facts:
        _check_raised(item.facts)
    if item.alerts:
        _check_alerts(item.alerts)
    if item.gates is not None:
        _check_gates(item.gates)


def _check_raised(facts: Sequence[FactWrite]) -> None:
    """Facts of an outcome: the engine makes their names of the row's own, which must never be what keeps it from ending."""
    _few("facts of an outcome", facts)
    for fact in facts:
        _found_by("the name of the fact", fact.name, limit=FACT_LIMIT)
        _short("the actor", fact.actor, NAME_LIMIT)
        _check_value("the value of the fact", fact.value)


def _check_alerts(alerts: Sequence[AlertWrite]) -> None:
    _few("alerts of an outcome", alerts)
    for alert in alerts:
        _short("the name of the job", alert.job, NAME_LIMIT)
        _short("a name", alert.kind, NAME_LIMIT)
        _found_by("job and kind of the alert", alert.job, alert.kind, limit=FACT_LIMIT)
        _short("a name", alert.code, NAME_LIMIT)
        _small("the detail", json.dumps(dict(alert.detail), ensure_ascii=False, default=str))


def _check_gates(gates: Gates) -> None:
    """What is waited for is kept, too: a fact by its first reference, a slot by whoever occupies it."""
    _found_by("the name of the slot", gates.slot, limit=FACT_LIMIT)
    if gates.facts:
        _few("facts of an outcome", gates.facts)
        for name in gates.facts:
            _found_by("the name of the fact", name, limit=FACT_LIMIT)


def check_act(wish: Act, request_id: str = "") -> None:
    """Check a person's act.

    Raises:
        ValueError: an unknown kind.
        TooLarge: something in it is too long.
    """
    if wish.kind not in ACTS:
        raise ValueError(f"no such act: {wish.kind!r}; there are {', '.join(sorted(ACTS))}")
    check_call(request_id)
    _few("rollbacks of an act", wish.epochs or ())
    _short("the note or reason", wish.reason, NOTE_LIMIT)
    _short("the actor", wish.actor, NAME_LIMIT)
    _short("the name of the job", wish.job or "", NAME_LIMIT)
    _short("the key", wish.key or "", KEY_LIMIT)
    _check_passed(wish.passed)
    check_rows(wish.adds)


def derives(item: Settlement, job: str, subject: str) -> bool:
    """Return True when moments of the series itself come along with an outcome.

    Only the frontier yields any, and by the rule in force.  A store answers ``changed`` where the row is no frontier any
    more or the revision moved: else a rule that was changed under the look would run moments of its past, or the rule
    before it moments from after its end.
    """
    return any(new.origin is Origin.SCHEDULE and (new.job, new.subject) == (job, subject) for new in item.adds)


def check_facts(facts: Sequence[Fact], request_id: str = "") -> None:
    """Check flags and other facts to be set.

    Raises:
        TooLarge: there are too many, or a name, a value or an actor is too long.
    """
    check_call(request_id)
    _few("flags in one call", facts)
    for fact in facts:
        _short("the name of the flag", fact.name, NAME_LIMIT)
        _short("the actor", fact.actor, NAME_LIMIT)
        _check_value("the value of the flag", fact.value)


def _check_value(what: str, value: object) -> None:
    if value is not None and not isinstance(value, (bool, int, float)):
        _small(what, json.dumps(value, ensure_ascii=False))


def check_worker_name(name: str) -> None:
    """Check the name that a person gives a worker: its id, and the facts and rows named after that, have to fit.

    Raises:
        TooLarge: it is too long.
        ValueError: it is not text that every store keeps.
    """
    _short("the name of the worker", name, WORKER_NAME_LIMIT)
    if not name.isprintable():
        raise ValueError("the name of the worker has a sign that cannot be shown; use letters, digits and dashes")


def check_worker(worker: WorkerInfo) -> None:
    """Check what a worker says of itself.

    Raises:
        TooLarge: a text is too long, or it runs too many jobs.
    """
    texts = (worker.id, worker.name, worker.host, worker.boot_id, worker.process_started, worker.tzdata, worker.version)
    for text in texts:
        _short("the name of the worker", text, NAME_LIMIT)
    check_jobs(worker.jobs)
    if worker.jobs and (longest := max(worker.jobs, key=len)):
        _short("the name of the job", longest, NAME_LIMIT)


def check_changes(changes: Sequence[Activation], actor: str, request_id: str = "") -> None:
    """Check rules on their way into force, with the rows that they bring.

    Raises:
        ValueError: see ``check_rows``.
        TooLarge: there are too many, or a rule, a name or a row is too long.
    """
    check_call(request_id)
    _few("rules in one call", changes)
    _short("the actor", actor, NAME_LIMIT)
    for change in changes:
        _short("the name of the job", change.name, NAME_LIMIT)
        _short("the name of the event", change.event, NAME_LIMIT)
        _short("a name", change.digest, NAME_LIMIT)
        _short("the rule", change.rule, RULE_LIMIT)
        _check_passed(change.passed)
        check_rows((*change.frontiers, *change.adds))


def check_note(note: Note, worker: str = "") -> None:
    """Check a remark of a run.

    Raises:
        TooLarge: its name, its value or the worker's name is too long.
    """
    check_call("", worker)
    _short("the name of the step", note.name, NAME_LIMIT)
    _short("a name", note.kind, NAME_LIMIT)
    _found_by("kind and name of the step", note.kind, note.name)
    _small("the value of the step", note.value)


def _check_passed(passed: Sequence[Passed]) -> None:
    _few("rows in one call", passed)
    for row in passed:
        _small("the detail", row.detail)
        _small("the checks", row.checks)
        _short("a name", row.code, NAME_LIMIT)
        _short("a name", row.verdict, NAME_LIMIT)


def _short(what: str, text: str, limit: int) -> None:
    if len(text) > limit:
        raise TooLarge(f"{what} has {len(text)} characters, more than {limit}; write less, or store it elsewhere")
    if limit == NAME_LIMIT and len(text) > _SURELY_FOUND:
        _found_by(what, text)


def _found_by(what: str, *texts: str, limit: int = INDEX_LIMIT) -> None:
    """Measure in bytes what is found by an index."""
    if sum(map(len, texts)) > _SURELY_FOUND:
        size = sum(map(weight, texts))
        if size > limit:
            raise TooLarge(f"{what}: {size} bytes, more than {limit}; write less, or store it elsewhere")


def _small(what: str, text: str) -> None:
    """Measure JSON in bytes, as the door does; a character has four at most."""
    if len(text) * 4 > PAYLOAD_LIMIT:
        size = len(text.encode("utf-8", "surrogatepass"))
        if size > PAYLOAD_LIMIT:
            raise TooLarge(f"{what}: {size} bytes, more than {PAYLOAD_LIMIT}; store it elsewhere and pass its id")


def _few(what: str, items: Sized) -> None:
    if len(items) > COUNT_LIMIT:
        raise TooLarge(f"{len(items)} {what} are more than {COUNT_LIMIT}; use several calls")
