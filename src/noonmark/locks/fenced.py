"""What a lock protects, protected by itself: a resource that refuses whoever is not the latest holder.

A lock alone cannot keep a paused holder from writing after its time: it does not know that it was paused.  The fence can,
if the resource compares it.  But comparing on *write* only is not enough for read-change-write::

    A (fence 1) reads 10                 and is paused; its lock runs out
    B (fence 2) reads 10
    A wakes up and writes 11             nothing with a greater fence has been written yet, so it is accepted
    B writes 11                          and A's acknowledged update is lost

So the fence is registered when a holder first *reads*: then A's late write is refused, because B has been here.

Rule of the file: reading and writing both compare and register, each in one indivisible step of the resource.
"""

from __future__ import annotations

from typing import Generic, Protocol, TypeVar

from noonmark.locks.errors import StaleFence

T = TypeVar("T")


class Fenced(Protocol):
    """Whoever has a fence: what ``lock()`` gave, a job's context, a ``Grant``."""

    @property
    def fence(self) -> int:
        """Greater than that of every earlier holder."""
        ...


class Backing(Protocol[T]):
    """Where a fenced value lives: ``FencedRow``, ``FencedKey``, ``FencedFile`` or your own."""

    def read(self, fence: int) -> T | None:
        """Register the fence and return the value; None if there is none yet.

        Raises:
            StaleFence: a greater one is registered.
        """
        ...

    def write(self, fence: int, value: T) -> None:
        """Register the fence and set the value.

        Raises:
            StaleFence: a greater one is registered; nothing changed.
        """
        ...


class FencedResource(Generic[T]):
    """A value that only the latest holder of a lock can read for changing, and change::

        counter = FencedResource(FencedRow(connection, "counter"))
        with lock("counter", ttl="30s") as held:
            value = int(counter.read(held) or "0")
            counter.write(held, str(value + 1))       # StaleFence if a later holder has read meanwhile

    Args:
        backing: where the value lives.
    """

    def __init__(self, backing: Backing[T]) -> None:
        self._backing = backing

    def read(self, held: Fenced) -> T | None:
        """Register the holder's fence and return the value; None if there is none yet.

        Raises:
            StaleFence: a later holder has been here.
            LockLost: the lock may not be trusted any more (it is asked first, where it can be asked).
        """
        check(held)
        return self._backing.read(held.fence)

    def write(self, held: Fenced, value: T) -> None:
        """Set the value.

        Raises:
            StaleFence: a later holder has been here; nothing changed.
            LockLost: the lock may not be trusted any more; nothing was asked.
        """
        check(held)
        self._backing.write(held.fence, value)


def check(held: Fenced) -> None:
    """Ask a lock whether it may be trusted, where it can be asked."""
    ask = getattr(held, "check", None)
    if callable(ask):
        ask()


def stale(what: str, fence: int, registered: int | str | None = None) -> StaleFence:
    """Return the error for a holder that came too late."""
    newer = f"fence {registered}" if registered is not None else "a greater fence"
    return StaleFence(f"{what} was used by a later holder ({newer}; this one has {fence}): nothing was changed")
