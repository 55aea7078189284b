"""What to do, as commands to copy: with the names, the moments and the params of the occurrence that is explained.

Rule of the file: pure; whatever somebody else wrote is quoted for a shell.
"""

from __future__ import annotations

import re
import shlex

from noonmark.core.conditions import fact_subject
from noonmark.core.model import Micros, Occurrence
from noonmark.core.moments import moment_at
from noonmark.core.stored import object_of
from noonmark.explain.explanation import Scene
from noonmark.explain.fragments import asked_with
from noonmark.explain.meant import for_text

_RUN = "noonmark run JOB"


def again(remedy: str, scene: Scene, moment: Micros) -> str:
    """Return how the moment that a row stands for is asked for once more, where it is over; "" for any other row."""
    job, row = scene.job, scene.row
    if _RUN not in remedy or job is None or not job.is_series or moment > scene.now or moment_at(job, moment) is None:
        return ""
    return f" --for {for_text(job, moment, row.business_date, scene.voice.zone)}"


def commands(row: Occurrence, outcome: str, when: str) -> tuple[str, ...]:
    """Return the commands to copy for what became of a row; ``when``: how its moment is written after ``--for``."""
    if outcome in ("missed", "failed"):
        run = f"noonmark retry r{row.id}"
        if when and row.code == "window_closed":  # its key is held by it, and its window may not be open for long
            wish = f"--for {when}{asked_with(row)} --again --override window"
            run = f'noonmark run {shlex.quote(row.job)} {wish} --reason "…" --dry-run'
        return (run, f'noonmark mark r{row.id} handled --reason "…"')
    if outcome == "refused_duplicate" and row.duplicate_of:
        return (f"noonmark why --occurrence r{row.duplicate_of}",)
    return ()


def filled_in(remedy: str, row: Occurrence, when: str = "") -> str:
    """Put this occurrence into the commands of a remedy, so that they can be copied."""
    missing = object_of(row.detail).get("missing")
    if isinstance(missing, list) and missing and isinstance(missing[0], str):
        kind, name, _ = fact_subject(missing[0])
        name = shlex.quote(name.partition("[")[0] if kind == "success" else name)
        places = ("OTHER-JOB", "该任务") if kind == "success" else ("FLAG", "标志")
        for place in places:
            remedy = re.sub(rf"(noonmark \w+ ){place}(?![\w-])", lambda found: found[1] + name, remedy)
    remedy = re.sub(r"\bRUN\b", f"r{row.id}", remedy)
    if not row.job:  # a key that was cancelled before anybody asked: which job it was for nobody said
        return remedy
    job = shlex.quote(row.job)
    remedy = remedy.replace(_RUN, f"noonmark run {job}{when}{asked_with(row)}")
    return re.sub(r"(?<!-)\bJOB\b", lambda _: job, remedy)
