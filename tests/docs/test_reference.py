"""The reference pages say what the program says; links in the docs lead somewhere; both languages have the same pages."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = [*sorted(ROOT.glob("README*.md")), *sorted((ROOT / "docs").rglob("*.md"))]


def test_the_generated_pages_are_up_to_date() -> None:
    done = subprocess.run(
        [sys.executable, str(ROOT / "docs/generate.py"), "--check"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.relative_to(ROOT).as_posix())
def test_every_link_inside_the_project_leads_somewhere(page: Path) -> None:
    broken = []
    for target in re.findall(r"\]\(([^)\s]+)\)", page.read_text(encoding="utf-8")):
        if re.match(r"[a-z]+:", target) or target.startswith("#"):
            continue
        if not (page.parent / target.split("#")[0]).exists():
            broken.append(target)
    assert not broken, f"{page.name}: {broken}"


def test_the_readme_exists_in_both_languages_and_they_point_at_each_other() -> None:
    english, chinese = (ROOT / name for name in ("README.md", "README.zh.md"))
    assert "README.zh.md" in english.read_text(encoding="utf-8")
    assert "README.md" in chinese.read_text(encoding="utf-8")
