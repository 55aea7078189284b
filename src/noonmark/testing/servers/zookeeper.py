"""ZooKeeper servers: Debian's jars under the Java that is on PATH."""

from __future__ import annotations

import contextlib
import shutil
import socket
from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar

from noonmark.testing.servers.installations import MissingServer, remedy
from noonmark.testing.servers.server import Server


class ZooKeeper(Server):
    """One ZooKeeper server on 127.0.0.1; sessions may be as short as 400 ms.

    Args:
        version: such as ``3.8``.
        options: settings of zoo.cfg, such as ``{"maxSessionTimeout": "60000"}``.
        port: where to listen; None = a free one.
    """

    kind: ClassVar[str] = "zookeeper"

    def __init__(
        self, version: str | None = None, *, options: Mapping[str, str] | None = None, port: int | None = None
    ) -> None:
        super().__init__(version, options=options, port=port)
        java = shutil.which("java")
        if java is None:
            self.close()
            raise MissingServer(f"ZooKeeper needs Java; {remedy('zookeeper')}")
        self._java = java

    @property
    def url(self) -> str:
        """``zookeeper://127.0.0.1:PORT``"""
        return f"zookeeper://127.0.0.1:{self.port}"

    def _command(self) -> list[str | Path]:
        settings = {
            "tickTime": "200",
            "dataDir": str(self.folder / "data"),
            "clientPort": str(self.port),
            "clientPortAddress": "127.0.0.1",
            "admin.enableServer": "false",
            "4lw.commands.whitelist": "*",
            "maxClientCnxns": "0",
            "forceSync": "no",
            **self.options,
        }
        file = self.folder / "zoo.cfg"
        file.write_text("".join(f"{name}={value}\n" for name, value in settings.items()), encoding="utf-8")
        # The jar's manifest names the rest, but not who writes the log, without which nobody knows when it is ready.
        classes = f"{self.installation.path}:{self.installation.path.with_name('slf4j-simple.jar')}"
        return [
            self._java,
            "-Xmx128m",
            "-XX:+UseSerialGC",
            "-XX:TieredStopAtLevel=1",
            "-Dzookeeper.jmx.log4j.disable=true",
            "-cp",
            classes,
            "org.apache.zookeeper.server.quorum.QuorumPeerMain",
            file,
        ]

    def _is_ready(self, said: str) -> bool:
        if "binding to port" not in said:
            return False
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port), timeout=2) as link:
            link.sendall(b"ruok")
            return link.recv(16) == b"imok"
        return False
