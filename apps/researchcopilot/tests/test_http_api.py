"""The HTTP API: a request only delivers, and every error is JSON that says what to do."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest

from researchcopilot.api import BODY_LIMIT, Server
from researchcopilot.data import Data
from researchcopilot.desk import Desk, Order, UnavailableError


class Client:
    """Talks to a server as a program would."""

    def __init__(self, server: Server, orders: list[Order]) -> None:
        self.server, self.orders = server, orders
        self.away = False

    def enqueue(self, order: Order) -> None:
        if self.away:
            raise UnavailableError("the store is away; ask again")
        self.orders.append(order)

    def send(self, method: str, path: str, body: Any = None, **headers: str) -> tuple[int, Any]:
        content = body if isinstance(body, bytes) else json.dumps(body).encode() if body is not None else None
        sent = {"Content-Type": "application/json"} if content is not None else {}
        sent |= {name.replace("_", "-"): value for name, value in headers.items()}
        connection = HTTPConnection("127.0.0.1", int(self.server.server_address[1]), timeout=5)
        try:
            connection.request(method, path, body=content, headers=sent)
            reply = connection.getresponse()
            return reply.status, json.loads(reply.read())
        finally:
            connection.close()


@pytest.fixture
def client(tmp_path: Path) -> Iterator[Client]:
    orders: list[Order] = []
    made: list[Client] = []
    desk = Desk(Data(tmp_path), lambda order: made[0].enqueue(order))
    server = Server(desk)
    made.append(Client(server, orders))
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield made[0]
    server.shutdown()
    thread.join()
    server.server_close()


def test_a_question_becomes_a_stored_run_and_one_order(client: Client) -> None:
    status, run = client.send("POST", "/runs", {"question": " 租约是什么？ "})
    assert (status, run["question"], run["state"]) == (202, "租约是什么？", "asked")
    assert [(order.run_id, order.question) for order in client.orders] == [(run["id"], "租约是什么？")]
    assert client.send("GET", f"/runs/{run['id']}") == (200, run)
    assert client.send("GET", "/runs")[1]["runs"] == [run]


def test_the_same_idempotency_key_gives_the_same_run(client: Client) -> None:
    first = client.send("POST", "/runs", {"question": "q"}, Idempotency_Key="k-1")
    second = client.send("POST", "/runs", {"question": "q"}, Idempotency_Key="k-1")
    assert (first[0], second[0]) == (202, 200)
    assert first[1] == second[1]
    assert len(client.orders) == 1
    assert client.send("POST", "/runs", {"question": "other"}, Idempotency_Key="k-1")[0] == 400


def test_a_store_that_is_away_leaves_no_run_behind(client: Client) -> None:
    client.away = True
    status, body = client.send("POST", "/runs", {"question": "q"})
    assert (status, body["error"]["code"]) == (503, "store_unavailable")
    assert client.send("GET", "/runs")[1] == {"runs": []}


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        (b"{", 400, "json_malformed"),
        (b"\xff\xfe", 400, "json_malformed"),
        (b"[" * 60000, 400, "json_malformed"),
        ([], 400, "json_malformed"),
        ({}, 400, "question_missing"),
        ({"question": 7}, 400, "question_missing"),
        ({"question": "q", "deep": "yes"}, 400, "question_missing"),
        ({"question": "q", "x": 1}, 400, "field_unknown"),
        ({"question": "  "}, 400, "question_refused"),
        ({"question": "x" * 3000}, 400, "question_refused"),
        (b"x" * (BODY_LIMIT + 1), 413, "body_too_large"),
    ],
)
def test_a_wrong_request_is_refused_with_a_reason(client: Client, body: Any, status: int, code: str) -> None:
    got, answer = client.send("POST", "/runs", body)
    assert (got, answer["error"]["code"]) == (status, code)
    assert client.orders == []


@pytest.mark.parametrize("path", ["/", "/nothing", "/runs/run-unknown"])
def test_an_unknown_path_is_404_in_json(client: Client, path: str) -> None:
    assert client.send("GET", path)[0] == 404


@pytest.mark.parametrize("limit", ["0", "-1", "201", "x", "٣"])
def test_a_limit_is_a_number_in_bounds(client: Client, limit: str) -> None:
    from urllib.parse import quote

    assert client.send("GET", f"/runs?limit={quote(limit)}")[0] == 400


def test_a_form_of_another_site_is_refused(client: Client) -> None:
    assert client.send("POST", "/runs", b"{}", Content_Type="text/plain")[0] == 415
    assert client.send("POST", "/runs", {"question": "q"}, Origin="http://evil.example")[0] == 403
    assert client.send("GET", "/runs", Host="evil.example")[0] == 403


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "OPTIONS", "BREW"])
def test_a_method_that_there_is_not_is_405_in_json(client: Client, method: str) -> None:
    status, answer = client.send(method, "/runs", {"question": "q"})
    assert (status, answer["error"]["code"]) == (405, "method_refused")
    assert "GET /runs" in answer["error"]["message"]
    assert client.orders == []


def test_what_is_no_http_is_told_in_json(client: Client) -> None:
    for request in (b"NONSENSE\r\n\r\n", b"GET /runs HTTP/9.1\r\n\r\n"):
        with socket.create_connection(("127.0.0.1", int(client.server.server_address[1])), timeout=5) as wire:
            wire.sendall(request)
            answer = b"".join(iter(lambda: wire.recv(65536), b""))
        assert json.loads(answer.rpartition(b"\r\n")[2])["error"]["code"] == "request_malformed", answer


def test_one_idempotency_key_for_two_questions_at_once_is_refused(client: Client) -> None:
    """The second asks while the first is on its way to the store: it must not be handed the other's run."""
    told: list[tuple[int, Any]] = []

    def meanwhile(order: Order) -> None:
        client.enqueue = real  # type: ignore[method-assign]
        told.append(client.send("POST", "/runs", {"question": "first"}, Idempotency_Key="k"))
        real(order)

    real, client.enqueue = client.enqueue, meanwhile  # type: ignore[method-assign]
    status, answer = client.send("POST", "/runs", {"question": "second"}, Idempotency_Key="k")

    assert told[0][0] == 202
    assert (status, answer["error"]["code"]) == (400, "question_refused")
    assert client.send("GET", "/runs")[1]["runs"] == [told[0][1]]


def test_health_digests_and_reports_are_there(client: Client) -> None:
    assert client.send("GET", "/healthz")[1]["status"] == "ok"
    assert client.send("GET", "/digests") == (200, {"digests": []})
    assert client.send("GET", "/reports") == (200, {"reports": []})
