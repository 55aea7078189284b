"""At a million rows no statement that runs often goes through a table, and none reads more than it is about.

The server explains every statement of the store's own verbs in its log (auto_explain), as it was executed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

import psycopg
import pytest

from noonmark.core.model import LOOK_LEASE, MINUTE, SECOND, Act, Event, Fact, Note, Query, Renewal
from noonmark.stores.postgres import PostgresStore, open_postgres
from noonmark.testing.builders import (
    LEASE,
    make_activation,
    make_caller_row,
    make_end,
    make_frontier,
    make_start,
    make_worker,
)
from noonmark.testing.servers import FORGETFUL, Postgres, start_postgres

ROWS = 1_000_000
OPEN = 100_000
BATCH = 100
MOST = 20 * BATCH
"""Rows that one step of a plan may read for a batch; a scan would read a hundred times as many."""
OPTIONS = {
    **FORGETFUL,
    "shared_preload_libraries": "auto_explain",
    "auto_explain.log_min_duration": "0",
    "auto_explain.log_analyze": "on",
    "auto_explain.log_timing": "off",
    "auto_explain.log_nested_statements": "on",
    "wal_level": "minimal",
    "max_wal_senders": "0",
    "max_wal_size": "8GB",
    "autovacuum": "off",
    "shared_buffers": "256MB",
    "maintenance_work_mem": "256MB",
}
COLUMNS = (
    "id, job, subject, identity, key, generation, claimed, state, due_at, scheduled_for, nominal, business_date, origin,"
    " frontier, gated, params, revision, worker, created_at"
)


@dataclass
class Site:
    """The server, the store on it, and how far its log was read."""

    server: Postgres
    store: PostgresStore
    now: int
    read_to: int = 0

    def plans(self) -> str:
        """Return the plans since the last call."""
        with self.server.log.open(encoding="utf-8") as log:
            log.seek(self.read_to)
            text = log.read()
            self.read_to = log.tell()
        return text


@pytest.fixture
def site() -> Iterator[Site]:
    with start_postgres(options=OPTIONS) as server:
        store = open_postgres(server.url)
        try:
            now = store.now()
            store.activate("job", [make_activation(effective_at=now)], actor="test")
            store.heartbeat(make_worker("w"), MINUTE)
            _fill(server, now)
            made = Site(server, store, now)
            made.plans()
            yield made
        finally:
            store.close()


def _fill(server: Postgres, now: int) -> None:
    ended = ROWS - OPEN
    due = f"CASE WHEN n <= {ended} THEN NULL WHEN n <= {ended + 2_000} THEN {now} - n ELSE {now} + 3600000000 + n END"
    row = (
        f"SELECT n, CASE WHEN n % 2 = 0 THEN 'job' ELSE 'other' || n % 50 END, '', 'l:' || n, 'old:' || n, 1, true,"
        f" CASE WHEN n <= {ended} THEN 'SUCCESS' ELSE 'PENDING' END, {due}, {now} - 1000000::bigint * ({ROWS} - n), '', '',"
        f" 'later', false, false, '{{}}', 1, '', {now} FROM generate_series(1, {ROWS}) AS n"
    )
    statements = [
        f"INSERT INTO occurrence ({COLUMNS}) {row}",
        f"ALTER TABLE occurrence ALTER COLUMN id RESTART WITH {ROWS + 1}",
        "INSERT INTO claim SELECT key, 1, id FROM occurrence",
        "INSERT INTO agenda SELECT id, due_at, '', job, state, false, true, false FROM occurrence WHERE due_at IS NOT NULL",
        (
            "INSERT INTO ledger (occurrence_id, job, at, last_at, count, event, verdict, code, detail, checks, worker,"
            f" fence, revision, actor) SELECT n, 'job', {now}, {now}, 1, 'succeed', '', '', '', '', '', 0, 1, ''"
            " FROM generate_series(1, 200000) AS n"
        ),
        "INSERT INTO fact SELECT 'flag:' || n, 1, 'true', 0, '' FROM generate_series(1, 20000) AS n",
        f"INSERT INTO waiter SELECT 'flag:' || n, 1, {ROWS} - n FROM generate_series(1, 20000) AS n",
        f"UPDATE occurrence SET waits = true WHERE id >= {ROWS} - 20000",
        f"INSERT INTO request SELECT 'add:old' || n, {now}, '[]' FROM generate_series(1, 100000) AS n",
        (
            "INSERT INTO worker (id, name, host, pid, process_started, boot_id, started_at, seen_at, until, ended_at,"
            f" tzdata, version, wall_offset, jobs, gone_at, reaped) SELECT 'w' || n, 'w', 'h', 1, '', '', {now}, {now},"
            f" {now}, {now}, '', '', 0, '[]', {now}, true FROM generate_series(1, 5000) AS n"
        ),
    ]
    with psycopg.connect(server.url, autocommit=True) as connection:
        connection.execute("SET search_path TO noonmark")
        indexes = connection.execute(
            "SELECT indexname, indexdef FROM pg_indexes WHERE schemaname = 'noonmark' AND indexname NOT LIKE '%_pkey'"
        ).fetchall()
        for name, _ in indexes:
            connection.execute(f"DROP INDEX {name}".encode())
        for statement in statements:
            connection.execute(statement.encode())
        for _, definition in indexes:
            connection.execute(definition.encode())
        connection.execute("ANALYZE")


BIG = {"occurrence", "claim", "agenda", "ledger", "fact", "waiter", "request", "worker"}


def _check(plans: str, *, big: set[str] = BIG) -> int:
    """Fail if a plan goes through a big table or reads more than it should; return how many plans there were."""
    scanned = set(re.findall(r"Seq Scan on (\w+)", plans)) & big
    assert not scanned, f"goes through {scanned}:\n{_around(plans, 'Seq Scan')}"
    for step in re.finditer(
        r"(?:Index|Index Only|Bitmap Heap) Scan[^\n]*? on (\w+)[^\n]*\(actual rows=([\d.]+) loops=(\d+)\)", plans
    ):
        if step[1] in big:
            read = float(step[2]) * int(step[3])
            assert read <= MOST, f"{read:.0f} rows of {step[1]} were read:\n{_around(plans, step[0])}"
    removed = [int(number) for number in re.findall(r"Rows Removed by (?:Index Recheck|Filter): (\d+)", plans)]
    assert max(removed, default=0) <= MOST, (
        f"{max(removed)} rows were read in vain:\n{_around(plans, f': {max(removed)}')}"
    )
    return len(re.findall(r"duration: [\d.]+ ms  plan:", plans))


def _around(plans: str, what: str) -> str:
    at = plans.find(what)
    return plans[max(0, at - 2_500) : at + 1_500]


def taking_and_settling_at_a_million_rows(site: Site) -> None:
    store = site.store
    taken = store.take("t1", "w", limit=BATCH, runnable={"job": LEASE}, look_lease=LOOK_LEASE)
    assert len(taken.rows) == BATCH
    running = [row for row in taken.rows if not row.looking]
    looked = [row for row in taken.rows if row.looking]
    assert running
    assert looked
    store.renew("w", [Renewal(occurrence_id=row.id, fence=row.fence, lease=LEASE) for row in running])
    note = Note(kind="step", name="load", value="1", fence=running[0].fence, at=0)
    store.note_if_held("w", running[0].id, running[0].fence, note)
    store.settle("s1", "w", [make_end(row) for row in running])
    parked = [make_end(row, Event.PARK, due_at=site.now + MINUTE) for row in looked[: len(looked) // 2]]
    store.settle("s2", "w", parked)
    store.settle("s3", "w", [make_start(row, revision=0) for row in looked[len(looked) // 2 :]])
    assert _check(site.plans()) > 8


def what_lapsed_what_is_ones_own_and_nothing_at_all(site: Site) -> None:
    store, later = site.store, site.now + 10 * LEASE
    own = make_caller_row("own", at=site.now - SECOND, worker="w")
    store.add("own", [own])
    store.heartbeat(make_worker("w"), 1000 * LEASE)
    for number in range(3):  # rows that lost a lease come alone
        store.take(f"late{number}", "w", limit=BATCH, runnable={"job": LEASE}, look_lease=LOOK_LEASE, at=later)
    store.take("idle", "w", limit=BATCH, runnable={}, look_lease=LOOK_LEASE, at=site.now - MINUTE)
    assert _check(site.plans()) > 8


def adding_and_claiming(site: Site) -> None:
    rows = [make_caller_row(f"new{n}", at=site.now + n) for n in range(BATCH)]
    held = [make_caller_row(f"dup{n}", at=site.now, key=f"old:{n + 1}") for n in range(BATCH)]
    assert {answer.outcome for answer in site.store.add("a1", rows)} == {"added"}
    assert {answer.outcome for answer in site.store.add("a2", held)} != {"added"}
    site.store.add("a1", rows)
    assert _check(site.plans()) > 5


def facts_that_wake_the_waiting(site: Site) -> None:
    store = site.store
    store.signal("sig", [Fact(name="flag:7", value=False), Fact(name="flag:new", value=True)])
    store.take("wakes", "w", limit=1, runnable={"job": LEASE}, look_lease=LOOK_LEASE)
    store.facts(["flag:7", "key:old:7", "slot:job:", "worker:w", "success:job::2026-11-29"])
    assert _check(site.plans()) > 3


def rules_people_and_reads(site: Site) -> None:
    store = site.store
    store.activate("r", [make_activation("series", effective_at=site.now, frontiers=(_frontier(site.now),))], actor="t")
    change = make_activation(
        "series", effective_at=site.now, digest="other", expected_revision=1, frontiers=(_frontier(site.now + 1),)
    )
    store.activate("r2", [change], actor="t")
    store.act("c", Act(kind="cancel", actor="t", reason="test", key=f"old:{ROWS - 30_000}"))
    store.heartbeat(make_worker("w"), MINUTE)
    store.occurrences(Query(job="job", limit=20))
    store.occurrences(Query(key="old:5", limit=20))
    store.occurrences(Query(limit=20))
    store.story(5)
    store.jobs(["job"])
    assert _check(site.plans()) > 8


def counting_reads_what_is_open_and_no_history(site: Site) -> None:
    site.store.tallies()
    assert _check(site.plans(), big=BIG - {"agenda"}) > 0


def _frontier(at: int) -> object:
    return make_frontier(f"f{at}", at=at + MINUTE, job="series", key=f"series:{at}")


@pytest.mark.timeout(300)
def test_no_hot_statement_goes_through_a_table_at_a_million_rows(site: Site) -> None:
    taking_and_settling_at_a_million_rows(site)
    what_lapsed_what_is_ones_own_and_nothing_at_all(site)
    adding_and_claiming(site)
    facts_that_wake_the_waiting(site)
    rules_people_and_reads(site)
    counting_reads_what_is_open_and_no_history(site)
