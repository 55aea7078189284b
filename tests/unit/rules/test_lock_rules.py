"""``lock:`` in rules files and in decorators: the same words, the same refusals."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from noonmark import ProblemList, Scheduler, cron
from noonmark.core.codec import digest, job_to_yaml_dict
from noonmark.core.model import MINUTE, SECOND, Job, LockRule
from noonmark.rules import loader, schema
from noonmark.rules.problems import Problem

JobOf = Callable[[str], Job]
ProblemsOf = Callable[[str], tuple[Problem, ...]]


@pytest.mark.parametrize(
    ("written", "lock"),
    [
        ("lock: reindex", LockRule(name="reindex")),
        ("lock: {kind: redis, name: reindex}", LockRule(name="reindex", kind="redis")),
        (
            'lock: {name: "x:{business_date}", at: "rediss://h:6380/1", kind: redis, busy: wait, ttl: 1m, reason: why}',
            LockRule(
                name="x:{business_date}",
                at="rediss://h:6380/1",
                kind="redis",
                busy="wait",
                ttl=MINUTE,
                reason="why",
            ),
        ),
        ("lock: {name: x, at: env:LOCKS}", LockRule(name="x", at="env:LOCKS")),
        (
            'lock: {name: x, kind: etcd, at: "etcd://a:1,b:2"}',
            LockRule(name="x", kind="etcd", at="etcd://a:1,b:2"),
        ),
    ],
)
def test_every_spelling_loads(job_of: JobOf, written: str, lock: LockRule) -> None:
    job = job_of(written)
    assert job.lock == lock
    assert not job.waits_for_lock or lock.busy == "wait"


@pytest.mark.parametrize(
    ("written", "path", "said"),
    [
        ("lock: {kind: redis}", "lock.name", ""),
        ('lock: ""', "lock", ""),
        ("lock: {name: x, kind: mysql}", "lock.kind", "redis"),
        ("lock: {name: x, kind: etcd, at: redis://h}", "lock.at", "kind is etcd, but at names redis"),
        ("lock: {name: x, at: somewhere}", "lock.at", "no URL"),
        ("lock: {name: x, busy: maybe}", "lock.busy", "skip, wait"),
        ("lock: {name: x, ttl: 10ms}", "lock.ttl", "at least 1s"),
        ("lock: {name: x, ttl: 10}", "lock.ttl", ""),
        ("lock: {name: x, expires: true}", "lock.expires", "known here"),
        ("lock: {name: x, bussy: skip}", "lock.bussy", 'did you mean "busy"?'),
        ('lock: "x:{channel}"', "lock", "channel"),
        ("lock: [x]", "lock", ""),
        ("lock: 3", "lock", ""),
    ],
)
def test_what_cannot_be_meant_is_refused_at_its_place(
    problems_of: ProblemsOf, written: str, path: str, said: str
) -> None:
    problems = problems_of(written)
    assert [problem.path.partition("jobs.digest.")[2] for problem in problems] == [path]
    assert said in str(problems[0])
    assert problems[0].place.line == 4


def test_a_decorator_says_the_same_as_a_file(job_of: JobOf) -> None:
    for word, text in [
        ("reindex", "lock: reindex"),
        ({"name": "reindex", "kind": "redis", "at": "redis://h", "busy": "wait", "ttl": "1m"},
         "lock: {name: reindex, kind: redis, at: redis://h, busy: wait, ttl: 60s}"),
    ]:  # fmt: skip
        sched = Scheduler(rules=False)

        @sched.job(cron("0 9 * * *", tz="Asia/Shanghai"), reason="because", lock=word, name="digest")
        def job() -> None: ...

        assert digest(sched.rules.jobs["digest"]) == digest(job_of(text))


@pytest.mark.parametrize(
    ("word", "path"),
    [
        ({"kind": "redis"}, "lock.name"),
        ({"name": "x", "kind": "mysql"}, "lock.kind"),
        ({"name": "x", "bussy": "skip"}, "lock.bussy"),
        ({"name": "x", "ttl": "soon"}, "lock.ttl"),
        (7, "lock"),
    ],
)
def test_a_decorator_is_refused_for_the_same_mistakes(word: Any, path: str) -> None:
    sched = Scheduler(rules=False)
    declare = sched.job(cron("0 9 * * *", tz="Asia/Shanghai"), reason="because", lock=word, name="digest")
    with pytest.raises(ProblemList) as refused:
        declare(lambda: None)
    assert [problem.path for problem in refused.value.problems] == [f"jobs.digest.{path}"]


def test_it_is_written_as_it_is_read(job_of: JobOf) -> None:
    job = job_of("lock: {name: x, kind: redis, busy: wait, ttl: 90s}")
    assert job_to_yaml_dict(job)["lock"] == {"name": "x", "kind": "redis", "busy": "wait", "ttl": "1m30s"}
    assert job.lock is not None
    assert job.lock.ttl == 90 * SECOND
    assert "lock" not in job_to_yaml_dict(job_of(""))


def test_the_schema_knows_both_shapes() -> None:
    field = schema.schema()["$defs"]["JobIn"]["properties"]["lock"]
    assert field["anyOf"] == [{"type": "string"}, {"$ref": "#/$defs/LockIn"}]
    assert loader is not None
