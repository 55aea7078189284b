"""What the workers of a machine remember of ranges that a store lost: which keys succeeded there, and who lost what.

Promise: a success is named only if a journal of this very store has it, acknowledged inside a lost range, or refused over
one because the store had lost that the run was started; without a journal nothing is known, and nothing is denied.

Rule of the file: reads only, files and store alike.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, TypeAlias, cast

from noonmark.core import receipts
from noonmark.core.model import FAR, Micros, Occurrence, Query
from noonmark.core.model.rollback import Epoch, Receipt, Writer
from noonmark.core.values import dataclass
from noonmark.engine import testimony
from noonmark.engine.exports import SUCCESS
from noonmark.engine.testimony import Sought
from noonmark.ports.rollback import Guarded
from noonmark.ports.store import Capability, Store


@dataclass(frozen=True, slots=True, kw_only=True)
class Witnessed:
    """A success that was lost: which row it was then, and when (store time, UTC microseconds).

    ``begun``: when the run was started, where the store had lost that and refused how it ended.
    """

    writer: str
    occurrence: int
    fence: int
    at: Micros
    begun: Micros | None = None
    scheduled_for: Micros = 0


Known: TypeAlias = Mapping[tuple[str, str], Witnessed]
"""The successes by job and key."""
CANCELLED = "cancelled"
"""Outcome of a run that ended because a person had asked it to."""
_LOG = logging.getLogger("noonmark.engine")


class Witness(Protocol):
    """Says which successes were lost in rollbacks, of these keys or (None) of all."""

    def __call__(self, epochs: Sequence[Epoch], keys: Collection[str] | None = None, /) -> Known:
        """Return the last lost success of each key."""
        ...


def log_damage(place: str) -> None:
    """Say in the log that a line of a journal says nothing any more."""
    _LOG.warning("%s is not as it was written; what this line of the journal said is not known", place)


def witness(roots: Iterable[Path], store: str, on_damage: Callable[[str], object] = log_damage) -> Witness:
    """Return who can say what the journals in state folders have about a store."""
    return lambda epochs, keys=None: lost_successes(roots, store, epochs, on_damage, keys=keys)


def lost_successes(
    roots: Iterable[Path],
    store: str,
    epochs: Sequence[Epoch],
    on_damage: Callable[[str], object] = log_damage,
    *,
    keys: Collection[str] | None = None,
) -> Known:
    """Return the last success of each key that the journals have in the lost ranges.

    A journal has tens of megabytes, and a rollback stays on record when it is over, so only what may be meant is read.

    Args:
        roots: the state folders.
        store: its id.
        epochs: the rollbacks.
        on_damage: is told each line that cannot be believed, as FILE:LINE.
        keys: only these; None: all.
    """
    found: dict[tuple[str, str], Witnessed] = {}
    if not epochs or (keys is not None and not keys):
        return found
    sought = Sought(
        after=min(epoch.lost_from for epoch in epochs) - 1,
        until=max(epoch.lost_until for epoch in epochs),
        keys=None if keys is None else frozenset(keys),
    )
    for root in roots:
        try:
            for told in testimony.outcomes(root, store, on_damage, sought):
                if told["outcome"] == SUCCESS and told["key"] and _is_lost(told["at"], told.get("begun"), epochs):
                    _keep_last(found, told)
        except OSError:  # another user's folder: then less is known
            continue
    return found


def cancelled_again_open(
    roots: Iterable[Path], store: Store, epochs: Sequence[Epoch], on_damage: Callable[[str], object] = log_damage
) -> tuple[Occurrence, ...]:
    """Return the open rows of keys whose run was cancelled in a lost range that is not let go, as far as journals know.

    A cancel of what had not started is in no worker's journal: it is a deed of a person (``deeds.py``).
    """
    last: dict[tuple[str, str], tuple[Micros, str]] = {}
    held = [epoch for epoch in epochs if epoch.released_at is None]
    name = cast("Guarded", store).store_id() if held and Capability.PROVES in store.capabilities else ""
    for root in roots if name else ():
        with contextlib.suppress(OSError):
            for told in testimony.outcomes(root, name, on_damage):
                if told["key"] and _is_lost(told["at"], told.get("begun"), held):
                    name_of = str(told["job"]), str(told["key"])
                    last[name_of] = max(last.get(name_of, (0, "")), (told["at"], str(told["outcome"])))
    found = []
    for (job, key), (_, outcome) in last.items():
        if outcome == CANCELLED:
            found += store.occurrences(Query(job=job, key=key, open_only=True, limit=1))
    return tuple(found)


def _keep_last(found: dict[tuple[str, str], Witnessed], told: Mapping[str, Any]) -> None:
    seen = Witnessed(
        writer=str(told["writer"]), occurrence=told["occurrence"], fence=told["fence"], at=told["at"],
        begun=told.get("begun"), scheduled_for=told["scheduled_for"],
    )  # fmt: skip
    key = str(told["job"]), str(told["key"])
    if key not in found or found[key].at <= seen.at:
        found[key] = seen


def _is_lost(at: object, begun: object, epochs: Sequence[Epoch]) -> bool:
    """True for what was acknowledged in a lost range, and for a run that ended over one: its start is what was lost.

    The range has its first moment: a store whose clock waits for its own past tells the same one for a while.
    """
    if not isinstance(at, int):
        return False
    if isinstance(begun, int):
        return any(begun < epoch.detected_at and epoch.lost_from <= at for epoch in epochs)
    return any(epoch.lost_from <= at <= epoch.lost_until for epoch in epochs)


def ran_before(row: Occurrence, epochs: Iterable[Epoch], witness: Witness) -> Witnessed | None:
    """Return the success of the row's key that was lost in a rollback which is open and concerns the row, if any is known.

    Args:
        row: one that a person wants to be tried again.
        epochs: the rollbacks.
        witness: what journals have.
    """
    concerning = [
        each for each in epochs if not each.is_released(row.job) and (each.concerns(row) or each.may_repeat(row))
    ]
    if not concerning or not row.key:
        return None
    return witness(concerning, (row.key,)).get((row.job, row.key))


def absent(roots: Iterable[Path], store: str, epochs: Iterable[Epoch]) -> tuple[str, ...]:
    """Return the writers that lost something in a rollback which is open, and of which no folder has a journal."""
    places = [root / store for root in roots]
    writers = dict.fromkeys(writer for epoch in epochs if epoch.released_at is None for writer in epoch.writers)
    return tuple(writer for writer in writers if not any((place / writer).is_dir() for place in places))


@dataclass(frozen=True, slots=True, kw_only=True)
class Untold:
    """What receipts say and no worker has told the store yet: writers that lost something, and those
    whose receipt cannot be read.  ``epoch``: what will be put on record, as far as it can be told; its number is 0."""

    lost: tuple[str, ...] = ()
    unreadable: tuple[str, ...] = ()
    epoch: Epoch | None = None


def untold(roots: Iterable[Path], store: Store) -> Untold:
    """Compare the receipts of workers with a store, as the next worker's proof will; nothing is written.

    Args:
        roots: their state folders.
        store: one that proves; of any other nothing is known.
    """
    if Capability.PROVES not in store.capabilities:
        return Untold()
    guard = cast("Guarded", store)
    name = guard.store_id()
    # Before the store: what it acknowledges meanwhile is no loss.
    kept = [each for root in roots for each in testimony.receipts(root, name)]
    if not kept:
        return Untold()
    heads = {writer.id: writer for writer in guard.writers()}
    workers = store.workers()
    beats = {worker.id: worker.seen_at for worker in workers}
    lost = [
        (writer, receipt)
        for writer, receipt, _ in kept
        if receipt is not None and _is_gone(receipt, name, heads.get(writer), beats.get(receipt.worker))
    ]
    unreadable = [writer for writer, receipt, trouble in kept if receipt is None and trouble]
    if not lost:
        return Untold(unreadable=tuple(unreadable))
    jobs = [] if all(writer in heads for writer, _ in lost) else store.jobs()
    known = [
        _known(
            name,
            heads.get(writer),
            beats.get(receipt.worker),
            0 if writer in heads else receipts.latest_before(receipt.at, workers, heads.values(), jobs),
        )
        for writer, receipt in lost
    ]
    writers, now = tuple(writer for writer, _ in lost), store.now()
    epoch = Epoch(
        number=0,
        lost_from=min(map(receipts.survived_until, known)),
        lost_until=max(max(receipt.at, receipt.beat) for _, receipt in lost),
        detected_at=now,
        writers=writers,
    )
    return Untold(lost=writers, unreadable=tuple(unreadable), epoch=epoch)


def _is_gone(receipt: Receipt, store: str, head: Writer | None, beat: Micros | None) -> bool:
    if receipt.store != store or (head is not None and head.epoch > receipt.epoch):
        return False  # told by a proof already
    return not receipts.is_there(receipt, _known(store, head, beat))


def _known(store: str, head: Writer | None, beat: Micros | None, earlier: Micros = 0) -> receipts.Known:
    return receipts.Known(
        store=store, head=head, link=None, beat=beat, as_of=0, rollbacks=None, serving=None, earlier=earlier
    )


def remembered(
    roots: Iterable[Path],
    store: str,
    key: str,
    job: str | None = None,
    on_damage: Callable[[str], object] = log_damage,
) -> Mapping[str, Any] | None:
    """Return the last outcome that the journals have of a key, with the fields of a journal's line; None: they have none.

    Args:
        roots: the state folders.
        store: its id.
        key: as rendered.
        job: only of this job; None: of any.
        on_damage: is told each line that cannot be believed, as FILE:LINE.
    """
    last: Mapping[str, Any] | None = None
    for root in roots:
        with contextlib.suppress(OSError):
            for told in testimony.outcomes(root, store, on_damage, Sought(after=0, until=FAR, keys=frozenset({key}))):
                if told["key"] == key and job in (None, told["job"]) and (last is None or last["at"] <= told["at"]):
                    last = told
    return last
