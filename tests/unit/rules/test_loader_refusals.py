"""Every mistake in a rules file is named at its line and column, with what to do."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest

from noonmark.rules import loader, source
from noonmark.rules.messages import MESSAGES
from noonmark.rules.problems import Place, Problem, ProblemList
from noonmark.rules.source import ALIAS_LIMIT, SIZE_LIMIT

ProblemsOf = Callable[[str], tuple[Problem, ...]]

ONE_MISTAKE = [
    # fields, code, path, line, column
    ('timeot: 10m', "unknown_field", "jobs.digest.timeot", 4, 5),
    ('window: {strat: "09:00", end: "10:00"}', "unknown_field", "jobs.digest.window.strat", 4, 14),
    ('retry: {max: four}', "wrong_type", "jobs.digest.retry.max", 4, 18),
    ('retry: {max: true}', "wrong_type", "jobs.digest.retry.max", 4, 18),
    ('retry: {max: -1}', "out_of_range", "jobs.digest.retry.max", 4, 18),
    ('retry: {factor: .nan}', "out_of_range", "jobs.digest.retry.factor", 4, 21),
    ('retry: {backoff: 30s}', "bad_backoff", "jobs.digest.retry.backoff", 4, 22),
    ('retry: {backoff: 10m..30s}', "cap_below_base", "jobs.digest.retry.backoff", 4, 22),
    ('retry: {backoff: 1s..2s, cap: 3s}', "said_twice", "jobs.digest.retry.cap", 4, 35),
    ('retry: [4]', "wrong_type", "jobs.digest.retry", 4, 12),
    ('timeout: 1800', "duration_not_text", "jobs.digest.timeout", 4, 14),
    ('timeout: 90x', "bad_duration", "jobs.digest.timeout", 4, 14),
    ('timeout: "1 month"', "bad_duration", "jobs.digest.timeout", 4, 14),
    ('timeout: ""', "bad_duration", "jobs.digest.timeout", 4, 14),
    ('timeout: -5m', "bad_duration", "jobs.digest.timeout", 4, 14),
    ('timeout: 10ms', "too_short", "jobs.digest.timeout", 4, 14),
    ('catch_up: {max_delay: 0s}', "too_short", "jobs.digest.catch_up.max_delay", 4, 27),
    ('max_delay_min: 0', "too_short", "jobs.digest.max_delay_min", 4, 20),
    ('isolation: thread', "bad_choice", "jobs.digest.isolation", 4, 16),
    ('timeout:', "no_value", "jobs.digest.timeout", 4, 5),
    ('window: {start: 18:30, end: "20:00"}', "time_not_quoted", "jobs.digest.window.start", 4, 21),
    ('window: {start: "18:30", end: 1200}', "time_not_quoted", "jobs.digest.window.end", 4, 35),
    ('window: {start: "25:00", end: "20:00"}', "bad_time", "jobs.digest.window.start", 4, 21),
    ('window: {start: "18:30", end: "18:00"}', "window_end_before_start", "jobs.digest.window.end", 4, 35),
    ('window: {start: "18:30", end: "18:30"}', "window_empty", "jobs.digest.window.end", 4, 35),
    ('window: {start: "18:30"}', "window_half", "jobs.digest.window.start", 4, 21),
    ('window_end: "18:30"', "window_half", "jobs.digest.window_end", 4, 17),
    ('window: {start: "09:00", end: "10:00", length: 2h}', "window_both", "jobs.digest.window.length", 4, 52),
    ('window: {reason: why}', "window_nothing", "jobs.digest.window", 4, 13),
    ('window: {start: "08:00", end: "10:00", crosses_midnight: true}', "window_never_crosses",
     "jobs.digest.window.crosses_midnight", 4, 62),
    ('every: 5m\nwindow: {start: "08:00", end: "10:00"}', "window_without_tz", "jobs.digest.window", 5, 13),
    ('schedule: {cron: "0 9 30 2 *", tz: UTC}', "bad_cron", "jobs.digest.schedule.cron", 4, 22),
    ('cron: "61 9 * * *"\ntz: UTC', "bad_cron", "jobs.digest.cron", 4, 11),
    ('cron: "0 9 * * *"', "cron_without_tz", "jobs.digest.cron", 4, 11),
    ('tz: Asia/Shangai', "bad_zone", "jobs.digest.tz", 4, 9),
    ('every: 5m\ncron: "0 9 * * *"\ntz: UTC', "many_triggers", "jobs.digest.every", 4, 12),
    ('schedule: {tz: UTC}', "no_trigger", "jobs.digest.schedule", 4, 15),
    ('schedule: "0 9 * * *"', "wrong_type", "jobs.digest.schedule", 4, 15),
    ('every: 5m\ndelay: 3m', "stray_trigger_field", "jobs.digest.delay", 5, 12),
    ('every: 10ms', "bad_period", "jobs.digest.every", 4, 12),
    ('manual: false', "bad_choice", "jobs.digest.manual", 4, 13),
    ('at: "2027-02-30T09:00"\ntz: UTC', "bad_moment", "jobs.digest.at", 4, 9),
    ('at: "2027-02-03T09:00"', "at_without_tz", "jobs.digest.at", 4, 9),
    ('at: ["2027-02-03"]\ntz: UTC', "bad_moment", "jobs.digest.at[0]", 4, 10),
    ('at: ["2027-02-03T09:00", "2027-02-03T09:00:00"]\ntz: UTC', "moment_twice", "jobs.digest.at[1]", 4, 30),
    ('at: []\ntz: UTC', "no_trigger", "jobs.digest.at", 4, 9),
    ('key: "digest:{channel}:{business_date}"', "bad_key", "jobs.digest.key", 4, 10),
    ('dedupe_key: digest', "key_without_time", "jobs.digest.dedupe_key", 4, 17),
    ('key: "{business_date.__class__}"', "bad_key", "jobs.digest.key", 4, 10),
    ('key: "{business_date"', "bad_key", "jobs.digest.key", 4, 10),
    ('at: "2027-02-03T09:00"\ntz: UTC\nkey: "{params.t}"\nparams: {t: ""}', "bad_key", "jobs.digest.key", 6, 10),
    ('depends_on: ["{t}"]\nparams: {t: ""}', "bad_key", "jobs.digest.depends_on[0]", 4, 18),
    ('lock: "{t}"\neach: {t: [a, ""]}', "bad_key", "jobs.digest.lock", 4, 11),
    ('depends_on: ["etl_{busines_date}"]', "bad_key", "jobs.digest.depends_on[0]", 4, 18),
    ('depends_on: [{reason: x}]', "bad_condition", "jobs.digest.depends_on[0]", 4, 18),
    ('depends_on: [{flag: a, success: b}]', "bad_condition", "jobs.digest.depends_on[0]", 4, 18),
    ('depends_on: [7]', "wrong_type", "jobs.digest.depends_on[0]", 4, 18),
    ('depends_on: [{success: digets}]', "success_unknown_job", "jobs.digest.depends_on[0]", 4, 18),
    ('depends_on: [{success: digest}]', "success_of_itself", "jobs.digest.depends_on[0]", 4, 18),
    ('scope: each_worker\nevent: a', "each_worker_trigger", "jobs.digest.scope", 4, 12),
    ('depends_on: [{http: {url: "http://x"}}]', "later_field", "jobs.digest.depends_on[0].http", 4, 19),
    ('budget: {usd: 1}', "later_field", "jobs.digest.budget", 4, 5),
    ('guardrails: {calendar: cn-workdays}', "later_field", "jobs.digest.guardrails.calendar", 4, 18),
    ('guardrails: {allow_weekend: no}', "wrong_type", "jobs.digest.guardrails.allow_weekend", 4, 33),
    ('overlap: queue_one', "later_value", "jobs.digest.overlap", 4, 14),
    ('overlap: skipp', "bad_choice", "jobs.digest.overlap", 4, 14),
    ('catch_up: {missed: some}', "bad_choice", "jobs.digest.catch_up.missed", 4, 24),
    ('catch_up: {enabled: false, missed: all}', "missed_contradiction", "jobs.digest.catch_up.missed", 4, 40),
    ('catchup: {max_delay_min: 2h}', "wrong_type", "jobs.digest.catchup.max_delay_min", 4, 30),
    ('catch_up: {max_delay: 1h, max_delay_min: 60}', "said_twice", "jobs.digest.catch_up.max_delay_min", 4, 31),
    ('catch_up: {recheck: 10ms}', "too_short", "jobs.digest.catch_up.recheck", 4, 25),
    ('key: "a:{date}"\ndedupe_key: "b:{date}"', "said_twice", "jobs.digest.dedupe_key", 5, 5),
    ('run: digest.py', "bad_run", "jobs.digest.run", 4, 10),
    ('run: "a:b"\ncommand: [ls]', "run_and_command", "jobs.digest.command", 5, 14),
    ('command: []', "bad_command", "jobs.digest.command", 4, 14),
    ('command: ls', "wrong_type", "jobs.digest.command", 4, 14),
    ('each: {channel: []}', "bad_each", "jobs.digest.each.channel", 4, 21),
    ('each: {channel: [ops, ops]}', "bad_each", "jobs.digest.each.channel", 4, 21),
    ('each: {channel: ops}', "wrong_type", "jobs.digest.each.channel", 4, 21),
    ('each: {channel: [a]}\nparams: {channel: b}', "said_twice", "jobs.digest.params.channel", 5, 23),
    ('params: {a: .inf}', "bad_params", "jobs.digest.params", 4, 13),
    ('params: {a: !!python/object x}', "yaml_tag", "jobs.digest.params.a", 4, 17),
    ('params: {1: a}', "key_not_text", "jobs.digest.params", 4, 14),
    ('reason: "  "', "reason_missing", "jobs.digest.reason", 4, 13),
    ('reason: x\nreason: y', "yaml_duplicate_key", "jobs.digest.reason", 5, 5),
    ('lease: 1', "duration_not_text", "jobs.digest.lease", 4, 12),
]  # fmt: skip


@pytest.mark.parametrize(
    ("fields", "code", "path", "line", "column"), ONE_MISTAKE, ids=[row[0][:40] for row in ONE_MISTAKE]
)
def test_one_mistake_is_one_problem_at_its_place(
    problems_of: ProblemsOf, fields: str, code: str, path: str, line: int, column: int
) -> None:
    found = problems_of(fields)
    assert [(each.code, each.path) for each in found] == [(code, path)], [str(each) for each in found]
    assert (found[0].place.line, found[0].place.column) == (line, column)


def test_every_sentence_can_be_said_in_both_languages(problems_of: ProblemsOf) -> None:
    for fields, *_ in ONE_MISTAKE:
        for problem in problems_of(fields):
            for lang in ("en", "zh"):
                text = problem.text(lang)
                assert "noonmark.yaml:" in text
                assert "(value)" not in text
                assert "(error)" not in text
    assert all(message.what_en and message.what_zh for message in MESSAGES.values())


@pytest.mark.parametrize(
    ("name", "meant"),
    [("timeot", "timeout"), ("dependson", "depends_on"), ("Reason", "reason"), ("dedup_key", "dedupe_key")],
)
def test_an_unknown_field_names_the_nearest_known_one(problems_of: ProblemsOf, name: str, meant: str) -> None:
    found = [each for each in problems_of(f"{name}: x") if each.code == "unknown_field"]
    assert f'did you mean "{meant}"?' in found[0].remedy()


def test_the_time_that_yaml_1_1_made_of_18_30_is_recognised(problems_of: ProblemsOf) -> None:
    (found,) = problems_of('window: {start: 1110, end: "20:00"}')
    assert found.code == "time_not_quoted"
    assert found.remedy() == 'did you mean "18:30"? quote it'


def test_all_mistakes_of_a_file_come_at_once_in_the_order_of_reading() -> None:
    text = """version: 1
