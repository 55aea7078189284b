"""``make audit``: are the pinned dependencies in a database of known vulnerabilities?

Asks, in this order: a copy of the OSV database (its records for PyPI: a folder of JSON files, or the all.zip that OSV
publishes), named as the argument or in NOONMARK_ADVISORIES; pip-audit, where it is installed and reaches its service.
Exit codes: 0 nothing is known, or no database is at hand (it says which); 1 something is known; 2 the database that was
named cannot be read.
"""

from __future__ import annotations

import importlib.util
import json
import os
import re
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from packaging.version import InvalidVersion, Version

CONSTRAINTS = Path(__file__).resolve().parents[1] / "constraints.txt"
NONE_AT_HAND = (
    "audit: no advisory database is at hand, so nothing was checked; name a copy of the OSV database "
    "(make audit ADVISORIES=all.zip), or install pip-audit where there is a network"
)


def pinned(text: str) -> dict[str, str]:
    """Return the pins of a constraints file, by normalised name."""
    found = {}
    for line in text.splitlines():
        match = re.match(r"([A-Za-z0-9._-]+)==([^\s;#]+)", line.strip())
        if match:
            found[normal(match[1])] = match[2]
    return found


def normal(name: str) -> str:
    """Return a project's name as PyPI compares it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def records(place: Path) -> Iterator[dict[str, Any]]:
    """Yield the records of a database: a folder or a zip of JSON files."""
    if place.is_dir():
        for path in sorted(place.rglob("*.json")):
            yield json.loads(path.read_text(encoding="utf-8"))
        return
    with zipfile.ZipFile(place) as archive:
        for name in sorted(archive.namelist()):
            if name.endswith(".json"):
                yield json.loads(archive.read(name))


def findings(pins: dict[str, str], place: Path) -> list[str]:
    """Return one line for every record that speaks of a pinned version and was not withdrawn."""
    found = []
    for record in records(place):
        if record.get("withdrawn"):
            continue
        for part in record.get("affected", ()):
            package = part.get("package", {})
            name = normal(package.get("name", ""))
            if package.get("ecosystem") == "PyPI" and name in pins and is_affected(pins[name], part):
                also = ", ".join(record.get("aliases", ()))
                words = record.get("summary") or record.get("details", "")[:100]
                found.append(f"{name} {pins[name]}: {record.get('id')}{f' ({also})' if also else ''}: {words}")
    return found


def is_affected(version: str, part: dict[str, Any]) -> bool:
    """Say whether a record's part speaks of this version: by its list, or by its ranges."""
    if version in part.get("versions", ()):
        return True
    ours = Version(version)
    for span in part.get("ranges", ()):
        if span.get("type") != "ECOSYSTEM":
            continue
        inside = False
        for event in span.get("events", ()):
            kind, text = next(iter(event.items()))
            try:
                at = Version("0" if text == "0" else text)
            except InvalidVersion:
                continue
            if kind == "introduced" and ours >= at:
                inside = True
            elif (kind == "fixed" and ours >= at) or (kind == "last_affected" and ours > at):
                inside = False
        if inside:
            return True
    return False


def by_pip_audit() -> int | None:
    """Ask pip-audit; None where it is not installed or did not reach its service."""
    if importlib.util.find_spec("pip_audit") is None:
        return None
    asked = [sys.executable, "-m", "pip_audit", "--no-deps", "--disable-pip", "--requirement", str(CONSTRAINTS)]
    done = subprocess.run(asked, capture_output=True, text=True, timeout=600, check=False)
    if done.returncode not in (0, 1) or "Traceback" in done.stderr or "Error" in done.stderr:
        return None
    print(done.stdout + done.stderr, end="")
    return done.returncode


def main(args: list[str]) -> int:
    """Check, and return the exit code."""
    named = (args[0] if args else "") or os.environ.get("NOONMARK_ADVISORIES", "")
    if not named:
        code = by_pip_audit()
        if code is None:
            print(NONE_AT_HAND)
            return 0
        return code
    pins = pinned(CONSTRAINTS.read_text(encoding="utf-8"))
    try:
        found = findings(pins, Path(named))
    except (OSError, ValueError, zipfile.BadZipFile) as error:
        print(f"audit: {named} cannot be read as an OSV database: {error}", file=sys.stderr)
        return 2
    for line in found:
        print(line)
    print(f"audit: {len(pins)} pinned versions, {len(found)} known vulnerabilities")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
