"""Anything at all as a cron expression, a duration, a moment, a key template: read or refused, and never takes long."""

from __future__ import annotations

import contextlib
import string
from typing import Any

from bounds import bounded, fuzzing, read_or_refused
from hypothesis import example, given
from hypothesis import strategies as st

from noonmark.core import keys, times, zones
from noonmark.core.cron import CronError, parse_cron
from noonmark.core.durations import format_duration, parse_duration
from noonmark.core.model import KEY_LIMIT, SECOND, At, Cron, Every, Manual, Window
from noonmark.core.moments import moments_between, next_moment, previous_moment
from noonmark.core.templates import TemplateProblem, names_in, render
from noonmark.testing.builders import make_job

DAY = 1_795_867_200_000_000
ZONES = ("UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Shanghai", "Pacific/Apia")
numbers = st.integers(0, 70).map(str)
fields = st.one_of(
    st.sampled_from(
        ("*", "L", "LW", "5L", "MON#1", "?", "JAN-DEC", "*/0", "*/-1", "1-", "-1", "FRI-MON", "0#6", "W", "1W")
    ),
    numbers,
    st.builds("{}-{}".format, numbers, numbers),
    st.builds("*/{}".format, numbers),
    st.builds("{}-{}/{}".format, numbers, numbers, numbers),
    st.lists(numbers, min_size=1, max_size=5).map(",".join),
    st.text(st.sampled_from("0123456789*/,-LW#?MONJAN@²٣ "), max_size=6),
)
expressions = st.one_of(
    st.lists(fields, min_size=5, max_size=6).map(" ".join),
    st.text(st.sampled_from("0123456789*/,-LW#? @dailyé\t\n"), max_size=30),
)


@fuzzing(120)
@given(expressions, st.sampled_from(ZONES))
@example("@" * 10_000, "UTC")
@example("0 0 " + ",".join(["1-31"] * 500) + " * *", "UTC")
@example("9" * 5_000 + " * * * *", "UTC")
@example("*/" + "9" * 5_000 + " * * * *", "UTC")
@example("0 0 29 2 MON#5", "UTC")
@example("0 0 30 2 *", "UTC")
def test_any_cron_expression_is_read_or_refused_and_its_moments_tell_one_story(expression: str, zone: str) -> None:
    rule, _ = read_or_refused(600_000, lambda: parse_cron(expression, zone), CronError)
    if rule is None:
        return
    following = bounded(600_000, lambda: rule.next_after(DAY))
    if following is not None:
        assert following > DAY
        assert rule.matches(following)
        before = bounded(600_000, lambda: rule.previous_before(following + 1))
        assert before == following
        job = make_job(trigger=Cron(expression=expression, tz=zone))
        assert next_moment(job, DAY) is not None


@fuzzing(25)
@given(st.text(max_size=30))
@example("../../etc/passwd")
@example("\x00")
@example("a" * 100_000)
@example("Europe/" * 1_000)
def test_any_name_of_a_zone_is_known_or_refused(name: str) -> None:
    with contextlib.suppress(ValueError):
        bounded(1_500_000, lambda: zones.zone(name))


@fuzzing(150)
@given(st.one_of(st.text(st.sampled_from("0123456789.wdhmsµPT- +e²٣ "), max_size=25), st.text(max_size=10)))
@example("9" * 100_000 + "s")
@example("1h" * 10_000)
@example("P" + "1D" * 5_000)
@example("0.0000000000000001s")
def test_any_duration_is_read_or_refused(text: str) -> None:
    length, _ = read_or_refused(50_000, lambda: parse_duration(text), ValueError)
    if length is None:
        return
    assert length >= 0
    assert parse_duration(format_duration(length)) == length


