"""Rules as JSON: nothing is lost, equal rules have equal digests, newer rules are refused with a sentence."""

from __future__ import annotations

import json
from dataclasses import fields, replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from noonmark.core import codec
from noonmark.core.model import (
    HOUR,
    MINUTE,
    At,
    CatchUp,
    Check,
    Cron,
    Every,
    FlagSet,
    Guardrails,
    Job,
    LockRule,
    Manual,
    OnEvent,
    Retry,
    Succeeded,
    Window,
)
from noonmark.testing.builders import make_job

TEXT = st.text(alphabet=st.characters(codec="utf-8"), max_size=12)
MICROS = st.integers(min_value=0, max_value=10**15)
JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False), TEXT),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(TEXT, inner, max_size=3)),
    max_leaves=6,
)
TRIGGERS = st.one_of(
    st.builds(Cron, expression=TEXT, tz=TEXT),
    st.builds(Every, period=MICROS.filter(bool), anchor=MICROS, tz=TEXT),
    st.builds(At, moments=st.lists(TEXT, max_size=3).map(tuple), tz=TEXT),
    st.builds(OnEvent, name=TEXT, delay=MICROS, tz=TEXT),
    st.builds(Manual, tz=TEXT),
)
WINDOWS = st.builds(
    Window,
    start=st.none() | TEXT,
    end=st.none() | TEXT,
    length=st.none() | MICROS,
    crosses_midnight=st.booleans(),
    reason=TEXT,
)
CONDITIONS = st.one_of(
    st.builds(FlagSet, flag=TEXT, reason=TEXT), st.builds(Succeeded, job=TEXT, date=TEXT, reason=TEXT)
)
CATCH_UPS = st.builds(
    CatchUp,
    missed=st.sampled_from(["skip", "latest", "all"]),
    max_delay=st.none() | MICROS,
    only_if_data_ready=st.booleans(),
    recheck=MICROS,
    reason=TEXT,
)
RETRIES = st.builds(
    Retry,
    max=st.integers(0, 1000),
    base=MICROS,
    factor=st.floats(1, 100),
    jitter=MICROS,
    cap=MICROS,
)
JOBS = st.builds(
    Job,
    name=TEXT,
    trigger=TRIGGERS,
    reason=TEXT,
    key=TEXT,
    owner=TEXT,
    run=TEXT,
    command=st.lists(TEXT, max_size=3).map(tuple),
    params=st.dictionaries(TEXT, JSON, max_size=3),
    each=st.dictionaries(TEXT, st.lists(TEXT, max_size=3).map(tuple), max_size=3),
    window=st.none() | WINDOWS,
    guardrails=st.builds(Guardrails, allow_weekend=st.booleans(), reason=TEXT),
    depends_on=st.lists(CONDITIONS, max_size=3).map(tuple),
    catch_up=CATCH_UPS,
    retry=RETRIES,
    timeout=MICROS,
    lease=MICROS,
    overlap=st.sampled_from([None, "skip", "allow"]),
    lock=st.none()
    | st.builds(
        LockRule,
        name=TEXT,
        kind=TEXT,
        at=TEXT,
        busy=st.sampled_from([None, "skip", "wait"]),
        ttl=MICROS,
        reason=TEXT,
    ),
    on_lost=st.sampled_from(["takeover", "wait", "manual"]),
    on_rollback=st.sampled_from(["hold", "run"]),
    max_takeovers=st.integers(0, 9),
    business_date=st.sampled_from(["same", "previous_day"]),
    scope=st.sampled_from(["cluster", "each_worker"]),
    isolation=st.sampled_from(["", "process"]),
    source=st.sampled_from(["code", "file", "task_rules"]),
)
JOB = Job(name="report", trigger=Cron(expression="0 9 * * *", tz="Asia/Shanghai"), reason="read at nine")


