"""Every store noonmark ships keeps the port, case by case, on every server there is, and no case is skipped in silence."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeVar

import pytest

from noonmark.ports.clock import Clock
from noonmark.ports.store import Store
from noonmark.stores.memory import MemoryStore
from noonmark.testing import servers
from noonmark.testing.conformance import Case
from noonmark.testing.faults import Fault
from noonmark.testing.suite import CASES, EXPECTED_CASES, EXPECTED_TESTS, StoreSuite
from noonmark.wiring import open_store

STORES = 8
"""Raised by hand when one is added."""

WHOLE = os.environ.get("NOONMARK_CONFORMANCE") == "whole"
"""Everything on every server, as ``make conformance`` wants it."""

T = TypeVar("T", bound=type[StoreSuite])


def with_lost_replies_only(suite: T) -> T:
    """Leave out, at every change, calls that fail before they reach the store: for it they are no calls at all.

    ``test_suite.py::test_of_calls_that_fail_before_their_effect_a_store_sees_nothing`` shows that; the model is asked.
    """
    if not WHOLE:
        every = StoreSuite.test_the_store_keeps_the_port_when_every_call_fails_first

        @pytest.mark.parametrize("fault", ["after"])
        @pytest.mark.parametrize("case", CASES, ids=str)
        def lost(self: StoreSuite, case: Case, fault: Fault, store: Store) -> None:
            every(self, case, fault, store)

        suite.test_the_store_keeps_the_port_when_every_call_fails_first = lost  # type: ignore[method-assign]
        suite.lacks = EXPECTED_CASES
    return suite


def without_faults_but_in_the_whole(suite: T) -> T:
    """Leave out, at every change, what the wheel's server of the same kind is asked anyway."""
    if not WHOLE:
        suite.test_the_store_keeps_the_port_when_every_call_fails_first = None  # type: ignore[assignment]
        suite.lacks = 2 * EXPECTED_CASES
    return suite


class TestMemory(StoreSuite):
    """The executable model of the port."""

    processes = 0
    lacks = 1  # nobody finds its namespace again

    def describe(self) -> str:
        return "the model, in memory"

    def open_store(self, name: str, folder: Path, clock: Clock | None = None) -> Store:  # noqa: ARG002
        return MemoryStore(clock)


@with_lost_replies_only
class TestSqlite(StoreSuite):
    """One file, several processes."""

    def describe(self) -> str:
        import apsw

        return f"SQLite {apsw.sqlite_lib_version()}"

    def open_store(self, name: str, folder: Path, clock: Clock | None = None) -> Store:
        from noonmark.stores.sqlite import SqliteStore

        return SqliteStore(folder / f"{name}.db", clock=clock, synchronous="OFF")

    def url_of(self, name: str, folder: Path) -> str:
        return f"sqlite:///{folder}/{name}.db?synchronous=NORMAL"


class OnServer(StoreSuite):
    """A store on a server that all tests of a process share; each has a namespace of its own."""

    histories = 40 if WHOLE else 8
    rounds = 400 if WHOLE else 100
    fixture: str
    server: Any

    @pytest.fixture(autouse=True)
    def _server(self, request: pytest.FixtureRequest) -> None:
        self.server = request.getfixturevalue(self.fixture)

    def open_store(self, name: str, folder: Path, clock: Clock | None = None) -> Store:
        return open_store(self.url_of(name, folder), clock=clock)


class OnPostgres(OnServer):
    """A schema each."""

    @pytest.fixture(autouse=True)
    def _tidy(self, _server: None) -> Iterator[None]:
        yield
        self.server.take_back()

    def url_of(self, name: str, folder: Path) -> str:  # noqa: ARG002
        return self.server.url_with(schema=self.server.schema_for(name))

    def check_orderly(self, store: Store) -> None:  # noqa: ARG002
        assert self.server.open_transactions() == []


@with_lost_replies_only
class TestPostgres(OnPostgres):
    """The wheel's."""

    fixture = "shared_postgres"

    def describe(self) -> str:
        return str(servers.choose("postgres"))


@pytest.mark.server("postgres", "second")
@without_faults_but_in_the_whole
class TestSecondPostgres(OnPostgres):
    """The system's."""

    fixture = "shared_second_postgres"

    def describe(self) -> str:
        return str(servers.second("postgres"))


class OnRedis(OnServer):
    """A namespace each; every key has a reason, see the fixtures."""

    def url_of(self, name: str, folder: Path) -> str:  # noqa: ARG002
        return self.server.url_with(namespace=name)


@with_lost_replies_only
class TestValkey(OnRedis):
    """The wheel's."""

    fixture = "shared_valkey"

    def describe(self) -> str:
        return str(servers.choose("valkey"))


@pytest.mark.server("redis", "second")
@without_faults_but_in_the_whole
class TestSecondRedis(OnRedis):
    """The system's."""

    fixture = "shared_second_redis"

    def describe(self) -> str:
        return str(servers.second("redis"))


@without_faults_but_in_the_whole
class TestCluster(OnRedis):
    """Three primaries, of which each namespace lives on one."""

    fixture = "shared_cluster"

    def describe(self) -> str:
        return f"3-node cluster, {servers.choose('valkey')}"


@without_faults_but_in_the_whole
class TestSentinel(OnRedis):
    """A pair whose primary is killed in the middle of the run."""

    fixture = "shared_pair"

    @pytest.fixture(autouse=True)
    def _fail_over_now_and_then(self, _server: None) -> None:
        self.server.count_a_test()

    def describe(self) -> str:
        return f"sentinel pair, primary killed on the way, {servers.choose('valkey')}"


def test_every_store_meets_every_case(request: pytest.FixtureRequest) -> None:
    asked_for = request.config
    if asked_for.getoption("keyword") or any("::" in argument for argument in asked_for.args):
        pytest.skip("only a selection of the cases was asked for")
    met = Counter(item.cls for item in request.session.items if isinstance(item, pytest.Function) and item.cls)
    suites = [one for name, one in globals().items() if name.startswith("Test")]
    assert len(suites) == STORES
    left_out = {suite: suite.lacks if "lacks" in vars(suite) and suite is not TestMemory else 0 for suite in suites}
    assert {suite: met[suite] for suite in suites} == {suite: EXPECTED_TESTS - left_out[suite] for suite in suites}
