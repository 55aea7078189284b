"""Alerts and decisions as log lines.

Rule of the file: the stored alert row is the truth; a line here says the same thing once, where people look first.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from typing import Any

from noonmark.core.model import AlertWrite, Decision, Job, Micros, Occurrence
from noonmark.core.reasons import sentence
from noonmark.core.series import next_moment
from noonmark.core.shown import shown_line
from noonmark.core.times import nominal_text

ALERTS = logging.getLogger("noonmark.alert")
RUNS = logging.getLogger("noonmark.run")
DECISIONS = logging.getLogger("noonmark.decision")

_WORDS = {1: (logging.WARNING, "notice"), 2: (logging.WARNING, "raised"), 3: (logging.ERROR, "URGENT")}


def say_alerts(alerts: Iterable[AlertWrite], job: Job, row: Occurrence) -> None:
    """Log each alert: level, job, its owner, run, key, attempt and the reason's sentence."""
    for alert in alerts:
        if alert.clear:
            ALERTS.info("all clear: %s (%s)", shown_line(alert.job), alert.kind)
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


def say_start(job: Job, row: Occurrence, fence: int, *, now: Micros, system_zone: str) -> None:
    """Log the entry of a run in one line, with both zones and the next computed time."""
    if not RUNS.isEnabledFor(logging.INFO):
        return
    upcoming = next_moment(job, now) if job.is_series else None
    RUNS.info(
        "run %s job=%s key=%s attempt=%d fence=%d zone=%s system_zone=%s next=%s",
        row.run_id,
        shown_line(job.name),
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
        return shown_line(sentence(code, detail, lang="en", zone=zone))
    except Exception:  # a line of the log must not cost an outcome
        return code
