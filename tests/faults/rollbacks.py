"""Workers whose effects nothing touches, on a store that can be put back to what it was."""

from __future__ import annotations

import os
import shutil
import subprocess
import threading
from pathlib import Path
from typing import Any, Protocol

import apsw
from fleet import wait_for

from noonmark import Enqueued, Scheduler, State, manual
from noonmark.core import rollback
from noonmark.core.model import Query
from noonmark.core.model.rollback import Epoch
from noonmark.engine.worker import Worker
from noonmark.ports.store import Store
from noonmark.testing.servers import start_postgres, start_redis


class Place(Protocol):
    """A store that can be copied and put back."""

    url: str

    def keep(self) -> None:
        """Remember the store as it is now."""
        ...

    def put_back(self) -> None:
        """Let the store be what it was when it was kept."""
        ...


class SqlitePlace:
    """A SQLite file."""

    def __init__(self, folder: Path) -> None:
        self._path, self._copy = folder / "noonmark.db", folder / "kept.db"
        self.url = f"sqlite:///{self._path}"

    def keep(self) -> None:
        connection = apsw.Connection(str(self._path))
        connection.execute("VACUUM INTO ?", (str(self._copy),))
        connection.close()

    def put_back(self) -> None:
        shutil.copy(self._copy, f"{self._path}.new")
        for side in ("", "-wal", "-shm"):  # in this order: who has the file open begins no other log for it
            Path(f"{self._path}{side}").unlink(missing_ok=True)
        os.replace(f"{self._path}.new", self._path)

    def restore(self) -> None:
        """Put it back as SQLite's own ``.restore`` does: the file stays, and so does everybody who has it open."""
        kept, target = apsw.Connection(str(self._copy)), apsw.Connection(str(self._path))
        target.set_busy_timeout(10_000)
        with target.backup("main", kept, "main") as backup:
            while not backup.done:
                backup.step()
        target.close()
        kept.close()


class Office:
    """One application with one job, and workers for it in this process."""

    def __init__(self, place: Place, folder: Path, *, on_rollback: str = "hold") -> None:
        self.place = place
        self.folder = folder
        self.effects: list[int] = []
        self._lock = threading.Lock()
        self._on_rollback = on_rollback
        self._workers: list[tuple[Scheduler, Worker]] = []
        self.desk, self._send = self._scheduler()

    def _scheduler(self) -> tuple[Scheduler, Any]:
        sched = Scheduler(self.place.url, rules=False)

        @sched.job(
            manual(), key="mail:{n}", lease="5s", on_rollback=self._on_rollback, reason="Mails cannot be unsent."
        )  # type: ignore[arg-type]
        def mail(n: int) -> None:
            with self._lock:
                self.effects.append(n)

        return sched, mail

    def send(self, *numbers: int, delay: str = "0s") -> list[Enqueued]:
        """Ask for mails."""
        return [self._send.later(delay)(n=n) for n in numbers]

    def worker(self, state: str = "state") -> Worker:
        """Start a worker that remembers in a folder ("none": nowhere)."""
        sched, _ = self._scheduler()
        worker = sched.worker(grace="1s", state="none" if state == "none" else self.folder / state)
        worker.start()
        self._workers.append((sched, worker))
        return worker

    def sent(self, *numbers: int) -> None:
        """Wait until exactly these mails were sent."""
        wait_for(lambda: sorted(self.effects) == sorted(numbers), what=f"mails {numbers}, not {self.effects}")

    def done(self, *numbers: int) -> None:
        """Wait until the store has these mails as done."""

        def is_so() -> bool:
            rows = self.desk.store.occurrences(Query(job="mail", states=frozenset({State.SUCCESS})))
            return {row.key for row in rows} >= {f"mail:{n}" for n in numbers}

        wait_for(is_so, what=f"the records of {numbers}")

    def held(self) -> set[str]:
        """Return the keys that are held."""
        rows = self.desk.store.occurrences(Query(job="mail", open_only=True))
        return {row.key for row in rows if row.code == "held_rollback"}

    def holds(self, *numbers: int) -> None:
        """Wait until these mails are held."""
        wait_for(lambda: self.held() == {f"mail:{n}" for n in numbers}, what=f"{numbers} held, not {self.held()}")

    def epochs(self) -> tuple[Epoch, ...]:
        """Return the rollbacks on record."""
        return rollback.epochs_of(self.desk.store.facts([rollback.FACT])[rollback.FACT].value)

    def reopen(self) -> Store:
        """Look at the store as it is now."""
        self.desk.close()
        self.desk, self._send = self._scheduler()
        return self.desk.store

    def stop(self) -> None:
        """Stop every worker."""
        for sched, worker in self._workers:
            worker.stop()
            sched.close()
        self._workers.clear()

    def close(self) -> None:
        """Stop everything."""
        self.stop()
        self.desk.close()


class PostgresPlace:
    """A PostgreSQL server whose data folder is copied, and copied back."""

    def __init__(self, _folder: Path) -> None:
        self._server = start_postgres()
        self._copy = self._server.folder / "kept"
        self.url = self._server.url_with(schema="rollbacks")

    def keep(self) -> None:
        self._server.stop()
        self._cp(self._server.data, self._copy)
        self._server.start()

    def put_back(self) -> None:
        self._server.kill()
        shutil.rmtree(self._server.data)
        self._cp(self._copy, self._server.data)
        self._server.start()

    @staticmethod
    def _cp(source: Path, target: Path) -> None:
        subprocess.run(["cp", "-a", str(source), str(target)], check=True, timeout=60)

    def close(self) -> None:
        self._server.close()


class ValkeyPlace:
    """A Valkey server that is restarted from an older dump."""

    def __init__(self, _folder: Path) -> None:
        self._server = start_redis(options={"save": "", "appendonly": "no"})
        self._dump, self._copy = self._server.folder / "dump.rdb", self._server.folder / "kept.rdb"
        self.url = self._server.url

    def keep(self) -> None:
        self._server.command("SAVE")
        shutil.copy(self._dump, self._copy)

    def put_back(self) -> None:
        self._server.kill()
        shutil.copy(self._copy, self._dump)
        self._server.start()

    def close(self) -> None:
        self._server.close()
