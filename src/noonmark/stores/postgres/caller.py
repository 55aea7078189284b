"""Adding rows inside a transaction that the caller began on a connection of his own: both are kept, or neither.

Rule of the file: neither commit nor roll back, and leave no setting behind.  What is added stands behind a savepoint, so a
refusal leaves the caller's transaction as it was.  The notice to the workers is part of the transaction: PostgreSQL
delivers it at the commit, and drops it at a rollback.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

import psycopg
from psycopg.adapt import PyFormat
from psycopg.pq import Format, TransactionStatus
from psycopg.rows import tuple_row

from noonmark.core import remembered
from noonmark.core.lifecycle import KEPT
from noonmark.core.model import SECOND, Added, Micros, NewOccurrence
from noonmark.stores.postgres import adding, errors, requests, writing
from noonmark.stores.postgres.address import Address
from noonmark.stores.postgres.desk import Desk, lay
from noonmark.stores.postgres.exchange import Row
from noonmark.stores.postgres.link import Session, Statement, as_text, placed
from noonmark.stores.postgres.transaction import OPEN, Transaction, read_opening

TRIES = 5
LOOKED_AT_ANYWAY: Micros = 10 * SECOND
"""Workers look at least this often; what is due later needs no notice, whose lock would be shared by every commit."""
_KINDS = "pass a psycopg.Connection, or a SQLAlchemy Connection or Session over psycopg"
_READ = ("int8", "text", "bool", "json")
"""The types of what our statements return."""
_SAME = "SELECT to_regclass($1::text)::text"
_STORE_ID = "SELECT value FROM ~meta WHERE name = 'store_id'"
_TELL = "SELECT pg_notify($1::text, '')"


class Guest(Session):
    """A session on somebody else's connection: it asks, and nothing more."""

    def __init__(self, address: Address, connection: psycopg.Connection[Any]) -> None:
        super().__init__(address, {}, patience=0)
        self._connection = connection

    def ask(self, *statements: Statement) -> list[list[Row]]:
        """Send statements one after the other and return the rows of each."""
        answers = []
        with psycopg.RawCursor(self._connection, row_factory=tuple_row) as cursor:
            _read_as_ever(cursor)
            for statement, params in statements:
                text = placed(statement, self.address.prefix).encode()
                cursor.execute(text, [as_text(param) for param in params], prepare=False, binary=True)
                answers.append(cursor.fetchall() if cursor.description else [])
        return answers


def _read_as_ever(cursor: psycopg.RawCursor[Any]) -> None:
    """Put aside, for this cursor only, what the caller has his connection make of the types that we read."""
    for name in _READ:
        oid = psycopg.adapters.types[name].oid
        for form in (Format.TEXT, Format.BINARY):
            loader = psycopg.adapters.get_loader(oid, form)
            if loader is not None:
                cursor.adapters.register_loader(oid, loader)
    cursor.adapters.register_dumper(str, psycopg.adapters.get_dumper(str, PyFormat.TEXT))


class Ours:
    """Knows the name of the store that is open, which may be made anew under us; asks for it only when it seems to be."""

    def __init__(self, ask: Callable[[], str]) -> None:
        self._ask = ask
        self._name = ask()

    def __call__(self, name: str) -> bool:
        """Return True when a store of this name is the one that is open."""
        if name != self._name:
            self._name = self._ask()
        return name == self._name


def add_within(
    address: Address,
    is_ours: Ours,
    connection: object,
    request_id: str,
    rows: Sequence[NewOccurrence],
    fixed: Micros | None,
) -> list[Added]:
    """Add rows in the caller's open transaction; see the port.

    Raises:
        ValueError: no connection of this store's database that may write; the message says which kinds are.
    """
    raw = _driver_connection(connection)
    _check(raw)
    guest = Guest(address, raw)
    try:
        _check_database(guest, is_ours)
        return _add(guest, f"add:{request_id}", rows, fixed)
    except psycopg.errors.ReadOnlySqlTransaction as error:
        raise ValueError(
            "your transaction is read-only, so nothing can be added in it; begin one that may write: "
            "no READ ONLY, no default_transaction_read_only, and on the primary"
        ) from error
    except psycopg.Error as error:
        raise errors.translated(address.shown, error) from error


