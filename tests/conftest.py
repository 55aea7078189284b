"""Worlds in virtual time, for every test that wants the real engine without waiting."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from noonmark.testing.world import World


@pytest.fixture
def make_world() -> Iterator[Callable[..., World]]:
    """Make worlds that are ended after the test."""
    worlds: list[World] = []

    def make(**options: Any) -> World:
        worlds.append(World(**options))
        return worlds[-1]

    yield make
    for world in worlds:
        world.close()


@pytest.fixture(params=["memory", "sqlite"])
def any_world(request: pytest.FixtureRequest, tmp_path: Path, make_world: Callable[..., World]) -> Callable[..., World]:
    """Make worlds on each store in turn."""
    if request.param == "memory":
        return make_world

    def make(**options: Any) -> World:
        from noonmark.stores.sqlite import SqliteStore

        return make_world(store=lambda clock: SqliteStore(tmp_path / "w.db", clock=clock, synchronous="OFF"), **options)

    return make
