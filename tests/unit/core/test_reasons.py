"""Reasons: every code that is used has a sentence and a remedy in both languages, and none ever raises."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from noonmark.core import phrasing, reasons
from noonmark.core.catalogue_runs import ACTS
from noonmark.core.lapsed import Holder
from noonmark.core.model import HOUR, MINUTE, SECOND

SOURCE = Path(reasons.__file__).parents[1]
WHEN = 1_795_860_600_000_000  # 2026-11-28T10:10:00Z, 18:10 in Shanghai
FULL: dict[str, Any] = {
    "late": 42 * MINUTE,
    "allowed": HOUR,
    "reason": "moved to Monday",
    "since": WHEN,
    "opens": WHEN,
    "closes": WHEN,
    "ended_at": WHEN,
    "due_at": WHEN,
    "until": WHEN,
    "by": "ann",
    "day": "Sat",
    "last": "flag_missing",
    "key": "report:2025-06-01:default",
    "holder": "w1",
    "state": "SUCCESS",
    "missing": ["flag:etl:1", "success:index::2026-11-28"],
    "why": "numbers first",
    "occupant": 5,
    "revision": 3,
    "job": "report",
    "error": "ValueError: boom.",
    "attempt": 2,
    "failures": 2,
    "max": 3,
    "left": 1,
    "lost": 4,
    "count": -1,
    "timeout": HOUR,
    "worker": "w1",
    "size": 300_000,
    "limit": 262_144,
    "behind": 5 * SECOND,
    "shift": 90 * SECOND,
}
CONTRACT = (
    "ready started job_paused waiting_for_resume weekend weekend_wait window_not_open window_closed limit_passed "
    "key_held flag_missing dependency_missing slot_taken slot_wait superseded missed_skipped range_superseded "
    "revision_superseded handler_missing rule_unreadable succeeded failed_retry failed_final not_retryable "
    "timed_out timed_out_running lost taken_over holder_alive poison lost_manual handed_back cancelled cancel_requested "
    "cancelled_before_create worker_gone retried marked_done marked_skip marked_handled result_not_stored "
    "effects_started effect_unknown payload_too_large start_failed job_ended"
)
FIELD = re.compile(r"\{(\w+)(?::(\w+))?\}")
CODES = sorted(reasons.REASONS)


def used_codes() -> dict[str, str]:
    """Return every reason code that core, engine and stores name, with the file that does."""
    patterns = (
        r'\bcode(?:: str)?\s*=\s*"([a-z_]+)"',
        r'_decision\(\s*\S+, \S+, "([a-z_]+)"',
        r'_parked\(\s*\w+, "([a-z_]+)"',
    )
    found: dict[str, str] = {}
    for part in ("core", "engine", "stores"):
        for path in (SOURCE / part).rglob("*.py"):
            text = path.read_text(encoding="utf-8")
            text = re.sub(r'\bFinding\(\s*code="\w+"', "", text)  # what a store finds out about itself is no reason
            for pattern in patterns:
                found |= dict.fromkeys(re.findall(pattern, text), path.name)
    return found


def test_every_code_that_is_used_is_in_the_catalogue() -> None:
    found = used_codes()
    assert {"key_held", "window_closed", "taken_over", "worker_gone", "superseded"} <= set(found), "the search works"
    assert {code: where for code, where in found.items() if code not in reasons.REASONS} == {}


@pytest.mark.parametrize("code", CONTRACT.split())
def test_the_codes_of_the_contract_are_there(code: str) -> None:
    assert reasons.REASONS[code].code == code


@pytest.mark.parametrize("code", CODES)
def test_every_entry_reads_as_a_sentence_in_both_languages_full_and_empty(code: str) -> None:
    for detail in (FULL, {}):
        english = reasons.sentence(code, detail, lang="en", zone="Asia/Shanghai")
        chinese = reasons.sentence(code, detail, lang="zh", zone="Asia/Shanghai")
        assert english[0].isupper() or english.startswith("ann "), english
        assert english.endswith("."), english
        assert chinese.endswith("。"), chinese
        assert re.search(r"[一-鿿]", chinese), chinese
        for text in (english, chinese):
            assert not set("[]{}|?") & set(text), text
            assert not re.search(r"  | [.;,]|[：；，]。|:\.|None", text), text
    assert reasons.remedy(code, "en").isascii()
    assert re.search(r"[一-鿿]|noonmark", reasons.remedy(code, "zh"))


@pytest.mark.parametrize("code", CODES)
def test_both_languages_tell_the_same_values_by_kinds_that_exist(code: str) -> None:
    reason = reasons.REASONS[code]
    english, chinese = (set(FIELD.findall(text)) for text in (reason.en, reason.zh))
    assert english == chinese
    assert {kind for _, kind in english} <= {"", *phrasing.KINDS}


@pytest.mark.parametrize("code", CODES)
def test_no_value_stands_outside_brackets_so_that_nothing_reads_badly_when_it_is_missing(code: str) -> None:
    reason = reasons.REASONS[code]
    for text in (reason.en, reason.zh):
        assert not FIELD.search(re.sub(r"\[[^\[\]]*\]", "", text))


NASTY = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=20),
    st.lists(st.one_of(st.text(max_size=5), st.none()), max_size=3),
    st.dictionaries(st.text(max_size=3), st.integers(), max_size=2),
    st.just(10**30),
    st.just(-1),
)


@settings(max_examples=300, deadline=None)
@given(
    code=st.sampled_from(CODES),
    detail=st.dictionaries(st.sampled_from(sorted(FULL)), NASTY, max_size=len(FULL)),
    lang=st.sampled_from(["en", "zh", "fr"]),
    zone=st.sampled_from(["UTC", "Asia/Shanghai", "Not/AZone", ""]),
)
def test_no_detail_zone_or_language_ever_raises(code: str, detail: dict[str, Any], lang: str, zone: str) -> None:
    assert reasons.sentence(code, detail, lang=lang, zone=zone)


def test_instants_are_told_in_the_zone_that_was_asked_for() -> None:
    detail = {"closes": WHEN}
    assert "Sat 28 Nov 2026 18:10 " in reasons.sentence("window_closed", detail, zone="Asia/Shanghai")
    assert "Sat 28 Nov 2026 05:10 " in reasons.sentence("window_closed", detail, zone="America/New_York")
    assert "2026-11-28 18:10" in reasons.sentence("window_closed", detail, lang="zh", zone="Asia/Shanghai")


@pytest.mark.parametrize(
    ("code", "english", "chinese"),
    [
        (
            "window_closed",
            "Its window closed at Sat 28 Nov 2026 18:10 before it could start; data that it needs was not ready.",
            "执行窗口已于 2026-11-28 18:10 关闭，未能开始；所需数据一直未就绪。",
        ),
        (
            "failed_retry",
            "Try 2 failed: ValueError: boom; the next try is due at Sat 28 Nov 2026 18:10, 1 try left.",
            "第 2 次尝试失败：ValueError: boom；2026-11-28 18:10 重试，还可重试 1 次。",
        ),
        (
            "flag_missing",
            "It waits for flag etl:1 and the success of index for 2026-11-28 (numbers first).",
            "正在等待标志 etl:1、index 在 2026-11-28 的成功（numbers first）。",
        ),
        (
            "limit_passed",
            "It did not start in time: 42 min late, at most 1 h allowed; data that it needs was not ready.",
            "未能及时开始：已晚 42 分钟，最多允许 1 小时；所需数据一直未就绪。",
        ),
        (
            "weekend",
            "It was due on a weekend (Saturday), and the rule runs on weekdays only.",
            "到期日是周末（周六），规则只允许工作日运行。",
        ),
        ("marked_done", "ann marked it as done: moved to Monday.", "ann 标记为已完成：moved to Monday。"),
        (
            "range_superseded",
            (
                "These moments (more than 10,000) were missed, the last at Sat 28 Nov 2026 18:10; "
                "only the latest one due is run."
            ),
            "这些时刻（超过 10,000 次）已错过，最后一次为 2026-11-28 18:10；只补最近的一次。",
        ),
    ],
)
def test_sentences_read_naturally(code: str, english: str, chinese: str) -> None:
    assert reasons.sentence(code, FULL, lang="en", zone="Asia/Shanghai") == english
    assert reasons.sentence(code, FULL, lang="zh", zone="Asia/Shanghai") == chinese


def test_the_holder_of_a_key_is_named_as_a_run() -> None:
    said = reasons.sentence("key_held", {"key": "a", "holder": 17, "state": "SUCCESS", "ended_at": WHEN}, zone="UTC")
    assert said == "Key a is already held by r17 (done), ended Sat 28 Nov 2026 10:10; the same thing is not done twice."


def test_text_of_a_job_stays_on_one_line_and_is_bounded() -> None:
    said = reasons.sentence("not_retryable", {"error": "line one\nline two\x1b[31m" + "x" * 10_000})
    assert "\n" not in said
    assert "\x1b" not in said
    assert len(said) < 500
    assert "line one line two" in said


@pytest.mark.parametrize(
    ("length", "english", "chinese"),
    [
        (250_000, "250 ms", "250 毫秒"),
        (9 * SECOND + 700_000, "9.7 s", "9.7 秒"),
        (90 * SECOND, "1 min 30 s", "1 分钟 30 秒"),
        (HOUR, "1 h", "1 小时"),
        (50 * HOUR, "2 d 2 h", "2 天 2 小时"),
    ],
)
def test_lengths_are_told_in_words_of_the_language(length: int, english: str, chinese: str) -> None:
    detail = {"timeout": length}
    assert english in reasons.sentence("timed_out", detail)
    assert chinese in reasons.sentence("timed_out", detail, lang="zh")


def test_a_code_of_a_newer_version_is_told_by_its_name() -> None:
    assert reasons.sentence("lunar_eclipse", {}) == "Reason: lunar_eclipse."
    assert reasons.sentence("lunar_eclipse", {}, lang="zh") == "原因：lunar_eclipse。"
    assert (reasons.remedy("lunar_eclipse"), reasons.level("lunar_eclipse")) == ("", 0)


def test_what_needs_a_person_is_urgent_and_what_is_ordinary_is_silent() -> None:
    urgent = (
        "window_closed limit_passed failed_final not_retryable timed_out timed_out_running poison lost_manual "
        "effect_unknown"
    )
    assert {reasons.level(code) for code in urgent.split()} == {3}
    ordinary = ("ready", "succeeded", "weekend", "key_held", "superseded", "taken_over", *(act.code for act in ACTS))
    assert {reasons.level(code) for code in ordinary} == {0}
    assert reasons.level("failed_retry") == 1


def test_every_because_is_the_reason_of_something_that_waited() -> None:
    assert set(phrasing.BECAUSE) <= set(reasons.REASONS)


def test_the_name_of_a_lost_holder_is_what_the_sentence_tells() -> None:
    assert "w7" in reasons.sentence("taken_over", {"holder": Holder(name="w7").name})
