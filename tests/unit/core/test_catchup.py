"""Catch-up: what the first look at a frontier row makes of what was missed."""

from __future__ import annotations

import time
from dataclasses import fields
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from noonmark.core import catchup, series, times
from noonmark.core.model import (
    DAY,
    HOUR,
    MINUTE,
    SECOND,
    At,
    CatchUp,
    Cron,
    Event,
    Every,
    Guardrails,
    Job,
    Manual,
    Micros,
    NewOccurrence,
    Occurrence,
    OnEvent,
    Origin,
    State,
    Verdict,
    Window,
)


def utc(text: str) -> Micros:
    return times.parse_instant(text, None)


def job(trigger: Any = None, *, missed: str = "latest", max_delay: Micros | None = None, **words: Any) -> Job:
    cron = trigger if trigger is not None else "0 9 * * *"
    return Job(
        name="j",
        trigger=Cron(expression=cron, tz="UTC") if isinstance(cron, str) else cron,
        reason="r",
        catch_up=CatchUp(missed=missed, max_delay=max_delay),
        **words,
    )


def stored(row: NewOccurrence) -> Occurrence:
    """Return the row as a store would hand it out for its first look."""
    known = {field.name for field in fields(Occurrence)}
    values: dict[str, Any] = {field.name: getattr(row, field.name) for field in fields(row) if field.name in known}
    values |= {"id": 1, "generation": 1, "claimed": row.claim, "attempt": 0, "takeovers": 0, "lost": 0, "fence": 1}
    values |= {"holder": "w", "looking": True, "cancel_requested": False, "detail": "{}", "created_at": 0}
    values |= {"started_at": None, "first_started_at": None, "ended_at": None, "duplicate_of": None, "result": None}
    return Occurrence(**{**values, "error": None})


def frontier(rule: Job, at: str | Micros, *, subject: str = "", params: Any = None, worker: str = "") -> Occurrence:
    moment = series.next_moment(rule, (utc(at) if isinstance(at, str) else at) - 1)
    assert moment is not None
    return stored(series.row_for_moment(rule, moment, revision=3, subject=subject, params=params, worker=worker))


def look(rule: Job, row: Occurrence, now: str | Micros) -> catchup.Step:
    return catchup.step(rule, row, utc(now) if isinstance(now, str) else now, revision=3)


def split(step: catchup.Step) -> tuple[list[NewOccurrence], list[NewOccurrence], list[NewOccurrence]]:
    """Return range records, rows that are no frontier, frontiers."""
    ranges = [row for row in step.adds if row.state is State.SKIPPED]
    plain = [row for row in step.adds if row.state is State.PENDING and not row.frontier]
    return ranges, plain, [row for row in step.adds if row.frontier]


@pytest.mark.parametrize("missed", ["latest", "skip", "all"])
@pytest.mark.parametrize("late", [0, 9_700_000, 13 * SECOND, MINUTE])
def test_a_look_that_is_a_little_late_is_no_miss(missed: str, late: Micros) -> None:
    rule = job("0 3 * * *", missed=missed)
    row = frontier(rule, "2026-02-20T03:00Z")
    step = look(rule, row, row.scheduled_for + late)
    assert step.decision is None
    (following,) = step.adds
    assert following.frontier
    assert following.scheduled_for == row.scheduled_for + DAY
    assert (following.revision, following.claim) == (3, False)


