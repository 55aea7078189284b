"""From the written jobs of one file to Jobs: each is built, then all are checked together.

Rule of the file: whatever way the jobs were written (YAML, TASK_RULES), they end here, so all ways mean the same.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import field
from typing import Any

from noonmark.core.model import Job
from noonmark.core.values import dataclass
from noonmark.rules import checks, shapes
from noonmark.rules.build import Reporter, build_job
from noonmark.rules.problems import Place, Problem, ProblemList
from noonmark.rules.source import got, wanted
from noonmark.rules.tree import Map, find_mark

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


def assemble(
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
    bad = {problem.job for problem in reporter.problems}  # a wrong default, told once, spoils every job it reaches
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