@settings(max_examples=150, deadline=None)
@given(job=JOBS)
def test_every_job_comes_back_from_its_stored_text(job: Job) -> None:
    text = codec.canonical(codec.job_to_plain(job))
    back = codec.job_from_text(text)
    assert back == job
    assert codec.canonical(codec.job_to_plain(back)) == text
    assert codec.digest(back) == codec.digest(job)


def test_the_order_of_each_survives_because_it_decides_the_subjects_text() -> None:
    job = replace(JOB, each={"region": ("eu",), "channel": ("ops", "sales")})
    assert list(codec.job_from_text(codec.canonical(codec.job_to_plain(job))).each) == ["region", "channel"]


def test_every_field_of_a_job_is_stored() -> None:
    whole = {part.name for part in fields(Job)} | {"v"}
    assert set(codec.job_to_plain(replace(JOB, lock=LockRule(name="x"), on_rollback="run"))) == whole
    assert set(codec.job_to_plain(JOB)) == whole - {"lock", "on_rollback"}, "a younger word leaves older digests alone"


def test_code_and_file_have_one_digest_and_every_other_field_changes_it() -> None:
    assert codec.digest(replace(JOB, source="file")) == codec.digest(JOB)
    others = [
        replace(JOB, source="task_rules"),
        replace(JOB, reason="other"),
        replace(JOB, trigger=Cron(expression="0 9 * * *", tz="UTC")),
        replace(JOB, params={"a": 1}),
        replace(JOB, retry=Retry(max=1)),
        replace(JOB, window=Window(start="09:00", end="12:00")),
        replace(JOB, depends_on=(FlagSet(flag="x"),)),
        replace(JOB, depends_on=(Succeeded(job="x"),)),
    ]
    assert len({codec.digest(job) for job in [JOB, *others]}) == len(others) + 1


def test_whole_and_decimal_factor_are_one_rule() -> None:
    assert codec.digest(replace(JOB, retry=Retry(factor=2))) == codec.digest(JOB)


def test_the_order_of_params_does_not_matter() -> None:
    assert codec.digest(replace(JOB, params={"a": 1, "b": 2})) == codec.digest(replace(JOB, params={"b": 2, "a": 1}))


def test_tuples_in_params_come_back_as_lists() -> None:
    assert codec.job_to_plain(replace(JOB, params={"x": (1, 2)}))["params"] == {"x": [1, 2]}


@pytest.mark.parametrize(
    ("params", "where"),
    [
        ({"x": object()}, "params of report.x"),
        ({"x": {1: 2}}, "the name 1 is not text"),
        ({"x": [float("nan")]}, r"params of report.x\[0\]"),
        ({"x": b"1"}, "bytes is not JSON"),
    ],
)
def test_params_that_json_would_change_are_refused_by_name(params: dict[str, object], where: str) -> None:
    with pytest.raises(ValueError, match=where):
        codec.job_to_plain(replace(JOB, params=params))


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"v": 2}, "version 2.*upgrade"),
        ({"v": None}, "no version"),
        ({"budget": 1}, "does not know budget"),
        ({"window": {"start": "09:00", "reopen": True}}, "window of report.*reopen"),
        ({"trigger": {"kind": "lunar"}}, "no kind 'lunar'"),
        ({"trigger": {"kind": "cron"}}, "cannot be read"),
        ({"depends_on": [{"kind": "http", "url": "x"}]}, "no kind 'http'"),
        ({"depends_on": 7}, "cannot be read"),
        ({"retry": None}, "cannot be read"),
        ({"each": {"a": 1}}, "cannot be read"),
    ],
)
def test_a_rule_that_a_newer_version_wrote_is_refused_with_a_sentence(change: dict[str, object], sentence: str) -> None:
    plain = {**codec.job_to_plain(JOB), **change}
    with pytest.raises(codec.RuleUnreadable, match=sentence):
        codec.job_from_plain(plain)


@pytest.mark.parametrize("text", ["", "[", "[]", "null", "{}", '{"v":1}', '"x"', "{\x00"])
def test_text_that_is_no_rule_is_refused_and_nothing_else_is_raised(text: str) -> None:
    with pytest.raises(codec.RuleUnreadable):
        codec.job_from_text(text)


