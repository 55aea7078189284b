"""Fixtures: folders, and a model server on the loopback address."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from researchcopilot.corpus import Corpus

DOCUMENTS = {
    "leases.md": (
        "# Leases\n\nA lease says who may run an occurrence, and until when.\n\n"
        "A fence is a number that grows with every lease.\n\nA write with an old fence is refused.\n"
    ),
    "windows.md": (
        "# Windows\n\nA window is the span of local time in which a start is allowed.\n\nIt may cross midnight.\n"
    ),
    "zh/lease.md": "# 租约\n\n租约说明谁可以执行，以及到什么时候为止。\n\n栅栏号随着每次租约增长，旧的写入会被拒绝。\n",
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "folder"
    made.mkdir()
    return made


@pytest.fixture
def corpus(folder: Path) -> Corpus:
    for name, text in DOCUMENTS.items():
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, "utf-8")
    return Corpus(root=folder)


@dataclass
class Reply:
    """What the stub answers next."""

    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""


class Stub:
    """An OpenAI-compatible server for one test: answers what it is told, keeps what it was asked."""

    def __init__(self) -> None:
        self.replies: list[Reply] = []
        self.asked: list[dict[str, Any]] = []
        self.keys: list[str] = []
        self.url = ""

    def will_answer(self, status: int = 200, headers: dict[str, str] | None = None, body: bytes = b"") -> None:
        self.replies.append(Reply(status=status, headers=headers or {}, body=body))

    def will_say(self, text: str) -> None:
        body = json.dumps({"choices": [{"message": {"role": "assistant", "content": text}}]}).encode()
        self.will_answer(body=body)


@pytest.fixture
def stub() -> Iterator[Stub]:
    told = Stub()

    class Requests(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            told.asked.append({"path": self.path, **json.loads(body)})
            told.keys.append(self.headers["Authorization"])
            reply = told.replies.pop(0)
            self.send_response(reply.status)
            for name, value in reply.headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(reply.body)))
            self.end_headers()
            self.wfile.write(reply.body)

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Requests)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    told.url = f"http://127.0.0.1:{server.server_address[1]}/v1"
    yield told
    server.shutdown()
    thread.join()
    server.server_close()
