"""etcd servers, one node each."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar

from noonmark.testing.servers.server import Server, free_port


class Etcd(Server):
    """One etcd node on 127.0.0.1.

    Args:
        version: such as ``3.5`` or ``3.4``.
        options: flags without their dashes, such as ``{"heartbeat-interval": "50"}``.
        port: where clients are served; None = a free one.
    """

    kind: ClassVar[str] = "etcd"

    def __init__(
        self, version: str | None = None, *, options: Mapping[str, str] | None = None, port: int | None = None
    ) -> None:
        super().__init__(version, options=options, port=port)
        self._peer_port = 0

    @property
    def url(self) -> str:
        """``etcd://127.0.0.1:PORT``"""
        return f"etcd://127.0.0.1:{self.port}"

    def _command(self) -> list[str | Path]:
        if not self._served:
            self._peer_port = free_port()
        clients, peers = f"http://127.0.0.1:{self.port}", f"http://127.0.0.1:{self._peer_port}"
        flags = {
            "name": "noonmark",
            "data-dir": str(self.folder / "data"),
            "listen-client-urls": clients,
            "advertise-client-urls": clients,
            "listen-peer-urls": peers,
            "initial-advertise-peer-urls": peers,
            "initial-cluster": f"noonmark={peers}",
            "logger": "zap",
            "log-outputs": "stderr",
            **self.options,
        }
        return [self.installation.path, *(f"--{name}={value}" for name, value in flags.items())]

    def _environment(self) -> dict[str, str]:
        return {**super()._environment(), "ETCD_UNSUPPORTED_ARCH": _architecture()}

    def _is_ready(self, said: str) -> bool:
        return any(_message(line).startswith("serving client traffic insecurely") for line in said.splitlines())


def _message(line: str) -> str:
    """Return what a line of the log says; the last one may be half written yet."""
    try:
        said = json.loads(line)
    except ValueError:
        return ""
    return str(said.get("msg", "")) if isinstance(said, dict) else ""


def _architecture() -> str:
    import platform

    return "arm64" if platform.machine() in ("aarch64", "arm64") else ""
