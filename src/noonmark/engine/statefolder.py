"""What a worker remembers outside the store: its writer's name, its last receipt, the outcomes it was told are kept.

Promise: whatever happens to this folder, no false alarm comes of it.  Nothing is flushed to the disk on purpose, so a
power cut may cost the newest lines: then the proof is weaker, never wrong.  A folder that cannot be used makes the
worker *blind*: it proves itself while it lives, but not after a restart.

Layout: ``ROOT/STORE/WRITER/`` with ``lock`` (held by the one process that is this writer), ``receipt.json`` (one line,
overwritten in place) and ``journal.jsonl`` (one line per batch; the older half is ``journal.1.jsonl``), and beside the
writers ``over``, one byte for each run that ended over a rollback, so that all writers hear of it, and what people did
(``deeds.py``).  A line ends in a sum over its text, its store and its writer: what was damaged, cut off or put into
another's folder says nothing.

Rule of the file: no error leaves it.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from noonmark.core.model import Micros
from noonmark.core.model.rollback import Receipt
from noonmark.engine import lines, places, testimony

try:
    import fcntl
except ImportError:  # another kind of system: workers are blind there
    fcntl = None  # type: ignore[assignment]

JOURNAL_HALF = 10 * 1024 * 1024
"""Bytes after which the journal is turned over; two halves are kept."""
JOURNAL_SECONDS = 7 * 86_400
"""A half that was not written to for this long is dropped when the journal is opened."""
RECEIPT_WIDTH = 1024
NONE = "none"
"""Said instead of a folder: remember nothing."""
_OVER = "over"
_LOG = logging.getLogger("noonmark.engine")


def root_of(named: str | os.PathLike[str] | None, environ: Mapping[str, str] = os.environ) -> Path | None:
    """Return where state is kept: as named, else ``NOONMARK_STATE``, else the user's state directory; "none": nowhere."""
    named = os.fspath(named) if named is not None else environ.get("NOONMARK_STATE", "")
    if named:
        return None if named == NONE else Path(named).expanduser()
    if base := environ.get("XDG_STATE_HOME") or environ.get("LOCALAPPDATA"):
        return Path(base) / "noonmark"
    return Path(os.path.expanduser("~")) / ".local" / "state" / "noonmark"


