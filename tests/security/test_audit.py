"""``make audit`` finds what a database knows, and says so when there is none."""

from __future__ import annotations

import importlib.util
import json
import re
import sys
import tomllib
import zipfile
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def audit(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The script, as a module."""
    monkeypatch.delenv("NOONMARK_ADVISORIES", raising=False)
    spec = importlib.util.spec_from_file_location("audit", ROOT / ".ci" / "audit.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def record(name: str, number: str = "PYSEC-1", **part: Any) -> dict[str, Any]:
    """Make a record of the OSV format."""
    affected = [{"package": {"ecosystem": "PyPI", "name": name}, **part}]
    return {"id": number, "aliases": ["CVE-1"], "summary": "it is bad", "affected": affected}


def span(*events: tuple[str, str]) -> list[dict[str, Any]]:
    """Make a range."""
    return [{"type": "ECOSYSTEM", "events": [{kind: version} for kind, version in events]}]


@pytest.mark.parametrize(
    ("part", "hit"),
    [
        ({"versions": ["8.5.1"]}, True),
        ({"versions": ["8.5.0"]}, False),
        ({"ranges": span(("introduced", "0"), ("fixed", "8.5.2"))}, True),
        ({"ranges": span(("introduced", "0"), ("fixed", "8.5.1"))}, False),
        ({"ranges": span(("introduced", "8.6"))}, False),
        ({"ranges": span(("introduced", "0"), ("last_affected", "8.5.1"))}, True),
        ({"ranges": span(("introduced", "0"), ("fixed", "8.1"), ("introduced", "8.5"))}, True),
    ],
)
def test_a_version_is_found_by_list_and_by_range(audit: Any, tmp_path: Path, part: dict[str, Any], hit: bool) -> None:
    (tmp_path / "a.json").write_text(json.dumps(record("Click", **part)), "utf-8")
    assert bool(audit.findings({"click": "8.5.1"}, tmp_path)) is hit


def test_what_was_withdrawn_or_is_another_ecosystems_is_no_finding(audit: Any, tmp_path: Path) -> None:
    gone = record("click", versions=["8.5.1"]) | {"withdrawn": "2026-01-01"}
    other = record("click", versions=["8.5.1"])
    other["affected"][0]["package"]["ecosystem"] = "npm"
    for number, one in enumerate((gone, other)):
        (tmp_path / f"{number}.json").write_text(json.dumps(one), "utf-8")
    assert audit.findings({"click": "8.5.1"}, tmp_path) == []


def test_a_finding_ends_with_1_and_names_the_package_and_a_clean_database_with_0(
    audit: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    version = audit.pinned((ROOT / "constraints.txt").read_text("utf-8"))["click"]
    database = tmp_path / "all.zip"
    with zipfile.ZipFile(database, "w") as archive:
        archive.writestr("PYSEC-1.json", json.dumps(record("click", versions=[version])))
    assert audit.main([str(database)]) == 1
    assert f"click {version}: PYSEC-1 (CVE-1): it is bad" in capsys.readouterr().out
    with zipfile.ZipFile(database, "w") as archive:
        archive.writestr("PYSEC-1.json", json.dumps(record("other", versions=[version])))
    assert audit.main([str(database)]) == 0


def test_without_a_database_it_says_so_and_ends_with_0(
    audit: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "pip_audit", None)
    monkeypatch.setattr(audit, "by_pip_audit", lambda: None)
    assert audit.main([]) == 0
    assert "no advisory database is at hand" in capsys.readouterr().out


def test_a_database_that_cannot_be_read_is_no_clean_bill(audit: Any, tmp_path: Path) -> None:
    assert audit.main([str(tmp_path / "missing.zip")]) == 2


def test_every_dependency_is_pinned_to_one_version_and_every_one_that_is_declared_is_among_them(audit: Any) -> None:
    lines = [line for line in (ROOT / "constraints.txt").read_text("utf-8").splitlines() if line and line[0] != "#"]
    assert all(re.fullmatch(r"[\w.-]+==[\w.!+]+", line) for line in lines), "a name and a version, without hashes"
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    wanted = [*project["dependencies"], *(one for extra in project["optional-dependencies"].values() for one in extra)]
    declared = {re.split(r"[\[><=~!;]", one)[0] for one in wanted}
    missing = {audit.normal(name) for name in declared} - set(audit.pinned("\n".join(lines))) - {"noonmark"}
    assert missing == set()
