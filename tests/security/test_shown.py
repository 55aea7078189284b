"""What people and logs are shown: no secrets, no forged lines, nothing that drives a terminal; and the store keeps it."""

from __future__ import annotations

import json
import logging
import time
import traceback
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from noonmark.core import shown
from noonmark.core.model import AlertWrite
from noonmark.core.reasons import sentence
from noonmark.core.urls import without_quoted_secrets, without_secrets
from noonmark.engine.alerts import say_alerts
from noonmark.explain import render
from noonmark.explain.fragments import short_error
from noonmark.faces.cli.logs import JsonLines, Plain
from noonmark.testing.builders import make_job, make_row

SECRET = "hunter2-is-Secret1"

NAMES = (
    "password", "PASSWORD", "db_password", "dbPassword", "passwd", "pwd", "passphrase", "token", "accessToken",
    "X-Auth-Token", "refresh_tokens", "secret", "client_secret", "clientSecret", "api_key", "apiKey", "API-KEY", "apikey",
    "x-api-key", "secret_key", "private_key", "access_key", "Authorization", "proxy_authorization", "credentials",
    "Cookie", "auth", "密码", "数据库密码", "旧密碼", "口令", "API密钥", "访问令牌", "refresh令牌", "私钥", "凭证", "密码值",
    "ｐａｓｓｗｏｒｄ", "Ａｐｉ＿ｋｅｙ",
)  # fmt: skip
PLAIN = (
    "key",
    "author",
    "monkey",
    "keyboard",
    "tokenizer",
    "compass",
    "passenger",
    "id",
    "secretary_name",
    "subject",
    "公钥",
    "令牌数",
    "密码错误",
)

TEXTS = (
    "password={}",
    'password="{}"',
    "password: '{}'",
    "PGPASSWORD={} psql",
    "bad password: {}",
    "error: Authorization: Bearer {}",
    "Authorization: Basic {}",
    "curl -H 'Authorization: token {}' https://x",
    "sent Bearer {} to the server",
    "postgresql://ann:{}@db/x",
    "redis://:{}@db/0",
    "cannot reach https://ann:{}/y@db",
    "run --api-key {} now",
    "run --api-key={} now",
    '{{"outer": {{"inner": [{{"token": "{}"}}]}}}}',
    'reply was {{\\"token\\": \\"{}\\"}} and more',
    "{{'secret': '{}', 'n': 1}}",
    "token: {{'a': '{}'}}",
    "-----BEGIN RSA PRIVATE KEY-----\n{}\n-----END RSA PRIVATE KEY-----",
    "-----BEGIN PRIVATE KEY-----\n{}",
    "password：{}",
    "ｐａｓｓｗｏｒｄ＝{}",
    "PASSWORD={} İ",
    "password => {}",
    "token「{}」",
    "密码：{}",
    "请检查数据库密码：{}，然后重试",
    "口令={}",
    "密码为：“{}”",
    "【密码】{}",
    "访问令牌（{}）",
    "字" * 70 + "密码" + "字" * 47 + "口令：{}",
    "postgresql：／／ann：{}＠db/x",
    "Authorization： Bearer　{}",
    '返回 {{"密码": "{}"}} 了',
    'sent {{"\\u5bc6\\u7801": "{}"}} there',
    "run --密码 {} now",
)
SHAPES = (
    "sk-proj-abcdefgh1234567890", "sk-ant-api03-abcdefgh1234567890", "AKIAIOSFODNN7EXAMPLE",
    "ghp_abcdefghijklmnopqrstuvwxyz0123456789", "github_pat_11ABCDEFG0123456789_abcdef", "glpat-abcdefghij0123456789",
    "xoxb-1234567890-abcdefghij", "AIzaSyA1234567890abcdefghijklmnopqrstu", "hf_abcdefghijklmnopqrstuv",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2lnbmF0dXJl",
)  # fmt: skip
DRIVERS = ("\x1b[31m", "\x1b]0;title\x07", "\x9b2J", "\r", "\x08", "\x00", "\u202e", "\u2066", "\u2028", "\U000e0041")


