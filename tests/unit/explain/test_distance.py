"""How far away something is, in words: never nearer than it is, and as close as the words allow."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from noonmark.core.model import DAY, HOUR, MINUTE, SECOND
from noonmark.explain.voice import Voice

SIZES = {"ms": SECOND // 1000, "s": SECOND, "min": MINUTE, "h": HOUR, "d": DAY}


def told(text: str) -> int:
    return round(sum(float(count) * SIZES[unit] for count, unit in re.findall(r"([\d.]+) (ms|s|min|h|d)\b", text)))


@pytest.mark.parametrize(
    ("us", "full", "short"),
    [
        (0, "in 0 s", "in 0 s"),
        (1, "in 1 ms", "in 1 ms"),
        (99_999, "in 0.1 s", "in 0.1 s"),
        (7_010_000, "in 7.1 s", "in 7.1 s"),
        (9_950_000, "in 10 s", "in 10 s"),
        (59 * SECOND + 1, "in 1 min", "in 1 min"),
        (61 * SECOND, "in 1 min 1 s", "in 2 min"),
        (59 * MINUTE + 59 * SECOND + 1, "in 1 h", "in 1 h"),
        (61 * MINUTE, "in 1 h 1 min", "in 2 h"),
        (23 * HOUR + MINUTE, "in 1 d", "in 1 d"),
        (25 * HOUR, "in 1 d 1 h", "in 2 d"),
        (-(61 * SECOND), "1 min 1 s ago", "1 min ago"),
    ],
)
def test_a_distance_is_told_like_this(us: int, full: str, short: str) -> None:
    voice = Voice(now=10 * DAY)
    assert (voice.distance(voice.now + us), voice.distance(voice.now + us, short=True)) == (full, short)


@given(us=st.integers(0, 400 * DAY) | st.integers(0, 11 * MINUTE) | st.integers(0, 11 * SECOND), short=st.booleans())
def test_nothing_is_said_to_come_earlier_than_it_does(us: int, *, short: bool) -> None:
    voice = Voice(now=10 * DAY)
    said = told(voice.distance(voice.now + us, short=short))
    assert us <= said <= max(us * 2 + SECOND, us + SECOND)
