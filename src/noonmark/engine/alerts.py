"""Alerts and decisions as log lines.

Rule of the file: the stored alert row is the truth; a line here says the same thing once, where people look first.
Whoever formats a log puts a time of another zone before the line, so a moment within it has its offset.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Mapping
from functools import lru_cache
from typing import Any

from noonmark.core.model import AlertWrite, Decision, Job, Micros, Occurrence, Origin
from noonmark.core.reasons import sentence
from noonmark.core.series import next_moment
from noonmark.core.shown import shown_line
from noonmark.core.times import nominal_text

ALERTS = logging.getLogger("noonmark.alert")
RUNS = logging.getLogger("noonmark.run")
DECISIONS = logging.getLogger("noonmark.decision")

_WORDS = {1: (logging.WARNING, "notice"), 2: (logging.WARNING, "raised"), 3: (logging.ERROR, "URGENT")}


def say_alerts(
    alerts: Iterable[AlertWrite], job: Job, row: Occurrence, were_open: Collection[tuple[str, str]] = ()
) -> None:
    """Log each alert: level, job, its owner, run, key, attempt and the reason's sentence.

    An all-clear is written for every kind that may be open, and told only of one that was: ``were_open`` names the
    (job, kind) that the store had, and a row that failed before opened one itself.  It is told of the run: the job's
    alert may stay open for another one that needs a person.
    """
    for alert in alerts:
        if alert.clear:
            if (alert.job, alert.kind) in were_open or (alert.kind == "failing" and _failed_before(row)):
                ALERTS.info("all clear: %s %s (%s)", shown_line(alert.job), row.run_id, alert.kind)
            continue
        if alert.detail.get("update"):  # three alerts for a failing occurrence; between them the open one is updated
            continue
        level, word = _WORDS.get(alert.level, (logging.ERROR, "URGENT"))
        ALERTS.log(
            level,
            "%s: %s %s key=%s attempt=%d owner=%s: %s",
            word,
            shown_line(job.name),
            row.run_id,
            shown_line(row.key),
            row.attempt,
            shown_line(job.owner or "-"),
            _sentence(alert.code, alert.detail, job.tz),
        )


def must_be_looked_up(alerts: Iterable[AlertWrite], row: Occurrence) -> bool:
    """Say whether only the store knows what an all-clear of this row closes: a person had a hand in it.

    ``later`` names whoever asked, too, so an actor alone says nothing: that would be a read for every delayed job.
    """
    is_by_person = row.origin in (Origin.MANUAL, Origin.BACKFILL) or row.first_started_at != row.started_at
    return is_by_person and not _failed_before(row) and any(alert.clear for alert in alerts)


def _failed_before(row: Occurrence) -> bool:
    return row.attempt - row.takeovers > 1


_job_shown = lru_cache(maxsize=1024)(shown_line)
"""A name is shown again with every run."""


def say_start(job: Job, row: Occurrence, fence: int, *, now: Micros, system_zone: str) -> None:
    """Log the entry of a run in one line, with both zones and the next computed time."""
    if not RUNS.isEnabledFor(logging.INFO):
        return
    upcoming = next_moment(job, now) if job.is_series else None
    RUNS.info(
        "run %s job=%s key=%s attempt=%d fence=%d zone=%s system_zone=%s next=%s",
        row.run_id,
        _job_shown(job.name),
        shown_line(row.key),
        row.attempt,
        fence,
        job.tz,
        system_zone,
        nominal_text(upcoming.at, job.tz) if upcoming is not None else "none",
    )


def say_decision(job: Job, row: Occurrence, decision: Decision, worker: str) -> None:
    """Log a decision: its verdict, its reason and the worker that took it."""
    if not DECISIONS.isEnabledFor(logging.INFO):
        return
    DECISIONS.info(
        "%s %s job=%s key=%s worker=%s: %s",
        decision.verdict,
        row.run_id,
        shown_line(job.name),
        shown_line(row.key),
        worker,
        _sentence(decision.code, decision.detail, job.tz),
    )


def _sentence(code: str, detail: Mapping[str, Any], zone: str) -> str:
    try:
        return shown_line(sentence(code, detail, lang="en", zone=zone, with_offset=True))
    except Exception:  # a line of the log must not cost an outcome
        return code
