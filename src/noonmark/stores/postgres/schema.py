"""The shape of the schema: numbered migrations, applied once each, under a lock.

Rule of the file: a migration is one SQL file ``sql/NNNN_name.sql``.  Processes of the old and of the new version work on
one schema while an upgrade rolls out, so a migration only *expands*: it adds tables, indexes and columns that have a
default or may be null, and changes no meaning.  Each states in its head the oldest code that may still read the result
(``-- min_reader: N``); what takes something away comes a release later and raises that number.  Code accepts a newer
schema whose ``min_reader`` it reaches, and refuses every other one.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

import psycopg

from noonmark.ports.doctor import absent
from noonmark.stores.postgres import errors
from noonmark.stores.postgres.address import Address, quoted_schema
from noonmark.stores.postgres.link import Wire, dial, placed

OLDEST_SERVER = 140000


@dataclass(frozen=True, slots=True)
class Migration:
    """One step from one shape to the next."""

    number: int
    name: str
    text: str
    min_reader: int


@cache
def migrations() -> tuple[Migration, ...]:
    """Return every migration, lowest number first."""
    folder = resources.files("noonmark.stores.postgres") / "sql"
    found = []
    for entry in folder.iterdir():
        if entry.name.endswith(".sql"):
            text = entry.read_text(encoding="utf-8")
            stated = re.search(r"^-- min_reader: (\d+)$", text, re.MULTILINE)
            assert stated is not None, f"{entry.name} states no min_reader"
            found.append(Migration(int(entry.name.split("_", 1)[0]), entry.name, text, int(stated[1])))
    return tuple(sorted(found, key=lambda migration: migration.number))


def version() -> int:
    """Return the schema version that this code writes."""
    return migrations()[-1].number


_HOMES = (
    "SELECT n.nspname::text FROM pg_catalog.pg_class AS c JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace"
    " WHERE c.relname IN ('meta', 'occurrence', 'ledger') AND c.relkind = 'r' GROUP BY n.nspname HAVING count(*) = 3"
)
_HAS_META = (
    "SELECT EXISTS (SELECT 1 FROM pg_catalog.pg_class AS c JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace"
    " WHERE n.nspname = $1::text AND c.relname = 'meta')"
)
"""Not to_regclass: it answers from a cache that takes no notice of what others committed while we waited for our lock."""


@dataclass(frozen=True, slots=True)
class Found:
    """What is in the schema: its version (0 = nothing of ours), and the oldest code that may read it."""

    version: int
    min_reader: int


def look(wire: Wire, address: Address) -> Found:
    """Return what is there."""
    if not _one(wire, _HAS_META, address.schema)[0]:
        return Found(0, 0)
    rows = wire.execute(placed("SELECT name, value FROM ~meta", address.prefix).encode(), prepare=False).fetchall()
    meta: dict[str, str] = dict(rows)
    return Found(int(meta.get("version", 0)), int(meta.get("min_reader", 0)))


def _homes(wire: Wire) -> set[str]:
    """Return the names of the schemas of this database that look like stores."""
    return {name for (name,) in wire.execute(_HOMES.encode(), prepare=False).fetchall()}


def prepare(address: Address, *, create: bool = True) -> Wire:
    """See that the server and the schema can serve; bring the schema up to date where the URL allows it.

    Returns the connection that was opened for it, to be worked with: beginning another one takes longer than all of this.

    Args:
        address: where.
        create: make what is not there at all.

    Raises:
        StoreUnusable, StoreUnreachable: why not, and what to do.
        StoreAbsent: the schema holds no store, and none was to be made.
    """
    with _dialled(address, keep=True) as wire:
        _check_server(wire, address)
        found = look(wire, address)
        if not create and not found.version:
            raise absent(address.shown, "schema", address.schema, _homes(wire))
        if found.version < version():
            if not address.migrates:
                raise errors.unusable(
                    address.shown,
                    f"its schema {address.schema} has version {found.version}, this noonmark needs {version()}",
                    "Run noonmark store migrate as the schema's owner (--sql prints what it would do).",
                )
            _migrate(wire, address)
            found = look(wire, address)
        if found.min_reader > version():
            raise errors.unusable(
                address.shown,
                f"its schema was written by a newer noonmark (it can be read from version {found.min_reader} on, this one "
                f"knows {version()})",
                "Upgrade noonmark on this machine.",
            )
        return wire


def pending(address: Address) -> list[str]:
    """Return the names of the migrations that are not applied yet."""
    with _dialled(address) as wire:
        found = look(wire, address)
    return [migration.name for migration in migrations() if migration.number > found.version]


def migrate(address: Address) -> list[str]:
    """Apply what is missing and return the names of what was applied."""
    with _dialled(address) as wire:
        _check_server(wire, address)
        return _migrate(wire, address)


def missing_sql(address: Address) -> str:
    """Return the statements that ``migrate`` would run now."""
    with _dialled(address) as wire:
        found = look(wire, address)
    return sql(address.schema, found.version)


def sql(schema: str, from_version: int) -> str:
    """Return the statements that bring a schema from a version (0 = nothing there) to the present one."""
    prefix = quoted_schema(schema) + "."
    steps = [migration for migration in migrations() if migration.number > from_version]
    if not steps:
        return "-- nothing to do\n"
    parts = ["BEGIN;\n", f"CREATE SCHEMA IF NOT EXISTS {quoted_schema(schema)};\n"]
    parts += [f"\n-- {step.name}\n{placed(step.text, prefix)}" for step in steps]
    parts.append(placed(_said(steps[-1]), prefix) + "\nCOMMIT;\n")
    return "".join(parts)


def _said(last: Migration) -> str:
    return (
        f"\nINSERT INTO ~meta VALUES ('store_id', '{uuid.uuid4().hex}') ON CONFLICT (name) DO NOTHING;"
        f"\nINSERT INTO ~meta VALUES ('version', '{last.number}'), ('min_reader', '{last.min_reader}')"
        " ON CONFLICT (name) DO UPDATE SET value = excluded.value;"
    )


def _migrate(wire: Wire, address: Address) -> list[str]:
    """Apply what is missing; the lock lasts as long as the transaction, so it works through a pooler, too."""
    applied: list[str] = []
    with wire.transaction():
        _one(wire, "SELECT pg_advisory_xact_lock(hashtextextended($1::text, 0))", f"noonmark:{address.schema}")
        found = look(wire, address)
        steps = [migration for migration in migrations() if migration.number > found.version]
        if not steps:
            return []
        if _one(wire, "SELECT to_regnamespace($1::text)::text", quoted_schema(address.schema))[0] is None:
            wire.execute(f"CREATE SCHEMA {quoted_schema(address.schema)}".encode(), prepare=False)
        wire.execute(b"SET LOCAL statement_timeout = 0", prepare=False)
        for step in steps:
            _apply(wire, address, step)
            applied.append(step.name)
        wire.execute(placed(_said(steps[-1]), address.prefix).encode(), prepare=False)
    return applied


def _apply(wire: Wire, address: Address, step: Migration) -> None:
    try:
        wire.execute(placed(step.text, address.prefix).encode(), prepare=False)
    except psycopg.errors.DuplicateTable as problem:
        raise errors.unusable(
            address.shown,
            f"the schema {address.schema} has tables of somebody else ({problem.diag.message_primary})",
            "Give noonmark a schema of its own: ?schema=NAME.",
        ) from None


def _check_server(wire: Wire, address: Address) -> None:
    number = wire.info.server_version
    if number < OLDEST_SERVER:
        raise errors.unusable(
            address.shown, f"the server is PostgreSQL {number // 10000}", "noonmark needs version 14 or newer."
        )
    encoding, replays = _one(wire, "SELECT current_setting('server_encoding'), pg_is_in_recovery()")
    if encoding != "UTF8":
        raise errors.unusable(
            address.shown,
            f"the database's encoding is {encoding}, which cannot hold every text",
            "Create one with: createdb --encoding=UTF8 --template=template0 NAME.",
        )
    if replays:
        raise errors.unreachable(
            address.shown, "it is a standby, which only replays another server", "Name the primary server."
        )


def _one(wire: Wire, statement: str, *params: Any) -> tuple[Any, ...]:
    row = wire.execute(statement.encode(), params or None, prepare=False).fetchone()
    assert row is not None, "the statement always answers"
    return row


@contextmanager
def _dialled(address: Address, *, keep: bool = False) -> Iterator[Wire]:
    """Open a connection for the block, and turn every driver error inside it into a store error.

    Args:
        address: where.
        keep: leave it open where the block ended well.
    """
    try:
        wire = dial(address)
        try:
            yield wire
        except BaseException:
            wire.close()
            raise
        if not keep:
            wire.close()
    except psycopg.Error as error:
        raise errors.translated(address.shown, error) from error
