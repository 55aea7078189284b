"""``noonmark worker`` and a server that is not there yet, never comes, or wants another password."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import noonmark as noonmark_package
from noonmark import State
from noonmark.core.model import Query
from noonmark.testing.servers import Redis, free_port, start_postgres, start_redis
from noonmark.wiring import open_store

JOBS = """
from noonmark import Scheduler, every

sched = Scheduler(rules=False)

@sched.job(every("1s"), key="tick:{scheduled_for}", reason="Something to do.")
def tick() -> None: ...
"""


class App:
    """An application's folder, and its command line."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "jobs.py").write_text(JOBS, encoding="utf-8")
        self._worker: subprocess.Popen[bytes] | None = None

    def start(self, url: str) -> subprocess.Popen[bytes]:
        """Start a worker; what it says goes to a file."""
        with (self.folder / "said.log").open("wb") as said:
            self._worker = subprocess.Popen(
                self._command("worker", "jobs.py", "--url", url), cwd=self.folder, env=self._env(), stderr=said
            )
        return self._worker

    def run(self, *args: str) -> subprocess.CompletedProcess[str]:
        """Run a command to its end."""
        return subprocess.run(
            self._command(*args),
            cwd=self.folder,
            env=self._env(),
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    def said(self) -> str:
        return (self.folder / "said.log").read_text(encoding="utf-8")

    def until(self, is_so: Callable[[], object], at_most: float = 60) -> None:
        end = time.monotonic() + at_most
        while not is_so():
            assert time.monotonic() < end, self.said()
            time.sleep(0.02)

    def close(self) -> None:
        if self._worker is not None and self._worker.poll() is None:
            self._worker.kill()
            self._worker.wait()

    @staticmethod
    def _command(*args: str) -> list[str]:
        return [sys.executable, "-m", "noonmark.faces.cli", *args]

    @staticmethod
    def _env() -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith("NOONMARK_")}
        return {**kept, "PYTHONPATH": str(Path(noonmark_package.__file__ or "").parents[1]), "LANG": "C.UTF-8"}


@pytest.fixture
def app(tmp_path: Path) -> Iterator[App]:
    """An application with one job."""
    made = App(tmp_path)
    yield made
    made.close()


@pytest.mark.parametrize("url", ["postgresql://nobody@127.0.0.1:{port}/db", "redis://127.0.0.1:{port}/0"])
def test_a_worker_without_its_server_waits_says_so_once_and_ends_in_peace_when_told_to(url: str, app: App) -> None:
    url = url.format(port=free_port())
    worker = app.start(url)
    app.until(lambda: "the worker waits for it and loses nothing" in app.said())
    time.sleep(2)
    assert worker.poll() is None, app.said()
    assert app.said().count("\n") == 1, "one line, not one per try"
    worker.send_signal(signal.SIGTERM)
    began = time.monotonic()
    assert worker.wait(timeout=20) == 0, app.said()
    assert time.monotonic() - began < 5
    assert "Traceback" not in app.said()


def test_other_commands_say_at_once_that_nobody_is_there(app: App) -> None:
    for scheme in ("postgresql://nobody@", "redis://"):
        began = time.monotonic()
        answer = app.run("jobs", "--url", f"{scheme}127.0.0.1:{free_port()}/0")
        assert answer.returncode == 4, answer
        assert "does not answer" in answer.stderr
        assert "Traceback" not in answer.stderr
        assert time.monotonic() - began < 15


def test_a_worker_begins_when_its_server_is_started(app: App) -> None:
    port = free_port()
    worker = app.start(f"redis://127.0.0.1:{port}/0")
    app.until(lambda: "waits for it" in app.said())
    with Redis(kind="valkey", port=port, options={"appendonly": "yes"}) as server:
        store = open_store(server.url)
        try:
            app.until(lambda: store.occurrences(Query(states=frozenset({State.SUCCESS}))))
        finally:
            store.close()
        assert "the store answers again" in app.said()
        worker.send_signal(signal.SIGTERM)
        assert worker.wait(timeout=30) == 0


def test_a_password_that_is_wrong_ends_a_worker_with_4_and_the_remedy(app: App) -> None:
    with start_postgres(password="right") as server:
        worker = app.start(server.url.replace("right", "wrong"))
        assert worker.wait(timeout=60) == 4
        assert "refuses the credentials" in app.said()
        assert "Check user and password" in app.said()
        assert "wrong@" not in app.said(), "no secret is told"
    with start_redis(kind="valkey", password="right", options={"appendonly": "yes"}) as server:
        worker = app.start(server.url.replace("right", "wrong"))
        assert worker.wait(timeout=60) == 4
        assert "password" in app.said()
        assert "wrong@" not in app.said()
        assert "Traceback" not in app.said()
