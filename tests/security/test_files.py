"""Files and folders that noonmark makes are their owner's, and nothing that a stranger names becomes a path."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from noonmark.core.model import SECOND, Fact
from noonmark.faces.cli.demo_stage import prepare as prepare_demo
from noonmark.faces.cli.problems import Trouble
from noonmark.stores.sqlite import SqliteStore
from noonmark.testing.builders import make_caller_row


@pytest.fixture(autouse=True)
def open_umask() -> Iterator[None]:
    """A umask that would let everybody read and write."""
    before = os.umask(0)
    yield
    os.umask(before)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.parametrize("driver", ["apsw", "sqlite3"])
def test_a_new_database_and_what_lies_beside_it_are_its_owners_whatever_the_umask(
    tmp_path: Path, driver: str, recwarn: pytest.WarningsRecorder
) -> None:
    path = tmp_path / "noonmark.db"
    store = SqliteStore(path, driver=driver)
    store.add("r", [make_caller_row("a", at=SECOND)])
    found = {entry.name: mode(entry) for entry in tmp_path.iterdir()}
    store.close()
    assert set(found) == {"noonmark.db", "noonmark.db-wal", "noonmark.db-shm"}
    assert set(found.values()) == {0o600}
    assert not recwarn.list


def test_a_database_that_is_there_keeps_the_mode_that_somebody_chose(tmp_path: Path) -> None:
    path = tmp_path / "noonmark.db"
    SqliteStore(path).close()
    path.chmod(0o660)
    store = SqliteStore(path)
    store.signal("s", [Fact(name="flag:x", value=True)])
    assert {mode(entry) for entry in tmp_path.iterdir()} == {0o660}
    store.close()


@pytest.mark.parametrize("name", ["../outside", "/etc/noonmark-x", "a/../../b", "..", "a\\..\\b"])
def test_names_of_strangers_never_become_paths(tmp_path: Path, name: str) -> None:
    inside = tmp_path / "inside"
    inside.mkdir(mode=0o700)
    store = SqliteStore(inside / "noonmark.db")
    store.add("r", [make_caller_row(name, at=SECOND, job=name, subject=name, actor=name)])
    store.signal("s", [Fact(name=f"flag:{name}", value=name)])
    store.close()
    assert {entry.name for entry in tmp_path.rglob("*")} <= {
        "inside", "noonmark.db", "noonmark.db-wal", "noonmark.db-shm",
    }  # fmt: skip


def test_the_folder_of_the_demo_is_its_owners_and_a_link_in_it_is_not_followed(tmp_path: Path) -> None:
    folder, outside = tmp_path / "noonmark-demo", tmp_path / "outside"
    outside.mkdir()
    (outside / "kept").write_text("x", "utf-8")
    prepare_demo(folder, keep=False).leave()
    assert mode(folder) == 0o700
    (folder / "link").symlink_to(outside)
    prepare_demo(folder, keep=False).leave()
    assert not (folder / "link").exists()
    assert (outside / "kept").is_file()


def test_a_folder_that_is_not_the_demos_is_never_emptied(tmp_path: Path) -> None:
    (tmp_path / "kept").write_text("x", "utf-8")
    with pytest.raises(Trouble):
        prepare_demo(tmp_path, keep=False)
    assert (tmp_path / "kept").is_file()
