"""Anything at all as a rules file: it is read or refused with places and sentences, and never takes long."""

from __future__ import annotations

import contextlib
import json
import random
from typing import Any

from bounds import bounded, fuzzing
from hypothesis import example, given
from hypothesis import strategies as st

from noonmark.core.codec import RuleUnreadable, canonical, job_from_plain, job_to_plain
from noonmark.core.series import frontier_rows
from noonmark.faces.cli.init import RULES
from noonmark.rules import loader, taskrules
from noonmark.rules.problems import ProblemList

MUCH = """\
version: 1
defaults: {tz: Asia/Shanghai, owner: "ops <ops@example.org>"}
jobs:
  digest: &base
    schedule: {cron: "0 9 * * mon-fri", tz: Europe/Berlin}
    run: jobs:digest
    each: {channel: [ops, sales]}
    params: {depth: 3, words: [a, b], deep: {x: null, y: 1.5}}
    key: "digest:{business_date}:{channel}"
    window: {start: "09:00", end: "12:00", reason: nobody reads it later}
    guardrails: {allow_weekend: false}
    depends_on: [{flag: "etl.{business_date}"}, {succeeded: index}, daily_etl.finished]
    catch_up: {missed: latest, max_delay: 3h, only_if_data_ready: true, recheck: 5m}
    retry: {max: 4, base: 1s, factor: 2, jitter: 500ms, cap: 1h}
    timeout: PT30M
    overlap: skip
    reason: The day begins with it.
  index: {every: 5m, command: [echo, "时"], reason: &why keep it fresh}
  pay: {on_event: order.created, delay: 30m, key: "pay:{event.id}", run: "jobs:pay", reason: *why}
"""
TASKS = """\
TASK_RULES:
  daily_report:
    cron: "0 9 * * *"
    timezone: Asia/Shanghai
    dedupe_key: "report:{date}:{channel}"
    execution_window: 2h
    depends_on: daily_etl.finished_{business_date}
    catchup: {max_delay_min: 120, missed: skip}
"""
FILES = (MUCH, TASKS, RULES)
PIECES = (
    *(
        "jobs:",
        "version: 1",
        "  a:",
        "    cron: '0 9 * * *'",
        "tz: UTC",
        "- ",
        "? ",
        ": ",
        "&a ",
        "*a",
        "<<: *a",
        "!!int ",
    ),
    *(
        "|\n",
        ">-\n",
        "'",
        '"',
        "[",
        "]",
        "{",
        "}",
        "#",
        "---\n",
        "...\n",
        "%YAML 1.2\n",
        "\t",
        "\ufeff",
        "\x00",
        "\ud800",
    ),
    *(
        "0o7",
        "0x1F",
        ".inf",
        "-.nan",
        "1e999",
        "9" * 400,
        "~",
        "yes",
        "2026-11-28",
        "PT1H",
        "1h30m",
        "{event.id}",
        "{",
        "}",
    ),
)
DAY = 1_795_867_200_000_000


def read(text: str) -> None:
    try:
        loaded = bounded(4_000_000, lambda: loader.loads(text, keep_good=True))
    except ProblemList as refused:
        jobs, problems = (), refused.problems
    else:
        jobs, problems = loaded.jobs, loaded.problems
    for job in jobs:
        assert job_from_plain(json.loads(canonical(job_to_plain(job)))) == job
        bounded(400_000, lambda job=job: frontier_rows(job, DAY, revision=1))
    for problem in problems[:50]:
        for lang in ("en", "zh"):
            problem.text(lang).encode("utf-8", "surrogatepass")
            assert len(problem.text(lang)) < 20_000


@fuzzing(40)
@given(st.sampled_from(FILES), st.randoms(use_true_random=False))
def test_a_rules_file_with_a_few_strokes_too_many_is_read_or_refused(text: str, dice: random.Random) -> None:
    for _ in range(dice.randint(1, 4)):
        at = dice.randrange(len(text) + 1)
        drop = dice.choice((0, 0, 1, 5, 40))
        text = text[:at] + dice.choice((*PIECES, text[max(0, at - 30) : at])) + text[at + drop :]
    read(text)


@fuzzing(60)
@given(st.lists(st.sampled_from(PIECES), max_size=30).map("".join))
@example("a: &a [*a]")
@example("[" * 5_000)
@example("[a, " * 1_000)
@example("{a: " * 3_000)
@example("[" + "[], " * 300 + "]")
@example("- " * 3_000)
@example("a: &x {b: 1}\nc: [" + "*x," * 2000 + "]")
@example("version: 1\njobs:\n" + "".join(f"  j{n}: {{}}\n" for n in range(500)))
@example("version: 1\njobs: {a: {every: " + "9" * 5_000 + "}}")
@example("version: " + "9" * 5_000)
def test_pieces_of_yaml_in_any_order_are_read_or_refused(text: str) -> None:
    read(text)


@fuzzing(60)
@given(st.text(st.sampled_from("TASK_RULES={}[]()'\",:*+-~. \n#\\x019azé时"), max_size=60))
@example("TASK_RULES = " + "[" * 3_000)
@example("TASK_RULES = " + "-" * 5_000 + "1")
@example("TASK_RULES = {'a': " * 200 + "1" + "}" * 200)
@example("TASK_RULES = {'a': " + "1" * 5_000 + "}")
@example("TASK_RULES = {'a': 10**10**10}")
@example("TASK_RULES = {'a': 'x' * 10**9}")
@example("TASK_RULES = {1j: 1, None: 2, ...: 3, b'x': 4, **{}: 5}")
@example("TASK_RULES = {'a': f'{1}'}\x00")
@example("TASK_RULES = '" + "a" * 100_000)
@example("TASK_RULES = " + "(" * 190 + ")" * 190)
def test_any_python_text_is_read_as_a_literal_or_refused(text: str) -> None:
    with contextlib.suppress(ProblemList):
        bounded(2_000_000, lambda: taskrules.loads_literal(text, keep_good=True))


scalars = st.one_of(
    st.none(), st.booleans(), st.integers(), st.integers(-(2**70), 2**70), st.floats(), st.text(max_size=8),
    st.sampled_from(("cron", "every", "UTC", "* * * * *", "skip", "flag", "succeeded", "job", "a{b", "24:00")),
)  # fmt: skip
anything = st.recursive(
    scalars,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=6), inner, max_size=4)),
)
FIELDS = sorted(job_to_plain(job_from_plain({"v": 1, "name": "a", "trigger": {"kind": "manual"}, "reason": "r"})))


@fuzzing(150)
@given(st.dictionaries(st.sampled_from(FIELDS), anything, max_size=6))
def test_any_stored_rule_is_read_or_refused(plain: dict[str, Any]) -> None:
    whole = {"v": 1, "name": "a", "reason": "r", **plain}
    with contextlib.suppress(RuleUnreadable):
        bounded(100_000, lambda: job_from_plain(whole))
