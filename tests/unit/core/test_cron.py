"""Cron rules against a scan of every minute, and the three questions against each other."""

from __future__ import annotations

import time
from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from zoneinfo import ZoneInfo

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from noonmark.core import cron, times
from noonmark.core.model import DAY, HOUR, MINUTE, SECOND

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
# Spans of three days round changes of offset: an hour, half an hour, at midnight, a lost day, twice a year, none.
CHANGES = [
    ("America/New_York", "2026-03-07"),
    ("America/New_York", "2026-10-31"),
    ("Europe/London", "2026-03-28"),
    ("Europe/London", "2026-10-24"),
    ("Australia/Lord_Howe", "2026-04-04"),
    ("Australia/Lord_Howe", "2026-10-03"),
    ("Africa/Cairo", "2027-04-29"),
    ("Africa/Cairo", "2026-10-29"),
    ("America/Santiago", "2026-09-05"),
    ("America/St_Johns", "2006-10-28"),  # back at one minute past midnight: the date itself is left and met again
    ("Antarctica/Troll", "2026-03-28"),
    ("Antarctica/Troll", "2026-10-24"),
    ("Pacific/Apia", "2011-12-29"),
    ("Africa/Casablanca", "2026-02-14"),
    ("Asia/Shanghai", "2026-12-31"),
    ("UTC", "2028-02-28"),
]


@dataclass(frozen=True)
class Field:
    """A field as text and, made together with it, as the set it means."""

    text: str
    values: frozenset[int]


@dataclass(frozen=True)
class Wall:
    """Three days minute by minute: every wall-clock minute with the first instant that shows it, or that is past it."""

    shown: tuple[tuple[datetime, int], ...]
    first: tuple[tuple[datetime, int], ...]


