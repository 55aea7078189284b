"""Connections to the server: who opens them, how long an answer is waited for, and what is tried again.

Rule of the file: a verb makes one attempt.  Only what is certain to be harmless is repeated here: a connection that had
died while it lay idle is opened anew, once, and a transaction that lost to another one (deadlock, a row that both wanted
to insert) is run again from its beginning; its request id makes that safe.  Waiting for a server that is away is the
engine's business, which is why this is no ``psycopg_pool``: its own backoff would outlast the server's return.

Nothing here waits for ever: the server ends statements, lock waits and idle transactions, and ``Wire`` bounds the rest.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Generator, Sequence
from typing import Any, TypeAlias, TypeVar

import psycopg
from psycopg.pq import TransactionStatus

from noonmark.ports.process import owner
from noonmark.ports.store import StoreUnusable
from noonmark.stores.postgres import errors
from noonmark.stores.postgres.address import Address
from noonmark.stores.postgres.arrays import escaped
from noonmark.stores.postgres.exchange import Conversation, Row

Param: TypeAlias = "str | int | bool | None"
Statement: TypeAlias = "tuple[str, tuple[Param, ...]]"
Answer = TypeVar("Answer")

IDLE_IN_TRANSACTION_MS = 5_000
"""A worker that is stopped in the middle of a transaction holds its row locks this long at most."""
LOCK_WAIT_MS = 8_000
STATEMENT_MS = 20_000
PATIENCE = 25.0
"""Seconds until an answer counts as lost: a little more than the server gives a statement."""
URGENT_PATIENCE = 8.0
"""The same for renewals and heartbeats, whose lease would be over if they waited longer."""
CONFLICTS_BORNE = 12
FORGOTTEN = frozenset({"26000", "0A000"})
"""A prepared statement that the server does not know, or whose plan fits no more: a new connection prepares anew."""
BORROW_PATIENCE = 30.0

SETTINGS = {
    "statement_timeout": str(STATEMENT_MS),
    "lock_timeout": str(LOCK_WAIT_MS),
    "idle_in_transaction_session_timeout": str(IDLE_IN_TRANSACTION_MS),
    # A plan is kept for the life of a connection, and the first ones are made while the tables are empty.  So our
    # statements leave no choice: a table is reached through an index, by ``= ANY(array)`` or from a LATERAL row, and what
    # is joined beyond that are two small sets, by hash.  Else a plan made for ten rows would scan a million of them.
    "plan_cache_mode": "force_generic_plan",
    "enable_seqscan": "off",
    "enable_nestloop": "off",
    "enable_mergejoin": "off",
    "jit": "off",
    "client_encoding": "UTF8",
}
_SET = "SELECT " + ", ".join(f"set_config('{name}', '{value}', {{local}})" for name, value in SETTINGS.items())


_BEGIN = "BEGIN ISOLATION LEVEL READ COMMITTED"
"""Said and not assumed: a database may have other defaults, under which a lock does not show the newest state of a row."""


class Repeat(Exception):
    """What was read is out of date: roll back and run the same verb again."""


class NoAnswer(psycopg.OperationalError):
    """The server did not answer in time; what became of the request is unknown."""


class Wire(psycopg.Connection[Row]):
    """A connection that waits for an answer only so long, whatever has become of the server."""

    patience: float = PATIENCE

    def wait(self, gen: Generator[Any, Any, Any], *args: Any, **kwargs: Any) -> Any:
        """Wait for the end of an exchange.

        Raises:
            NoAnswer: it took too long; the connection is closed.
        """
        return super().wait(self._bounded(gen), *args, **kwargs)

    def _bounded(self, gen: Generator[Any, Any, Any]) -> Generator[Any, Any, Any]:
        until = time.monotonic() + self.patience
        try:
            wanted = next(gen)
            while True:
                ready = yield wanted
                if not ready and time.monotonic() > until:
                    self.pgconn.finish()
                    raise NoAnswer(f"no answer within {self.patience:g} s")
                wanted = gen.send(ready)
        except StopIteration as end:
            return end.value


class Session:
    """One connection that is opened when it is needed; used by one thread at a time."""

    def __init__(self, address: Address, texts: dict[str, bytes], *, patience: float, wire: Wire | None = None) -> None:
        self.address = address
        self._texts = texts
        self._patience = patience
        self._wire: Wire | None = None
        self._talk: Conversation | None = None
        self.pid = 0
        self.in_transaction = False
        if wire is not None:
            self._adopt(wire)

    @property
    def is_open(self) -> bool:
        """True while there is a connection."""
        return self._wire is not None

    def run(self, work: Callable[[Session], Answer]) -> Answer:
        """Run the work, which begins and ends its own transaction, and return its answer.

        Raises:
            StoreError: see ``errors``; whatever was under way has been rolled back, or its outcome is unknown.
        """
        may_be_stale, conflicts = self._wire is not None, 0
        while True:
            try:
                self._open()
                return work(self)
            except Repeat:
                self.drop_transaction()
                if conflicts >= CONFLICTS_BORNE:
                    raise errors.unreachable(
                        self.address.shown, "other transactions kept coming in between", "Repeat."
                    ) from None
            except psycopg.Error as error:
                is_lost = not self.drop_transaction()
                if error.sqlstate in FORGOTTEN:
                    self.close()
                    is_lost = True
                if is_lost and may_be_stale and not isinstance(error, NoAnswer):
                    may_be_stale = False
                    continue
                if error.sqlstate not in errors.CONFLICTS or conflicts >= CONFLICTS_BORNE:
                    raise errors.translated(self.address.shown, error) from error
            except BaseException:
                self.drop_transaction()
                raise
            conflicts += 1
            time.sleep(random.uniform(0, 0.002 * conflicts))

    def ask(self, *statements: Statement) -> list[list[Row]]:
        """Send statements in one round trip and return the rows of each."""
        assert self._talk is not None, "opened by run"
        sent = [(self._text(statement), [_outgoing(param) for param in params]) for statement, params in statements]
        return self._talk.hold(sent)

    def begin(self, *statements: Statement) -> list[list[Row]]:
        """Begin a transaction and ask; ``commit`` or ``drop_transaction`` ends it."""
        self.in_transaction = True
        first: list[Statement] = [(_BEGIN, ())]
        if self.address.pooled:
            first.append((_SET.format(local="true"), ()))
        return self.ask(*first, *statements)[len(first) :]

    def commit(self, *statements: Statement, afterwards: Sequence[Statement] = ()) -> list[list[Row]]:
        """Send the last statements, commit, and ask ``afterwards`` what can only be known then: one round trip."""
        answers = self.ask(*statements, ("COMMIT", ()), *afterwards)
        self.in_transaction = False
        return answers[: len(statements)] + answers[len(statements) + 1 :]

    def drop_transaction(self) -> bool:
        """Undo what is under way; False when the connection had to be given up."""
        wire = self._wire
        if wire is None:
            return True
        if not wire.closed:
            try:
                if wire.pgconn.transaction_status != TransactionStatus.IDLE:
                    wire.execute("ROLLBACK", prepare=False)
                self.in_transaction = False
                return True
            except psycopg.Error:
                pass
        self.close()
        return False

    def close(self) -> None:
        """Give the connection up."""
        wire, self._wire, self._talk, self.in_transaction = self._wire, None, None, False
        if wire is not None:
            wire.close()

    def _open(self) -> None:
        if self._wire is None:
            self._adopt(dial(self.address, patience=self._patience))

    def _adopt(self, wire: Wire) -> None:
        self._wire = wire
        self._talk = Conversation(wire, prepares=not self.address.pooled)
        self.pid = wire.info.backend_pid

    def _text(self, statement: str) -> bytes:
        text = self._texts.get(statement)
        if text is None:
            text = self._texts[statement] = placed(statement, self.address.prefix).encode()
        return text


def placed(statement: str, prefix: str) -> str:
    """Return the statement with the schema in place of each tilde, inside a literal, too."""
    return statement.replace("'~", "'" + prefix.replace("'", "''")).replace("~", prefix)


def dial(address: Address, *, patience: float = PATIENCE) -> Wire:
    """Open a connection as every connection of this store must be."""
    wire = Wire.connect(
        address.conninfo,
        autocommit=True,
        prepare_threshold=None,
        cursor_factory=psycopg.RawCursor,
    )
    try:
        wire.patience = patience
        if not address.pooled:
            wire.execute(_SET.format(local="false").encode(), prepare=False)
    except BaseException:
        wire.close()
        raise
    return wire


def as_text(param: Param) -> str | None:
    """Return a parameter as it travels."""
    if param is None:
        return None
    if isinstance(param, str):
        return escaped(param)
    if isinstance(param, bool):
        return "t" if param else "f"
    return str(param)


def _outgoing(param: Param) -> bytes | None:
    text = as_text(param)
    return None if text is None else text.encode()


class Pool:
    """A few sessions for many threads; the one used last is lent first, so that the others may rest."""

    def __init__(self, address: Address, size: int, *, patience: float = PATIENCE, first: Wire | None = None) -> None:
        self._address = address
        self._patience = patience
        self._texts: dict[str, bytes] = {}
        self._free: list[Session] = []
        if first is not None:
            self._free.append(Session(address, self._texts, patience=patience, wire=first))
        self._permits = threading.BoundedSemaphore(size)
        self._lock = threading.Lock()
        self._owner = owner()
        self._is_closed = False

    def run(self, work: Callable[[Session], Answer]) -> Answer:
        """Run the work on a session of its own."""
        session = self._borrow()
        try:
            return session.run(work)
        finally:
            with self._lock:
                if self._is_closed:
                    session.close()
                else:
                    self._free.append(session)
            self._permits.release()

    def _borrow(self) -> Session:
        if not self._owner.is_here:
            raise self._refusal("it was opened before this process was forked", "Open it again in the new process.")
        if self._is_closed:
            raise self._refusal("it was closed in this process", "Open it again.")
        if not self._permits.acquire(timeout=BORROW_PATIENCE):
            raise errors.unreachable(
                self._address.shown, "every connection of this process is busy", "Raise pool_size in the URL."
            )
        with self._lock:
            return self._free.pop() if self._free else Session(self._address, self._texts, patience=self._patience)

    def _refusal(self, why: str, remedy: str) -> StoreUnusable:
        return errors.unusable(self._address.shown, why, remedy)

    def close(self) -> None:
        """Close every session; those at work are closed when they come back."""
        with self._lock:
            self._is_closed = True
            free, self._free = self._free, []
        for session in free:
            if self._owner.is_here:
                session.close()
