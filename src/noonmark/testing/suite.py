"""The whole suite as one pytest class: inherit from it, say how your store is opened, and run pytest.

Needs the packages ``pytest`` and ``hypothesis``.  Usage::

    from noonmark.testing.suite import StoreSuite

    class TestMyStore(StoreSuite):
        def open_store(self, name, folder, clock=None):
            return MyStore(f"my://localhost/{name}", clock=clock)

What it tries: every case of ``noonmark.testing.conformance``; the same cases while each call fails before its effect, or
after it (``noonmark.testing.faults``); the archive's cases; long histories in lock-step with the memory model
(``noonmark.testing.lockstep``); and several processes that fight for the same rows (``noonmark.testing.contention``).

A store that other distributions are to find by its URL names its opener in the entry point group ``noonmark.stores``::

    [project.entry-points."noonmark.stores"]
    my = "my_package:open_my_store"         # called as open_my_store("my://localhost/name", clock=None)

Rule of the file: nothing is skipped that the store does not say it lacks, and what it says is compared with ``promises``.
"""

from __future__ import annotations

import itertools
import os
import threading
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import ClassVar

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.stateful import run_state_machine_as_test

from noonmark.ports.clock import Clock
from noonmark.ports.store import Capability, Store
from noonmark.stores.memory import MemoryStore
from noonmark.testing.archives import Archives
from noonmark.testing.conformance import Case, Harness, archive_cases, cases
from noonmark.testing.contention import contend
from noonmark.testing.faults import Fault, Persistent, Unreliable, at_random, every_first_try
from noonmark.testing.lockstep import Lockstep
from noonmark.testing.table import suite_property

CASES = cases()
ARCHIVE_CASES = archive_cases()
EXPECTED_CASES = 491
EXPECTED_ARCHIVE_CASES = 36
"""Raised by hand when a case is added: a suite that lost cases on the way must not look green."""

EXPECTED_TESTS = 3 * EXPECTED_CASES + EXPECTED_ARCHIVE_CASES + 6
"""How many tests a class has that inherits from ``StoreSuite``."""

EXAMPLES = int(os.environ.get("NOONMARK_DIFFERENTIAL_EXAMPLES", "0"))
"""More histories, with fresh seeds, for a night's run; by default a class says how many, and they repeat exactly."""


