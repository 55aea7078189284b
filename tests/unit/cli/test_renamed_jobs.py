"""A job that was given another name: whose row holds the key of its moment, and what is to be done about it."""

from __future__ import annotations

import pytest
from calling import Noonmark
from desk import DIGEST, Desk, at

from noonmark.core.model import Job, Manual, Query, State, Verdict
from noonmark.testing.builders import make_caller_row

OLD = Job(name="old_digest", trigger=Manual(), key=DIGEST.key, reason="It had this name before.")


@pytest.fixture
def renamed(desk: Desk) -> Desk:
    """A row of old_digest, for which no worker has code, holds the key of the day's digest."""
    desk.act("end_job", job="tick")
    desk.register(OLD)
    held = make_caller_row("l:1", at=at("2026-11-28T09:00:00"), job="old_digest", key="digest:2026-11-27")
    (added,) = desk.store.add(desk.request(), [held])
    assert added.outcome == "added"
    del desk.jobs["old_digest"], desk.jobs["tick"]
    desk.signal("corpus:2026-11-27")
    desk.until("2026-11-27T18:30:00")
    desk.beat()
    row = desk.look()
    assert (row.job, row.verdict) == ("digest", Verdict.SKIP_DUPLICATED)
    return desk


def test_why_names_the_job_whose_row_holds_the_key_and_that_nobody_has_code_for_it(
    renamed: Desk, noonmark: Noonmark
) -> None:
    holder = _holder(renamed)
    told = noonmark("why", "digest", "--at", "2026-11-27T18:30").out
    assert f"r{holder} is open and nobody can run it: no worker that is awake has code for its job old_digest" in told
    assert f"noonmark cancel r{holder}, then noonmark run digest --for 2026-11-27 --again --reason WHY" in told
    assert "都没有任务 old_digest 的代码" in noonmark("why", "digest", "--at", "2026-11-27T18:30", "--lang", "zh").out


def test_why_says_that_the_holders_job_was_ended_and_what_it_says_to_do_helps(
    renamed: Desk, noonmark: Noonmark
) -> None:
    holder = _holder(renamed)
    renamed.act("end_job", job="old_digest")
    told = noonmark("why", "digest", "--at", "2026-11-27T18:30").out
    assert f"r{holder} is open and nobody will run it: its job old_digest was ended" in told
    assert noonmark("cancel", f"r{holder}").code == 0
    asked = noonmark("run", "digest", "--for", "2026-11-27", "--again", "--reason", "renamed", "--json")
    assert asked.code == 0
    assert renamed.look().state is State.RUNNING


@pytest.mark.usefixtures("renamed")
def test_verify_does_not_say_of_a_moment_that_somebody_asked_again(noonmark: Noonmark) -> None:
    told = noonmark("verify", "--job", "digest").out
    assert "1 moments of a schedule ended as duplicates: another occurrence has their key" in told
    assert "somebody asked again" not in told
    assert "1 个计划时刻因重复而结束" in noonmark("verify", "--job", "digest", "--lang", "zh").out
    assert noonmark("verify", "--json").plain["moments_refused"] == 1
    assert noonmark("history", "--state", "refused_duplicate").out.count("duplicate refused") == 1


def _holder(desk: Desk) -> int:
    (row,) = desk.store.occurrences(Query(job="old_digest", open_only=True))
    return row.id
