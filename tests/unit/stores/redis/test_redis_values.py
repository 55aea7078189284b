"""Odd values come back as they were, or are refused before anything is written."""

from __future__ import annotations

import json
from typing import Any

import pytest

from noonmark.core.model import KEY_LIMIT, LOOK_LEASE, SECOND, Event, Fact, Note, Query
from noonmark.stores.redis import RedisStore
from noonmark.testing.builders import LEASE, make_activation, make_caller_row, make_end, make_worker

ODD = {
    "empty": "",
    "nul": "a\x00b",
    "quotes": "\"'\\/\b\f\n\r\t",
    "unicode": "准点 ☕ 𝄞 \u2028 \x7f",
    "lua": "%s %d %% ]] [[ -- \\0",
    "long": "x" * (KEY_LIMIT - 3),
    "cursor": "a:b|c,d}e{f",
}


@pytest.fixture(params=sorted(ODD))
def text(request: pytest.FixtureRequest) -> str:
    return ODD[request.param]


def test_texts_of_a_row_come_back_as_they_were(store: RedisStore, text: str) -> None:
    now = store.now()
    new = make_caller_row(
        f"id-{text}", at=now, subject=text, key=f"k{text}", nominal=text, business_date=text, params=json.dumps(text),
        actor=text, note=text, queue=text, worker="",
    )  # fmt: skip
    added = store.add("a", [new])[0]
    (row,) = store.occurrences(Query(key=f"k{text}"))
    for name in ("identity", "subject", "key", "nominal", "business_date", "params", "actor", "note", "queue"):
        assert getattr(row, name) == getattr(new, name), name
    assert store.add("b", [new])[0].outcome == "duplicate_identity"
    assert store.occurrences(Query(job="job", subject=text, identity=f"l:id-{text}"))[0].id == added.id


def test_texts_of_a_run_come_back_as_they_were(store: RedisStore, text: str) -> None:
    now = store.now()
    job = text or "j"
    store.activate("a", [make_activation(job, effective_at=now, rule=json.dumps(text))], actor=text)
    assert store.jobs()[0].rule == json.dumps(text)
    store.add("b", [make_caller_row("a", job=job, at=now)])
    (run,) = store.take("c", f"w{text}", limit=5, runnable={job: LEASE}, look_lease=LOOK_LEASE).rows
    assert (run.looking, run.holder) == (False, f"w{text}")
    assert store.note_if_held(f"w{text}", run.id, run.fence, Note(kind="step", name=text, value=json.dumps(text)))
    end = make_end(run, result=json.dumps(text), error=text, detail=json.dumps({"t": text}), checks=json.dumps([text]))
    assert store.settle("d", f"w{text}", [end])[0].outcome == "applied"
    story = store.story(run.id)
    assert story is not None
    assert (story.occurrence.result, story.occurrence.error) == (json.dumps(text), text)
    assert (story.notes[0].name, story.notes[0].value) == (text, json.dumps(text))
    assert (story.ledger[-1].checks, story.ledger[-1].worker) == (json.dumps([text]), f"w{text}")


@pytest.mark.parametrize(
    "value",
    [0, False, "", [], {}, 10**40, -(2**63) - 1, 1.5e-300, 0.1 + 0.2, [None, {"a": [1, [2, [3]]]}, "准"], "\x00"],
)
def test_the_value_of_a_fact_comes_back_as_it_was(store: RedisStore, value: Any) -> None:
    name = "flag:x"
    assert store.signal("a", [Fact(name=name, value=value)]) == [1]
    assert store.signal("b", [Fact(name=name, value=value)]) == [1]
    back = store.facts([name])[name].value
    assert (back, type(back)) == (value, type(value))


def test_numbers_in_parameters_are_nobodys_business(store: RedisStore) -> None:
    params = '{"big": 123456789012345678901234567890, "small": 1e-400, "again": 9007199254740993}'
    row = store.add("a", [make_caller_row("a", at=store.now(), params=params)])[0]
    assert store.occurrences(Query(ids=(row.id,)))[0].params == params


def test_instants_are_exact_to_the_microsecond(store: RedisStore) -> None:
    moments = [store.now() + n for n in range(60)] + [8_999_999_999_999_999, 1, 0, -5]
    store.add("a", [make_caller_row(str(n), at=moment) for n, moment in enumerate(moments)])
    rows = store.occurrences(Query(limit=100))
    assert sorted(row.scheduled_for for row in rows) == sorted(moments)
    assert [row.due_at for row in rows] == [row.scheduled_for for row in rows]
    assert store.tallies().earliest_due == -5


def test_half_a_surrogate_pair_is_refused_and_nothing_written(store: RedisStore) -> None:
    with pytest.raises(UnicodeEncodeError):
        store.add("a", [make_caller_row("a", at=store.now(), params='"\ud800"')])
    assert store.occurrences(Query()) == []
    assert store.now() > 0, "the connection is still sound"


def test_a_name_that_begins_like_another_is_another(store: RedisStore) -> None:
    """Names stand in composed members and fields: none may be taken for part of its neighbour."""
    now = store.now()
    names = ["a", "a:", "a:b", "ab", "1:a", "a1", ":", "::"]
    for name in names:
        store.activate(f"r{name}", [make_activation(name, effective_at=now, event=name)], actor="ada")
        store.heartbeat(make_worker(name), 60 * SECOND)
    rows = [make_caller_row(f"{a}-{b}", at=now, job=a, subject=b, key=f"{a}|{b}") for a in names for b in names]
    assert {answer.outcome for answer in store.add("x", rows)} == {"added"}
    own = [
        make_caller_row(f"own-{name}", at=now, worker=name, identity="same", subject=name, key=name) for name in names
    ]
    store.add("y", own)
    for name in names:
        assert [job.name for job in store.jobs(event=name)] == [name]
        assert len(store.occurrences(Query(job=name))) == len(names) + (len(names) if name == "job" else 0)
        assert [row.subject for row in store.occurrences(Query(key=name))] == [name]
    for name in names:
        taken = store.take(f"t{name}", name, limit=500, runnable={}, look_lease=LOOK_LEASE)
        assert [row.worker for row in taken.rows if row.worker] == [name]


def test_two_hundred_errors_of_one_row_are_told_in_order(store: RedisStore) -> None:
    now = store.now()
    store.activate("a", [make_activation(effective_at=now)], actor="ada")
    store.add("b", [make_caller_row("a", at=now)])
    for n in range(200):
        (run,) = store.take(f"t{n}", "w", limit=1, runnable={"job": LEASE}, look_lease=LOOK_LEASE, at=now + n).rows
        store.settle(f"s{n}", "w", [make_end(run, Event.FAIL_RETRY, due_at=now + n, error=f"no {n}")], at=now + n)
    story = store.story(run.id)
    assert story is not None
    assert [attempt.error for attempt in story.attempts] == [f"no {n}" for n in range(200)]
