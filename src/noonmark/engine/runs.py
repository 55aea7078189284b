"""One run in this process, and how it ended.

Rule of the file: a ``Run`` is mutable and belongs to the engine's loop; other threads set its flags only where the
comment says so.  A ``Finish`` is what an executor reports, once per run.
"""

from __future__ import annotations

import json
import traceback
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from noonmark.core.codec import storable
from noonmark.core.model import PAYLOAD_LIMIT, Job, Micros, Occurrence
from noonmark.engine.errors import DoNotRetry, EffectUnknown, LeaseLost, Retry, said_by
from noonmark.engine.registry import Handler

_MICROSECOND = timedelta(microseconds=1)
ERROR_LIMIT = 8 * 1024
"""How much of an error, or of a command's output, is kept, in characters."""


class Run:
    """A started occurrence under our lease."""

    __slots__ = (
        "abandoned",
        "answers",
        "asked",
        "effects",
        "fence",
        "foreign",
        "handle",
        "handler",
        "hold",
        "job",
        "lease",
        "lock_fence",
        "lost",
        "quiet",
        "renew_at",
        "row",
        "saw_stop",
        "settled",
        "stop_by",
        "stop_reason",
        "timeout_at",
        "trust_until",
    )

    def __init__(
        self, *, row: Occurrence, job: Job, handler: Handler, fence: int, lease: Micros, asked: Micros
    ) -> None:
        self.row = row
        self.job = job
        self.handler = handler
        self.fence = fence
        self.lease = lease
        self.asked = asked  # boot clock, of the request that gave us the lease
        self.renew_at = asked + lease // 3
        self.trust_until = trust_end(asked, lease)
        self.timeout_at = asked + job.timeout
        self.hold: Any = None  # the job's outside lock (engine/joblocks.py)
        self.lock_fence = 0  # of the job's outside lock, 0 = it has none
        self.stop_reason = ""  # lost | lock_lost | timed_out | cancelled | handed_back
        self.stop_by: Micros | None = None  # after this the engine no longer waits for the run to end
        self.lost = False  # read by the job through ctx.lost, from its own thread
        self.saw_stop = False  # the job itself noticed: what it returns after that is no success
        self.effects = False  # set by the job: an automatic retry is no longer safe
        self.answers = 0  # so often a person had answered for effects of it whose outcome nobody knew
        self.settled = False
        self.abandoned = False
        self.foreign = False  # another store lies there since: its rows have the same numbers and are other rows
        self.quiet = False  # started by take alone: there is no decision line to go with
        self.handle: Any = None  # the executor's: a task, a process

    def believe(self, asked: Micros) -> None:
        """Count the lease anew from when a renewal was asked for."""
        self.asked = asked
        self.renew_at = asked + self.lease // 3
        self.trust_until = trust_end(asked, self.lease)


def trust_end(asked: Micros, lease: Micros) -> Micros:
    """Return the boot-clock moment at which to stop believing in our own lease.

    It counts from when we asked, not from when the answer came: a slow reply must shorten our reign, never lengthen it.
    The margin keeps the stop before the lapse even when the store's clock and ours run apart a little.
    """
    return asked + lease - min(lease // 20, 500_000)


class Finish:
    """How a run ended: ``ok`` with its result, or an error and whether another attempt makes sense."""

    __slots__ = ("code", "detail", "error", "ok", "result", "retry_after", "retryable", "run")

    def __init__(
        self,
        run: Run,
        *,
        ok: bool,
        result: str | None = None,
        error: str | None = None,
        retryable: bool = True,
        retry_after: Micros | None = None,
        code: str = "",
        detail: Mapping[str, Any] | None = None,
    ) -> None:
        self.run = run
        self.ok = ok
        self.result = None if result is None else storable(result)
        self.error = None if error is None else storable(error)
        self.retryable = retryable
        self.retry_after = retry_after
        self.code = code
        self.detail = {name: storable(said) if isinstance(said, str) else said for name, said in (detail or {}).items()}

    @property
    def is_success(self) -> bool:
        """True where the work was done; what a job returns after it noticed that it must stop is no success."""
        return self.ok and not self.run.saw_stop

    @property
    def is_late_success(self) -> bool:
        """True for the success of a run that was given up."""
        return self.is_success and self.run.abandoned

    @property
    def is_on_record(self) -> bool:
        """True for the late report of a run of which it is on record how it ended; of one that lost its lease nothing is."""
        return self.run.stop_reason != "lost"


def succeeded(run: Run, value: Any) -> Finish:
    """Report a success; a result that cannot be stored is left out and said so, for the work was done."""
    if value is None:
        return Finish(run, ok=True, code="succeeded")
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False)
    except Exception as error:  # whatever a value of the job's own raises when it is read: the work was done
        return Finish(run, ok=True, code="result_not_stored", detail={"why": said_by(error)[:200]})
    return stored(run, text)


def stored(run: Run, text: str) -> Finish:
    """Report a success whose result is JSON already."""
    size = len(text.encode("utf-8", "surrogatepass"))
    if size > PAYLOAD_LIMIT:
        why = f"{size} bytes, more than {PAYLOAD_LIMIT}"
        return Finish(run, ok=True, code="result_not_stored", detail={"why": why})
    return Finish(run, ok=True, code="succeeded", result=text)


def failed(run: Run, error: BaseException) -> Finish:
    """Report a failure by the type of its error; the traceback is kept, its tail if it is long."""
    text = tail("".join(traceback.format_exception(error)))
    detail = {"error": named(error)}
    if isinstance(error, Retry):
        after = max(0, error.after // _MICROSECOND) if isinstance(error.after, timedelta) else None
        return Finish(run, ok=False, error=text, retry_after=after, detail=detail)
    if isinstance(error, EffectUnknown):
        return Finish(run, ok=False, error=text, retryable=False, code="effect_unknown", detail=detail)
    if isinstance(error, DoNotRetry):
        return Finish(run, ok=False, error=text, retryable=False, code="not_retryable", detail=detail)
    if isinstance(error, LeaseLost):
        run.lost = True
    return Finish(run, ok=False, error=text, detail=detail)


def named(error: BaseException, limit: int = 300) -> str:
    """Return an error in one line: what kind it is of and, where it says anything, what it says."""
    said = said_by(error)
    return (f"{type(error).__name__}: {said}" if said else type(error).__name__)[:limit]


def tail(text: str, limit: int = ERROR_LIMIT) -> str:
    """Return the end of a text: what went wrong stands last."""
    return text if len(text) <= limit else "…" + text[-limit:]


def parameters(run: Run) -> dict[str, Any]:
    """Return what the run was asked with: the job's parameters, and over them the occurrence's own."""
    own = {} if run.row.params in ("", "{}") else json.loads(run.row.params)
    return {**{name: _copied(value) for name, value in run.job.params.items()}, **own}


def _copied(value: Any) -> Any:
    """Return the same JSON, which a run may change: what it does to the rule's own would meet every later run."""
    if isinstance(value, dict):
        return {name: _copied(inner) for name, inner in value.items()}
    return [_copied(inner) for inner in value] if isinstance(value, list) else value


def arguments(handler: Handler, params: Mapping[str, Any], context: object | None) -> dict[str, Any]:
    """Return the keyword arguments of one call: the parameters the function names, and the context if it wants it."""
    accepts = handler.accepts
    chosen = dict(params) if accepts is None else {name: params[name] for name in params if name in accepts}
    if handler.context_param is not None:
        chosen[handler.context_param] = context
    return chosen