def test_fields_that_were_added_since_get_their_defaults() -> None:
    plain = codec.job_to_plain(JOB)
    for name in ("max_takeovers", "scope", "window", "each", "retry", "depends_on"):
        del plain[name]
    assert codec.job_from_plain(plain) == JOB


def test_checks_come_back_from_the_ledger_even_with_cells_of_a_newer_version() -> None:
    checks = (Check(name="paused", passed=True), Check(name="window", passed=False, wanted="09:00-12:00", seen="准点"))
    text = codec.checks_to_json(checks)
    assert codec.checks_from_json(text) == checks
    assert codec.checks_from_json(json.dumps([[*row, "more"] for row in json.loads(text)])) == checks
    assert codec.checks_from_json("") == ()


def test_a_job_is_written_as_a_person_would() -> None:
    pytest.importorskip("noonmark.core.durations")
    job = replace(
        JOB,
        key="report:{business_date}:{channel}",
        run="app:report",
        params={"n": (1,)},
        each={"channel": ("ops",)},
        window=Window(start="09:00", end="12:00", reason="stale by noon"),
        depends_on=(FlagSet(flag="metrics"), Succeeded(job="index", reason="fresh"), Succeeded(job="x", date="2026")),
        catch_up=CatchUp(missed="all", max_delay=90 * MINUTE),
        retry=Retry(max=2, cap=HOUR // 2),
        guardrails=Guardrails(allow_weekend=False),
        timeout=HOUR,
        business_date="previous_day",
        overlap="allow",
    )
    assert codec.job_to_yaml_dict(job) == {
        "schedule": {"cron": "0 9 * * *", "tz": "Asia/Shanghai"},
        "run": "app:report",
        "key": "report:{business_date}:{channel}",
        "params": {"n": [1]},
        "each": {"channel": ["ops"]},
        "window": {"start": "09:00", "end": "12:00", "reason": "stale by noon"},
        "depends_on": [{"flag": "metrics"}, {"success": "index", "reason": "fresh"}, {"success": "x", "date": "2026"}],
        "guardrails": {"allow_weekend": False},
        "catch_up": {"missed": "all", "max_delay": "1h30m"},
        "retry": {"max": 2, "cap": "30m"},
        "timeout": "1h",
        "overlap": "allow",
        "business_date": "previous_day",
        "reason": "read at nine",
    }


@pytest.mark.parametrize(
    ("trigger", "schedule"),
    [
        (Every(period=5 * MINUTE), {"every": "5m", "tz": "UTC"}),
        (Every(period=HOUR, anchor=MINUTE), {"every": "1h", "anchor": "1970-01-01T00:01:00Z", "tz": "UTC"}),
        (
            At(moments=("2026-12-01T09:00:00",), tz="Asia/Shanghai"),
            {"at": ["2026-12-01T09:00:00"], "tz": "Asia/Shanghai"},
        ),
        (OnEvent(name="run.done", delay=5 * MINUTE), {"event": "run.done", "delay": "5m", "tz": "UTC"}),
        (Manual(), {"manual": True, "tz": "UTC"}),
    ],
)
def test_every_trigger_has_its_written_form(trigger: object, schedule: dict[str, object]) -> None:
    pytest.importorskip("noonmark.core.durations")
    assert codec.job_to_yaml_dict(replace(JOB, trigger=trigger))["schedule"] == schedule  # type: ignore[arg-type]


def test_the_text_of_a_rule_is_its_canonical_json() -> None:
    job = make_job("a", params={"b": (1, "é"), "a": {"z": None}}, each={"channel": ("x", "y")})
    assert codec.rule_text(job) == codec.canonical(codec.job_to_plain(job))


def test_what_is_no_json_is_named_when_a_rule_is_written() -> None:
    with pytest.raises(ValueError, match="reason"):
        codec.rule_text(make_job("a", reason=object()))
