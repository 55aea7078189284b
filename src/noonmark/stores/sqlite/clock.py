"""The store's time: wall time anchored in the file, carried on by the boot-time clock.

Rule of the file: time never goes backwards within a store, and no single process with a wrong wall clock moves it.  All
processes of one boot share the anchor (a wall instant and the boot reading that belongs to it), so they agree to the
microsecond; a wall clock is believed in three cases only: in a new file, after a boot, and when more than half of the
living workers say the same about it.  ``mark`` is the latest instant ever written; whatever happens, time goes on from
there.  So a process whose boot-time clock is not the one that the anchor was made with is a stranger: it is refused, because
one transaction of it would move everybody's time for good.
"""

from __future__ import annotations

from collections.abc import Sequence

from noonmark.core.model import DAY, SECOND, AlertWrite, Micros
from noonmark.ports.clock import STRANGE, Clock
from noonmark.stores.sqlite import alerts, errors
from noonmark.stores.sqlite.transaction import Reads, Transaction

NO_BOOT_ID = "no-boot-id"
AGREE_WITHIN: Micros = SECOND
BELIEVE_FROM: Micros = 2 * SECOND
"""Offsets below this are reported only: leases are counted in tens of seconds."""

LEAP: Micros = 365 * DAY
"""No store lies untouched for so long within one boot while the wall clock is set back by as much: who sees both has
another boot-time clock, whatever its boot id says."""
OTHER_CLOCK = (
    "this process has another boot-time clock than the others, and would move the store's time for all of them"
)
WITHOUT = "Run it without what gives it another clock (libfaketime, a time namespace), or name another store."

_READ = "SELECT boot_id, boot, wall, mark FROM clock"


class StoreClock:
    """Reads and moves the time of one file.

    Args:
        clock: the machine's.
        where: the file, for what is said of it.
    """

    def __init__(self, clock: Clock, where: str = "") -> None:
        self._clock = clock
        self._where = where

    def read(self, connection: Reads) -> Micros | None:
        """Return the store's time, or None when the file has no anchor for this boot.

        Raises:
            StoreUnusable: this process has another boot-time clock than those that are at work in the file.
        """
        row = connection.execute(_READ).fetchone()
        if row is None:
            return None
        boot_id, boot, wall, mark = row
        passed, ours = self._clock.boot() - boot, self._clock.boot_id()
        if boot_id != ours:
            if STRANGE in ours and boot_id.partition(STRANGE)[0] == ours.partition(STRANGE)[0]:
                raise errors.unusable(self._where, OTHER_CLOCK, WITHOUT)
            return None
        if passed < 0:
            return None
        now: Micros = max(wall + passed, mark)
        if now - mark > LEAP and now - self._clock.wall() > LEAP:
            raise errors.unusable(self._where, OTHER_CLOCK, WITHOUT)
        return now

    def now(self, connection: Reads) -> tuple[Micros, Micros]:
        """Return the store's time and by how much the wall clock was found behind; anchors anew after a boot.

        Must be called inside a writing transaction.
        """
        now = self.read(connection)
        if now is not None:
            return now, 0
        row = connection.execute(_READ).fetchone()
        wall = self._clock.wall()
        now = wall if row is None else max(wall, row[3])
        self._anchor(connection, now)
        return now, now - wall

    def look(self, connection: Reads) -> Micros:
        """Return the store's time, also of a file of another boot or machine that nobody here may anchor anew."""
        now = self.read(connection)
        if now is None:
            mark: Micros = connection.execute("SELECT mark FROM clock").get
            now = max(self._clock.wall(), mark)
        return now

    def is_settled(self, connection: Reads) -> bool:
        """Return True when the file has an anchor for this boot and the system can tell boots apart."""
        return self._clock.boot_id() != NO_BOOT_ID and self.read(connection) is not None

    def reconsider(self, connection: Reads) -> None:
        """Where the system names no boot: believe the wall clock at opening, unless somebody is at work in the file."""
        if self._clock.boot_id() != NO_BOOT_ID:
            return
        now = self.read(connection)
        if now is None:
            return
        alive = connection.execute("SELECT EXISTS (SELECT 1 FROM worker WHERE reaped = 0 AND gone_at > ?)", (now,)).get
        mark = connection.execute("SELECT mark FROM clock").get
        if not alive:
            self._anchor(connection, max(self._clock.wall(), mark))

    def _anchor(self, connection: Reads, now: Micros) -> None:
        connection.execute(
            "INSERT INTO clock VALUES (1, ?, ?, ?, ?) ON CONFLICT (one) DO UPDATE SET boot_id = excluded.boot_id,"
            " boot = excluded.boot, wall = excluded.wall, mark = max(mark, excluded.mark)",
            (self._clock.boot_id(), self._clock.boot(), now, now),
        )

    def follow_majority(self, tx: Transaction) -> Micros:
        """Move time forward when more than half of the living workers agree that it is late; return the new now.

        Leases and heartbeats are lengths of time, so they move along: nobody loses a run because
        the clock was set right.
        """
        offsets = [
            row[0] for row in tx.execute("SELECT wall_offset FROM worker WHERE reaped = 0 AND gone_at > ?", (tx.now,))
        ]
        shift = agreed_shift(offsets)
        if not shift:
            return tx.now
        now = tx.now + shift
        self._anchor(tx.connection, now)
        tx.execute("UPDATE occurrence SET due_at = due_at + ? WHERE due_at IS NOT NULL AND holder <> ''", (shift,))
        tx.execute(
            "UPDATE worker SET until = until + ?1, gone_at = gone_at + ?1, wall_offset = wall_offset - ?1"
            " WHERE reaped = 0 AND gone_at > ?2",
            (shift, tx.now),
        )
        tx.now = now
        tx.due(now)
        detail = {"shift": shift, "workers": len(offsets)}
        alerts.write(tx, AlertWrite(job="", kind="clock", level=2, code="clock_forward", detail=detail))
        return now


def behind_alert(behind: Micros) -> AlertWrite:
    """Return the alert for a wall clock that a boot left behind the store's time."""
    return AlertWrite(job="", kind="clock", level=2, code="clock_behind", detail={"behind": behind})


def agreed_shift(offsets: Sequence[Micros]) -> Micros:
    """Return how far time must move forward: the middle of the offsets that a strict majority agrees on, else 0."""
    ahead = sorted(offset for offset in offsets if offset > BELIEVE_FROM)
    need = len(offsets) // 2 + 1
    for first in range(len(ahead) - need + 1):
        together = [offset for offset in ahead[first:] if offset - ahead[first] <= AGREE_WITHIN]
        if len(together) >= need:
            return together[len(together) // 2]
    return 0
