"""The suite itself: it finds what it looks for, it counts what ran, and it fits stores of others."""

from __future__ import annotations

import os
import subprocess
import sys
import uuid
import zipfile
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.stateful import run_state_machine_as_test

from noonmark.core.model import Micros, Taken
from noonmark.ports.clock import Clock
from noonmark.ports.rollback import Guarded
from noonmark.ports.store import Capability, Store, StoreUnreachable, StoreUnusable
from noonmark.stores.memory import MemoryStore
from noonmark.testing.clock import VirtualClock
from noonmark.testing.conformance import Case, Harness, cases
from noonmark.testing.contention import contend
from noonmark.testing.faults import Fault, Persistent, Through, Unreliable, at_random, every_first_try
from noonmark.testing.lockstep import Lockstep
from noonmark.testing.suite import EXPECTED_CASES, EXPECTED_TESTS, check_capabilities

PYTEST = [sys.executable, "-m", "pytest", "-q", "-p", "no:randomly", "-p", "no:cacheprovider"]


def case_named(words: str) -> Case:
    (case,) = (case for case in cases() if str(case) == words)
    return case


# --- stores with a flaw -------------------------------------------------------------------------------------


class Forgetful(MemoryStore):
    """Does not know a request that it answered already."""

    def add(self, request_id: str, rows: Any, *, at: Micros | None = None) -> Any:
        self._forgotten = getattr(self, "_forgotten", 0) + 1
        return super().add(f"{request_id}-{self._forgotten}", rows, at=at)


class Generous(MemoryStore):
    """Gives the same row to two workers now and then: the second answer repeats the first."""

    def take(self, request_id: str, worker: str, **how: Any) -> Taken:
        taken = super().take(request_id, worker, **how)
        if taken.rows:
            self._given = taken
            return taken
        given, self._given = getattr(self, "_given", taken), taken
        return given


def test_a_store_that_forgets_requests_is_found_out_by_lost_replies() -> None:
    case = case_named("adding: a new row is stored as it was given")
    case.run(Harness(Persistent(Unreliable(MemoryStore(), every_first_try("after")))))
    with pytest.raises(AssertionError):
        case.run(Harness(Persistent(Unreliable(Forgetful(), every_first_try("after")))))


def test_a_store_that_forgets_requests_is_found_out_in_lock_step() -> None:
    class Machine(Lockstep):
        def make_stores(self, folder: Path, clock: Clock) -> tuple[Store, Store]:  # noqa: ARG002
            return MemoryStore(clock), Persistent(Unreliable(Forgetful(clock), at_random(1)))

    few = settings(max_examples=20, stateful_step_count=30, deadline=None, database=None, derandomize=True, print_blob=False,
                   suppress_health_check=list(HealthCheck))  # fmt: skip
    with pytest.raises(AssertionError):
        run_state_machine_as_test(Machine, settings=few)


def test_a_store_that_gives_a_row_to_two_workers_is_found_out_by_contention(tmp_path: Path) -> None:
    with pytest.raises(AssertionError):
        contend(Generous(), tmp_path, url=None, workers=3, rounds=50).check()


# --- calls that fail ------------------------------------------------------------------------------------


def test_a_call_that_fails_before_its_effect_has_none() -> None:
    store = MemoryStore()
    with pytest.raises(StoreUnreachable, match="not sent"):
        Unreliable(store, every_first_try("before")).add("r", [Harness(store).caller_row()])
    assert store.tallies().by_state == {}


def test_a_call_that_fails_after_its_effect_has_it() -> None:
    store = MemoryStore()
    with pytest.raises(StoreUnreachable, match="reply was lost"):
        Unreliable(store, every_first_try("after")).add("r", [Harness(store).caller_row()])
    assert sum(store.tallies().by_state.values()) == 1


