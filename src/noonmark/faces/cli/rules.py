"""``noonmark rules``: check, show or apply a rules file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from noonmark.core.shown import printable, redacted_value
from noonmark.core.told import Told, joined, key_told
from noonmark.explain.forecast import over_since
from noonmark.faces.cli import problems
from noonmark.faces.cli.session import Command, Session, session

if TYPE_CHECKING:
    from noonmark.core.model import Job, JobRow
    from noonmark.rules.assemble import Loaded
    from noonmark.rules.problems import Problem

_ACTIONS = ("check", "show", "apply")


@click.command(cls=Command)
@click.argument("words", nargs=-1, required=True, metavar="[check|show|apply] FILE")
@click.pass_context
def rules(ctx: click.Context, words: tuple[str, ...]) -> int:
    """Check a rules file (the default), show it as it is understood, or apply it to the store.

    FILE is noonmark.yaml, or TASK_RULES as YAML or as a Python literal (which is parsed, never executed).  check exits
    with 1 if the file is refused; apply changes nothing then.  show writes it as a noonmark.yaml; with every default:
    noonmark show JOB --app FILE.
    """
    action, *rest = words if words[0] in _ACTIONS else ("check", *words)
    if action == "check" and len(words) == 2 and words[0] != "check" and not Path(words[0]).exists():
        raise problems.Trouble("rules_action", word=words[0])
    if len(rest) != 1:
        raise problems.Trouble("name_rules")
    path = Path(rest[0])
    if path.is_dir():
        raise problems.Trouble("is_folder", path=str(path))
    if not path.is_file():
        raise problems.Trouble("no_file", path=str(path), folder=str(Path.cwd()), code=problems.NOT_FOUND)
    with session(ctx, create=action == "apply") as here:
        if action == "apply":
            here.refuse_pretending()
        loaded = _load(here, path)
        if loaded is None:
            return problems.NO
        if action == "apply":
            return _apply(here, loaded, path)
        return {"check": _check, "show": _show}[action](here, loaded)


def _load(here: Session, path: Path) -> Loaded | None:
    from noonmark.rules.loader import load
    from noonmark.rules.problems import ProblemList

    try:
        return load(path)
    except ProblemList as refused:
        if here.settings.json:
            told = problems.Trouble("rules_refused", problems=refused.shown(here.lang), code=problems.NO)
            found = [_plain(here, problem) for problem in refused.problems]
            here.emit({"v": 1, "ok": False, "error": told.plain(here.lang), "problems": found}, str)
        else:
            click.echo(printable(refused.shown(here.lang)), err=True)
        return None


def _check(here: Session, loaded: Loaded) -> int:
    from noonmark.faces.cli.declared import own_clock
    from noonmark.rules.findings import findings

    found = findings(loaded, now=here.now if here.settings.now else own_clock())
    count = len(loaded.jobs)
    plain = {
        "v": 1,
        "ok": True,
        "jobs": [job.name for job in loaded.jobs],
        "findings": [_plain(here, problem) for problem in found],
    }
    ok = here.word("rules_ok", name=loaded.name, count=count)
    here.emit(plain, lambda: joined([*(Told(f"! {problem.shown(here.lang)}") for problem in found), ok]))
    return problems.OK


def _show(here: Session, loaded: Loaded) -> int:
    from noonmark.core import codec
    from noonmark.rules.writer import to_yaml

    plain = {"v": 1, "jobs": [_without_secrets(job, codec.job_to_plain(job)) for job in loaded.jobs]}
    here.emit(plain, lambda: Told(to_yaml(loaded.jobs, look=_without_secrets).rstrip("\n")))
    return problems.OK


def _without_secrets(job: Job, rule: dict[str, Any]) -> dict[str, Any]:
    """Return a rule to show: value by value, so that what is left is a rule; its key begins with a name, no secret's."""
    shown: dict[str, Any] = redacted_value(rule)
    return shown | {name: key_told(job.name, rule[name]) for name in ("key",) if isinstance(rule.get(name), str)}


def _apply(here: Session, loaded: Loaded, path: Path) -> int:
    from noonmark.engine.deeds import of_rule

    before = {row.name: row for row in here.store.jobs([job.name for job in loaded.jobs])}
    after = {row.name: row for row in register(here, loaded.jobs)}
    lines = [_changed(job, before.get(job.name), after[job.name]) for job in loaded.jobs if job.name in after]
    changed = {name for name, change, _ in lines if change != "unchanged"}
    here.remember(lambda: [of_rule(after[name], str(path), by=here.actor) for name in sorted(changed)])
    plain = {
        "v": 1,
        "jobs": [{"job": name, "change": change, "revision": revision} for name, change, revision in lines],
    }
    here.emit(
        plain,
        lambda: (
            joined(
                here.word("rule_change", job=name, change=here.word(change), revision=revision)
                for name, change, revision in lines
            )
            if lines
            else here.word("rules_none", name=loaded.name)
        ),
    )
    for job in loaded.jobs:
        if last := over_since(job, here.now):
            here.remark(here.word("rule_is_over", job=job.name, last=last))
    if any(not (job.command or job.run) for job in loaded.jobs):
        here.remark(here.word("needs_function"))
    return problems.OK


def register(here: Session, jobs: tuple[Job, ...]) -> list[JobRow]:
    """Make the rules the ones in force, as a worker does when it starts."""
    from noonmark.engine.activate import declare

    return declare(here.store, jobs, actor=here.actor)


def _changed(job: Job, before: JobRow | None, after: JobRow) -> tuple[str, str, int]:
    if before is None:
        return job.name, "added", after.revision
    return job.name, "unchanged" if before.revision == after.revision else "changed", after.revision


def _plain(here: Session, problem: Problem) -> dict[str, Any]:
    return {
        "code": problem.code,
        "file": problem.place.file,
        "line": problem.place.line,
        "column": problem.place.column,
        "path": problem.path,
        "job": problem.job,
        "text": problem.text(here.lang),
    }
