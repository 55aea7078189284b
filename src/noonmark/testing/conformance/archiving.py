"""The archive: what leaves one store enters another, whole, once, and still means the same."""

from __future__ import annotations

from typing import cast

from noonmark.core.model import Event, Origin, Query, State
from noonmark.ports.archive import KINDS, Import, Page
from noonmark.ports.store import StoreUnusable
from noonmark.testing.archives import ArchivedStore, Archives, copy, make_busy, plain, read_all
from noonmark.testing.builders import LEASE, make_worker
from noonmark.testing.conformance.harness import Harness


def a_store_has_a_name_of_its_own_that_stays(archives: Archives) -> None:
    other = archives.fresh()
    assert archives.source.store_id() == archives.source.store_id() != other.store_id()
    assert archives.source.store_id()


def an_empty_namespace_is_one_empty_page(archives: Archives) -> None:
    assert archives.source.export_page("", 10) == Page(records=(), cursor=None)
    assert set(archives.source.count_records()) == set(KINDS)
    assert not any(archives.source.count_records().values())
    assert archives.source.import_state() is None


def the_busy_scene_has_every_kind_of_record(archives: Archives) -> None:
    make_busy(archives.source)
    assert [kind for kind, count in archives.source.count_records().items() if not count] == []


def kinds_come_in_the_order_of_the_port(archives: Archives) -> None:
    make_busy(archives.source)
    order = [KINDS.index(record.kind) for record in read_all(archives.source)]
    assert order == sorted(order)


def what_is_counted_is_what_is_read(archives: Archives) -> None:
    make_busy(archives.source)
    kinds = [record.kind for record in read_all(archives.source)]
    assert {kind: kinds.count(kind) for kind in KINDS} == dict(archives.source.count_records())


def the_length_of_a_page_changes_nothing(archives: Archives) -> None:
    make_busy(archives.source)
    assert read_all(archives.source, 1) == read_all(archives.source, 5) == read_all(archives.source, 1000)


def reading_can_begin_with_any_kind(archives: Archives) -> None:
    make_busy(archives.source)
    every = read_all(archives.source)
    for kind in KINDS:
        rest = [record for record in every if KINDS.index(record.kind) >= KINDS.index(kind)]
        page = archives.source.export_page(kind, 3)
        assert list(page.records) == rest[:3]
        while page.cursor is not None:
            rest = rest[len(page.records) :]
            page = archives.source.export_page(page.cursor, 3)
            assert list(page.records) == rest[:3]


def the_model_holds_the_same_records_after_the_same_verbs(archives: Archives) -> None:
    """Times and fences are each store's own; everything else in a record is agreed on."""
    model = archives.model()
    make_busy(archives.source)
    make_busy(model)
    assert dict(archives.source.count_records()) == dict(model.count_records())
    assert [sorted(record.fields) for record in read_all(model)] == [
        sorted(record.fields) for record in read_all(archives.source)
    ]


def reading_changes_nothing(archives: Archives) -> None:
    make_busy(archives.source)
    before = read_all(archives.source)
    archives.source.count_records()
    assert read_all(archives.source) == before
    assert archives.source.import_state() is None


def a_copy_is_equal_record_for_record(archives: Archives) -> None:
    make_busy(archives.source)
    target = archives.fresh()
    copy(archives.source, target)
    assert plain(read_all(target)) == plain(read_all(archives.source))
    assert dict(target.count_records()) == dict(archives.source.count_records())
    assert target.import_state() == Import(source=archives.source.store_id(), cursor=None)


def a_copy_by_way_of_the_model_is_equal(archives: Archives) -> None:
    make_busy(archives.source)
    model, target = archives.model(), archives.fresh()
    copy(archives.source, model)
    assert plain(read_all(model)) == plain(read_all(archives.source))
    copy(model, target)
    assert plain(read_all(target)) == plain(read_all(archives.source))


def a_copy_of_the_model_is_equal(archives: Archives) -> None:
    model, target = archives.model(), archives.fresh()
    make_busy(model)
    copy(model, target)
    assert plain(read_all(target)) == plain(read_all(model))


def a_copy_of_a_copy_is_equal(archives: Archives) -> None:
    make_busy(archives.source)
    first, second = archives.fresh(), archives.fresh()
    copy(archives.source, first, 3)
    copy(first, second, 1000)
    assert plain(read_all(second)) == plain(read_all(archives.source))


def an_empty_namespace_can_be_copied(archives: Archives) -> None:
    target = archives.fresh()
    copy(archives.source, target)
    assert target.import_state() == Import(source=archives.source.store_id(), cursor=None)
    assert Harness(target).add(Harness(target).caller_row())[0].outcome == "added"


