"""Expressions as people write them in files of other schedulers, read at noon of Sunday 29 November 2026 (UTC).

The expected moments were worked out by a walk over every minute, and compared with several libraries.
"""

from __future__ import annotations

import pytest

from noonmark.core import cron, times

NOON = times.parse_instant("2026-11-29T12:00Z", None)
WRITTEN = [
    # expression, zone, the next three moments in UTC
    ("*/1 * * * *", "UTC", "2026-11-29T12:01Z 2026-11-29T12:02Z 2026-11-29T12:03Z"),
    ("* * * * *", "UTC", "2026-11-29T12:01Z 2026-11-29T12:02Z 2026-11-29T12:03Z"),
    ("0 2 * * *", "Asia/Kolkata", "2026-11-29T20:30Z 2026-11-30T20:30Z 2026-12-01T20:30Z"),
    ("10 2-12 * * 1-5", "UTC", "2026-11-30T02:10Z 2026-11-30T03:10Z 2026-11-30T04:10Z"),
    ("15 0 * * *", "UTC", "2026-11-30T00:15Z 2026-12-01T00:15Z 2026-12-02T00:15Z"),
    ("0 03 * * *", "UTC", "2026-11-30T03:00Z 2026-12-01T03:00Z 2026-12-02T03:00Z"),
    ("0 2 3 1,4,7,10 *", "UTC", "2027-01-03T02:00Z 2027-04-03T02:00Z 2027-07-03T02:00Z"),
    ("0,30 * * * *", "UTC", "2026-11-29T12:30Z 2026-11-29T13:00Z 2026-11-29T13:30Z"),
    ("18 */6 * * *", "UTC", "2026-11-29T12:18Z 2026-11-29T18:18Z 2026-11-30T00:18Z"),
    ("30 21 * * *", "Etc/UTC", "2026-11-29T21:30Z 2026-11-30T21:30Z 2026-12-01T21:30Z"),
    ("17 3,9,15,21 * * *", "Europe/Madrid", "2026-11-29T14:17Z 2026-11-29T20:17Z 2026-11-30T02:17Z"),
    ("41 3 * * *", "UTC", "2026-11-30T03:41Z 2026-12-01T03:41Z 2026-12-02T03:41Z"),
    ("15 8,19 * * *", "Europe/Madrid", "2026-11-29T18:15Z 2026-11-30T07:15Z 2026-11-30T18:15Z"),
    ("30 2 * * *", "UTC", "2026-11-30T02:30Z 2026-12-01T02:30Z 2026-12-02T02:30Z"),
    ("0 3 * * *", "Europe/Madrid", "2026-11-30T02:00Z 2026-12-01T02:00Z 2026-12-02T02:00Z"),
    ("*/2 * * * *", "UTC", "2026-11-29T12:02Z 2026-11-29T12:04Z 2026-11-29T12:06Z"),
    ("* * * * *", "America/Bahia", "2026-11-29T12:01Z 2026-11-29T12:02Z 2026-11-29T12:03Z"),
    ("*/30 * * * *", "UTC", "2026-11-29T12:30Z 2026-11-29T13:00Z 2026-11-29T13:30Z"),
    ("0 0 * * mon", "UTC", "2026-11-30T00:00Z 2026-12-07T00:00Z 2026-12-14T00:00Z"),
    ("30 3 1 * *", "Asia/Kolkata", "2026-11-30T22:00Z 2026-12-31T22:00Z 2027-01-31T22:00Z"),
    ("5 0 1 1 *", "UTC", "2027-01-01T00:05Z 2028-01-01T00:05Z 2029-01-01T00:05Z"),
    ("0 9 * * 1", "UTC", "2026-11-30T09:00Z 2026-12-07T09:00Z 2026-12-14T09:00Z"),
    ("0 6 * * 1", "UTC", "2026-11-30T06:00Z 2026-12-07T06:00Z 2026-12-14T06:00Z"),
    ("0 0,12 * * *", "UTC", "2026-11-30T00:00Z 2026-11-30T12:00Z 2026-12-01T00:00Z"),
    ("0 */6 * * *", "UTC", "2026-11-29T18:00Z 2026-11-30T00:00Z 2026-11-30T06:00Z"),
    ("0 * * * *", "UTC", "2026-11-29T13:00Z 2026-11-29T14:00Z 2026-11-29T15:00Z"),
    ("0 8 1-7 * *", "UTC", "2026-12-01T08:00Z 2026-12-02T08:00Z 2026-12-03T08:00Z"),
    ("30 23 L * *", "America/Santiago", "2026-12-01T02:30Z 2027-01-01T02:30Z 2027-02-01T02:30Z"),
    ("0 8 L * *", "UTC", "2026-11-30T08:00Z 2026-12-31T08:00Z 2027-01-31T08:00Z"),
    ("5 0 * * *", "America/Sao_Paulo", "2026-11-30T03:05Z 2026-12-01T03:05Z 2026-12-02T03:05Z"),
    ("0 8-23/2 11-20 * *", "Europe/Warsaw", "2026-12-11T07:00Z 2026-12-11T09:00Z 2026-12-11T11:00Z"),
    ("@daily", "UTC", "2026-11-30T00:00Z 2026-12-01T00:00Z 2026-12-02T00:00Z"),
    ("0 2 * * 0", "UTC", "2026-12-06T02:00Z 2026-12-13T02:00Z 2026-12-20T02:00Z"),
    ("0 16 * * Mon-FRI", "Asia/Kathmandu", "2026-11-30T10:15Z 2026-12-01T10:15Z 2026-12-02T10:15Z"),
    ("5,15,25,35,45,55 * * * *", "Europe/Oslo", "2026-11-29T12:05Z 2026-11-29T12:15Z 2026-11-29T12:25Z"),
    (
        "45 0,3,6,9,12,14,16,18,20,22 * * *",
        "America/Los_Angeles",
        "2026-11-29T14:45Z 2026-11-29T17:45Z 2026-11-29T20:45Z",
    ),
    ("0 2 3 * *", "US/Central", "2026-12-03T08:00Z 2027-01-03T08:00Z 2027-02-03T08:00Z"),
    ("0 * * * *", "US/Central", "2026-11-29T13:00Z 2026-11-29T14:00Z 2026-11-29T15:00Z"),
    ("00 */3 15-25/2 May 1-5", "America/Los_Angeles", "2027-05-03T07:00Z 2027-05-03T10:00Z 2027-05-03T13:00Z"),
    ("@yearly", "America/Los_Angeles", "2027-01-01T08:00Z 2028-01-01T08:00Z 2029-01-01T08:00Z"),
    ("30 9 * * 1-5", "America/New_York", "2026-11-30T14:30Z 2026-12-01T14:30Z 2026-12-02T14:30Z"),
    ("0 18 * * 0", "America/New_York", "2026-11-29T23:00Z 2026-12-06T23:00Z 2026-12-13T23:00Z"),
    ("0 21 1,15 * 1", "UTC", "2026-11-30T21:00Z 2026-12-01T21:00Z 2026-12-07T21:00Z"),
    ("0 0 1,15 * 1", "UTC", "2026-11-30T00:00Z 2026-12-01T00:00Z 2026-12-07T00:00Z"),
    ("* */6 * * *", "UTC", "2026-11-29T12:01Z 2026-11-29T12:02Z 2026-11-29T12:03Z"),
    ("0 0 * * 1#1,3#2", "UTC", "2026-12-07T00:00Z 2026-12-09T00:00Z 2027-01-04T00:00Z"),
    ("0 0 29 2 *", "UTC", "2028-02-29T00:00Z 2032-02-29T00:00Z 2036-02-29T00:00Z"),
    ("0 0 15 * 1", "UTC", "2026-11-30T00:00Z 2026-12-07T00:00Z 2026-12-14T00:00Z"),
    ("30 16 * * SUN", "UTC", "2026-11-29T16:30Z 2026-12-06T16:30Z 2026-12-13T16:30Z"),
    ("0 17 8-14 * SUN", "UTC", "2026-11-29T17:00Z 2026-12-06T17:00Z 2026-12-08T17:00Z"),
    ("20 16 * * 0", "Canada/Eastern", "2026-11-29T21:20Z 2026-12-06T21:20Z 2026-12-13T21:20Z"),
    ("0 14 * * SAT,SUN", "UTC", "2026-11-29T14:00Z 2026-12-05T14:00Z 2026-12-06T14:00Z"),
    ("19 * * * *", "UTC", "2026-11-29T12:19Z 2026-11-29T13:19Z 2026-11-29T14:19Z"),
]


@pytest.mark.parametrize(("expression", "zone", "moments"), WRITTEN)
def test_an_expression_found_in_a_file_means_what_its_writer_meant(expression: str, zone: str, moments: str) -> None:
    rule = cron.parse_cron(expression, zone)
    found, moment = [], NOON
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


def test_the_question_mark_of_other_dialects_is_refused_with_what_to_write() -> None:
    with pytest.raises(ValueError, match=r"write \* instead of \?"):
        cron.parse_cron("0 9 ? * THU", "UTC")
