"""Windows: which instance binds a moment, also through gaps, folds and midnight."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from noonmark.core import times
from noonmark.core.model import DAY, HOUR, MINUTE, Window

NEW_YORK = "America/New_York"


def utc(text: str) -> int:
    return times.parse_instant(text, None)


def window(start: str, end: str) -> Window:
    return Window(start=start, end=end, crosses_midnight=end < start)


@pytest.mark.parametrize(
    ("start", "end", "tz", "scheduled", "opens", "closes"),
    [
        pytest.param(
            "09:00",
            "12:00",
            "Asia/Shanghai",
            "2026-11-28T01:00Z",
            "2026-11-28T01:00Z",
            "2026-11-28T04:00Z",
            id="it opens as the moment comes",
        ),
        pytest.param(
            "09:00",
            "12:00",
            "Asia/Shanghai",
            "2026-11-28T03:59:59Z",
            "2026-11-28T01:00Z",
            "2026-11-28T04:00Z",
            id="the last second is inside",
        ),
        pytest.param(
            "09:00",
            "12:00",
            "Asia/Shanghai",
            "2026-11-28T04:00Z",
            "2026-11-29T01:00Z",
            "2026-11-29T04:00Z",
            id="the end is outside",
        ),
        pytest.param(
            "09:00",
            "12:00",
            "Asia/Shanghai",
            "2026-11-27T23:00Z",
            "2026-11-28T01:00Z",
            "2026-11-28T04:00Z",
            id="it opens later that day",
        ),
        pytest.param(
            "22:00",
            "02:00",
            "UTC",
            "2026-11-28T01:00Z",
            "2026-11-27T22:00Z",
            "2026-11-28T02:00Z",
            id="after midnight it is yesterday's",
        ),
        pytest.param(
            "22:00", "02:00", "UTC", "2026-11-28T12:00Z", "2026-11-28T22:00Z", "2026-11-29T02:00Z", id="across midnight"
        ),
        pytest.param(
            "18:00",
            "24:00",
            "UTC",
            "2026-11-28T20:00Z",
            "2026-11-28T18:00Z",
            "2026-11-29T00:00Z",
            id="until the end of the day",
        ),
        pytest.param(
            "08:30:30",
            "08:31",
            "UTC",
            "2026-11-28T00:00Z",
            "2026-11-28T08:30:30Z",
            "2026-11-28T08:31Z",
            id="with seconds",
        ),
        pytest.param(
            "01:30",
            "05:00",
            "Europe/Madrid",
            "2026-11-28T00:30Z",
            "2026-11-28T00:30Z",
            "2026-11-28T04:00Z",
            id="a night job",
        ),
        pytest.param(
            "01:00",
            "04:00",
            NEW_YORK,
            "2026-03-08T06:00Z",
            "2026-03-08T06:00Z",
            "2026-03-08T08:00Z",
            id="a gap makes it shorter",
        ),
        pytest.param(
            "02:30",
            "04:00",
            NEW_YORK,
            "2026-03-08T06:00Z",
            "2026-03-08T07:00Z",
            "2026-03-08T08:00Z",
            id="it opens at the end of the gap",
        ),
        pytest.param(
            "01:00",
            "02:30",
            NEW_YORK,
            "2026-03-08T06:00Z",
            "2026-03-08T06:00Z",
            "2026-03-08T07:00Z",
            id="it closes with the gap",
        ),
        pytest.param(
            "02:15",
            "02:45",
            NEW_YORK,
            "2026-03-08T06:00Z",
            "2026-03-09T06:15Z",
            "2026-03-09T06:45Z",
            id="a window in the gap is the next day's",
        ),
        pytest.param(
            "01:00",
            "04:00",
            NEW_YORK,
            "2026-11-01T05:00Z",
            "2026-11-01T05:00Z",
            "2026-11-01T09:00Z",
            id="a fold makes it longer",
        ),
        pytest.param(
            "01:30",
            "02:30",
            NEW_YORK,
            "2026-11-01T05:30Z",
            "2026-11-01T05:30Z",
            "2026-11-01T07:30Z",
            id="interrupted by the fold it stays open",
        ),
        pytest.param(
            "01:00",
            "02:00",
            NEW_YORK,
            "2027-11-07T05:30Z",
            "2027-11-07T05:00Z",
            "2027-11-07T07:00Z",
            id="one that would end where the hour is repeated does not end there",
        ),
        pytest.param(
            "22:00",
            "03:00",
            "Europe/Berlin",
            "2027-10-30T20:30Z",
            "2027-10-30T20:00Z",
            "2027-10-31T02:00Z",
            id="nor does one that crosses midnight",
        ),
        pytest.param(
            "01:15",
            "01:45",
            NEW_YORK,
            "2026-11-01T05:15Z",
            "2026-11-01T05:15Z",
            "2026-11-01T05:45Z",
            id="within the fold the first",
        ),
        pytest.param(
            "01:15",
            "01:45",
            NEW_YORK,
            "2026-11-01T06:30Z",
            "2026-11-01T06:15Z",
            "2026-11-01T06:45Z",
            id="and again for what falls into the second",
        ),
        pytest.param(
            "00:00",
            "01:30",
            NEW_YORK,
            "2026-11-01T06:10Z",
            "2026-11-01T06:00Z",
            "2026-11-01T06:30Z",
            id="a window that was over opens again",
        ),
        pytest.param(
            "01:20",
            "01:12",
            NEW_YORK,
            "2026-11-01T05:25Z",
            "2026-11-01T05:20Z",
            "2026-11-02T06:12Z",
            id="tonight's is open, although yesterday's opens once more",
        ),
        pytest.param(
            "09:00",
            "12:00",
            "Pacific/Apia",
            "2011-12-29T23:00Z",
            "2011-12-30T19:00Z",
            "2011-12-30T22:00Z",
            id="a lost day has no window",
        ),
    ],
)
def test_the_instance_that_contains_the_moment_or_the_next(
    start: str, end: str, tz: str, scheduled: str, opens: str, closes: str
) -> None:
    assert times.window_bounds(window(start, end), utc(scheduled), tz) == (utc(opens), utc(closes))


def test_a_length_begins_at_the_moment() -> None:
    at = utc("2026-11-28T09:00Z")
    assert times.window_bounds(Window(length=2 * HOUR), at, "UTC") == (at, at + 2 * HOUR)
    assert times.window_of_day(Window(length=2 * HOUR), at, "UTC") == (at, at + 2 * HOUR)


def test_a_moment_moved_by_a_gap_keeps_what_was_left_of_its_window() -> None:
    moved, meant = utc("2026-03-08T07:00Z"), utc("2026-03-08T02:15Z")
    left = times.window_bounds(window("02:00", "03:00"), moved, NEW_YORK, meant=meant)
    assert left == (moved, moved + 45 * MINUTE)
    inside = times.window_bounds(window("02:00", "06:00"), moved, NEW_YORK, meant=meant)
    assert inside == (moved, utc("2026-03-08T10:00Z"))
    later = times.window_bounds(window("09:00", "10:00"), moved, NEW_YORK, meant=meant)
    assert later == (utc("2026-03-08T13:00Z"), utc("2026-03-08T14:00Z"))


def test_the_window_of_today_stays_todays_when_it_is_over() -> None:
    nine_to_twelve = window("09:00", "12:00")
    today = (utc("2026-11-28T09:00Z"), utc("2026-11-28T12:00Z"))
    for clock in ("05:00", "10:00", "13:00", "23:59"):
        assert times.window_of_day(nine_to_twelve, utc(f"2026-11-28T{clock}Z"), "UTC") == today
    night = window("22:00", "02:00")
    assert times.window_of_day(night, utc("2026-11-28T01:00Z"), "UTC")[1] == utc("2026-11-28T02:00Z")
    assert times.window_of_day(night, utc("2026-11-28T03:00Z"), "UTC")[0] == utc("2026-11-28T22:00Z")


@given(
    st.integers(0, 1439),
    st.integers(0, 1439),
    st.integers(0, 3 * 366 * DAY),
    st.sampled_from([NEW_YORK, "Australia/Lord_Howe", "Africa/Cairo", "Asia/Shanghai", "America/St_Johns"]),
)
def test_an_instance_is_open_ended_after_the_moment_and_never_long_away(
    start: int, end: int, offset: int, tz: str
) -> None:
    if start == end:
        return
    scheduled = utc("2026-01-01T00:00Z") + offset
    rule = window(f"{start // 60:02d}:{start % 60:02d}", f"{end // 60:02d}:{end % 60:02d}")
    opens, closes = times.window_bounds(rule, scheduled, tz)
    assert opens is not None
    assert closes is not None
    assert opens < closes
    assert closes > scheduled
    assert opens - scheduled < 3 * DAY
    shown = times.local(opens, tz)
    minute = shown.hour * 60 + shown.minute
    inside = start <= minute < end if start < end else minute >= start or minute < end
    assert inside
    assert times.window_bounds(rule, opens, tz) == (opens, closes)


@pytest.mark.parametrize(
    ("rule", "says"),
    [
        (Window(), "needs start and end"),
        (Window(start="09:00"), "needs start and end"),
        (Window(end="09:00"), "needs start and end"),
        (Window(start="09:00", end="12:00", length=HOUR), "drop one"),
        (Window(length=0), "longer than nothing"),
        (Window(length=HOUR, crosses_midnight=True), "belongs to start and end"),
        (Window(start="9:00", end="12:00"), 'start "9:00" is no time of day'),
        (Window(start="09:00", end="25:00"), 'end "25:00" is no time of day'),
        (Window(start="24:00", end="12:00", crosses_midnight=True), 'start "24:00"'),
        (Window(start="12:30", end="12:30"), "never open"),
        (Window(start="18:30", end="18:00"), "only with crosses_midnight: true"),
        (Window(start="09:00", end="12:00", crosses_midnight=True), "does not cross midnight"),
    ],
)
def test_a_window_that_says_nothing_or_two_things_is_refused(rule: Window, says: str) -> None:
    (problem,) = times.check_window(rule)
    assert says in problem
    if rule.length is None:
        with pytest.raises(ValueError, match="window"):
            times.window_bounds(rule, 0, "UTC")


def test_a_sound_window_has_no_problems() -> None:
    for rule in (window("09:00", "12:00"), window("22:00", "02:00"), window("00:00", "24:00"), Window(length=HOUR)):
        assert times.check_window(rule) == []
