"""The store of a world, with the misfortunes of real ones.

``Cluster`` is the server: a memory store (the model every real store is compared with) whose clock may leap and drift,
which may be away, and which a failover replaces by a copy that lacks the last writes, or somebody by an empty one.
``Link`` is one client's wire to it: requests may fail before the effect, replies after it, a request may arrive twice,
a notice not at all.

Rule of the file: what was acknowledged is lost only by what is asked for by name, a failover or an empty store; a fault
counts when a call meets it.
"""

from __future__ import annotations

import contextlib
import copy
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, ParamSpec, TypeVar

from noonmark.core.model import Micros
from noonmark.engine.errors import GateClosed
from noonmark.ports.clock import Clock
from noonmark.ports.rollback import ChainBroken
from noonmark.ports.store import Store, StoreError, StoreUnreachable
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Failover:
    """The writes numbered ``kept`` + 1 to ``written`` are gone; ``at`` is the store's time."""

    at: Micros
    kept: int
    written: int

    @property
    def lost(self) -> int:
        """How many writes are gone."""
        return self.written - self.kept


class Cluster(Through):
    """The server side: one primary and, if the world has failovers, a standby that lies behind.

    Every verb that changes something has a number, ``written`` is that of the last one.
    """

    def __init__(self, clock: Clock, *, has_standby: bool) -> None:
        self._clock = clock
        self._listeners: list[Callable[[], None]] = []
        self._primary = MemoryStore(clock)
        self._standby = _copy(self._primary, clock) if has_standby else None
        self._behind: deque[tuple[str, tuple[Any, ...], dict[str, Any]]] = deque()
        self.written = 0
        self.failovers: list[Failover] = []
        self.emptied: list[Micros] = []  # when another store came to lie here, by its time
        self.refused: list[str] = []  # what a standby did not follow in: a fault of this file
        super().__init__(self._primary)
        self._primary.listen(self._tell)

    def failover(self, lose: int, *, unseen: bool = False) -> int:
        """Let the standby take over without the last ``lose`` writes; returns how many were really lost.

        ``unseen``: it calls itself what the primary did, so that no client hears of another server.
        """
        if self._standby is None:
            raise ValueError("this world's store has no standby")
        lost = min(lose, len(self._behind))
        while len(self._behind) > lost:
            self._follow()
        self._behind.clear()
        self._primary.close()
        serving = self._primary._serving if unseen else f"server {len(self.failovers) + 2}"
        self._primary = self._standby
        self._primary._serving = serving
        self._standby = _copy(self._primary, self._clock)
        self.inner = self._primary
        self._primary.listen(self._tell)
        self.failovers.append(Failover(at=self._primary.now(), kept=self.written - lost, written=self.written))
        return lost

    def empty(self) -> None:
        """Let another store lie here, in which there is nothing."""
        self._primary.close()
        self._primary = MemoryStore(self._clock)
        if self._standby is not None:
            self._standby = _copy(self._primary, self._clock)
        self._behind.clear()
        self.inner = self._primary
        self._primary.listen(self._tell)
        self.emptied.append(self._primary.now())

    def is_lost(self, number: int) -> bool:
        """Return True when a failover lost the write with this number."""
        return any(failover.kept < number <= failover.written for failover in self.failovers)

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
        if name in READS:
            return verb(*args, **kwargs)
        at = self._primary.now()
        answer = verb(*args, **kwargs)  # what raises has changed nothing, so no standby hears of it
        self.written += 1
        if self._standby is not None:
            self._behind.append((name, args, {**kwargs, "at": at}))
            if len(self._behind) > LAG:
                self._follow()
        return answer

    def _follow(self) -> None:
        """Let the standby do what the primary did; it stood where the primary stood then, so nothing may be refused."""
        name, args, kwargs = self._behind.popleft()
        try:
            getattr(self._standby, name)(*args, **kwargs)
        except Exception as error:
            self.refused.append(f"{name}: {type(error).__name__}: {error}")


def _copy(store: MemoryStore, clock: Clock) -> MemoryStore:
    """Return an independent store with the same contents."""
    twin = MemoryStore(clock)
    twin._tables = copy.deepcopy(store._tables)
    twin._answers = dict(store._answers)
    twin._id, twin._serving = store._id, store._serving
    twin._epoch, twin._boot_id = store._epoch, store._boot_id
    return twin


