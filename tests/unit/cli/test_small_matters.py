"""Small matters: arguments that are no text, JSON that is none, long keys, a try that was handed back."""

from __future__ import annotations

from pathlib import Path

import pytest
from calling import Noonmark
from desk import Desk

from noonmark.core.model import SECOND, Event, Job, Manual, Query


@pytest.fixture
def asked(desk: Desk) -> Desk:
    desk.act("end_job", job="tick")
    desk.register(Job(name="mail", trigger=Manual(tz="Asia/Shanghai"), key="mail:{n}", reason="It is sent when asked."))
    return desk


def test_an_argument_whose_bytes_are_no_text_is_refused_before_anything_is_done(
    asked: Desk, noonmark: Noonmark
) -> None:
    before = asked.store.occurrences(Query())
    for call in (("cancel", "--key", "\udcff"), ("run", "mail", "--param", "n=\udcff"), ("signal", "a\udcff")):
        answer = noonmark(*call)
        assert answer.code == 2
        assert "an argument is no text" in answer.err
        assert "\\udcff" in answer.err
    assert noonmark("cancel", "--key", "\udcff", "--json").plain["error"]["code"] == "not_utf8"
    assert "有一个参数不是文本" in noonmark("--lang", "zh", "cancel", "--key", "\udcff").err
    assert asked.store.occurrences(Query()) == before


def test_bytes_of_utf8_that_the_locale_could_not_read_are_read(noonmark: Noonmark) -> None:
    raw = "日报".encode().decode("ascii", "surrogateescape")
    assert "日报" in noonmark("why", raw).err


@pytest.mark.parametrize("value", ["{bad", '{"a": 1', "[1,", '"open'])
def test_a_value_that_begins_as_json_and_is_none_is_not_stored_as_text(
    desk: Desk, noonmark: Noonmark, value: str
) -> None:
    answer = noonmark("signal", "corpus", "--value", value)
    assert answer.code == 2
    assert "begins as JSON and is none" in answer.err
    assert "以 JSON 开头却不是 JSON" in noonmark("signal", "corpus", "--value", value, "--lang", "zh").err
    assert desk.store.facts(["flag:corpus"])["flag:corpus"].version == 0


@pytest.mark.parametrize(("value", "stored"), [("7", 7), ("done", "done"), ('{"a": 1}', {"a": 1}), ('"{bad"', "{bad")])
def test_a_value_that_is_json_or_a_word_is_stored(desk: Desk, noonmark: Noonmark, value: str, stored: object) -> None:
    assert noonmark("signal", "corpus", "--value", value).code == 0
    assert desk.store.facts(["flag:corpus"])["flag:corpus"].value == stored


def test_a_long_key_does_not_push_the_rest_of_the_backlog_out_of_sight(asked: Desk, noonmark: Noonmark) -> None:
    noonmark("run", "mail", "--param", f"n={'x' * 400}")
    noonmark("run", "mail", "--param", "n=1")
    lines = noonmark("backlog").out.splitlines()
    assert max(len(line) for line in lines) < 200
    keys = [row["key"] for row in noonmark("backlog", "--json").plain["occurrences"]]
    assert f"mail:{'x' * 400}" in keys, "programs have it whole"
    assert asked.store.occurrences(Query(job="mail"))


def test_why_shows_the_one_try_that_was_begun_and_handed_back(asked: Desk, noonmark: Noonmark) -> None:
    noonmark("run", "mail", "--param", "n=1")
    asked.beat()
    row = asked.look()
    asked.later(2 * SECOND)
    asked.finish(row, Event.HAND_BACK, due_at=asked.now, code="handed_back")
    (line,) = (line for line in noonmark("why", "mail").out.splitlines() if "try 1  w1" in line)
    assert "handed back" in line


def test_faults_that_were_asked_for_and_do_not_come_in_so_short_a_time_are_not_told_as_none_asked_for(
    noonmark: Noonmark, tmp_path: Path
) -> None:
    rules = tmp_path / "noonmark.yaml"
    rules.write_text("version: 1\njobs:\n  a: {every: 10m, command: [x], reason: r}\n", encoding="utf-8")
    asked = ("simulate", str(rules), "--days", "0.01", "--faults", "crash")
    assert "faults: none, for 2 a day of each kind make none in so short a time (--a-day)" in noonmark(*asked).out
    assert "这么短的时间里一次也轮不到" in noonmark(*asked, "--lang", "zh").out
    assert "faults: none\n" in noonmark(*asked[:-1], "none").out
