"""TASK_RULES, as a Python literal and as YAML, in both shapes of the source document."""

from __future__ import annotations

from pathlib import Path

import pytest

from noonmark.core.model import (
    HOUR,
    MINUTE,
    CatchUp,
    Cron,
    FlagSet,
    Guardrails,
    Job,
    Retry,
    Window,
)
from noonmark.rules import loader, taskrules
from noonmark.rules.findings import findings
from noonmark.rules.problems import ProblemList

NESTED_AND_FLAT = '''\
"""规则"""
import os  # never imported

TASK_RULES = {
    "daily_report_agent": {
        # 基础时间调度
        "schedule": {"cron": "0 9 * * *", "timezone": "Asia/Shanghai"},
        "depends_on": ["pipeline.raw_data.ready", "model.llm_service.healthy"],
        "guardrails": {"execution_window": "2h", "allow_weekend": False},
        "dedupe_key": "report:{business_date}:{channel}",
    },
    "数据回刷": {
        "cron": "0 2 * * *",
        "timezone": "Asia/Shanghai",
        "depends_on": ["daily_etl.finished_{business_date}"],
        "timeout": "1800s",
        "window_start": "02:00",
        "window_end": "05:00",
        "dedupe_key": "{task}:{date}:{account}",
        "catchup": {"enabled": True, "max_delay_min": 120, "only_if_data_ready": True},
        "retry": {"max_attempts": 4},
    },
}
os.remove("/never")
'''

AS_YAML = """\
TASK_RULES:
  daily_report_agent:
    schedule: {cron: "0 9 * * *", timezone: Asia/Shanghai}
    depends_on: [pipeline.raw_data.ready, model.llm_service.healthy]
    guardrails: {execution_window: 2h, allow_weekend: false}
    dedupe_key: "report:{business_date}:{channel}"
  数据回刷:
    cron: 0 2 * * *
    timezone: Asia/Shanghai
    depends_on: ["daily_etl.finished_{business_date}"]
    timeout: 1800s
    window_start: "02:00"
    window_end: "05:00"
    dedupe_key: "{task}:{date}:{account}"
    catchup: {enabled: true, max_delay_min: 120, only_if_data_ready: true}
    retry: {max_attempts: 4}
"""

WANTED = (
    Job(
        name="daily_report_agent",
        trigger=Cron(expression="0 9 * * *", tz="Asia/Shanghai"),
        reason="",
        key="report:{business_date}:{channel}",
        window=Window(length=2 * HOUR),
        guardrails=Guardrails(allow_weekend=False),
        depends_on=(FlagSet(flag="pipeline.raw_data.ready"), FlagSet(flag="model.llm_service.healthy")),
        source="task_rules",
    ),
    Job(
        name="数据回刷",
        trigger=Cron(expression="0 2 * * *", tz="Asia/Shanghai"),
        reason="",
        key="{task}:{date}:{account}",
        window=Window(start="02:00", end="05:00"),
        depends_on=(FlagSet(flag="daily_etl.finished_{business_date}"),),
        catch_up=CatchUp(max_delay=2 * HOUR),
        retry=Retry(max=4),
        timeout=30 * MINUTE,
        source="task_rules",
    ),
)


def test_both_shapes_load_from_a_literal_that_is_never_executed() -> None:
    assert taskrules.loads_literal(NESTED_AND_FLAT).jobs == WANTED


def test_the_same_names_load_from_yaml() -> None:
    assert loader.loads(AS_YAML).jobs == WANTED


def test_files_load_by_their_ending(tmp_path: Path) -> None:
    for name, text in (("rules.py", NESTED_AND_FLAT), ("rules.yaml", AS_YAML)):
        (tmp_path / name).write_text(text, encoding="utf-8")
        assert loader.load(tmp_path / name).jobs == WANTED


def test_a_text_that_is_only_the_dict_loads_too() -> None:
    assert taskrules.loads_literal('{"a": {"cron": "0 9 * * *", "timezone": "UTC"}}').jobs[0].name == "a"


