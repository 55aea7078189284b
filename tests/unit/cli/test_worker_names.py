"""A worker's name is looked at where it is given, however it is: its id and what is named after it always fit."""

from __future__ import annotations

from pathlib import Path

import pytest
from calling import Noonmark

from noonmark import Scheduler
from noonmark.core.model import NAME_LIMIT, WORKER_NAME_LIMIT, Fact
from noonmark.core.outages import fact_name
from noonmark.core.wellformed import TooLarge, check_facts, check_worker
from noonmark.engine import host
from noonmark.ports.clock import SystemClock

LONG = "w" * (WORKER_NAME_LIMIT + 1)


@pytest.fixture
def app(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    return "no-such-app.py"


@pytest.mark.parametrize(
    ("name", "english", "chinese"),
    [
        (
            LONG,
            "--name: the name of the worker has 201 characters, more than 200",
            "worker 的名字有 201 个字符，超过 200",
        ),
        ("a\nb", "has a sign that cannot be shown", "含有无法显示的字符"),
        ("a\x00b", "has a sign that cannot be shown", "含有无法显示的字符"),
    ],
)
def test_a_name_that_does_not_fit_is_refused_before_anything_else(
    noonmark: Noonmark, app: str, name: str, english: str, chinese: str
) -> None:
    told = noonmark("worker", app, "--name", name)
    assert (told.code, told.out) == (2, "")
    assert english in told.err
    assert chinese in noonmark("--lang", "zh", "worker", app, "--name", name).err
    assert noonmark("worker", app, "--name", name, "--json").plain["error"]["exit"] == 2


def test_a_name_from_the_environment_is_looked_at_like_a_typed_one(
    noonmark: Noonmark, app: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NOONMARK_WORKER_NAME", LONG)
    assert "201 characters, more than 200" in noonmark("worker", app).err
    monkeypatch.setenv("NOONMARK_WORKER_NAME", "a\udcffb")
    assert "has a sign that cannot be shown" in noonmark("worker", app).err


def test_a_name_that_code_gives_is_refused_when_the_worker_is_made() -> None:
    sched = Scheduler("memory://")
    try:
        with pytest.raises(TooLarge, match="201 characters, more than 200"):
            sched.worker(name=LONG)
        with pytest.raises(TooLarge, match="201 characters, more than 200"):
            sched.run(name=LONG)
    finally:
        sched.close()


@pytest.mark.parametrize("name", ["", "w", "准" * WORKER_NAME_LIMIT, "\U0001f600" * WORKER_NAME_LIMIT])
def test_what_is_named_after_a_worker_fits(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host.socket, "gethostname", lambda: "h" * NAME_LIMIT)
    worker = host.this_worker(SystemClock(), name=name, jobs=())
    check_facts([Fact(name=fact_name(worker.id), value=[[1, 2]], actor=worker.id)])
    check_worker(worker)
