"""One writing transaction: its time, what it will write, and what it made due.

Rule of the file: a verb reads and locks in one round trip, thinks, and writes and commits in a second one.  Writes are
collected, so that a batch of any size sends the same few statements.

Who waits for work must hear of a row that is due earlier than anything it knows.  Whether it is earlier is asked *after*
the commit, and a take asks for the next due moment after its commit, too: whoever of the two comes second sees the other.
"""

from __future__ import annotations

from noonmark.core.model import FAR, Micros
from noonmark.stores.postgres.arrays import numbers, texts, unescaped
from noonmark.stores.postgres.exchange import Row
from noonmark.stores.postgres.link import Param, Session, Statement

HELD_BACK: Micros = 5_000_000
"""How long time stands still when the server's clock went back, before the new time is believed."""

SERVER_TIME = "(extract(epoch FROM clock_timestamp()) * 1000000)::bigint"
NOW = f"(SELECT coalesce($1::bigint, greatest(mark, {SERVER_TIME})) FROM ~clock)"
"""The store's time inside a statement whose first parameter is a test's instant; an initplan, so an index can be used."""

# PostgreSQL lets new sharers of a row pass by whoever waits to change it, so among many busy workers a change of a rule
# might wait for ever.  Advisory locks do queue: everybody shares this one, and a change that did not get its rows in good
# time takes it alone.
_SHARED = "SELECT pg_advisory_xact_lock_shared($1::bigint)"
_ALONE = "SELECT pg_advisory_xact_lock($1::bigint)"
# Not lock_timeout: each of those who pass by is a wait of its own, and a short one.
_HURRY = "SELECT set_config('statement_timeout', '1000', true)"
OPEN = (
    f"SELECT {SERVER_TIME}, mark, behind_since, (SELECT at FROM ~request WHERE id = $1::text),"
    " (SELECT answer FROM ~request WHERE id = $1::text) FROM ~clock"
)
_COUNT = (
    "INSERT INTO ~counter SELECT name, pg_backend_pid() % 64, by FROM unnest($1::text[], $2::bigint[]) AS c (name, by)"
    " ORDER BY name ON CONFLICT (name, shard) DO UPDATE SET value = counter.value + excluded.value"
)
# The notice is no data: nobody's answer waits for a disk because of it, and the lock that notices share is held briefly.
_TELL = (
    "SELECT set_config('synchronous_commit', 'off', true), pg_notify($1::text, '')"
    " WHERE ($2::bigint IS NOT NULL AND NOT EXISTS (SELECT 1 FROM ~agenda WHERE worker = '' AND due_at < $2::bigint))"
    " OR ($3::boolean AND EXISTS (SELECT 1 FROM ~wake))"
)


class ClockStep(Exception):
    """The server's clock is behind the store's time, and something is to be written down about it."""


class Transaction:
    """What a verb works with.  ``now`` is the store's time of the whole transaction, UTC microseconds."""

    __slots__ = ("_at_last", "_counts", "_earliest", "_later", "_needing", "_wakes", "first", "now", "session", "timed")

    def __init__(self, session: Session, now: Micros, *, timed: bool, first: str | None = None) -> None:
        self.session = session
        self.now = now
        self.timed = timed  # by the server's own clock, not by a test's
        self.first = first  # the answer that this request was given before
        self._counts: dict[str, int] = {}
        self._earliest = FAR
        self._wakes = False
        self._later: list[Statement] = []
        self._at_last: list[tuple[Statement, int | None]] = []
        self._needing: list[int] = []

    @classmethod
    def begin(
        cls,
        session: Session,
        request: str,
        fixed: Micros | None,
        *statements: Statement,
        kept: Micros,
        alone: bool = False,
        hurried: bool = False,
    ) -> tuple[Transaction, list[list[Row]]]:
        """Begin, look the request up, and ask; return the transaction and the answers.

        Args:
            request: name of the request, "" for verbs that are judged afresh each time.
            fixed: the instant of a test, which then stands for the server's clock.
            kept: how long first answers count.
            alone: wait until no other verb is under way, and keep new ones waiting.
            hurried: give up soon, so as to go on alone.

        Raises:
            ClockStep: see there.
        """
        first: list[Statement] = [(_ALONE if alone else _SHARED, (session.address.gate,))]
        if hurried:
            first.append((_HURRY, ()))
        opened, *answers = session.begin(*first, (OPEN, (request,)), *statements)[len(first) :]
        now, answer = read_opening(opened[0], fixed, kept)
        return cls(session, now, timed=fixed is None, first=answer), answers

    def ask(self, *statements: Statement) -> list[list[Row]]:
        """Ask at once, in one round trip."""
        return self.session.ask(*statements)

    def later(self, statement: str, *params: Param) -> None:
        """Write when the transaction ends, in the order of the calls."""
        self._later.append((statement, params))

    def at_last(self, statement: str, *params: Param, as_now: bool = False) -> None:
        """Write when all that ``later`` was asked for is written, in the order of the calls.

        ``as_now``: one more parameter tells the rows that came to need a person between this call and the end.
        """
        self._at_last.append(((statement, params), len(self._needing) if as_now else None))

    def needs_a_person(self, occurrence_id: int) -> None:
        """Note that a row needs a person from here on."""
        self._needing.append(occurrence_id)

    def due(self, moment: Micros, worker: str = "") -> None:
        """Note that a row is due at this moment now; a row of one worker is always news to it."""
        if worker:
            self._earliest = -1
        elif moment < self._earliest:
            self._earliest = moment

    def wakes(self) -> None:
        """Note that a fact moved for which somebody may wait."""
        self._wakes = True

    def count(self, name: str, by: int = 1) -> None:
        """Add to a durable count."""
        self._counts[name] = self._counts.get(name, 0) + by

    def finish(self, *afterwards: Statement) -> list[list[Row]]:
        """Write, commit, tell the listeners, and return what was asked ``afterwards``."""
        later = self.writes()
        told = self.telling()
        answers = self.session.commit(*later, afterwards=[*told, *afterwards])
        return answers[len(later) + len(told) :]

    def writes(self) -> list[Statement]:
        """Hand over what is to be written."""
        changed = {name: by for name, by in self._counts.items() if by}
        if changed:
            self.later(_COUNT, texts(changed), numbers(changed.values()))
        later, self._later = self._later, []
        for (statement, params), known in self._at_last:
            later.append((statement, params if known is None else (*params, numbers(self._needing[known:]))))
        self._at_last = []
        return later

    @property
    def earliest(self) -> Micros | None:
        """The earliest moment at which something became due; -1: a worker's own row did."""
        return None if self._earliest == FAR else self._earliest

    def telling(self) -> list[Statement]:
        """Return the statement that tells the listeners, if there can be something to tell."""
        if self.earliest is None and not self._wakes:
            return []
        return [(_TELL, (self.session.address.channel, self.earliest, self._wakes))]


def read_opening(row: Row, fixed: Micros | None, kept: Micros) -> tuple[Micros, str | None]:
    """Return the store's time and the first answer, from the row that opens a transaction.

    Raises:
        ClockStep: the server's clock is behind, and nobody has written down since when, or for long enough.
    """
    server, mark, behind_since, answered_at, answer = row
    if fixed is not None:
        now = fixed
    else:
        now = max(server, mark)
        if server < mark and (behind_since is None or not 0 <= server - behind_since < HELD_BACK):
            raise ClockStep
    return now, (unescaped(answer) if answered_at is not None and answered_at > now - kept else None)
