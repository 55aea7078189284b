"""Where the stores of the suite are: a file, or a namespace on a server that is shared by cells that do it no harm.

Promise: a place is fresh.  What may befall a store is the same word everywhere (``away``, ``back``, ``save``,
``restore``), so that a cell is written once.  Rule of the file: servers come from ``noonmark.testing.servers``.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import shutil
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import apsw

from noonmark.testing.servers import MissingServer, Postgres, Redis, Server, find
from noonmark.testing.servers.server import with_options

APPENDS = {"appendonly": "yes", "appendfsync": "always"}
"""What a killed Redis server had acknowledged is there when it is back."""
STORES = ("sqlite", "postgres", "valkey", "redis")
_numbers = itertools.count()


class Place:
    """One fresh store."""

    def __init__(self, store: str, folder: Path, server: Server | None, *, own: bool) -> None:
        self.store = store
        self.folder = folder
        self.server = server
        self.own = own
        self._locker: Any = None
        self._saved = folder / "saved"
        name = f"cell{os.getpid()}_{next(_numbers)}"
        if server is None:
            self.file = folder / "noonmark.db"
            self.url = f"sqlite:///{self.file}"
        else:
            option = "schema" if store == "postgres" else "namespace"
            self._options = {option: name}
            self.url = with_options(server.url, self._options)

    def through(self, port: int) -> str:
        """Return the URL by way of a proxy's port."""
        assert self.server is not None
        return self.url.replace(f":{self.server.port}/", f":{port}/")

    # -- going away and coming back -----------------------------------------------------------------

    def away(self) -> None:
        """Take the store away: kill its server; on a file, hold somebody's transaction open."""
        if self.server is not None:
            self.server.kill()
            return
        self._locker = apsw.Connection(str(self.file))
        self._locker.setbusytimeout(10_000)
        self._locker.execute("BEGIN IMMEDIATE")

    def back(self) -> None:
        """Let it come back."""
        if self.server is not None:
            self.server.start()
        elif self._locker is not None:
            self._locker.execute("ROLLBACK")
            self._locker.close()
            self._locker = None

    def is_locked(self) -> bool:
        """Return True when somebody keeps a file's write lock; a server ends the transactions of who is frozen."""
        if self.server is not None:
            return False
        connection = apsw.Connection(str(self.file))
        connection.setbusytimeout(500)
        try:
            connection.execute("BEGIN IMMEDIATE")
            connection.execute("ROLLBACK")
        except apsw.BusyError:
            return True
        finally:
            connection.close()
        return False

    # -- copies --------------------------------------------------------------------------------------

    def save(self) -> None:
        """Keep a copy, as a nightly job would; what is written afterwards is not in it."""
        self._saved.mkdir(exist_ok=True)
        if self.server is None:
            source, target = apsw.Connection(str(self.file)), apsw.Connection(str(self._saved / "noonmark.db"))
            with target.backup("main", source, "main") as backup:
                backup.step(-1)
            source.close()
            target.close()
        elif self.store == "postgres":
            server: Any = self.server
            server._run(
                server.programs / "pg_basebackup",
                f"--pgdata={server.folder / 'copy'}",
                "--host=127.0.0.1",
                f"--port={server.port}",
                "--username=postgres",
                "--checkpoint=fast",
                "--no-sync",
            )
        else:
            redis: Any = self.server
            redis.command("SAVE")
            shutil.copy2(redis.folder / "dump.rdb", self._saved / "dump.rdb")

    def restore(self) -> None:
        """Let the store come back as it was when it was saved; a server must be away."""
        if self.server is None:
            # Moved into place: a copy over a file that somebody has open damages it.
            shutil.copy2(self._saved / "noonmark.db", self.folder / "noonmark.db.new")
            for name in ("noonmark.db", "noonmark.db-wal", "noonmark.db-shm"):  # in this order, as docs/stores.md says
                (self.folder / name).unlink(missing_ok=True)
            (self.folder / "noonmark.db.new").replace(self.file)
        elif self.store == "postgres":
            server: Any = self.server
            shutil.rmtree(server.data)
            (server.folder / "copy").rename(server.data)
            server.start()
        else:
            redis: Any = self.server
            shutil.rmtree(redis.folder / "appendonlydir", ignore_errors=True)
            shutil.copy2(self._saved / "dump.rdb", redis.folder / "dump.rdb")
            redis.options = {**redis.options, "appendonly": "no"}
            redis.start()

    def close(self) -> None:
        """Give back what is this place's own."""
        if self.server is None:
            with contextlib.suppress(Exception):
                self.back()
        elif self.own:
            self.server.close()


class Places:
    """Makes places; keeps one server of each kind for the cells that share it."""

    def __init__(self) -> None:
        self._shared: dict[str, Server] = {}
        self._mutex = threading.Lock()

    def place(
        self,
        store: str,
        folder: Path,
        *,
        own: bool = False,
        prepare: Callable[[Server], None] | None = None,
        options: Mapping[str, str] | None = None,
    ) -> Place:
        """Return a fresh place.

        Args:
            store: one of ``STORES``.
            folder: for files; there until the cell ends.
            own: with a server of its own, which may be killed.
            prepare: is given that server before it starts.
            options: of that server.
        """
        if store == "sqlite":
            return Place(store, folder, None, own=own)
        if own:
            server = _made(store, options)
            if prepare is not None:
                prepare(server)
            return Place(store, folder, server.__enter__(), own=True)
        with self._mutex:
            if store not in self._shared:
                self._shared[store] = _made(store, None).__enter__()
        return Place(store, folder, self._shared[store], own=False)

    def close(self) -> None:
        """End the shared servers."""
        for server in self._shared.values():
            server.close()
        self._shared.clear()


def _made(store: str, options: Mapping[str, str] | None) -> Server:

    if store == "postgres":
        return Postgres(options=options)
    return Redis(kind=store, options={**APPENDS, **(options or {})})


def missing(store: str) -> str:
    """Return why a store cannot be had on this machine, "" when it can."""
    if store == "sqlite" or find(store):
        return ""
    try:
        _made(store, None)
    except MissingServer as error:
        return str(error)
    return f"{store} is not installed"
