"""Rules files are read whole: every mistake is reported at once, at its line and column.

Rule of the file: one bad job is its own problem, a bad head (version, defaults, the mapping of jobs) is everybody's.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from noonmark.core.model import Job
from noonmark.rules import checks, schema, shapes
from noonmark.rules.build import Reporter, build_job, suggestion, validate
from noonmark.rules.problems import Place, Problem, ProblemList
from noonmark.rules.source import check_size, got, read_text, read_yaml, wanted
from noonmark.rules.tree import Map, Mark, find_mark

JOB_LIMIT = 100_000
"""Most jobs of one file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Loaded:
    """What a load yields: jobs by the order of the file, and (with ``keep_good``) what was wrong with the others."""

    name: str
    jobs: tuple[Job, ...]
    problems: tuple[Problem, ...] = ()
    written: Mapping[str, Map] = field(default_factory=dict, repr=False)

    def place(self, job: str, *path: str | int) -> tuple[Place, str]:
        """Return where a job's field is written and how its path is spelled; the job itself, where it is not."""
        fields = self.written.get(job)
        if fields is None:
            return Place(file=self.name), job
        mark = find_mark(fields, path) if path else shapes.at_name(fields.mark)
        return Place(file=self.name, line=mark.line, column=mark.column), mark.path


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
        from noonmark.rules.taskrules import loads_literal

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
        from noonmark.rules.taskrules import jobs_of_task_rules

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
    return finish(jobs, defaults, "file", reporter, keep_good=keep_good, known=known)


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


def finish(
    jobs: Map, defaults: Map | None, source: str, reporter: Reporter, *, keep_good: bool, known: Collection[str]
) -> Loaded:
    """Build every job and check them together.

    Raises:
        ProblemList: everything that is wrong, unless ``keep_good`` and only single jobs are bad.
    """
    if len(jobs) > JOB_LIMIT:
        reporter.at("", "too_many_jobs", jobs.mark, {"count": len(jobs), "limit": JOB_LIMIT})
        raise ProblemList(reporter.in_order())
    _blame_jobs(jobs, reporter)
    head_is_good = all(problem.job for problem in reporter.problems)
    built: dict[str, Job] = {}
    for name, fields in jobs.items():
        if not isinstance(fields, Map):
            hint = "write its schedule, reason and so on below it"
            detail = {**wanted("mapping"), **got(fields), "hint": hint, "hint_zh": "请在其下写 schedule、reason 等"}
            reporter.at(name, "wrong_type", jobs.marks[name], detail)
            continue
        own_defaults = None if defaults is None else _copy(defaults)
        job = build_job(name, fields, own_defaults, source, reporter)
        if job is not None:
            built[name] = job
    _check_together(built, jobs, known, reporter)
    problems = reporter.in_order()
    if problems and not keep_good:
        raise ProblemList(problems)
    bad = {
        problem.job for problem in reporter.problems
    }  # a wrong default is told once, but spoils every job it reaches
    good = tuple(job for name, job in built.items() if name not in bad) if head_is_good else ()
    written = {name: fields for name, fields in jobs.items() if isinstance(fields, Map)}
    return Loaded(name=reporter.name, jobs=good, problems=tuple(problems), written=written)


def _blame_jobs(jobs: Map, reporter: Reporter) -> None:
    """Give problems of the text itself (a name twice, a tag) to the job in which they stand."""
    head = f"{jobs.mark.path}." if jobs.mark.path else ""
    for index, problem in enumerate(reporter.problems):
        inside = problem.path.removeprefix(head)
        if problem.job or not problem.path.startswith(head):
            continue
        owner = next((name for name in jobs if inside == name or inside.startswith((f"{name}.", f"{name}["))), "")
        if owner:
            reporter.problems[index] = Problem(
                code=problem.code, place=problem.place, path=problem.path, job=owner, detail=problem.detail
            )


def _check_together(built: Mapping[str, Job], jobs: Map, known: Collection[str], reporter: Reporter) -> None:
    def say(name: str, path: tuple[str | int, ...], code: str, /, **detail: Any) -> None:
        reporter.at(name, code, find_mark(jobs[name], path), detail)

    # a job of which nothing could be made is still there: who waits for it made no mistake
    checks.check_together(built, {*known, *jobs}, say)


def _copy(part: Map) -> Map:
    """Copy the defaults for one job, so that what one job changes in them does not reach the next."""
    fresh = Map(part.mark)
    for name, value in part.items():
        fresh.put(name, _copy(value) if isinstance(value, Map) else value, part.marks[name])
    return fresh
