"""Connections to the server: one link per purpose, each running scripts of one namespace.

Rule of the file: a verb is one attempt.  A connection that died while idle is opened anew once, which is safe because every
verb has a request id or is judged afresh; waiting longer, and backing off, is the engine's.  All keys of a namespace are
in one slot, so even in a cluster there is exactly one server to talk to.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from redis import Redis, exceptions
from redis.backoff import NoBackoff
from redis.crc import key_slot
from redis.retry import Retry

from noonmark.ports.process import owner
from noonmark.stores.redis import errors
from noonmark.stores.redis.address import Address
from noonmark.stores.redis.scripts import Script
from noonmark.stores.redis.sentinels import Sentinels

AT_ONCE = 16
"""Calls in flight per link; further threads wait for their turn."""
_LOST = (exceptions.ConnectionError, exceptions.TimeoutError, OSError)


class Server:
    """The one server that holds the namespace, found anew after a failover."""

    def __init__(self, address: Address, *, timeout: float, connections: int, retries: int) -> None:
        self._address = address
        self._settings: dict[str, Any] = {
            "username": address.username,
            "password": address.password,
            "db": address.db,
            "decode_responses": True,
            "protocol": 2,
            "socket_timeout": timeout,
            "socket_connect_timeout": min(timeout, 2.0),
            "socket_keepalive": True,
            "max_connections": connections,
            "retry": Retry(NoBackoff(), retries, supported_errors=(exceptions.ConnectionError,)),
            **address.tls,
        }
        self._lock = threading.Lock()
        self._hosts = list(address.hosts)  # of a cluster: those that were named, and those that were found
        self._client: Any = None  # redis-py's own types say little

    def client(self) -> Any:
        """Return a client of the server that holds the namespace now."""
        with self._lock:
            if self._client is None:
                self._client = self._connect()
            return self._client

    def forget(self, client: Any) -> None:
        """The server that this client talks to does not serve the namespace any more (or nobody knows): ask anew."""
        if self._address.kind != "cluster" or client is None:
            return  # one address, or sentinels that every new connection asks anyway
        with self._lock:
            if self._client is client:
                self._client = None
        client.close()

    def close(self) -> None:
        """Close every connection."""
        with self._lock:
            client, self._client = self._client, None
        if client is not None:
            client.close()
            client.connection_pool.disconnect()

    def _connect(self) -> Any:
        address = self._address
        if address.kind == "single":
            host, port = address.hosts[0]
            return Redis(host=host, port=port, **self._settings)
        if address.kind == "sentinel":
            return self._by_sentinels()
        return self._by_slot()

    def _by_sentinels(self) -> Any:
        quick: dict[str, Any] = {
            "socket_timeout": 2.0,
            "socket_connect_timeout": 1.0,
            "decode_responses": True,
            "protocol": 2,
        }
        quick |= {"retry": Retry(NoBackoff(), 0), **self._address.sentinel, **self._address.tls}
        make: Any = Sentinels
        sentinels = make(list(self._address.hosts), sentinel_kwargs=quick, **self._settings)
        return sentinels.master_for(self._address.service)

    def _by_slot(self) -> Any:
        slot = key_slot(f"{self._address.prefix}meta".encode())
        problem: Exception | None = None
        for host, port in list(self._hosts):
            asked: Any = Redis(host=host, port=port, **(self._settings | {"retry": Retry(NoBackoff(), 0)}))
            try:
                slots = asked.execute_command("CLUSTER", "SLOTS")
            except _LOST as error:
                problem = error
                continue
            finally:
                asked.close()
            nodes = [node for _, _, *serving in slots for node in serving]
            self._hosts += {(node[0] or host, node[1]) for node in nodes}.difference(self._hosts)
            for first, last, primary, *_ in slots:
                if first <= slot <= last:
                    return Redis(host=primary[0] or host, port=primary[1], **self._settings)
            problem = exceptions.ClusterDownError(f"CLUSTERDOWN nobody serves slot {slot}")
        assert problem is not None, "an address has at least one host"
        raise problem


@dataclass(frozen=True, slots=True, kw_only=True)
class Wait:
    """What is waited for before a caller is answered: the server's own disk, and replicas that have the write."""

    disk: bool
    replicas: int
    patience: float  # seconds for all of it

    @property
    def commands(self) -> list[tuple[Any, ...]]:
        """The commands that wait, each a part of the patience.

        Replicas are asked with WAIT and not with WAITAOF: they answer it at once, and tell what is on their disks only
        once a second (ADR 0023).
        """
        each = int(self.patience * 1000) // (2 if self.disk and self.replicas else 1)
        disk = [("WAITAOF", 1, 0, each)] if self.disk else []
        return [*disk, *([("WAIT", self.replicas, each)] if self.replicas else [])]

    def check(self, replies: Sequence[Any], url: str) -> None:
        """Refuse to call durable what is not.

        Raises:
            StoreUnreachable: it took too long; the write is there, and repeating the verb waits again.
        """
        if self.disk and replies[0][0] < 1:
            raise errors.unreachable(url, "the server's disk did not confirm the write in time; is it full or busy?")
        if self.replicas and replies[-1] < self.replicas:
            raise errors.unreachable(
                url,
                f"only {replies[-1]} of {self.replicas} replicas confirmed the write in time (durability=failover); is a "
                "replica away, or its link down?",
            )


