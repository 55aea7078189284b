"""Where a job's lock is found, and what is refused."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from noonmark.core.model import SECOND, LockRule
from noonmark.locks import LockError, LockUrlError, lock
from noonmark.locks.jobs import JobLockSource


def nothing() -> None:
    """Hear of a loss and do nothing."""


@pytest.fixture(autouse=True)
def _no_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NOONMARK_LOCK_URL", raising=False)
    monkeypatch.delenv("NOONMARK_URL", raising=False)


def test_the_rule_goes_first_then_the_environment_then_the_store(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = JobLockSource(f"sqlite:///{tmp_path}/store.db")
    rule = LockRule(name="x")
    assert source.place(rule) == f"sqlite:///{tmp_path}/store.db"
    monkeypatch.setenv("NOONMARK_LOCK_URL", "redis://user:hush@h:1/0")
    assert source.place(rule) == "redis://***@h:1/0"
    assert source.place(LockRule(name="x", at="etcd://h:2")) == "etcd://h:2"
    monkeypatch.setenv("OURS", "zookeeper://h:3")
    assert source.place(LockRule(name="x", at="env:OURS")) == "zookeeper://h:3"


def test_a_variable_that_is_not_set_is_an_error_that_names_it(tmp_path: Path) -> None:
    source = JobLockSource(f"sqlite:///{tmp_path}/store.db")
    with pytest.raises(LockError, match="THEIRS"):
        source.keep(LockRule(name="x", at="env:THEIRS"), "x", nothing)
    assert source.place(LockRule(name="x", at="env:THEIRS")) == ""


def test_another_kind_than_the_rule_names_is_refused(tmp_path: Path) -> None:
    source = JobLockSource(f"sqlite:///{tmp_path}/store.db")
    with pytest.raises(LockUrlError, match=r"wants a lock of kind redis, and sqlite.* is sqlite; write lock\.at"):
        source.keep(LockRule(name="x", kind="redis"), "x", nothing)
    kept = source.keep(LockRule(name="x", kind="sqlite"), "x", nothing)
    assert kept is not None
    kept.release()


@pytest.mark.parametrize("at", ["mysql://h/db", "redis://h:port", "etcd://h?what=1"])
def test_a_url_that_names_no_lock_service_is_an_error_in_words(at: str) -> None:
    with pytest.raises(LockError, match=r"write|known"):
        JobLockSource("memory://").keep(LockRule(name="x", at=at), "x", nothing)


@pytest.mark.parametrize("name", ["", "a\0b", "x" * 401])
def test_a_name_that_no_kind_could_keep_is_an_error_too(name: str) -> None:
    with pytest.raises(LockError, match="name"):
        JobLockSource("memory://").keep(LockRule(name="x"), name, nothing)


def test_it_is_the_lock_that_everybody_takes(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/store.db"
    source, rule = JobLockSource(url), LockRule(name="x", ttl=5 * SECOND)
    kept = source.keep(rule, "x", nothing)
    assert kept is not None
    assert source.keep(rule, "x", nothing) is None
    kept.release()
    with lock("x", at=url) as held:
        assert held.fence > kept.fence
        assert source.keep(rule, "x", nothing) is None


def test_an_abandoned_lock_is_not_given_back_and_not_renewed() -> None:
    source, rule = JobLockSource("memory://"), LockRule(name="abandoned", ttl=SECOND // 5)
    kept = source.keep(rule, "abandoned", nothing)
    assert kept is not None
    kept.abandon()
    assert source.keep(rule, "abandoned", nothing) is None, "not given back"
    free = threading.Event()
    for _ in range(200):
        again = source.keep(rule, "abandoned", nothing)
        if again is not None:
            again.release()
            free.set()
            break
        free.wait(0.01)
    assert free.is_set(), "its ttl ends it"