@pytest.mark.parametrize("name", NAMES)
def test_a_value_under_the_name_of_a_secret_is_hidden_however_deep(name: str) -> None:
    value = {"a": [{"b": {name: SECRET}}], "n": 1}
    assert shown.redacted_value(value) == {"a": [{"b": {name: "***"}}], "n": 1}
    assert SECRET not in shown.redacted(json.dumps(value))
    assert SECRET not in shown.redacted(f"failed with {value!r}")


@pytest.mark.parametrize("name", PLAIN)
def test_other_names_keep_their_values(name: str) -> None:
    assert shown.redacted_value({name: "plain"}) == {name: "plain"}
    assert shown.redacted(f"{name}=plain") == f"{name}=plain"


def test_a_measure_is_no_secret_but_a_pin_is() -> None:
    value = {"max_tokens": 4096, "token_count": 7, "token": 1234, "password": 0, "has_token": True, "token_id": None}
    hidden = {
        "max_tokens": 4096,
        "token_count": 7,
        "token": "***",
        "password": "***",
        "has_token": True,
        "token_id": None,
    }
    assert shown.redacted_value(value) == hidden
    assert shown.redacted("max_tokens=4096 token=1234") == "max_tokens=4096 token=***"


def test_what_follows_a_secret_option_of_a_command_is_hidden() -> None:
    assert shown.redacted_value(["tool", "--api-key", SECRET, "--name", "x"]) == [
        "tool",
        "--api-key",
        "***",
        "--name",
        "x",
    ]


@pytest.mark.parametrize("text", TEXTS)
def test_a_secret_inside_a_text_is_hidden_and_hiding_twice_changes_nothing(text: str) -> None:
    told = shown.redacted(text.format(SECRET))
    assert SECRET not in told
    assert "***" in told
    assert shown.redacted(told) == told


@pytest.mark.parametrize("key", SHAPES)
def test_keys_of_well_known_shapes_are_hidden_wherever_they_stand(key: str) -> None:
    assert shown.redacted(f"the call with {key} failed") == "the call with *** failed"


@pytest.mark.parametrize(
    "text",
    [
        "the token expired at 5",
        "task-sk-learn",
        "key=job:2026-11-28 attempt=2",
        "https://medium.com/@ann/post",
        "a@b.c",
        "令牌数：4096，密码错误：第 3 次",
        "２０２６年：公钥“ａ”没有变化",
    ],
)
def test_plain_text_stays_as_it_is(text: str) -> None:
    assert shown.shown(text) == text


@pytest.mark.parametrize(
    "text",
    [
        "password=" * 1000,
        "://" * 3000,
        "eyJ" * 3000,
        "sk-" * 3000,
        '{"' * 4000,
        "token: " * 1500,
        "a." * 4000 + "key",
        "密码" * 4000,
        "密码：" * 3000,
        "token「" * 3000,
        "密" * 9000,
        "\\u5bc6" * 3000,
        "：／／" * 3000,
        "ｋｅｙ" * 3000,
    ],
)
def test_hiding_takes_bounded_time_whatever_the_text(text: str) -> None:
    begun = time.process_time()
    shown.redacted(text)
    assert time.process_time() - begun < 2


def test_a_value_nested_without_end_is_hidden_whole() -> None:
    value: Any = "x"
    for _ in range(5000):
        value = [value]
    assert "***" in json.dumps(shown.redacted_value(value))


@given(st.text())
def test_shown_text_never_drives_a_terminal(text: str) -> None:
    told = shown.shown(text)
    assert all(sign in "\n\t" or not (ord(sign) < 32 or 127 <= ord(sign) < 160) for sign in told)
    assert "\n" not in shown.shown_line(text)


@pytest.mark.parametrize("driver", DRIVERS)
def test_what_drives_a_terminal_is_written_out_and_json_stays_the_same_value(driver: str) -> None:
    text = f"a{driver}b"
    assert driver not in shown.shown(text)
    assert driver not in shown.json_text({"x": text})
    assert json.loads(shown.json_text({"x": text})) == {"x": text}


