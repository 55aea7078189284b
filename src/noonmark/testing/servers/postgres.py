"""PostgreSQL servers.

Rule of the file: PostgreSQL refuses to run as root, so root runs it as ``nobody``; where that user cannot read the
programs (a virtual environment below a private home), they are linked or copied into the server's own folder.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import tempfile
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar
from urllib.parse import quote

from noonmark.testing.servers import guard
from noonmark.testing.servers.server import Server, ServerError

NOBODY = "nobody"
FORGETFUL = {"fsync": "off", "full_page_writes": "off", "synchronous_commit": "off"}
"""Options for tests that kill no server: three times faster, and nothing survives a power cut."""
_making = threading.Lock()
_made: dict[Path, Path] = {}
"""From a program to the data folder that it made."""


class Postgres(Server):
    """One PostgreSQL server; user and database ``postgres``, trusting everybody on this machine.

    Args:
        version: such as ``18`` or ``15``.
        options: settings of postgresql.conf, such as ``{"synchronous_commit": "on"}``; ``FORGETFUL`` for speed.
        password: ask for it (scram-sha-256) instead of trusting.
        port: where to listen; None = a free one.
    """

    kind: ClassVar[str] = "postgres"

    def __init__(
        self,
        version: str | None = None,
        *,
        options: Mapping[str, str] | None = None,
        password: str = "",
        port: int | None = None,
    ) -> None:
        super().__init__(version, options=options, port=port)
        self.password = password
        self.user = NOBODY if hasattr(os, "geteuid") and os.geteuid() == 0 else None
        self._programs = self.installation.path.parent
        self.data = self.folder / "data"

    @property
    def url(self) -> str:
        """``postgresql://postgres@127.0.0.1:PORT/postgres``"""
        secret = f":{quote(self.password, safe='')}" if self.password else ""
        return f"postgresql://postgres{secret}@127.0.0.1:{self.port}/postgres"

    @property
    def programs(self) -> Path:
        """The folder with psql, pg_dump and the others, readable for the server's user."""
        return self._programs

    def _prepare(self) -> None:
        if self.user is not None:
            shutil.chown(self.folder, self.user)
            if not _others_may_use(self.installation.path):
                self._programs = _bring_near(self.installation.path, self.folder / "programs")
            if not _others_may_use(self.folder.parent):
                raise ServerError(
                    f"PostgreSQL runs as {NOBODY}, who cannot enter {self.folder.parent}; set TMPDIR to a folder open to all"
                )
        secret: list[str | Path] = []
        if self.password:
            file = self.folder / "password"
            file.write_text(self.password, encoding="utf-8")
            if self.user is not None:
                shutil.chown(file, self.user)
            secret = ["--auth=scram-sha-256", f"--pwfile={file}"]
        if secret:
            self._initdb(self.data, *secret)
        else:
            self._run("cp", "-Rp", self._made_once(), self.data)

    def _made_once(self) -> Path:
        """Return the data folder of a server that trusts everybody, of which each one of this process gets a copy.

        Making one takes as much work as a second of serving; copying it takes a tenth of that.
        """
        with _making:
            made = _made.get(self.installation.path)
            if made is None or not made.is_dir():
                folder = Path(tempfile.mkdtemp(prefix="noonmark-initdb-"))
                guard.watch_folder(folder)
                if self.user is not None:
                    shutil.chown(folder, self.user)
                made = folder / "data"
                self._initdb(made, "--auth=trust")
                _made[self.installation.path] = made
            return made

    def _initdb(self, data: Path, *how: str | Path) -> None:
        self._run(
            self._programs / "initdb",
            "--pgdata",
            data,
            "--username=postgres",
            *how,
            "--encoding=UTF8",
            "--locale=C",
            "--no-sync",
            "--no-instructions",
        )

    def _command(self) -> list[str | Path]:
        settings = {
            "listen_addresses": "127.0.0.1",
            "port": str(self.port),
            "unix_socket_directories": "",
            "log_timezone": "UTC",
            "shared_buffers": "32MB",
            **self.options,
        }
        command: list[str | Path] = [self._programs / "postgres", "-D", self.data]
        for name, value in settings.items():
            command += ["-c", f"{name}={value}"]
        return command

    def _is_ready(self, said: str) -> bool:
        return "database system is ready to accept connections" in said

    def _stop_signal(self) -> signal.Signals:
        return signal.SIGINT  # "fast": disconnects clients instead of waiting for them


def _others_may_use(path: Path) -> bool:
    """Return whether a stranger may read this file (or enter this folder) and pass every folder above it."""
    return all(part.stat().st_mode & 0o001 for part in path.parents) and path.stat().st_mode & 0o005 == 0o005


def _bring_near(program: Path, folder: Path) -> Path:
    """Give the installation a second place that everybody can reach, as links where possible; return its programs.

    The wheel's programs look for their libraries in a folder beside the package.
    """
    installation = program.parent.parent
    package = installation.parent
    for source in (installation, package.parent / f"{package.name}.libs"):
        if source.is_dir():
            shutil.copytree(source, folder / source.relative_to(package.parent), copy_function=_link_or_copy)
    for place in (folder, *folder.rglob("*")):
        if place.is_dir():
            place.chmod(0o755)
    return folder / program.parent.relative_to(package.parent)


def _link_or_copy(source: str, target: str) -> None:
    with contextlib.suppress(OSError):
        if os.stat(source).st_mode & 0o004:
            os.link(source, target)
            return
    shutil.copy2(source, target)  # another file system, or a file that is private to its owner
    os.chmod(target, os.stat(source).st_mode | (0o055 if os.access(source, os.X_OK) else 0o044))
