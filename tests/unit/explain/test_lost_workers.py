"""``why`` says of a lost worker what can be known at that moment, and no more."""

from __future__ import annotations

import pytest
from desk import DIGEST, LEASE, Desk

from noonmark.core.model import SECOND, Event, Fact, Occurrence, Query, State
from noonmark.core.outages import fact_name
from noonmark.explain.report import report_text
from noonmark.explain.verify import verify
from noonmark.explain.voice import Voice
from noonmark.explain.why import why

UNKNOWN = "w1 (pid 4101) was last heard of at 18:30:25, and it is not known yet whether it is gone"
COUNTS = "(its heartbeat counts until 18:30:55);"
GONE = "w1 (pid 4101) was last heard of at 18:30:25 and is gone;"
UNKNOWN_ZH = "w1（pid 4101）最后一次心跳在 18:30:25，是否已消失尚不可知（心跳有效到 18:30:55）；"
GONE_ZH = "w1（pid 4101）最后一次心跳在 18:30:25，此后消失；"


@pytest.fixture
def desk() -> Desk:
    """A run that began at 18:30 on w1, which was killed just after its heartbeat of 18:30:25."""
    made = Desk()
    made.register(DIGEST)
    made.signal("corpus:2026-11-27")
    made.until("2026-11-27T18:30:00")
    made.beat("w1", pid=4101)
    made.look()
    made.later(25 * SECOND)
    made.beat("w1", pid=4101)
    made.beat("w2")
    return made


def sentence(desk: Desk, lang: str = "en", *, lives: bool | None = None) -> str:
    return why(desk.store, "digest", lang=lang, lives=lambda _: lives).sentence


def taken_over_at(desk: Desk, second: str) -> Occurrence:
    desk.until(f"2026-11-27T18:30:{second}")
    return desk.take_over("w2")


def test_while_its_lease_counts_a_dead_worker_runs_it_as_far_as_anybody_knows(desk: Desk) -> None:
    desk.until("2026-11-27T18:30:29")
    assert sentence(desk) == "It is running now: since 18:30 on w1, try 1 of 5, lease until 18:30:30."
    assert "gone" not in "".join(why(desk.store, "digest").lines)


def test_while_its_lease_counts_the_kernel_of_its_own_machine_knows_that_it_is_gone(desk: Desk) -> None:
    desk.until("2026-11-27T18:30:29")
    told = why(desk.store, "digest", lives=lambda _: False)
    assert told.lines[:1] == (
        "w1 (pid 4101) is gone: its process is no more. Its lease counts until 18:30:30, then another takes over.",
    )
    assert "gone" not in "".join(why(desk.store, "digest", lives=lambda _: True).lines)


def test_after_the_lease_nobody_knows_yet_whether_it_is_gone(desk: Desk) -> None:
    desk.until("2026-11-27T18:30:31")
    told = sentence(desk)
    assert told.startswith("It was running on w1 since 18:30, but its lease ended at 18:30:30 and nobody renewed it: ")
    assert f"{UNKNOWN} {COUNTS}" in told
    assert UNKNOWN_ZH in sentence(desk, "zh")
    assert GONE in sentence(desk, lives=False)


def test_after_the_takeover_nobody_knows_yet_whether_it_is_gone(desk: Desk) -> None:
    second = taken_over_at(desk, "31")
    told = sentence(desk)
    assert told.startswith("It is running again, on try 2: ")
    assert f"{UNKNOWN} {COUNTS} w2 took over at 18:30:31" in told
    assert UNKNOWN_ZH in sentence(desk, "zh")
    assert "lived on" not in told
    desk.finish(second, worker="w2")
    done = sentence(desk)
    assert done.startswith("It ran once to the end, on try 2: ")
    assert f"{UNKNOWN} {COUNTS}" in done
    assert "并未死亡" not in sentence(desk, "zh")


def test_once_its_heartbeat_has_ended_it_is_gone_and_when_it_was_last_heard_of_stays(desk: Desk) -> None:
    second = taken_over_at(desk, "31")
    desk.until("2026-11-27T18:30:54")
    assert UNKNOWN in sentence(desk)
    desk.later(SECOND)
    assert GONE in sentence(desk)
    assert GONE_ZH in sentence(desk, "zh")
    desk.finish(second, worker="w2")
    assert GONE in sentence(desk)
    assert GONE_ZH in sentence(desk, "zh")


def test_the_kernel_of_its_own_machine_proves_it_gone_at_once(desk: Desk) -> None:
    taken_over_at(desk, "31")
    assert GONE in sentence(desk, lives=False)
    assert GONE_ZH in sentence(desk, "zh", lives=False)


def test_a_process_that_is_still_there_is_not_gone_however_long_it_is_silent(desk: Desk) -> None:
    taken_over_at(desk, "31")
    desk.later(20 * SECOND)
    there = "w1 stopped renewing its lease although its process 4101 is still there (last heard of at 18:30:25);"
    assert there in sentence(desk, lives=True)
    assert "w1 停止续租，但其进程 4101 仍在（最后心跳 18:30:25）；" in sentence(desk, "zh", lives=True)


def test_it_lived_on_only_if_a_heartbeat_after_the_lease_proves_it(desk: Desk) -> None:
    taken_over_at(desk, "31")
    assert "lived on" not in sentence(desk)
    desk.later(9 * SECOND)
    desk.beat("w1", pid=4101)
    lived = "w1 stopped renewing its lease although it lived on (last heard of at 18:30:40);"
    assert lived in sentence(desk)
    assert lived in sentence(desk, lives=False), "what it did then stays true"
    assert "w1 停止续租但并未死亡（最后心跳 18:30:40）；" in sentence(desk, "zh")


