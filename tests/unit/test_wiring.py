"""A URL leads to a store, or to a sentence that says what to write instead."""

from __future__ import annotations

import contextlib
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import cast

import pytest

from noonmark.ports.store import StoreUnreachable, StoreUnusable
from noonmark.stores.memory import MemoryStore
from noonmark.testing.archives import ArchivedStore, copy, make_busy
from noonmark.wiring import DEFAULT_URL, StoreUrlError, erase_trial, open_store, shown, store_url, trial_url


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
        ("sqlite:///a.db?driver=odbc", "apsw, or sqlite3"),
        ("sqlite:///a%ff.db", "%25"),
        ("memory://shared", "each one is its own"),
        ("postgressql://h/d", "did you mean postgresql://"),
        ("postgresql+psycopg://h/d", "did you mean postgresql://"),
        ("valky://h", "did you mean valkey://"),
        ("redis-cluster://h", "did you mean redis+cluster://"),
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


@pytest.mark.parametrize(
    ("url", "text"),
    [
        ("postgresql://u:secret@h/d", "postgresql://***@h/d"),
        ("postgresql://u:se%40cret@[::1]:5432/d?schema=x", "postgresql://***@[::1]:5432/d?schema=x"),
        ("postgresql://u:se@cr/et?@h/d", "postgresql://***@h/d"),
        ("postgresql:///d?host=/run/pg&user=u&password=secret", "postgresql:///d?host=/run/pg&user=u&password=***"),
        ("postgresql://h/d?sslpassword=secret&sslmode=require", "postgresql://h/d?sslpassword=***&sslmode=require"),
        ("redis://:secret@h:6379/0", "redis://***@h:6379/0"),
        ("redis+sentinel://u:secret@a:1,b:2/m?sentinel_password=secret", "redis+sentinel://***@a:1,b:2/m?sentinel_password=***"),
        ("host=h password='se cret' dbname=d", "host=h password=*** dbname=d"),
        ("u:secret@h/d", "***@h/d"),
        ("postgresql:/u:secret@h/d", "***@h/d"),
        ("sqlite:///a@b.db", "sqlite:///a@b.db"),
        ("rediss://h:6380/0?namespace=n", "rediss://h:6380/0?namespace=n"),
    ],
)  # fmt: skip
def test_secrets_are_not_shown(url: str, text: str) -> None:
    assert shown(url) == text


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://u:secret@h/d?schema=x&sslpassword=secret",
        "redis://u:secret@h:6379/?namespace=x",
        "redis+sentinel://:secret@a:1,b:2/m",
        "postgresql://h/d",
        "redis://h:6379/",
    ],
)
def test_every_store_hides_credentials_in_one_way(url: str) -> None:
    from noonmark.stores.postgres import address as postgres
    from noonmark.stores.redis import address as redis

    assert (postgres.parse(url).shown if url.startswith("postgres") else redis.parse(url).shown()) == shown(url)


@pytest.mark.parametrize(
    "url",
    ["mysql://u:secret@h/d", "u:secret@h", "sqlite://u:secret@h/d", "host=h password=secret", "memory://u:secret@h"],
)
def test_a_url_that_is_refused_does_not_give_its_secret_away(url: str) -> None:
    with pytest.raises(StoreUrlError) as refused:
        open_store(url)
    assert "secret" not in str(refused.value)


