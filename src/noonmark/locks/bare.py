"""The bare functions: the least that a lock and a timer on one Redis need, for those who hold a client already.

They answer with booleans and raise what the client raises.  The key of a lock is ``lock:{name}``, its value the token;
they share locks with ``noonmark.locks.lock`` and with any program that uses ``SET key token NX PX ttl``.  What they do
not do: renew by themselves, hand out fences, notice that a lock was lost.  ``lock()`` does.

Rule of the file: compare and act in one script; the server's clock, never ours.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from noonmark.locks.scripts import script

if TYPE_CHECKING:
    import redis

ZSET = "delayed"
"""The timer's key: ZCARD tells how many jobs wait, ZRANGE ... WITHSCORES which is due first."""

_LOG = logging.getLogger("noonmark.locks")


def acquire(r: redis.Redis, name: str, ttl_ms: int, token: str) -> bool:
    """Take the lock if it is free: ``SET lock:{name} token NX PX ttl_ms``.

    Args:
        r: any client; ``decode_responses`` may be on or off.
        name: what is locked.
        ttl_ms: after so many milliseconds the lock frees itself, whatever happened to its holder.
        token: unlike every other holder's, e.g. ``uuid4().hex``.

    Returns:
        True if the lock is ours now; False if somebody holds it, we ourselves included.
    """
    return bool(r.set(f"lock:{name}", token, nx=True, px=ttl_ms))


def release(r: redis.Redis, name: str, token: str) -> bool:
    """Free the lock if ``token`` holds it, and say so; another's lock is not touched."""
    return bool(r.eval(script("release").text, 1, f"lock:{name}", token))


def renew(r: redis.Redis, name: str, token: str, ttl_ms: int) -> bool:
    """Count the ttl (milliseconds) anew if ``token`` holds the lock, and say so; another's lock is not prolonged."""
    return bool(r.eval(script("renew").text, 1, f"lock:{name}", token, str(ttl_ms)))


def schedule(r: redis.Redis, job_id: str, run_id: str, delay_s: float) -> None:
    """Put a delayed job into the timer ``ZSET``, due ``delay_s`` seconds from the server's now.

    The same job and run scheduled again has one entry, with the new time.
    """
    raw = json.dumps({"job_id": job_id, "run_id": run_id})
    r.eval(script("schedule").text, 1, ZSET, raw, str(round(delay_s * 1e6)))
    _LOG.info("scheduled the delayed job %s, due in %.0f s (run=%s)", job_id, delay_s, run_id)


def poll_once(r: redis.Redis, fire: Callable[[str, str], Any] | None = None) -> bool:
    """Claim one due job, hand it to ``fire(job_id, run_id)``, and say whether there was one.

    Whoever removes the entry has the job, so it fires once.  It may also be lost: if the process dies after the removal
    and before the work is done, nothing remembers the job.  Where that matters use ``Scheduler.later``, whose rows
    stay until their outcome is recorded.
    """
    raw = r.eval(script("poll_once").text, 1, ZSET)
    if raw is None:
        return False
    job = json.loads(raw)
    _LOG.info("the delayed job %s is due (run=%s)", job["job_id"], job["run_id"])
    if fire is not None:
        fire(job["job_id"], job["run_id"])
    return True
