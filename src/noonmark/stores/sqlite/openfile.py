"""The open file: its three connections, as long as they are connections to what lies at the path.

Rule of the file: whoever gets a connection here gets one to the file that lies at the path now.  Where another one was
put there, it is opened, or refused; a file that is not there any more, or whose log was taken away, is not written.
"""

from __future__ import annotations

import os
import threading
from pathlib import Path

from noonmark.stores.sqlite import errors, looking, pair
from noonmark.stores.sqlite.clock import StoreClock
from noonmark.stores.sqlite.connection import Link, open_links

GONE = "the file was taken away while it was open, so nothing is written any more"
PUT_BACK = "Put it back, or stop the processes that have it open."
LOG_GONE = "its log ({log}) was taken away while it was open, so nothing is written any more"
STOP = "Stop the processes that have it open: the last one to end puts what the log held into the file."


class OpenFile:
    """What lies at a path, open for ordinary verbs, for those that keep a lease alive, and for reads.

    Args:
        path: the file.
        synchronous: SQLite's, for each connection.
        clock: the store's.
        driver: which library.
        create: False = a file that holds no store is told, not made.
    """

    def __init__(self, path: Path, synchronous: str, clock: StoreClock, driver: str, *, create: bool) -> None:
        self._path = path
        self._place = Path(os.path.abspath(path))
        self._synchronous = synchronous
        self._clock = clock
        self._driver = driver
        self._opening = threading.Lock()
        self._is_closed = False
        self.only_looks = not create and looking.is_to_be_looked_at(path)
        self._open(create=create)

    def _open(self, *, create: bool) -> None:
        # A folder that was changed since must not lead elsewhere, and messages name the path as it was given.
        path = self._path if os.path.abspath(self._path) == str(self._place) else self._place
        while True:
            pair.refuse_strange_log(path)
            before = pair.file_identity(path)
            links = self._links_to(path, create=create)
            found = pair.seen(path) if self.only_looks else pair.note(path)
            if before in ("", found.identity):
                break
            for link in links:  # another file was put there meanwhile
                link.close()
        for link in links:
            link.pair = found
        # Links of before are left to whoever uses one this moment, and closed by the collector after that: of a file
        # that is not at its path any more SQLite leaves alone what lies there.
        self._pair, self._links = found, links

    def _links_to(self, path: Path, *, create: bool) -> tuple[Link, Link, Link]:
        if not self.only_looks:
            return open_links(path, self._synchronous, self._clock, self._driver, create=create)
        link = looking.LookLink(path, self._clock, self._driver)
        return link, link, link

    @property
    def place(self) -> str:
        """The path of the file itself, which is the same in every folder and by every link."""
        return os.path.realpath(self._place)

    @property
    def main(self) -> Link:
        """For ordinary verbs."""
        return self._live()[0]

    @property
    def urgent(self) -> Link:
        """For what keeps leases alive."""
        return self._live()[1]

    @property
    def reader(self) -> Link:
        """For reads."""
        return self._live()[2]

    @property
    def identity(self) -> str:
        """Which file is open, that which lies at the path now."""
        self._live()
        return self._pair.identity

    @property
    def is_replaced(self) -> bool:
        """True while another file lies at the path than the one that is open."""
        return self._pair.trouble() == "replaced"

    def _live(self) -> tuple[Link, Link, Link]:
        """Return the links, to the file that lies at the path now.

        Raises:
            StoreUnreachable: there is none, or its log is not there.
            StoreUnusable: it must not be opened as it lies there.
        """
        trouble = "" if self._is_closed else self._pair.trouble()
        if self.only_looks and trouble != "gone" and not self._is_closed:
            self._look_anew(trouble)
        elif trouble == "replaced":
            with self._opening:
                if self._pair.trouble() == "replaced":
                    self._open(create=False)
        elif trouble == "gone":
            raise errors.unreachable(str(self._path), GONE, PUT_BACK)
        elif trouble:
            with self._opening:
                if self._pair.trouble() == "log":
                    self._begin_another_log()
        return self._links

    def _look_anew(self, trouble: str) -> None:
        """Open it in the other way where the last one to write it has ended, or the first one has begun."""
        with self._opening:
            if self._pair.trouble() or (not trouble and any(getattr(link, "is_stale", False) for link in self._links)):
                self._open(create=False)

    def _begin_another_log(self) -> None:
        """Put what our log holds, which is not at its path any more, into the file, and go on with a new one.

        Another SQLite library in this process takes it away: when it closes the file, it drops the locks of ours with its
        own, and believes to be the last.  Nobody may write meanwhile, and nobody may have begun another log.
        """
        main, _, reader = self._links
        refused = errors.unreachable(str(self._path), LOG_GONE.format(log=f"{self._path}-wal"), STOP)
        if os.path.exists(self._pair.log):
            raise refused
        with main.alone(), reader.alone() as connection:
            _, pages, done = next(iter(connection.execute("PRAGMA wal_checkpoint(PASSIVE)")))
            if done < pages:  # somebody reads an older state
                raise refused
            self._open(create=False)

    def close(self) -> None:
        """Close the connections; later calls find them closed."""
        self._is_closed = True
        for link in self._links:
            link.close()
        if not self.only_looks:
            pair.forget(self._place)
