"""From a URL to a service: every spelling, every refusal with its remedy, and no secret in any of them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from noonmark.locks import LockTaken, LockUnusable, LockUrlError, lock, open_locks, service
from noonmark.locks.opening import _KINDS, lock_url


@pytest.fixture(autouse=True)
def own_services() -> object:
    """What ``lock()`` opened is closed after each test."""
    yield
    service.close()


def test_the_argument_outranks_the_environment_and_the_lock_url_the_store_url(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NOONMARK_LOCK_URL", raising=False)
    monkeypatch.delenv("NOONMARK_URL", raising=False)
    assert lock_url() == "sqlite:///.noonmark/noonmark.db"
    monkeypatch.setenv("NOONMARK_URL", "memory://")
    assert lock_url() == "memory://"
    monkeypatch.setenv("NOONMARK_LOCK_URL", " redis://h ")
    assert lock_url() == "redis://h"
    assert lock_url("etcd://h:1") == "etcd://h:1"
    monkeypatch.setenv("NOONMARK_LOCK_URL", " ")
    assert lock_url() == "memory://"


def test_by_default_locks_live_beside_the_store_in_a_hidden_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("NOONMARK_LOCK_URL", raising=False)
    monkeypatch.delenv("NOONMARK_URL", raising=False)
    monkeypatch.chdir(tmp_path)
    with lock("a"), pytest.raises(LockTaken):
        lock("a").acquire()
    assert (tmp_path / ".noonmark/noonmark.db-locks").exists()
    assert (tmp_path / ".noonmark/.gitignore").read_text() == "*\n"


def test_a_relative_path_means_another_file_in_another_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    monkeypatch.chdir(tmp_path / "one")
    with lock("a", at="sqlite:///l.db"):
        monkeypatch.chdir(tmp_path / "two")
        with lock("a", at="sqlite:///l.db") as held:
            held.check()


def test_one_url_is_one_service_in_a_process_and_is_opened_anew_after_close() -> None:
    with lock("a", at="memory://"), pytest.raises(LockTaken):
        lock("a", at="memory://").acquire()
    service.close()
    with lock("a", at="memory://") as held:
        held.check()


def test_an_opened_service_can_be_handed_on() -> None:
    locks = open_locks("memory://")
    with lock("a", at=locks), pytest.raises(LockTaken):
        lock("a", at=locks).acquire()
    locks.close()


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("noonmark.db", "names no lock service"),
        ("redlok://a:1,b:1,c:1", "did you mean redlock://"),
        ("http://h", "known: memory://, sqlite://"),
        ("sqlite://noonmark.db", "three slashes"),
        ("sqlite:///", "names no file"),
        ("sqlite:///:memory:", "memory://"),
        ("sqlite:///a%00b", "names no file"),
        ("sqlite:///a.db?cache=shared", 'no option "cache"'),
        ("redlock://a:1", "this URL names one; for one write redis://a:1"),
        ("redlock://[::1]", "write redis://[::1]:6379"),
        ("redlock://a:1,b:1", "this URL names 2"),
        ("redlock://a:1,b:1,c:1,d:1", "even number"),
        ("redlock://a:1,b:1,a:1", "a:1 stands there twice"),
        ("redlock://a:1,b:1,c:x", '"c:***" is no host'),
        ("redlock://a:1,b:1,c:1/x", "no database number"),
        ("redlock://a:1,b:1,c:1?timeout=1", "no unit"),
        ("redlock://a:1,b:1,c:1?timeout=2h", "1ms to 60s"),
        ("redlock://a:1,b:1,c:1?quorum=1", 'no option "quorum"'),
        ("redis://h:port/0", '"h:***" is no host'),
        ("redis://", "names no host; write redis://host:6379"),
        ("redis://a,b", "takes one host"),
        ("redis://h/0/1", "no database number"),
        ("redis+cluster://h/3", "one database only"),
        ("redis+sentinel://h:1/main/x", "no database number"),
        ("rediss://h?ssl_cert_reqs=maybe", "none, optional or required"),
        ("rediss://h?ssl_ca_certs=/nowhere", "names the file /nowhere as ssl_ca_certs"),
        ("redlock://a,b,c?tls=maybe", "tls=true or tls=false"),
        ("etcd://h/path", "etcd has none"),
        ("zookeeper://h/a//b", "no path in ZooKeeper"),
        ("zookeeper://h?session=soon", "session=soon is not possible"),
        ("postgresql://h:99999/db", '"99999" is no port'),
        ("postgresql://h/db?kind=advisori", 'no kind "advisori"'),
        ("postgresql://h/db?kind=", "kind=advisory for session locks"),
        ("postgres://h/db?kind=row&kind=advisory", 'no kind "row"'),
        ("memory://shared", "memory:// has no name"),
        ("sqlite://", "names no file"),
        ("redis://h/zero", "no database number"),
        ("redis://h/0?colour=red", "colour"),
        ("redis+sentinel://h:1,g:1", "names no service"),
        ("redis+sentinel://h:1,g:1/main?colour=red", 'no option "colour"'),
        ("redis+cluster://h:1?colour=red", 'no option "colour"'),
        ("redis://h/0?timeout=0", "between 0.1 and 300"),
        ("postgresql://h/db?kind=advisory&pooler=transaction", "session of its own"),
        ("postgresql://h/db?colour=red", "colour"),
        (f"postgresql://h/db?schema={'x' * 60}", "at most 57 bytes"),
    ],
)
def test_what_cannot_be_a_lock_url_is_refused_with_what_to_write(url: str, said: str) -> None:
    with pytest.raises(LockUrlError, match=re.escape(said)):
        open_locks(url)


EVERY_SCHEME = (
    "memory://",
    "sqlite:///a.db",
    "redis://h",
    "rediss://h",
    "valkey://h",
    "valkeys://h",
    "redis+sentinel://h/main",
    "rediss+sentinel://h/main",
    "redis+cluster://h",
    "rediss+cluster://h",
    "redlock://a,b,c",
    "postgresql://u@h/db",
    "postgres://h/db",
    "postgresql://h/db?kind=advisory",
    "etcd://h",
    "etcds://h",
    "zookeeper://h",
    "zookeepers://h",
)
INTERNALS = (
    "__init__",
    "keyword argument",
    "could not convert",
    "invalid literal",
    "connect_timeout=",
    "application_name=",
)


def test_the_list_of_schemes_is_whole() -> None:
    assert {url.partition("://")[0] for url in EVERY_SCHEME} == set(_KINDS)


@pytest.mark.parametrize("url", EVERY_SCHEME)
@pytest.mark.parametrize(
    "option", ["colour=red", "kind=advisori", "colour", "=red", "timeout=soon", "timeout=", "timeout=-1", "timeout=nan"]
)
def test_an_option_that_nobody_understands_is_refused_for_every_scheme_in_our_words(
    url: str, option: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(LockUrlError) as refused:
        open_locks(f"{url}{'&' if '?' in url else '?'}{option}")
    said = str(refused.value)
    name = option.partition("=")[0]
    assert name in said or "has no options" in said or "no name and no options" in said, said
    assert not any(word in said for word in INTERNALS), said


@pytest.mark.parametrize("url", [url for url in EVERY_SCHEME if not url.startswith(("memory", "sqlite", "postgres"))])
def test_an_option_stands_once(url: str) -> None:
    with pytest.raises(LockUrlError, match="stands twice"):
        open_locks(f"{url}?timeout=5s&timeout=6s")


@pytest.mark.parametrize("url", [url for url in EVERY_SCHEME if not url.startswith(("memory", "sqlite"))])
@pytest.mark.parametrize(
    ("rest", "said"), [("://[::1", "cannot be read"), ("://h\n/0", "cannot be seen"), ("://h\0", "cannot be seen")]
)
def test_a_place_that_cannot_be_read_is_refused_for_every_scheme(url: str, rest: str, said: str) -> None:
    with pytest.raises(LockUrlError, match=said) as refused:
        open_locks(url.partition("://")[0] + rest)
    assert not any(word in str(refused.value) for word in INTERNALS)


@pytest.mark.parametrize("empty", ["", " ", "\n"])
def test_an_empty_url_is_no_lock_on_this_machine(empty: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    for call in (lambda: lock("a", at=empty), lambda: open_locks(empty)):
        with pytest.raises(LockUrlError, match="the lock URL is empty"):
            call()
    assert list(tmp_path.iterdir()) == []


def test_what_is_neither_a_url_nor_a_service_is_refused() -> None:
    wrong: Any
    for wrong in (b"redis://h", 5, object()):
        with pytest.raises(TypeError, match="at is a lock URL"):
            lock("a", at=wrong)
        with pytest.raises(TypeError, match="a lock URL is text"):
            open_locks(wrong)


@pytest.mark.parametrize(
    "url",
    [
        "redis://user:s3cret@h:port",
        "redis://user:s3cret@h/zero",
        "redis://user:s3/cret@h/0",
        "redis://user:s3cret@h/0?colour=red",
        "postgresql://user:s3cret%zz@h/db",
        "postgresql://h/db?password=s3cret&colour=red",
        "redlock://user:s3cret@a:1,b:1",
        "postgresql://user:s3cret@h/db?colour=red",
        "redish://user:s3cret@h",
    ],
)
def test_no_refusal_shows_a_password(url: str) -> None:
    with pytest.raises(LockUrlError) as refused:
        open_locks(url)
    assert "s3" not in str(refused.value)


def test_a_shown_url_has_no_password() -> None:
    for url in (
        "redis://user:s3cret@127.0.0.1:1/0",
        "redlock://user:s3cret@a:1,b:1,c:1",
        "postgresql://user:s3cret@127.0.0.1:1/db?schema=x",
        "postgresql://user:s3cret@127.0.0.1:1/db?kind=advisory",
    ):
        locks = open_locks(url)
        assert "s3cret" not in locks.url
        locks.close()


def test_options_of_the_store_at_the_same_url_are_no_trouble(tmp_path: Path) -> None:
    for url in (
        "redis://127.0.0.1:1/0?namespace=mine&timeout=2.5&durability=failover&replicas=2",
        "redis+sentinel://127.0.0.1:1/main/0?namespace=mine&sentinel_username=u&sentinel_password=p",
        "rediss+sentinel://127.0.0.1:1/main/0?ssl_cert_reqs=none&ssl_check_hostname=false",
        "rediss://127.0.0.1:1/0?ssl_cert_reqs=none",
        "postgresql://127.0.0.1:1/db?schema=mine&pooler=transaction&migrate=no&pool_size=2&sslmode=prefer",
        f"sqlite:///{tmp_path}/a.db?synchronous=NORMAL&driver=sqlite3",
    ):
        open_locks(url).close()


def test_a_database_of_another_program_is_left_alone(tmp_path: Path) -> None:
    import apsw

    path = tmp_path / "theirs.db-locks"
    connection = apsw.Connection(str(path))
    connection.execute("CREATE TABLE theirs (a)")
    connection.close()
    before = path.read_bytes()
    with pytest.raises(LockUnusable, match="another program"):
        open_locks(f"sqlite:///{tmp_path}/theirs.db")
    assert path.read_bytes() == before
    (tmp_path / "text.db-locks").write_text("no database at all, but long enough to have a header of its own" * 20)
    with pytest.raises(LockUnusable, match="no SQLite database"):
        open_locks(f"sqlite:///{tmp_path}/text.db")
    (tmp_path / "folder-locks").mkdir()
    with pytest.raises(LockUnusable, match="directory"):
        open_locks(f"sqlite:///{tmp_path}/folder")
    with pytest.raises(LockUnusable, match="folder exists"):
        open_locks(f"sqlite:///{tmp_path}/nowhere/l.db")
