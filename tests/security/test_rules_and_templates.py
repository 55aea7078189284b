"""Rules files and key templates: data, never code; bounded; and no two inputs give one key."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from noonmark.core import keys
from noonmark.core.model import KEY_LIMIT
from noonmark.core.templates import TemplateProblem, render
from noonmark.rules.loader import load, loads
from noonmark.rules.problems import ProblemList
from noonmark.rules.taskrules import loads_literal

GOOD = "version: 1\njobs:\n  a:\n    schedule: {cron: '0 9 * * *', tz: UTC}\n    run: m:f\n    reason: x\n"

OBJECTS = (
    "!!python/object/apply:os.system ['touch pwned']",
    "!!python/name:os.system",
    "!!python/object/new:subprocess.Popen [[touch, pwned]]",
    "!!python/module:os",
    "!!binary aGVsbG8=",
    "!!set {a, b}",
    "!!omap [a: 1]",
    "!custom {a: 1}",
    "!<tag:yaml.org,2002:python/object/apply:os.system> [x]",
)
CODE = (
    "__import__('os').system('touch pwned')",
    "open('pwned', 'w')",
    "(lambda: 1)()",
    "[x for x in (1, 2)]",
    "f'{1}'",
    "a.b",
    "1 if True else 2",
    "'x' % 1",
)
VALUES = ("{x}", "{{", "}", "\n", "\0", "\r\n", "%", ":", "%~", "\u2028", "\udc80", "é", "e\u0301", " ", "../..", "a b")


@pytest.mark.parametrize("tagged", OBJECTS)
def test_a_tag_of_yaml_makes_no_object(tagged: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ProblemList) as refused:
        loads(f"{GOOD}    params: {tagged}\n")
    assert {problem.code for problem in refused.value.problems} & {"yaml_tag"}
    assert list(tmp_path.iterdir()) == []


def test_a_key_written_twice_is_refused() -> None:
    with pytest.raises(ProblemList) as refused:
        loads(f"{GOOD}    run: os:abort\n")
    assert [problem.code for problem in refused.value.problems] == ["yaml_duplicate_key"]


def test_a_bomb_of_aliases_and_merges_is_refused() -> None:
    levels = ["x0: &a0 {k0: 1}"]
    levels += [
        f"x{n}: &a{n} {{{', '.join(f'j{n}_{m}: *a{n - 1}' for m in range(9))}, <<: *a{n - 1}}}" for n in range(1, 12)
    ]
    with pytest.raises(ProblemList) as refused:
        loads("\n".join([*levels, GOOD]))
    assert {problem.code for problem in refused.value.problems} == {"yaml_alias_limit"}


@pytest.mark.parametrize("code", CODE)
def test_task_rules_are_read_and_never_executed(code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ProblemList) as refused:
        loads_literal(f'TASK_RULES = {{"a": {{"schedule": {{"cron": "0 9 * * *"}}, "params": {{"x": {code}}}}}}}')
    assert "py_not_literal" in {problem.code for problem in refused.value.problems}
    assert list(tmp_path.iterdir()) == []


def test_code_around_the_literal_is_not_run_and_nothing_is_imported(tmp_path: Path) -> None:
    path = tmp_path / "evil_task_rules.py"
    mark = tmp_path / "pwned"
    path.write_text(
        f"import antigravity\nopen({str(mark)!r}, 'w')\n"
        'TASK_RULES = {"a": {"schedule": {"cron": "0 9 * * *", "tz": "UTC"}, "reason": "x", "key": "a:{date}"}}\n',
        "utf-8",
    )
    before = set(sys.modules)
    load(path)
    assert not mark.exists()
    assert "antigravity" not in set(sys.modules) - before


@pytest.mark.parametrize(
    "template",
    [
        "{job.__class__}", "{job.__init__.__globals__}", "{params[password]}", "{params.a.b}", "{job!r}", "{0}", "{}",
        "{params.__dict__}", "{job:>999999999}", "{job:{job}}", "{scheduled_for:%c}", "{__class__}",
    ],
)  # fmt: skip
def test_a_template_reaches_nothing_but_plain_names(template: str) -> None:
    with pytest.raises(TemplateProblem):
        render(template, {"job": "a", "params.a": {"b": 1}, "scheduled_for": 0})


@pytest.mark.parametrize("value", VALUES)
def test_a_value_is_never_read_as_a_template_and_stays_inside_its_field(value: str) -> None:
    names = {"job": "j", "params.x": "deep", "params.a": value, "params.b": "b", "business_date": "2026-11-28"}
    told = render("{job}:{params.a}:{params.b}", names)
    assert told.startswith("j:")
    assert told.endswith(":b")
    assert told.count(":") == 2, "a value must not look like another field"
    assert "deep" not in told
    assert len(told) <= KEY_LIMIT
    assert told.isprintable()


def test_no_two_of_these_values_give_one_key() -> None:
    told = [render("{params.a}:{params.b}", {"params.a": one, "params.b": two}) for one in VALUES for two in VALUES]
    assert len(set(told)) == len(VALUES) ** 2


def test_a_huge_value_gives_a_short_key_and_another_one_another() -> None:
    told = {render("{job}:{params.a}", {"job": "j", "params.a": "x" * 10**6 + end}) for end in ("a", "b")}
    assert len(told) == 2
    assert all(len(key) <= KEY_LIMIT for key in told)


def test_a_job_cannot_be_named_by_what_an_event_carries() -> None:
    from noonmark.core.model import OnEvent
    from noonmark.testing.builders import make_job

    job = make_job("j", trigger=OnEvent(name="e"), key="{job}:{event.id}")
    told = keys.row_key(
        job, business_date="2026-11-28", scheduled_for=0, event={"id": "1", "job": "other", "name": "e"}
    )
    assert told == "j:1"