class Link:
    """A way to the server for one purpose; safe to use from several threads."""

    def __init__(
        self, address: Address, *, timeout: float | None = None, at_once: int = AT_ONCE, retries: int = 1
    ) -> None:
        self.url = address.shown()
        self._keys = (f"{address.prefix}meta", f"{address.prefix}moving")
        self._server = Server(address, timeout=timeout or address.timeout, connections=at_once + 2, retries=retries)
        self._turn = threading.BoundedSemaphore(at_once)
        self.wait: Wait | None = None
        self._owner = owner()
        self._closed = False

    def run(self, script: Script, at: str, request: str, voice: str, *args: str, durable: bool = False) -> Any:
        """Run a script and return its reply.

        Args:
            script: which one.
            at, request, voice: see ``lua/common_unit.lua``.
            args: what it is about, and texts.
            durable: the caller relies on the answer, so wait for the disks that the URL asks for.
        """
        command = ("EVALSHA", script.sha, 2, *self._keys, at, request, voice, *args)
        with self._turn, self._going():
            client = self._server.client()
            try:
                return self._send(client, command, durable=durable)
            except exceptions.NoScriptError:  # the server is new, or was flushed: it has written nothing
                whole = ("EVAL", script.text, *command[2:])
                return self._send(client, whole, durable=durable)
            except (*_LOST, exceptions.AskError, exceptions.ClusterDownError):
                self._server.forget(client)
                raise

    def ask(self, *command: Any) -> Any:
        """Run one plain command that reads."""
        with self._turn, self._going():
            client = self._server.client()
            try:
                return client.execute_command(*command)
            except (*_LOST, exceptions.AskError, exceptions.ClusterDownError):
                self._server.forget(client)
                raise

    def ask_all(self, commands: Sequence[tuple[Any, ...]]) -> list[Any]:
        """Run plain commands in one round trip; what the server refuses comes as its error in the place of the reply."""
        with self._turn, self._going():
            client = self._server.client()
            try:
                with client.pipeline(transaction=False) as pipe:
                    for command in commands:
                        pipe.execute_command(*command)
                    replies: list[Any] = pipe.execute(raise_on_error=False)
            except (*_LOST, exceptions.AskError, exceptions.ClusterDownError):
                self._server.forget(client)
                raise
            return replies

    def client(self) -> Any:
        """Return the client itself, for whoever listens."""
        with self._going():
            return self._server.client()

    def forget(self, client: Any) -> None:
        """Whoever listened by this client heard no more: another server may hold the namespace by now."""
        self._server.forget(client)

    def close(self) -> None:
        """Close every connection; later calls are refused."""
        self._closed = True
        if self._owner.is_here:
            self._server.close()

    def _send(self, client: Any, command: tuple[Any, ...], *, durable: bool) -> Any:
        wait = self.wait
        if not durable or wait is None:
            return client.execute_command(*command)
        with client.pipeline(transaction=False) as pipe:  # one connection: the wait is for what it wrote
            pipe.execute_command(*command)
            for waiting in wait.commands:
                pipe.execute_command(*waiting)
            reply, *waited = pipe.execute(raise_on_error=False)
        for told in (reply, *waited):
            if isinstance(told, Exception):
                raise told
        wait.check(waited, self.url)
        return reply

    @contextlib.contextmanager
    def _going(self) -> Iterator[None]:
        if not self._owner.is_here:
            raise errors.unusable(
                self.url, "it was opened before this process was forked", "Open the store again in the new process."
            )
        if self._closed:
            raise errors.unusable(self.url, "it was closed in this process", "Open it again.")
        with errors.translating(self.url):
            yield
