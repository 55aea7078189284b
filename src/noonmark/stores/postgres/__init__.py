"""The PostgreSQL store: any number of hosts, servers 14 to 18, psycopg 3.  Everybody else imports from here."""

from noonmark.stores.postgres.opening import migrate, migration_sql, open_postgres, pending_migrations
from noonmark.stores.postgres.store import PostgresStore

__all__ = ["PostgresStore", "migrate", "migration_sql", "open_postgres", "pending_migrations"]
