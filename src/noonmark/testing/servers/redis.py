"""Redis and Valkey servers: one alone, three as a cluster, a primary and its replica under three sentinels.

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
from noonmark.testing.servers.server import Server, ServerError, free_port, wait_until, with_options


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
            file = self.folder / "users.acl"
            file.write_text("\n".join([*self.users, ""]), encoding="utf-8")
            listen |= {"aclfile": str(file)}
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


class _Sentinel(Redis):
    """One process that watches a primary; it keeps what it knows in its settings file."""

    watched = 0
    down_after = 0
    name = ""

    def settings(self) -> dict[str, str]:
        return {
            "bind": "127.0.0.1",
            "port": str(self.port),
            "dir": str(self.folder),
            "sentinel monitor": f"{self.name} 127.0.0.1 {self.watched} 2",
            f"sentinel down-after-milliseconds {self.name}": str(self.down_after),
            f"sentinel failover-timeout {self.name}": str(max(3_000, self.down_after * 3)),
        }

    def _command(self) -> list[str | Path]:
        return [*super()._command(), "--sentinel"]

    def _rewrites_its_settings(self) -> bool:
        return self._served

    def _is_ready(self, said: str) -> bool:
        return "+monitor" in said


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


class RedisCluster:
    """A cluster of primaries, each with an equal part of the slots.

    Args:
        size: how many nodes, at least 3.
        version, kind, options: as for ``Redis``.
    """

    def __init__(
        self,
        size: int = 3,
        *,
        version: str | None = None,
        kind: str | None = None,
        options: Mapping[str, str] | None = None,
    ) -> None:
        settings = {"cluster-enabled": "yes", "cluster-node-timeout": "2000", **(options or {})}
        self.nodes = [Redis(version, kind=kind, options=settings) for _ in range(size)]
        self._joined = False

    @property
    def url(self) -> str:
        """``redis+cluster://127.0.0.1:PORT,127.0.0.1:PORT,…/0``"""
        return f"redis+cluster://{','.join(f'127.0.0.1:{node.port}' for node in self.nodes)}/0"

    def url_with(self, **options: str) -> str:
        """Return the URL with options in its query."""
        return with_options(self.url, options)

    def start(self) -> RedisCluster:
        """Start every node that does not run, join them the first time, and wait until all slots are served."""
        for node in self.nodes:
            if not node.is_running:
                _start_node(node)
        if not self._joined:
            self._join()
            self._joined = True
        wait_until(lambda: all(self._is_whole(node) for node in self.nodes), 60, "the cluster to serve every slot")
        return self

    def _join(self) -> None:
        slots = 16384
        bounds = [slots * n // len(self.nodes) for n in range(len(self.nodes) + 1)]
        for number, node in enumerate(self.nodes):
            node.command("CLUSTER", "ADDSLOTSRANGE", bounds[number], bounds[number + 1] - 1)
            node.command("CLUSTER", "SET-CONFIG-EPOCH", number + 1)
        first = self.nodes[0]
        for node in self.nodes[1:]:
            node.command("CLUSTER", "MEET", "127.0.0.1", first.port, first.options["cluster-port"])

    def _is_whole(self, node: Redis) -> bool:
        said = node.command("CLUSTER", "INFO")
        return "cluster_state:ok" in said and f"cluster_known_nodes:{len(self.nodes)}" in said

    def stop(self) -> None:
        """Stop every node; ``start`` brings the same cluster back."""
        for node in self.nodes:
            node.stop()

    def close(self) -> None:
        """Stop every node and remove their folders."""
        for node in self.nodes:
            node.close()

    def __enter__(self) -> RedisCluster:
        try:
            return self.start()
        except BaseException:
            self.close()
            raise

    def __exit__(self, *_: object) -> None:
        self.close()

    def __str__(self) -> str:
        return f"cluster of {len(self.nodes)} x {self.nodes[0].installation}"


def _start_node(node: Redis) -> None:
    node.options.setdefault("cluster-port", str(free_port()))
    node.start()


class Sentinel:
    """A primary and its replica, watched by three sentinels of whom two must agree.

    Args:
        version, kind, options: as for ``Redis``; for the two data servers.
        down_after: milliseconds of silence after which a server counts as down.
    """

    name = "noonmark"
    """Of the watched pair."""

    def __init__(
        self,
        *,
        version: str | None = None,
        kind: str | None = None,
        options: Mapping[str, str] | None = None,
        down_after: int = 1500,
    ) -> None:
        settings = {"repl-diskless-sync-delay": "0", **(options or {})}
        self.servers = [Redis(version, kind=kind, options=settings) for _ in range(2)]
        self.sentinels = [_Sentinel(version, kind=kind) for _ in range(3)]
        for sentinel in self.sentinels:
            sentinel.name, sentinel.down_after = self.name, down_after
        self._last_primary: Redis | None = None

    @property
    def url(self) -> str:
        """``redis+sentinel://127.0.0.1:PORT,127.0.0.1:PORT,127.0.0.1:PORT/noonmark/0``"""
        hosts = ",".join(f"127.0.0.1:{sentinel.port}" for sentinel in self.sentinels)
        return f"redis+sentinel://{hosts}/{self.name}/0"

    def url_with(self, **options: str) -> str:
        """Return the URL with options in its query."""
        return with_options(self.url, options)

    def start(self) -> Sentinel:
        """Start everything that does not run and wait until the sentinels know each other and the replica."""
        primary = self.servers[0]
        if any(sentinel.is_running for sentinel in self.sentinels):
            primary = self.primary
        elif self._last_primary is not None:
            primary = self._last_primary
        primary.options.pop("replicaof", None)
        primary.start()
        for server in self.servers:
            if server is not primary:  # told at once: sentinels take ten seconds to tell one that comes back as primary
                server.options["replicaof"] = f"127.0.0.1 {primary.port}"
                server.start()
        for sentinel in self.sentinels:
            sentinel.watched = sentinel.watched or primary.port
            sentinel.start()
        wait_until(self._is_whole, 60, "the sentinels to know the pair and each other")
        return self

    def _is_whole(self) -> bool:
        for sentinel in self.sentinels:
            told = _pairs(sentinel.command("SENTINEL", "MASTER", self.name))
            if (told["num-slaves"], told["num-other-sentinels"], told["flags"]) != ("1", "2", "master"):
                return False
        said = self.replica.command("INFO", "replication")
        return f"master_port:{self.primary.port}" in said and "master_link_status:up" in said

    @property
    def primary(self) -> Redis:
        """The server that the sentinels name."""
        port = int(self._asked_sentinel().command("SENTINEL", "GET-MASTER-ADDR-BY-NAME", self.name)[1])
        return next(server for server in self.servers if server.port == port)

    @property
    def replica(self) -> Redis:
        """The other one."""
        primary = self.primary
        return next(server for server in self.servers if server is not primary)

    def _asked_sentinel(self) -> Redis:
        return next(sentinel for sentinel in self.sentinels if sentinel.is_running)

    def fail_over(self, *, gracefully: bool = False, patience: float = 30.0) -> Redis:
        """Make the replica the primary and return it.

        Args:
            gracefully: ask the sentinels; otherwise the primary is killed (start it again with ``start``, as a replica).
            patience: seconds to wait until every sentinel names the new primary and it accepts writes.
        """
        old = self.primary
        new = self.replica
        if gracefully:
            wait_until(self._begins_to_fail_over, patience, "the sentinels to find the replica good enough")
        else:
            old.kill()
        wait_until(lambda: self._all_name(new), patience, "the sentinels to agree on the new primary")
        return new

    def _begins_to_fail_over(self) -> bool:
        try:
            return bool(self._asked_sentinel().command("SENTINEL", "FAILOVER", self.name) == "OK")
        except ServerError as refusal:
            if "NOGOODSLAVE" in str(refusal) or "INPROG" in str(refusal):
                return False
            raise

    def _all_name(self, server: Redis) -> bool:
        for sentinel in self.sentinels:
            if sentinel.is_running:
                told = sentinel.command("SENTINEL", "GET-MASTER-ADDR-BY-NAME", self.name)
                if int(told[1]) != server.port:
                    return False
        role: str = server.command("ROLE")[0]
        return role == "master"

    def stop(self) -> None:
        """Stop everything; ``start`` brings the same pair back."""
        if any(sentinel.is_running for sentinel in self.sentinels):
            self._last_primary = self.primary
        for server in (*self.sentinels, *self.servers):
            server.stop()

    def close(self) -> None:
        """Stop everything and remove the folders."""
        for server in (*self.sentinels, *self.servers):
            server.close()

    def __enter__(self) -> Sentinel:
        try:
            return self.start()
        except BaseException:
            self.close()
            raise

    def __exit__(self, *_: object) -> None:
        self.close()

    def __str__(self) -> str:
        return f"sentinel pair of {self.servers[0].installation}"


def _pairs(flat: list[str]) -> dict[str, str]:
    return dict(zip(flat[::2], flat[1::2], strict=True))
