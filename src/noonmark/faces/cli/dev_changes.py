"""Which changes of watched files start the worker of ``noonmark dev`` anew: a person's, not the worker's own.

Promise: a worker that writes watched files is started anew a few times, then not again for what it writes; a change
that a person makes while no worker writes always counts.

Rule of the file: no clock and no disk; times are seconds since any moment, files are their stamps.  Who wrote a file is
not to be seen, so it is tried: a file that lies still while no worker lives, and changes as soon as one begins, is the
worker's.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

EARLY = 5.0
"""Seconds from a worker's start in which a change may be its own."""
LIVES = 3
"""So many workers in a row have to be followed by an early change before that counts as theirs."""
PAUSE = 2.0
"""Seconds without a worker before the last of them: a person who goes on saving is seen then."""
QUIET = 10.0
"""Seconds for which a file that the worker writes has to lie still before a change of it is a person's."""

Stamps = Mapping[Path, int]


class Changes:
    """What was seen of the files from one start to the next."""

    def __init__(self) -> None:
        self._seen: dict[Path, int] = {}
        self._born = 0.0
        self._lives = 0
        self._moved: dict[Path, float] = {}
        self._waiting: set[Path] = set()
        self._makes_files = False
        self.own: set[Path] = set()
        """Files that the worker writes."""
        self.pause = 0.0
        """Seconds to look on without a worker before the next start."""

    def begin(self, stamps: Stamps, now: float) -> None:
        """A worker starts, on the files as they are."""
        self._seen, self._born, self.pause = dict(stamps), now, 0.0
        self._moved.clear()
        self._waiting.clear()

    def is_quiet(self, stamps: Stamps) -> bool:
        """Say whether nothing changed in the pause; what did was a person's, and begins the count anew."""
        changed, _ = self._take(stamps)
        if changed:
            self._lives = 0
        return not changed

    def count(self, stamps: Stamps, now: float) -> bool:
        """Say whether what changed in a worker's life starts it anew."""
        changed, new = self._take(stamps)
        if now - self._born >= EARLY:
            quiet = {each for each in changed if each not in self.own or self._stillness(each, now) >= QUIET}
            self._know(changed & self.own, now)
            self._lives = 0 if quiet else self._lives
            return bool(quiet)
        strange = changed - self.own - (new if self._makes_files else set())
        self._lives += bool(strange)
        if not strange or self._lives >= LIVES:
            self._know(changed, now)
            if strange:
                self._lives = 0
                self._makes_files |= bool(new)  # under another name each time, perhaps
            return False
        self.pause = PAUSE if self._lives == LIVES - 1 else 0.0
        return True

    def count_after_end(self, stamps: Stamps, now: float) -> bool:
        """Say whether what changed while no worker lived starts one: always, but what one left behind may write, too."""
        self._waiting |= self._take(stamps)[0]
        if not self._waiting or (self._waiting <= self.own and now - self._born < QUIET):
            return False
        self._lives = 0
        return True

    def _stillness(self, path: Path, now: float) -> float:
        return now - self._moved.get(path, self._born)

    def _know(self, changed: set[Path], now: float) -> None:
        self.own |= changed
        self._moved |= dict.fromkeys(changed, now)

    def _take(self, stamps: Stamps) -> tuple[set[Path], set[Path]]:
        """Return what changed since the last look, and what of it is new."""
        changed = {path for path, _ in self._seen.items() ^ stamps.items()}
        new = changed - self._seen.keys()
        self._seen = dict(stamps)
        return changed, new
