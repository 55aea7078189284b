"""The archive: everything that a namespace holds, page by page, out of it and into another.

Rule of the file: records that belong to occurrences are read along the occurrences' numbers, the others along their names
or numbers, so nothing is scanned; a page is written by one script.
"""

from __future__ import annotations

import bisect
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, fields
from typing import Any, Protocol

from noonmark.core.model import JobRow, Occurrence
from noonmark.ports.archive import KINDS, Import, Page, Record, highest_id
from noonmark.stores.redis import errors, wire
from noonmark.stores.redis.layout import BODY, HEAD, JOB, LINE

OF_OCCURRENCES = frozenset({"occurrence", "claim", "waiter", "attempt", "outcome", "note", "ledger"})
IDS_AT_ONCE = 1_000
COUNTERS = ("duplicates_refused", "stale_refused")
_ATTEMPT = ("fence", "number", "worker", "started_at", "ended_at", "outcome", "error")
_NOTE = ("kind", "name", "value", "fence", "at")
_REVISION = ("name", "rule", "digest", "revision", "effective_at", "event", "actor", "at")
_ALERT = (
    "job", "kind", "level", "code", "detail", "occurrence_id", "opened_at", "updated_at", "count", "closed_at",
)  # fmt: skip
_OCCURRENCE = tuple(part.name for part in fields(Occurrence))

Fields = dict[str, Any]
Place = list[Any]


class Reads(Protocol):
    """What this module needs of the store."""

    def ask(self, command: str, key: str, *args: Any) -> Any:
        """Run a plain command on a key of the namespace."""
        ...

    def read(self, script: str, about: object) -> Any:
        """Run a script that only reads."""
        ...

    def jobs(self, names: Any = None) -> list[JobRow]:
        """Read jobs."""
        ...


# -- out ------------------------------------------------------------------------------------------


def export_page(reads: Reads, cursor: str, limit: int) -> Page:
    """Read at most ``limit`` records from the cursor on; see the port."""
    kind, place = _place(cursor)
    records: list[Record] = []
    for name in KINDS[KINDS.index(kind) :]:
        for plain, reached in _READERS[name](reads, place, limit - len(records)):
            records.append(Record(kind=name, fields=plain))
            place = reached
            if len(records) >= limit:
                return Page(records=tuple(records), cursor=json.dumps([name, *place], ensure_ascii=False))
        place = []
    return Page(records=tuple(records), cursor=None)


def _place(cursor: str) -> tuple[str, Place]:
    if not cursor or cursor in KINDS:
        return cursor or KINDS[0], []
    try:
        kind, *place = json.loads(cursor)
        KINDS.index(kind)
        if len(place) != (2 if kind in OF_OCCURRENCES else 1):
            raise ValueError
    except (ValueError, TypeError):
        raise ValueError(f"{cursor!r} is no place in this archive") from None
    return kind, place


Found = Iterator[tuple[Fields, Place]]


def _named(reads: Reads, key: str, place: Place) -> list[str]:
    """Return the names in a hash after the place, in order."""
    names = sorted(reads.ask("HKEYS", key))
    return names[bisect.bisect_right(names, place[0]) :] if place else names


def _jobs(reads: Reads, place: Place, limit: int) -> Found:
    for job in reads.jobs(_named(reads, "job", place)[:limit]):
        plain = asdict(job)
        del plain["by"]  # told of revisions, where the record has it
        yield plain, [job.name]


def _revisions(reads: Reads, place: Place, limit: int) -> Found:
    first = highest = (place[0] if place else 0) + 1
    while first <= highest:
        last = first + min(limit, 500) - 1
        highest, rows = reads.read("revisions", [first, last])
        for number, row in zip(range(first, first + len(rows)), rows, strict=True):
            yield dict(zip(_REVISION, row, strict=False)), [number]  # behind it: the number of the one before
        first = last + 1


def _slots(reads: Reads, place: Place, limit: int) -> Found:
    for name in _named(reads, "slot", place)[:limit]:
        text = reads.ask("HGET", "slot", name)
        if text:
            number, since = text.split(" ")
            yield {"name": name, "occurrence_id": int(number), "since": int(since)}, [name]


