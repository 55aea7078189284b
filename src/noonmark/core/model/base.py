"""Instants, limits and the closed sets: states, verdicts, events, origins."""

from __future__ import annotations

from enum import StrEnum
from typing import TypeAlias

Micros: TypeAlias = int
"""UTC microseconds since 1970 (an instant), or a length in microseconds (a duration)."""

SECOND: Micros = 1_000_000
MINUTE: Micros = 60 * SECOND
HOUR: Micros = 60 * MINUTE
DAY: Micros = 24 * HOUR

PAYLOAD_LIMIT = 256 * 1024
"""Largest parameters, result or step value that is stored, in bytes of JSON."""
KEY_LIMIT = 512
"""Longest rendered key, in characters."""
NAME_LIMIT = 1024
"""Longest identity, subject, flag, actor or other name that is stored, in characters; rules allow shorter ones."""
INDEX_LIMIT = 2_600
"""Most bytes, in UTF-8, of a name, and of what a row is found by (its job, subject and identity together).

PostgreSQL's indexes hold 2,704 with what they add of their own.
"""
FACT_LIMIT = INDEX_LIMIT + 16
"""Most bytes of a name that is made of a row's: the fact of its success, its slot, the alerts of its job.

So whatever row is accepted can end, and be waited for.
"""
WORKER_NAME_LIMIT = 200
"""Longest name that a person gives a worker, in characters: facts and rows are named after it."""
REQUEST_LIMIT = 256
"""Longest request id, in characters; the identities of rows are made of it."""
NOTE_LIMIT = 8 * 1024
"""Longest reason or note of a person, in characters."""
ERROR_LIMIT = 64 * 1024
"""Longest error that a store keeps, in characters; a worker keeps less of each."""
RULE_LIMIT = 4 * 1024 * 1024
"""Longest stored rule, in characters of JSON: more than a whole rules file may have."""
COUNT_LIMIT = 100_000
"""Most rows, outcomes, leases, alerts, flags or rules in one call."""
JOBS_LIMIT = 200_000
"""Most jobs of one worker."""
CALL_LIMIT = 64 * 1024 * 1024
"""Most parameters in one call, in characters of JSON, all rows together."""
LOOK_LEASE: Micros = 5 * SECOND
"""How long a worker may think about a row before somebody else looks at it."""

FAR: Micros = 1 << 62
"""Later than every instant."""


class State(StrEnum):
    """The seven states of an occurrence (five of the source document, two ends that are no runs)."""

    PENDING = "PENDING"
    RUNNING = "RUNNING"
    SUCCESS = "SUCCESS"
    FAILED_RETRYING = "FAILED_RETRYING"
    FAILED_MANUAL = "FAILED_MANUAL"
    SKIPPED = "SKIPPED"
    CANCELLED = "CANCELLED"


OPEN_STATES = frozenset({State.PENDING, State.RUNNING, State.FAILED_RETRYING})
"""States whose rows carry a ``due_at``; every other state is an end."""


class Verdict(StrEnum):
    """What a decision says; the source's strings, and more in the same form."""

    SHOULD_RUN = "should_run"
    SKIP_WINDOW = "skip_window"
    SKIP_DEP = "skip_dep"
    SKIP_DUPLICATED = "skip_duplicated"
    SKIP_LEASE = "skip_lease"
    SKIP_GUARD = "skip_guard"
    SKIP_PAUSED = "skip_paused"
    SKIP_OVERLAP = "skip_overlap"
    SKIP_CAPACITY = "skip_capacity"
    SKIP_BUDGET = "skip_budget"
    SKIP_EXPIRED = "skip_expired"
    SKIP_SUPERSEDED = "skip_superseded"


class Event(StrEnum):
    """What can happen to an occurrence; ``core/lifecycle.py`` says what each leads to."""

    START = "start"  # a look ends in a run: attempt begins
    PARK = "park"  # a look ends in "not yet": due_at says when to look again
    SKIP = "skip"  # the rule excludes this moment
    MISS = "miss"  # wanted, but its window or limit closed
    TAKEOVER = "takeover"  # a lapsed run starts again under a new fence
    SUCCEED = "succeed"
    FAIL_RETRY = "fail_retry"  # failed, another attempt is due at due_at
    FAIL_MANUAL = "fail_manual"  # failed for good, a person is asked
    HAND_BACK = "hand_back"  # a stopping worker gives the run back, attempt not counted
    CANCEL = "cancel"
    RETRY = "retry"  # a person's retry
    MARK_DONE = "mark_done"  # a person says: this was done
    MARK_SKIP = "mark_skip"  # a person says: this will not run
    MARK_HANDLED = "mark_handled"  # a person says: dealt with elsewhere
    RELEASE = "release"  # a person lets go what a rollback of the store holds
    REOPEN = "reopen"  # a superseded moment is yielded again by a later revision


class Origin(StrEnum):
    """Where an occurrence came from."""

    SCHEDULE = "schedule"
    EVENT = "event"
    LATER = "later"
    MANUAL = "manual"
    BACKFILL = "backfill"
    CANCEL = "cancel"  # a cancel that arrived before its create
