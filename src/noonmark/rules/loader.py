"""Rules files are read whole: every mistake is reported at once, at its line and column.

Rule of the file: one bad job is its own problem, a bad head (version, defaults, the mapping of jobs) is everybody's.
"""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Any

from noonmark.rules import schema, shapes
from noonmark.rules.assemble import Loaded, assemble
from noonmark.rules.build import Reporter, suggestion, validate
from noonmark.rules.problems import ProblemList
from noonmark.rules.source import check_size, got, read_text, read_yaml, wanted
from noonmark.rules.taskrules import jobs_of_task_rules, loads_literal
from noonmark.rules.tree import Map, Mark


def load(path: str | Path, *, keep_good: bool = False, known: Collection[str] = ()) -> Loaded:
    """Read a rules file: ``noonmark.yaml``, TASK_RULES as YAML, or a Python file with a TASK_RULES literal.

    Args:
        path: the file; ``.py`` is parsed as Python and never executed.
        keep_good: return the good jobs together with the problems, instead of refusing the file.
        known: names of jobs declared elsewhere, for conditions that name them.

    Raises:
        ProblemList: everything that is wrong.  With ``keep_good`` only what makes the whole file unreadable.
    """
    file = Path(path)
    text = read_text(file, str(path))
    if file.suffix == ".py":
        return loads_literal(text, name=str(path), keep_good=keep_good, known=known)
    return loads(text, name=str(path), keep_good=keep_good, known=known)


def loads(text: str, *, name: str = "noonmark.yaml", keep_good: bool = False, known: Collection[str] = ()) -> Loaded:
    """Read rules from YAML text, as ``load`` does from a file.

    Raises:
        ProblemList: everything that is wrong.
    """
    check_size(text, name)
    root, problems = read_yaml(text, name)
    reporter = Reporter(name)
    reporter.problems.extend(problems)
    if isinstance(root, Map) and "TASK_RULES" in root and "jobs" not in root:
        return jobs_of_task_rules(
            root["TASK_RULES"], root.marks["TASK_RULES"], reporter, keep_good=keep_good, known=known
        )
    if not isinstance(root, Map):
        whole = Mark(1, 1, "")
        reporter.at(
            "",
            "wrong_type",
            whole,
            {
                **wanted("mapping"),
                **got(root),
                "hint": "begin with version: 1 and jobs:",
                "hint_zh": "请以 version: 1 和 jobs: 开头",
            },
        )
        raise ProblemList(reporter.in_order())
    jobs, defaults = _head(root, reporter)
    return assemble(jobs, defaults, "file", reporter, keep_good=keep_good, known=known)


def _head(root: Map, reporter: Reporter) -> tuple[Map, Map | None]:
    """Check the top of the file; return its jobs and defaults."""

    def report(code: str, mark: Mark, /, **detail: Any) -> None:
        reporter.at("", code, mark, detail)

    shapes.refuse_later(root, shapes.LATER_TOP, report)
    for name in [name for name in root if name not in schema.KNOWN[""] and not name.startswith("x-")]:
        _, mark = root.drop(name)
        hint, hint_zh = suggestion(name, "")
        report("unknown_field", shapes.at_name(mark), hint=hint, hint_zh=hint_zh)
    version = root.get("version")
    if "version" not in root:
        report("version_missing", Mark(1, 1, "version"))
    elif isinstance(version, bool) or version != 1 or not isinstance(version, int):
        shown = f'"{version}"' if isinstance(version, str) else version
        report("version_unknown", root.marks["version"], value=shown)
    defaults = root.get("defaults")
    if isinstance(defaults, Map):
        defaults = _defaults(defaults, report)
    elif defaults is not None:
        report(
            "wrong_type",
            root.marks["defaults"],
            **wanted("mapping"),
            **got(defaults),
            hint="write defaults: {tz: ..}",
            hint_zh="请写 defaults: {tz: ..}",
        )
    jobs = root.get("jobs")
    if isinstance(jobs, Map):
        return jobs, defaults if isinstance(defaults, Map) else None
    if jobs is None:
        report("jobs_missing", root.mark_of("jobs"))
    else:
        report(
            "wrong_type",
            root.marks["jobs"],
            **wanted("mapping"),
            **got(jobs),
            hint="write each job under its name",
            hint_zh="请在任务名下写每个任务",
        )
    return Map(root.mark), None


def _defaults(defaults: Map, report: shapes.Report) -> Map:
    """Bring the defaults into shape; a trigger cannot be a default."""
    for name in [name for name in defaults if name in shapes.TRIGGERS or name in ("anchor", "delay", "schedule")]:
        _, mark = defaults.drop(name)
        hint, hint_zh = suggestion(name, "defaults")
        report("unknown_field", shapes.at_name(mark), hint=hint, hint_zh=hint_zh)
    shapes.normalise_job(defaults, report)
    validate(schema.DefaultsIn, defaults, "defaults", report)
    return defaults
