"""A job that a person ended: every command that is asked about it says so, and by whom, when and why."""

from __future__ import annotations

import pytest
from calling import Noonmark
from desk import DIGEST, Desk

from noonmark.core.model import MINUTE, Job, Manual, OnEvent, Query

ENDED = "digest was ended at 12:00 by ann: no more. Nothing of it falls due until it is declared again."
ENDED_ZH = "digest 已由 ann 于 12:00 终止：no more。重新声明之前不会再有到期的时刻。"
MAIL = Job(name="mail", trigger=Manual(), key="mail:{n}", reason="It is sent when asked.")


@pytest.fixture
def over(desk: Desk) -> Desk:
    """The digest was ended at noon, before it was ever due."""
    desk.act("end_job", job="digest", reason="no more")
    return desk


def test_why_says_that_a_moment_was_not_run_because_its_job_was_ended(over: Desk, noonmark: Noonmark) -> None:
    (row,) = over.store.occurrences(Query(job="digest"))
    for asked in (["digest"], [f"r{row.id}"], ["digest", "--at", "2026-11-27T18:30"]):
        answer = noonmark("why", *asked)
        said = "It did not run: its job was ended at 12:00 by ann, before it was due (18:30): no more."
        assert (answer.code, answer.out.splitlines()[0]) == (0, said)
        assert "noonmark show" not in answer.out
        assert "To have the job again: noonmark rules apply FILE" in answer.out
    in_chinese = noonmark("why", "digest", "--lang", "zh").out.splitlines()[0]
    assert in_chinese == "没有运行：在它到期（18:30）之前，其任务已由 ann 于 12:00 终止：no more。"


def test_a_moment_that_a_new_rule_took_away_is_still_told_as_that(desk: Desk, noonmark: Noonmark) -> None:
    desk.later(MINUTE)
    desk.register(Job(name="digest", trigger=Manual(), key="digest:{n}", reason="When asked."))
    (row,) = desk.store.occurrences(Query(job="digest"))
    told = noonmark("why", f"r{row.id}").out
    assert told.startswith("It was skipped by the rule: The rule was changed before it was due (revision 2)")


def test_why_of_an_ended_job_with_a_history_says_first_that_it_was_ended(desk: Desk, noonmark: Noonmark) -> None:
    desk.act("end_job", job="tick")
    desk.signal("corpus:2026-11-27")
    row = desk.ran("2026-11-27T18:30:00")
    desk.act("end_job", job="digest", reason="no more")
    answer = noonmark("why", "digest")
    first = "digest was ended at 18:31 by ann: no more. Nothing of it falls due until it is declared again."
    assert answer.out.splitlines()[0] == first
    assert f"Its newest occurrence (r{row.id}): It ran on time: due 18:30" in answer.out
    assert "To have the job again" in answer.out
    of_the_row = noonmark("why", f"r{row.id}").out
    assert of_the_row.startswith("It ran on time")
    assert first in of_the_row, "beside its story"


def test_json_tells_the_end_of_the_job_by_fields(over: Desk, noonmark: Noonmark) -> None:
    end = {"at": "2026-11-27T12:00:00+08:00", "by": "ann", "reason": "no more", "revision": 2}
    assert noonmark("why", "digest", "--json").plain["job_ended"] == end
    assert noonmark("show", "digest", "--json").plain["ended"] == end
    listed = {job["job"]: job["end"] for job in noonmark("jobs", "--json").plain["jobs"]}
    assert listed == {"digest": end, "tick": None}
    over.register(DIGEST)
    assert noonmark("why", "digest", "--json").plain["job_ended"] is None
    assert noonmark("show", "digest", "--json").plain["ended"] is None


@pytest.mark.usefixtures("over")
def test_show_has_the_last_rule_of_an_ended_job_and_who_ended_it(noonmark: Noonmark) -> None:
    answer = noonmark("show", "digest")
    assert answer.code == 0
    assert "digest   revision 2" in answer.out
    assert "no more: ended Fri 27 Nov 2026 12:00 Asia/Shanghai by ann: no more." in answer.out
    assert "18:30 daily Asia/Shanghai" in answer.out, "its last rule"
    assert "nothing is coming" in answer.out
    in_chinese = noonmark("show", "digest", "--lang", "zh").out
    assert "不再生效：已由 ann 于 2026-11-27 12:00 Asia/Shanghai 终止：no more。" in in_chinese


