"""A schema of its own for every test, on the server that all tests share."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterator
from contextlib import suppress

import psycopg
import pytest

from noonmark.stores.postgres import PostgresStore, open_postgres
from noonmark.testing.servers import Postgres

_numbers = itertools.count(1)


@pytest.fixture
def schema(postgres: Postgres) -> Iterator[str]:
    """Name of a schema that is there for one test."""
    name = f"unit_{os.getpid()}_{next(_numbers)}"
    yield name
    with psycopg.connect(postgres.url, autocommit=True) as connection:
        connection.execute(f'DROP SCHEMA IF EXISTS "{name}" CASCADE')


@pytest.fixture
def url(postgres: Postgres, schema: str) -> str:
    """Where a store of the test is."""
    return f"{postgres.url}?schema={schema}"


@pytest.fixture
def admin(postgres: Postgres) -> Iterator[psycopg.Connection]:
    """A connection that sees everything."""
    with psycopg.connect(postgres.url, autocommit=True) as connection:
        yield connection


@pytest.fixture
def open_store(url: str) -> Iterator[Callable[..., PostgresStore]]:
    """Open stores on the test's schema; they are closed afterwards."""
    opened: list[PostgresStore] = []

    def make(options: str = "", **fields: object) -> PostgresStore:
        store = open_postgres(f"{url}{options}", **fields)  # type: ignore[arg-type]
        opened.append(store)
        return store

    yield make
    for store in opened:
        with suppress(Exception):
            store.close()


@pytest.fixture
def store(open_store: Callable[..., PostgresStore]) -> PostgresStore:
    """A store on the test's schema."""
    return open_store()