def _facts(reads: Reads, place: Place, limit: int) -> Found:
    names = _named(reads, "fact", place)[:limit]
    for first in range(0, len(names), 500):
        some = names[first : first + 500]
        for name, answer in zip(some, reads.read("facts", some), strict=True):
            yield asdict(wire.fact(name, answer)), [name]


def _alerts(reads: Reads, place: Place, limit: int) -> Found:
    first, highest = (place[0] if place else 0) + 1, int(reads.ask("HGET", "meta", "alert") or 0)
    while first <= highest:
        last = min(first + min(limit, 500) - 1, highest)
        for answer in reads.read("alerts", [first, last]):
            yield asdict(wire.alert(answer)), [answer[0]]
        first = last + 1


def _counters(reads: Reads, place: Place, _limit: int) -> Found:
    for name in COUNTERS:
        value = int(reads.ask("HGET", "count", name) or 0)
        if value and (not place or name > place[0]):
            yield {"name": name, "value": value}, [name]


def _along(kind: str, told: Callable[[Any], Fields]) -> Callable[[Reads, Place, int], Found]:
    def read(reads: Reads, place: Place, limit: int) -> Found:
        number, offset = place or ((0 if kind == "ledger" else 1), 0)
        finished = False
        while not finished and limit > 0:
            following, reached, finished, _, records = reads.read("export", [kind, number, offset, limit, IDS_AT_ONCE])
            for record, where in zip(records, _places(kind, records, number, offset), strict=True):
                yield told(record), where
            limit -= len(records)
            number, offset = following, reached

    return read


def _places(kind: str, records: Sequence[Any], number: int, offset: int) -> Iterator[Place]:
    """Return where the next page would begin after each record."""
    before = number
    for record in records:
        owner = record[2] if kind in ("claim", "waiter") else record[0]
        offset = offset + 1 if owner == before else 1
        before = owner
        yield [owner, offset]


def _occurrence(record: Any) -> Fields:
    row, head = wire.occurrence(*record), dict(zip(HEAD, record[4], strict=True))
    plain = {name: getattr(row, name) for name in _OCCURRENCE}
    run_fence = head["run_fence"]
    return {
        **plain,
        "state": row.state.value,
        "origin": row.origin.value,
        "slot": (head["slot"] or [""])[-1],
        "run_fence": run_fence,
        "run_worker": head["run_worker"] if run_fence else "",
        "answered": head["answered"],
    }


_READERS: dict[str, Callable[[Reads, Place, int], Found]] = {
    "job": _jobs,
    "revision": _revisions,
    "occurrence": _along("occurrence", _occurrence),
    "claim": _along("claim", lambda one: dict(zip(("key", "generation", "occurrence_id"), one, strict=True))),
    "slot": _slots,
    "fact": _facts,
    "waiter": _along("waiter", lambda one: dict(zip(("fact", "version", "occurrence_id"), one, strict=True))),
    "attempt": _along("attempt", lambda one: asdict(wire.attempt(*one))),
    "outcome": _along("outcome", lambda one: dict(zip(("occurrence_id", "fence"), one, strict=True))),
    "note": _along("note", lambda one: {**asdict(wire.note(one[1])), "occurrence_id": one[0]}),
    "alert": _alerts,
    "ledger": _along("ledger", lambda one: asdict(wire.line(*one))),
    "counter": _counters,
}


def count_records(reads: Reads) -> dict[str, int]:
    """Count the records of each kind."""
    counts = {
        "job": int(reads.ask("HLEN", "job")),
        "revision": int(reads.ask("HLEN", "revision")),
        "slot": int(reads.ask("HLEN", "slot")),
        "fact": int(reads.ask("HLEN", "fact")),
        "alert": int(reads.ask("HLEN", "alert")),
        "occurrence": int(reads.ask("HLEN", "head")),
        "counter": sum(1 for _ in _counters(reads, [], 0)),
    }
    return {kind: counts[kind] if kind in counts else _count(reads, kind) for kind in KINDS}


