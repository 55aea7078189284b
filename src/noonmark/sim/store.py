"""The store of a world, with the misfortunes of real ones.

``Cluster`` is the server: a memory store (the model every real store is compared with) whose clock may leap and drift,
which may be away, and which a failover replaces by a copy that lacks the last writes.  ``Link`` is one client's wire to
it: requests may fail before the effect, replies after it, a request may arrive twice, a notice not at all.

Rule of the file: what was acknowledged is lost only by a failover, which is asked for by name.
"""

from __future__ import annotations

import copy
from collections import deque
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

from noonmark.core.model import Micros
from noonmark.engine.errors import GateClosed
from noonmark.ports.clock import Clock
from noonmark.ports.rollback import ChainBroken
from noonmark.ports.store import Store, StoreUnreachable
from noonmark.sim.history import Call
from noonmark.stores.memory import MemoryStore
from noonmark.testing.faults import Through

P = ParamSpec("P")
T = TypeVar("T")

READS = frozenset(
    {"now", "facts", "occurrences", "story", "jobs", "workers", "tallies", "writers", "identity", "store_id"}
)
LAG = 64
"""How many writes a standby may lie behind at most."""


class Cluster(Through):
    """The server side: one primary and, if the world has failovers, a standby that lies behind."""

    def __init__(self, clock: Clock, *, has_standby: bool) -> None:
        self._clock = clock
        self._listeners: list[Callable[[], None]] = []
        self._primary = MemoryStore(clock)
        self._standby = _copy(self._primary, clock) if has_standby else None
        self._behind: deque[tuple[str, tuple[Any, ...], dict[str, Any]]] = deque()
        self.failovers: list[tuple[Micros, int]] = []
        super().__init__(self._primary)
        self._primary.listen(self._tell)

    def failover(self, lose: int) -> int:
        """Let the standby take over without the last ``lose`` writes; returns how many were really lost."""
        if self._standby is None:
            raise ValueError("this world's store has no standby")
        lost = min(lose, len(self._behind))
        while len(self._behind) > lost:
            self._follow()
        self._behind.clear()
        self._primary.close()
        self._primary, self._standby = self._standby, _copy(self._standby, self._clock)
        self._primary._serving = f"server {len(self.failovers) + 2}"
        self.inner = self._primary
        self._primary.listen(self._tell)
        self.failovers.append((self._primary.now(), lost))
        return lost

    def listen(self, callback: Callable[[], None]) -> Callable[[], None]:
        """Call back after writes, across failovers."""
        self._listeners.append(callback)

        def stop() -> None:
            if callback in self._listeners:
                self._listeners.remove(callback)

        return stop

    def _tell(self) -> None:
        for callback in list(self._listeners):
            callback()

    def _call(self, name: str, verb: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        if name in READS or self._standby is None:
            return verb(*args, **kwargs)
        self._behind.append((name, args, {**kwargs, "at": self._primary.now()}))
        if len(self._behind) > LAG:
            self._follow()
        return verb(*args, **kwargs)

    def _follow(self) -> None:
        name, args, kwargs = self._behind.popleft()
        try:
            getattr(self._standby, name)(*args, **kwargs)
        except (ValueError, ChainBroken):  # the primary refused it as well
            return


def _copy(store: MemoryStore, clock: Clock) -> MemoryStore:
    """Return an independent store with the same contents."""
    twin = MemoryStore(clock)
    twin._tables = copy.deepcopy(store._tables)
    twin._answers = dict(store._answers)
    twin._id = store._id
    twin._epoch, twin._boot_id = store._epoch, store._boot_id
    return twin


class Wire:
    """How one client's wire is at the moment; the world sets it, ``Link`` obeys.  It outlives the client's processes."""

    def __init__(self) -> None:
        self.is_cut = False  # nothing passes
        self.fate: Callable[[str], str] = no_fate
        """Asked at every call with the verb: "" | ``before`` (not sent) | ``after`` (the reply is lost) | ``twice``."""
        self.hears: Callable[[], bool] = hears_all
        """Asked for every notice: does it arrive?"""
        self.repeats = 0
        """How many of the next writes arrive twice."""

    def heal(self) -> None:
        """Let everything pass from here on, once."""
        self.is_cut, self.fate, self.hears, self.repeats = False, no_fate, hears_all, 0


def no_fate(_verb: str) -> str:
    """Nothing happens to any call."""
    return ""


def hears_all() -> bool:
    """No notice is lost."""
    return True


class Link(Through):
    """One process's way to the cluster.

    Args:
        cluster: the server.
        wire: of the process's machine.
        who: its name, for the record.
        told: is shown every verb that the server carried out for it.
        count: is told of every fault that strikes.
    """

    def __init__(
        self, cluster: Store, wire: Wire, who: str, *, told: Callable[[Call], None], count: Callable[[str], None]
    ) -> None:
        super().__init__(cluster)
        self.wire = wire
        self.is_dead = False  # the process was killed
        self._who = who
        self._told = told
        self._count = count

    def listen(self, callback: Callable[[], None]) -> Callable[[], None]:
        """Hear of what became due, unless the notice gets lost."""

        def hear() -> None:
            if not self.is_dead and not self.wire.is_cut and self.wire.hears():
                callback()

        return self.inner.listen(hear)

    def _call(self, name: str, verb: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        if self.is_dead:
            raise GateClosed("this replica was killed")
        if self.wire.is_cut:
            raise StoreUnreachable(f"{name}: the wire is cut")
        fate = self._fate(name)
        if fate == "before":
            raise StoreUnreachable(f"{name}: the request was lost")
        answer = self._carried_out(name, verb, args, kwargs, told=fate != "after")
        if fate == "twice":
            answer = self._carried_out(name, verb, args, kwargs, told=True)
        if fate == "after":
            raise StoreUnreachable(f"{name}: the reply was lost")
        return answer

    def _fate(self, name: str) -> str:
        fate = self.wire.fate(name)
        if not fate and self.wire.repeats and name not in READS:
            self.wire.repeats -= 1
            fate = "twice"
        if fate in ("after", "twice") and name in READS:
            fate = "before" if fate == "after" else ""  # a read has no effect: losing its reply is losing it
        if fate:
            self._count({"before": "request lost", "after": "reply lost", "twice": "arrived twice"}[fate])
        return fate

    def _carried_out(self, name: str, verb: Callable[..., T], args: Any, kwargs: Any, *, told: bool) -> T:
        answer = verb(*args, **kwargs)
        if name not in READS:
            self._told(
                Call(at=self.inner.now(), who=self._who, verb=name, args=args, kwargs=kwargs, answer=answer, told=told)
            )
        return answer
