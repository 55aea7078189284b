"""Who must be told: which alerts an event opens, raises or closes.

Promise: a failing occurrence makes exactly three alerts, a notice at its first failure, a raised one at its second
retry, an urgent one when a person is needed; what fails in between only updates the open alert (``detail["update"]``),
and what ends well closes it.  An urgent one closes when no occurrence of the job needs a person for its kind any more;
until then it goes on to the next of them.  Rule of the file: events in, alert writes out; channels are the engine's
business.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from noonmark.core.model import Alert, AlertWrite, Event, Job, Occurrence, Verdict
from noonmark.core.retry import failures_of
from noonmark.core.stored import object_of

NOTICE, RAISED, URGENT = 1, 2, 3
_CLOSES = frozenset({Event.SUCCEED, Event.CANCEL, Event.MARK_DONE, Event.MARK_SKIP, Event.MARK_HANDLED})
_KINDS = ("failing", "poison", "missed")
POISON = "poison"
"""Code, and kind of alert, of what lost its workers too often."""
RAN = frozenset({"", Verdict.SHOULD_RUN, Verdict.SKIP_LEASE})
"""Verdicts of what waits for a person because of a run; any other says that it could not start in time."""


def alerts_for(
    job: Job, row: Occurrence, event: Event, code: str, detail: Mapping[str, Any], *, is_open: bool = False
) -> tuple[AlertWrite, ...]:
    """Return the alerts that ``event`` of this occurrence writes.

    Args:
        job: the rule; its owner gets the alerts.
        row: the occurrence as it ran, the attempt that just ended counted.
        event: what happened.
        code: reason code of the event; its sentence is the alert's text.
        detail: arguments of that sentence.
        is_open: True when the caller knows of an open alert; else an all-clear is written only where the row itself
            shows that one may be open: it failed before, or a person took it up.
    """
    if event in _CLOSES:
        may_be_open = is_open or row.attempt - row.takeovers > 1 or bool(row.actor)
        return tuple(_write(job, row, kind, 0, code, {}, clear=True) for kind in _KINDS) if may_be_open else ()
    if event is Event.FAIL_RETRY:
        failures = failures_of(row)
        said = dict(detail) | ({"update": True} if failures > 2 else {})
        return (_write(job, row, "failing", NOTICE if failures == 1 else RAISED, code, said),)
    if event is Event.FAIL_MANUAL:
        return (_write(job, row, "poison" if code == POISON else "failing", URGENT, code, detail),)
    if event is Event.MISS:
        return (_write(job, row, "missed", URGENT, code, detail),)
    return ()


def is_kept(there: Alert, write: AlertWrite) -> bool:
    """Return True when an open alert stays about what it is about: it is urgent, and what comes is milder and of another.

    So what needs a person is neither closed nor covered by what other occurrences of the job do.
    """
    is_of_another = there.occurrence_id is not None and there.occurrence_id != write.occurrence_id
    return there.level >= URGENT and is_of_another and (write.clear or write.level < URGENT)


def may_be_told(row: Occurrence) -> bool:
    """Return True when an alert may be open about a row that ends without a success: it failed, or a person took it up."""
    return row.fence > 0 and (row.attempt > 0 or row.actor != "")


def kind_of(verdict: str, code: str) -> str:
    """Return the kind of the urgent alert about an occurrence that waits for a person, from what its row says."""
    if code == POISON:
        return "poison"
    return "failing" if verdict in RAN else "missed"


def detail_of_next(row: Occurrence, before: str) -> str:
    """Return the detail, as JSON, of an urgent alert that goes on to this occurrence; ``before``: as it was until now."""
    owner = object_of(before).get("owner", "")
    about = {"run": row.run_id, "key": row.key, "attempt": row.attempt, "owner": owner}
    return json.dumps({**about, **object_of(row.detail)}, ensure_ascii=False)


def _write(
    job: Job, row: Occurrence, kind: str, level: int, code: str, detail: Mapping[str, Any], *, clear: bool = False
) -> AlertWrite:
    about = {"run": row.run_id, "key": row.key, "attempt": row.attempt, "owner": job.owner}
    return AlertWrite(
        job=job.name,
        kind=kind,
        level=level,
        code=code,
        detail={} if clear else {**about, **detail},
        occurrence_id=row.id,
        clear=clear,
    )