def _count(reads: Reads, kind: str) -> int:
    number, finished, total = (0 if kind == "ledger" else 1), False, 0
    while not finished:
        number, _, finished, some, _ = reads.read("export", [kind, number, 0, 0, IDS_AT_ONCE])
        total += some
    return total


# -- in -------------------------------------------------------------------------------------------


def import_state(reads: Reads) -> Import | None:
    """Return how far a copy into this namespace has come."""
    source, cursor = reads.ask("HMGET", "import", "source", "cursor")
    return None if source is None else Import(source=source, cursor=cursor)


def page_to_write(source: str, page: Page) -> list[Any]:
    """Return a page as the script takes it; nothing in it is null."""
    groups = [
        [kind, [_WRITTEN[kind](record.fields) for record in page.records if record.kind == kind]] for kind in KINDS
    ]
    return _false([source, page.cursor, [group for group in groups if group[1]], highest_id(page)])  # type: ignore[no-any-return]


def check_written(url: str, reply: Sequence[Any]) -> None:
    """Say why a page was refused.

    Raises:
        StoreUnusable: the namespace holds something else.
    """
    remedy = "Name a namespace that is not there yet: ...?namespace=name."
    if reply[1] == "held":
        raise errors.unusable(url, f"nothing can be copied into it: it holds records already ({reply[2]})", remedy)
    if reply[1] == "other":
        raise errors.unusable(url, f"it holds a copy of another store ({reply[2]})", remedy)


def _false(value: Any) -> Any:
    """Return the value with False for None: a list with holes has no length where it is going."""
    if value is None:
        return False
    return [_false(item) for item in value] if isinstance(value, list) else value


def _job(record: Mapping[str, Any]) -> list[Any]:
    named = {
        "effective": "effective_at", "reason": "pause_reason", "seq": "",
    }  # fmt: skip
    job = [record[named.get(name, name)] if name != "seq" else 0 for name in JOB]
    return [record["name"], job]


def _row(record: Mapping[str, Any]) -> list[Any]:
    special = {
        "slot": None, "answered_as": "run" if record["answered"] else None, "answers": None, "waits": None, "out": 0,
    }  # fmt: skip
    head: list[Any] = []
    for name in HEAD:
        value = special[name] if name in special else record[wire.FROM_HEAD.get(name, name)]
        head.append(int(value) if isinstance(value, bool) else value)
    for name in ("due", "scheduled", "not_before", "not_after", "expires"):
        wire.instant_or_none(head[HEAD.index(name)], name)
    body = wire.dump([record[name] for name in BODY])
    return [
        record["id"], head, body, record["identity"], record["result"], record["error"], record["range_until"]
    ]  # fmt: skip


def _line(record: Mapping[str, Any]) -> list[Any]:
    return [record["occurrence_id"], [record[name] for name in LINE]]


_WRITTEN: dict[str, Callable[[Mapping[str, Any]], list[Any]]] = {
    "job": _job,
    "revision": lambda record: [record[name] for name in _REVISION],
    "occurrence": _row,
    "claim": lambda record: [record[name] for name in ("key", "generation", "occurrence_id")],
    "slot": lambda record: [record[name] for name in ("name", "occurrence_id", "since")],
    "fact": lambda record: [
        record["name"],
        [record["version"], wire.fact_text(record["value"]), record["set_at"] or 0, record["actor"]],
    ],
    "waiter": lambda record: [record[name] for name in ("fact", "version", "occurrence_id")],
    "attempt": lambda record: [record["occurrence_id"], [record[name] for name in _ATTEMPT]],
    "outcome": lambda record: [record["occurrence_id"], record["fence"]],
    "note": lambda record: [record["occurrence_id"], *(record[name] for name in _NOTE)],
    "alert": lambda record: [record["id"], [record[name] for name in _ALERT]],
    "ledger": _line,
    "counter": lambda record: [record["name"], record["value"]],
}