def test_jobs_says_who_ended_a_job_and_why(over: Desk, noonmark: Noonmark) -> None:
    assert ENDED in noonmark("jobs").err
    assert ENDED_ZH in noonmark("jobs", "--lang", "zh").err
    over.register(DIGEST)
    assert "was ended" not in noonmark("jobs").err


def test_history_has_what_the_end_of_a_job_ended_although_its_moment_is_to_come(over: Desk, noonmark: Noonmark) -> None:
    (row,) = over.store.occurrences(Query(job="digest"))
    answer = noonmark("history", "digest")
    (line,) = answer.out.splitlines()[1:]
    assert line.split()[0] == f"r{row.id}"
    assert "Its job was ended at 12:00 by ann, before it was due: no more." in line


def test_history_has_a_delayed_call_that_was_cancelled_before_it_was_due_and_no_open_one(
    desk: Desk, noonmark: Noonmark
) -> None:
    desk.register(MAIL)
    assert noonmark("history").out.count("\n") == 1, "the next moments of the jobs are no history"
    assert noonmark("cancel", "--key", "mail:7", "--job", "mail").code == 0
    (tick,) = desk.store.occurrences(Query(job="tick"))
    assert noonmark("history", "--json").plain["occurrences"][0]["key"] == "mail:7"
    assert [row["id"] for row in noonmark("history", "tick", "--json").plain["occurrences"]] == []
    assert [row["id"] for row in noonmark("history", "tick", "--all", "--json").plain["occurrences"]] == [tick.id]


@pytest.mark.usefixtures("over")
def test_why_of_a_moment_after_the_end_says_that_the_job_was_ended(noonmark: Noonmark) -> None:
    answer = noonmark("why", "digest", "--at", "2026-11-28T18:30")
    said = "Nothing was due at Sat 28 Nov 2026 18:30: digest was ended at 12:00 by ann: no more."
    assert answer.out.splitlines()[0] == said
    assert "RUN" not in answer.out


@pytest.mark.usefixtures("over")
def test_next_and_run_say_who_ended_the_job(noonmark: Noonmark) -> None:
    for command in ("next", "run"):
        answer = noonmark(command, "digest")
        assert answer.code == 5
        assert "the job digest was ended at 12:00 by ann: no more." in answer.err


@pytest.mark.usefixtures("over")
def test_pausing_an_ended_job_says_what_that_is_good_for(noonmark: Noonmark) -> None:
    paused = noonmark("pause", "digest", "--reason", "until Monday")
    assert paused.code == 0
    assert "it was ended, so this counts from when it is declared again" in paused.out
    assert "已终止" in noonmark("resume", "digest", "--lang", "zh").out
    assert noonmark("pause", "digest", "--reason", "x", "--json").plain["ended"] is True
    assert noonmark("pause", "tick", "--reason", "x").out == "tick is paused\n"


def test_a_job_that_was_never_asked_for_is_told_how_to_ask_or_who_ended_it(desk: Desk, noonmark: Noonmark) -> None:
    desk.register(MAIL, Job(name="heard", trigger=OnEvent(name="paid"), key="heard:{event.id}", reason="It was paid."))
    assert "it runs when asked: noonmark run mail" in noonmark("why", "mail").err
    assert "it runs when asked" in noonmark("why", "heard").err
    desk.act("end_job", job="mail", reason="no more")
    answer = noonmark("why", "mail")
    assert answer.code == 5
    assert "the job was ended" in answer.err
    assert "noonmark show mail says by whom and why" in answer.err


def test_the_reason_of_a_queued_run_whose_job_was_ended_names_who_did_it(desk: Desk, noonmark: Noonmark) -> None:
    desk.register(MAIL)
    asked = noonmark("run", "mail", "--param", "n=1", "--json").plain["runs"][0]["id"]
    desk.act("end_job", job="mail", reason="moved")
    told = noonmark("why", f"r{asked}").out
    assert "mail was ended at 04:00 by ann: moved." in told
    assert "As things stand it would not run: The job mail was ended" in told
