"""Expressions as people write them in files of other schedulers, read at noon of Sunday 29 November 2026 (UTC).

The expected moments were worked out by a walk over every minute, and compared with several libraries.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "cases"))

from as_written import NOON, SPANS, WRITTEN

from noonmark.core import cron, times
from noonmark.core.model import HOUR


@pytest.mark.parametrize(("expression", "zone", "moments"), WRITTEN)
def test_an_expression_found_in_a_file_means_what_its_writer_meant(expression: str, zone: str, moments: str) -> None:
    rule = cron.parse_cron(expression, zone)
    found, moment = [], times.parse_instant(NOON, None)
    for _ in range(3):
        following = rule.next_after(moment)
        assert following is not None
        assert rule.matches(following)
        assert rule.previous_before(following + 1) == following
        found.append(times.to_datetime(following).strftime("%Y-%m-%dT%H:%MZ"))
        moment = following
    assert found == moments.split()


def test_a_minute_that_no_hour_has_is_refused() -> None:
    with pytest.raises(ValueError, match="minute"):
        cron.parse_cron("99 * * * *", "UTC")


@pytest.mark.parametrize(("expression", "zone", "after", "moments"), SPANS)
def test_an_expression_found_in_a_file_goes_through_a_change_of_the_clocks(
    expression: str, zone: str, after: str, moments: str
) -> None:
    rule, moment, found = cron.parse_cron(expression, zone), times.parse_instant(after, None), []
    for _ in moments.split():
        following = rule.next_after(moment)
        assert following is not None
        assert moment < following < moment + 24 * HOUR + HOUR
        found.append(times.clock_text(following, "UTC") + "Z")
        moment = following
    assert found == moments.split()
