"""Text that lines up, and JSON that keeps its shape."""

from __future__ import annotations

import json

from desk import DIGEST, Desk

from noonmark.core.model import DAY, HOUR, MINUTE, SECOND
from noonmark.explain import check_words
from noonmark.explain.render import explanation_json, explanation_text, pad, table, width
from noonmark.explain.voice import Voice
from noonmark.explain.why import why


def missed() -> Desk:
    desk = Desk()
    desk.register(DIGEST)
    desk.until("2026-11-27T18:30:00")
    desk.beat()
    desk.look()
    desk.until("2026-11-27T20:00:00")
    desk.look()
    return desk


def test_the_text_begins_with_the_sentence_and_marks_each_check() -> None:
    lines = explanation_text(why(missed().store, "digest")).splitlines()
    assert lines[0].startswith("It did not run: ")
    assert lines[1].split() == ["✔", "schedule", "30", "18", "*", "*", "*", "due", "18:30", "+08:00"]
    assert any(line.startswith("  ✖ window") for line in lines)
    assert lines[-2] == '  noonmark run digest --for 2026-11-27 --again --override window --reason "…" --dry-run'


def test_without_unicode_the_marks_are_ascii() -> None:
    text = explanation_text(why(missed().store, "digest"), unicode=False)
    assert "  ok schedule" in text
    assert "✔" not in text


def test_chinese_checks_line_up_by_columns_not_by_characters() -> None:
    lines = [
        line for line in explanation_text(why(missed().store, "digest", lang="zh")).splitlines() if line[2:3] in "✔✖-"
    ]
    starts = {
        width(line[: line.index(wanted)])
        for line in lines
        for wanted in ("30 18 * * *", "18:30-20:00")
        if wanted in line
    }
    assert len(starts) == 1


def test_the_json_is_versioned_and_has_every_check() -> None:
    plain = explanation_json(why(missed().store, "digest"))
    assert json.loads(json.dumps(plain)) == plain
    assert plain["v"] == 1
    assert plain["occurrence"] == "2026-11-27T18:30:00+08:00"
    assert plain["decision"] == "skip_window"
    assert plain["outcome"] == "missed"
    assert [check["name"] for check in plain["checks"]] == [
        "schedule",
        "paused",
        "guard",
        "window",
        "limit",
        "duplicate",
        "dependency",
        "overlap",
        "lease",
    ]
    assert plain["checks"][3] == {"name": "window", "ok": False, "wanted": "18:30-20:00", "seen": "20:00"}
    assert plain["looks"]["count"] == 1


def test_width_counts_wide_characters_twice_and_combining_ones_not_at_all() -> None:
    assert width("abc") == 3
    assert width("准点") == 4
    assert width("e\u0301") == 1
    assert pad("准点", 6) == "准点  "
    assert table(["a", "b"], [["准点", "x"], ["z", "yy"]]) == "a     b\n准点  x\nz     yy"


def test_checks_are_worded_for_people_and_the_json_keeps_what_was_recorded() -> None:
    told = {(name, text): (check_words.told(name, text, "en"), check_words.told(name, text, "zh")) for name, text in (
        ("duplicate", "f:3 ours"), ("duplicate", "SUCCESS by r7"), ("overlap", "nobody in progress"),
        ("limit", "at most 1 h 30 min late"), ("limit", "1.5 s late"), ("guard", "Sat"),
        ("dependency", "flag a, index[x] succeeded for 2026-11-27"), ("dependency", "flag a not set"),
        ("dependency", "index succeeded for 2026-11-27 not set"), ("window", "18:30-20:00"), ("newer", "of a newer version"),
    )}  # fmt: skip
    assert list(told.values()) == [
        ("key f:3", "键 f:3"),
        ("held by r7 (done)", "由 r7 占有（已成功）"),
        ("no other in progress", "没有其他在进行"),
        ("at most 1 h 30 min late", "最多晚 1 小时 30 分钟"),
        ("1.5 s late", "晚 1.5 秒"),
        ("Saturday", "周六"),
        ("flag a, index[x] succeeded for 2026-11-27", "标志 a、index[x] 在 2026-11-27 成功"),
        ("flag a not set", "标志 a 未设置"),
        ("index has not succeeded for 2026-11-27", "index 在 2026-11-27 尚未成功"),
        ("18:30-20:00", "18:30-20:00"),
        ("of a newer version", "of a newer version"),
    ]
    plain = explanation_json(why(missed().store, "digest", lang="zh"))
    assert {check["wanted"] for check in plain["checks"]} >= {"not paused", "any day", "18:30-20:00"}


def test_lengths_are_told_in_two_units_at_most() -> None:
    here = Voice()
    assert [
        here.length(us)
        for us in (0, 3_000, 200_000, 9 * SECOND, 42 * MINUTE, 2 * HOUR + 5 * MINUTE, 3 * DAY + HOUR, 40 * DAY)
    ] == [
        "0 s",
        "3 ms",
        "0.2 s",
        "9 s",
        "42 min",
        "2 h 5 min",
        "3 d 1 h",
        "40 d",
    ]
    assert Voice(lang="zh").length(90 * SECOND) == "1 分钟 30 秒"