@pytest.fixture
def plugin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., None]]:
    """Install a package that names a store, from its code on."""

    def install(code: str, *, name: str = "plugged", scheme: str = "plug") -> None:
        module = f"{name}_store"
        (tmp_path / f"{module}.py").write_text(code, encoding="utf-8")
        folder = tmp_path / f"{name}-1.0.dist-info"
        folder.mkdir()
        (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n", encoding="utf-8")
        (folder / "entry_points.txt").write_text(f"[noonmark.stores]\n{scheme} = {module}:make\n", encoding="utf-8")

    monkeypatch.syspath_prepend(str(tmp_path))
    yield install
    for name in [name for name in sys.modules if name.endswith("_store") and "noonmark" not in name]:
        del sys.modules[name]


GOOD = """
from noonmark.stores.memory import MemoryStore
def make(url, *, clock=None):
    store = MemoryStore(clock)
    store.asked_for = url
    return store
"""


def test_a_package_may_bring_a_store_of_its_own(plugin: Callable[..., None]) -> None:
    plugin(GOOD)
    store = open_store("plug://u:p@h/x")
    assert vars(store)["asked_for"] == "plug://u:p@h/x"
    store.close()
    with pytest.raises(StoreUrlError, match=r"did you mean plug://\?"):
        open_store("plugg://h")


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("import nothing_like_this", "ModuleNotFoundError"),
        ("made = 1", "AttributeError"),
        ("make = 1", "TypeError"),
        ("def make(url, *, clock=None): raise RuntimeError('no ' + url)", r"RuntimeError: no plug://\*\*\*@h"),
        ("def make(url, *, clock=None): return object()", "it lacks act, activate, add, "),
    ],
)
def test_a_broken_package_is_named_and_so_is_what_to_do(code: str, said: str, plugin: Callable[..., None]) -> None:
    plugin(code)
    with pytest.raises(StoreUnusable, match=said) as refused:
        open_store("plug://u:secret@h")
    assert "plugged" in str(refused.value)
    assert "grade" in str(refused.value)
    assert "secret" not in str(refused.value)


def test_two_packages_with_one_scheme_are_told_apart(plugin: Callable[..., None]) -> None:
    plugin(GOOD)
    plugin(GOOD, name="other")
    with pytest.raises(StoreUrlError, match=r"several packages \(other, plugged\); uninstall all but one"):
        open_store("plug://h")


def test_what_a_package_says_about_its_own_store_is_passed_on(plugin: Callable[..., None]) -> None:
    plugin("from noonmark.ports.store import StoreUnreachable\ndef make(url, clock): raise StoreUnreachable('gone')")
    with pytest.raises(StoreUnreachable, match=r"^gone$"):
        open_store("plug://h")


def test_a_store_into_which_a_copy_is_under_way_is_nothing_to_work_with(tmp_path: Path) -> None:
    url, source = f"sqlite:///{tmp_path}/a.db", MemoryStore()
    make_busy(source)
    target = cast(ArchivedStore, open_store(url))
    copy(source, target, pages=2)
    target.close()
    with pytest.raises(StoreUnusable, match="copy into it is not finished"):
        open_store(url)
    with contextlib.closing(cast(ArchivedStore, open_store(url, unfinished=True))) as target:
        copy(source, target)
    open_store(url).close()


def test_asking_for_the_wiring_imports_no_store() -> None:
    stores = "[m for m in sys.modules if m.startswith('noonmark.stores.') or m == 'apsw']"
    code = f"import sys, noonmark.wiring; print({stores})"
    assert (
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == "[]"
    )


def test_a_trial_gets_a_namespace_of_its_own_and_nothing_else_can_be_erased() -> None:
    assert trial_url("redis://u:p@h/1?namespace=mine&timeout=3", "ab") == (
        "redis://u:p@h/1?timeout=3&namespace=noonmark_demo_ab"
    )
    assert (
        trial_url("postgresql:///d?host=/run/x%20y", "ab") == "postgresql:///d?host=/run/x%20y&schema=noonmark_demo_ab"
    )
    assert trial_url("sqlite:///a.db", "ab") is None
    assert trial_url("memory://", "ab") is None
    with pytest.raises(StoreUrlError):
        trial_url("nosuch://h", "ab")
    for url in ("redis://h/0", "redis://h/0?namespace=noonmark", "postgresql://h/d?schema=mine",
                "redis://h/0?namespace=noonmark_demo_x&namespace=mine"):  # fmt: skip
        with pytest.raises(ValueError, match="no trial's namespace"):
            erase_trial(url)
