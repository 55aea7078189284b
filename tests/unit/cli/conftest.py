"""The command line in this process, on the desk of the explain tests."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "explain"))

from calling import Answer, Noonmark
from desk import DIGEST, TICK, Desk
from machine import Machine

from noonmark.faces.cli.__main__ import main


@pytest.fixture
def desk() -> Desk:
    made = Desk()
    made.register(DIGEST, TICK)
    return made


@pytest.fixture
def noonmark(desk: Desk, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Noonmark:
    """Return a function that calls the command line on the desk's store."""
    import noonmark.wiring

    for name in ("NOONMARK_LANG", "NOONMARK_TZ", "NOONMARK_JSON", "NOONMARK_APP", "LC_ALL", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("LANG", "C.UTF-8")
    monkeypatch.setenv("NOONMARK_URL", "desk://")
    monkeypatch.setenv("NOONMARK_ACTOR", "ann")
    monkeypatch.setattr(noonmark.wiring, "open_store", lambda _url, **_options: desk.store)

    def call(*args: str) -> Answer:
        code = main([*args])
        captured = capsys.readouterr()
        return Answer(code=code, out=captured.out, err=captured.err)

    return call


@pytest.fixture
def machine(desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    monkeypatch.setenv("NOONMARK_STATE", str(tmp_path / "state"))
    return Machine(desk, tmp_path / "state")