def _add(guest: Guest, name: str, rows: Sequence[NewOccurrence], fixed: Micros | None) -> list[Added]:
    tries = 0
    while True:
        guest.ask(("SAVEPOINT noonmark_add", ()))
        try:
            added = _add_once(guest, name, rows, fixed)
        except psycopg.Error as error:
            guest.ask(("ROLLBACK TO SAVEPOINT noonmark_add", ()), ("RELEASE SAVEPOINT noonmark_add", ()))
            tries += 1
            if error.sqlstate not in errors.INSERTED_FIRST or tries >= TRIES:
                raise
        except BaseException:
            guest.ask(("ROLLBACK TO SAVEPOINT noonmark_add", ()), ("RELEASE SAVEPOINT noonmark_add", ()))
            raise
        else:
            guest.ask(("RELEASE SAVEPOINT noonmark_add", ()))
            return added


def _add_once(guest: Guest, name: str, rows: Sequence[NewOccurrence], fixed: Micros | None) -> list[Added]:
    [opened] = guest.ask((OPEN, (name,)))
    server, mark, _, answered_at, answer = opened[0]  # a clock that is behind is written down by the workers
    now, first = read_opening((server, mark, server, answered_at, answer), fixed, KEPT)
    if first is not None:
        return remembered.added_from_plain(json.loads(first))
    tx = Transaction(guest, now, timed=fixed is None)
    desk = Desk(tx)
    lay(desk, adding.wanted(rows))
    added = adding.add(desk, rows)
    writing.write(desk)
    requests.remember(tx, name, remembered.added_to_plain(added))
    told: list[Statement] = []
    if tx.earliest is not None and tx.earliest < now + LOOKED_AT_ANYWAY:
        told = [(_TELL, (guest.address.channel,))]
    guest.ask(*tx.writes(), *told)
    return added


def _driver_connection(connection: Any) -> Any:
    """Return what the driver made: SQLAlchemy's Session and Connection hand it out."""
    if callable(getattr(connection, "connection", None)) and hasattr(connection, "get_bind"):
        connection = connection.connection()  # a Session's; it begins by itself
    pooled = getattr(connection, "connection", None)
    if pooled is None or not hasattr(pooled, "driver_connection"):
        return connection
    if not connection.in_transaction():
        raise ValueError(
            "this SQLAlchemy connection has no transaction open, so nothing would ever be committed; "
            "begin one: with engine.begin() as conn"
        )
    return pooled.driver_connection


def _check(raw: Any) -> None:
    if isinstance(raw, psycopg.AsyncConnection):
        raise ValueError(
            f"an AsyncConnection has to be awaited, and this is synchronous; {_KINDS} (in asyncio: in a thread)"
        )
    if not isinstance(raw, psycopg.Connection):
        kind = f"{type(raw).__module__}.{type(raw).__qualname__}"
        raise ValueError(f"conn is a {kind}, and this store is a PostgreSQL schema; {_KINDS}")
    if raw.closed:
        raise ValueError("this connection is closed; pass one that is open")
    status = raw.info.transaction_status
    if status is TransactionStatus.INERROR:
        raise ValueError("a statement of this transaction has failed; roll it back and begin anew")
    if raw.autocommit and status is TransactionStatus.IDLE:
        raise ValueError(
            "this connection commits every statement by itself and has no transaction open; "
            "begin one: with conn.transaction()"
        )


def _check_database(guest: Guest, is_ours: Ours) -> None:
    address = guest.address
    [[(table,)]] = guest.ask((_SAME, (f"{address.prefix}meta",)))
    if table is not None:
        [[(found,)]] = guest.ask((_STORE_ID, ()))
        if is_ours(str(found)):
            return
    raise ValueError(
        f"conn leads to another database than {address.shown}: the schema {address.schema} of this store is not there; "
        "pass a connection to the same database"
    )