def test_latest_ends_the_row_records_what_lies_between_and_runs_the_newest() -> None:
    rule = job("*/5 * * * *")
    step = look(rule, frontier(rule, "2026-11-29T07:05Z"), "2026-11-29T08:02:10Z")
    assert step.decision is not None
    assert (step.decision.event, step.decision.verdict) == (Event.SKIP, Verdict.SKIP_SUPERSEDED)
    assert (step.decision.code, step.decision.detail["by"]) == ("superseded", utc("2026-11-29T08:00Z"))
    (record,), (newest,), (following,) = split(step)
    assert (record.scheduled_for, record.range_until) == (utc("2026-11-29T07:10Z"), utc("2026-11-29T07:55Z"))
    assert (record.range_count, record.code, record.verdict) == (10, "range_superseded", Verdict.SKIP_SUPERSEDED)
    assert (record.key, record.due_at, record.identity) == ("", None, f"g:{utc('2026-11-29T07:10Z')}")
    assert newest.scheduled_for == newest.due_at == utc("2026-11-29T08:00Z")
    assert following.scheduled_for == utc("2026-11-29T08:05Z")


def test_two_missed_moments_need_no_range_record() -> None:
    rule = job()
    ranges, (newest,), (following,) = split(look(rule, frontier(rule, "2026-11-27T09:00Z"), "2026-11-28T10:00Z"))
    assert ranges == []
    assert newest.scheduled_for == utc("2026-11-28T09:00Z")
    assert following.scheduled_for == utc("2026-11-29T09:00Z")


def test_nothing_is_due_early() -> None:
    rule = job("*/5 * * * *")
    row = frontier(rule, "2026-11-29T07:00Z")
    assert look(rule, row, utc("2026-11-29T07:05Z") - 1).decision is None
    assert look(rule, row, utc("2026-11-29T07:05Z")).decision is not None


def test_latest_does_not_let_an_excluded_day_supersede_a_wanted_one() -> None:
    rule = job(guardrails=Guardrails(allow_weekend=False))
    friday, saturday, sunday = "2026-11-27T09:00Z", "2026-11-28T09:00Z", "2026-11-29T09:00Z"
    step = look(rule, frontier(rule, friday), "2026-11-29T10:00Z")
    assert step.decision is None
    assert [row.scheduled_for for row in step.adds] == [utc(saturday)]
    step = look(rule, frontier(rule, "2026-11-26T09:00Z"), "2026-11-29T10:00Z")
    assert step.decision is not None
    _, (newest,), (following,) = split(step)
    assert (newest.scheduled_for, following.scheduled_for) == (utc(friday), utc(saturday))
    step = look(rule, frontier(rule, saturday), "2026-11-29T10:00Z")
    assert step.decision is not None
    assert split(step)[1][0].scheduled_for == utc(sunday)


def test_a_weekend_of_excluded_seconds_is_passed_in_a_few_steps() -> None:
    rule = job("* * * * * *", guardrails=Guardrails(allow_weekend=False))
    began = time.process_time()
    step = look(rule, frontier(rule, "2026-11-28T00:00:00Z"), "2026-11-29T23:00:00Z")
    (record,), _, _ = split(step)
    assert record.range_count == -1
    assert time.process_time() - began < 1.0


def test_skip_leaves_missed_moments_and_goes_on_with_the_future() -> None:
    rule = job(missed="skip")
    step = look(rule, frontier(rule, "2026-11-26T09:00Z"), "2026-11-29T12:00Z")
    assert step.decision is not None
    assert (step.decision.code, step.decision.verdict) == ("missed_skipped", Verdict.SKIP_EXPIRED)
    assert step.decision.event is Event.SKIP
    (record,), plain, (following,) = split(step)
    assert plain == []
    assert (record.scheduled_for, record.range_until) == (utc("2026-11-27T09:00Z"), utc("2026-11-29T09:00Z"))
    assert (record.range_count, record.verdict, record.code) == (3, Verdict.SKIP_EXPIRED, "missed_skipped")
    assert following.scheduled_for == utc("2026-11-30T09:00Z")


