"""A file that this user may only read: how it can be looked at all the same.

In WAL mode even a reader needs the index beside the file, and makes one where there is none.  So where the log and its
index are there (somebody has the file open, or the whole folder was copied), it is opened with ``mode=ro``, and what is
read is what was committed last.  Where neither is there, nobody has it open: it is opened with ``immutable=1``, which is
true as long as that stays so, and whoever reads while it does not is told to repeat.  A log without its index could only
be left out, with all that it holds, so that is refused.

Promise: nothing is written, neither into the file nor beside it, for an index that is left behind by somebody who looks
would be one that the workers may not write.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import apsw

from noonmark.core.model import Micros
from noonmark.stores.sqlite import errors, schema
from noonmark.stores.sqlite.clock import StoreClock
from noonmark.stores.sqlite.connection import PATIENCE, Courtesy, Link
from noonmark.stores.sqlite.drivers import AnyConnection, open_to_look
from noonmark.stores.sqlite.pair import INDEX, LOG
from noonmark.stores.sqlite.transaction import Transaction

SHARED, STILL = "mode=ro", "immutable=1"
CHANGED = "somebody began to write it while it was looked at without a lock, since this user may only read it"
REPEAT = "Repeat it."
OUTDATED = (
    "it was written by an older noonmark (schema {found}, this one has {wanted}), and this user may not change it"
)
UPDATE = "Bring it up to date as a user who may: noonmark store migrate"
NO_INDEX = (
    "this user may only read it, and its log ({log}) holds changes that cannot be read without an index beside it, "
    "which this user may not make"
)


def may_write(path: Path) -> bool:
    """Return True where this user may change the file as SQLite does, with a log and an index beside it."""
    main = os.path.realpath(path)
    if not os.access(main, os.W_OK):
        return False
    return os.access(os.path.dirname(main), os.W_OK) or all(
        os.access(f"{main}{side}", os.W_OK) for side in (LOG, INDEX)
    )


def is_to_be_looked_at(path: Path) -> bool:
    """Return True for a file that this user may read and not change."""
    return path.is_file() and os.access(path, os.R_OK) and not may_write(path)


class LookLink(Link):
    """A connection to a file that is only looked at.

    Raises:
        StoreUnusable: it cannot be looked at either, or holds no store of this version.
        StoreAbsent: it holds none at all.
    """

    def __init__(self, path: Path, clock: StoreClock, driver: str) -> None:
        main = os.path.realpath(path)
        self.how = _how(path, main)
        self._main = main
        self._seen = _stamp(main)
        with errors.translating(str(path)):
            connection = open_to_look(Path(main), driver, self.how)
            try:
                connection.set_busy_timeout(int(PATIENCE * 1000))
                _must_be_current(connection, str(path))
            except BaseException:
                connection.close()
                raise
        super().__init__(path, "", clock, Courtesy(), reader=True, driver=driver, connection=connection)

    @property
    def is_stale(self) -> bool:
        """True when it was opened as one that nobody writes, and somebody has begun to."""
        return self.how == STILL and _stamp(self._main) != self._seen

    @contextmanager
    def read(self) -> Iterator[AnyConnection]:
        """Run the block on one state of the file.

        Raises:
            StoreUnreachable: it was changed meanwhile, so that what was read may be of no one state.
        """
        with super().read() as connection:
            try:
                yield connection
            except apsw.Error:  # a file that changes under it looks damaged
                if not self.is_stale:
                    raise
            if self.is_stale:
                raise errors.unreachable(self.path, CHANGED, REPEAT)

    @contextmanager
    def write(self, at: Micros | None = None) -> Iterator[Transaction]:  # noqa: ARG002 - as a link has it
        """Refuse."""
        raise errors.read_only(self.path)
        yield  # a generator, as the other one is


def _how(path: Path, main: str) -> str:
    log, index = f"{main}{LOG}", f"{main}{INDEX}"
    if os.path.exists(log) and os.path.exists(index):
        return SHARED
    if os.path.exists(log) and os.path.getsize(log):
        names = " ".join(shlex.quote(name) for name in (main, log))
        remedy = f"Give this user the right to write both, or copy them to a folder of your own: cp {names} FOLDER"
        raise errors.unusable(str(path), NO_INDEX.format(log=log), remedy)
    return STILL


def _stamp(main: str) -> tuple[int, ...]:
    """Return what changes when somebody begins to write the file."""
    try:
        found = os.stat(main)
    except OSError:
        return ()
    log = f"{main}{LOG}"
    return found.st_ino, found.st_size, found.st_mtime_ns, os.path.getsize(log) if os.path.exists(log) else -1


def _must_be_current(connection: AnyConnection, path: str) -> None:
    if schema.is_empty(connection, path):
        raise errors.absent(path)
    if not schema.is_current(connection, path):
        found = int(connection.pragma("user_version"))
        raise errors.unusable(path, OUTDATED.format(found=found, wanted=schema.version()), UPDATE)
