"""Are these histories of claims and leases ones that a single, honest register could have told?

A history is what several callers saw: each operation with when it was called and when it returned, or never (then it
may or may not have happened).  It is *linearizable* when the operations can be put in one order, each somewhere between
its call and its return, in which every answer is what one register would have said.  The register is that of a lease:
it has a holder, a fence that only grows, an end by the store's clock, and, once somebody succeeded, an outcome that
stays.

How: the search of Wing and Gong, key by key, with memory of (what is done, the register) pairs, as Lowe proposed.

Rule of the file: the checker knows the contract of a lease, not one line of a store.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from noonmark.core.model import FAR, Micros

LONGEST = 200
"""Most operations of one key: beyond, the search may take for ever."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Op:
    """One operation of one caller.

    Args:
        kind: ``grant`` (a take, or a start: fence and lease), ``renew``, ``write`` (an outcome that leaves the lease:
            parked, failed, handed back), ``succeed`` (an outcome that stays), ``note`` (a write that keeps the lease),
            ``expire`` (the store's clock passed the end of the lease: an observation, never refused).
        key: which occurrence or lock.
        caller: who.
        called, returned: on one clock for all; ``returned`` None: no answer came, so it may or may not have happened.
        fence: under which it was done; of a grant: the one that was granted.
        ok: whether it was accepted (for an operation without an answer: ignored).
        at, lease: of a grant and a renewal: the store's instant, and how long from there; of the others only ``at``.
    """

    kind: str
    key: str
    caller: str
    called: Micros
    returned: Micros | None
    fence: int = 0
    ok: bool = True
    at: Micros = 0
    lease: Micros = 0


@dataclass(frozen=True, slots=True)
class Register:
    """What one honest register holds for one key."""

    holder: str = ""
    fence: int = 0
    until: Micros = 0
    is_done: bool = False

    def after(self, op: Op) -> Register | None:
        """Return the register after an operation that was answered so, None where it would have answered otherwise."""
        if op.kind == "expire":
            return self if not self.holder or op.at >= self.until else None
        return self._granted(op) if op.kind == "grant" else self._written(op)

    def _granted(self, op: Op) -> Register | None:
        is_free = not self.holder or op.at >= self.until
        if not op.ok:
            return self if self.is_done or not is_free else None
        if self.is_done:
            return None
        if op.returned is None:  # nobody knows under which fence, or until when: the register allows everything
            return Register(op.caller, self.fence, 0)
        return Register(op.caller, op.fence, op.at + op.lease) if is_free and op.fence > self.fence else None

    def _written(self, op: Op) -> Register | None:
        """The fence alone decides: a lease that is over, and that nobody has had since, may still be written under."""
        is_ours = self.holder == op.caller and self.fence == op.fence and not self.is_done
        if not op.ok:
            return None if is_ours else self
        if not is_ours:
            return None
        if op.kind == "renew":
            return replace(self, until=op.at + op.lease)
        if op.kind == "note":
            return self
        return Register("", self.fence, 0, op.kind == "succeed")


@dataclass(frozen=True, slots=True, kw_only=True)
class Refuted:
    """A history that no honest register tells."""

    key: str
    ops: tuple[Op, ...]  # the shortest beginning of the history that cannot be told

    def text(self) -> str:
        """Return the history as lines, the operation that cannot be fitted in last."""
        lines = [f"{self.key}: no order of these operations is one that a single register could have answered"]
        for op in self.ops:
            answer = "no answer" if op.returned is None else "accepted" if op.ok else "refused"
            lines.append(f"  {op.called:>16} {op.caller} {op.kind} fence {op.fence}: {answer}")
        return "\n".join(lines)


def check(history: Iterable[Op]) -> Refuted | None:
    """Check a history, key by key.

    Returns:
        None when it is linearizable, else the first key that is not, with the shortest beginning that shows it.

    Raises:
        ValueError: more than ``LONGEST`` operations of one key.
    """
    by_key: dict[str, list[Op]] = {}
    for op in history:
        by_key.setdefault(op.key, []).append(op)
    for key, ops in sorted(by_key.items()):
        if len(ops) > LONGEST:
            raise ValueError(f"{key} has {len(ops)} operations, more than {LONGEST}; record fewer, or more keys")
        ops.sort(key=lambda op: (op.called, _end(op)))
        if not is_linearizable(ops):
            return Refuted(key=key, ops=tuple(_shortest(ops)))
    return None


def is_linearizable(ops: Sequence[Op]) -> bool:
    """Can these operations of one key be put in one order that a single register would have answered like this?"""
    order = sorted(ops, key=lambda op: (op.called, _end(op)))
    whole = (1 << len(order)) - 1
    needed = sum(1 << index for index, op in enumerate(order) if op.returned is not None)
    tried: set[tuple[int, Register]] = set()
    waiting = [(0, Register())]
    while waiting:
        done, register = waiting.pop()
        if done & needed == needed:
            return True
        if (done, register) in tried:
            continue
        tried.add((done, register))
        for index in _may_be_next(order, done, whole):
            op = order[index]
            after = register.after(op if op.returned is not None else replace(op, ok=True))
            if after is not None:
                waiting.append((done | 1 << index, after))
    return False


def _may_be_next(order: Sequence[Op], done: int, whole: int) -> list[int]:
    """Return the operations that may come next: called before the first return among those that are not done."""
    found: list[int] = []
    first_return = FAR
    left = whole & ~done
    index = 0
    while left >> index:
        if left >> index & 1:
            op = order[index]
            if op.called > first_return:
                break
            found.append(index)
            first_return = min(first_return, _end(op))
        index += 1
    return [index for index in found if order[index].called <= first_return]


def _end(op: Op) -> Micros:
    return FAR if op.returned is None else op.returned


def _shortest(ops: list[Op]) -> list[Op]:
    """Return the shortest beginning of a refuted history that is refuted, too."""
    low, high = 1, len(ops)
    while low < high:
        middle = (low + high) // 2
        if is_linearizable(_cut(ops, middle)):
            low = middle + 1
        else:
            high = middle
    return _cut(ops, low)


def _cut(ops: list[Op], count: int) -> list[Op]:
    """Return the operations up to the ``count``-th return; those that had not returned by then may have happened."""
    returns = sorted(_end(op) for op in ops)
    end = returns[count - 1]
    return [op if _end(op) <= end else replace(op, returned=None) for op in ops if op.called <= end]