class StoreSuite:
    """Inherit from it and say how the store under test is opened."""

    histories: ClassVar[int] = 20
    """How many histories of 50 operations go through the store and the model in lock-step."""

    processes: ClassVar[int] = 3
    """How many processes fight for rows; 0 for a store that lives within one process (then threads do)."""

    rounds: ClassVar[int] = 100
    """How often the contended counter is raised."""

    has_archive: ClassVar[bool] = True
    """Whether the store can be copied (``noonmark.ports.archive``)."""

    promises: ClassVar[frozenset[Capability] | None] = None
    """What the store is expected to say that it can; None = whatever it says, as long as it goes together."""

    def open_store(self, name: str, folder: Path, clock: Clock | None = None) -> Store:
        """Open the store under test.

        Args:
            name: of a namespace; a new one is to be empty, the same one is to be found again.
            folder: a directory of this test's own, for stores that need one.
            clock: to live by instead of the server's or the machine's, None = theirs.
        """
        raise NotImplementedError

    def url_of(self, name: str, folder: Path) -> str:
        """Return the URL with which another process opens that namespace (``noonmark.wiring.open_store``)."""
        raise NotImplementedError

    def describe(self) -> str:
        """Return name and version of what is tested, for the table."""
        return type(self).__name__.removeprefix("Test")

    def check_orderly(self, store: Store) -> None:
        """Fail if the store leaves anything behind after its last verb, such as an open transaction."""

    lacks: ClassVar[int] = 0
    """How many of the tests are skipped for what the store says that it is not."""

    # -- fixtures -------------------------------------------------------------------------------

    @pytest.fixture(autouse=True)
    def _tell_the_table(self, request: pytest.FixtureRequest) -> None:
        request.node.user_properties.append(suite_property(self.describe(), EXPECTED_TESTS - self.lacks))

    @pytest.fixture
    def name(self) -> str:
        """A namespace that was never used."""
        return f"t{uuid.uuid4().hex[:16]}"

    @pytest.fixture
    def store(self, name: str, tmp_path: Path) -> Iterator[Store]:
        """A fresh store, closed afterwards; whatever it began has to have ended by then."""
        before = set(threading.enumerate())
        store = self.open_store(name, tmp_path)
        try:
            yield store
            self.check_orderly(store)
        finally:
            store.close()
        left = [thread for thread in threading.enumerate() if thread not in before and thread.is_alive()]
        for thread in left:
            thread.join(2)
        assert not [thread.name for thread in left if thread.is_alive()], "threads outlive the store"

    # -- the tests ------------------------------------------------------------------------------

    @pytest.mark.parametrize("case", CASES, ids=str)
    def test_the_store_keeps_the_port(self, case: Case, store: Store) -> None:
        case.run(Harness(store))

    @pytest.mark.parametrize("fault", ["before", "after"])
    @pytest.mark.parametrize("case", CASES, ids=str)
    def test_the_store_keeps_the_port_when_every_call_fails_first(self, case: Case, fault: Fault, store: Store) -> None:
        unreliable = Unreliable(store, every_first_try(fault))
        case.run(Harness(Persistent(unreliable)))
        assert unreliable.failed["before"] + unreliable.failed["after"] > 0

    @pytest.mark.parametrize("case", ARCHIVE_CASES, ids=str)
    def test_the_archive_keeps_the_port(self, case: Case, tmp_path: Path) -> None:
        if not self.has_archive:
            pytest.skip("this store says that it has no archive")
        prefix = f"t{uuid.uuid4().hex[:12]}"
        archives = Archives(lambda name: self.open_store(f"{prefix}{name}", tmp_path))
        try:
            case.run(archives)
        finally:
            archives.close()

    @pytest.mark.timeout(600)
    def test_the_store_agrees_with_the_model(self, tmp_path: Path) -> None:
        run_state_machine_as_test(_machine(self.open_store, tmp_path), settings=_settings(self.histories))

    @pytest.mark.timeout(600)
    def test_the_store_agrees_with_the_model_when_calls_fail(self, tmp_path: Path) -> None:
        def open_unreliable(name: str, folder: Path, clock: Clock | None = None) -> Store:
            return Persistent(Unreliable(self.open_store(name, folder, clock), at_random(7)))

        run_state_machine_as_test(_machine(open_unreliable, tmp_path), settings=_settings(max(1, self.histories // 2)))

    @pytest.mark.timeout(300)
    def test_workers_that_fight_for_rows_run_each_exactly_once(self, name: str, tmp_path: Path, store: Store) -> None:
        url = self.url_of(name, tmp_path) if self.processes else None
        contend(store, tmp_path, url=url, workers=self.processes or 3, rounds=self.rounds).check()

    def test_the_store_says_what_it_can(self, store: Store) -> None:
        said = store.capabilities
        check_capabilities(store, said, is_shared=bool(self.processes))
        assert said == (said if self.promises is None else self.promises)

    def test_a_namespace_is_found_again(self, name: str, tmp_path: Path, store: Store) -> None:
        if not self.processes:
            pytest.skip("this store lives within one object")
        row_id = Harness(store).add_one(Harness(store).caller_row("a"))
        again = self.open_store(name, tmp_path)
        try:
            assert Harness(again).row(row_id).key == "key:a"
        finally:
            again.close()

    def test_the_suite_has_lost_no_case(self) -> None:
        assert len(CASES) == EXPECTED_CASES
        assert len(ARCHIVE_CASES) == EXPECTED_ARCHIVE_CASES
        names = [str(case) for case in (*CASES, *ARCHIVE_CASES)]
        assert len(set(names)) == len(names)


def check_capabilities(store: Store, said: frozenset[Capability], *, is_shared: bool) -> None:
    """Fail where what a store says of itself cannot be, or is not so."""
    assert isinstance(said, frozenset), "capabilities is a frozenset"
    assert all(isinstance(one, Capability) for one in said), f"a capability that nobody knows: {sorted(said)}"
    assert (Capability.SHARED in said) == is_shared, "processes > 0 in the suite means SHARED, and the other way round"
    levels = (Capability.DURABLE_PROCESS, Capability.DURABLE_HOST, Capability.DURABLE_FAILOVER)
    for less, more in itertools.pairwise(levels):
        assert more not in said or less in said, f"{more} without {less}"
    assert not {Capability.DURABLE_FAILOVER, Capability.FAILOVER_LOSS} <= said, "durable through a failover, and not"
    has_outbox = callable(getattr(store, "add_within", None))
    assert Capability.CALLER_TRANSACTION not in said or has_outbox, "CALLER_TRANSACTION without add_within"


def _settings(examples: int) -> settings:
    return settings(
        max_examples=EXAMPLES or examples,
        stateful_step_count=50,
        deadline=None,
        database=None,
        derandomize=not EXAMPLES,
        suppress_health_check=list(HealthCheck),
    )


def _machine(open_store: Callable[[str, Path, Clock | None], Store], folder: Path) -> type[Lockstep]:
    class Machine(Lockstep):
        def make_stores(self, _folder: Path, clock: Clock) -> tuple[Store, Store]:
            return MemoryStore(clock), open_store(f"t{uuid.uuid4().hex[:16]}", folder, clock)

    return Machine
