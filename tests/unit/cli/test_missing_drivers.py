"""A driver that is not installed: one code, one sentence with what to install, whoever needs it; a wrong URL is usage."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from noonmark import Scheduler, StoreUnusable, manual
from noonmark.faces.cli.__main__ import main
from noonmark.locks import lock
from noonmark.locks.errors import LockDriverMissing
from noonmark.ports.store import StoreDriverMissing

APP = """
from noonmark import Scheduler, manual

sched = Scheduler(rules=False)

@sched.job(manual(), reason="x")
def one() -> None: ...
"""
COMMANDS = (
    ("jobs",),
    ("run", "one"),
    ("signal", "x"),
    ("doctor",),
    ("store", "migrate"),
    ("worker", "drivers_app.py"),
    ("demo",),
)


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A Python without any driver, and an app."""
    for name in list(sys.modules):
        if name.startswith(("noonmark.stores.", "noonmark.locks.")) and name.split(".")[2] not in ("errors", "held"):
            monkeypatch.delitem(sys.modules, name)
    for name in ("psycopg", "redis", "aetcd", "kazoo"):
        monkeypatch.setitem(sys.modules, name, None)
    for name in ("NOONMARK_LANG", "NOONMARK_JSON", "NOONMARK_APP", "NOONMARK_URL", "LC_ALL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("LANG", "C.UTF-8")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "drivers_app.py").write_text(APP, encoding="utf-8")


@pytest.mark.usefixtures("bare")
@pytest.mark.parametrize(
    ("url", "package", "extra"),
    [("postgresql://h/d", "psycopg", "postgres"), ("redis://h", "redis", "redis"), ("valkeys://h", "redis", "redis")],
)
@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
def test_every_command_says_the_same_with_the_same_code(
    capsys: pytest.CaptureFixture[str], command: tuple[str, ...], url: str, package: str, extra: str
) -> None:
    assert main(["--url", url, *command]) == 4
    scheme = url.partition("://")[0]
    assert capsys.readouterr().err.splitlines() == [
        f"noonmark: {scheme}:// needs the package {package}",
        "        it is not installed for this Python",
        f"        pip install 'noonmark[{extra}]'",
    ]


@pytest.mark.usefixtures("bare")
@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
def test_a_wrong_url_is_usage_for_every_command(capsys: pytest.CaptureFixture[str], command: tuple[str, ...]) -> None:
    assert main(["--url", "postgrsql://h/d", *command]) == 2
    said = capsys.readouterr().err
    assert "did you mean postgresql://?" in said
    assert "--url or NOONMARK_URL" in said or command == ("demo",)


@pytest.mark.usefixtures("bare")
def test_the_library_raises_the_same_sentence_as_a_type() -> None:
    sched = Scheduler("postgresql://h/d", rules=False)

    @sched.job(manual(), reason="x")
    def one() -> None: ...

    told = "postgresql:// needs the package psycopg; install it with: pip install 'noonmark[postgres]'"
    for call in (lambda: one.later("1m")(), lambda: one.later("1m", conn=object())(), sched.declare):
        with pytest.raises(StoreDriverMissing) as refused:
            call()
        assert str(refused.value) == told
        assert isinstance(refused.value, StoreUnusable)


@pytest.mark.usefixtures("bare")
@pytest.mark.parametrize(
    ("url", "package", "extra"),
    [
        ("redlock://a,b,c", "redis", "redis"),
        ("redis://a", "redis", "redis"),
        ("postgresql://a/b", "psycopg", "postgres"),
        ("postgresql://a/b?kind=advisory", "psycopg", "postgres"),
        ("etcd://a", "aetcd", "etcd"),
        ("zookeeper://a", "kazoo", "zookeeper"),
    ],
)
def test_a_lock_says_it_too(url: str, package: str, extra: str) -> None:
    with pytest.raises(LockDriverMissing) as refused, lock("x", at=url):
        pass
    scheme = url.partition("://")[0]
    assert (
        str(refused.value)
        == f"{scheme}:// needs the package {package}; install it with: pip install 'noonmark[{extra}]'"
    )
