"""A namespace that is wiped and made anew under an open store is another store, in every store that is shared."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from noonmark.core.model import SECOND, Query
from noonmark.core.model.rollback import Claim
from noonmark.testing import servers
from noonmark.testing.builders import make_caller_row
from noonmark.testing.servers.server import with_options
from noonmark.wiring import open_store


def _wipe_file(path: Path) -> None:
    for side in ("", "-wal", "-shm"):
        Path(f"{path}{side}").unlink()


@pytest.fixture(params=["sqlite", "postgres", "redis"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[str, str]]:
    """The kind of store, and where one is that nobody else uses."""
    kind = str(request.param)
    if kind == "sqlite":
        yield kind, f"sqlite:///{tmp_path}/noonmark.db"
        return
    server: servers.Server = request.getfixturevalue("postgres" if kind == "postgres" else "valkey")
    option = "schema" if kind == "postgres" else "namespace"
    url = with_options(server.url, {option: f"anew{tmp_path.name[-20:].lower().replace('-', '')}"})
    yield kind, url
    importlib.import_module(f"noonmark.stores.{kind}.erasing").erase(url)


def test_a_namespace_that_was_made_anew_under_an_open_store_is_another_store_and_no_rollback(
    place: tuple[str, str],
) -> None:
    kind, url = place
    living = open_store(url)
    was = living.prove(Claim(writer="w-1", worker="w1", receipt=None))  # type: ignore[attr-defined]
    if kind == "sqlite":
        _wipe_file(Path(url.removeprefix("sqlite:///")))
    else:
        importlib.import_module(f"noonmark.stores.{kind}.erasing").erase(url)
    other = open_store(url)
    other.add("r", [make_caller_row("a", at=SECOND)])
    proof = living.prove(Claim(writer="w-1", worker="w1", receipt=was.receipt))  # type: ignore[attr-defined]
    assert (proof.outcome, proof.epochs) == ("other", ())
    assert proof.receipt.store == living.store_id() == other.store_id() != was.receipt.store  # type: ignore[attr-defined]
    assert [row.gated for row in other.occurrences(Query())] == [False]
    living.close()
    other.close()