def stories_and_tallies_are_the_same_afterwards(archives: Archives) -> None:
    make_busy(archives.source)
    target = archives.fresh()
    copy(archives.source, target)
    rows = archives.source.occurrences(Query(after_id=0))
    assert target.occurrences(Query(after_id=0)) == rows
    for row in rows:
        assert target.story(row.id) == archives.source.story(row.id), row
    ours, theirs = archives.source.tallies(revisions=True), target.tallies(revisions=True)
    names = {row.name for row in ours.revisions}
    assert target.tallies(revisions=names).revisions == theirs.revisions
    for name in ("by_state", "earliest_due", "stale_refused", "duplicates_refused", "open_alerts", "revisions", "acts"):
        assert getattr(theirs, name) == getattr(ours, name), name
    assert target.jobs() == archives.source.jobs()
    assert target.jobs(event="order.paid") == archives.source.jobs(event="order.paid") != []


def a_page_that_arrives_twice_is_written_once(archives: Archives) -> None:
    make_busy(archives.source)
    target, name = archives.fresh(), archives.source.store_id()
    cursor: str | None = ""
    while cursor is not None:
        page = archives.source.export_page(cursor, 3)
        target.import_page(name, page)
        target.import_page(name, page)
        cursor = page.cursor
    assert plain(read_all(target)) == plain(read_all(archives.source))
    assert target.tallies().by_state == archives.source.tallies().by_state


def a_copy_that_was_cut_goes_on_where_it_stopped(archives: Archives) -> None:
    make_busy(archives.source)
    target = archives.fresh()
    copy(archives.source, target, pages=4)
    state = target.import_state()
    assert state is not None
    assert state.source == archives.source.store_id()
    assert state.cursor == _cursor_after(archives, 4)
    assert len(read_all(target)) < len(read_all(archives.source))
    copy(archives.source, target)
    assert plain(read_all(target)) == plain(read_all(archives.source))


def a_copy_goes_on_with_pages_of_another_length(archives: Archives) -> None:
    make_busy(archives.source)
    target = archives.fresh()
    for limit in (2, 11, 1, 5):
        copy(archives.source, target, limit, pages=2)
    copy(archives.source, target, 1000)
    assert plain(read_all(target)) == plain(read_all(archives.source))


def a_target_that_holds_something_is_refused(archives: Archives) -> None:
    make_busy(archives.source)
    target = archives.fresh()
    harness = Harness(target)
    harness.add_one(harness.caller_row("mine"))
    before = read_all(target)
    _is_refused(target, archives.source.store_id(), archives.source.export_page("", 5))
    assert read_all(target) == before
    assert target.import_state() is None


def a_target_with_nothing_but_a_flag_is_refused(archives: Archives) -> None:
    make_busy(archives.source)
    target = archives.fresh()
    Harness(target).signal("flag:mine")
    _is_refused(target, archives.source.store_id(), archives.source.export_page("", 5))


def a_target_that_is_being_copied_from_elsewhere_is_refused(archives: Archives) -> None:
    make_busy(archives.source)
    target, other = archives.fresh(), archives.fresh()
    copy(archives.source, target, pages=2)
    before = read_all(target)
    _is_refused(target, other.store_id(), other.export_page("", 5))
    assert read_all(target) == before


def workers_and_heartbeats_do_not_make_a_target_foreign(archives: Archives) -> None:
    make_busy(archives.source)
    target = archives.fresh()
    harness = Harness(target)
    target.heartbeat(make_worker("w9"), 60_000_000, at=harness.at(0))
    harness.take("w9")
    copy(archives.source, target)
    assert dict(target.count_records()) == dict(archives.source.count_records())


def what_was_done_is_refused_as_a_duplicate_afterwards(archives: Archives) -> None:
    make_busy(archives.source)
    target = archives.fresh()
    copy(archives.source, target)
    harness = Harness(target)
    holder = target.facts(["key:key:done"])["key:key:done"].value["occurrence_id"]
    added = harness.add(harness.caller_row("new", key="key:done"))[0]
    assert (added.outcome, added.duplicate_of) == ("duplicate_key", holder)
    assert harness.row(holder).generation == 1
    assert harness.add(harness.caller_row("done"))[0].outcome == "duplicate_identity"
    assert harness.add(harness.caller_row("x", key="key:unknown"))[0].outcome == "duplicate_key"


def a_released_key_goes_back_to_the_generation_before(archives: Archives) -> None:
    harness = Harness(archives.source)
    harness.activate()
    first = harness.ended(Event.SUCCEED, "a", key="k")
    second = harness.add_one(harness.series_row("b", at=1, key="k", claim=True, again=True, origin=Origin.MANUAL), at=1)
    target = archives.fresh()
    copy(archives.source, target)
    there = Harness(target)
    row = next(row for row in there.take(at=2).rows if row.id == second)
    there.end(row, Event.SKIP, at=2, verdict="skip_superseded")
    assert target.facts(["key:k"])["key:k"].value["occurrence_id"] == first.id


def new_ids_go_on_above_those_that_were_copied(archives: Archives) -> None:
    make_busy(archives.source)
    target = archives.fresh()
    copy(archives.source, target)
    harness = Harness(target)
    highest = max(row.id for row in target.occurrences(Query(after_id=0)))
    seq = max(record.fields["seq"] for record in read_all(target) if record.kind == "ledger")
    assert harness.add_one(harness.caller_row("new")) > highest
    harness.act("cancel", key="key:new")
    assert max(record.fields["seq"] for record in read_all(target) if record.kind == "ledger") > seq