jobs:
  one:
    cron: "0 9 30 2 *"
    tz: UTC
    window: {start: "18:30", end: 18:00}
    timeot: 5m
    timeout: 5
    depends_on: [{success: three}]
  two:
    reason: ok
    every: 5 minutes
    retry: {max: x, base: 3x}
"""
    with pytest.raises(ProblemList) as refused:
        loader.loads(text, name="noonmark.yaml")
    found = [(each.job, each.code, each.place.line) for each in refused.value.problems]
    assert found == [
        ("one", "reason_missing", 3),
        ("one", "bad_cron", 4),
        ("one", "time_not_quoted", 6),
        ("one", "window_end_before_start", 6),
        ("one", "unknown_field", 7),
        ("one", "duration_not_text", 8),
        ("one", "success_unknown_job", 9),
        ("two", "bad_duration", 12),
        ("two", "wrong_type", 13),
        ("two", "bad_duration", 13),
    ]
    assert str(refused.value).splitlines()[1].startswith("noonmark.yaml:4:11  jobs.one.cron: ")


def test_one_bad_job_leaves_the_good_ones_when_they_are_asked_for() -> None:
    text = """version: 1
jobs:
  good: {every: 5m, reason: ok}
  bad: {every: 5x, reason: ok}
  torn: 7
  waits: {every: 5m, reason: ok, depends_on: [{success: bad}]}
