"""Most texts are shown without a search, for a quick look finds no mark of a secret in them: never another answer for it."""

from __future__ import annotations

import json
import logging
import re
import sys
from unittest import mock

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from test_shown import NAMES, PLAIN, SHAPES, TEXTS, record

from noonmark.core import shown
from noonmark.engine import alerts
from noonmark.faces.cli.logs import JsonLines, Plain
from noonmark.testing.builders import make_job, make_row

SECRET = "hunter2-is-mine1"
"""Not marked as a secret by a word in itself."""
BARE = logging.Formatter("%(asctime)s %(levelname)-7s %(message)s", "%H:%M:%S")
WORDS = (
    "run r12", "job=", "key=", "noop:1234", "attempt=1", "zone=Asia/Shanghai", "next=2026-11-28T09:00",
    "batch_size", "task-sk", "deadbeef-0123-4567-89ab-cdef01234567", "城市", "日报，", "２０２６", "ｆｏｏ",
    "\u3000", "“", "「", "」", "：", "＝", "=", ":", ": ", " ", "--", "-", "_", ".", "/", "@", "://",
    "u:p@h", "http://", "\\u5bc6\\u7801", "\\", '"', "'", "{", "[1", "(", ")", "\n", "\t", "\x1b[2J", "\r",
    "\u202e", "\u2028", "İ", "ſ", "\u212a", "\ud800", "1", "e", "F", "sk-", "AKIA", "hf_", "eyJ", "gh",
    "://", "-----BEGIN PRIVATE KEY-----", "bearer ", "ＢＥＡＲＥＲ ", "Basic ", "pass", "word", "to", "ken",
    "api", "key", "K", "ey",
)  # fmt: skip
PIECES = st.sampled_from([*WORDS, *NAMES, *PLAIN, *SHAPES, *(text.format(SECRET) for text in TEXTS), SECRET])
DRAWN = st.lists(PIECES | st.text(max_size=8), max_size=9).map("".join)
"""Secrets and what looks like one, their pieces, and what ends one, put together as it comes."""


def searched(text: str) -> str:
    """As it was done before there was a quick look: everything is searched."""
    return shown._searched(text)


@settings(max_examples=600)
@given(DRAWN)
@example("zone=Asia/Shanghai key=2 fetch_1 hf_" + "a" * 24)
@example("[" * 60 + "]" * 60)
@example("a" * 380 + " password=" + SECRET)
def test_a_text_is_shown_as_a_search_of_all_of_it_shows_it(text: str) -> None:
    assert shown.redacted(text) == searched(text)
    assert shown.shown_line(text) == shown.one_line(searched(text))


@pytest.mark.parametrize("text", TEXTS)
def test_a_secret_is_looked_for_whatever_marks_it(text: str) -> None:
    told = shown.redacted(text.format(SECRET))
    assert SECRET not in told
    assert told == searched(text.format(SECRET))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("around", ["", "0", "f", "x", "_", "-", " ", "令", "ｅ"])
def test_no_sign_beside_a_name_keeps_its_value_from_being_looked_for(name: str, around: str) -> None:
    for text in (f"{around}{name}={SECRET}", f"{name}{around}={SECRET}", f"e {around}{name}: {SECRET}{around}"):
        assert shown.redacted(text) == searched(text)


@pytest.mark.parametrize("key", SHAPES)
@pytest.mark.parametrize("around", ["", "0", "f", "x", "_", "-", " ", "令", "ｅ", "("])
def test_no_sign_beside_a_key_of_a_known_shape_keeps_it_from_being_looked_for(key: str, around: str) -> None:
    assert shown.redacted(f"e{around}{key}{around}e") == searched(f"e{around}{key}{around}e")


def test_whatever_is_written_out_is_no_printable_sign() -> None:
    driving = [sign for sign in map(chr, range(sys.maxunicode + 1)) if shown.one_line(sign) != sign]
    assert len(driving) > 150
    assert [sign for sign in driving if sign.isprintable()] == []


@settings(max_examples=300)
@given(st.lists(DRAWN, min_size=3, max_size=3), st.sampled_from(["%s: %s %s", "token=%s %s (%s)", "job=%s key=%s: %s"]))
def test_a_line_of_the_log_is_what_a_search_of_the_whole_line_makes_of_it(args: list[str], words: str) -> None:
    made = record(words, *args)
    assert Plain().format(made) == shown.one_line(searched(BARE.format(made)))


@settings(max_examples=300)
@given(DRAWN, DRAWN, st.sampled_from([*NAMES, *PLAIN, "job", "n"]), st.booleans())
def test_a_line_of_json_has_in_each_field_what_a_search_of_it_leaves(
    message: str, value: str, name: str, is_ascii: bool
) -> None:
    made = record("%s", message, **{name: value, "also": {"x": value, "y": [message]}})
    with mock.patch("noonmark.faces.cli.logs.writes_unicode", return_value=not is_ascii):
        line = JsonLines().format(made)
    told = json.loads(line)
    assert told["message"] == searched(message)
    assert told["also"] == {"x": searched(value), "y": [searched(message)]}
    hidden = shown.HIDDEN if value and shown.is_secret_name(name) else searched(value)
    assert told[name] == hidden
    assert not re.search(r"[\x00-\x1f\x7f-\x9f\u2028\u202e]", line)


@pytest.mark.parametrize("form", [Plain(), JsonLines()])
def test_the_lines_of_ordinary_runs_are_not_searched(
    form: logging.Formatter, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO, logger="noonmark.run"):
        for number in range(200):
            job = make_job(f"job-{number % 5}")
            row = make_row(id=number, key=f"order:{number:08x}")
            alerts.say_start(job, row, 1, now=0, system_zone="Asia/Shanghai")
    assert len(caplog.records) == 200
    monkeypatch.setattr(shown, "_searched", lambda text: pytest.fail(f"searched: {text}"))
    before = shown._is_plain.cache_info().misses
    assert all("order:" in form.format(line) for line in caplog.records)
    assert shown._is_plain.cache_info().misses - before < 100
