"""What click, json and the system say within a Chinese sentence is Chinese, and what a job said is not touched."""

from __future__ import annotations

import json
import re

import pytest
from calling import Noonmark
from desk import Desk

from noonmark.core import times
from noonmark.core.errors_zh import in_chinese
from noonmark.core.model import DAY, HOUR, MINUTE, SECOND
from noonmark.explain import doctor
from noonmark.faces.cli.doctor_words import told
from noonmark.rules import loader
from noonmark.rules.problems import Problem, ProblemList
from noonmark.rules.taskrules import loads_literal
from noonmark.stores.memory import MemoryStore
from noonmark.testing.clock import VirtualClock


def test_a_choice_of_one_is_told_in_chinese(noonmark: Noonmark) -> None:
    answer = noonmark("run", "digest", "--override", "budget", "--lang", "zh")
    assert "'--override' 的值不可用：'budget' 不是 'window'。" in answer.err


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("{bad", "第 1 行第 2 列：属性名要用双引号"),
        ('{"a" 1}', "第 1 行第 6 列：缺少“:”"),
        ('{"a": 1', "第 1 行第 8 列：缺少“,”"),
        ("[1,", "第 1 行第 4 列：缺少值"),
        ("[1] 2", "第 1 行第 5 列：结尾之后还有内容"),
        ('{"a', "第 1 行第 2 列：文本没有收尾的双引号"),
        ('["\\x"]', "第 1 行第 3 列：转义写得不对"),
        ('["\t"]', "第 1 行第 3 列：文本里有控制字符"),
    ],
)
def test_what_json_says_of_a_value_is_told_in_chinese(noonmark: Noonmark, value: str, said: str) -> None:
    with pytest.raises(json.JSONDecodeError):
        json.loads(value)
    assert said in noonmark("signal", "price", "--value", value, "--lang", "zh").err


@pytest.mark.parametrize(
    ("error", "said"),
    [
        ("exit code 3", "退出码 3"),
        ("exit code 3: too long", "退出码 3：too long"),
        ("exit code 3\nkilled by SIGKILL", "退出码 3\nkilled by SIGKILL"),
        ("killed by SIGKILL: Permission denied", "被 SIGKILL 终止：Permission denied"),
        ("killed by signal 36", "被信号 36 终止"),
        ("exit code 3 was what it said", "exit code 3 was what it said"),
        (
            "the command 'nope' could not be started: [Errno 2] No such file or directory: 'nope'",
            "命令 'nope' 无法启动：没有这个文件或目录：'nope'",
        ),
        (
            "the command './x' could not be started: [Errno 8] Exec format error: './x'",
            "命令 './x' 无法启动：不是可执行的格式：'./x'",
        ),
    ],
)
def test_how_a_process_ended_is_told_in_chinese_and_what_it_said_as_it_is(error: str, said: str) -> None:
    assert in_chinese(error) == said


@pytest.mark.parametrize(
    "length",
    [DAY, DAY + HOUR, HOUR, 3 * HOUR + MINUTE, MINUTE, MINUTE + 9 * SECOND, 9 * SECOND, 1_500_000, 12_000],
)
def test_a_length_is_told_in_chinese(length: int) -> None:
    said = in_chinese(times.length_text(length))
    assert not any(sign.isascii() and sign.isalpha() for sign in said), said


def test_a_length_within_a_finding_is_told_in_chinese() -> None:
    problem = Problem(code="moments_over", detail={"ago": times.length_text(DAY + HOUR)})
    assert "最后一个在 1 天 1 小时 前" in problem.text("zh")
    assert "1 d 1 h ago" in problem.text("en")


def test_work_that_waits_for_a_worker_is_told_by_the_doctor_in_chinese() -> None:
    detail: dict[str, object] = {"at": "2026-11-30 17:03:20 UTC", "late": times.length_text(MINUTE + 9 * SECOND)}
    sentence, _ = told("work_waits", "", "", detail, "zh")
    assert "（已 1 分钟 9 秒）" in sentence


