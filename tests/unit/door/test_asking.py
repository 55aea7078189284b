"""Asking for runs, announcing events and facts, and reading what became of them."""

from __future__ import annotations

import asyncio
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest

from noonmark import (
    ContextSync,
    NoSuchJobError,
    ProblemList,
    Scheduler,
    State,
    Window,
    at,
    cron,
    every,
    manual,
    on_event,
    ready,
)
from noonmark.core.model import DAY, HOUR, MINUTE
from noonmark.testing.clock import VirtualClock

START = datetime(2026, 11, 28, 12, tzinfo=UTC)


@pytest.fixture
def closing(sched: Scheduler) -> Any:
    @sched.job(on_event("order.created", delay="30m"), key="unpaid:{order_id}", reason="Free the stock.")
    def close_unpaid(ctx: ContextSync, order_id: int, note: str = "") -> None: ...

    return close_unpaid


def test_later_is_due_after_its_delay_and_a_held_key_is_a_duplicate(sched: Scheduler, closing: Any) -> None:
    first = closing.later("30m", key="unpaid:42")(order_id=42)
    again = closing.later(timedelta(minutes=5), key="unpaid:42")(42)
    assert (first.key, first.duplicate, first.duplicate_of) == ("unpaid:42", False, None)
    assert first.due_at == START + timedelta(minutes=30)
    assert (again.duplicate, again.duplicate_of) == (True, first.id)
    open_rows = sched.occurrences("close_unpaid", states=["PENDING"])
    assert [(row.id, row.run_id, dict(row.params)) for row in open_rows] == [(first.id, first.run_id, {"order_id": 42})]


@pytest.mark.parametrize(
    ("when", "due"),
    [
        ("2026-12-01T09:00:00+09:00", "2026-12-01T00:00Z"),
        ("2026-12-01T00:00Z", "2026-12-01T00:00Z"),
        ("2026-12-01T09:00 Asia/Tokyo", "2026-12-01T00:00Z"),
    ],
)
def test_at_reads_the_text_of_a_moment(closing: Any, when: str, due: str) -> None:
    assert closing.at(when)(order_id=1).due_at == datetime.fromisoformat(due)


