"""What the source of noonmark never does: load objects from bytes, run text as code, or hand a line to a shell."""

from __future__ import annotations

import ast
import functools
import re
from pathlib import Path

import pytest

import noonmark

ROOT = Path(noonmark.__file__).parent
FILES = sorted(path for path in ROOT.rglob("*.py"))
FORBIDDEN_MODULES = frozenset({"pickle", "cPickle", "dill", "cloudpickle", "marshal", "shelve", "jsonpickle", "yaml"})
PLANTS_BUGS = "sim/exhaustive/mutants.py"
"""Compiles functions of ours with one line changed, in tests of the tests; no text of anybody's reaches it."""
COMPILED_FROM_OWN_FIELDS = frozenset(
    {
        "stores/sqlite/rows.py",
        "stores/postgres/rows.py",
        "stores/redis/wire.py",
        "core/model/quick.py",
        "core/values.py",
    }
)
"""They write out the assignments of a value; the text is made of the field names of our own dataclasses, nothing else."""
RUNS_THE_JOBS_OWN_SCRIPT = frozenset({"engine/child.py"})
"""A job declared in a script is found by running that very script, as its worker did."""


@functools.cache
def trees() -> list[tuple[str, ast.Module]]:
    return [(str(path.relative_to(ROOT)), ast.parse(path.read_text(encoding="utf-8"))) for path in FILES]


@functools.cache
def calls() -> list[tuple[str, str, ast.Call]]:
    return [
        (name, ast.unparse(node.func), node)
        for name, tree in trees()
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
    ]


def test_there_is_source_to_look_at() -> None:
    assert len(FILES) > 200


def test_no_module_that_makes_objects_from_bytes_is_imported() -> None:
    found = []
    for name, tree in trees():
        for node in ast.walk(tree):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            found += [(name, module) for module in names if module.partition(".")[0] in FORBIDDEN_MODULES]
    assert found == []


def test_text_is_never_evaluated() -> None:
    found = {name for name, function, _ in calls() if function in ("eval", "builtins.eval", "compile", "__import__")}
    assert found == {PLANTS_BUGS}


def test_the_only_code_that_is_compiled_is_made_of_our_own_field_names() -> None:
    run = [(name, node) for name, function, node in calls() if function in ("exec", "builtins.exec")]
    found = {name for name, node in run if [ast.unparse(word) for word in node.args] != ["''"]}  # no text is no code
    assert found == COMPILED_FROM_OWN_FIELDS | {PLANTS_BUGS}
    for name in COMPILED_FROM_OWN_FIELDS:
        text = (ROOT / name).read_text(encoding="utf-8")
        assert re.search(r"fields\((Occurrence|cls)\)", text), name


def test_the_only_script_that_is_run_is_the_jobs_own() -> None:
    assert {name for name, function, _ in calls() if function.startswith("runpy.")} == RUNS_THE_JOBS_OWN_SCRIPT


def test_nothing_is_handed_to_a_shell() -> None:
    found = [
        (name, function)
        for name, function, node in calls()
        if function in ("os.system", "os.popen", "subprocess.getoutput", "subprocess.getstatusoutput")
        or function.endswith("create_subprocess_shell")
        or any(word.arg == "shell" and ast.unparse(word.value) != "False" for word in node.keywords)
    ]
    assert found == []


def test_yaml_is_only_composed_by_the_safe_loader_and_never_turned_into_objects() -> None:
    makers = [(name, ast.unparse(node)) for name, function, node in calls() if function == "YAML"]
    assert {made for _, made in makers} == {"YAML(typ='safe', pure=True)", "YAML(typ='rt')"}
    assert [name for name, made in makers if made == "YAML(typ='rt')"] == ["rules/writer.py"], "it writes"
    loads = [
        name
        for name, function, _ in calls()
        if function.endswith((".load", ".load_all")) and "yaml" in function.lower()
    ]
    assert loads == []


@pytest.mark.parametrize("name", ["engine/process.py", "engine/child.py"])
def test_the_channel_to_a_jobs_process_carries_json(name: str) -> None:
    text = (ROOT / name).read_text(encoding="utf-8")
    assert "json.loads(line)" in text
    assert "multiprocessing" not in text
