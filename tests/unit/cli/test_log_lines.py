"""A worker's log: how it was asked for, and the times in it."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any

import pytest
from calling import Noonmark

from noonmark.faces.cli import logs


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
