"""Cancelling by key: what is said when nothing has the key, and of what is asked for under it afterwards."""

from __future__ import annotations

import pytest
from calling import Noonmark
from desk import Desk

from noonmark.core.model import Job, Manual, Query, State

MAIL = Job(name="mail", trigger=Manual(tz="Asia/Shanghai"), key="mail:{n}", reason="It is sent when asked.")


@pytest.fixture
def asked(desk: Desk) -> Desk:
    """A desk with a job that is run by hand."""
    desk.act("end_job", job="tick")
    desk.register(MAIL)
    return desk


def test_a_cancel_of_a_key_that_nothing_has_says_so_and_that_it_is_held_from_now_on(
    asked: Desk, noonmark: Noonmark
) -> None:
    answer = noonmark("cancel", "--key", "mail:TYPO")
    (row,) = asked.store.occurrences(Query(key="mail:TYPO"))
    assert answer.code == 0
    said = f"nothing had the key mail:TYPO, so nothing was cancelled; r{row.id} holds it from now on"
    assert answer.out.splitlines()[0] == said
    in_chinese = noonmark("cancel", "--key", "mail:OTHER", "--lang", "zh").out
    assert in_chinese.startswith("没有任何触发用键 mail:OTHER，因此没有取消什么")
    assert noonmark("cancel", "--key", "mail:THIRD", "--json").plain["unknown_key"] is True


def test_a_cancel_of_a_key_that_something_has_is_told_as_that(asked: Desk, noonmark: Noonmark) -> None:
    for number, flags in enumerate(([], ["--json"])):
        noonmark("run", "mail", "--param", f"n={number}")
        answer = noonmark("cancel", "--key", f"mail:{number}", *flags)
        assert answer.code == 0
        (row,) = asked.store.occurrences(Query(key=f"mail:{number}"))
        assert row.state is State.CANCELLED
        if flags:
            assert (answer.plain["ids"], answer.plain["unknown_key"]) == ([row.id], False)
        else:
            assert answer.out == f"r{row.id} is cancelled\n"


@pytest.mark.usefixtures("asked")
def test_why_of_a_key_that_nothing_had_says_that_and_until_when_it_is_held(noonmark: Noonmark) -> None:
    noonmark("cancel", "--key", "mail:7", "--reason", "paid already")
    answer = noonmark("why", "--key", "mail:7")
    said = "Nothing had this key when ann cancelled it at 04:00: paid already. It is held since:"
    assert answer.out.startswith(said)
    assert "--again" not in answer.out
    assert noonmark("why", "--key", "mail:7", "--lang", "zh").out.startswith(
        "ann 于 04:00 取消时，没有任何触发用这个键"
    )


def test_what_is_said_to_do_about_a_cancelled_run_is_accepted(asked: Desk, noonmark: Noonmark) -> None:
    noonmark("run", "mail", "--param", "n=1")
    noonmark("cancel", "--key", "mail:1")
    told = noonmark("why", "--key", "mail:1").out
    assert "To run it all the same: noonmark run mail --param n=1 --reason WHY" in told
    assert noonmark("run", "mail", "--param", "n=1", "--reason", "WHY").code == 0
    assert [row.state for row in asked.store.occurrences(Query(key="mail:1", oldest_first=True))] == [
        State.CANCELLED,
        State.PENDING,
    ]


def test_what_is_said_to_do_about_a_cancelled_moment_of_a_schedule_is_accepted(asked: Desk, noonmark: Noonmark) -> None:
    asked.until("2026-11-27T18:30:00")
    asked.beat()
    row = asked.look()  # it waits for its data
    assert noonmark("cancel", f"r{row.id}").out == f"r{row.id} is cancelled\n"
    told = noonmark("why", "digest").out
    assert "noonmark run digest --for 2026-11-27 --reason WHY" in told
    assert noonmark("run", "digest", "--for", "2026-11-27", "--reason", "WHY").code == 0


def test_a_run_under_a_cancelled_key_says_whose_it_had_been_and_not_that_it_is_a_repeat(
    asked: Desk, noonmark: Noonmark
) -> None:
    noonmark("cancel", "--key", "mail:7", "--job", "mail")
    (held,) = asked.store.occurrences(Query(key="mail:7"))
    tried = noonmark("run", "mail", "--param", "n=7", "--dry-run")
    assert (tried.code, "As things stand it would run." in tried.out) == (0, True), "as the run itself"
    answer = noonmark("run", "mail", "--param", "n=7")
    said = f"Its key had been r{held.id}'s (cancelled) and was asked for all the same: generation 1."
    assert answer.code == 0
    assert said in answer.err
    told = noonmark("why", "--key", "mail:7").out
    assert said in told
    assert "run again on purpose" not in told
    assert (
        f"它的键原属 r{held.id}（已取消），仍被请求：第 1 代。"
        in noonmark("why", "--key", "mail:7", "--lang", "zh").out
    )


def test_a_repeat_of_what_was_done_is_still_told_as_that(asked: Desk, noonmark: Noonmark) -> None:
    noonmark("run", "mail", "--param", "n=7")
    asked.beat()
    asked.finish(asked.look(), code="succeeded")
    answer = noonmark("run", "mail", "--param", "n=7", "--again", "--reason", "lost letter")
    assert answer.code == 0
    assert "This key was run again on purpose: repeat 1." in noonmark("why", "--key", "mail:7").out


def test_a_run_of_what_is_already_asked_for_is_not_sent_to_again(asked: Desk, noonmark: Noonmark) -> None:
    noonmark("run", "mail", "--param", "n=7")
    (row,) = asked.store.occurrences(Query(key="mail:7"))
    for more in ([], ["--again", "--reason", "x"]):
        answer = noonmark("run", "mail", "--param", "n=7", *more)
        assert answer.code == 3
        assert "--again" not in answer.err
        assert f"noonmark why r{row.id}" in answer.err