"""
    loaded = loader.loads(text, keep_good=True)
    assert [job.name for job in loaded.jobs] == ["good", "waits"]
    assert [(each.job, each.code) for each in loaded.problems] == [("bad", "bad_duration"), ("torn", "wrong_type")]


def test_a_bad_head_leaves_no_job_to_trust() -> None:
    loaded = loader.loads(
        "version: 1\ndefaults: {timeout: 5}\njobs:\n  good: {every: 5m, reason: ok}\n", keep_good=True
    )
    assert loaded.jobs == ()
    assert [each.code for each in loaded.problems] == ["duration_not_text"]


def test_a_wrong_default_is_told_once_and_spoils_every_job_it_reaches() -> None:
    text = """version: 1
defaults: {timeout: 90x}
jobs:
  a: {every: 5m, reason: ok}
  b: {every: 5m, reason: ok}
  c: {every: 5m, timeout: 5m, reason: ok}
"""
    loaded = loader.loads(text, keep_good=True)
    assert [job.name for job in loaded.jobs] == ["c"]
    assert [(each.code, each.path) for each in loaded.problems] == [("bad_duration", "defaults.timeout")]


def test_a_name_written_twice_spoils_its_own_job_only() -> None:
    text = (
        "version: 1\njobs:\n  a: {every: 5m, every: 6m, reason: ok}\n"
        "  b: {every: 5m, reason: ok}\n  b: {every: 6m, reason: ok}\n"
    )
    loaded = loader.loads(text, keep_good=True)
    assert [job.name for job in loaded.jobs] == []
    assert [(each.job, each.code, each.place.line) for each in loaded.problems] == [
        ("a", "yaml_duplicate_key", 3), ("b", "yaml_duplicate_key", 5),
    ]  # fmt: skip


HEADS = [
    ("jobs: {}", "version_missing"),
    ("version: 2\njobs: {}", "version_unknown"),
    ("version: true\njobs: {}", "version_unknown"),
    ('version: "1"\njobs: {}', "version_unknown"),
    ("version: 1", "jobs_missing"),
    ("version: 1\njobs:", "jobs_missing"),
    ("version: 1\njobs: [a]", "wrong_type"),
    ("version: 1\njobs: {}\njbos: {}", "unknown_field"),
    ("version: 1\njobs: {}\npools: {}", "later_field"),
    ("version: 1\ndefaults: {cron: x}\njobs: {}", "unknown_field"),
    ("version: 1\ndefaults: {timezoen: UTC}\njobs: {}", "unknown_field"),
    ("version: 1\ndefaults: 5\njobs: {}", "wrong_type"),
    ("- a", "wrong_type"),
    ("just text", "wrong_type"),
    ("a: [", "yaml_syntax"),
    ("a:\n\t- b", "yaml_syntax"),
    ("a: 'b", "yaml_syntax"),
    ("a: \x01", "yaml_syntax"),
    ("version: 1\njobs: {}\n---\nversion: 1", "yaml_many_documents"),
    ("%YAML 1.1\n---\nversion: 1\njobs: {}", "yaml_version"),
    ("version: 1\njobs: *nowhere", "yaml_syntax"),
    ("version: 1\njobs: {a: {cron: */5 * * * *}}", "yaml_unquoted"),
    ("version: 1\njobs: {a: {cron: * * * * *}}", "yaml_unquoted"),
    ("version: 1\njobs: {a: {cron: @daily}}", "yaml_unquoted"),
    ("# only a remark", "file_empty"),
    ("   \n", "file_empty"),
    ("version: 1\njobs:\n  'a b:c': {every: 5m, reason: x}", "bad_job_name"),
    ("version: 1\njobs:\n  '': {every: 5m, reason: x}", "bad_job_name"),
    (f"version: 1\njobs:\n  {'a' * 129}: {{every: 5m, reason: x}}", "bad_job_name"),
    ("version: 1\njobs:\n  1: {every: 5m, reason: x}", "key_not_text"),
]


@pytest.mark.parametrize(("text", "code"), HEADS, ids=[row[0][:30].replace("\n", " ") for row in HEADS])
def test_a_file_that_is_wrong_as_a_whole_is_refused_in_words(text: str, code: str) -> None:
    with pytest.raises(ProblemList) as refused:
        loader.loads(text)
    assert [each.code for each in refused.value.problems] == [code], str(refused.value)


def test_a_billion_laughs_are_refused_quickly() -> None:
    bomb = ["a: &a [x, x, x, x, x, x, x, x, x, x]"]
    names = "abcdefghi"
    bomb += [f"{b}: &{b} [{', '.join([f'*{a}'] * 10)}]" for a, b in pairwise(names)]
    with pytest.raises(ProblemList) as refused:
        loader.loads("\n".join(bomb))
    (found,) = refused.value.problems
    assert found.code == "yaml_alias_limit"
    assert str(ALIAS_LIMIT) in found.text()


def test_a_file_is_read_up_to_its_number_of_values_and_no_further(monkeypatch: pytest.MonkeyPatch) -> None:
    assert source.VALUE_LIMIT == 200_000, "docs/security.md names it"
    monkeypatch.setattr(source, "VALUE_LIMIT", 1_000)
    value, problems = source.read_yaml("x:\n" + "- a\n" * 997, "f")  # the file, its name, the list and its items
    assert (len(value["x"]), problems) == (997, [])
    for text, line, column in (("x:\n" + "- a\n" * 998, 999, 3), ("x: [" + "[a]," * 500_000 + "]", 1, 1998)):
        with pytest.raises(ProblemList) as refused:
            source.read_yaml(text, "f")
        (found,) = refused.value.problems
        assert (found.code, found.place.line, found.place.column) == ("yaml_value_limit", line, column)
        assert "more than 1000 values" in found.text()
        assert "超过 1000 个" in found.text("zh")


def test_a_literal_is_read_up_to_its_number_of_values_and_no_further(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source, "VALUE_LIMIT", 1_000)
    for items, codes in ((998, ["wrong_type"]), (999, ["yaml_value_limit"])):  # the dict and the list are two
        with pytest.raises(ProblemList) as refused:
            loader.loads_literal("TASK_RULES = {'a': [" + "1," * items + "]}")
        assert [each.code for each in refused.value.problems] == codes


def test_columns_of_a_literal_are_counted_in_characters_forwards_and_backwards() -> None:
    with pytest.raises(ProblemList) as refused:
        loader.loads_literal("TASK_RULES = {'é城': {'schedule': f(), '🚀': g()},\n 'b': h()}")
    places = [(each.place.line, each.place.column) for each in refused.value.problems if each.code == "py_not_literal"]
    assert places == [(1, 34), (1, 44), (2, 7)]


@pytest.mark.parametrize("text", ["a: &a [*a]", "a: &a {b: *a}", "[" * 1000, "{a: " * 200 + "1" + "}" * 200])
def test_endless_or_deep_nesting_is_refused(text: str) -> None:
    with pytest.raises(ProblemList) as refused:
        loader.loads(text)
    assert [each.code for each in refused.value.problems] == ["yaml_depth"]


def test_files_that_cannot_be_read_say_why(tmp_path: Path) -> None:
    for name, content in (
        ("latin.yaml", "reason: caf\xe9".encode("latin-1")),
        ("empty.yaml", b""),
        ("big.yaml", b"#" * (SIZE_LIMIT + 1)),
    ):
        (tmp_path / name).write_bytes(content)
    (tmp_path / "folder.yaml").mkdir()
    codes = {}
    for name in ("latin.yaml", "empty.yaml", "big.yaml", "folder.yaml", "missing.yaml"):
        with pytest.raises(ProblemList) as refused:
            loader.load(tmp_path / name)
        (found,) = refused.value.problems
        codes[name] = found.code
        assert found.place.file == str(tmp_path / name)
    assert codes == {
        "latin.yaml": "file_not_utf8",
        "empty.yaml": "file_empty",
        "big.yaml": "file_too_large",
        "folder.yaml": "file_unreadable",
        "missing.yaml": "file_missing",
    }


def test_jobs_that_wait_for_each_other_are_refused() -> None:
    text = "version: 1\njobs:\n" + "".join(
        f"  {name}: {{every: 5m, reason: x, depends_on: [{{success: {other}}}]}}\n"
        for name, other in ("ab", "bc", "ca")
    )
    with pytest.raises(ProblemList) as refused:
        loader.loads(text)
    (found,) = refused.value.problems
    assert found.code == "dependency_cycle"
    assert "a -> b -> c -> a" in found.what()


def test_a_long_chain_of_jobs_is_no_circle() -> None:
    count = 3000
    text = (
        "version: 1\njobs:\n"
        + "".join(f"  j{n}: {{manual: true, reason: x, depends_on: [{{success: j{n + 1}}}]}}\n" for n in range(40))
        + "  j40: {manual: true, reason: x}\n"
    )
    assert len(loader.loads(text).jobs) == 41
    from noonmark.core.model import Job, Manual, Succeeded
    from noonmark.rules.checks import check_together

    jobs = {
        f"j{n}": Job(name=f"j{n}", trigger=Manual(), reason="x", depends_on=(Succeeded(job=f"j{n + 1}"),))
        for n in range(count)
    }
    jobs[f"j{count}"] = Job(name=f"j{count}", trigger=Manual(), reason="x")
    said: list[object] = []
    check_together(jobs, (), lambda *args, **detail: said.append((args, detail)))
    assert said == []


def test_a_success_of_a_job_on_each_worker_cannot_be_waited_for() -> None:
    text = (
        "version: 1\njobs:\n  m: {every: 1m, scope: each_worker, reason: x}\n"
        "  r: {every: 5m, reason: x, depends_on: [{success: m}]}\n"
    )
    with pytest.raises(ProblemList) as refused:
        loader.loads(text)
    assert [each.code for each in refused.value.problems] == ["success_each_worker"]


def test_a_job_on_each_worker_cannot_wait_for_a_success() -> None:
    text = (
        "version: 1\njobs:\n  m: {every: 1m, scope: each_worker, reason: x, depends_on: [{success: r}]}\n"
        "  r: {every: 5m, reason: x}\n"
    )
    with pytest.raises(ProblemList) as refused:
        loader.loads(text)
    assert [each.code for each in refused.value.problems] == ["each_worker_waits"]


def test_jobs_declared_elsewhere_may_be_waited_for() -> None:
    text = "version: 1\njobs:\n  r: {every: 5m, reason: x, depends_on: [{success: in_code}]}\n"
    assert loader.loads(text, known=["in_code"]).jobs


def test_a_thousand_mistakes_are_not_a_thousand_lines() -> None:
    text = "version: 1\njobs:\n" + "".join(f"  j{n}: {{every: 5x, reason: x}}\n" for n in range(200))
    with pytest.raises(ProblemList) as refused:
        loader.loads(text)
    assert len(refused.value.problems) == 200
    assert str(refused.value).splitlines()[-1] == "... and 150 more"


def test_a_problem_reads_as_one_line_with_place_path_and_remedy() -> None:
    problem = Problem(
        code="window_end_before_start", place=Place(file="noonmark.yaml", line=14, column=9), path="jobs.d.window.end",
        detail={"start": "18:30", "end": "18:00"},
    )  # fmt: skip
    assert problem.text() == (
        'noonmark.yaml:14:9  jobs.d.window.end: "18:00" is before window start "18:30"; '
        "a window may cross midnight only when it says so; correct it, or add crosses_midnight: true."
    )
    assert problem.text("zh").endswith("。")


def test_what_core_says_about_a_value_is_told_in_chinese_too() -> None:
    problem = Problem(
        code="bad_cron",
        detail={"value": "0 9 * *", "error": 'cron "0 9 * *" has 4 fields, but 5 are needed: minute hour x'},
    )
    assert 'cron "0 9 * *" 有 4 个字段，需要 5 个：分 时 日 月 周' in problem.text("zh")
    assert "has 4 fields" in problem.text("en")


@pytest.mark.parametrize(
    "fields",
    [
        'at: "2027-02-03T09:00"\ntz: UTC\nkey: "{params.t}"\nparams: {t: ""}',
        'depends_on: ["{t}"]\nparams: {t: ""}',
        'lock: "{subject}"',
    ],
)
def test_a_template_of_which_nothing_is_left_is_told_in_chinese_too(problems_of: ProblemsOf, fields: str) -> None:
    (problem,) = problems_of(fields)
    assert "空" in problem.text("zh")
    assert not any(word in problem.text("zh") for word in ("empty", "nothing", "because", " for "))