def test_skip_keeps_a_newest_moment_that_is_in_time() -> None:
    rule = job("*/5 * * * *", missed="skip")
    step = look(rule, frontier(rule, "2026-11-29T07:00Z"), "2026-11-29T08:00:20Z")
    assert step.decision is not None
    (record,), plain, (newest,) = split(step)
    assert (plain, newest.scheduled_for) == ([], utc("2026-11-29T08:00Z"))
    assert record.range_until == utc("2026-11-29T07:55Z")
    assert split(look(rule, frontier(rule, "2026-11-29T07:00Z"), "2026-11-29T08:00Z"))[2][0].scheduled_for == utc(
        "2026-11-29T08:00Z"
    )
    again = look(rule, stored(newest), "2026-11-29T08:00:20Z")
    assert again.decision is None


def test_skip_is_late_after_a_minute_or_a_shorter_limit() -> None:
    rule = job(missed="skip")
    row = frontier(rule, "2026-11-28T09:00Z")
    assert look(rule, row, "2026-11-28T09:01:00Z").decision is None
    assert look(rule, row, "2026-11-28T09:01:01Z").decision is not None
    strict = job(missed="skip", max_delay=5 * SECOND)
    assert look(strict, frontier(strict, "2026-11-28T09:00Z"), "2026-11-28T09:00:06Z").decision is not None


def test_all_keeps_every_moment_one_at_a_time() -> None:
    rule = job(missed="all")
    row = frontier(rule, "2026-11-26T09:00Z")
    step = look(rule, row, "2026-11-29T12:00Z")
    assert step.decision is None
    assert [added.scheduled_for for added in step.adds] == [utc("2026-11-27T09:00Z")]
    assert step.adds[0].frontier


def test_the_end_of_a_list_of_times_adds_no_frontier() -> None:
    rule = job(At(moments=("2026-11-28T09:00:00", "2026-11-28T10:00:00"), tz="UTC"))
    step = look(rule, frontier(rule, "2026-11-28T10:00Z"), "2026-11-28T10:00Z")
    assert (step.adds, step.decision) == ((), None)
    step = look(rule, frontier(rule, "2026-11-28T09:00Z"), "2026-11-28T12:00Z")
    assert [(row.scheduled_for, row.frontier) for row in step.adds] == [(utc("2026-11-28T10:00Z"), False)]


def test_what_is_added_keeps_subject_params_and_worker() -> None:
    rule = job("*/5 * * * *", each={"channel": ("ops", "sales")}, key="k:{scheduled_for}:{channel}")
    row = frontier(rule, "2026-11-29T07:00Z", subject="channel=sales", params={"channel": "sales"})
    step = look(rule, row, "2026-11-29T08:00Z")
    assert {added.subject for added in step.adds} == {"channel=sales"}
    assert [added.key for added in step.adds[1:]] == ["k:2026-11-29T08:00:00Z:sales", "k:2026-11-29T08:05:00Z:sales"]
    assert {added.params for added in step.adds[1:]} == {'{"channel":"sales"}'}
    own = job("*/5 * * * *", scope="each_worker")
    row = frontier(own, "2026-11-29T07:00Z", subject="w1-7", worker="w1-7")
    assert {(added.subject, added.worker) for added in look(own, row, "2026-11-29T08:00Z").adds} == {("w1-7", "w1-7")}


def test_an_unknown_policy_is_refused() -> None:
    rule = job(missed="sometimes")
    with pytest.raises(ValueError, match="skip, latest or all"):
        look(rule, frontier(rule, "2026-11-28T09:00Z"), "2026-11-28T09:00Z")