@pytest.mark.parametrize(("off", "said"), [(-2_000, "0.00"), (3_000, "0.00"), (-20_000, "-0.02"), (30_000, "+0.03")])
def test_clocks_that_agree_differ_by_no_less_than_nothing(off: int, said: str) -> None:
    clock = VirtualClock()
    store = MemoryStore(clock)
    clock.step_wall(off)
    (finding,) = doctor._clock(store, clock)
    assert f"differs by {said} s from" in finding.sentence
    store.close()


@pytest.mark.parametrize("text", ["2026-13-01", "1", "2026", "2026-02-30"])
def test_what_is_no_date_is_not_offered_with_a_time_behind_it(text: str) -> None:
    with pytest.raises(ValueError, match="is no ISO time") as refused:
        times.parse_instant(text, "UTC")
    assert f" {text}T09" not in str(refused.value)


def test_a_date_alone_is_told_what_it_lacks() -> None:
    with pytest.raises(ValueError, match="has no time of day; write it as 2026-11-28T09:00:00"):
        times.parse_instant("2026-11-28", "UTC")


BROKEN = [
    "a: [", "a: {b: 1", "a: [1 2: 3", "a:\n  - 1\n b: 2", "a: 'x", 'a: "x', "a: b: c", "a\nb: 1", "- a\nb: 1", "a: @x",
    "a: %x", "\ta: 1", "a: *x", "a: |x\n  y", 'a: "\\q"', 'a: "\\xg0"', "a: &", "%YAML 1.2\n%YAML 1.2\n---\n", "{a: 1]",
    "[1, 2", "? [a]\n: b", "a: !<x", "a: !x!y 1", "a: `x`", "a: - b", "  a: 1\nb: 2", "a: 1\n  b: 2", "a: 'x\n--- y",
    "a: [b, c}", "a: ]", "x: }",
]  # fmt: skip


@pytest.mark.parametrize("text", BROKEN)
def test_what_the_yaml_library_says_of_a_file_is_told_in_chinese(text: str) -> None:
    with pytest.raises(ProblemList) as refused:
        loader.loads(f"version: 1\njobs:\n  ok: {{manual: true, command: [x], reason: r}}\n{text}\n")
    for problem in refused.value.problems:
        assert re.search(r"[a-z]{3,} [a-z]{2,} [a-z]{2,}", problem.text("zh")) is None, problem.text("zh")


@pytest.mark.parametrize(
    "text",
    ["{", "{'a: 1}", "[1)", ")", "{'a'：1}", "'''x", "{\n  1\n ]"],
)
def test_what_python_says_of_a_file_is_told_in_chinese(text: str) -> None:
    with pytest.raises(ProblemList) as refused:
        loads_literal(f"TASK_RULES = {text}\nif 1:\n  x = 1\n", name="rules.py", keep_good=False, known=())
    for problem in refused.value.problems:
        said = problem.text("zh").replace("TASK_RULES", "")
        assert re.search(r"[a-z]{3,} [a-z]{2,} [a-z]{2,}|invalid syntax", said) is None, said


def test_a_text_that_is_too_long_is_named_in_chinese(noonmark: Noonmark) -> None:
    said = noonmark("pause", "digest", "--reason", "a" * 50_000, "--lang", "zh").err
    assert "备注或原因 有 50000 个字符，超过 8192" in said


def test_why_tells_how_the_process_of_a_try_ended_in_chinese(desk: Desk, noonmark: Noonmark) -> None:
    desk.act("end_job", job="digest")
    desk.until("2026-11-27T12:05:00")
    desk.beat()
    desk.fail(desk.look(), error="exit code 3: too long")
    assert "失败：退出码 3：too long" in noonmark("why", "tick", "--lang", "zh").out
    assert "failed: exit code 3: too long" in noonmark("why", "tick").out
