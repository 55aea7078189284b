"""The house rules a machine can hold: sizes, banned words, words in both languages, no path of one machine."""

from __future__ import annotations

import ast
import functools
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SOURCES = [
    *sorted((ROOT / "src").rglob("*.py")),
    *sorted((ROOT / "apps").rglob("src/**/*.py")),
    *sorted((ROOT / "faults").rglob("*.py")),
]
FILE_LINES = 400
FUNCTION_LINES = 60
BANNED_MODULE_NAMES = {"utils", "util", "helpers", "helper", "manager", "managers", "misc", "common"}


def relative(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@functools.cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


@pytest.mark.parametrize("path", SOURCES, ids=relative)
def test_a_source_file_is_short_enough_to_know(path: Path) -> None:
    lines = path.read_text(encoding="utf-8").count("\n")
    assert lines <= FILE_LINES, f"{relative(path)} has {lines} lines; split it along its ideas (limit {FILE_LINES})"


def functions(tree: ast.AST) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield node


@pytest.mark.parametrize("path", SOURCES, ids=relative)
def test_every_function_fits_on_a_screen(path: Path) -> None:
    tree = parsed(path)
    long = [
        f"{f.name} ({f.end_lineno - f.lineno + 1})"
        for f in functions(tree)
        if f.end_lineno and f.end_lineno - f.lineno >= FUNCTION_LINES
    ]
    assert not long, f"{relative(path)}: over {FUNCTION_LINES} lines: {', '.join(long)}"


@pytest.mark.parametrize("path", SOURCES, ids=relative)
def test_every_module_says_what_it_promises(path: Path) -> None:
    tree = parsed(path)
    if tree.body:
        assert ast.get_docstring(tree), f"{relative(path)} has no module docstring"


def test_no_module_is_named_after_nothing() -> None:
    found = [relative(path) for path in SOURCES if path.stem in BANNED_MODULE_NAMES]
    assert not found, f"name the idea instead: {found}"


def test_core_reads_no_clock_and_throws_no_dice() -> None:
    forbidden = {
        "time",
        "random",
        "secrets",
        "os",
        "io",
        "pathlib",
        "socket",
        "asyncio",
        "threading",
        "subprocess",
        "logging",
        "uuid",
    }
    found = []
    for path in sorted((ROOT / "src/noonmark/core").glob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
                names = [node.module]
            found += [
                f"{relative(path)}:{getattr(node, 'lineno', 0)} {name}"
                for name in names
                if name.split(".")[0] in forbidden
            ]
    assert not found, f"core is pure: pass it in as an argument instead: {found}"


def tracked_files() -> list[Path]:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=False)
    if listed.returncode:  # an unpacked archive is no checkout; then everything that is there counts
        return [p for p in ROOT.rglob("*") if p.is_file() and ".venv" not in p.parts and ".git" not in p.parts]
    return [ROOT / name for name in listed.stdout.decode().split("\0") if name]


def test_no_file_carries_a_path_of_one_machine_or_a_registry_host() -> None:
    # Written in pieces so that this file does not find itself.
    pattern = re.compile(
        "|".join([r"(?<![\w.])/(?:ro" + r"ot|wo" + r"rk)/\w", "files\\.python" + "hosted", "pypi" + r"\.org"])
    )
    found = []
    for path in tracked_files():
        if path.suffix in {".png", ".pdf"} or not path.is_file():
            continue
        for number, line in enumerate(path.read_text(encoding="utf-8", errors="replace").splitlines(), 1):
            if pattern.search(line):
                found.append(f"{relative(path)}:{number}")
    assert not found, f"paths of one machine or registry hosts: {found}"


def codes_of_findings() -> Iterator[tuple[str, set[str]]]:
    """Yield where a Finding is made, and the codes that it can have; none where they cannot be read off the source."""
    for path in SOURCES:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.Call) or ast.unparse(node.func).rpartition(".")[2] != "Finding":
                continue
            codes = {keyword.arg: keyword.value for keyword in node.keywords}.get("code")
            either = [codes.body, codes.orelse] if isinstance(codes, ast.IfExp) else [codes]
            told = {str(one.value) for one in either if isinstance(one, ast.Constant)}
            yield f"{relative(path)}:{node.lineno}", told if len(told) == len(either) else set()


def test_every_finding_of_the_doctor_is_told_in_chinese_too() -> None:
    from noonmark.faces.cli.doctor_words import IN_CHINESE

    found = list(codes_of_findings())
    unread = [place for place, codes in found if not codes]
    assert not unread, f"write the code of a Finding out, so that it can be found: {unread}"
    codes = set().union(*(codes for _, codes in found))
    assert len(codes) > 50
    quoting = {"store_refused", "store_absent"}
    assert codes - set(IN_CHINESE) == quoting, "those quote an error, which is translated by itself"
    assert set(IN_CHINESE) <= codes, "words for what no doctor says any more"


def test_no_two_test_files_have_one_name() -> None:
    seen: dict[str, Path] = {}
    for path in sorted([*(ROOT / "tests").rglob("test_*.py"), *(ROOT / "apps").rglob("test_*.py")]):
        assert path.name not in seen, f"pytest would take {relative(path)} for {relative(seen[path.name])}"
        seen[path.name] = path


def test_every_decision_record_is_numbered_and_names_what_holds_it() -> None:
    records = sorted((ROOT / "docs/adr").glob("[0-9]*.md"))
    assert records, "docs/adr is empty"
    for expected, path in enumerate(records, 1):
        text = path.read_text(encoding="utf-8")
        assert path.name.startswith(f"{expected:04d}-"), f"{path.name}: numbers have a gap or a double"
        for heading in (
            "Date:",
            "Status:",
            "## Context",
            "## Decision",
            "## Consequences",
            "## Enforced by",
            "## We were wrong if",
        ):
            assert heading in text, f"{path.name} lacks {heading!r}"
        enforced = text.split("## Enforced by")[1].split("##")[0]
        for name in re.findall(r"`((?:tests|src|apps|bench)/[\w/.\-]+)`", enforced):
            assert (ROOT / name).exists(), f"{path.name} says it is enforced by {name}, which does not exist"