def test_a_range_of_more_than_can_be_counted_says_so_in_time() -> None:
    rule = job("* * * * *")
    began = time.process_time()
    (record,), _, _ = split(look(rule, frontier(rule, "2016-11-29T07:00Z"), "2026-11-29T08:00Z"))
    assert record.range_count == -1
    assert record.range_until == utc("2026-11-29T07:59Z")
    assert time.process_time() - began < 1.0


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        (job("0 9 * * *"), HOUR),
        (job("*/5 * * * *"), 5 * MINUTE),
        (job("*/10 * * * * *"), MINUTE),
        (job(Every(period=20 * MINUTE)), 20 * MINUTE),
        (job(Every(period=SECOND)), MINUTE),
        (job(Every(period=6 * HOUR)), HOUR),
        (job(Every(period=6 * HOUR), max_delay=12 * HOUR), 12 * HOUR),
        (job(window=Window(start="09:00", end="12:00")), None),
        (job(window=Window(start="09:00", end="12:00"), max_delay=HOUR), HOUR),
        (job(At(moments=("2026-11-28T09:00:00",))), None),
        (job(OnEvent(name="e")), None),
        (job(Manual()), None),
    ],
)
def test_the_default_limit_is_the_shortest_gap_between_a_minute_and_an_hour(rule: Job, expected: Micros | None) -> None:
    assert catchup.default_max_delay(rule, utc("2026-11-28T09:00Z")) == expected


def test_a_limit_of_twelve_hours_is_twelve_hours() -> None:
    rule = job("0 6 * * *", max_delay=12 * HOUR)
    row = frontier(rule, "2026-11-28T06:00Z")
    assert row.expires_at == utc("2026-11-28T18:00Z")
    assert look(rule, row, "2026-11-28T11:00Z").decision is None


def test_the_window_is_the_stronger_rule() -> None:
    rule = Job(
        name="night",
        trigger=Cron(expression="30 1 * * *", tz="Europe/Madrid"),
        reason="r",
        window=Window(start="01:30", end="05:00"),
        catch_up=CatchUp(max_delay=12 * HOUR),
    )
    row = frontier(rule, "2026-11-28T00:30Z")
    assert (row.not_after, row.expires_at) == (utc("2026-11-28T04:00Z"), utc("2026-11-28T12:30Z"))


@settings(max_examples=120, deadline=None)
@given(
    st.sampled_from(["latest", "skip", "all"]),
    st.sampled_from(
        [
            Cron(expression="*/7 * * * *", tz="America/New_York"),
            Cron(expression="30 1,2 * * *", tz="America/New_York"),
            Cron(expression="0 9 * * MON-FRI", tz="Asia/Shanghai"),
            Every(period=11 * MINUTE, anchor=5),
            At(moments=("2026-11-01T05:30:00Z", "2026-11-01T06:30:00Z", "2026-11-03T00:00:00Z")),
        ]
    ),
    st.booleans(),
    st.lists(st.integers(0, 2 * DAY), min_size=1, max_size=6),
)
def test_after_any_absence_every_moment_is_in_one_row_or_range_and_one_frontier_is_open(
    missed: str, trigger: Any, weekends: bool, absences: list[Micros]
) -> None:
    rule = job(trigger, missed=missed, guardrails=Guardrails(allow_weekend=weekends))
    start = now = utc("2026-10-31T00:00Z")
    open_row = next(iter(series.frontier_rows(rule, start, revision=3)), None)
    rows: list[NewOccurrence] = []
    for absence in absences:
        now += absence
        while open_row is not None and open_row.scheduled_for <= now:
            step = look(rule, stored(open_row), now)
            rows.append(open_row)
            ranges, plain, frontiers = split(step)
            rows += [*ranges, *plain]
            assert len(step.adds) <= 3
            assert len(frontiers) <= 1
            open_row = frontiers[0] if frontiers else None
    covered: list[Micros] = []
    for row in rows:
        if row.range_until is None:
            covered.append(row.scheduled_for)
            continue
        moments = series.moments_between(rule, row.scheduled_for - 1, row.range_until, limit=10_000)
        assert len(moments) == row.range_count
        covered += [moment.at for moment in moments]
    assert sorted(covered) == [moment.at for moment in series.moments_between(rule, start, now, limit=100_000)]
    following = series.next_moment(rule, now)
    assert (open_row and open_row.identity) == (following and following.identity)
    assert all(row.origin is Origin.SCHEDULE for row in rows)
