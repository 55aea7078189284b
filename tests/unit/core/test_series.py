"""Rows and moments from rules."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from noonmark.core import series, times
from noonmark.core.model import (
    DAY,
    HOUR,
    MINUTE,
    SECOND,
    At,
    CatchUp,
    Cron,
    Every,
    FlagSet,
    Guardrails,
    Job,
    Manual,
    NewOccurrence,
    OnEvent,
    Origin,
    Window,
)

NEW_YORK = "America/New_York"


def at(text: str) -> int:
    return times.parse_instant(text, None)


def cron_job(expression: str = "0 9 * * *", tz: str = "Asia/Shanghai", **words: Any) -> Job:
    return Job(name="report", trigger=Cron(expression=expression, tz=tz), reason="people read it", **words)


def test_a_fixed_time_is_known_by_its_local_time_and_zone() -> None:
    moment = series.next_moment(cron_job(), at("2026-11-28T00:00:00Z"))
    assert moment is not None
    assert moment.at == at("2026-11-28T01:00:00Z")
    assert moment.identity == "c:Asia/Shanghai:2026-11-28T09:00:00:0"
    assert (moment.nominal, moment.business_date) == ("2026-11-28T09:00:00 Asia/Shanghai", "2026-11-28")


def test_a_time_moved_by_a_gap_keeps_the_identity_of_the_time_that_was_meant() -> None:
    moment = series.next_moment(cron_job("30 2 * * *", NEW_YORK), at("2026-03-07T17:00:00Z"))
    assert moment is not None
    assert moment.at == at("2026-03-08T07:00:00Z")
    assert moment.identity == f"c:{NEW_YORK}:2026-03-08T02:30:00:0"
    assert moment.nominal == f"2026-03-08T02:30:00 {NEW_YORK}"


def test_a_date_that_a_zone_left_out_is_its_own_business_date() -> None:
    job = cron_job("0 9 * * *", "Pacific/Apia")
    moments = series.moments_between(job, at("2011-12-29T12:00:00Z"), at("2011-12-31T10:00:00Z"), limit=9)
    assert [moment.business_date for moment in moments] == ["2011-12-29", "2011-12-30", "2011-12-31"]
    assert [times.local_date(moment.at, "Pacific/Apia") for moment in moments] == [
        "2011-12-29",
        "2011-12-31",
        "2011-12-31",
    ]


@pytest.mark.parametrize("expression", ["*/5 * * * *", "0 * * * *"])
def test_interval_like_moments_are_known_by_their_instant(expression: str) -> None:
    moment = series.next_moment(cron_job(expression), at("2026-11-28T00:00:30Z"))
    assert moment is not None
    assert moment.identity == f"t:{moment.at}"


def test_the_repeated_hour_has_two_identities_and_two_keys() -> None:
    job = cron_job("0 * * * *", "America/Chicago")
    moments = series.moments_between(job, at("2026-11-01T05:00:00Z") - 1, at("2026-11-02T06:00:00Z") - 1, limit=99)
    rows = [series.row_for_moment(job, moment, revision=1) for moment in moments]
    assert len(rows) == 25
    assert len({row.identity for row in rows}) == len({row.key for row in rows}) == 25


def test_an_interval_keeps_its_grid_forwards_and_backwards() -> None:
    job = Job(name="tick", trigger=Every(period=6 * HOUR, anchor=at("2026-11-28T00:00:00Z")), reason="r")
    following = series.next_moment(job, at("2026-11-28T13:00:00Z"))
    assert following is not None
    assert following.at == at("2026-11-28T18:00:00Z")
    assert series.next_moment(job, following.at) == series.previous_moment(job, following.at + 6 * HOUR + 1)
    earlier = series.previous_moment(job, following.at)
    assert earlier is not None
    assert earlier.at == at("2026-11-28T12:00:00Z")


def test_a_quarter_hour_grid_has_96_moments_a_day() -> None:
    job = Job(name="tick", trigger=Every(period=15 * MINUTE), reason="r")
    midnight = at("2026-11-29T00:00:00Z")
    assert series.count_between(job, midnight - 1, midnight + DAY - 1, limit=1000) == 96
    assert len(series.moments_between(job, midnight - 1, midnight + DAY - 1, limit=1000)) == 96
    assert series.count_between(job, midnight - 1, midnight + DAY - 1, limit=95) == -1


def test_counting_is_arithmetic_for_intervals_however_many_there_are() -> None:
    job = Job(name="tick", trigger=Every(period=SECOND), reason="r")
    assert series.count_between(job, 0, 10**9 * SECOND, limit=10**9) == 10**9


def test_counting_cron_moments_stops_at_the_limit() -> None:
    job = cron_job("* * * * *", "UTC")
    assert series.count_between(job, 0, DAY, limit=10_000) == 1440
    assert series.count_between(job, 0, 365 * DAY, limit=10_000) == -1
    assert series.count_between(job, DAY, DAY, limit=10) == 0


def test_a_list_of_times_mixes_local_and_absolute_ones_and_ends() -> None:
    trigger = At(moments=("2026-12-02T09:00:00Z", "2026-12-01T09:00"), tz="Asia/Tokyo")
    job = Job(name="once", trigger=trigger, reason="r")
    first = series.next_moment(job, 0)
    assert first is not None
    assert (first.at, first.identity) == (at("2026-12-01T00:00:00Z"), "c:Asia/Tokyo:2026-12-01T09:00:00:0")
    assert first.nominal == "2026-12-01T09:00:00 Asia/Tokyo"
    second = series.next_moment(job, first.at)
    assert second is not None
    assert second.identity == f"t:{at('2026-12-02T09:00:00Z')}"
    assert series.next_moment(job, second.at) is None
    assert series.previous_moment(job, second.at) == first
    assert series.previous_moment(job, first.at) is None


def test_events_and_manual_jobs_have_no_moments() -> None:
    for trigger in (OnEvent(name="order.paid"), Manual()):
        job = Job(name="j", trigger=trigger, reason="r")
        assert series.next_moment(job, 0) is None
        assert series.previous_moment(job, 0) is None
        assert series.frontier_rows(job, 0, revision=1) == ()


def test_subjects_are_the_cross_product_of_each() -> None:
    job = cron_job(each={"channel": ("ops", "销售"), "region": ("eu", "us")})
    assert [text for text, _ in series.subjects(job)] == [
        "channel=ops,region=eu",
        "channel=ops,region=us",
        "channel=销售,region=eu",
        "channel=销售,region=us",
    ]
    assert series.subjects(cron_job()) == [("", {})]


def test_two_subjects_with_one_text_are_refused() -> None:
    job = cron_job(each={"a": ("1", "1,b=2"), "b": ("2,b=3", "3")})
    with pytest.raises(ValueError, match="a=1,b=2,b=3"):
        series.subjects(job)


def test_the_subjects_of_a_rule_are_worked_out_once_and_nobody_can_change_them_for_others() -> None:
    job = Job(name="many", trigger=Manual(tz="UTC"), reason="test", each={"n": tuple(map(str, range(500)))})
    series.subjects(job)
    before = series._values_of.cache_info().misses
    for subject, values in series.subjects(job):
        assert series.subject_values(job, subject) == values
        series.subject_values(job, subject)["n"] = "changed"
        values["n"] = "changed"
    assert series._values_of.cache_info().misses == before
    assert series.subject_values(job, "n=7") == {"n": "7"}
    assert series.subject_values(job, "n=500") == {}


def test_the_frontier_has_one_row_for_each_subject_with_its_own_key() -> None:
    job = cron_job(each={"channel": ("ops", "sales")}, key="report:{business_date}:{channel}")
    rows = series.frontier_rows(job, at("2026-11-28T00:00:00Z"), revision=7)
    assert [(row.subject, row.key) for row in rows] == [
        ("channel=ops", "report:2026-11-28:ops"),
        ("channel=sales", "report:2026-11-28:sales"),
    ]
    assert all(row.frontier and not row.claim and row.revision == 7 and row.gated for row in rows)
    assert json.loads(rows[0].params) == {"channel": "ops"}
    assert len({row.identity for row in rows}) == 1


def test_a_job_on_each_worker_has_the_worker_as_its_subject() -> None:
    job = cron_job("* * * * *", scope="each_worker", each={"channel": ("ops",)})
    (row,) = series.frontier_rows(job, 0, revision=1, worker="w1-77")
    assert (row.subject, row.worker) == ("w1-77", "w1-77")
    assert series.frontier_rows(job, 0, revision=1) == ()


def test_the_window_and_the_limit_are_compiled_onto_the_row() -> None:
    (row,) = series.frontier_rows(
        cron_job(window=Window(start="09:00", end="12:00")), at("2026-11-28T00:00:00Z"), revision=1
    )
    assert (row.not_before, row.not_after) == (at("2026-11-28T01:00:00Z"), at("2026-11-28T04:00:00Z"))
    assert row.expires_at is None  # the window's end limits
    (row,) = series.frontier_rows(cron_job("*/5 * * * *"), at("2026-11-28T00:00:00Z"), revision=1)
    assert row.expires_at == row.scheduled_for + 5 * MINUTE


@pytest.mark.parametrize(
    ("words", "gated"),
    [
        ({}, True),  # overlap skip is the default of a series
        ({"overlap": "allow"}, False),
        ({"overlap": "allow", "window": Window(start="09:00", end="12:00")}, False),
        ({"overlap": "allow", "guardrails": Guardrails(allow_weekend=False)}, True),
        ({"overlap": "allow", "depends_on": (FlagSet(flag="etl.done"),)}, True),
    ],
)
def test_a_row_is_gated_unless_windows_and_limits_alone_gate_it(words: dict[str, Any], gated: bool) -> None:
    (row,) = series.frontier_rows(cron_job(**words), 0, revision=1)
    assert row.gated is gated


def test_an_event_row_is_known_by_the_event_and_claims_at_once() -> None:
    job = Job(
        name="digest",
        trigger=OnEvent(name="run.done", delay=5 * MINUTE, tz="Asia/Shanghai"),
        reason="r",
        key="digest:{event.run}",
    )
    row = series.row_for_event(
        job, event_id="e-1", emitted_at=at("2026-11-28T00:00:00Z"), payload={"run": "r9"}, revision=1
    )
    assert (row.identity, row.key, row.origin) == ("e:e-1", "digest:r9", Origin.EVENT)
    assert row.scheduled_for == row.due_at == at("2026-11-28T00:05:00Z")
    assert row.claim
    assert not row.gated
    assert row.expires_at is None
    assert json.loads(row.params) == {"run": "r9"}
    default = series.row_for_event(replace(job, key=""), event_id="e-1", emitted_at=0, payload={"id": 5}, revision=1)
    assert default.key == "digest::e-1"


def call(job: Job, due_at: int, origin: Origin, **words: Any) -> NewOccurrence:
    defaults: dict[str, Any] = {"request_id": "q1", "params": {}, "key": None, "revision": 1, "now": due_at}
    return series.row_for_call(job, due_at=due_at, origin=origin, **{**defaults, **words})


def test_a_manual_run_takes_the_key_of_its_business_date_and_the_window_of_today() -> None:
    job = cron_job(key="report:{business_date}", window=Window(start="09:00", end="12:00"))
    row = call(job, at("2026-11-28T02:00:00Z"), Origin.MANUAL, business_date="2026-11-20", actor="li")
    assert (row.identity, row.key, row.business_date) == ("m:q1", "report:2026-11-20", "2026-11-20")
    assert (row.not_before, row.not_after) == (at("2026-11-28T01:00:00Z"), at("2026-11-28T04:00:00Z"))
    assert row.claim
    assert row.expires_at is None
    late = call(job, at("2026-11-28T05:00:00Z"), Origin.MANUAL)
    assert late.not_after == at("2026-11-28T04:00:00Z")
    early = call(job, at("2026-11-28T00:00:00Z"), Origin.MANUAL)
    assert early.not_before == at("2026-11-28T01:00:00Z")


def test_a_delayed_call_outside_the_window_waits_for_the_next_one_and_has_no_limit() -> None:
    job = Job(name="digest", trigger=Manual(tz="Asia/Shanghai"), reason="r", window=Window(start="09:00", end="12:00"))
    row = call(job, at("2026-11-28T05:00:00Z"), Origin.LATER, key="digest:1", params={"run": "r1"})
    assert (row.identity, row.key) == ("l:q1", "digest:1")
    assert row.not_before == at("2026-11-29T01:00:00Z")
    assert row.expires_at is None
    limited = call(replace(job, catch_up=CatchUp(max_delay=HOUR)), at("2026-11-28T05:00:00Z"), Origin.LATER)
    assert limited.expires_at == at("2026-11-28T06:00:00Z")


def test_a_backfill_has_the_identity_and_the_date_of_what_it_fills_and_starts_now() -> None:
    job = cron_job(key="report:{business_date}")
    now = at("2026-11-28T02:00:00Z")
    row = call(job, at("2026-11-20T01:00:00Z"), Origin.BACKFILL, now=now)
    assert (row.identity, row.key) == ("c:Asia/Shanghai:2026-11-20T09:00:00:0", "report:2026-11-20")
    assert row.due_at == now


def test_a_moved_moment_keeps_what_was_left_of_its_window() -> None:
    job = cron_job("30 2 * * *", NEW_YORK, window=Window(start="02:00", end="03:00"))
    (row,) = series.frontier_rows(job, at("2026-03-07T17:00:00Z"), revision=1)
    assert (row.not_before, row.not_after) == (at("2026-03-08T07:00:00Z"), at("2026-03-08T07:30:00Z"))


def test_two_calls_for_one_moment_are_one_thing_only_when_their_params_are_the_same() -> None:
    job = Job(name="digest", trigger=Manual(), reason="r")
    keys = [call(job, at("2026-11-28T05:00:00Z"), Origin.LATER, params={"run": run}).key for run in ("r1", "r1", "r2")]  # type: ignore[attr-defined]
    assert keys[0] == keys[1] != keys[2]
    assert keys[0].startswith("digest::2026-11-28T05:00:00Z:")
    assert call(job, at("2026-11-28T05:00:00Z"), Origin.LATER).key == "digest::2026-11-28T05:00:00Z"  # type: ignore[attr-defined]


def test_a_call_of_an_events_job_stands_for_the_event() -> None:
    job = Job(name="unpaid", trigger=OnEvent(name="order.created"), reason="r", key="unpaid:{event.order_id}")
    assert call(job, at("2026-11-28T05:00:00Z"), Origin.LATER, params={"order_id": 42}).key == "unpaid:42"  # type: ignore[attr-defined]
    unnamed = call(replace(job, key=""), at("2026-11-28T05:00:00Z"), Origin.LATER, params={"order_id": 42})
    assert unnamed.key == "unpaid::l%3Aq1"  # type: ignore[attr-defined]


def test_the_key_of_a_call_with_params_is_that_of_every_version_before() -> None:
    """A key that another version renders otherwise is another key: what was done would be done again."""
    job = Job(name="digest", trigger=Manual(), reason="r")
    row = call(job, at("2026-11-28T05:00:00Z"), Origin.LATER, params={"run": "r1", "n": 2})
    assert row.key == "digest::2026-11-28T05:00:00Z:53d95f334df4e837"


@pytest.mark.parametrize("origin", [Origin.MANUAL, Origin.BACKFILL])
def test_a_person_who_overrides_the_window_may_start_it_now_and_has_no_end(origin: Origin) -> None:
    job = cron_job(key="report:{business_date}", window=Window(start="09:00", end="12:00"))
    now = at("2026-11-28T20:00:00Z")
    row = call(job, now, origin, now=now, ignore_window=True)
    assert (row.not_before, row.not_after) == (now, None)
    without = call(replace(job, window=None), now, origin, now=now, ignore_window=True)
    assert (without.not_before, without.not_after) == (None, None)


@pytest.mark.parametrize(
    ("trigger", "until"),
    [
        (Every(period=MINUTE), 3 * MINUTE),
        (Cron(expression="* * * * *", tz="UTC"), 3 * MINUTE),
        (At(moments=("1970-01-01T00:01Z", "1970-01-01T00:02Z", "1970-01-01T00:03Z"), tz="UTC"), DAY),
    ],
)
def test_as_many_moments_as_the_limit_are_counted_and_one_more_is_too_many(trigger: Any, until: int) -> None:
    job = Job(name="j", trigger=trigger, reason="r")
    assert [series.count_between(job, 0, until, limit=limit) for limit in (4, 3, 2)] == [3, 3, -1]
