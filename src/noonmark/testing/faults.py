"""Stores whose answers get lost: calls that fail before their effect, or after it.

``Unreliable`` fails; ``Persistent`` does what the engine does about it, which is to repeat the same call with the same
request id.  The one around the other must answer what the store alone answers::

    store = Persistent(Unreliable(MyStore(), every_first_try("after")))

Rule of the file: only what goes over a wire fails.  ``renew``, ``heartbeat`` and ``note_if_held`` have no request id, so
a repeat of them is judged afresh: it says the same, but a refused note is counted once more.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Literal, ParamSpec, TypeAlias, TypeVar, cast

from noonmark.core.model import (
    Act,
    Acted,
    Activation,
    Added,
    Fact,
    JobRow,
    Micros,
    NewOccurrence,
    Note,
    Occurrence,
    Query,
    Renewal,
    Renewed,
    Settled,
    Settlement,
    Story,
    Taken,
    Tallies,
    WorkerInfo,
)
from noonmark.core.model.rollback import ChainLink, Claim, Proof, Writer
from noonmark.ports.rollback import Guarded
from noonmark.ports.store import Capability, Store, StoreError, StoreUnreachable, StoreUnusable

P = ParamSpec("P")
T = TypeVar("T")

Fault: TypeAlias = Literal["before", "after"]
Plan: TypeAlias = Callable[[str], Fault | None]
"""From the name of the verb that is called: when this call is to fail, None = not at all.  Asked anew at every call."""

COUNTED_AGAIN = frozenset({"note_if_held"})
"""Verbs whose repeat, after a lost reply, is seen in a counter."""


def every_first_try(fault: Fault, *, spare: Collection[str] = COUNTED_AGAIN) -> Plan:
    """Fail every call once: each second call, which is the repeat, goes through.

    Args:
        spare: verbs that fail only before their effect.
    """
    failed = False

    def plan(verb: str) -> Fault | None:
        nonlocal failed
        failed = not failed
        return ("before" if verb in spare else fault) if failed else None

    return plan


def at_random(seed: int, share: float = 0.3, *, spare: Collection[str] = COUNTED_AGAIN) -> Plan:
    """Fail a share of the calls, before or after their effect; the same seed fails the same calls.

    Args:
        share: of the calls, 0 to 1 (exclusive, or nothing would ever get through).
        spare: verbs that fail only before their effect.
    """
    dice = random.Random(seed)

    def plan(verb: str) -> Fault | None:
        if dice.uniform(0, 1) >= share:
            return None
        fault: Fault = "before" if dice.uniform(0, 1) < 0.5 else "after"
        return "before" if verb in spare else fault

    return plan


class Through:
    """Hands every verb on to another store through ``_call``."""

    def __init__(self, store: Store) -> None:
        self.inner = store

    def _call(self, name: str, verb: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        raise NotImplementedError

    @property
    def url(self) -> str:
        """The other store's."""
        return self.inner.url

    @property
    def capabilities(self) -> frozenset[Capability]:
        """The other store's."""
        return self.inner.capabilities

    def now(self) -> Micros:
        """See the port, as below."""
        return self._call("now", self.inner.now)

    def add(self, request_id: str, rows: Sequence[NewOccurrence], *, at: Micros | None = None) -> list[Added]:
        return self._call("add", self.inner.add, request_id, rows, at=at)

    def take(
        self,
        request_id: str,
        worker: str,
        *,
        limit: int,
        runnable: Mapping[str, Micros],
        look_lease: Micros,
        at: Micros | None = None,
        link: ChainLink | None = None,
    ) -> Taken:
        # A store that proves nothing knows no links, and is given none.
        linked: dict[str, Any] = {} if link is None else {"link": link}
        return self._call(
            "take", self.inner.take, request_id, worker, limit=limit, runnable=runnable, look_lease=look_lease, at=at,
            **linked,
        )  # fmt: skip

    def settle(
        self,
        request_id: str,
        worker: str,
        items: Sequence[Settlement],
        *,
        at: Micros | None = None,
        link: ChainLink | None = None,
    ) -> list[Settled]:
        linked: dict[str, Any] = {} if link is None else {"link": link}
        return self._call("settle", self.inner.settle, request_id, worker, items, at=at, **linked)

    def store_id(self) -> str:
        """See ``ports.rollback``, as below."""
        return cast("Guarded", self.inner).store_id()

    def identity(self) -> str:
        return cast("Guarded", self.inner).identity()

    def prove(self, claim: Claim, *, at: Micros | None = None) -> Proof:
        return self._call("prove", cast("Guarded", self.inner).prove, claim, at=at)

    def writers(self) -> list[Writer]:
        return self._call("writers", cast("Guarded", self.inner).writers)

    def renew(self, worker: str, leases: Sequence[Renewal], *, at: Micros | None = None) -> Renewed:
        return self._call("renew", self.inner.renew, worker, leases, at=at)

    def signal(self, request_id: str, facts: Sequence[Fact], *, at: Micros | None = None) -> list[int]:
        return self._call("signal", self.inner.signal, request_id, facts, at=at)

    def heartbeat(self, worker: WorkerInfo, ttl: Micros, *, at: Micros | None = None) -> Micros:
        return self._call("heartbeat", self.inner.heartbeat, worker, ttl, at=at)

    def activate(
        self, request_id: str, changes: Sequence[Activation], *, actor: str, at: Micros | None = None
    ) -> list[JobRow]:
        return self._call("activate", self.inner.activate, request_id, changes, actor=actor, at=at)

    def act(self, request_id: str, act: Act, *, at: Micros | None = None) -> Acted:
        return self._call("act", self.inner.act, request_id, act, at=at)

    def note_if_held(
        self, worker: str, occurrence_id: int, fence: int, note: Note, *, at: Micros | None = None
    ) -> bool:
        return self._call("note_if_held", self.inner.note_if_held, worker, occurrence_id, fence, note, at=at)

    def facts(self, names: Collection[str]) -> dict[str, Fact]:
        return self._call("facts", self.inner.facts, names)

    def occurrences(self, query: Query) -> list[Occurrence]:
        return self._call("occurrences", self.inner.occurrences, query)

    def story(self, occurrence_id: int) -> Story | None:
        return self._call("story", self.inner.story, occurrence_id)

    def jobs(self, names: Collection[str] | None = None, *, event: str | None = None) -> list[JobRow]:
        return self._call("jobs", self.inner.jobs, names, event=event)

    def workers(self) -> list[WorkerInfo]:
        return self._call("workers", self.inner.workers)

    def tallies(self, *, revisions: bool | Collection[str] = False) -> Tallies:
        return self._call("tallies", self.inner.tallies, revisions=revisions)

    def listen(self, callback: Callable[[], None]) -> Callable[[], None]:
        return self.inner.listen(callback)

    def close(self) -> None:
        self.inner.close()


