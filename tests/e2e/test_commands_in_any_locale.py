"""A job's command starts with its own words and names, whatever letters the worker's locale has."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import noonmark as noonmark_package

RULES = """version: 1
jobs:
  звіт:
    reason: a test
    every: 1s
    retry: {max: 0}
    command: [sh, -c, 'printf "%s %s %s\\n" "$NOONMARK_JOB" "$NOONMARK_PARAMS" "$1" >> said.txt', sh, 日報]
    params: {місто: Львів}
"""
ASCII_ONLY = {"LC_ALL": "POSIX", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"}


@pytest.mark.parametrize("locale", [{"LC_ALL": "C.UTF-8"}, ASCII_ONLY], ids=["UTF-8", "ASCII"])
def test_a_command_with_other_letters_than_the_locale_has_is_started_with_them(
    tmp_path: Path, locale: dict[str, str]
) -> None:
    (tmp_path / "noonmark.yaml").write_text(RULES, encoding="utf-8")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("NOONMARK_", "LC_", "LANG"))}
    source = str(Path(noonmark_package.__file__ or "").parents[1])
    command = [sys.executable, "-m", "noonmark.faces.cli", "worker", "noonmark.yaml", "--url", "sqlite:///w.db"]
    said = tmp_path / "said.txt"
    with (tmp_path / "worker.log").open("wb") as log:
        worker = subprocess.Popen(command, cwd=tmp_path, env={**kept, **locale, "PYTHONPATH": source}, stderr=log)
    try:
        end = time.monotonic() + 60
        while not said.exists() or b"\n" not in said.read_bytes():
            told = (tmp_path / "worker.log").read_text(encoding="utf-8", errors="replace")
            assert time.monotonic() < end, told
            assert "failed" not in told, told
            time.sleep(0.05)
    finally:
        worker.send_signal(signal.SIGINT)
        worker.wait(60)
    assert said.read_bytes().decode().splitlines()[0] == 'звіт {"місто": "Львів"} 日報'
