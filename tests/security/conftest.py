"""A store of every kind, in a place of its own on the servers that all tests share."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from noonmark.ports.store import Store
from noonmark.wiring import open_store

STORES = ("memory", "sqlite", "postgres", "redis")
_numbers = itertools.count(1)


@pytest.fixture(params=STORES)
def kind(request: pytest.FixtureRequest) -> str:
    """The kind of store."""
    return str(request.param)


@pytest.fixture
def url(kind: str, request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """Where an empty store of the kind is."""
    name = f"security_{os.getpid()}_{next(_numbers)}"
    if kind == "memory":
        yield "memory://"
    elif kind == "sqlite":
        yield f"sqlite:///{tmp_path}/noonmark.db"
    elif kind == "postgres":
        server = request.getfixturevalue("postgres")
        yield f"{server.url}?schema={name}"
        with psycopg.connect(server.url, autocommit=True) as connection:
            connection.execute(f'DROP SCHEMA IF EXISTS "{name}" CASCADE')
    else:
        yield f"{request.getfixturevalue('valkey').url}?namespace={name}"


@pytest.fixture
def store(url: str) -> Iterator[Store]:
    """An empty store."""
    opened: Any = open_store(url)
    yield opened
    opened.close()
