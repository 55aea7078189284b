"""Who works on with a store that was copied is told so: both stores would do everything."""

from __future__ import annotations

import contextlib
import logging
import threading
from pathlib import Path

import pytest
from calling import Answer, Noonmark

from noonmark.core.model import SECOND
from noonmark.engine import copied
from noonmark.engine.registry import Registry
from noonmark.engine.worker import Worker
from noonmark.faces.cli.__main__ import main
from noonmark.stores.memory import MemoryStore
from noonmark.stores.sqlite import SqliteStore
from noonmark.testing.archives import make_busy
from noonmark.testing.builders import make_worker


@pytest.fixture
def cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Noonmark:
    """The command line in a folder with a.db, a store in which nobody lives."""
    for name in ("NOONMARK_LANG", "NOONMARK_TZ", "NOONMARK_JSON", "NOONMARK_APP", "NOONMARK_URL", "LC_ALL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("LANG", "C.UTF-8")
    monkeypatch.chdir(tmp_path)
    with contextlib.closing(SqliteStore("a.db", synchronous="OFF")) as store:
        harness = make_busy(store)
        for worker in ("w1", "w2"):
            store.heartbeat(make_worker(worker, ended_at=1), SECOND, at=harness.at(40))

    def call(*args: str) -> Answer:
        code = main([*args])
        captured = capsys.readouterr()
        return Answer(code=code, out=captured.out, err=captured.err)

    return call


def test_a_copy_marks_its_source_and_nothing_else(cli: Noonmark) -> None:
    trial = cli("store", "copy", "sqlite:///a.db", "sqlite:///b.db")
    assert (trial.code, "copied to" in cli("doctor", "--url", "sqlite:///a.db").out) == (0, False)
    went = cli("store", "copy", "sqlite:///a.db", "sqlite:///b.db", "--go")
    assert went.code == 0
    assert "The source is marked as copied: workers that start on it warn, and doctor does." in went.err
    assert f"To take the mark away: {copied.CLEAR}" in went.err
    assert "Records of workers do not go along" in went.err
    seen = cli("doctor", "--url", "sqlite:///a.db")
    assert "This store was copied to sqlite:///b.db at 20" in seen.out
    assert copied.CLEAR in seen.out
    assert "该存储已于" in cli("doctor", "--url", "sqlite:///a.db", "--lang", "zh").out
    assert "copied to" not in cli("doctor", "--url", "sqlite:///b.db").out


def test_a_mark_is_taken_away_as_it_says(cli: Noonmark) -> None:
    assert cli("store", "copy", "sqlite:///a.db", "sqlite:///b.db", "--go").code == 0
    assert cli(*copied.CLEAR.split()[1:], "--url", "sqlite:///a.db").code == 0
    assert "copied to" not in cli("doctor", "--url", "sqlite:///a.db").out


def test_a_marked_source_is_copied_once_more_without_its_mark(cli: Noonmark) -> None:
    first = cli("store", "copy", "sqlite:///a.db", "sqlite:///b.db", "--go", "--json").plain
    second = cli("store", "copy", "sqlite:///a.db", "sqlite:///c.db", "--go", "--json").plain
    assert (second["copied"], second["records"], second["same"]) == (first["copied"], first["records"], True)
    assert "copied to" not in cli("doctor", "--url", "sqlite:///c.db").out
    dry = cli("store", "copy", "sqlite:///a.db", "sqlite:///d.db", "--json").plain
    assert dry["to_copy"] == first["copied"]


def test_a_copy_that_is_not_taken_marks_nothing(cli: Noonmark, monkeypatch: pytest.MonkeyPatch) -> None:
    from noonmark.engine import moving

    monkeypatch.setattr(moving, "differences", lambda *_: [moving.Difference(kind="job", source=2, target=1)])
    assert cli("store", "copy", "sqlite:///a.db", "sqlite:///b.db", "--go").code == 1
    assert "copied to" not in cli("doctor", "--url", "sqlite:///a.db").out
    assert cli("store", "copy", "sqlite:///a.db", "sqlite:///b.db", "--go", "--while-workers-run").code == 1
    assert "copied to" in cli("doctor", "--url", "sqlite:///a.db").out


def test_a_worker_that_starts_on_a_copied_store_warns_and_no_password_is_told(
    caplog: pytest.LogCaptureFixture,
) -> None:
    from noonmark.wiring import shown

    store = MemoryStore()
    asked = threading.Event()
    read = store.facts

    def facts(names: list[str]) -> object:
        try:
            return read(names)
        finally:
            if copied.FACT in names:
                asked.set()

    store.facts = facts  # type: ignore[method-assign, assignment]
    copied.mark(store, shown("redis://ann:pencil@127.0.0.1:6379/0"), "q1", actor="ann")
    worker = Worker(store, Registry())
    with caplog.at_level(logging.WARNING, "noonmark.engine"):
        worker.start()
        assert asked.wait(30)
        worker.stop()
    said = [
        record.getMessage() for record in caplog.records if "this store was copied to redis://" in record.getMessage()
    ]
    assert len(said) == 1
    assert "pencil" not in said[0]
    assert said[0].endswith(copied.CLEAR)