@fuzzing(100)
@given(
    st.lists(
        st.one_of(
            st.text(st.sampled_from("0123456789-:TZ+. "), max_size=26),
            st.datetimes().map(lambda at: at.isoformat()),
            st.datetimes().map(lambda at: f"{at.isoformat()}Z"),
        ),
        min_size=1,
        max_size=4,
    ),
    st.sampled_from(ZONES),
)
@example(["0001-01-01T00:00:00+23:59"], "Pacific/Apia")
@example(["9999-12-31T23:59:59-23:59"], "Pacific/Apia")
@example(["9999-12-31T23:59:59"], "America/New_York")
def test_any_list_of_moments_is_read_or_refused(moments: list[str], zone: str) -> None:
    job = make_job(trigger=At(moments=tuple(moments), tz=zone))
    try:
        found = bounded(200_000, lambda: next_moment(job, 0))
    except ValueError:
        return
    if found is not None:
        back = previous_moment(job, found.at + 1)
        assert back is not None
        assert back.at == found.at


@fuzzing(60)
@given(st.integers(1, 2**62), st.integers(-(2**62), 2**62), st.integers(0, 2**52))
def test_any_grid_is_walked_in_bounded_work(period: int, anchor: int, after: int) -> None:
    job = make_job(trigger=Every(period=period, anchor=anchor))
    with contextlib.suppress(ValueError, OverflowError):
        bounded(50_000, lambda: moments_between(job, after, after + 100 * SECOND, limit=20))


@fuzzing(80)
@given(st.text(st.sampled_from("0123456789:-٣ "), max_size=9), st.text(st.sampled_from("0123456789:"), max_size=9))
def test_any_window_is_compiled_or_refused(start: str, end: str) -> None:
    with contextlib.suppress(ValueError):
        bounded(50_000, lambda: times.window_bounds(Window(start=start, end=end), DAY, "Europe/Berlin"))


names = st.sampled_from(
    ("job", "business_date", "scheduled_for", "subject", "event.id", "params.a", "a", "event.x.y", "")
)
templates = st.one_of(
    st.lists(
        st.one_of(
            names.map("{{{}}}".format),
            st.builds("{{{}:{}}}".format, names, st.text(st.sampled_from("%YmdHM{}!"), max_size=5)),
            st.builds("{{{}!{}}}".format, names, st.sampled_from("rsa")),
            st.text(st.sampled_from(string.printable), max_size=5),
        ),
        max_size=8,
    ).map("".join),
    st.text(st.sampled_from("{}[].!:%ab0"), max_size=30),
)
values = st.one_of(
    st.text(max_size=20), st.integers(), st.floats(), st.none(), st.booleans(), st.lists(st.integers(), max_size=3)
)


@fuzzing(150)
@given(templates, st.dictionaries(names, values, max_size=5))
@example("{" * 10_000, {})
@example("{a}" * 5_000, {"params.a": "x" * 1_000})
@example("{a.__class__}", {"params.a": "x"})
@example("{0}{a[0]}", {"params.a": "x"})
@example("{a:{b:{c}}}", {})
@example("{business_date:" + "%Y" * 3_000 + "}", {"business_date": "2026-11-28"})
@example("{a:>999999999}", {"params.a": "x"})
def test_any_template_renders_a_bounded_key_or_is_refused(template: str, bound: dict[str, Any]) -> None:
    named = {"job": "j", "business_date": "2026-11-28", "scheduled_for": DAY, "subject": "", "worker": "", **bound}
    named |= {"business_date": "2026-11-28", "scheduled_for": DAY}
    read_or_refused(400_000, lambda: names_in(template), TemplateProblem)
    key, _ = read_or_refused(400_000, lambda: render(template, named), TemplateProblem)
    if key is None:
        return
    assert len(key) <= KEY_LIMIT
    key.encode("utf-8")
    assert key == render(template, dict(reversed(named.items())))


@fuzzing(60)
@given(templates)
def test_any_key_of_a_rule_is_checked_without_a_crash(template: str) -> None:
    job = make_job(trigger=Manual(), key=template)
    bounded(400_000, lambda: keys.check_template(template, job))
    bounded(400_000, lambda: keys.check_names(template, job))
