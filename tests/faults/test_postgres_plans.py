"""No statement of the PostgreSQL store reads a large table from end to end, at a million rows and at none.

A plan is kept for the life of a connection, so the one that is made while a table is empty must be right for a full one.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from noonmark.core.model import Query, State
from noonmark.stores.postgres import (
    alerts,
    clock,
    desk,
    facts,
    leases,
    open_postgres,
    reading,
    requests,
    settling,
    taking,
    transaction,
    waking,
    writing,
)
from noonmark.stores.postgres.link import SETTINGS, placed
from noonmark.testing.servers import Postgres

ROWS = 1_000_000
SCHEMA = "plans"
EMPTY, FULL = "planned in empty tables", "planned in full ones"
LARGE = {
    "job_revision",
    "occurrence",
    "agenda",
    "claim",
    "request",
    "ledger",
    "waiter",
    "attempt",
    "outcome",
    "note",
    "fact",
}
HISTORY = LARGE - {"agenda", "waiter"}
NONE: tuple[Any, ...] = ("{}",) * 6


def _fill(connection: psycopg.Connection) -> None:
    """A million occurrences, one in ten of them open; with claims, and histories in proportion."""
    statements = (
        (
            "INSERT INTO ~occurrence (job, subject, identity, key, generation, claimed, state, due_at, scheduled_for,"
            " nominal, business_date, origin, frontier, gated, params, revision, worker, created_at)"
            " SELECT 'job' || n % 50, '', 'i:' || n, 'k:' || n, 0, true,"
            " CASE WHEN n % 10 = 0 THEN 'PENDING' ELSE 'SUCCESS' END,"
            " CASE WHEN n % 10 = 0 THEN n END, n, '', '', 'schedule', false, false, '{}', 1, '', n"
            f" FROM generate_series(1, {ROWS}) AS n"
        ),
        "INSERT INTO ~agenda SELECT id, due_at, '', job, state, true, true, false FROM ~occurrence WHERE due_at IS NOT NULL",
        "INSERT INTO ~claim SELECT key, 0, id FROM ~occurrence",
        "INSERT INTO ~request SELECT 'r' || n, n, '' FROM generate_series(1, 100000) AS n",
        (
            "INSERT INTO ~ledger (occurrence_id, job, at, last_at, count, event, verdict, code, detail, checks, worker,"
            " fence, revision, actor) SELECT n, 'j', n, n, 1, 'x', '', '', '', '', '', 0, 1, ''"
            " FROM generate_series(1, 200000) AS n"
        ),
        "INSERT INTO ~waiter SELECT 'f' || n % 100, 0, n FROM generate_series(1, 50000) AS n",
        "INSERT INTO ~fact SELECT 'f' || n, 1, '1', 0, '' FROM generate_series(1, 50000) AS n",
        "INSERT INTO ~attempt SELECT n, 1, 1, 'w', 1, 1, 'lost', NULL FROM generate_series(1, 50000) AS n",
        "INSERT INTO ~outcome SELECT n, 1 FROM generate_series(1, 50000) AS n",
        (
            "INSERT INTO ~worker SELECT 'w' || n, '', '', 1, '', '', 1, 1, 1, NULL, '', '', 0, '[]', 1, false"
            " FROM generate_series(1, 50) AS n"
        ),
    )
    for statement in statements:
        connection.execute(placed(statement, f"{SCHEMA}.").encode())
    connection.execute("ANALYZE")


def _lines(columns: int, count: int = 1) -> tuple[Any, ...]:
    return ("{}",) * columns * count


STATEMENTS: dict[str, tuple[str, tuple[Any, ...]]] = {
    "open": (transaction.OPEN, ("r",)),
    "tell": (transaction._TELL, ("c", 1, True)),
    "outlook": (taking.OUTLOOK, (1, "w")),
    "due": (taking.DUE, (1, "w", 10)),
    "due of one's own": (taking.DUE_OWN, (1, "w", 10)),
    "start": (taking.START, (*_lines(4), "w", 1)),
    "look": (taking.LOOK, (*_lines(6), "w")),
    "take again": (taking._AGAIN, ("{}",)),
    "lock": (settling.LOCK, ("{}",)),
    "succeed": (settling.SUCCEED, (1, *_lines(7))),
    "ledger of successes": (settling._LEDGER, (1, "w", "{}", "{}")),
    "rows": (desk._ROWS, NONE),
    "known rows": (desk._KNOWN, _lines(3)),
    "claims of new rows": (desk._CLAIMED, ("{}",)),
    "claimants of new rows": (desk._CLAIMANTS, ("{}",)),
    "jobs": (desk._JOBS.format(strength="SHARE"), (*NONE, "{}")),
    "slots": (desk._SLOTS, (*NONE, "{}")),
    "facts": (desk._FACTS.format(strength="SHARE"), ("{}",)),
    "claims": (desk._CLAIMS, (*NONE, "{}", True)),
    "holders": (desk._HOLDERS, (*NONE, "{}", True)),
    "generations": (desk._GENERATIONS, (*NONE, "{}", True)),
    "last lines": (desk._LAST_LINES, ("{}",)),
    "outcomes": (desk._OUTCOMES, ("{}", "{}")),
    "agenda moved": (writing.AGENDA_MOVE, _lines(8)),
    "agenda closed": (writing.AGENDA_CLOSE, ("{}",)),
    "claims moved": (writing._CLAIM_MOVE, _lines(3)),
    "claims dropped": (writing._CLAIM_DROP, ("{}",)),
    "facts written": (writing._FACT, _lines(5)),
    "waiters dropped": (writing.WAIT_DROP, ("{}",)),
    "slots passed on": (writing.PASS_ON, (1, "{}", "c")),
    "wake written": (writing.WAKE, ("{}",)),
    "ledger counted": (writing._LEDGER_COUNT, (1, *_lines(3))),
    "lives": (writing.LIVE, _lines(34)),
    "stamps": (writing.STAMP, _lines(8)),
    "waiting": (waking._WAITING, ("{}", "{}", 10)),
    "rows woken": (waking._WAKE_ROWS, (1, "{}")),
    "agenda woken": (waking._WAKE_AGENDA, (1, "{}")),
    "rows of the gone": (waking._ROWS_OF, ("w", 10)),
    "renew": (leases.RENEW, (1, *_lines(3), "w")),
    "reap": (leases._REAP, (1,)),
    "slots swept": (leases.SWEEP, (1, 10)),
    "note": (leases.FIRST_WINS, (1, 1, 1, "w", "k", "n", "v")),
    "prune": (requests.PRUNE, (1, 10)),
    "mark": (clock.MARK, (1,)),
    "keys as facts": (facts._CLAIM, ("{}",)),
    "one": (reading._ONE, (1,)),
    "revisions of some jobs": (reading.REVISIONS_OF, ("{}",)),
    "ledger of one": (reading._LEDGER_OF, (1,)),
    "attempts of one": (reading._ATTEMPTS_OF, (1,)),
    "alerts of one": (reading._ALERTS_OF, (1,)),
    "alert cleared": (alerts._CLEAR, (1, "job1", "failing", 1, "{}")),
    "alerts closed": (alerts._CLOSE_FOR, (1, 1, "{}")),
}
QUERIES = {
    "by id": Query(ids=(1,)),
    "by key": Query(key="k:1"),
    "by identity": Query(job="job1", subject="", identity="i:1"),
    "newest of a job": Query(job="job1", limit=20),
    "newest": Query(limit=20),
    "frontiers of a job": Query(job="job1", open_only=True, frontier_only=True),
    "failed": Query(states=frozenset({State.FAILED_MANUAL})),
    "open": Query(open_only=True, limit=20),
    "running": Query(states=frozenset({State.RUNNING})),
    "a page": Query(after_id=5, limit=20),
    "a span": Query(scheduled_from=ROWS - 10, scheduled_until=ROWS, limit=20),
}
STATEMENTS |= {f"query: {name}": reading.selection(query) for name, query in QUERIES.items()}
MAY_READ_ALL_THAT_IS_OPEN = {"query: open", "query: running"}


@pytest.fixture(scope="module")
def plans(postgres: Postgres) -> Iterator[dict[str, list[Any]]]:
    """The plans of every statement, made in empty tables (and kept, as a worker keeps them) and made in full ones."""
    open_postgres(f"{postgres.url}?schema={SCHEMA}").close()
    made: dict[str, list[Any]] = {}
    with _connect(postgres) as connection:
        made[EMPTY] = [_explain(connection, number) for number in range(len(STATEMENTS))]
        connection.execute("SET statement_timeout = 0")
        _fill(connection)
    with _connect(postgres) as connection:
        made[FULL] = [_explain(connection, number) for number in range(len(STATEMENTS))]
        yield made
        connection.execute(f"DROP SCHEMA {SCHEMA} CASCADE")


def _connect(postgres: Postgres) -> psycopg.Connection:
    connection = psycopg.connect(postgres.url, autocommit=True, prepare_threshold=None)
    for name, value in SETTINGS.items():
        connection.execute(f"SET {name} = '{value}'".encode())
    return connection


def _explain(connection: psycopg.Connection, number: int) -> Any:
    statement, params = list(STATEMENTS.values())[number]
    connection.execute(f"PREPARE s{number} AS {placed(statement, f'{SCHEMA}.')}".encode())
    said = ", ".join("NULL" if param is None else "'" + str(param).replace("'", "''") + "'" for param in params)
    arguments = f" ({said})" if params else ""
    row = connection.execute(f"EXPLAIN (FORMAT JSON) EXECUTE s{number}{arguments}".encode()).fetchone()
    assert row is not None
    plan = row[0] if not isinstance(row[0], str) else json.loads(row[0])
    return plan[0]["Plan"]


def _nodes(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield plan
    for child in plan.get("Plans", ()):
        yield from _nodes(child)


def _reads_all(node: dict[str, Any]) -> bool:
    """A sequential scan, or a scan through a whole index with neither a condition nor an order that is cut off."""
    kind = node["Node Type"]
    if kind == "Seq Scan":
        return True
    return kind in ("Index Scan", "Index Only Scan", "Bitmap Index Scan") and "Index Cond" not in node


@pytest.mark.timeout(240)
@pytest.mark.parametrize("number", range(len(STATEMENTS)), ids=list(STATEMENTS))
@pytest.mark.parametrize("when", [EMPTY, FULL])
def test_no_statement_reads_a_large_table_from_end_to_end(plans: dict[str, list[Any]], number: int, when: str) -> None:
    plan = plans[when][number]
    name = list(STATEMENTS)[number]
    large = HISTORY if name in MAY_READ_ALL_THAT_IS_OPEN else LARGE
    found = [
        f"{node['Node Type']} of {node.get('Relation Name') or node.get('Index Name')}"
        for node in _nodes(plan)
        if (node.get("Relation Name") or str(node.get("Index Name")).partition("_")[0]) in large and _reads_all(node)
    ]
    if "LIMIT" in list(STATEMENTS.values())[number][0]:  # an index that is followed only to the limit
        found = [each for each in found if not each.startswith("Index")]
    assert not found, json.dumps(plan, indent=1)


@pytest.mark.timeout(240)
@pytest.mark.parametrize("when", [EMPTY, FULL])
def test_an_identity_is_found_by_all_of_its_parts(plans: dict[str, list[Any]], when: str) -> None:
    for name in ("rows", "known rows"):
        plan = plans[when][list(STATEMENTS).index(name)]
        found = [node for node in _nodes(plan) if node.get("Index Name") == "occurrence_identity"]
        assert found, json.dumps(plan, indent=1)
        assert all(f"{part} = w.{part}" in found[0]["Index Cond"] for part in ("job", "subject", "identity"))


@pytest.mark.timeout(240)
@pytest.mark.parametrize("when", [EMPTY, FULL])
@pytest.mark.parametrize("name", ["alert cleared", "alerts closed"])
def test_what_an_alert_goes_on_to_is_not_looked_for_among_what_went_well(
    plans: dict[str, list[Any]], when: str, name: str
) -> None:
    plan = plans[when][list(STATEMENTS).index(name)]
    found = [node for node in _nodes(plan) if str(node.get("Index Name")).startswith("occurrence")]
    assert [node["Index Name"] for node in found] == ["occurrence_pkey"], json.dumps(plan, indent=1)
    assert "Index Cond" in found[0]


@pytest.mark.timeout(240)
@pytest.mark.parametrize("when", [EMPTY, FULL])
def test_who_leaves_a_slot_reads_the_queue_in_its_order_and_sorts_nothing(
    plans: dict[str, list[Any]], when: str
) -> None:
    plan = plans[when][list(STATEMENTS).index("slots passed on")]
    nodes = list(_nodes(plan))
    assert "waiter_pkey" in [node.get("Index Name") for node in nodes], json.dumps(plan, indent=1)
    assert not [node for node in nodes if node["Node Type"].endswith("Sort")], json.dumps(plan, indent=1)
