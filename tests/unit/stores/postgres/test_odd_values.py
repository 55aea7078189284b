"""Whatever a text may hold comes back as it was: PostgreSQL's own limits are not the callers'."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from noonmark.core.model import PAYLOAD_LIMIT, Act, AlertWrite, Event, FactWrite, Gates, Note, Query
from noonmark.stores.postgres import PostgresStore
from noonmark.stores.postgres.arrays import ESCAPE, escaped, texts, unescaped
from noonmark.testing.builders import make_activation, make_end, make_worker
from noonmark.testing.conformance import Harness

ODD = [
    "",
    " ",
    "\0",
    "a\0b\0",
    ESCAPE,
    f"{ESCAPE}0\0{ESCAPE}1",
    "NULL",
    "null",
    '"',
    "\\",
    '\\"{},',
    "{}",
    "'; DROP SCHEMA noonmark; --",
    "$1 %s %(x)s ~",
    "\n\r\t\x01\x7f",
    "日本語 ☃ 🦀",
]


@pytest.mark.parametrize("text", ODD, ids=ascii)
def test_every_text_of_a_row_comes_back(store: PostgresStore, text: str) -> None:
    harness = Harness(store)
    harness.activate()
    params = json.dumps({"x": text, "y": [text]}, ensure_ascii=False)
    row_id = harness.add_one(
        harness.caller_row(
            "i" + text, key="k" + text, subject=text, params=params, note=text, actor=text, nominal=text, queue=text
        )
    )
    taken = harness.take_one("w" + text)
    read = harness.row(row_id)
    assert taken == read
    assert (read.identity, read.key, read.subject, read.params) == (f"l:i{text}", "k" + text, text, params)
    assert (read.note, read.actor, read.nominal, read.queue, read.holder) == (text, text, text, text, "w" + text)
    assert store.occurrences(Query(key="k" + text)) == [read]
    assert store.occurrences(Query(job="job", subject=text, identity=f"l:i{text}")) == [read]
    note = Note(kind="step", name="n" + text, value=json.dumps(text, ensure_ascii=False))
    assert store.note_if_held("w" + text, row_id, read.fence, note, at=harness.at(1))
    alert = AlertWrite(job="job", kind="failing", level=1, code="c", detail={"x": text}, occurrence_id=row_id)
    failed = make_end(read, Event.FAIL_MANUAL, error="e" + text, detail=params, code="c", alerts=(alert,))
    assert harness.settle(failed, worker="w" + text, at=2)[0].outcome == "applied"
    story = harness.story(row_id)
    assert story.occurrence.error == "e" + text
    assert (story.notes[0].name, json.loads(story.notes[0].value)) == ("n" + text, text)
    assert story.attempts[0].worker == "w" + text
    assert json.loads(story.alerts[0].detail) == {"x": text}
    assert json.loads(story.ledger[-1].detail)["x"] == text
    assert harness.add(harness.caller_row("i" + text, subject=text))[0].outcome == "duplicate_identity"
    assert harness.add(harness.caller_row("other", key="k" + text))[0].duplicate_of == row_id


@pytest.mark.parametrize("text", ODD, ids=ascii)
def test_every_text_of_facts_jobs_and_workers_comes_back(store: PostgresStore, text: str) -> None:
    harness = Harness(store)
    name, job = "flag:" + text, "j" + text
    assert harness.signal(name, {"v": text}) == 1
    assert harness.signal(name, {"v": text}) == 1, "the same value is no news"
    assert store.facts([name])[name].value == {"v": text}
    rule = json.dumps({"v": text}, ensure_ascii=False)
    change = make_activation(job, effective_at=harness.t0, rule=rule, event="e" + text)
    first = store.activate("same" + text, [change], actor=text, at=harness.t0)
    assert store.activate("same" + text, [change], actor=text, at=harness.t0) == first
    assert (first[0].name, first[0].rule, first[0].event) == (job, rule, "e" + text)
    assert store.jobs([job]) == store.jobs(event="e" + text) == first
    store.act("pause", Act(kind="pause", actor=text, reason=text, job=job), at=harness.t0)
    assert store.jobs([job])[0].pause_reason == text
    store.heartbeat(make_worker("w" + text, host=text, jobs=(text,)), 1, at=harness.t0)
    assert [(card.id, card.host, card.jobs) for card in store.workers()] == [("w" + text, text, (text,))]


def test_a_waiter_is_woken_by_a_fact_with_an_odd_name(store: PostgresStore) -> None:
    harness = Harness(store)
    harness.activate()
    for text in ODD[2:6]:
        look = harness.looked_at("i" + text)
        name = "flag:" + text
        park = make_end(look, Event.PARK, due_at=harness.at(3600))
        gates = Gates(revision=1, facts={name: 0})
        harness.settle(replace(park, gates=gates))
        harness.signal(name)
        assert harness.take_ids(at=1) == [look.id]
        facts = (FactWrite(name=f"success:{text}", value=text),)
        harness.start(harness.row(look.id), at=1)
        assert harness.settle(make_end(harness.row(look.id), facts=facts), at=2)[0].outcome == "applied"
        assert store.facts([f"success:{text}"])[f"success:{text}"].value == text


def test_a_large_text_and_a_large_batch_fit(store: PostgresStore) -> None:
    harness = Harness(store)
    harness.activate()
    large = json.dumps({"x": "y" * (PAYLOAD_LIMIT - 100)})
    rows = [harness.caller_row(str(n), params=large) for n in range(20)]
    harness.add(*rows)
    taken = harness.take(limit=100).rows
    assert [row.params for row in taken] == [large] * 20


def test_what_postgresql_cannot_hold_is_the_callers_error_and_loses_nothing(store: PostgresStore) -> None:
    harness = Harness(store)
    with pytest.raises(ValueError, match="cannot hold"):
        harness.add(harness.caller_row("a", priority=1 << 70))
    with pytest.raises(ValueError, match="surrogates"):
        harness.add(harness.caller_row("a", note="\udcff"))
    assert store.occurrences(Query()) == []
    assert harness.add(harness.caller_row("a"))[0].outcome == "added"


def test_escaping_is_undone_for_every_text() -> None:
    for text in ODD:
        assert "\0" not in escaped(text)
        assert unescaped(escaped(text)) == text
    assert texts(["a", None, 'b"\\']) == '{"a",NULL,"b\\"\\\\"}'
