"""What the archive's cases get: the store under test, busy with everything a namespace can hold, and fresh ones beside it.

Rule of the file: the busy scene is made by the port's verbs alone, with ``at=`` for every instant, so that every store
comes to hold the same records.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, cast

from noonmark.core.model import LOOK_LEASE, AlertWrite, Event, FactWrite, Gates, Note, State
from noonmark.ports.archive import KINDS, Archive, Record
from noonmark.ports.store import Store
from noonmark.testing.builders import make_end, make_worker
from noonmark.testing.conformance.harness import Harness

ODD = "\x00\ue000\ue0001\u2028'\"\\{},%上"
"""Text that needs care wherever it is quoted, escaped or paged by; a store keeps it or refuses it, and never changes it."""
LIMIT = 7
"""Records a page in the cases: every kind is cut somewhere."""


class ArchivedStore(Store, Archive, Protocol):
    """A store with its archive, as every store of noonmark is one."""


class Archives:
    """Stores by name, each fresh and of the kind under test; ``model`` is the memory store.

    Args:
        make: returns a new, empty store of the kind under test; called with a name of its own each time.
    """

    def __init__(self, make: Callable[[str], Store]) -> None:
        self._make = make
        self._opened: list[Store] = []
        self.source = self.fresh()

    def fresh(self) -> ArchivedStore:
        """Return another empty store of the kind under test."""
        store = self._make(f"store{len(self._opened)}")
        self._opened.append(store)
        return cast(ArchivedStore, store)

    def model(self) -> ArchivedStore:
        """Return an empty memory store."""
        from noonmark.stores.memory import MemoryStore

        store = MemoryStore()
        self._opened.append(store)
        return store

    def close(self) -> None:
        """Close every store that was opened."""
        for store in self._opened:
            store.close()


def read_all(store: Archive, limit: int = LIMIT) -> list[Record]:
    """Read every record, page by page."""
    records: list[Record] = []
    cursor: str | None = ""
    while cursor is not None:
        page = store.export_page(cursor, limit)
        assert len(page.records) <= limit, "a page holds no more than was asked for"
        records += page.records
        cursor = page.cursor
    return records


def copy(source: Archive, target: Archive, limit: int = LIMIT, *, pages: int | None = None) -> None:
    """Copy what is left to be copied, or a number of pages of it."""
    name = source.store_id()
    state = target.import_state()
    cursor = "" if state is None else state.cursor
    while cursor is not None and pages != 0:
        page = source.export_page(cursor, limit)
        target.import_page(name, page)
        cursor, pages = page.cursor, None if pages is None else pages - 1


def plain(records: list[Record]) -> list[str]:
    """Return records so that those of two stores can be compared, whatever order each store reads them in."""
    return sorted(f"{KINDS.index(record.kind):02d} {record.kind} {sorted(record.fields.items())}" for record in records)


def make_busy(store: Store) -> Harness:
    """Bring a store to hold every kind of record, open and ended, and return the harness that counts its seconds."""
    harness = Harness(store)
    _make_rules(harness)
    _make_ends(harness)
    _make_open(harness)
    return harness


def _make_rules(harness: Harness) -> None:
    harness.activate(harness.frontier_row("f1", at=600, business_date="2026-11-28"))
    second = harness.frontier_row("f2", at=700)
    harness.activate(second, digest="digest-2", expected_revision=1, event="order.paid", at=1)
    harness.activate(job="other", rule='{"city": "上海"}')
    harness.act("pause", job="other", at=1, reason="数据未就绪")
    harness.signal("flag:corpus", {"rows": [1, 2.5, None, "—"]}, at=1)
    harness.signal(f"flag:odd {ODD}", {ODD: ODD}, at=1)
    harness.signal("flag:gone", at=1)
    harness.signal("flag:gone", None, at=2)
    for worker in ("w1", "w2"):
        harness.store.heartbeat(make_worker(worker), 60_000_000, at=harness.at(0))


def _make_ends(harness: Harness) -> None:
    done = harness.running("done", at=2, params='{"text": "x\\ny"}', revision=2)
    harness.store.note_if_held("w1", done.id, done.fence, Note(kind="step", name="load", value="1"), at=harness.at(2))
    harness.store.note_if_held("w1", done.id, done.fence, Note(kind="step", name="a", value="2"), at=harness.at(2))
    fact = FactWrite(name="success:job::2026-11-28", value=True, actor="w1")
    harness.end(done, at=3, result='"ok"', facts=(fact,))
    harness.end(done, Event.FAIL_RETRY, worker="w2", at=3, due_at=harness.at(9))  # too late: it is done
    harness.add(harness.caller_row("done2", at=3, key="key:done", revision=2), at=3)  # a duplicate
    failed = harness.running("failed", at=3, revision=2)
    alert = AlertWrite(job="job", kind="failing", level=3, code="failed", detail={"n": 1}, occurrence_id=failed.id)
    harness.end(failed, Event.FAIL_MANUAL, at=4, error="boom", alerts=(alert,))
    harness.act("cancel", key="key:unknown", job="job", at=4)
    skipped = harness.looked_at("skipped", at=4, revision=2)
    harness.end(skipped, Event.SKIP, at=4, verdict="skip_guard", checks='[{"name": "guard"}]')
    harness.add(
        harness.series_row(
            "range", at=4, state=State.SKIPPED, verdict="skip_superseded", code="passed_over", revision=2,
            range_until=harness.at(4.5), range_count=5,
        ),
        at=4,
    )  # fmt: skip
    again = harness.caller_row("done3", at=5, key="key:done", again=True, revision=2)
    harness.add_one(again, at=5)
    harness.end(harness.take_one(at=5), at=5)


def _make_open(harness: Harness) -> None:
    lost = harness.running("lost", at=6, revision=2)
    retried = harness.running("retried", at=6, revision=2)
    harness.end(retried, Event.FAIL_RETRY, at=7, due_at=harness.at(900), error="again")
    slotted = harness.looked_at("slotted", at=7, revision=2)
    harness.start(slotted, at=7, slot="slot:job:", revision=2, lease=500_000_000)
    parked = harness.looked_at("parked", at=8, revision=2)
    seen = Gates(revision=2, facts={"flag:data": 0, "flag:corpus": 1})
    harness.end(parked, Event.PARK, at=8, due_at=harness.at(800), gates=seen, verdict="skip_dep", code="flag_missing")
    twice = harness.looked_at("twice", at=8, revision=2)
    for second in (8, 9):
        harness.end(twice, Event.PARK, at=second, due_at=harness.at(second + 1), verdict="skip_dep", code="not_yet")
        twice = harness.take_one(at=second + 1)
    harness.end(twice, Event.PARK, at=10, due_at=harness.at(850), verdict="skip_dep", code="not_yet")
    harness.add_one(harness.caller_row("own", at=820, worker="w2", revision=2), at=10)
    odd = {"key": f"key:{ODD}", "note": ODD, "actor": ODD, "params": '{"a": "\\u0000"}'}
    harness.add_one(harness.caller_row("odd", at=840, subject=ODD, revision=2, **odd), at=10)
    harness.add_one(harness.caller_row("later", at=830, claim=True, priority=2, queue="slow", revision=2), at=10)
    taken = harness.store.take(
        harness.request(), "w2", limit=1, runnable={"job": 500_000_000}, look_lease=LOOK_LEASE, at=harness.at(37)
    )
    assert [row.id for row in taken.rows] == [lost.id], taken
    harness.settle(make_end(lost), at=37)  # refused and counted: w2 looks at it now
