"""Files and folders that noonmark makes are their owner's, and nothing that a stranger names becomes a path."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from noonmark.core.model import SECOND, Fact, Query, State
from noonmark.core.model.rollback import Receipt
from noonmark.engine import exports
from noonmark.engine.statefolder import StateFolder
from noonmark.engine.testimony import OUTCOME
from noonmark.faces.cli.__main__ import main
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
    assert set(found) == {"noonmark.db", "noonmark.db-wal", "noonmark.db-shm", "noonmark.db-pair"}
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
        "inside", "noonmark.db", "noonmark.db-wal", "noonmark.db-shm", "noonmark.db-pair",
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


# -- what lies outside the store: the state folder, and exports ---------------------------------------------


def remembered(root: Path) -> Path:
    """A state folder in which a worker remembers one outcome."""
    folder = StateFolder(root)
    folder.lies_at("sqlite:///a", "s")
    witness = folder.open("s", "w1")
    witness.keep(Receipt(store="s", writer=witness.writer))
    witness.record(1, "h", 5, [(7, "mail", "", "l:1", "mail:1", 1, "2026-11-29", "later", "success", 9)])
    witness.close()
    return root


def test_the_state_folder_of_a_store_is_its_owners_whatever_the_umask(tmp_path: Path) -> None:
    root = remembered(tmp_path / "state")
    modes = {str(entry.relative_to(root)): mode(entry) for entry in root.rglob("*")}
    (writer,) = (entry.name for entry in (root / "s").iterdir())
    for name in ("s", f"s/{writer}", "places"):
        assert modes[name] == 0o700, name
    for name in ("lock", "receipt.json", "journal.jsonl"):
        assert modes[f"s/{writer}/{name}"] == 0o600, name


def test_a_journal_has_names_and_keys_and_no_parameters_results_or_errors() -> None:
    assert set(OUTCOME) == {
        "occurrence", "job", "subject", "identity", "key", "scheduled_for", "business_date", "origin", "outcome", "fence",
    }  # fmt: skip


def test_an_export_is_its_owners_whatever_the_umask_and_follows_no_link(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/noonmark.db"
    SqliteStore(tmp_path / "noonmark.db").close()
    file, elsewhere = tmp_path / "ledger.jsonl", tmp_path / "elsewhere"
    assert main(["ledger", "export", str(file), "--url", url]) == 0
    assert mode(file) == 0o600
    (tmp_path / "link").symlink_to(elsewhere)
    assert main(["ledger", "export", str(tmp_path / "link"), "--url", url]) == 2
    assert not elsewhere.exists()


def test_a_chain_that_somebody_computed_anew_is_believed_so_the_file_has_to_be_protected(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = SqliteStore(tmp_path / "noonmark.db")
    (added,) = store.add("r", [make_caller_row("1", at=store.now(), job="mail")])
    forged = dict.fromkeys(OUTCOME, "") | {
        "job": "mail", "identity": "l:1", "origin": "later", "outcome": "success", "occurrence": 1, "fence": 1,
        "scheduled_for": 1,
    }  # fmt: skip
    file = tmp_path / "forged.jsonl"
    file.write_text("\n".join(exports.exported(store.store_id(), [forged])), "utf-8")
    monkeypatch.setenv("NOONMARK_ACTOR", "mallory")
    assert main(["ledger", "import", str(file), "--go", "--url", f"sqlite:///{tmp_path}/noonmark.db"]) == 0
    (row,) = store.occurrences(Query())
    story = store.story(added.id)
    store.close()
    assert row.state is State.SUCCESS
    assert story is not None
    assert story.ledger[-1].actor == "mallory", "who read it in is on record, as he calls himself"
    assert "imported" in json.loads(story.ledger[-1].detail)["reason"]
