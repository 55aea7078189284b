"""The proof of ``verify`` as text and JSON.

Rule of the file: formatting only; JSON ``v`` 1 gains fields, never changes them.
"""

from __future__ import annotations

from typing import Any

from noonmark.core import phrasing
from noonmark.core.shown import Named
from noonmark.core.told import Told, job_told, joined, key_told
from noonmark.explain.messages import message
from noonmark.explain.outcomes import OUTCOMES
from noonmark.explain.render import JSON_VERSION, stamp, table
from noonmark.explain.setbacks import setback_lines, setbacks_json
from noonmark.explain.verify import Problem, Report
from noonmark.explain.voice import Voice

_KINDS = {
    "twice": "problem_twice",
    "missing": "problem_missing",
    "overdue": "problem_overdue",
    "forgotten": "problem_forgotten",
    "silent": "problem_silent",
    "ground": "problem_ground",
    "frontier": "problem_frontier",
    "attempts": "problem_attempts",
    "early": "problem_early",
    "importing": "problem_importing",
    "unreadable": "problem_unreadable",
}
_DUPLICATE = "refused_duplicate"
_UNDER_WAY = frozenset({"due", "waiting", "retrying", "running", "planned", "unknown"})
SHOWN = 20
"""Most problems listed in the text; the JSON has them all."""


def report_line(report: Report, lang: str = "en") -> str:
    """Return the proof in one line, as the demo ends with."""
    return message(
        "verify_line",
        lang,
        due=report.due,
        accounted=report.accounted,
        twice=report.twice,
        missing=report.missing,
    )


def report_counts(report: Report, lang: str = "en", *, ended: bool | None = None) -> list[tuple[int, str]]:
    """Return how many of the occurrences that were due ended how, in words, most worth telling first: they add up.

    A refused duplicate is none of them: its key is another occurrence's.

    Args:
        report: the proof.
        lang: "en" or "zh".
        ended: only those that came to their end, or only the others; None: all.
    """
    counts = [(name, count) for name, count in report.outcomes.items() if name in OUTCOMES and name != _DUPLICATE]
    if ended is not None:
        counts = [(name, count) for name, count in counts if (name not in _UNDER_WAY) is ended]
    counts.sort(key=lambda item: -OUTCOMES[item[0]].rank)
    return [(count, OUTCOMES[name].zh if lang == "zh" else OUTCOMES[name].en.lower()) for name, count in counts]


def report_text(report: Report, voice: Voice) -> Told:
    """Return the proof as text: counts by outcome, then every problem with the command that looks closer."""
    workers = voice.say("verify_workers", workers=report.workers)
    if report.died:
        workers = voice.say("verify_died", workers=report.workers, died=report.died)
    since, until = voice.span(report.since, report.until)
    lines: list[str] = [
        voice.say(
            "verify_head",
            due=report.due,
            since=since,
            until=until,
            jobs=sum(1 for name in report.by_job if name),
            workers=workers,
            zone=voice.zone,
        )
    ]
    shown = report_counts(report, voice.lang)
    column = max((len(str(count)) for count, _ in shown), default=1)
    lines += [f"  {count:>{column}} {word}" for count, word in shown]
    if asked := report.outcomes.get(_DUPLICATE, 0) - report.moments_refused:
        lines.append(Told("  " + voice.say("verify_beside", count=asked)))
    if report.moments_refused:
        lines.append(Told("  " + voice.say("verify_beside_moments", count=report.moments_refused)))
    lines.append(report_line(report, voice.lang))
    if report.problems:
        rows = [_problem_row(problem, voice) for problem in report.problems[:SHOWN]]
        lines += [Told(f"  {line}") for line in table(voice.say("verify_table").split("|"), rows).splitlines()]
        if len(report.problems) > SHOWN:
            lines.append(f"  … {len(report.problems) - SHOWN}")
    refused = report.duplicates_refused or report.stale_refused
    if refused:
        lines.append(voice.say("verify_refused", duplicates=report.duplicates_refused, stale=report.stale_refused))
    if report.may_repeat:
        lines.append(voice.say("verify_may_repeat", count=report.may_repeat))
    lines += setback_lines(report, voice)
    if report.former:
        begins = report.until if report.begins is None else report.begins
        lines.append(voice.say("verify_former", at=voice.day_and_clock(begins), former=", ".join(report.former)))
    lines.append(voice.say("verify_ok" if report.ok else "verify_bad"))
    return joined(lines)


def report_json(report: Report, zone: str) -> dict[str, Any]:
    """Return the proof as a versioned, JSON-safe object."""
    return {
        "v": JSON_VERSION,
        "ok": report.ok,
        "since": stamp(report.since, zone),
        "until": stamp(report.until, zone),
        "due": report.due,
        "accounted": report.accounted,
        "ran_twice": report.twice,
        "missing": report.missing,
        "outcomes": dict(report.outcomes),
        "jobs": Named({name: dict(counts) for name, counts in report.by_job.items()}),
        "problems": [
            {
                "kind": problem.kind,
                "job": problem.job,
                "subject": problem.subject,
                "at": stamp(problem.at, zone),
                "key": key_told(problem.job, problem.key),
                "id": problem.occurrence_id,
                "seen": problem.seen,
            }
            for problem in report.problems
        ],
        "workers": report.workers,
        "workers_died": report.died,
        "stale_writes_refused": report.stale_refused,
        "duplicates_refused": report.duplicates_refused,
        "may_repeat": report.may_repeat,
        "begins": None if report.begins is None else stamp(report.begins, zone),
        "former_stores": list(report.former),
        "moments_refused": report.moments_refused,
        "rollbacks": setbacks_json(report, zone),
    }


def _problem_row(problem: Problem, voice: Voice) -> list[str]:
    look = Told(f"noonmark why {problem.job}")
    if problem.occurrence_id is not None:
        look = Told(f"noonmark why --occurrence r{problem.occurrence_id}")
    elif problem.at is not None:
        look = Told(f"{look} --at {stamp(problem.at, voice.zone)}")
    name = job_told(problem.job, problem.subject)
    when = voice.moment(problem.at) if problem.at is not None else "-"
    return [voice.say(_KINDS[problem.kind]), name, when, _seen(problem, voice), look]


def _seen(problem: Problem, voice: Voice) -> str:
    if problem.about:
        return voice.say(problem.about, **problem.args)
    return phrasing.state(problem.seen, voice.lang)
