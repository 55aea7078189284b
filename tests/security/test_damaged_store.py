"""A store that somebody wrote into: the command line answers in words, a worker neither ends nor turns in circles."""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from noonmark.core.codec import RuleUnreadable, checks_from_json, job_from_text, rule_text
from noonmark.core.model import MINUTE, SECOND, Event, Every, Origin, Query, Settlement, State
from noonmark.core.stored import ORIGINS, STATES, names_of, object_of, value_of
from noonmark.engine.activate import declare
from noonmark.faces.cli.__main__ import main
from noonmark.stores.sqlite import SqliteStore
from noonmark.testing.builders import make_caller_row, make_job
from noonmark.testing.world import World

SECRET = "hunter2-is-Secret1"
BIGGEST, SMALLEST = str((1 << 63) - 1), str(-(1 << 63))
HUGE = f"'{'x' * 3_000_000}'"
DAMAGE = (
    *(("occurrence", "detail", bad) for bad in ("'not json'", "'[1,2]'", "'5'", f"'{'[' * 100_000}'")),
    ("occurrence", "detail", "'{\"error\": {\"a\": 1}, \"missing\": 5, \"holder\": 9e99, \"at\": \"x\"}'"),
    *(("occurrence", "params", bad) for bad in ("'{bad'", "'[1]'", "'null'")),
    ("occurrence", "state", "'WEIRD'"),
    ("occurrence", "origin", "'weird'"),
    ("occurrence", "verdict", "'odd'"),
    ("occurrence", "code", "'odd\n\x1b[31m'"),
    *(("occurrence", moment, BIGGEST) for moment in ("scheduled_for", "due_at", "range_until", "expires_at")),
    *(("occurrence", moment, SMALLEST) for moment in ("started_at", "ended_at", "not_before")),
    ("occurrence", "business_date", "'0000-99-99'"),
    ("occurrence", "subject", "'\x1b[31m\nforged'"),
    ("occurrence", "job", "'../../x\x1b[2J'"),
    ("occurrence", "result", "'{bad'"),
    ("occurrence", "error", HUGE),
    ("occurrence", "key", HUGE),
    *(("ledger", "detail", bad) for bad in ("'bad'", "'[1]'")),
    *(("ledger", "checks", bad) for bad in ("'bad'", "'[[1]]'", "'{\"a\":1}'", "'[[1,2,3,4]]'")),
    ("ledger", "event", "'odd'"),
    ("ledger", "at", BIGGEST),
    ("attempt", "outcome", "'odd'"),
    ("attempt", "started_at", BIGGEST),
    *(("job", "rule", bad) for bad in ("'bad'", "'[]'", "'{\"v\":1}'", f"'{'[' * 100_000}'")),
    *(("job", "rule", f"replace(rule, '3600000000', '{bad}')") for bad in ('"x"', "-5", "0", "1e400", "1" * 400)),
    ("job", "rule", "replace(rule, '\"UTC\"', '\"Mars/X\"')"),
    ("job", "effective_at", BIGGEST),
    ("alert", "detail", "'bad'"),
    ("alert", "opened_at", BIGGEST),
)  # fmt: skip
COMMANDS = (
    ["jobs"], ["jobs", "--json"], ["history"], ["history", "--all", "--json"], ["why", "job"], ["why", "r1"],
    ["why", "r2", "--json"], ["backlog"], ["leases"], ["flags"], ["next"], ["show", "job"], ["verify"], ["doctor"],
)  # fmt: skip


