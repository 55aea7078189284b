"""What a lock case gets: two clients of one service, names of its own, and the power to let time run out.

Rule of the file: a short form adds defaults, never meaning.
"""

from __future__ import annotations

import inspect
import itertools
import threading
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import ModuleType

from noonmark.core.model import MINUTE, Micros
from noonmark.locks.checks import LONGEST_TTL
from noonmark.locks.holding import Lock, OnLost
from noonmark.locks.keeper import Keeper
from noonmark.locks.service import Service
from noonmark.ports.clock import Clock
from noonmark.ports.lock import Grant, Locks
from noonmark.testing.clock import VirtualClock

TTL: Micros = MINUTE
"""Long enough that nothing ends by itself while a case runs."""
_ANY_CLIENT = "any_client"


class LockHarness:
    """A lock service under test.

    Args:
        open_: opens a client of the service; called once for each of the two clients.
        expire: lets the time of the lock of that name run out at once, as the service would.
        longest: the most trust that the service gives at once, whatever the ttl (a session's length).
    """

    def __init__(
        self, *, open_: Callable[[], Locks], expire: Callable[[str], None], longest: Micros | None = None
    ) -> None:
        self._open, self._expire = open_, expire
        self.longest = LONGEST_TTL if longest is None else longest
        self.locks = open_()
        self._other: Locks | None = None
        self._unique = uuid.uuid4().hex[:12]
        self._tokens = itertools.count(1)

    @property
    def other(self) -> Locks:
        """Another client, as another process has it."""
        if self._other is None:
            self._other = self._open()
        return self._other

    def name(self, name: str = "a") -> str:
        """Return a name that no other case uses."""
        return f"{self._unique}/{name}"

    def token(self) -> str:
        """Return a token that was not used before."""
        return f"{self._unique}-{next(self._tokens)}"

    def acquire(self, token: str, name: str = "a", *, ttl: Micros = TTL) -> Grant:
        """Take a lock that must be free."""
        grant = self.locks.acquire(self.name(name), ttl, token)
        assert grant is not None, f"{name} should be free"
        return grant

    def renew(self, token: str, name: str = "a") -> Grant | None:
        """Renew."""
        return self.locks.renew(self.name(name), TTL, token)

    def release(self, token: str, name: str = "a") -> bool:
        """Release."""
        return self.locks.release(self.name(name), token)

    def is_free(self, name: str = "a") -> bool:
        """Tell whether a stranger can have the lock (and give it back)."""
        token = self.token()
        if self.other.acquire(self.name(name), TTL, token) is None:
            return False
        assert self.other.release(self.name(name), token), "what was granted can be released"
        return True

    def expire(self, name: str = "a") -> None:
        """Let the lock's time run out."""
        self._expire(self.name(name))

    def service(
        self, clock: Clock | None = None, *, pause: Callable[[threading.Event, Micros], None] | None = None
    ) -> Service:
        """Return the service as ``lock()`` uses it, but driven by hand: nothing happens behind the case's back."""
        return Service(self.locks, keeper=Keeper(clock or VirtualClock(), by_hand=True), pause=pause)

    def lock(
        self, name: str = "a", *, service: Service | None = None, wait: str = "0s", on_lost: OnLost | None = None
    ) -> Lock:
        """Return a lock as ``lock()`` does, driven by hand."""
        chosen = service or self.service()
        return Lock(self.name(name), "60s", find=lambda: chosen, wait=wait, on_lost=on_lost)

    def close(self) -> None:
        """Close both clients."""
        self.locks.close()
        if self._other is not None and self._other is not self.locks:
            self._other.close()

    def __enter__(self) -> LockHarness:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()


@dataclass(frozen=True, slots=True)
class LockCase:
    """One promise of the port, and the function that tries it."""

    topic: str
    name: str
    run: Callable[[LockHarness], None]
    any_client: bool = False  # another client of the service may use the token

    def __str__(self) -> str:
        return f"{self.topic}: {self.name.replace('_', ' ')}"


def raised(kind: type[Exception], call: Callable[[], object]) -> str:
    """Return what the error says that the call must raise."""
    try:
        call()
    except kind as error:
        return str(error)
    raise AssertionError(f"this should have raised {kind.__name__}")


def any_client(case: Callable[[LockHarness], None]) -> Callable[[LockHarness], None]:
    """Mark a case that needs a lock to belong to its token, whichever client comes with it."""
    setattr(case, _ANY_CLIENT, True)
    return case


def collect_locks(topic: ModuleType) -> Iterator[LockCase]:
    """Yield the cases of a module: its own public functions that take a harness, in file order."""
    name = topic.__name__.rpartition(".")[2]
    for function_name, function in vars(topic).items():
        if function_name.startswith("_") or not inspect.isfunction(function):
            continue
        if function.__module__ == topic.__name__ and list(inspect.signature(function).parameters) == ["harness"]:
            yield LockCase(name, function_name, function, getattr(function, _ANY_CLIENT, False))
