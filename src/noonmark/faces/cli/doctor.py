"""``noonmark doctor``: is everything as it should be, and what is to be mended?"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from noonmark.core.told import Told, joined
from noonmark.faces.cli import problems
from noonmark.faces.cli.doctor_words import refused as why_refused
from noonmark.faces.cli.doctor_words import told
from noonmark.faces.cli.memories import memories, state_option
from noonmark.faces.cli.session import Command, Session, open_at, settings_of

if TYPE_CHECKING:
    from noonmark.core.model import Job
    from noonmark.ports.doctor import Finding

MARKS = {"ok": "✔", "warn": "!", "refuse": "✖"}
ASCII_MARKS = {"ok": "+", "warn": "!", "refuse": "x"}


@click.command(cls=Command)
@click.argument("app", required=False, envvar="NOONMARK_APP")
@state_option
@click.pass_context
def doctor(ctx: click.Context, app: str | None) -> int:
    """Examine the store, this machine, the workers and the rules, and say what each finding means.

    It makes nothing: of a server that holds no store yet it says what a store there would promise.  APP (or a
    noonmark.yaml that is here) names the rules that are compared with those in force.  Exit code 1 when something must
    be mended, 4 when there is no store or it does not answer.
    """
    from noonmark.wiring import shown

    here = Session(settings_of(ctx))
    found = _examine(here, app)
    ok = all(finding.level != "refuse" for finding in found)
    is_absent = any(finding.code == "store_absent" for finding in found)
    plain = {
        "v": 1,
        "store": shown(here.settings.store_url),
        "ok": ok,
        "findings": [_plain(finding, here.lang) for finding in found],
    }
    here.emit(plain, lambda: _text(here, found))
    if is_absent:
        return problems.UNREACHABLE
    return problems.OK if ok else problems.NO


def _examine(here: Session, app: str | None) -> list[Finding]:
    from importlib.metadata import PackageNotFoundError, version

    from noonmark.explain.doctor import examine, of_this_machine, promises
    from noonmark.ports.clock import SystemClock
    from noonmark.ports.doctor import Finding, StoreAbsent
    from noonmark.ports.store import StoreFull, StoreUnusable

    try:
        own = version("noonmark")
    except PackageNotFoundError:
        own = ""
    found = of_this_machine(own)
    declared, wrong = _declared(app, here.lang)
    found += wrong
    try:
        store = open_at(here.settings.store_url, unfinished=True)
    except StoreAbsent as nothing:
        if not nothing.findings:
            raise  # a file that is not there: nothing was found out
        there = [*nothing.findings, *promises(nothing.promises, nothing.findings)]
        return [*found, *there, Finding(code="store_absent", level="refuse", sentence=str(nothing))]
    except (StoreUnusable, StoreFull) as refused:
        return [*found, Finding(code="store_refused", level="refuse", sentence=why_refused(refused, here.lang))]
    try:
        state = store.import_state() if hasattr(store, "import_state") else None
        if state is not None and state.is_under_way:
            sentence = "A copy into this store is not finished; nobody can work with it yet."
            remedy = "Finish it: noonmark store copy FROM TO --go"
            found.append(Finding(code="copy_unfinished", level="refuse", sentence=sentence, remedy=remedy))
        return [*found, *examine(store, SystemClock(), declared, version=own, memories=memories(here.settings, store))]
    finally:
        store.close()


def _declared(app: str | None, lang: str) -> tuple[Sequence[Job], list[Finding]]:
    """Return the rules that are to be compared; that they are refused is a finding like others, not the end."""
    from noonmark.faces.cli.declared import declared_jobs
    from noonmark.ports.doctor import Finding
    from noonmark.rules.problems import ProblemList

    if app is None:
        if not Path("noonmark.yaml").is_file():
            return (), []
        app = "noonmark.yaml"
    try:
        return declared_jobs(app), []
    except ProblemList as refused:
        detail = {"app": app, "count": len(refused.problems), "first": refused.problems[0].shown(lang)}
    sentence = "The rules of {app} are refused, mistakes: {count}. The first: {first}".format_map(detail)
    remedy = f"See them all: noonmark next --app {app}"
    return (), [Finding(code="rules_refused", level="refuse", sentence=sentence, remedy=remedy, detail=detail)]


def _plain(finding: Finding, lang: str) -> dict[str, object]:
    sentence, remedy = told(finding.code, finding.sentence, finding.remedy, dict(finding.detail), lang)
    return {
        "code": finding.code,
        "level": finding.level,
        "sentence": sentence,
        "remedy": remedy,
        "about": finding.about,
        "detail": dict(finding.detail),
    }


def _text(here: Session, found: Sequence[Finding]) -> str:
    marks = MARKS if here.unicode else ASCII_MARKS
    lines: list[str] = []
    for finding in found:
        sentence, remedy = told(finding.code, finding.sentence, finding.remedy, dict(finding.detail), here.lang)
        lines.append(f"  {marks[finding.level]} {sentence}")
        if remedy:
            lines.append(Told("      " + here.word("to_do", remedy=remedy)))
    warned, refused = (sum(finding.level == level for finding in found) for level in ("warn", "refuse"))
    if refused:
        lines.append(here.word("doctor_refused", refused=refused, warned=warned))
    else:
        lines.append(here.word("doctor_warned", warned=warned) if warned else here.word("doctor_well"))
    return joined(lines)
