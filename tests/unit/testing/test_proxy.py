"""The proxy does what it is told, between a plain socket and an echoing server."""

from __future__ import annotations

import gc
import socket
import socketserver
import threading
import time
from collections.abc import Iterator

import pytest

from noonmark.testing.proxy import Proxy


class _Echo(socketserver.BaseRequestHandler):
    heard: list[bytes]

    def handle(self) -> None:
        try:
            while chunk := self.request.recv(1000):
                self.server.heard.append(chunk)  # type: ignore[attr-defined]
                self.request.sendall(b"re:" + chunk)
        except OSError:
            pass


class _Server(socketserver.ThreadingTCPServer):
    daemon_threads = True
    allow_reuse_address = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Echo)
        self.heard: list[bytes] = []


@pytest.fixture
def server() -> Iterator[_Server]:
    with _Server() as made:
        thread = threading.Thread(target=made.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield made
        made.shutdown()
        thread.join()


@pytest.fixture
def proxy(server: _Server) -> Iterator[Proxy]:
    with Proxy(server.server_address[1]) as made:
        yield made


@pytest.fixture
def client(proxy: Proxy) -> Iterator[socket.socket]:
    with connect(proxy) as made:
        yield made


def connect(proxy: Proxy) -> socket.socket:
    made = socket.create_connection(("127.0.0.1", proxy.port), timeout=5)
    made.settimeout(5)
    return made


def ask(client: socket.socket, text: bytes) -> bytes:
    client.sendall(text)
    return client.recv(1000)


def test_what_is_said_is_forwarded_both_ways(client: socket.socket, proxy: Proxy) -> None:
    assert ask(client, b"hello") == b"re:hello"
    assert (proxy.accepted, proxy.open_links) == (1, 1)


def test_a_cut_resets_the_connection_and_lets_new_ones_in(client: socket.socket, proxy: Proxy) -> None:
    ask(client, b"a")
    assert proxy.cut() == 1
    with pytest.raises(ConnectionResetError):
        client.recv(10)
    with connect(proxy) as again:
        assert ask(again, b"b") == b"re:b"


def test_refused_connections_find_nobody_until_they_are_let_in_at_the_same_port(proxy: Proxy) -> None:
    port = proxy.port
    proxy.refuse()
    with pytest.raises(ConnectionRefusedError):
        connect(proxy)
    proxy.accept()
    assert proxy.port == port
    with connect(proxy) as client:
        assert ask(client, b"a") == b"re:a"


def test_a_black_hole_says_nothing_and_what_it_held_back_comes_later(client: socket.socket, proxy: Proxy) -> None:
    ask(client, b"a")
    proxy.blackhole()
    client.settimeout(0.1)
    with pytest.raises(TimeoutError):
        ask(client, b"b")
    with connect(proxy) as other:
        other.settimeout(0.1)
        with pytest.raises(TimeoutError):
            ask(other, b"c")
        proxy.heal()
        client.settimeout(5)
        other.settimeout(5)
        assert client.recv(10) == b"re:b"
        assert other.recv(10) == b"re:c"


def test_a_black_hole_can_be_cut(client: socket.socket, proxy: Proxy) -> None:
    ask(client, b"a")
    proxy.blackhole()
    assert proxy.cut() == 1
    with pytest.raises(ConnectionResetError):
        client.recv(10)


def test_a_connection_that_came_into_a_black_hole_can_be_cut_too(proxy: Proxy) -> None:
    proxy.blackhole()
    with connect(proxy) as client:
        deadline = time.monotonic() + 5
        while not proxy.open_links:
            assert time.monotonic() < deadline
            time.sleep(0.01)
        assert proxy.cut() == 1
        with pytest.raises(ConnectionResetError):
            client.recv(10)


def test_a_delay_counts_in_each_direction(client: socket.socket, proxy: Proxy) -> None:
    proxy.delay(0.1)
    began = time.monotonic()
    assert ask(client, b"a") == b"re:a"
    assert time.monotonic() - began >= 0.2


def test_a_reply_is_dropped_after_the_server_had_the_request(
    client: socket.socket, proxy: Proxy, server: _Server
) -> None:
    proxy.drop_replies(b"COMMIT")
    assert ask(client, b"BEGIN") == b"re:BEGIN"
    client.sendall(b"COM")
    assert client.recv(10) == b"re:COM"
    client.sendall(b"MIT")
    with pytest.raises(ConnectionResetError):
        client.recv(10)
    assert b"".join(server.heard) == b"BEGINCOMMIT"
    assert proxy.dropped == 1
    with connect(proxy) as again:
        assert ask(again, b"COMMIT") == b"re:COMMIT", "one reply was to be dropped, not two"


def test_a_reply_that_was_to_be_dropped_and_never_came_is_made_up_for_by_the_next_one() -> None:
    with socket.create_server(("127.0.0.1", 0)) as mute, Proxy(mute.getsockname()[1]) as slow:
        slow.drop_replies(b"COMMIT")
        with connect(slow) as client:
            client.sendall(b"COMMIT")
            answering, _ = mute.accept()
            with answering:
                assert answering.recv(10) == b"COMMIT"
                assert slow.cut() == 1
        with connect(slow) as again:
            again.sendall(b"COMMIT")
            answering, _ = mute.accept()
            with answering:
                assert answering.recv(10) == b"COMMIT"
                answering.sendall(b"done")
                with pytest.raises(ConnectionResetError):
                    again.recv(10)
        assert slow.dropped == 1


def test_a_server_that_is_gone_ends_the_connection(proxy: Proxy, server: _Server) -> None:
    server.server_close()
    with connect(proxy) as client:
        try:
            said = client.recv(10)
        except ConnectionResetError:
            said = b""
    assert said == b""


def test_a_connection_that_came_just_before_the_end_is_not_told_of_later(server: _Server) -> None:
    for _ in range(40):
        proxy = Proxy(server.server_address[1])
        clients = [connect(proxy) for _ in range(4)]
        proxy.close()
        for client in clients:
            client.close()
    gc.collect()  # a connection that was left open says so now, and a warning is an error here