@lru_cache(maxsize=64)
def wall(zone: str, day: str) -> Wall:
    start = datetime.fromisoformat(day).replace(tzinfo=UTC)
    instants = [start + count * timedelta(minutes=1) for count in range(3 * 1440)]
    shown = [
        (instant.astimezone(ZoneInfo(zone)).replace(tzinfo=None), (instant - EPOCH) // timedelta(microseconds=1))
        for instant in instants
    ]
    first: list[tuple[datetime, int]] = []
    for at, instant in shown:
        following = first[-1][0] + timedelta(minutes=1) if first else at
        while following <= at:  # one round for an ordinary minute, many at the end of a gap, none in a fold
            first.append((following, instant))
            following += timedelta(minutes=1)
    return Wall(tuple(shown), tuple(first))


def scan(fields: list[Field], zone: str, day: str) -> list[int]:
    """Walk through every minute, as a patient person with a zone's clock on the wall would."""
    minute, hour, dom, month, dow = fields
    either = dom.text[0] != "*" and dow.text[0] != "*"
    weekdays = {value % 7 for value in dow.values}

    def wanted(at: datetime) -> bool:
        if at.minute not in minute.values or at.hour not in hour.values or at.month not in month.values:
            return False
        in_dom, in_dow = at.day in dom.values, at.isoweekday() % 7 in weekdays
        return (in_dom or in_dow) if either else (in_dom and in_dow)

    clock = wall(zone, day)
    follows_real_time = minute.text[0] == "*" or hour.text[0] == "*"
    return sorted({instant for at, instant in (clock.shown if follows_real_time else clock.first) if wanted(at)})


def one_field(low: int, high: int, *, few: bool = False) -> st.SearchStrategy[Field]:
    every = frozenset(range(low, high + 1))
    star = st.just(Field("*", every))
    step = st.integers(2, high - low).map(lambda size: Field(f"*/{size}", frozenset(range(low, high + 1, size))))
    single = st.integers(low, high).map(lambda value: Field(str(value), frozenset({value})))
    span = st.tuples(st.integers(low, high), st.integers(low, high)).map(
        lambda ends: Field(f"{min(ends)}-{max(ends)}", frozenset(range(min(ends), max(ends) + 1)))
    )
    several = st.lists(st.one_of(single, span), min_size=2, max_size=3).map(
        lambda parts: Field(",".join(part.text for part in parts), frozenset().union(*(part.values for part in parts)))
    )
    return st.one_of(single, several, step, star) if few else st.one_of(star, step, single, span, several)


expressions = st.tuples(
    one_field(0, 59, few=True),
    one_field(0, 23, few=True),
    st.one_of(st.just(Field("*", frozenset(range(1, 32)))), one_field(1, 31)),
    st.one_of(st.just(Field("*", frozenset(range(1, 13)))), one_field(1, 12)),
    st.one_of(st.just(Field("*", frozenset(range(8)))), one_field(0, 7)),
).map(list)


@settings(max_examples=150, deadline=None)
@given(expressions, st.sampled_from(CHANGES), st.data())
def test_next_and_previous_and_matches_agree_with_a_scan_of_every_minute(
    fields: list[Field], change: tuple[str, str], data: st.DataObject
) -> None:
    zone, day = change
    try:
        rule = cron.parse_cron(" ".join(field.text for field in fields), zone)
    except cron.CronError as refused:
        assume("never occurs" not in str(refused))
        raise
    expected = scan(fields, zone, day)
    start = times.parse_instant(f"{day}T00:00:00Z", None)
    # Away from the edges, where the scan sees neither the time before a gap nor the first pass of a fold.
    low, high = start + 4 * HOUR, start + 3 * DAY - 4 * HOUR
    inside = [at for at in expected if low < at < high]
    walked: list[int] = []
    at = low
    while (following := rule.next_after(at)) is not None and following < high and len(walked) < 4000:
        walked.append(at := following)
    assert walked == inside
    moment = data.draw(st.integers(low, high))
    assert rule.matches(moment // SECOND * SECOND) == (moment // SECOND * SECOND in expected)
    earlier = bisect_left(expected, moment) - 1
    if earlier >= 0 and expected[earlier] > low:
        assert rule.previous_before(moment) == expected[earlier]
    later = bisect_right(expected, moment)
    if later < len(expected) and expected[later] < high:
        assert rule.next_after(moment) == expected[later]


@settings(max_examples=150, deadline=None)
@given(
    st.sampled_from(
        [
            "0 0 L * *",
            "0 9 LW * *",
            "30 1 * * 5L",
            "0 2 * * MON#1",
            "15 30 1 * * *",
            "*/20 * * * * *",
            "0,30 59 23,0 * * *",
            "0 0 29 2 *",
            "0 2 1-7 * SUN",
            "5 4 * 3,11 7",
            "@weekly",
        ]
    ),
    st.sampled_from(sorted({zone for zone, _ in CHANGES})),
    st.integers(times.parse_instant("1995-01-01T00:00:00Z", None), times.parse_instant("2060-01-01T00:00:00Z", None)),
)
def test_next_previous_and_matches_tell_one_story(expression: str, zone: str, now: int) -> None:
    rule = cron.parse_cron(expression, zone)
    following = rule.next_after(now)
    assert following is not None
    assert following > now
    assert rule.matches(following)
    earlier = rule.previous_before(following)
    assert earlier is not None
    assert earlier <= now
    assert rule.matches(earlier)
    assert rule.next_after(earlier) == following
    assert rule.previous_before(following + 1) == following
    assert rule.next_after(following - 1) == following
    if now not in (earlier, following):
        assert not rule.matches(now)


def test_answers_do_not_depend_on_fractions_of_a_second() -> None:
    rule = cron.parse_cron("0 9 * * *", "Asia/Shanghai")
    nine = times.parse_instant("2026-11-28T01:00:00Z", None)
    assert rule.next_after(nine - 1) == nine
    assert rule.next_after(nine + 1) == nine + DAY
    assert rule.previous_before(nine + 1) == nine
    assert not rule.matches(nine + 1)


def test_every_second_is_walked_by_seconds() -> None:
    rule = cron.parse_cron("* * * * * *", "UTC")
    assert [rule.next_after(count * SECOND) for count in range(3)] == [SECOND, 2 * SECOND, 3 * SECOND]
    assert rule.previous_before(5 * SECOND) == 4 * SECOND


@pytest.mark.parametrize(
    ("expression", "same"),
    [
        ("@daily", "0 0 * * *"),
        ("@Hourly", "0 * * * *"),
        ("  0   9\t* * mon-fri ", "0 9 * * MON-FRI"),
        ("0 0 9 * * *", "0 9 * * *"),
        ("00 */5 * * * *", "*/5 * * * *"),
        ("30 0 9 * * *", "30 0 9 * * *"),
    ],
)
def test_one_meaning_has_one_normal_form(expression: str, same: str) -> None:
    assert cron.parse_cron(expression, "UTC").normalised == same
    assert cron.parse_cron(same, "UTC").normalised == same


@pytest.mark.parametrize(
    ("expression", "is_fixed"),
    [
        ("0 9 * * *", True),
        ("0 30 9 * * *", True),
        ("15 30 9 * * *", True),
        ("*/5 * * * *", False),
        ("0 * * * *", False),
        ("*/5 9 * * *", False),
        ("*/10 30 9 * * *", False),
    ],
)
def test_fixed_times_are_told_from_intervals(expression: str, is_fixed: bool) -> None:
    assert cron.parse_cron(expression, "Europe/Berlin").is_fixed_time is is_fixed


@pytest.mark.parametrize(
    ("expression", "gap"),
    [
        ("* * * * * *", SECOND),
        ("0,50 * * * * *", 10 * SECOND),
        ("*/5 * * * *", 5 * MINUTE),
        ("0,50 * * * *", 10 * MINUTE),
        ("0,50 9 * * *", 50 * MINUTE),
        ("0,50 9,12 * * *", 50 * MINUTE),
        ("0 9-17 * * *", HOUR),
        ("0 1-23/2 * * *", 2 * HOUR),
        ("0 9 * * *", DAY),
        ("58,2 23,0 * * *", 4 * MINUTE),
    ],
)
def test_the_shortest_gap_is_that_of_the_clock(expression: str, gap: int) -> None:
    assert cron.parse_cron(expression, "UTC").shortest_gap == gap


@pytest.mark.parametrize(
    ("expression", "says"),
    [
        ("", "has 0 fields"),
        ("0 9 * *", "has 4 fields, but 5 are needed"),
        ("0 9 * * * * 2026", "7 fields"),
        ("60 * * * *", "minute field"),
        ("0 25 * * *", "hour field"),
        ("0 0 0 * *", "day-of-month field"),
        ("0 0 32 * *", "day-of-month field"),
        ("0 0 * 13 *", "month field"),
        ("0 0 * * 8", "day-of-week field"),
        ("0 0 * * MO", "SUN-SAT"),
        ("0 22-2 * * *", "write 22-23,0-2"),
        ("0 0 * * FRI-MON", "write FRI-SAT,SUN-MON"),
        ("0 0 * 11-2 *", "write NOV-DEC,JAN-FEB"),
        ("? 9 * * *", r"write \* instead of \?"),
        ("0 0 15W * *", "nearest weekday"),
        ("@fortnightly", "known are @yearly"),
        ("@every 5m", "every: 5m"),
        ("TZ=Asia/Tokyo 0 9 * * *", "tz: Asia/Tokyo"),
        ("0 9 * * *\n0 10 * * *", "line break"),
        ("0 ９ * * *", "plain ASCII"),
        ("0 9 * * ١", "plain ASCII"),
        ("*/0 * * * *", "minute field"),
        ("0 */24 * * *", "above 23"),
        ("1,,2 * * * *", "minute field"),
        ("0 9 * * *" + " " * 500, "longer than"),
        ("9" * 300 + " * * * *", "minute field"),
        ("*/" + "9" * 300 + " * * * *", "above 59"),
        (",".join("1" for _ in range(150)) + "x * * * *", "minute field"),
        ("1/2/3 * * * *", "minute field"),
        ("0 0 L/2/3 * *", "day-of-month field"),
        ("0 0 * * L", "write SAT"),
        ("0 0 * * MON#6", "day-of-week field"),
    ],
)
def test_what_cannot_be_read_is_refused_with_the_field_or_the_remedy(expression: str, says: str) -> None:
    with pytest.raises(cron.CronError, match=says):
        cron.parse_cron(expression, "UTC")


def test_a_number_instead_of_text_is_refused() -> None:
    with pytest.raises(cron.CronError, match="quote it"):
        cron.parse_cron(5, "UTC")


def test_an_unknown_zone_is_refused_with_the_nearest_one() -> None:
    with pytest.raises(ValueError, match="Asia/Shanghai"):
        cron.parse_cron("0 9 * * *", "Asia/Shangai")


@settings(max_examples=300, deadline=500)
@given(st.text(alphabet="0123456789*/-,LW#@ \tMONFEB?xH~()", max_size=40))
def test_any_text_is_either_a_rule_with_moments_or_refused_in_time(text: str) -> None:
    try:
        rule = cron.parse_cron(text, "America/New_York")
    except cron.CronError:
        return
    following = rule.next_after(0)
    assert following is not None
    assert rule.matches(following)


def test_the_rarest_date_is_found_and_a_search_ends() -> None:
    # A leap day that must be a Sunday: the star makes it AND.
    rule = cron.parse_cron("0 0 29 2 */7", "UTC")
    began = time.perf_counter()
    assert rule.next_after(times.parse_instant("2080-03-01T00:00:00Z", None)) == times.parse_instant(
        "2120-02-29T00:00:00Z".replace("2120", str(next_leap_sunday(2081))), None
    )
    assert time.perf_counter() - began < 0.5
    assert rule.previous_before(times.parse_instant("2028-02-29T00:00:00Z", None)) == times.parse_instant(
        "2004-02-29T00:00:00Z", None
    )
    last_years = times.parse_instant("9990-01-01T00:00:00Z", None)
    assert cron.parse_cron("0 0 29 2 *", "Europe/Berlin").next_after(last_years + 8 * 366 * DAY) is None
    assert rule.next_after(10**20) is None


def next_leap_sunday(year: int) -> int:
    while year % 4 or (year % 100 == 0 and year % 400) or datetime(year, 2, 29).weekday() != 6:  # noqa: DTZ001
        year += 1
    return year