def test_while_somebody_looks_at_it_the_moment_it_was_found_is_told_and_not_the_end_of_the_look(desk: Desk) -> None:
    desk.until("2026-11-27T18:30:31")
    desk.take("w2")
    assert sentence(desk) == (
        "It was running on w1 since 18:30, but its lease was found to be over at 18:30:31: "
        f"{UNKNOWN} {COUNTS} w2 is looking at it now."
    )


def test_a_lost_run_that_waits_for_its_holder_is_not_said_to_run_again(desk: Desk) -> None:
    desk.until("2026-11-27T18:30:31")
    (row,) = desk.take("w2")
    desk.finish(
        row, Event.PARK, worker="w2", due_at=desk.now + LEASE, verdict="skip_lease", code="holder_alive", detail="{}"
    )
    told = sentence(desk)
    assert told.startswith("It was running on w1 since 18:30, but its lease was found to be over at 18:30:31: ")
    assert "nobody runs it now." in told
    assert told.endswith("Next look at 18:31:01 (in 30 s).")
    assert "took over" not in told
    assert "目前无人运行它。" in sentence(desk, "zh")


def test_a_run_that_was_lost_and_then_failed_still_says_who_was_lost(desk: Desk) -> None:
    second = taken_over_at(desk, "31")
    desk.finish(second, Event.FAIL_RETRY, worker="w2", due_at=desk.now + SECOND, code="failed_retry", error="Boom: x")
    assert any(UNKNOWN in line and line.endswith(".") for line in why(desk.store, "digest").lines)
    assert any(UNKNOWN_ZH[:-1] in line for line in why(desk.store, "digest", lang="zh").lines)


def away(desk: Desk, worker: str, start: int, end: int) -> None:
    """Let a worker write down that it missed the store between two seconds of 18:30."""
    half_past = desk.row(1).scheduled_for
    spans = [[half_past + start * SECOND, half_past + end * SECOND]]
    desk.store.signal(desk.request(), [Fact(name=fact_name(worker), value=spans, actor=worker)])


def test_a_worker_that_could_not_renew_because_the_store_was_away_says_so(desk: Desk) -> None:
    second = taken_over_at(desk, "45")
    desk.beat("w1", pid=4101)
    away(desk, "w1", 26, 44)
    told = sentence(desk)
    cut_off = "w1 could not renew its lease while the store was away from 18:30:26 to 18:30:44"
    assert f"{cut_off} (last heard of at 18:30:45);" in told
    assert "存储在 18:30:26 至 18:30:44 无法访问，w1 因此未能续租（最后心跳 18:30:45）；" in sentence(desk, "zh")
    desk.finish(second, worker="w2")
    assert cut_off in sentence(desk)


def test_a_time_away_that_the_lease_outlasted_is_no_reason_for_losing_it(desk: Desk) -> None:
    away(desk, "w1", 1, 4)
    taken_over_at(desk, "35")
    assert "the store was away" not in sentence(desk)


def test_who_died_and_wrote_nothing_down_is_not_said_to_have_been_cut_off(desk: Desk) -> None:
    taken_over_at(desk, "45")
    away(desk, "w2", 26, 44)
    assert UNKNOWN in sentence(desk)


def test_verify_counts_a_worker_as_dead_at_once_when_the_kernel_of_its_machine_says_so(desk: Desk) -> None:
    since = desk.now - 30 * SECOND
    assert verify(desk.store, since).died == 0, "their heartbeats count"
    report = verify(desk.store, since, lives=lambda worker: worker.id != "w1")
    assert (report.workers, report.died) == (2, 1)
    voice = Voice(lang="en", zone="Asia/Shanghai", now=desk.now)
    assert "workers: 2, of which 1 died" in report_text(report, voice)


def test_verify_does_not_count_a_silent_worker_as_dead_while_its_process_is_there(desk: Desk) -> None:
    desk.later(60 * SECOND)
    since = desk.now - 3600 * SECOND
    assert verify(desk.store, since).died == 2, "nobody knows better than the heartbeats"
    assert verify(desk.store, since, lives=lambda _: True).died == 0
    desk.beat("w1", ended=True)
    assert verify(desk.store, since, lives=lambda _: False).died == 1, "who said good-bye did not die"


def test_verify_blames_nobody_for_what_is_due_while_every_process_is_gone(desk: Desk) -> None:
    for _ in range(4):  # it is heard of, so it seems, and takes nothing
        desk.later(20 * SECOND)
        desk.beat("w2")
    since = desk.now - 3600 * SECOND
    assert "overdue" in [problem.kind for problem in verify(desk.store, since).problems]
    assert verify(desk.store, since, lives=lambda _: False).ok


def test_what_is_due_is_due_to_nobody_while_every_process_is_known_to_be_gone(desk: Desk) -> None:
    desk.finish(desk.store.occurrences(Query(job="digest", states=frozenset({State.RUNNING})))[0])
    desk.until("2026-11-28T18:30:00")
    desk.beat("w1")
    desk.later(SECOND)
    assert why(desk.store, "digest", at="2026-11-28").code == "due"
    assert why(desk.store, "digest", at="2026-11-28", lives=lambda _: False).code == "nobody_awake"
