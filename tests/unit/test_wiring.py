"""A URL leads to a store, or to a sentence that says what to write instead."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from noonmark.ports.store import StoreUnusable
from noonmark.wiring import DEFAULT_URL, StoreUrlError, open_store, shown, store_url


def test_relative_and_absolute_sqlite_files_open(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for url, path in (("sqlite:///a.db", tmp_path / "a.db"), (f"sqlite:///{tmp_path}/b%20c.db", tmp_path / "b c.db")):
        store = open_store(url)
        try:
            assert store.now() > 0
            assert path.exists()
        finally:
            store.close()


def test_the_default_is_a_file_in_a_folder_that_git_ignores(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("NOONMARK_URL", raising=False)
    open_store().close()
    assert (tmp_path / ".noonmark" / "noonmark.db").exists()
    assert (tmp_path / ".noonmark" / ".gitignore").read_text(encoding="utf-8") == "*\n"


def test_the_environment_names_the_store_unless_an_argument_does(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NOONMARK_URL", "memory://")
    assert store_url() == "memory://"
    assert store_url("sqlite:///x.db") == "sqlite:///x.db"
    monkeypatch.setenv("NOONMARK_URL", "  ")
    assert store_url() == DEFAULT_URL


def test_memory_stores_are_each_their_own() -> None:
    one, other = open_store("memory://"), open_store("memory://")
    assert one is not other
    one.close()
    other.close()


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("sqllite:///a.db", "did you mean sqlite://"),
        ("noonmark.db", "sqlite:///noonmark.db"),
        ("sqlite://a.db", "three slashes"),
        ("sqlite:///", "names no file"),
        ("sqlite:///:memory:", "memory://"),
        ("sqlite:///a.db?mode=ro", "no option"),
        ("sqlite:///a.db?synchronous=OFF", "FULL"),
        ("sqlite:///no/such/folder/a.db", "mkdir -p"),
        ("http://x", "known: sqlite"),
    ],
)
def test_what_cannot_be_opened_says_what_to_write(
    url: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(StoreUrlError, match=said.replace("+", r"\+")) as refused:
        open_store(url)
    assert isinstance(refused.value, StoreUnusable)
    assert list(tmp_path.iterdir()) == []


def test_passwords_are_not_shown() -> None:
    assert shown("postgresql://u:secret@h/d") == "postgresql://***@h/d"


def test_asking_for_the_wiring_imports_no_store() -> None:
    stores = "[m for m in sys.modules if m.startswith('noonmark.stores.') or m == 'apsw']"
    code = f"import sys, noonmark.wiring; print({stores})"
    assert (
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == "[]"
    )
