"""A store of your own, as small as one can be: it passes every verb on to another store, and counts the calls.

``counted:///?store=sqlite:///work.db`` is a whole store URL.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import wraps
from typing import Any, cast
from urllib.parse import parse_qs, urlsplit

from noonmark.ports.clock import Clock
from noonmark.ports.store import Store, StoreUrlError
from noonmark.wiring import open_store

VERBS = frozenset({"add", "take", "settle", "renew", "signal", "heartbeat", "activate", "act", "note_if_held"})


class CountedStore:
    """Another store, and how often each verb was called."""

    def __init__(self, inner: Store) -> None:
        self._inner = inner
        self.calls: Counter[str] = Counter()

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._inner, name)
        return self._counted(name, found) if name in VERBS else found

    def _counted(self, name: str, verb: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(verb)
        def call(*args: Any, **kwargs: Any) -> Any:
            self.calls[name] += 1
            return verb(*args, **kwargs)

        return call


def open_counted(url: str, *, clock: Clock | None = None) -> Store:
    """Open the store that the URL's option ``store`` names.

    Raises:
        StoreUrlError: there is none; the message says what to write.
    """
    inner = parse_qs(urlsplit(url).query).get("store")
    if not inner:
        raise StoreUrlError("the URL names no store to count; write counted:///?store=sqlite:///noonmark.db")
    return cast(Store, CountedStore(open_store(inner[0], clock=clock)))