class Flaw:
    """One thing that is wrong with a wire for a while, told once when something really meets it.

    Args:
        kind: what it is counted as, "" = by its effects alone.
        cuts: nothing passes.
        latency: what a call takes at most, microseconds.
        fate: asked at every call with the verb: "" | ``before`` (not sent) | ``after`` (the reply is lost) | ``twice``.
        hears: asked for every notice: does it arrive?
    """

    def __init__(
        self,
        kind: str = "",
        *,
        cuts: bool = False,
        latency: Micros = 0,
        fate: Callable[[str], str] | None = None,
        hears: Callable[[], bool] | None = None,
    ) -> None:
        self.kind = kind
        self.cuts = cuts
        self.latency = latency
        self.fate = fate
        self.hears = hears
        self.was_met = False

    def is_met(self) -> bool:
        """Return True for the first time that something meets it."""
        is_first, self.was_met = bool(self.kind) and not self.was_met, True
        return is_first


class Wire:
    """How one client's wire is at the moment; the world sets it, ``Link`` obeys.  It outlives the client's processes.

    Flaws lie over each other: the end of one leaves the others as they are.
    """

    def __init__(self) -> None:
        self.flaws: list[Flaw] = []
        self.repeats: list[Callable[[], None]] = []
        """One for each of the next writes that arrives twice, called when that happens."""

    @property
    def is_cut(self) -> bool:
        """True while nothing passes."""
        return any(flaw.cuts for flaw in self.flaws)

    @property
    def is_well(self) -> bool:
        """True while nothing is wrong with it."""
        return not self.flaws

    def latency(self, plain: Micros) -> Micros:
        """Return what a call takes at most, where ``plain`` is what it takes when nothing is wrong."""
        return max((flaw.latency for flaw in self.flaws if flaw.latency), default=plain)

    def fate(self, verb: str) -> str:
        """Draw what becomes of a call; every flaw is asked, so that none depends on another one's dice."""
        drawn = [flaw.fate(verb) for flaw in self.flaws if flaw.fate is not None]
        return next(filter(None, drawn), "")

    def hears(self) -> bool:
        """Draw whether a notice arrives."""
        drawn = [flaw.hears() for flaw in self.flaws if flaw.hears is not None]
        return all(drawn)

    def mend(self, flaw: Flaw) -> None:
        """End one flaw."""
        if flaw in self.flaws:
            self.flaws.remove(flaw)

    def heal(self) -> None:
        """Let everything pass from here on."""
        self.flaws.clear()
        self.repeats.clear()


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
        self._last: Callable[[], Any] | None = None
        self._who = who
        self._told = told
        self._count = count

    def listen(self, callback: Callable[[], None]) -> Callable[[], None]:
        """Hear of what became due, unless the notice gets lost."""

        def hear() -> None:
            if self.is_dead or self.wire.is_cut:
                return
            if self.wire.hears():
                callback()
            else:
                self._count("notice lost")

        return self.inner.listen(hear)

    def arrive_again(self) -> bool:
        """Let the last write arrive once more, long after it was answered; False when there was none."""
        if self._last is None or self.is_dead or self.wire.is_cut:
            return False
        self._count("arrived twice")
        with contextlib.suppress(StoreError, ChainBroken):  # nobody waits for this answer
            self._last()
        return True

    def _call(self, name: str, verb: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        if self.is_dead:
            raise GateClosed("this replica was killed")
        for flaw in list(self.wire.flaws):
            if (flaw.cuts or flaw.latency) and flaw.is_met():
                self._count(flaw.kind)
        if self.wire.is_cut:
            raise StoreUnreachable(f"{name}: the wire is cut")
        fate = self._fate(name)
        if fate == "before":
            raise StoreUnreachable(f"{name}: the request was lost")
        answer = self._carried_out(name, verb, args, kwargs, told=fate != "after")
        if fate == "twice":
            answer = self._carried_out(name, verb, args, kwargs, told=True)
        if name not in READS:
            self._last = partial(self._carried_out, name, verb, args, kwargs, told=False)
        if fate == "after":
            raise StoreUnreachable(f"{name}: the reply was lost")
        return answer

    def _fate(self, name: str) -> str:
        fate = self.wire.fate(name)
        if fate in ("after", "twice") and name in READS:
            fate = "before" if fate == "after" else ""  # a read has no effect: losing its reply is losing it
        if not fate and self.wire.repeats and name not in READS:
            self.wire.repeats.pop(0)()
            fate = "twice"
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
