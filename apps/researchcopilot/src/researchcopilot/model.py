"""A language model behind an OpenAI-compatible address: one request, and what its failure means.

Rules of the file: standard library only; the key goes to the configured address and nowhere else (redirects are
refused, it is never printed); every failure is either *busy* (ask again, perhaps not before a named time) or
*refused* (asking again is no use), because that is all a retry rule can act on.
"""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from email.utils import parsedate_to_datetime
from http.client import HTTPException
from typing import Any, TypeAlias

from researchcopilot import clock

Model: TypeAlias = Callable[[str, str], str]
"""Takes the system text and the user text, returns the reply."""

DEFAULT_MODEL = "gpt-4o-mini"
TIMEOUT = 60.0
"""Seconds until an unanswered request counts as failed."""
REPLY_LIMIT = 1024 * 1024
LONGEST_WAIT = timedelta(hours=1)
"""A server may ask for patience, but not for ever."""


class ModelBusyError(Exception):
    """No answer now (rate limit, server error, network, timeout); ``after`` is how long the server asked us to wait."""

    def __init__(self, message: str, after: timedelta | None = None) -> None:
        super().__init__(message)
        self.after = after


class ModelRefusedError(Exception):
    """The request itself is at fault (key, address, size): the same request will fail again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Remote:
    """Where the model is and how to ask it; calling it asks."""

    base_url: str
    api_key: str
    name: str = DEFAULT_MODEL
    timeout: float = TIMEOUT

    def __repr__(self) -> str:
        return f"Remote({self.base_url!r}, name={self.name!r})"  # a key in a log is a key given away

    def __call__(self, system: str, user: str) -> str:
        """Ask once.

        Raises:
            ModelBusyError: ask again later.
            ModelRefusedError: do not ask again.
        """
        body = {
            "model": self.name,
            "messages": [{"role": "system", "content": system}, {"role": "user", "content": user}],
            "temperature": 0,
        }
        return _content(self._post(json.dumps(body).encode()))

    def _post(self, body: bytes) -> bytes:
        request = urllib.request.Request(
            self.base_url.rstrip("/") + "/chat/completions",
            data=body,
            method="POST",
            headers={"Content-Type": "application/json", "Authorization": f"Bearer {self.api_key}"},
        )
        try:
            with _OPENER.open(request, timeout=self.timeout) as reply:
                content: bytes = reply.read(REPLY_LIMIT + 1)
        except urllib.error.HTTPError as trouble:
            with trouble:
                raise _classified(trouble) from None
        except (OSError, HTTPException) as trouble:  # URLError, timeouts and broken connections
            raise ModelBusyError(f"no answer from {self.base_url}: {trouble}") from None
        if len(content) > REPLY_LIMIT:
            raise ModelRefusedError(f"{self.base_url} answered with more than {REPLY_LIMIT} bytes")
        return content


def from_environment(environment: Mapping[str, str]) -> Remote | None:
    """Return the model that OPENAI_BASE_URL, OPENAI_API_KEY and OPENAI_MODEL name; None when address or key is missing.

    Raises:
        ModelRefusedError: the address is not http or https.
    """
    address, key = environment.get("OPENAI_BASE_URL", "").strip(), environment.get("OPENAI_API_KEY", "").strip()
    if not address or not key:
        return None
    if not address.startswith(("http://", "https://")):
        raise ModelRefusedError(f"OPENAI_BASE_URL is {address!r}; it must begin with http:// or https://")
    return Remote(base_url=address, api_key=key, name=environment.get("OPENAI_MODEL", "").strip() or DEFAULT_MODEL)


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: Any, **__: Any) -> None:
        return None  # the answer is then an HTTPError with the 3xx status


_OPENER = urllib.request.build_opener(_NoRedirect)


def _classified(trouble: urllib.error.HTTPError) -> ModelBusyError | ModelRefusedError:
    status = trouble.code
    try:
        said = trouble.read(500).decode("utf-8", "replace").strip()
    except (OSError, HTTPException):
        said = ""
    message = f"the model answered {status} {trouble.reason}" + (f": {' '.join(said.split())[:200]}" if said else "")
    if status in {408, 409, 425, 429} or status >= 500:
        return ModelBusyError(message, _wanted_wait(trouble.headers.get("Retry-After")))
    return ModelRefusedError(message)


def _wanted_wait(value: str | None) -> timedelta | None:
    """Read Retry-After in both its forms, seconds and HTTP date; anything else means nothing."""
    if value is None:
        return None
    try:
        wait = timedelta(seconds=float(value))
    except (ValueError, OverflowError):
        try:
            wait = parsedate_to_datetime(value) - clock.now()
        except (ValueError, TypeError):
            return None
    return min(max(wait, timedelta(0)), LONGEST_WAIT)


def _content(reply: bytes) -> str:
    try:
        parsed: Any = json.loads(reply)
        content = parsed["choices"][0]["message"]["content"]
    except (ValueError, LookupError, TypeError):
        raise ModelBusyError("the model's answer was not a chat completion") from None
    if not isinstance(content, str) or not content.strip():
        raise ModelBusyError("the model's answer was empty")
    return content
