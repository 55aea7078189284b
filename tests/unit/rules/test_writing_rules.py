"""What is written back loads as the same jobs; the schema knows every field."""

from __future__ import annotations

import json

from hypothesis import given, settings
from hypothesis import strategies as st

from noonmark.core.model import (
    DAY,
    HOUR,
    SECOND,
    At,
    CatchUp,
    Cron,
    Every,
    FlagSet,
    Guardrails,
    Job,
    Manual,
    OnEvent,
    Retry,
    Succeeded,
    Window,
)
from noonmark.rules import loader
from noonmark.rules.schema import schema
from noonmark.rules.writer import to_yaml

lengths = st.integers(1, 5000).map(lambda n: n * SECOND)
texts = st.text(st.characters(codec="utf-8", exclude_categories=("Cc", "Cs")), min_size=1, max_size=20).filter(
    str.strip
)
words = texts.filter(lambda text: "{" not in text and "}" not in text)
zones = st.sampled_from(["UTC", "Asia/Shanghai", "America/New_York"])
triggers = st.one_of(
    st.builds(Cron, expression=st.sampled_from(["0 9 * * *", "*/5 * * * mon-fri", "30 18 1 * *"]), tz=zones),
    st.builds(Every, period=lengths, anchor=st.sampled_from([0, 1_795_825_800_000_000]), tz=zones),
    st.builds(At, moments=st.just(("2027-01-02T09:00:00", "2027-01-02T01:30:00Z")), tz=zones),
    st.builds(OnEvent, name=words, delay=st.one_of(st.just(0), lengths), tz=zones),
    st.builds(Manual, tz=zones),
)
windows = st.one_of(
    st.none(),
    st.builds(Window, length=lengths, reason=texts),
    st.just(Window(start="09:00", end="12:30")),
    st.just(Window(start="22:00", end="02:00:30", crosses_midnight=True)),
)
conditions = st.lists(
    st.one_of(
        st.builds(
            FlagSet, flag=words.map(lambda word: f"{word}:{{business_date}}"), reason=st.one_of(st.just(""), texts)
        ),
        st.builds(Succeeded, job=st.just("other")),
    ),
    max_size=3,
).map(tuple)
jobs = st.builds(
    Job,
    name=st.just("digest"),
    trigger=triggers,
    reason=texts,
    key=st.just("k:{business_date}:{scheduled_for}"),
    owner=st.one_of(st.just(""), texts),
    run=st.sampled_from(["", "app.jobs:digest"]),
    params=st.dictionaries(words, st.one_of(texts, st.integers(-5, 5), st.booleans(), st.floats(0, 1)), max_size=3),
    window=windows,
    guardrails=st.builds(Guardrails, allow_weekend=st.booleans(), reason=st.one_of(st.just(""), texts)),
    depends_on=conditions,
    catch_up=st.builds(
        CatchUp,
        missed=st.sampled_from(["skip", "latest", "all"]),
        max_delay=st.one_of(st.none(), lengths),
        recheck=lengths,
    ),
    retry=st.builds(
        Retry, max=st.integers(0, 9), base=lengths, cap=st.just(DAY), factor=st.sampled_from([1.0, 2.0, 3.5])
    ),
    timeout=lengths,
    lease=lengths,
    overlap=st.sampled_from([None, "skip", "queue_all", "allow"]),
    on_lost=st.sampled_from(["takeover", "wait", "manual"]),
    on_rollback=st.sampled_from(["hold", "run"]),
    business_date=st.sampled_from(["same", "previous_day"]),
    isolation=st.sampled_from(["", "process"]),
    source=st.just("file"),
)


@settings(max_examples=60, deadline=None)
@given(jobs)
def test_what_is_written_loads_as_the_same_job(job: Job) -> None:
    assert loader.loads(to_yaml([job]), known=["other"]).jobs == (job,)


def test_times_are_quoted_and_defaults_are_left_out() -> None:
    job = Job(
        name="a", trigger=Every(period=HOUR), reason="yes", window=Window(start="09:00", end="12:30"), source="file",
        params={"on": "no", "n": "0123"},
    )  # fmt: skip
    text = to_yaml([job])
    assert 'start: "09:00"' in text
    assert 'reason: "yes"' in text
    assert "retry" not in text
    assert text.startswith("# yaml-language-server:")
    assert "0 and 7 are Sunday" in text


def test_the_schema_describes_every_field_and_alias() -> None:
    whole = schema()
    json.dumps(whole)
    job = whole["$defs"]["JobIn"]
    assert job["required"] == ["reason"]
    assert job["additionalProperties"] is False
    fields = (
        "schedule cron every at event tz timezone dedupe_key catchup window_start execution_window max_delay_min "
        "run command params each scope isolation on_lost on_rollback business_date"
    )
    for name in fields.split():
        assert job["properties"][name].get("description") or "$ref" in job["properties"][name], name
    for part in whole["$defs"].values():
        for name, field in part.get("properties", {}).items():
            assert "description" in field, name


def test_the_schema_accepts_what_the_loader_accepts() -> None:
    condition = schema()["$defs"]["JobIn"]["properties"]["depends_on"]
    assert {"type": "string"} in condition["anyOf"]
    window = schema()["$defs"]["JobIn"]["properties"]["window"]
    assert {"type": "null"} in window["anyOf"]
    assert "null" not in json.dumps(schema()["$defs"]["RetryIn"])
