"""The HTTP API: store a run and hand it to the workers, read runs, digests and reports.

Rules of the file: it answers in JSON, errors included (``{"error": {"code", "message"}}``); it does no work itself, a
request only delivers; it listens on this machine alone and refuses what a page in a browser could send from
elsewhere.
"""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Callable
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

from researchcopilot import __version__
from researchcopilot.desk import BadQuestionError, Desk, UnavailableError
from researchcopilot.views import page_to_plain, run_to_plain

BODY_LIMIT = 64 * 1024
LIST_LIMIT = 200
SOCKET_TIMEOUT = 30
"""Seconds a client may take to send its request."""
_LOG = logging.getLogger("researchcopilot.api")
_NAME = re.compile(r"[\x21-\x7e]{1,128}")


class RefusalError(Exception):
    """An answer that is an error: HTTP status, a code for programs, a sentence for people."""

    def __init__(self, status: HTTPStatus, code: str, message: str) -> None:
        super().__init__(message)
        self.status, self.code = status, code


class Server(ThreadingHTTPServer):
    """The API of one desk; ``serve_forever`` until ``shutdown``."""

    daemon_threads = True

    def __init__(self, desk: Desk, *, host: str = "127.0.0.1", port: int = 0) -> None:
        self.desk = desk
        super().__init__((host, port), Requests)

    @property
    def address(self) -> str:
        """Where it listens: ``http://127.0.0.1:8790``."""
        host, port = self.server_address[:2]
        return f"http://{host!s}:{port}"