@pytest.mark.parametrize("driver", [*DRIVERS, "\n"])
def test_a_cell_of_a_table_is_one_line_of_it(driver: str) -> None:
    assert render.table(["A", "B"], [[f"x{driver}y", "z"]]).count("\n") == 1
    assert driver == "\n" or driver not in render.table(["A", "B"], [[f"x{driver}y", "z"]])


# --- logs and alerts -------------------------------------------------------------------------------


def record(message: str, *args: object, **extra: object) -> logging.LogRecord:
    made = logging.makeLogRecord({"name": "noonmark.job.x", "levelno": logging.INFO, "levelname": "INFO"})
    made.msg, made.args = message, args
    vars(made).update(extra)
    return made


@pytest.mark.parametrize("form", [Plain(), JsonLines()])
def test_a_log_line_is_one_line_without_secrets_whatever_the_job_wrote(form: logging.Formatter) -> None:
    line = form.format(record("%s", f"first\n12:00:00 INFO forged\x1b[2J\r password={SECRET}", api_key=SECRET))
    assert len(line.splitlines()) == 1
    assert SECRET not in line
    assert "\x1b" not in line


@pytest.mark.parametrize("form", [Plain(), JsonLines()])
def test_a_traceback_in_the_log_has_no_secrets_and_no_line_that_passes_for_a_record(form: logging.Formatter) -> None:
    try:
        raise ValueError(f"no\n12:00:00 ERROR forged\ntoken={SECRET}\x1b[1m")
    except ValueError as error:
        told = form.format(record("it failed", exc_info=(type(error), error, error.__traceback__)))
    assert SECRET not in told
    assert "\x1b" not in told
    assert not any(line.startswith("12:00:00 ERROR") for line in told.splitlines())


def test_an_alert_says_no_secret_and_is_one_line(caplog: pytest.LogCaptureFixture) -> None:
    job = make_job("night\nly", owner="ann\x1b[5m")
    detail = {"error": f"ConnectionError: https://ann:{SECRET}@host\nforged line", "attempts": 5}
    alert = AlertWrite(job=job.name, kind="failing", level=3, code="failed_final", detail=detail)
    with caplog.at_level(logging.INFO, logger="noonmark.alert"):
        say_alerts([alert], job, make_row(key="k\n\x1b[2J"))
    (line,) = caplog.messages
    assert SECRET not in line
    assert "\n" not in line
    assert "\x1b" not in line


def test_the_sentence_of_a_reason_has_no_secret() -> None:
    assert SECRET not in sentence("failed_final", {"error": f"login failed: password={SECRET}", "attempts": 2})


@pytest.mark.parametrize("driver", [*DRIVERS, "\u200b"])
def test_what_drives_a_terminal_is_written_out_in_sentences_too(driver: str) -> None:
    told = sentence("failed_final", {"error": f"red{driver}alert", "attempts": 2})
    assert driver not in told
    assert "red\\" in told


def test_the_line_of_an_error_names_its_type_whatever_the_job_wrote_behind_it() -> None:
    said = "bad\nall is well\nSUCCESS"
    chain = ""
    try:
        try:
            raise KeyError("first")
        except KeyError as first:
            raise ValueError(said) from first
    except ValueError as error:
        chain = "".join(traceback.format_exception(error))
    assert short_error(chain) == "ValueError: bad"
    assert short_error(chain[chain.rindex("  File") - 30 :]) == "ValueError: bad", "where the tail only was kept"
    assert short_error("exit code 3") == "exit code 3"
    assert short_error("first\nlast") == "first"
    assert short_error("") == "?"


@pytest.mark.parametrize("url", ["[" * 50_000, "pass" * 20_000, "a:" * 25_000, "x://" + "a:" * 25_000, "=" * 50_000])
def test_hiding_in_a_url_takes_bounded_time_whatever_it_is(url: str) -> None:
    begun = time.process_time()
    without_secrets(url)
    without_quoted_secrets(url)
    assert time.process_time() - begun < 2
