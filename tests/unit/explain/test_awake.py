"""Who was awake when, from heartbeats alone."""

from __future__ import annotations

from dataclasses import replace

from noonmark.explain.awake import Span, alive_with, asleep_at, awake_spans
from noonmark.testing.builders import make_worker

NOW = 1_000


def worker(
    name: str, start: int, seen: int, *, until: int | None = None, ended: int | None = None, jobs: tuple[str, ...] = ()
):
    card = make_worker(name, jobs=jobs)
    return replace(
        card, started_at=start, seen_at=seen, until=until if until is not None else seen + 30, ended_at=ended
    )


def test_overlapping_lives_are_one_span_and_the_silent_lived_until_last_heard_of() -> None:
    workers = [worker("a", 100, 200), worker("b", 150, 300), worker("c", 500, 600, ended=610)]
    assert awake_spans(workers, NOW) == [(100, 300), (500, 610)]


def test_a_worker_whose_heartbeat_still_counts_lives_now() -> None:
    assert awake_spans([worker("a", 100, 990)], NOW) == [(100, NOW)]


def test_a_moment_nobody_lived_through_names_the_whole_gap() -> None:
    workers = [worker("a", 100, 200), worker("c", 500, 600)]
    assert asleep_at(workers, 300, NOW) == Span(start=200, end=500)
    assert asleep_at(workers, 50, NOW) == Span(start=None, end=100)
    assert asleep_at(workers, 700, NOW) == Span(start=600, end=None)
    assert asleep_at([], 700, NOW) == Span(start=None, end=None)


def test_a_moment_somebody_lived_through_is_no_gap() -> None:
    assert asleep_at([worker("a", 100, 200)], 200, NOW) is None


def test_those_who_run_a_job_are_counted_among_those_awake() -> None:
    workers = [worker("a", 1, 990, jobs=("x",)), worker("b", 1, 990), worker("c", 1, 100, jobs=("x",))]
    assert alive_with(workers, "x", NOW) == (2, 1)
