"""The store that docs/stores.md shows as an example is found by its URL, works, and passes the suite that it is to pass."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).resolve().parents[2] / "docs/examples/counted_store"


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    """The example as pip would install it, in a folder that ``PYTHONPATH`` names."""
    place = tmp_path / "site"
    shutil.copytree(EXAMPLE, place, ignore=shutil.ignore_patterns("__pycache__"))
    project = tomllib.loads((place / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    folder = place / "counted_store-1.0.dist-info"
    folder.mkdir()
    name, version = project["name"], project["version"]
    (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n", encoding="utf-8")
    lines = [f"[{group}]\n" + "".join(f"{scheme} = {place}\n" for scheme, place in points.items())
             for group, points in project["entry-points"].items()]  # fmt: skip
    (folder / "entry_points.txt").write_text("\n".join(lines), encoding="utf-8")
    return place


def _run(installed: Path, *args: str) -> subprocess.CompletedProcess[str]:
    env = os.environ | {"PYTHONPATH": str(installed), "NOONMARK_LANG": "en", "PYTEST_ADDOPTS": ""}
    return subprocess.run(
        [sys.executable, *args], cwd=installed, env=env, capture_output=True, text=True, check=False, timeout=100
    )


def test_the_store_of_the_page_is_found_by_its_url(installed: Path) -> None:
    url = f"counted:///?store=sqlite:///{installed}/work.db"
    done = _run(installed, "-m", "noonmark.faces.cli", "signal", "ready", "--url", url)
    assert done.returncode == 0, done.stdout + done.stderr
    told = _run(installed, "-m", "noonmark.faces.cli", "doctor", "--url", "counted://", "--json")
    assert told.returncode == 2
    assert "counted:///?store=sqlite:///noonmark.db" in told.stdout + told.stderr


def test_the_store_of_the_page_passes_the_suite_as_its_makers_would_run_it(installed: Path) -> None:
    chosen = "adding or found_again or says_what"
    done = _run(
        installed,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "-p",
        "no:randomly",
        "test_counted_store.py",
        "-k",
        chosen,
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    assert " passed" in done.stdout
    assert "skipped" not in done.stdout
