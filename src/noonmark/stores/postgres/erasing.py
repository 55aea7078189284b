"""Taking a whole schema away again: for demos and trials, never on the way of a job.

Rule of the file: nothing outside the schema is touched, and a schema with anything in it that is not ours is left alone.
"""

from __future__ import annotations

import psycopg

from noonmark.stores.postgres import errors
from noonmark.stores.postgres.address import parse, quoted_schema
from noonmark.stores.postgres.link import dial
from noonmark.stores.postgres.schema import look


def erase(url: str) -> int:
    """Remove the schema that a URL names, with all that it holds; return how many tables there were.

    Raises:
        StoreUrlError: the URL cannot be read.
        StoreUnreachable: nobody answers there.
        StoreUnusable: the schema is there, and it is not noonmark's.
    """
    address = parse(url)
    try:
        with dial(address) as wire:
            row = wire.execute(
                b"SELECT count(*) FROM pg_class WHERE relkind = 'r' AND relnamespace = to_regnamespace($1::text)",
                (quoted_schema(address.schema),),
                prepare=False,
            ).fetchone()
            tables = int(row[0]) if row else 0
            if tables and not look(wire, address).version:
                raise errors.unusable(
                    address.shown, f"the schema {address.schema} has tables of somebody else", "Look into it yourself."
                )
            wire.execute(f"DROP SCHEMA IF EXISTS {quoted_schema(address.schema)} CASCADE".encode(), prepare=False)
            return tables
    except psycopg.Error as error:
        raise errors.translated(address.shown, error) from error
