"""From a URL to an open store, and what the command line does to a schema."""

from __future__ import annotations

from noonmark.ports.clock import Clock
from noonmark.stores.postgres import schema
from noonmark.stores.postgres.address import parse
from noonmark.stores.postgres.store import PostgresStore


def open_postgres(url: str, *, clock: Clock | None = None, create: bool = True) -> PostgresStore:
    """Open the store at a PostgreSQL URL; see ``address.parse`` for its options.

    Args:
        url: where.
        clock: replaces the server's clock, for tests only.
        create: False = a schema that holds no store is told, not made.

    Raises:
        StoreUrlError, StoreUnusable, StoreUnreachable: what, why, and what to do.
        StoreAbsent: there is none, and none was to be made.
    """
    return PostgresStore(parse(url), clock=clock, create=create)


def migrate(url: str) -> list[str]:
    """Bring the schema up to date and return the names of the migrations that were applied."""
    return schema.migrate(parse(url))


def pending_migrations(url: str) -> list[str]:
    """Return the names of the migrations that the schema lacks."""
    return schema.pending(parse(url))


def migration_sql(url: str) -> str:
    """Return the statements that the schema at a URL lacks (all of them where it is not there yet), for a person to run."""
    return schema.missing_sql(parse(url))
