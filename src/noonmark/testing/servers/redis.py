"""Redis and Valkey servers, one process each.

Rule of the file: the servers are told what to do in their own protocol, so that a launcher needs no client library.
"""

from __future__ import annotations

import contextlib
import shutil
import socket
import ssl
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import quote

from noonmark.testing.servers.installations import Installation, MissingServer, choose, find, remedy
from noonmark.testing.servers.server import Server, ServerError


class Redis(Server):
    """One server of the Redis family on 127.0.0.1.

    Args:
        version: by the beginning of the version, such as ``9`` or ``7``; with the kind left out the wheel comes first.
        kind: ``valkey`` or ``redis``; None = whichever has that version, Valkey first.
        options: directives of redis.conf, such as ``{"appendonly": "yes", "appendfsync": "always"}`` or
            ``{"maxmemory": "10mb"}``.  Nothing is written to disk unless they say so.
        password: ``requirepass``.
        users: lines of an ACL file, such as ``["user app on >secret ~* &* +@all"]``.
        tls: serve TLS only, with a certificate of its own (``ca_file``); the wheel's Valkey is built without TLS.
        port: where to listen; None = a free one.
    """

    kind: ClassVar[str] = "redis"

    def __init__(
        self,
        version: str | None = None,
        *,
        kind: str | None = None,
        options: Mapping[str, str] | None = None,
        password: str = "",
        users: list[str] | None = None,
        tls: bool = False,
        port: int | None = None,
    ) -> None:
        self._family = (kind,) if kind else (("redis", "valkey") if tls else ("valkey", "redis"))
        super().__init__(version, options=options, port=port)
        self.password = password
        self.users = list(users or ())
        self.tls = tls
        self.ca_file = self.folder / "tls.crt"

    def _choose(self, version: str | None) -> Installation:
        return choose_redis(self._family, version)

    @property
    def url(self) -> str:
        """``redis://127.0.0.1:PORT/0``, with the password, ``rediss`` and ``ssl_ca_certs`` where they are used."""
        secret = f":{quote(self.password, safe='')}@" if self.password else ""
        if self.tls:
            return f"rediss://{secret}localhost:{self.port}/0?ssl_ca_certs={quote(str(self.ca_file))}"
        return f"redis://{secret}127.0.0.1:{self.port}/0"

    def command(self, *words: str | int, user: str = "", password: str | None = None) -> Any:
        """Send one command and return the reply: str, int, None or a list of these.

        Raises:
            ServerError: the reply was an error, whose text is the message.
        """
        return say(
            self.port, *words, user=user, password=password or self.password, ca=self.ca_file if self.tls else None
        )

    def _prepare(self) -> None:
        if self.tls:
            _make_certificate(self.folder)
        if self.users:  # once: what ACL SAVE writes there later is the server's
            self._acl_file.write_text("\n".join([*self.users, ""]), encoding="utf-8")

    @property
    def _acl_file(self) -> Path:
        return self.folder / "users.acl"

    def settings(self) -> dict[str, str]:
        """Return the directives it is started with."""
        listen = {"port": str(self.port)}
        if self.tls:
            key = str(self.folder / "tls.key")
            listen = {"port": "0", "tls-port": str(self.port), "tls-cert-file": str(self.ca_file), "tls-key-file": key}
            listen |= {"tls-ca-cert-file": str(self.ca_file), "tls-auth-clients": "no"}
        if self.password:
            listen |= {"requirepass": self.password, "masterauth": self.password}
        if self.users:
            listen |= {"aclfile": str(self._acl_file)}
        return {"bind": "127.0.0.1", "dir": str(self.folder), "save": '""', "daemonize": "no", **listen, **self.options}

    def _command(self) -> list[str | Path]:
        file = self.folder / "server.conf"
        if not file.exists() or not self._rewrites_its_settings():
            file.write_text("".join(f"{name} {value}\n" for name, value in self.settings().items()), encoding="utf-8")
        return [self.installation.path, file]

    def _rewrites_its_settings(self) -> bool:
        return False

    def _is_ready(self, said: str) -> bool:
        return "Ready to accept connections" in said


def choose_redis(family: tuple[str, ...], version: str | None) -> Installation:
    """Return the first installation of these kinds that fits."""
    for kind in family:
        with contextlib.suppress(MissingServer):
            return choose(kind, version)
    name = " or ".join(family) + (f" {version}" if version else "")
    here = [str(one) for kind in family for one in find(kind)]
    ways = "; or ".join(remedy(kind) for kind in family)
    raise MissingServer(f"{name} is not installed (installed: {', '.join(here) or 'none'}); to get it: {ways}")


def say(port: int, *words: str | int, user: str = "", password: str = "", ca: Path | None = None) -> Any:
    """Send one command to a server of the Redis family on 127.0.0.1 and return its reply."""
    with contextlib.ExitStack() as stack:
        link: socket.socket = stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=10))
        if ca is not None:
            context = ssl.create_default_context(cafile=str(ca))
            link = stack.enter_context(context.wrap_socket(link, server_hostname="localhost"))
        stream = stack.enter_context(link.makefile("rwb"))
        if password:
            _ask(stream, ("AUTH", *((user,) if user else ()), password))
        return _ask(stream, words)


def _ask(stream: Any, words: tuple[str | int, ...]) -> Any:
    parts = [str(word).encode() for word in words]
    stream.write(b"*%d\r\n" % len(parts) + b"".join(b"$%d\r\n%s\r\n" % (len(part), part) for part in parts))
    stream.flush()
    return _reply(stream)


def _reply(stream: Any) -> Any:
    line: bytes = stream.readline()
    if not line.endswith(b"\r\n"):
        raise ServerError("the server closed the connection in the middle of a reply")
    kind, text = line[:1], line[1:-2].decode(errors="replace")
    if kind == b"-":
        raise ServerError(text)
    if kind == b":":
        return int(text)
    if kind == b"$":
        size = int(text)
        return None if size < 0 else stream.read(size + 2)[:-2].decode(errors="replace")
    if kind == b"*":
        return None if text == "-1" else [_reply(stream) for _ in range(int(text))]
    return text


def _make_certificate(folder: Path) -> None:
    openssl = shutil.which("openssl")
    if openssl is None:
        raise MissingServer(
            "a server with TLS needs a certificate, and the program openssl makes it; apt-get install openssl"
        )
    subprocess.run(
        [openssl, "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
         "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1",
         "-keyout", folder / "tls.key", "-out", folder / "tls.crt"],
        check=True, capture_output=True, timeout=60,
    )  # fmt: skip
