"""What happens where the system has no second versions: never silence."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BARE = """
from noonmark.testing.servers import installations
installations._SYSTEM = {kind: () for kind in installations.KINDS}
installations._PROGRAMS = {}
installations.find.cache_clear()
"""


def run(folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run the tests of the system's servers on a machine that seems to have none."""
    (folder / "bare_machine.py").write_text(BARE, encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-q", "-n", "0", "-p", "bare_machine", "-k", "of_the_system"]
    return subprocess.run(
        [*command, "tests/servers/test_launcher.py"],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1", **environment},
        capture_output=True,
        text=True,
        timeout=110,
        check=False,
    )


def test_what_was_not_tried_is_named_at_the_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NOONMARK_SERVERS", raising=False)
    done = run(tmp_path)
    assert "4 skipped" in done.stdout, done.stdout + done.stderr
    for kind in ("postgres", "redis", "etcd", "zookeeper"):
        assert f"not tried, for want of the system's {kind}: " in done.stdout
    assert done.returncode == 0


def test_where_all_are_required_a_missing_one_is_an_error_with_the_remedy(tmp_path: Path) -> None:
    done = run(tmp_path, NOONMARK_SERVERS="all")
    assert "4 failed" in done.stdout, done.stdout + done.stderr
    assert "apt-get install redis-server" in done.stdout
    assert done.returncode == 1