class Unreliable(Through):
    """A store that is away for some calls, as its plan says.

    Args:
        store: the one that does the work.
        plan: when to fail.

    Every verb may raise StoreUnreachable, without effect (``before``) or with it, and the answer lost (``after``).
    """

    def __init__(self, store: Store, plan: Plan) -> None:
        super().__init__(store)
        self._plan = plan
        self.failed = {"before": 0, "after": 0}

    def _call(self, name: str, verb: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        fault = self._plan(name)
        if fault == "before":
            self.failed[fault] += 1
            raise StoreUnreachable(f"{name}: not sent, by plan")
        answer = verb(*args, **kwargs)
        if fault == "after":
            self.failed[fault] += 1
            raise StoreUnreachable(f"{name}: the reply was lost, by plan")
        return answer


class Persistent(Through):
    """A store whose calls are repeated until they are answered, as the engine's gate repeats them.

    Args:
        store: the one that may be away.
        tries: after so many failures of one call its error is let through.
        pause: called between two tries of one call with how many have failed; None = try again at once.
    """

    def __init__(self, store: Store, *, tries: int = 100, pause: Callable[[int], Any] | None = None) -> None:
        super().__init__(store)
        self._tries = tries
        self._pause = pause

    def _call(self, name: str, verb: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:  # noqa: ARG002
        for failures in range(1, self._tries):
            try:
                return verb(*args, **kwargs)
            except StoreUnusable:
                raise
            except StoreError:
                if self._pause is not None:
                    self._pause(failures)
        return verb(*args, **kwargs)