@pytest.mark.parametrize("fault", ["before", "after"])
def test_every_verb_and_read_of_the_port_can_fail(fault: Fault) -> None:
    planned: set[str] = set()
    plan = every_first_try(fault)

    def noted(verb: str) -> Fault | None:
        planned.add(verb)
        return plan(verb)

    for case in cases():
        case.run(Harness(Persistent(Unreliable(MemoryStore(), noted))))
    local = {"url", "capabilities", "listen", "close", "identity", "store_id"}
    wanted = {name for port in (Store, Guarded) for name in vars(port) if not name.startswith("_")}
    assert planned == wanted - local


class Noted(Through):
    """Writes down what reaches a store."""

    def __init__(self, store: Store) -> None:
        super().__init__(store)
        self.calls: list[tuple[str, Any, Any]] = []

    def _call(self, name: str, verb: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        self.calls.append((name, args, kwargs))
        return verb(*args, **kwargs)


def seen_by_a_store(case: Case, fault: Fault | None) -> list[tuple[str, Any, Any]]:
    """Return the calls of a case that reach the store when every call fails first."""
    noted = Noted(MemoryStore(VirtualClock()))
    case.run(Harness(noted if fault is None else Persistent(Unreliable(noted, every_first_try(fault)))))
    return noted.calls


def test_of_calls_that_fail_before_their_effect_a_store_sees_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(uuid, "uuid4", lambda: uuid.UUID(int=1))  # two stores of one name, whose links can be compared
    for case in cases():
        assert seen_by_a_store(case, "before") == seen_by_a_store(case, None), str(case)
    assert seen_by_a_store(case, "after") != seen_by_a_store(case, None)


def test_who_persists_gives_up_when_told_so_and_never_argues_with_a_store_that_cannot_serve() -> None:
    store = Unreliable(MemoryStore(), lambda _verb: "before")
    waits: list[int] = []
    with pytest.raises(StoreUnreachable):
        Persistent(store, tries=4, pause=waits.append).now()
    assert (store.failed["before"], waits) == (4, [1, 2, 3])

    class Broken(MemoryStore):
        calls = 0

        def tallies(self, *, revisions: bool | Collection[str] = False) -> Any:  # noqa: ARG002
            self.calls += 1
            raise StoreUnusable("a person must act")

    broken = Broken()
    with pytest.raises(StoreUnusable):
        Persistent(broken).tallies()
    assert broken.calls == 1


# --- the class, the table and stores of others ------------------------------------------------------------------

TOY = '''
"""A store of somebody else: a SQLite file in a folder that the URL names."""
from noonmark.stores.sqlite import SqliteStore

def open_toy(url, *, clock=None):
    return SqliteStore(url.removeprefix("toy://") + ".db", clock=clock, synchronous="OFF")
'''
TOY_TESTS = """
import pytest
from noonmark.testing.suite import StoreSuite
from noonmark.wiring import open_store

class TestToy(StoreSuite):
    rounds = 20
    histories = 2

    def url_of(self, name, folder):
        return f"toy://{folder}/{name}"

    def open_store(self, name, folder, clock=None):
        return open_store(self.url_of(name, folder), clock=clock)
"""


@pytest.fixture
def elsewhere(tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Run pytest in a folder of somebody else, who installed his store beside noonmark."""
    wheel = tmp_path / "toy_store-1.0-py3-none-any.whl"
    info = "toy_store-1.0.dist-info"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("toy_store.py", TOY)
        archive.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\nName: toy-store\nVersion: 1.0\n")
        archive.writestr(
            f"{info}/WHEEL", "Wheel-Version: 1.0\nGenerator: hand\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        archive.writestr(f"{info}/entry_points.txt", "[noonmark.stores]\ntoy = toy_store:open_toy\n")
        archive.writestr(f"{info}/RECORD", "")
    site = tmp_path / "site"
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-index", "--no-deps", "--disable-pip-version-check"]
    subprocess.run([*pip, "--target", site, wheel], check=True, timeout=60)

    def run(tests: str, *options: str) -> subprocess.CompletedProcess[str]:
        (tmp_path / "test_toy.py").write_text(tests, encoding="utf-8")
        command = [*PYTEST, "-p", "noonmark.testing.table", *options, "test_toy.py"]
        environment = {"PYTHONPATH": str(site), "PATH": "/usr/bin:/bin", "HOME": str(tmp_path)}
        return subprocess.run(
            command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=180, check=False
        )

    return run


WHOLE = os.environ.get("NOONMARK_CONFORMANCE") == "whole"
"""Try the stranger's store with everything; otherwise with every case once, as it is our own under another name."""


@pytest.mark.timeout(200)
def test_a_store_of_somebody_else_is_found_by_its_url_and_tried(elsewhere: Callable[..., Any]) -> None:
    done = elsewhere(TOY_TESTS, "--store-table", *(() if WHOLE else ("-k", "not fails_first and not archive")))
    assert "failed" not in done.stdout.splitlines()[-1], done.stdout + done.stderr
    if WHOLE:
        assert "every store passed every case" in done.stdout, done.stdout
        assert done.returncode == 0
    else:
        assert f"Toy: {EXPECTED_CASES + 6} of {EXPECTED_TESTS} passed" in done.stdout, done.stdout


def test_a_store_that_leaves_a_thread_behind_is_told_so(elsewhere: Callable[..., Any]) -> None:
    leaky = TOY_TESTS.replace(
        "return open_store(self",
        "threading.Thread(target=threading.Event().wait, name='left behind', daemon=True).start(); return open_store(self",
    )
    done = elsewhere(leaky, "-k", "each_row_is or says_what_it_can")
    assert done.returncode == 1, done.stdout
    assert "left behind" in done.stdout


TINY = """
import pytest
from noonmark.testing.table import suite_property

class TestTiny:
    @pytest.fixture(autouse=True)
    def _tell(self, request):
        request.node.user_properties.append(suite_property("tiny", 3))
        yield
        assert "{teardown}" == "fine"

    {skip}
    def test_one(self): pass
    @pytest.mark.parametrize("case", ["adding: this", "adding: that"])
    def test_two(self, case): assert "{body}" == "fine"
"""
FINE = {"teardown": "fine", "skip": "", "body": "fine"}


@pytest.mark.parametrize(
    ("flaw", "told"),
    [
        ({}, "every store passed every case"),
        ({"skip": "@pytest.mark.skip"}, "Tiny: 2 of 3 passed"),
        ({"body": "broken"}, "Tiny: 1 of 3 passed"),
        ({"teardown": "broken"}, "Tiny: 0 of 3 passed"),
    ],
)
def test_the_table_counts_only_what_passed_to_the_end(
    elsewhere: Callable[..., Any], flaw: dict[str, str], told: str
) -> None:
    tiny = TINY
    for word, text in (FINE | flaw).items():
        tiny = tiny.replace("{" + word + "}", text)
    done = elsewhere(tiny, "--store-table")
    assert told in done.stdout, done.stdout
    assert (done.returncode == 0) == (not flaw)


def test_a_selection_is_no_whole_table(elsewhere: Callable[..., Any]) -> None:
    done = elsewhere(TOY_TESTS, "--store-table", "-k", "requests and not fails")
    assert "Toy: 15 of" in done.stdout
    assert done.returncode == 1


class Boaster:
    """A store that says what it cannot be."""

    def __init__(self, *said: Capability) -> None:
        self.capabilities = frozenset(said)


@pytest.mark.parametrize(
    ("said", "is_shared", "why"),
    [
        ((Capability.DURABLE_HOST, Capability.SHARED), True, "without"),
        ((Capability.DURABLE_PROCESS, Capability.DURABLE_FAILOVER, Capability.SHARED), True, "without"),
        ((Capability.SHARED,), False, "SHARED"),
        ((), True, "SHARED"),
        ((Capability.CALLER_TRANSACTION,), False, "add_within"),
        ((*Capability,), True, "and not"),
        (("shared",), False, "nobody knows"),
    ],
)
def test_a_store_that_says_what_cannot_be_fails_without_promises_too(
    said: tuple[Any, ...], is_shared: bool, why: str
) -> None:
    store: Any = Boaster(*said)
    with pytest.raises(AssertionError, match=why):
        check_capabilities(store, store.capabilities, is_shared=is_shared)
