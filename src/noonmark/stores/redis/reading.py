"""The reads: which occurrences a query means, and in which order.

Rule of the file: a query goes through an index; ids are few bytes each and are read in large pages, rows in small ones, so
that no script holds up the server.  Nothing is read that was not asked for.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from itertools import chain
from operator import itemgetter
from typing import Any, Protocol

from noonmark.core.model import OPEN_STATES, JobRow, LedgerLine, Micros, Occurrence, Query, State
from noonmark.stores.redis import wire

ROWS_AT_ONCE = 500
IDS_AT_ONCE = 20_000
SMALL = 1_000
READ_ANEW = 5
DUE_INDEXES = ("due:new", "due:parked", "due:held")


class Reads(Protocol):
    """What this module needs of the store."""

    def ask(self, command: str, key: str, *args: Any) -> Any:
        """Run a plain command on a key of the namespace."""
        ...

    def any_of(self, *indexes: str) -> Any:
        """Return the members of several sorted sets, as they are at one moment."""
        ...

    def both(self, first: str, second: str) -> Any:
        """Return the members that two sorted sets have in common."""
        ...

    def read(self, script: str, about: object) -> Any:
        """Run a script that only reads."""
        ...


def occurrences(reads: Reads, query: Query) -> list[Occurrence]:
    """Read the rows that match every field of the query."""
    if query.limit <= 0:
        return []
    if (query.open_only or query.frontier_only) and not query.ids:
        few = _at_one_moment(reads, query)
        if few is not None:
            return few
    if query.after_id is None and (index := _in_order(query)) is not None:
        members = _numbers(reads.ask("ZRANGEBYSCORE", index, "-inf", _bounds(query)[1]))
        return _take(reads, query, members if query.oldest_first else members[::-1])
    ids = _chosen(reads, query)
    if ids is None:
        return _take(reads, query, _walk(reads, query))
    if query.after_id is not None:
        return _take(reads, query, sorted(number for number in ids if number > (query.after_id or 0)))
    if len(ids) > SMALL:
        return _take(reads, query, _by_schedule(reads, ids, query))
    found = _take(reads, query, ids, limit=len(ids))
    found.sort(key=lambda row: (row.scheduled_for, row.id), reverse=not query.oldest_first)
    return found[: query.limit]


def _at_one_moment(reads: Reads, query: Query) -> list[Occurrence] | None:
    """Read rows that come and go as they are together; None where they are too many for that.

    Between the reading of ids and of rows one may end and its successor come, which no id was there for: so all are read
    anew, not only the new, for a frontier that was read may have handed that on.  Where rows come faster than they can be
    read, the last reading counts.
    """
    ids, rows, read = _ids_now(reads, query), list[Occurrence](), set[int]()
    for _ in range(READ_ANEW):
        if ids is None or len(ids) > SMALL:
            return None
        if read.issuperset(ids):
            break
        rows, read = _take(reads, query, ids, limit=len(ids)), set(ids)
        ids = _ids_now(reads, query)
    if query.after_id is not None:
        rows = sorted((row for row in rows if row.id > query.after_id), key=lambda row: row.id)
    else:
        rows.sort(key=lambda row: (row.scheduled_for, row.id), reverse=not query.oldest_first)
    return rows[: query.limit]


def _ids_now(reads: Reads, query: Query) -> list[int] | None:
    index = _in_order(query)
    ids = _chosen(reads, query) if index is None else _numbers(reads.ask("ZRANGE", index, 0, -1))
    return ids if ids is None else list(dict.fromkeys(ids))


def _take(
    reads: Reads, query: Query, ids: Iterator[int] | Sequence[int], *, limit: int | None = None
) -> list[Occurrence]:
    """Read rows in the order of their ids until there are enough; an id that comes twice counts once."""
    wanted = query.limit if limit is None else limit
    states = None if query.states is None else {state.value: True for state in query.states}
    found: list[Occurrence] = []
    seen: set[int] = set()
    batch: list[int] = []
    size = min(ROWS_AT_ONCE, max(wanted, 10))

    def read() -> None:
        about = [
            batch, query.job, query.subject, query.key, query.identity, states,
            query.open_only, query.frontier_only, query.scheduled_from, query.scheduled_until, wanted - len(found),
        ]  # fmt: skip
        found.extend(wire.occurrence(*row) for row in reads.read("rows", about))

    for number in ids:
        if number in seen:
            continue
        seen.add(number)
        batch.append(number)
        if len(batch) >= size:
            read()
            batch = []
            size = ROWS_AT_ONCE
            if len(found) >= wanted:
                return found
    if batch:
        read()
    return found


def _in_order(query: Query) -> str | None:
    """Return the small index that has exactly the candidates, in the order of their moments; it is read at one moment."""
    if query.ids or query.key or query.job is not None:
        return None
    if query.frontier_only:
        return "frontier"
    return "failed" if query.states == frozenset({State.FAILED_MANUAL}) and not query.open_only else None


def _chosen(reads: Reads, query: Query) -> list[int] | None:
    """Return the ids among which the answer must be, where they are few compared with all rows; None = walk an index."""
    if query.ids:
        return list(dict.fromkeys(query.ids))
    if query.key:
        return list(reads.read("keyed", [query.key]))
    if query.identity is not None and query.job is not None and query.subject is not None:
        return _identified(reads, query.job, query.subject, query.identity)
    if query.frontier_only and query.job:
        return _numbers(
            reads.ask("ZRANGE", f"series:{query.job}", 0, -1) + reads.both("frontier", f"asked:{query.job}")
        )
    if query.frontier_only:
        return _numbers(reads.ask("ZRANGE", "frontier", 0, -1))
    if query.open_only or (query.states is not None and query.states <= OPEN_STATES):
        return _open(reads, query)
    if query.states == frozenset({State.FAILED_MANUAL}):
        return _numbers(reads.ask("ZRANGE", "failed", 0, -1))
    if query.after_id is not None and (query.job is not None or query.scheduled_from is not None):
        index = f"rows:{query.job}" if query.job is not None else "scheduled"
        low, high = _bounds(query)
        return _numbers(chain(reads.ask("ZRANGEBYSCORE", index, low, high), _reaching(reads, query)))
    return None


def _identified(reads: Reads, job: str, subject: str, identity: str) -> list[int]:
    name = f"{len(job.encode())}:{len(subject.encode())}:{job}{subject}{identity}"
    number = reads.ask("HGET", "ident", name)
    return [] if number is None else [int(number)]


def _open(reads: Reads, query: Query) -> list[int]:
    if query.job:
        members = (reads.ask("ZRANGE", f"{kind}:{query.job}", 0, -1) for kind in ("series", "asked"))
        return _numbers(chain.from_iterable(members))
    kinds = ("due:held",) if query.states == frozenset({State.RUNNING}) else DUE_INDEXES
    own = (member[-12:] for member in reads.ask("ZRANGE", "own", 0, -1))
    return _numbers(chain(reads.any_of(*kinds), own))


def _numbers(members: Any) -> list[int]:
    return [int(member) for member in members]


def _bounds(query: Query) -> tuple[str, str]:
    low = "-inf" if query.scheduled_from is None else str(query.scheduled_from)
    high = "+inf" if query.scheduled_until is None else f"({query.scheduled_until}"
    return low, high


def _reaching(reads: Reads, query: Query) -> list[Any]:
    """Return range records that reach into the span, wherever they begin."""
    if query.scheduled_from is None:
        return []
    found: list[Any] = reads.ask("ZRANGEBYSCORE", "range", query.scheduled_from, "+inf")
    return found


def _by_schedule(reads: Reads, ids: Sequence[int], query: Query) -> list[int]:
    """Return the ids in the order of the query, without reading the rows."""
    scored: list[tuple[float, int]] = []
    for first in range(0, len(ids), 5_000):
        some = ids[first : first + 5_000]
        scores = reads.ask("ZMSCORE", "scheduled", *(f"{number:012d}" for number in some))
        scored += [(float(score), number) for score, number in zip(scores, some, strict=True) if score is not None]
    scored.sort(reverse=not query.oldest_first)
    return [number for _, number in scored]


def _walk(reads: Reads, query: Query) -> Iterator[int]:
    """Go along an index, page by page; rows never leave these indexes, so a page misses nothing."""
    if query.after_id is not None:
        highest = int(reads.ask("HGET", "meta", "id") or 0)
        yield from range(query.after_id + 1, highest + 1)
        return
    low, high = _bounds(query)
    early = _numbers(_early(reads, query, low))
    if query.oldest_first:
        yield from early
    yield from _along(reads, f"rows:{query.job}" if query.job is not None else "scheduled", query, low, high)
    if not query.oldest_first:
        yield from reversed(early)


def _early(reads: Reads, query: Query, low: str) -> list[Any]:
    """Return range records that begin before the span and reach into it, by their beginning."""
    members = _reaching(reads, query)
    if not members:
        return []
    scores = reads.ask("ZMSCORE", "scheduled", *members)
    begun = [(float(score), member) for score, member in zip(scores, members, strict=True) if score is not None]
    return [member for score, member in sorted(begun) if score < float(low)]


def _along(reads: Reads, index: str, query: Query, low: str, high: str) -> Iterator[int]:
    first = int(reads.ask("ZCOUNT", index, "-inf", f"({low}")) if low != "-inf" else 0
    after = int(reads.ask("ZCOUNT", index, "-inf", high)) if high != "+inf" else int(reads.ask("ZCARD", index))
    page = min(max(query.limit, SMALL), IDS_AT_ONCE)
    while first < after:
        if query.oldest_first:
            members = reads.ask("ZRANGE", index, first, min(first + page, after) - 1)
            first += page
        else:
            members = reversed(reads.ask("ZRANGE", index, max(after - page, first), after - 1))
            after -= page
        yield from _numbers(members)


def revisions(reads: Reads, names: Collection[str] | None) -> tuple[JobRow, ...]:
    """Read the rules that were ever in force, oldest first; of these jobs only, where they are named."""
    if names is not None:
        found: list[Any] = []
        left: list[Any] = [[name, 0] for name in sorted(set(names))]
        while left:
            some, rest = reads.read("lineage", left[:ROWS_AT_ONCE])
            found += some
            left = rest + left[ROWS_AT_ONCE:]
        return tuple(_revision(*row[1:]) for row in sorted(found, key=itemgetter(0)))
    first, highest, rules = 1, 1, []
    while first <= highest:
        highest, rows = reads.read("revisions", [first, first + ROWS_AT_ONCE - 1])
        first += ROWS_AT_ONCE
        rules += [_revision(*row[:7]) for row in rows]
    return tuple(rules)


def _revision(name: str, rule: str, digest: str, revision: int, effective: Micros, event: str, actor: str) -> JobRow:
    return JobRow(name=name, rule=rule, digest=digest, revision=revision, effective_at=effective, event=event, by=actor)


def acts(reads: Reads) -> tuple[LedgerLine, ...]:
    """Read what people did to whole jobs, oldest first; such lines stand under no occurrence (0)."""
    found: list[LedgerLine] = []
    number, offset = 0, 0
    while number == 0:
        number, offset, _, _, records = reads.read("export", ["ledger", 0, offset, ROWS_AT_ONCE, 1])
        found += [wire.line(*record) for record in records]
    return tuple(line for line in found if line.job)