def test_each_missing_reason_and_unbound_name_is_a_finding_at_its_place() -> None:
    found = findings(taskrules.loads_literal(NESTED_AND_FLAT, name="rules.py"), handlers={"daily_report_agent"})
    assert [(each.code, each.path.removeprefix("TASK_RULES."), each.place.line) for each in found] == [
        ("reason_missing", "daily_report_agent.reason", 5),
        ("part_reason_missing", "daily_report_agent.depends_on[0]", 8),
        ("part_reason_missing", "daily_report_agent.depends_on[1]", 8),
        ("part_reason_missing", "daily_report_agent.guardrails.execution_window", 9),
        ("part_reason_missing", "daily_report_agent.guardrails", 9),
        ("unbound_name", "daily_report_agent.dedupe_key", 10),
        ("reason_missing", "数据回刷.reason", 12),
        ("part_reason_missing", "数据回刷.depends_on[0]", 15),
        ("part_reason_missing", "数据回刷.window_start", 17),
        ("part_reason_missing", "数据回刷.catchup", 20),
        ("unbound_name", "数据回刷.dedupe_key", 19),
        ("nothing_to_run", "数据回刷", 12),
    ]
    assert all(each.text("zh") and each.text("en") for each in found)


def test_a_key_without_a_time_part_loads_and_is_a_finding() -> None:
    loaded = taskrules.loads_literal('TASK_RULES = {"a": {"cron": "0 9 * * *", "timezone": "UTC", "dedupe_key": "a"}}')
    assert [each.code for each in findings(loaded)] == ["reason_missing", "key_without_time"]


REFUSED = [
    ('TASK_RULES = {"a": {"cron": "0 9 * * *"}}', "cron_without_tz", 1, 29),
    ('TASK_RULES = {"a": {"cron": open("x"), "timezone": "UTC"}}', "py_not_literal", 1, 29),
    ('TASK_RULES = {"a": {"cron": f"{1}", "timezone": "UTC"}}', "py_not_literal", 1, 29),
    ('TASK_RULES = {"日报": {"cron": x}}', "py_not_literal", 1, 30),
    ('TASK_RULES = {"a": {}, "a": {}}', "yaml_duplicate_key", 1, 24),
    ('TASK_RULES = {**other}', "key_not_text", 1, 17),
    ('TASK_RULES = {1: {}}', "key_not_text", 1, 15),
    ('TASK_RULES = {"a": {"cron": "0 9 * * *", "timezone": "UTC", "dedup_key": "x"}}', "unknown_field", 1, 61),
    ('TASK_RULES = make()', "py_not_literal", 1, 14),
    ('RULES = {}', "py_not_found", 0, 0),
    ('TASK_RULES = {}\nTASK_RULES = {}', "py_not_found", 0, 0),
    ('TASK_RULES = {"a": ', "py_syntax", 1, 14),
]  # fmt: skip


@pytest.mark.parametrize(("text", "code", "line", "column"), REFUSED, ids=[row[0][:50] for row in REFUSED])
def test_what_is_no_literal_or_no_rule_is_refused_at_its_place(text: str, code: str, line: int, column: int) -> None:
    with pytest.raises(ProblemList) as refused:
        taskrules.loads_literal(text)
    found = [each for each in refused.value.problems if each.code == code]
    assert found, str(refused.value)
    assert (found[0].place.line, found[0].place.column) == (line, column)


def test_a_literal_nested_without_end_is_refused() -> None:
    with pytest.raises(ProblemList) as refused:
        taskrules.loads_literal(f"TASK_RULES = {'(' * 3000}{')' * 3000}")
    assert [each.code for each in refused.value.problems] == ["py_syntax"]


def test_a_later_field_of_the_rule_language_is_not_silently_dropped() -> None:
    text = 'TASK_RULES = {"a": {"cron": "0 9 * * *", "timezone": "UTC", "pool": "x"}}'
    with pytest.raises(ProblemList) as refused:
        taskrules.loads_literal(text)
    assert [each.code for each in refused.value.problems] == ["later_field"]