@pytest.mark.parametrize(
    ("when", "says"),
    [
        ("2026-12-01T09:00", "has no zone"),
        ("2026-12-01", "no time of day"),
        ("tomorrow", "no ISO time"),
        ("2025-11-28T12:00Z", "before the store's time"),
        (1764580000, "is no moment; pass an aware datetime"),
        (date(2026, 12, 1), "is no moment; pass an aware datetime"),
        (None, "is no moment; pass an aware datetime"),
    ],
)
def test_at_says_of_what_is_no_moment_what_to_pass(closing: Any, when: Any, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        closing.at(when)(order_id=1)


@pytest.mark.parametrize("when", [None, 1764580000, date(2026, 12, 1), b"2026-12-01T09:00"])
def test_a_schedule_says_of_what_is_no_moment_that_it_is_none(when: Any) -> None:
    with pytest.raises(ProblemList, match="neither a text nor a datetime"):
        at(when, tz="UTC")
    if when is not None:
        with pytest.raises(ProblemList, match="neither a text nor a datetime"):
            every("1h", anchor=when)


def test_a_span_and_a_supposed_moment_are_read_alike(sched: Scheduler, closing: Any) -> None:
    closing.at("2026-12-01T09:00+09:00")(order_id=1)
    assert len(sched.occurrences(since="2026-12-01T00:00Z", until="2026-12-01T00:00:01Z")) == 1
    assert sched.occurrences(since="2026-12-01T00:00:01Z") == []


def test_without_a_key_the_template_makes_it(closing: Any) -> None:
    assert closing.later("1m")(order_id=7).key == "unpaid:7"


def test_at_wants_an_aware_moment(closing: Any) -> None:
    when = datetime(2026, 12, 1, 9, tzinfo=UTC)
    assert closing.at(when)(order_id=1).due_at == when
    with pytest.raises(ValueError, match=r"zone|aware|offset"):
        closing.at(datetime(2026, 12, 1, 9))(order_id=1)  # noqa: DTZ001 - that is the point


def test_a_moment_that_is_long_past_is_refused_with_the_time_and_what_to_say(sched: Scheduler, closing: Any) -> None:
    with pytest.raises(ValueError, match=r"365 d before the store's time, 2026-11-28T12:00:00.*later.*late=\"365d\""):
        closing.at(datetime(2025, 11, 28, 12, tzinfo=UTC))(order_id=1)
    assert sched.occurrences("close_unpaid") == []
    yesterday = START - timedelta(days=1)
    assert closing.at(yesterday)(order_id=2).due_at == yesterday, "events that are worked off late are due at once"
    old = START - timedelta(days=365)
    assert closing.at(old, late="365d")(order_id=3).due_at == old
    with pytest.raises(ValueError, match="59 s"):
        closing.at(START - timedelta(seconds=59), late="58s")(order_id=4)


def test_what_is_enqueued_can_be_awaited(closing: Any) -> None:
    async def ask() -> int:
        return int((await closing.later("1m")(order_id=3)).id)

    assert asyncio.run(ask()) > 0


def test_arguments_are_checked_when_asking_not_when_running(sched: Scheduler, closing: Any) -> None:
    with pytest.raises(TypeError, match=r"close_unpaid.*oder_id"):
        closing.later("1m")(oder_id=1)
    with pytest.raises(TypeError, match="close_unpaid needs order_id"):
        closing.later("1m")()
    with pytest.raises(TypeError, match="'order_id' cannot be stored as JSON"):
        closing.later("1m")(order_id=object())
    with pytest.raises(TypeError, match="cannot be stored"):
        closing.later("1m")(order_id=float("nan"))
    with pytest.raises(ValueError, match="more than 262144"):
        closing.later("1m")(order_id=1, note="x" * 300_000)
    assert sched.occurrences() == []


@pytest.mark.usefixtures("closing")
def test_an_event_delivered_ten_times_counts_once(sched: Scheduler) -> None:
    answers = [sched.emit("order.created", id="o-1", order_id=42) for _ in range(10)]
    assert [each.duplicate for each in answers] == [False] + [True] * 9
    assert {each.enqueued[0].duplicate_of for each in answers[1:]} == {answers[0].enqueued[0].id}
    (row,) = sched.occurrences(states=[State.PENDING])
    assert (row.key, row.due_at) == ("unpaid:42", START + timedelta(minutes=30))


def test_events_without_an_id_are_each_their_own(sched: Scheduler) -> None:
    @sched.job(on_event("ping"), reason="x")
    def pong() -> None: ...

    assert not sched.emit("ping").duplicate
    assert not sched.emit("ping").duplicate
    assert len(sched.occurrences("pong")) == 2


def test_an_event_that_nobody_waits_for_is_said_in_the_log(sched: Scheduler, caplog: pytest.LogCaptureFixture) -> None:
    assert sched.emit("nobody.listens").enqueued == ()
    assert "no job waits for it" in caplog.text


def test_one_event_reaches_every_subject_of_every_job(sched: Scheduler) -> None:
    @sched.job(on_event("done"), each={"channel": ["ops", "sales"]}, reason="x")
    def tell(channel: str) -> None: ...

    @sched.job(on_event("done"), reason="x")
    def file() -> None: ...

    assert sorted(each.job for each in sched.emit("done", id="1").enqueued) == ["file", "tell", "tell"]


def test_run_now_uses_the_key_of_the_day_and_says_why(sched: Scheduler) -> None:
    @sched.job(cron("0 9 * * *", tz="Asia/Shanghai"), key="report:{business_date}", reason="x")
    def report() -> None: ...

    first = report.run_now(reason="Ops asked for it")
    assert first.key == "report:2026-11-28"
    assert report.run_now(reason="and again").duplicate_of == first.id


def test_a_job_for_each_subject_wants_to_know_for_which(sched: Scheduler) -> None:
    @sched.job(every("5m"), each={"channel": ["ops", "sales"]}, key="r:{date}:{channel}", reason="x")
    def report(channel: str) -> None: ...

    @sched.job(manual(), each={"channel": ["ops", "sales"]}, params={"n": 1}, reason="x")
    def without(n: int) -> None: ...

    assert report.run_now(reason="x", channel="ops").key == "r:2026-11-28:ops"
    assert report.later("1m")(channel="sales").key == "r:2026-11-28:sales"
    assert {row.subject for row in sched.occurrences("report")} == {"channel=ops", "channel=sales"}
    with pytest.raises(ValueError, match="say for which; there are ops, sales"):
        report.run_now(reason="x")
    with pytest.raises(ValueError, match="has no channel 'art'"):
        report.later("1m")("art")
    without.run_now(reason="x", channel="ops")
    assert [dict(row.params) for row in sched.occurrences("without")] == [{"channel": "ops"}]


def test_signals_are_versions_and_a_repeat_changes_nothing(sched: Scheduler) -> None:
    assert sched.signal("corpus.index") == 1
    assert sched.signal("corpus.index") == 1
    assert sched.clear("corpus.index") == 2
    with pytest.raises(ValueError, match="clear"):
        sched.signal("corpus.index", None)


def test_a_cancel_may_overtake_its_create(sched: Scheduler, closing: Any) -> None:
    assert sched.cancel(job="close_unpaid", key="unpaid:9", reason="paid").outcome == "done"
    assert closing.later("30m", key="unpaid:9")(order_id=9).duplicate
    assert sched.occurrences(states=["PENDING"]) == []


@pytest.mark.usefixtures("closing")
def test_pause_and_resume(sched: Scheduler) -> None:
    assert sched.pause("close_unpaid", reason="shop closed").outcome == "done"
    (row,) = sched.store.jobs(["close_unpaid"])
    assert (row.paused, row.pause_reason) == (True, "shop closed")
    assert sched.resume("close_unpaid").outcome == "done"
    assert sched.pause("no_such", reason="x").outcome == "not_found"


def test_declaring_twice_changes_nothing(sched: Scheduler) -> None:
    @sched.job(every("5m"), reason="x")
    def rebuild() -> None: ...

    assert [row.revision for row in sched.declare()] == [1]
    assert [row.revision for row in sched.declare()] == [1]
    assert len(sched.occurrences("rebuild")) == 1


def test_evaluate_says_what_would_happen_and_writes_nothing(sched: Scheduler, clock: VirtualClock) -> None:
    @sched.job(
        cron("0 9 * * *", tz="Asia/Shanghai"),
        window=Window("09:00", "12:00"),
        depends_on=[ready("etl:{business_date}")],
        each={"channel": ["ops", "sales"]},
        reason="x",
    )
    def report(channel: str) -> None: ...

    sched.declare()
    before = sched.occurrences()
    at_nine = datetime(2026, 11, 29, 1, tzinfo=UTC)
    waiting = report.evaluate(at_nine + timedelta(minutes=5))
    assert (waiting.verdict, waiting.code) == ("skip_dep", "flag_missing")
    assert waiting.recheck_at == at_nine + timedelta(minutes=10)
    assert waiting.sentence
    assert waiting.say("zh") != waiting.sentence
    sched.signal("etl:2026-11-29")
    assert report.evaluate(at_nine + timedelta(minutes=5), subject="channel=sales").verdict == "should_run"
    assert report.evaluate(at_nine + timedelta(hours=4)).verdict == "skip_window"
    assert [row.id for row in sched.occurrences()] == [row.id for row in before]
    with pytest.raises(ValueError, match="no subject"):
        report.evaluate(subject="channel=nobody")
    clock.advance(DAY)


def test_evaluate_speaks_of_no_moment_from_before_the_rule(sched: Scheduler, clock: VirtualClock) -> None:
    @sched.job(cron("0 9 * * *", tz="UTC"), window=Window("09:00", "12:00"), reason="x")
    def report() -> None: ...

    def due(**words: Any) -> str:
        return report.evaluate(**words).occurrence.scheduled_for.isoformat()[:16]

    clock.advance(DAY + 3 * HOUR)  # 29 November, 15:00
    assert due() == "2026-11-30T09:00", "nobody declared it yet, so yesterday's window cannot have closed on it"
    assert report.evaluate().verdict == "should_run"
    sched.declare()
    assert due() == "2026-11-30T09:00"
    assert due(at=datetime(2026, 11, 29, 10, tzinfo=UTC)) == "2026-11-29T09:00", "who names a time supposes it"
    clock.advance(2 * DAY)
    assert due() == "2026-12-01T09:00"


def test_a_job_without_moments_has_nothing_to_evaluate_until_somebody_asks(sched: Scheduler) -> None:
    @sched.job(manual(), reason="x")
    def ask(n: int = 1) -> None: ...

    with pytest.raises(ValueError, match="nothing is stored"):
        ask.evaluate()
    ask.later("1m")(n=2)
    assert ask.evaluate().verdict == "should_run"


def test_an_unknown_job_is_answered_with_the_nearest(sched: Scheduler) -> None:
    @sched.job(manual(), reason="x")
    def report() -> None: ...

    with pytest.raises(NoSuchJobError, match="did you mean 'report'"):
        sched.evaluate("reprot")


def test_occurrences_can_be_narrowed(sched: Scheduler, clock: VirtualClock) -> None:
    @sched.job(manual(), reason="x")
    def ask(n: int) -> None: ...

    for n in range(3):
        ask.later("1m")(n=n)
        clock.advance(HOUR)
    assert len(sched.occurrences("ask")) == 3
    assert len(sched.occurrences("ask", limit=2)) == 2
    since, until = START + timedelta(minutes=30), START + timedelta(minutes=90)
    assert [row.params["n"] for row in sched.occurrences("ask", since=since, until=until)] == [1]
    assert sched.workers() == []
    assert MINUTE


@pytest.mark.parametrize("limit", [-1, 2.0, None])
def test_a_limit_that_is_no_number_of_rows_is_refused_alike_on_every_store(sched: Scheduler, limit: Any) -> None:
    with pytest.raises(ValueError, match="write how many at most"):
        sched.occurrences("ask", limit=limit)
    assert sched.occurrences(limit=0) == []


def test_a_job_is_ended_and_begins_again_when_somebody_declares_it(sched: Scheduler) -> None:
    @sched.job(every("5m"), reason="To be ended.")
    def tick() -> None: ...

    sched.declare()
    assert sched.end("tick", reason="moved", actor="ann").outcome == "done"
    assert sched.end("tick", reason="moved").outcome == "already_done"
    assert sched.end("nothing", reason="moved").outcome == "not_found"
    (row,) = sched.occurrences("tick")
    assert (row.state, row.verdict) == (State.SKIPPED, "skip_superseded")
    sched.declare()
    assert [row.state for row in sched.occurrences("tick", states=["PENDING"])] == [State.PENDING]