class Requests(BaseHTTPRequestHandler):
    """One connection."""

    server: Server
    server_version = f"researchcopilot/{__version__}"
    sys_version = ""
    protocol_version = "HTTP/1.1"
    timeout = SOCKET_TIMEOUT

    def do_GET(self) -> None:
        """Read."""
        self._answer(self._get)

    def do_POST(self) -> None:
        """Ask."""
        self._answer(self._post)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        """Stay quiet: questions do not belong in a log."""

    # -- what there is ------------------------------------------------------------------------------

    def _get(self) -> tuple[HTTPStatus, Any]:
        url = urlsplit(self.path)
        path, desk = url.path.rstrip("/") or "/", self.server.desk
        if path == "/healthz":
            return HTTPStatus.OK, {"status": "ok", "version": __version__}
        if path == "/runs":
            return HTTPStatus.OK, {"runs": [run_to_plain(run) for run in desk.data.runs(limit=_limit(url.query))]}
        if path == "/digests":
            pages = desk.data.digests(limit=_limit(url.query))
            return HTTPStatus.OK, {"digests": [page_to_plain(page) for page in pages]}
        if path == "/reports":
            pages = desk.data.reports(limit=_limit(url.query))
            return HTTPStatus.OK, {"reports": [page_to_plain(page) for page in pages]}
        if path.startswith("/runs/"):
            run = desk.data.run(path.removeprefix("/runs/"))
            if run is None:
                raise RefusalError(
                    HTTPStatus.NOT_FOUND, "run_unknown", f"there is no run {path.removeprefix('/runs/')!r}"
                )
            return HTTPStatus.OK, run_to_plain(run)
        raise RefusalError(HTTPStatus.NOT_FOUND, "path_unknown", _PATHS)

    def _post(self) -> tuple[HTTPStatus, Any]:
        if urlsplit(self.path).path.rstrip("/") != "/runs":
            raise RefusalError(HTTPStatus.NOT_FOUND, "path_unknown", _PATHS)
        body = self._json_body()
        name = self.headers.get("Idempotency-Key", "")
        if name and not _NAME.fullmatch(name):
            raise RefusalError(
                HTTPStatus.BAD_REQUEST, "key_malformed", "Idempotency-Key: 1 to 128 visible ASCII characters"
            )
        unknown = sorted(set(body) - {"question", "deep"})
        if unknown:
            message = f"unknown field {unknown[0]!r}; there are question and deep"
            raise RefusalError(HTTPStatus.BAD_REQUEST, "field_unknown", message)
        question, deep = body.get("question"), body.get("deep", False)
        if not isinstance(question, str) or not isinstance(deep, bool):
            message = 'send {"question": "text"}, and "deep": true if wanted'
            raise RefusalError(HTTPStatus.BAD_REQUEST, "question_missing", message)
        try:
            asked = self.server.desk.ask(question, deep=deep, name=name)
        except BadQuestionError as trouble:
            raise RefusalError(HTTPStatus.BAD_REQUEST, "question_refused", str(trouble)) from None
        except UnavailableError as trouble:
            raise RefusalError(HTTPStatus.SERVICE_UNAVAILABLE, "store_unavailable", str(trouble)) from None
        return HTTPStatus.ACCEPTED if asked.new else HTTPStatus.OK, run_to_plain(asked.run)

    # -- the wire -----------------------------------------------------------------------------------

    def _answer(self, act: Callable[[], tuple[HTTPStatus, Any]]) -> None:
        try:
            self._check_origin()
            status, body = act()
        except RefusalError as refusal:
            status = refusal.status
            body = {"error": {"code": refusal.code, "message": str(refusal)}}
            self.close_connection = True  # an unread body would be taken for the next request
        except Exception:
            _LOG.exception("the request failed")
            status = HTTPStatus.INTERNAL_SERVER_ERROR
            body = {"error": {"code": "internal", "message": "the request failed here; the log of the server says why"}}
            self.close_connection = True
        self._send(status, body)

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:  # noqa: ARG002
        """Tell in JSON, too, what the base class refuses: a line that is no HTTP, a method that there is not."""
        status, name, said = HTTPStatus(code), "request_malformed", message or HTTPStatus(code).phrase
        if status is HTTPStatus.NOT_IMPLEMENTED:
            status, name, said = HTTPStatus.METHOD_NOT_ALLOWED, "method_refused", _PATHS
        self.close_connection = True
        self._send(status, {"error": {"code": name, "message": said}})

    def _send(self, status: HTTPStatus, body: Any) -> None:
        content = json.dumps(body, ensure_ascii=False).encode()
        self.send_response(status)
        if status is HTTPStatus.METHOD_NOT_ALLOWED:
            self.send_header("Allow", "GET, POST")
        self.send_header("Content-Type", "application/json; charset=utf-8")
        self.send_header("Content-Length", str(len(content)))
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    def _check_origin(self) -> None:
        """A name that somebody pointed at 127.0.0.1, or a page of another site, gets nothing."""
        host = urlsplit("//" + self.headers.get("Host", "")).hostname
        bound = str(self.server.server_address[0])
        if host not in {"127.0.0.1", "localhost", "::1", bound}:
            raise RefusalError(HTTPStatus.FORBIDDEN, "host_refused", "this API answers to 127.0.0.1 and localhost only")
        if self.headers.get("Origin") not in {None, f"http://{self.headers.get('Host')}"}:
            raise RefusalError(HTTPStatus.FORBIDDEN, "origin_refused", "requests from other sites are refused")

    def _json_body(self) -> dict[str, Any]:
        kind = self.headers.get_content_type()
        if kind != "application/json":
            raise RefusalError(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "not_json", "send Content-Type: application/json")
        length = self.headers.get("Content-Length", "")
        if not (length.isascii() and length.isdigit()):
            raise RefusalError(HTTPStatus.LENGTH_REQUIRED, "length_missing", "send Content-Length")
        if int(length) > BODY_LIMIT:
            raise RefusalError(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "body_too_large", f"at most {BODY_LIMIT} bytes")
        try:
            body = json.loads(self.rfile.read(int(length)))
        except (ValueError, RecursionError):
            raise RefusalError(HTTPStatus.BAD_REQUEST, "json_malformed", "the body is not JSON") from None
        if not isinstance(body, dict):
            raise RefusalError(HTTPStatus.BAD_REQUEST, "json_malformed", "the body must be a JSON object")
        return body


_PATHS = "there are POST /runs, GET /runs, /runs/ID, /digests, /reports and /healthz"


def _limit(query: str) -> int:
    text = parse_qs(query).get("limit", ["20"])[0]
    if not (text.isascii() and text.isdigit() and 1 <= int(text) <= LIST_LIMIT):
        raise RefusalError(HTTPStatus.BAD_REQUEST, "limit_malformed", f"limit is a number from 1 to {LIST_LIMIT}")
    return int(text)