class Witness:
    """The memory of one writer of a store; without a place it is that of this process alone."""

    def __init__(self, writer: str, store: str, place: Path | None, lock: int | None, *, why_blind: str = "") -> None:
        self.writer = writer
        self.store = store
        self.why_blind = why_blind
        self.receipt: Receipt | None = None
        self.is_closed = False
        self.is_recovered = False
        """True while the receipt is the journal's last line, which is older: the chain may have gone on by a rollback."""
        self._place = place
        self._lock = lock
        self._receipt_file: int | None = None
        self._journal: int | None = None
        self._written = 0
        if place is not None:
            self.receipt, trouble = testimony.read_receipt(place)
            self.is_recovered = bool(trouble) and self.receipt is not None
            if trouble:
                said = "taken from the journal beside it" if self.is_recovered else "until now it is blind"
                _LOG.warning("the receipt of the writer %s in %s cannot be read (%s): %s", writer, place, trouble, said)

    @property
    def is_blind(self) -> bool:
        """True when a restart forgets."""
        return self._place is None

    def keep(self, receipt: Receipt) -> None:
        """Remember where the chain is now."""
        self.receipt, self.is_recovered = receipt, False
        if self._place is None:
            return
        with self._trying():
            if self._receipt_file is None:
                self._receipt_file = os.open(self._place / "receipt.json", os.O_RDWR | os.O_CREAT, 0o600)
            text = json.dumps(asdict(receipt), separators=(",", ":")).ljust(RECEIPT_WIDTH - 1) + "\n"
            lines.overwrite(self._receipt_file, text.encode())

    def record(
        self, seq: int, hash_: str, at: Micros, outcomes: Sequence[Sequence[Any]], *, begun: Micros | None = None
    ) -> None:
        """Append the outcomes of one batch (``testimony.OUTCOME`` names the fields).

        ``begun``: when the runs were started that ended over a rollback, so that the store refused how they ended.
        """
        if self._place is None or not outcomes:
            return
        with self._trying():
            if self._journal is None:
                self._open_journal(self._place)
            assert self._journal is not None
            # What was acknowledged and meanwhile lost is of no rollback's time that we could name.
            epoch = self.receipt.epoch if self.receipt is not None and self.receipt.hash == hash_ else None
            # ASCII: twice as fast
            line = {"seq": seq, "hash": hash_, "at": at, "epoch": epoch, "outcomes": outcomes}
            text = json.dumps(line if begun is None else {**line, "begun": begun})
            self._written += lines.append(self._journal, f"{testimony.sealed(self._place, text)}\n".encode("ascii"))
            if self._written > JOURNAL_HALF:
                os.close(self._journal)
                self._journal = None
                os.replace(self._place / "journal.jsonl", self._place / "journal.1.jsonl")
            if begun is not None:
                _count_over(self._place.parent)

    def _open_journal(self, place: Path) -> None:
        os.utime(place / "lock")  # the file system's own clock is the one by which its files are old
        now = (place / "lock").stat().st_mtime
        for name in ("journal.1.jsonl", "journal.jsonl"):
            with contextlib.suppress(FileNotFoundError):
                if (place / name).stat().st_mtime < now - JOURNAL_SECONDS:
                    (place / name).unlink()
        self._journal = os.open(place / "journal.jsonl", os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
        self._written = os.fstat(self._journal).st_size

    @contextlib.contextmanager
    def _trying(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            _LOG.warning(
                "the state folder %s cannot be written (%s); from here on this worker is blind", self._place, error
            )
            self.why_blind = str(error)
            self._place = None

    def close(self) -> None:
        """Let another process be this writer; from here on nobody of this one may be it."""
        self.is_closed = True
        for handle in (self._receipt_file, self._journal, self._lock):
            if handle is not None:
                with contextlib.suppress(OSError):
                    os.close(handle)
        self._receipt_file = self._journal = self._lock = None


class StateFolder:
    """The place where the workers of one host remember.

    Args:
        root: the folder; None: remember nothing beyond this process.
    """

    def __init__(self, root: Path | None) -> None:
        self._root = root

    @property
    def root(self) -> Path | None:
        """Where it is; None: nothing is remembered."""
        return self._root

    def open(self, store: str, worker: str) -> Witness:
        """Become a writer that nobody else is at the moment, an old one if there is one.

        Args:
            store: name of the store (its id).
            worker: the incarnation, which is the writer where the folder cannot be used.
        """
        if self._root is None:
            return Witness(worker, store, None, None, why_blind="no state folder")
        if fcntl is None:
            return Witness(worker, store, None, None, why_blind="this system has no file locks")
        try:
            place = self._root / store
            place.mkdir(mode=0o700, parents=True, exist_ok=True)
            for witness in self._idle(place):
                return witness
            return _take_place(place, f"w-{uuid.uuid4().hex[:12]}") or Witness(
                worker, store, None, None, why_blind="taken"
            )
        except OSError as error:
            _LOG.warning("the state folder %s cannot be used (%s); this worker is blind", self._root, error)
            return Witness(worker, store, None, None, why_blind=str(error))

    def others(self, store: str) -> Iterator[Witness]:
        """Yield the writers of this host that nobody is at the moment; close each of them."""
        if self._root is None or fcntl is None:
            return
        with contextlib.suppress(OSError):
            yield from self._idle(self._root / store)

    def _idle(self, place: Path) -> Iterator[Witness]:
        for entry in sorted(place.iterdir()):
            witness = _take_place(place, entry.name) if entry.is_dir() else None
            if witness is not None:
                yield witness

    def over_at(self, store: str) -> int:
        """Return a number that grows when a run of this host has ended over a rollback of the store, and is on record."""
        try:
            return 0 if self._root is None else (self._root / store / _OVER).stat().st_size
        except OSError:
            return 0

    def lay_before(self, url: str, store: str) -> str:
        """Return the store that is remembered to lie at an address, "" when it is this one or none is."""
        return "" if self._root is None else places.lay_before(self._root, url, store)

    def lies_at(self, url: str, store: str) -> None:
        """Remember which store lies at an address."""
        if self._root is not None:
            places.lies_at(self._root, url, store)


def _count_over(place: Path) -> None:
    handle = os.open(place / _OVER, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        os.write(handle, b".")
    finally:
        os.close(handle)


def _take_place(place: Path, writer: str) -> Witness | None:
    """Become this writer, unless another process is."""
    folder = place / writer
    folder.mkdir(mode=0o700, exist_ok=True)
    handle = os.open(folder / "lock", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(handle)
        return None
    return Witness(writer, place.name, folder, handle)
