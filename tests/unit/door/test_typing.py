"""A user's type checker helps: right calls pass, wrong ones are reported."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]


def test_the_files_a_user_would_write_check_as_they_should(tmp_path: Path) -> None:
    files = [str(path) for path in sorted((ROOT / "tests/typing").glob("*.py"))]
    assert len(files) == 2
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--warn-unused-ignores", "--cache-dir", str(tmp_path), *files],
        cwd=ROOT,
        env={**os.environ, "MYPYPATH": "src"},
        capture_output=True,
        text=True,
        check=False,
    )
    wrong = [line for line in done.stdout.splitlines() if line.startswith("tests/typing")]
    assert not wrong, "\n".join(wrong)
    assert "error" not in done.stderr, done.stderr
