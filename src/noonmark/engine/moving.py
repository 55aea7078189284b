"""A namespace on its way from one store to another, and the proof that all of it arrived.

Promises: the source is only read, and marked as copied at the end (``copied.py``); a copy that was cut goes on where it
stopped; what is called equal was read from both stores and compared, record by record; and nobody can work with a copy
before it was compared.

Rule of the file: it knows the two ports, store and archive, and no store.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from typing import Protocol

from noonmark.core.model import Micros
from noonmark.core.values import dataclass
from noonmark.engine.copied import counts_of, is_mark
from noonmark.ports.archive import KINDS, Archive, Import, Page
from noonmark.ports.store import Store

PAGE = 250
"""Records a page: each is one transaction, so a copy never holds a store up for long."""


TO_COMPARE = "to be compared"
"""The place that is kept with the last records: whoever is cut now has still to compare, and nobody may work there yet."""


class Movable(Store, Archive, Protocol):
    """A store with its archive."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What a copy would do, from reading alone."""

    source_id: str
    counts: Mapping[str, int]  # records in the source, by kind
    there: Mapping[str, int]  # records in the target, by kind
    state: Import | None  # how far an earlier copy into the target has come
    is_same: bool  # both URLs lead to one store
    awake: tuple[str, ...]  # names of workers that live in the source
    awake_there: tuple[str, ...]  # ... and in the target
    offset: Micros  # the target's time minus the source's
    untouched: bool  # no worker was ever heard of in the target

    @property
    def is_complete(self) -> bool:
        """True when this source was copied to its end before."""
        return self.state is not None and self.state.source == self.source_id and self.state.cursor is None

    @property
    def goes_on(self) -> bool:
        """True when an earlier copy of this source was cut."""
        return self.state is not None and self.state.source == self.source_id and self.state.is_under_way

    @property
    def is_foreign(self) -> bool:
        """True when the target holds what did not come from this source."""
        if self.state is None:
            return any(self.there.values())
        return self.state.source != self.source_id


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """A kind of which the two stores do not hold the same."""

    kind: str
    source: int
    target: int


def plan(source: Movable, target: Movable) -> Plan:
    """Look at both stores."""
    source_id = source.store_id()
    begin = source.now()
    there = target.now()
    offset = there - (begin + source.now()) // 2
    return Plan(
        source_id=source_id,
        counts=counts_of(source, source.count_records()),
        there=dict(target.count_records()),
        state=target.import_state(),
        is_same=source_id == target.store_id(),
        awake=awake(source),
        awake_there=awake(target),
        offset=offset,
        untouched=not target.workers(),
    )


def awake(store: Store) -> tuple[str, ...]:
    """Return the names of the workers that live there; one that was killed counts until its heartbeat lapses."""
    now = store.now()

    return tuple(worker.name for worker in store.workers() if worker.is_awake(now))


def copy(source: Movable, target: Movable, *, progress: Callable[[int], None], limit: int = PAGE) -> int:
    """Copy what is not there yet; return how many records went over.  ``finish`` opens the target for work.

    Args:
        source, target: where from and where to.
        progress: told after every page how many records went over since the beginning of this call.
        limit: records a page.

    Raises:
        StoreUnusable: the target holds something that did not come from the source.
        StoreUnreachable: one of the two is away; the next call goes on.
    """
    source_id, state, done = source.store_id(), target.import_state(), 0
    cursor = "" if state is None else state.cursor
    while cursor is not None and cursor != TO_COMPARE:
        page = source.export_page(cursor, limit)
        cursor = TO_COMPARE if page.cursor is None else page.cursor
        records = tuple(record for record in page.records if not is_mark(record))
        target.import_page(source_id, Page(records=records, cursor=cursor))
        done += len(records)
        progress(done)
    return done


def finish(source: Archive, target: Archive) -> None:
    """Let the target be worked with: what was copied has been compared, or is wanted as it is."""
    target.import_page(source.store_id(), Page(records=(), cursor=None))


def differences(source: Archive, target: Archive, *, limit: int = PAGE) -> list[Difference]:
    """Read both stores and return what is not the same in both; the order in which a store reads its records is its own."""
    ours, theirs = (_digests(store, limit) for store in (source, target))
    return [
        Difference(kind=kind, source=ours[kind][0], target=theirs[kind][0])
        for kind in KINDS
        if ours[kind] != theirs[kind]
    ]


def _digests(store: Archive, limit: int) -> dict[str, tuple[int, int]]:
    """Return by kind how many records there are, and the sum of their digests: equal for equal sets."""
    found = dict.fromkeys(KINDS, (0, 0))
    cursor: str | None = ""
    while cursor is not None:
        page = store.export_page(cursor, limit)
        for record in page.records:
            if is_mark(record):
                continue
            text = json.dumps(record.fields, sort_keys=True, ensure_ascii=True).encode()
            digest = int.from_bytes(hashlib.blake2b(text, digest_size=16).digest())
            count, total = found[record.kind]
            found[record.kind] = count + 1, (total + digest) % (1 << 128)
        cursor = page.cursor
    return found
