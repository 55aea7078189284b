"""Every key of a namespace: why it is there, what type it has, and what bounds its growth.

Rule of the file: a key that no pattern here names does not exist; a test compares the list with a server that has run the
whole conformance suite.  All keys of a namespace share one hash tag, so a cluster keeps them in one slot.

``ID`` in a pattern is an occurrence's number, ``JOB``, ``FACT``, ``WRITER`` and ``REQUEST`` are the names of what they say.
"""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Key:
    """One key, or one family of keys."""

    pattern: str  # after the prefix "noonmark:{namespace}:"
    type: str
    reason: str
    growth: str


KEYS = (
    Key("meta", "hash", "store id, shape, next numbers, high-water mark of the clock", "a dozen fields"),
    Key("count", "hash", "rows by state and refusals, so that an overview counts nothing", "one field per state"),
    Key("head", "hash", "what verbs compare and change of an occurrence, packed", "one field per occurrence"),
    Key("body", "hash", "what is only kept of an occurrence: identity, dates, parameters", "one field per occurrence"),
    Key("said", "hash", "result and error of an occurrence that has one", "at most one field per occurrence"),
    Key("ident", "hash", "identity -> occurrence: none is inserted twice", "one field per occurrence"),
    Key("key", "hash", "key -> its first row and those that claimed it", "one field per key, never pruned"),
    Key("more", "zset", "further rows with a key", "one member per further row"),
    Key("dups", "zset", "recorded duplicates by key", "one member per refused duplicate"),
    Key("due:new", "zset", "rows nobody has looked at, by due_at", "one member per such open row"),
    Key("due:parked", "zset", "rows that a check sent back, by due_at", "one member per such open row"),
    Key("due:held", "zset", "leases and waiting retries, by due_at", "one member per such open row"),
    Key("own", "zset", "rows that only one worker may take, by worker and due_at", "one member per such open row"),
    Key("gone", "zset", "workers with rows of their own, by when they count as gone", "one member per such worker"),
    Key("scheduled", "zset", "all rows by scheduled time, for reads", "one member per occurrence"),
    Key("rows:JOB", "zset", "rows of a job by scheduled time, for reads", "one key per job, one member per occurrence"),
    Key("series:JOB", "zset", "open rows that the job's schedule yielded", "one member per such open row"),
    Key("asked:JOB", "zset", "open rows of the job that somebody asked for", "one member per such open row"),
    Key("frontier", "zset", "the frontier of every series", "one member per active job and subject"),
    Key("failed", "zset", "rows that wait for a person", "one member per such row"),
    Key("range", "zset", "records of passed-over ranges, by their end", "one member per catch-up that passed over"),
    Key("attempt", "hash", "attempts that no row tells", "one field per occurrence that ever failed"),
    Key("note:ID", "hash", "steps, effects and progress of a run", "one key per occurrence that wrote any"),
    Key("log:ID", "list", "the ledger of an occurrence, packed lines", "one key per occurrence with a line"),
    Key("alert", "hash", "alerts, open and closed", "one field per alert ever opened"),
    Key("alert:open", "hash", "job and kind -> the open alert", "one field per open alert"),
    Key("alert:of", "zset", "occurrence -> its alerts", "one member per alert"),
    Key("fact", "hash", "flags and successes with their versions", "one field per name ever set"),
    Key(
        "wait:FACT",
        "zset",
        "parked rows by the version they saw; of a slot by scheduled time",
        "one key per fact that open rows wait for",
    ),
    Key("wake", "set", "facts that moved while somebody waited", "emptied by the next take"),
    Key("slot", "hash", "overlap slots and who occupies them", "one field per running occurrence at most"),
    Key("job", "hash", "jobs as they are now", "one field per job"),
    Key("revision", "hash", "every rule that was ever in force", "one field per change of a rule"),
    Key("event", "zset", "event -> jobs it triggers", "one member per such job"),
    Key("worker", "hash", "cards of workers", "one field per worker process ever started"),
    Key("writer", "hash", "who proves what was acknowledged: heads of chains", "one field per writer ever heard of"),
    Key(
        "link:WRITER", "hash", "a writer's newest links, a ring", "at most 1,024 fields; expires a week after the last"
    ),
    Key("req:REQUEST", "string", "first answer to a request", "expires after an hour"),
    Key("import", "hash", "how far a copy from another store has come", "two fields, only in a copy"),
)

_PLACES = {"ID": r"\d+", "JOB": r"(?s:.*)", "FACT": r"(?s:.+)", "REQUEST": r"(?s:.+)", "WRITER": r"(?s:.+)"}


def expression(key: Key) -> re.Pattern[str]:
    """Return what matches the whole name of such a key, prefix left out."""
    head, separator, place = key.pattern.partition(":")
    if place in _PLACES:
        return re.compile(f"{re.escape(head)}:{_PLACES[place]}")
    return re.compile(re.escape(head + separator + place))


def listed(name: str) -> Key | None:
    """Return the entry of a key, its prefix left out; None when nobody knows why it is there."""
    return next((key for key in KEYS if expression(key).fullmatch(name)), None)