def fill(path: Path) -> None:
    """Make a store with an open row, a failed one, and one whose error and result hold secrets."""
    store = SqliteStore(path, synchronous="OFF")
    job = make_job("job", trigger=Every(period=3600 * SECOND), params={"api_key": SECRET, "city": "Paris"})
    declare(store, [job], actor="test")
    now = store.now()
    rows = [make_caller_row(name, at=now - 10 * SECOND, params=f'{{"password": "{SECRET}"}}') for name in ("a", "b")]
    store.add("a", rows)
    taken = store.take("t", "w1", limit=5, runnable={"job": 10 * SECOND}, look_lease=5 * SECOND).rows
    error = f"Traceback\nConnectionError: https://ann:{SECRET}@host refused\n\x1b[31mAuthorization: Bearer {SECRET}"
    for row in taken:
        if not row.looking:
            ends = {"error": error, "detail": json.dumps({"error": error})} if row.key.endswith("a") else {}
            event = Event.FAIL_MANUAL if ends else Event.SUCCEED
            result = None if ends else json.dumps({"token": SECRET, "deep": [{"secret": [SECRET]}]})
            item = Settlement(
                occurrence_id=row.id, fence=row.fence, event=event, verdict="should_run",
                code="failed_final" if ends else "succeeded", result=result, **ends,
            )  # fmt: skip
            assert [answer.outcome for answer in store.settle(f"s{row.id}", "w1", [item])] == ["applied"]
    store.close()


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A file of such a store."""
    path = tmp_path_factory.mktemp("filled") / "noonmark.db"
    fill(path)
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        connection.execute("PRAGMA journal_mode=DELETE")
    connection.close()
    return path.read_bytes()


@pytest.fixture
def call(
    filled: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., tuple[int, str, str]]:
    """Call the command line on a copy of it."""
    path = tmp_path / "noonmark.db"
    path.write_bytes(filled)
    monkeypatch.setenv("LANG", "C.UTF-8")
    for name in ("NOONMARK_LANG", "NOONMARK_TZ", "NOONMARK_JSON", "NOONMARK_APP", "LC_ALL", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)

    def one(*words: str) -> tuple[int, str, str]:
        code = main(["--url", f"sqlite:///{path}", *words])
        told = capsys.readouterr()
        return code, told.out, told.err

    return one


def damage(path: Path, table: str, column: str, value: str) -> None:
    connection = sqlite3.connect(path)
    try:
        changed = connection.execute(f"UPDATE {table} SET {column} = {value}").rowcount
        connection.commit()
    finally:
        connection.close()
    assert changed or table == "alert"


@pytest.mark.parametrize(("table", "column", "value"), DAMAGE, ids=lambda part: str(part)[:30])
def test_the_command_line_answers_in_words_on_a_store_that_somebody_wrote_into(
    call: Callable[..., tuple[int, str, str]], tmp_path: Path, table: str, column: str, value: str
) -> None:
    damage(tmp_path / "noonmark.db", table, column, value)
    for words in COMMANDS:
        begun = time.process_time()
        code, out, err = call(*words)
        assert "Traceback (most recent" not in err, words
        assert "a fault in noonmark" not in err, (words, err[:300])
        assert code in (0, 1, 3, 4, 5), words
        assert "\x1b" not in out + err, words
        assert SECRET not in out + err, words
        assert time.process_time() - begun < 20, words


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_no_command_shows_a_secret_and_the_store_keeps_it(
    call: Callable[..., tuple[int, str, str]], tmp_path: Path, words: list[str]
) -> None:
    _, out, err = call(*words)
    assert SECRET not in out + err
    assert SECRET.encode() in (tmp_path / "noonmark.db").read_bytes()


def test_what_is_hidden_is_shown_as_stars_and_the_rest_is_told(call: Callable[..., tuple[int, str, str]]) -> None:
    _, out, _ = call("show", "job")
    assert '"api_key": "***"' in out
    assert "Paris" in out
    _, out, _ = call("history", "--json", "--all")
    results = [row["result"] for row in json.loads(out)["occurrences"] if row["result"]]
    assert [json.loads(result) for result in results] == [{"token": "***", "deep": [{"secret": "***"}]}]
    assert "***@host" in out


# --- a worker --------------------------------------------------------------------------------------


@pytest.mark.parametrize(("table", "column", "value"), DAMAGE, ids=lambda part: str(part)[:30])
def test_a_worker_goes_on_beside_rows_that_somebody_wrote_into(
    tmp_path: Path, table: str, column: str, value: str
) -> None:
    path = tmp_path / "noonmark.db"
    broken = make_job("broken", trigger=Every(period=3600 * SECOND))
    with World(store=lambda clock: SqliteStore(path, clock=clock, synchronous="OFF"), replicas=1) as world:
        done: list[str] = []
        world.job(broken, lambda: done.append("broken"))
        world.job(make_job("sound"), lambda: done.append("sound"))
        world.advance("1s")
        world.later(broken)
        world.advance("1s")
        damage_of_one(path, table, column, value)
        begun = len(world.store.occurrences(Query()))
        number = world.later(make_job("sound"))
        world.advance("10m")
        assert world.row(number).state is State.SUCCESS, "the others run"
        assert len(world.store.occurrences(Query(limit=10_000))) < begun + 50, "nothing multiplies"
        story = world.store.story(1)
        assert story is None or sum(line.count for line in story.ledger) < 200, "nobody looks in a circle"


def damage_of_one(path: Path, table: str, column: str, value: str) -> None:
    where = {"occurrence": "job = 'broken'", "job": "name = 'broken'", "ledger": "job = 'broken'"}.get(table, "1")
    connection = sqlite3.connect(path)
    try:
        connection.execute(f"UPDATE {table} SET {column} = {value} WHERE {where}")
        connection.commit()
    finally:
        connection.close()


# --- the readers -----------------------------------------------------------------------------------


@pytest.mark.parametrize("text", ["", "x", "[1]", "5", "null", "{", "[" * 100_000, None])
def test_what_is_no_object_is_an_empty_one(text: str | None) -> None:
    assert object_of(text) == {}


def test_readers_of_stored_values_never_raise() -> None:
    assert value_of("{bad") == "{bad"
    assert value_of(None) is None
    assert names_of("{bad") == names_of("5") == ()
    assert names_of('["a", 5]') == ("a",)
    assert checks_from_json("[" * 100_000) == checks_from_json('{"a": 1}') == checks_from_json("[[1], 5]") == ()


def test_an_unknown_state_is_one_that_needs_a_person_and_an_unknown_origin_a_persons() -> None:
    assert STATES["WEIRD"] is State.FAILED_MANUAL
    assert ORIGINS["weird"] is Origin.MANUAL
    assert STATES["SUCCESS"] is State.SUCCESS


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("timeout", "soon"), ("timeout", True), ("timeout", 1 << 70), ("lease", None), ("max_takeovers", 1.5),
        ("overlap", 5), ("command", [1, 2]), ("run", ["os:abort"]), ("key", {"a": 1}), ("each", [["a", [1]]]),
        ("trigger", {"kind": "every", "period": 0, "anchor": 0, "tz": "UTC"}), ("retry", {"max": "many"}),
        ("window", {"length": "1h"}), ("depends_on", [{"kind": "flag", "flag": 5}]), ("params", 5),
    ],
)  # fmt: skip
def test_a_stored_rule_with_the_wrong_kind_of_value_is_refused_by_name(field: str, value: Any) -> None:
    plain = json.loads(rule_text(make_job("job", timeout=MINUTE)))
    with pytest.raises(RuleUnreadable, match="the stored rule of job"):
        job_from_text(json.dumps(plain | {field: value}))


def test_a_stored_rule_nested_without_end_is_refused() -> None:
    with pytest.raises(RuleUnreadable):
        job_from_text("[" * 100_000)
