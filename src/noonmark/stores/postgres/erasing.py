"""Taking a whole schema away again: for demos and trials, never on the way of a job.

Rule of the file: only the one schema that the URL names is dropped; what else the database holds is not touched.
"""

from __future__ import annotations

import psycopg

from noonmark.stores.postgres import errors
from noonmark.stores.postgres.address import parse, quoted_schema
from noonmark.stores.postgres.link import dial


def erase(url: str) -> None:
    """Drop the schema that a URL names, with all that it holds.

    Raises:
        StoreUrlError: the URL cannot be read.
        StoreUnreachable, StoreUnusable: the server does not answer, or does not let this user do it.
    """
    address = parse(url)
    try:
        with dial(address) as wire:
            wire.execute(f"DROP SCHEMA IF EXISTS {quoted_schema(address.schema)} CASCADE".encode(), prepare=False)
    except psycopg.Error as error:
        raise errors.translated(address.shown, error) from error
