"""One etcd behind a blocking door: the client's event loop lives in a thread of its own.

Promises: every call ends within its time; a member that does not answer is given up for the next one; nothing of ours is
left running after ``close``.

Rule of the file: here are connections, threads and errors; what a lock is stands in ``etcd.py``.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import CancelledError
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import unquote

from noonmark.core.urls import without_secrets as shown
from noonmark.locks import urls
from noonmark.locks.errors import LockUrlError, no_answer, refusal
from noonmark.ports.lock import LockError, LockUnusable
from noonmark.ports.process import Owner, opened_elsewhere, owner

TIMEOUT = 5.0
"""Seconds for one call, unless the URL says ``timeout``."""
_CHANNEL = {
    # gRPC waits up to two minutes before it tries a member again; a lock that is back must be usable at once.
    "grpc.initial_reconnect_backoff_ms": 100,
    "grpc.min_reconnect_backoff_ms": 2_000,  # for so long, in spite of its name, one attempt to connect may take
    "grpc.max_reconnect_backoff_ms": 500,
    # A connection that died silently is noticed by these, not by the next caller's timeout.
    "grpc.keepalive_time_ms": 10_000,
    "grpc.keepalive_timeout_ms": 3_000,
    "grpc.use_local_subchannel_pool": 1,
}
_FILES = ("ca", "cert", "key")
_OPTIONS = frozenset({"timeout", "server_name", *_FILES})
_ACTS = (
    "permission denied",
    "authentication failed",
    "user name is empty",
    "invalid auth token",
    "authentication is not enabled",
    "database space exceeded",
    "no space",
)
"""What an error says that stays until somebody acts."""

T = TypeVar("T")

_first_used_by: Owner | None = None
"""The process in which gRPC was first used: it does not survive a fork."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """What an etcd URL says."""

    shown: str
    members: tuple[tuple[str, int], ...]
    user: str | None = None
    password: str | None = None
    secure: bool = False
    files: dict[str, str]
    server_name: str = ""
    timeout: float = TIMEOUT


def read_url(url: str) -> Place:
    """Read ``etcd://user:password@host:2379,host:2379?ca=…&cert=…&key=…&server_name=…&timeout=5``.

    ``etcds://`` means TLS with the system's certificate authorities; ``ca`` (a PEM file) implies it.

    Raises:
        LockUrlError: with what to write instead.
    """
    parts = urls.split(url)
    if parts.scheme not in ("etcd", "etcds"):
        raise LockUrlError(f"{shown(url)} names no etcd; write etcd://host:2379,host:2379")
    if parts.path.strip("/"):
        raise LockUrlError(f"{shown(url)} has a path, and etcd has none; write etcd://host:2379,host:2379")
    options = urls.options(url, _OPTIONS)
    files = urls.files(options, _FILES)
    if ("cert" in files) != ("key" in files):
        raise LockUrlError(f"{shown(url)} names only one of cert and key; a client certificate needs both")
    if (parts.username is None) != (parts.password is None):
        raise LockUrlError(f"{shown(url)} names only one of user and password; write etcd://user:password@host:2379")
    return Place(
        shown=shown(url),
        members=tuple(urls.hosts(parts, 2379)),
        user=None if parts.username is None else unquote(parts.username),
        password=None if parts.password is None else unquote(parts.password),
        secure=parts.scheme == "etcds" or bool(files),
        files=files,
        server_name=options.get("server_name", ""),
        timeout=urls.seconds(options.get("timeout", str(TIMEOUT)), 0.01, 600),
    )


class Link:
    """The connection to one etcd: calls from any thread, one event loop."""

    def __init__(self, url: str) -> None:
        self.place = read_url(url)
        self._owner = owner()
        self._guard = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._closed = False
        # What follows belongs to the loop.
        self._client: Any = None
        self._member = 0
        self._errands: set[asyncio.Task[None]] = set()
        self._retiring: set[asyncio.Task[None]] = set()

    def call(self, work: Callable[[Any], Awaitable[T]], timeout: float) -> T:
        """Do ``work(client)`` within ``timeout`` seconds.

        Raises:
            LockError: no answer; the next call asks the next member.
            LockUnusable: it refuses until a person acts.
        """
        if not self._owner.is_here:
            raise LockUnusable(opened_elsewhere(self.place.shown))
        timeout = min(timeout, self.place.timeout)
        coroutine = self._attempt(work, patience=timeout)
        try:
            future = asyncio.run_coroutine_threadsafe(coroutine, self._running())
        except BaseException:
            coroutine.close()
            raise
        try:
            return future.result(timeout + 5)  # the loop keeps the time; this is for a loop that cannot
        except TimeoutError:
            future.cancel()
            raise self._translated("no answer") from None
        except CancelledError:  # ``close`` was called meanwhile
            raise self._translated("the connection was closed") from None

    def errand(self, work: Callable[[Any], Awaitable[Any]]) -> None:
        """Do ``work(client)`` some time soon; nobody waits for it and its failure harms nothing (loop only)."""
        task = asyncio.ensure_future(self._run_errand(work))
        self._errands.add(task)
        task.add_done_callback(self._errands.discard)

    async def _run_errand(self, work: Callable[[Any], Awaitable[Any]]) -> None:
        with contextlib.suppress(Exception):
            await asyncio.wait_for(work(self._connected()), self.place.timeout)

    def close(self) -> None:
        """Close the connection and end the thread."""
        with self._guard:
            self._closed = True
            loop, thread, self._loop, self._thread = self._loop, self._thread, None, None
        if loop is None or thread is None or not self._owner.is_here:
            return
        asyncio.run_coroutine_threadsafe(self._shut(), loop)
        thread.join(timeout=10)

    # -- the loop ----------------------------------------------------------------------------------

    def _running(self) -> asyncio.AbstractEventLoop:
        global _first_used_by
        if _first_used_by is not None and not _first_used_by.is_here:
            raise LockUnusable(
                f"{self.place.shown} cannot be used here: gRPC, by which etcd is spoken to, does not work in a process "
                "that was forked from one that used it. Start processes anew (subprocess, multiprocessing's spawn), or lock "
                "after the fork only."
            )
        _first_used_by = owner()
        with self._guard:
            if self._closed:
                raise LockUnusable(f"the locks at {self.place.shown} were closed; open them again")
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                self._thread = threading.Thread(target=_serve, args=(self._loop,), name="noonmark-etcd", daemon=True)
                self._thread.start()
            return self._loop

    async def _shut(self) -> None:
        if self._errands:
            await asyncio.wait(self._errands, timeout=1)
        left = self._errands | self._retiring
        for task in left:
            task.cancel()
        if left:
            await asyncio.wait(left, timeout=1)
        await self._hang_up()
        asyncio.get_running_loop().stop()

    async def _attempt(self, work: Callable[[Any], Awaitable[T]], *, patience: float) -> T:
        import aetcd
        import grpc

        troubles = (
            aetcd.ClientError,
            grpc.RpcError,
            grpc.aio.UsageError,
            grpc.aio.InternalError,
            TimeoutError,
            OSError,
        )
        for is_last in (False, True):
            client = self._connected()
            try:
                return await asyncio.wait_for(work(client), patience)
            except (*troubles, asyncio.CancelledError) as error:
                if isinstance(error, asyncio.CancelledError) and self._closed:
                    raise
                # gRPC cancels a call whose channel is closed: another call has given this connection up.
                said = str(error) or type(error).__name__
                # A token that etcd no longer knows (it restarted, or forgot an idle one) is fetched anew, once; etcd has
                # refused the request, so nothing happened yet.
                if "invalid auth token" in said and not is_last:
                    self._drop(client)
                    continue
                if not any(sign in said for sign in _ACTS):
                    self._drop(client, next_member=True)
                raise self._translated(said) from error
        raise AssertionError("unreachable")

    def _translated(self, said: str) -> LockError:
        if any(sign in said for sign in _ACTS):
            return refusal(self.place.shown, said, _remedy(said))
        return no_answer(self.place.shown, said)

    def _connected(self) -> Any:
        if self._client is None:
            host, port = self.place.members[self._member % len(self.place.members)]
            self._client = client_for(self.place, host, port)
        return self._client

    def _drop(self, client: Any, *, next_member: bool = False) -> None:
        """Give a connection up, unless another call has done so already."""
        if client is not self._client:
            return
        self._client = None
        if next_member:
            self._member += 1
        # What other calls have under way may still be answered, and they may have more than one step to go.
        task = asyncio.ensure_future(self._retire(client))
        self._retiring.add(task)
        task.add_done_callback(self._retiring.discard)

    async def _retire(self, client: Any) -> None:
        try:
            await asyncio.sleep(2 * self.place.timeout)
        finally:
            with contextlib.suppress(Exception):
                await client.close()

    async def _hang_up(self) -> None:
        client, self._client = self._client, None
        if client is not None:
            with contextlib.suppress(Exception):
                await client.close()


def _serve(loop: asyncio.AbstractEventLoop) -> None:
    asyncio.set_event_loop(loop)
    try:
        loop.run_forever()
    finally:
        pending = asyncio.all_tasks(loop)
        for task in pending:
            task.cancel()
        loop.run_until_complete(asyncio.gather(*pending, return_exceptions=True))
        loop.run_until_complete(loop.shutdown_asyncgens())
        asyncio.set_event_loop(None)
        loop.close()


def client_for(place: Place, host: str, port: int) -> Any:
    """Return a client that connects at its first call.

    aetcd's own ``connect`` knows no TLS and keeps a watcher we have no use for, so the channel is made here.
    """
    import aetcd
    import grpc
    from aetcd import rpc

    options: dict[str, Any] = dict(_CHANNEL)
    credentials = None
    if place.secure:
        read = {name: Path(path).read_bytes() for name, path in place.files.items()}
        credentials = grpc.ssl_channel_credentials(read.get("ca"), read.get("key"), read.get("cert"))
        if place.server_name:
            options["grpc.ssl_target_name_override"] = place.server_name
    one_at_a_time = asyncio.Lock()

    class Client(aetcd.Client):  # type: ignore[misc]
        channel: Any

        async def connect(self) -> None:
            if self._connected.is_set():
                return
            async with one_at_a_time:
                if self._connected.is_set():
                    return
                target = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
                if self.channel is None:
                    self.channel = (
                        grpc.aio.insecure_channel(target, options=list(options.items()))
                        if credentials is None
                        else grpc.aio.secure_channel(target, credentials, options=list(options.items()))
                    )
                if place.user is not None:
                    asked = rpc.AuthenticateRequest(name=place.user, password=place.password)
                    answer = await rpc.AuthStub(self.channel).Authenticate(asked, timeout=place.timeout)
                    self.metadata = (("token", answer.token),)
                self.kvstub, self.leasestub = rpc.KVStub(self.channel), rpc.LeaseStub(self.channel)
                self._connected.set()

    return Client(host, port, timeout=place.timeout)


def _remedy(said: str) -> str:
    if "space" in said:
        return (
            "Compact and defragment it, then disarm the alarm: etcdctl compact, etcdctl defrag, etcdctl alarm disarm."
        )
    if "permission denied" in said:
        return "Grant this user read and write on the prefix noonmark/locks/."
    return "Check user and password in the URL."
