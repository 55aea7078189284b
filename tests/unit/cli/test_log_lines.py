"""A worker's log: how it was asked for, and the times in it."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any

import pytest
from calling import Noonmark

from noonmark.core.model import AlertWrite, Cron, Decision, Event, Verdict
from noonmark.engine import alerts
from noonmark.faces.cli import logs
from noonmark.testing.builders import make_job, make_row


@pytest.fixture
def root() -> Iterator[logging.Logger]:
    """The root logger, put back as it was."""
    logger = logging.getLogger()
    before, level = logger.handlers[:], logger.level
    yield logger
    logger.handlers[:], logger.level = before, level


@pytest.mark.parametrize(
    ("options", "asked"),
    [
        ((), {"form": "text", "level": "info", "zone": ""}),
        (("--json",), {"form": "json", "level": "info", "zone": ""}),
        (("--json", "--log-format", "text"), {"form": "text", "level": "info", "zone": ""}),
        (("-v",), {"form": "text", "level": "debug", "zone": ""}),
        (("-q",), {"form": "text", "level": "warning", "zone": ""}),
        (("-v", "--log-level", "error"), {"form": "text", "level": "error", "zone": ""}),
        (("--tz", "Asia/Tokyo"), {"form": "text", "level": "info", "zone": "Asia/Tokyo"}),
    ],
)
def test_a_worker_heeds_every_option_about_its_log(
    noonmark: Noonmark, monkeypatch: pytest.MonkeyPatch, options: tuple[str, ...], asked: dict[str, Any]
) -> None:
    seen: list[dict[str, Any]] = []
    monkeypatch.setattr(logs, "set_up", lambda **words: seen.append(words))
    assert noonmark("worker", "nothing.py", *options).code == 5
    assert seen == [asked]


def test_a_zone_that_does_not_exist_is_refused(noonmark: Noonmark) -> None:
    answer = noonmark("worker", "nothing.py", "--tz", "Asia/Tokio")
    assert (answer.code, "Asia/Tokyo" in answer.err) == (2, True)


@pytest.mark.parametrize(
    ("zone", "clock"), [("Asia/Tokyo", "09:00:01"), ("UTC", "00:00:01"), ("Asia/Kolkata", "05:30:01")]
)
def test_the_times_of_a_log_are_told_in_the_zone_that_was_asked_for(
    root: logging.Logger, zone: str, clock: str
) -> None:
    logs.set_up(form="text", level="info", zone=zone)
    record = logging.makeLogRecord({"created": 1.0, "msg": "hello", "levelname": "INFO"})
    assert root.handlers[0].format(record).startswith(f"{clock} INFO")


WAITS = Decision(
    verdict=Verdict.SKIP_WINDOW,
    event=Event.PARK,
    code="window_not_open",
    detail={"opens": 1_764_464_400_000_000},  # 2025-11-30 01:00 UTC
    recheck_at=1_764_464_400_000_000,
)


@pytest.mark.parametrize(
    ("zone", "opens"),
    [("Asia/Tokyo", "Sun 30 Nov 2025 10:00 +09:00"), ("America/St_Johns", "Sat 29 Nov 2025 21:30 -03:30")],
)
def test_a_moment_within_a_line_says_its_offset_for_the_time_before_the_line_is_of_another_zone(
    caplog: pytest.LogCaptureFixture, zone: str, opens: str
) -> None:
    job, row = make_job("night", trigger=Cron(expression="0 9 * * *", tz=zone)), make_row()
    with caplog.at_level(logging.INFO):
        alerts.say_decision(job, row, WAITS, "w1")
        alert = AlertWrite(job="night", kind="late", level=1, code=WAITS.code, detail=WAITS.detail)
        alerts.say_alerts([alert], job, row)
    assert [f"it opens at {opens}." in line for line in caplog.messages] == [True, True]