def fences_go_on_growing_and_old_ones_are_refused(archives: Archives) -> None:
    busy = make_busy(archives.source)
    target = archives.fresh()
    copy(archives.source, target)
    harness = Harness(target)
    harness.t0 = busy.t0
    rows = {row.identity: row for row in target.occurrences(Query(states=frozenset({State.RUNNING})))}
    slotted, lost = rows["t:slotted"], rows["l:lost"]
    assert harness.end(slotted, at=38).outcome == "applied"
    taken = next(row for row in harness.take("w3", at=60).rows if row.id == lost.id)
    assert taken.fence > lost.fence
    assert harness.end(lost, worker="w2", at=60).outcome == "stale"


def an_answered_fence_is_answered_the_same_afterwards(archives: Archives) -> None:
    harness = Harness(archives.source)
    harness.activate()
    row = harness.running("a")
    harness.end(row, at=1)
    look = harness.looked_at("b", at=1)
    harness.end(look, Event.SKIP, at=1, verdict="skip_guard")
    target = archives.fresh()
    copy(archives.source, target)
    there = Harness(target)
    assert there.end(row, at=2).outcome == "applied"
    assert there.end(look, Event.SKIP, at=2).outcome == "applied"
    assert target.tallies().stale_refused == 0


def what_waits_for_a_fact_is_woken_afterwards(archives: Archives) -> None:
    busy = make_busy(archives.source)
    target = archives.fresh()
    copy(archives.source, target)
    harness = Harness(target)
    harness.t0 = busy.t0
    assert "t:parked" not in {row.identity for row in harness.take("w3", at=38).rows}
    harness.signal("flag:data", at=38)
    assert "t:parked" in {row.identity for at in (39, 39.1) for row in harness.take("w3", at=at).rows}


def what_waits_for_a_fact_that_moved_already_is_woken_by_the_copy(archives: Archives) -> None:
    busy = make_busy(archives.source)
    busy.signal("flag:data", at=37.5)  # nobody takes any more in the source
    target = archives.fresh()
    copy(archives.source, target)
    harness = Harness(target)
    harness.t0 = busy.t0
    assert "t:parked" in {row.identity for at in (38, 38.1) for row in harness.take("w3", at=at).rows}


def an_occupied_slot_stays_occupied(archives: Archives) -> None:
    busy = make_busy(archives.source)
    target = archives.fresh()
    copy(archives.source, target)
    harness = Harness(target)
    harness.t0 = busy.t0
    occupant = target.facts(["slot:job:"])["slot:job:"].value["occurrence_id"]
    look = harness.looked_at("next", at=38, revision=2)
    assert harness.start(look, at=38, slot="slot:job:", revision=2).changed == ("slot:job:",)
    running = harness.row(occupant)
    harness.end(running, at=38)
    assert harness.start(look, at=38, slot="slot:job:", revision=2).outcome == "applied"


def rows_of_a_worker_that_did_not_come_along_are_cancelled(archives: Archives) -> None:
    make_busy(archives.source)
    target = archives.fresh()
    copy(archives.source, target)
    harness = Harness(target)
    harness.take("w3", at=1, limit=0)
    own = next(row for row in target.occurrences(Query(job="job", key="key:own")))
    assert (own.state, own.code) == (State.CANCELLED, "worker_gone")
    assert target.workers() == [], "nobody was heard of here yet"


def a_copy_can_be_worked_with_at_once(archives: Archives) -> None:
    busy = make_busy(archives.source)
    target = archives.fresh()
    copy(archives.source, target)
    harness = Harness(target)
    harness.t0 = busy.t0
    for second in (1000, 1001, 1002, 1003, 1004, 1005, 1006, 1007, 1008, 1009):
        for row in harness.take("w3", at=second, runnable={"job": LEASE}).rows:
            harness.end(row, Event.SUCCEED if not row.looking else Event.SKIP, worker="w3", at=second)
    left = target.occurrences(Query(open_only=True))
    assert {row.state for row in left} <= {State.RUNNING}, left


def who_works_at_the_target_already_reads_its_rules_again(archives: Archives) -> None:
    make_busy(archives.source)
    target = Harness(archives.fresh())
    before = target.take(limit=0).rules_version
    copy(archives.source, cast(ArchivedStore, target.store))
    assert target.take(limit=0).rules_version > before


def _cursor_after(archives: Archives, pages: int) -> str | None:
    cursor: str | None = ""
    for _ in range(pages):
        assert cursor is not None
        cursor = archives.source.export_page(cursor, 7).cursor
    return cursor


def _is_refused(target: ArchivedStore, source: str, page: Page) -> None:
    told = ""
    try:
        target.import_page(source, page)
    except StoreUnusable as refused:
        told = str(refused)
    assert told, "a target with other records must be refused, in words"
