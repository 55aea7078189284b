"""A TCP proxy between a store and its server, for tests: every way in which a connection fails, on demand.

Promise: what the proxy is told to do holds when the call returns, for connections that are there and for new ones.

Rule of the file: it knows no protocol.  Where a test must hit one request, it names bytes that only this request has.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import struct
import threading
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

T = TypeVar("T")
CHUNK = 65_536
TURNS = 5
"""Of the loop, until a connection that was accepted has one who serves it; it takes three."""
QUIET = 0.05
"""Seconds without a byte from the server after which a reply is taken for complete."""
_RESET = struct.pack("ii", 1, 0)


class Proxy:
    """Forwards one local port to a server; a context manager.

    Args:
        port: the server's.
        host: the server's.
    """

    def __init__(self, port: int, host: str = "127.0.0.1") -> None:
        self._target = host, port
        self._loop = asyncio.new_event_loop()
        self._links: set[_Link] = set()
        self._server: asyncio.Server | None = None
        self._flow = asyncio.Event()
        self._flow.set()
        self._delay = 0.0
        self._marker: bytes | None = None
        self._to_drop = 0
        self.port = 0
        self.accepted = 0
        """How many connections were let in so far."""
        self.dropped = 0
        """How many replies were swallowed so far."""
        self._thread = threading.Thread(target=self._loop.run_forever, name="proxy", daemon=True)
        self._thread.start()
        self.accept()

    # -- what can go wrong ----------------------------------------------------------------------------

    def accept(self) -> None:
        """Let new connections in, always at the same port."""
        self._do(self._listen())

    def refuse(self) -> None:
        """Reset every connection and let none in, as if nobody listened."""
        self._do(self._deny())

    def cut(self) -> int:
        """Reset every connection that is there; return how many there were."""
        return self._do(self._cut())

    def blackhole(self) -> None:
        """Forward nothing more, in neither direction: connections stay open and nobody answers."""
        self._do(self._switch(self._flow.clear))

    def heal(self) -> None:
        """Forward again, what was held back first; no delay, nothing to drop."""

        def forget() -> None:
            self._delay, self._marker, self._to_drop = 0.0, None, 0
            self._flow.set()

        self._do(self._switch(forget))

    def delay(self, seconds: float) -> None:
        """Hold every chunk back for so long, in each direction."""
        self._do(self._switch(lambda: setattr(self, "_delay", seconds)))

    def drop_replies(self, marker: bytes, times: int = 1) -> None:
        """Let the next requests with these bytes reach the server, swallow its whole reply and reset the connection.

        Args:
            marker: bytes of the request, for example ``b"COMMIT"``.
            times: how many such requests.
        """

        def arm() -> None:
            self._marker, self._to_drop = marker, times

        self._do(self._switch(arm))

    @property
    def open_links(self) -> int:
        """How many connections there are now."""
        return len(self._links)

    def close(self) -> None:
        """End everything.  Calling it twice does no harm."""
        if self._loop.is_closed():
            return
        self._do(self._end())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)
        self._loop.close()

    def __enter__(self) -> Proxy:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # -- on the proxy's own loop ----------------------------------------------------------------------

    def _do(self, act: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(act, self._loop).result(10)

    async def _switch(self, act: Callable[[], object]) -> None:
        act()

    async def _listen(self) -> None:
        if self._server is None:
            self._server = await asyncio.start_server(self._welcome, "127.0.0.1", self.port)
            self.port = self._server.sockets[0].getsockname()[1]

    async def _deny(self) -> None:
        if self._server is not None:
            for listening in self._server.sockets:
                self._loop.remove_reader(listening.fileno())
            for _ in range(TURNS):  # a server that is closed refuses what it has accepted, and leaves it open
                await asyncio.sleep(0)
            self._server.close()
            self._server = None
        await self._cut()

    async def _cut(self) -> int:
        links = list(self._links)
        for link in links:
            link.reset()
        await asyncio.gather(*(link.ended.wait() for link in links))
        return len(links)

    async def _end(self) -> None:
        await self._deny()
        tasks = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _welcome(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.accepted += 1
        link = _Link(self, reader, writer)
        self._links.add(link)
        try:
            await link.serve(*self._target)
        finally:
            self._links.discard(link)
            link.ended.set()

    async def hold_back(self) -> None:
        """Wait as long as a chunk has to."""
        if self._delay:
            await asyncio.sleep(self._delay)
        await self._flow.wait()

    def wants_lost(self, request: bytes) -> bool:
        """Return True when the reply to this request is to be swallowed."""
        if self._marker is None or self._to_drop <= 0 or self._marker not in request:
            return False
        self._to_drop -= 1
        return True

    def still_to_lose(self) -> None:
        """A connection was ended before the reply came that it was to swallow: another one takes its place."""
        self._to_drop += 1


class _Link:
    """One client's connection and ours to the server."""

    def __init__(self, proxy: Proxy, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._proxy = proxy
        self._reader = reader
        self._writers = [writer]
        self._pumps: list[asyncio.Task[Any]] = []
        self._is_lost = False
        self._is_swallowed = False
        self.ended = asyncio.Event()

    async def serve(self, host: str, port: int) -> None:
        """Forward until one side ends."""
        connecting = asyncio.create_task(self._connect(host, port))
        self._pumps.append(connecting)
        await asyncio.wait([connecting])
        if connecting.cancelled() or connecting.exception() is not None:
            self.reset()
            return
        server, to_server = connecting.result()
        self._writers.append(to_server)
        self._pumps = [asyncio.create_task(self._ask(to_server)), asyncio.create_task(self._answer(server))]
        try:
            await asyncio.wait(self._pumps, return_when=asyncio.FIRST_COMPLETED)
        finally:
            self.reset()
            await asyncio.gather(*self._pumps, return_exceptions=True)
            if self._is_lost and not self._is_swallowed:
                self._proxy.still_to_lose()

    async def _connect(self, host: str, port: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        await self._proxy.hold_back()
        return await asyncio.open_connection(host, port)

    async def _ask(self, to_server: asyncio.StreamWriter) -> None:
        tail = b""
        while chunk := await self._reader.read(CHUNK):
            await self._proxy.hold_back()
            seen = tail + chunk
            self._is_lost = self._is_lost or self._proxy.wants_lost(seen)
            tail = seen[-256:] if not self._is_lost else b""
            to_server.write(chunk)
            await to_server.drain()

    async def _answer(self, server: asyncio.StreamReader) -> None:
        while chunk := await server.read(CHUNK):
            if self._is_lost:
                await self._swallow(server)
                return
            await self._proxy.hold_back()
            self._writers[0].write(chunk)
            await self._writers[0].drain()

    async def _swallow(self, server: asyncio.StreamReader) -> None:
        """The first bytes are here, so the request is being carried out; wait for the last ones."""
        with contextlib.suppress(TimeoutError):
            while await asyncio.wait_for(server.read(CHUNK), QUIET):
                pass
        self._is_swallowed = True
        self._proxy.dropped += 1

    def reset(self) -> None:
        """End both connections with a reset, which is what the end of a process or a firewall looks like."""
        for pump in self._pumps:
            pump.cancel()
        for writer in self._writers:
            if writer.is_closing():
                continue
            with contextlib.suppress(OSError):
                writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
            writer.transport.abort()
