"""What is written as ``--param`` is held against the rule and the function before anything is stored."""

from __future__ import annotations

from pathlib import Path

import pytest
from calling import Noonmark
from desk import Desk

from noonmark.core.model import Job, Manual, Occurrence, OnEvent, Query
from noonmark.core.shown import shown
from noonmark.faces.cli import words

APP = """
from noonmark import Scheduler, manual, on_event

sched = Scheduler(rules=False)

@sched.job(on_event("order.created"), key="unpaid:{order_id}", reason="Free the stock.")
def close_unpaid(order_id: int, note: str = "") -> None: ...

@sched.job(manual(), reason="Needs a name.")
def greet(name: str) -> None: ...

@sched.job(manual(), reason="Takes all.")
def anything(**params: object) -> None: ...
"""


def rows(desk: Desk, job: str) -> list[Occurrence]:
    return desk.store.occurrences(Query(job=job))


@pytest.fixture
def app(desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "orders_app.py").write_text(APP, encoding="utf-8")
    desk.register(
        Job(name="close_unpaid", trigger=OnEvent(name="order.created"), key="unpaid:{order_id}", reason="x"),
        Job(name="greet", trigger=Manual(), reason="x"),
        Job(name="anything", trigger=Manual(), reason="x"),
        Job(name="shell", trigger=Manual(), command=("true",), reason="x"),
    )
    return "orders_app.py"


@pytest.mark.usefixtures("app")
@pytest.mark.parametrize("dry", [(), ("--dry-run",)])
def test_a_param_that_the_key_is_made_of_is_asked_for(desk: Desk, noonmark: Noonmark, dry: tuple[str, ...]) -> None:
    answer = noonmark("run", "close_unpaid", *dry)
    assert answer.code == 2
    assert answer.err.splitlines() == [
        "noonmark: close_unpaid needs order_id",
        '        its key is made of it: "unpaid:{order_id}"',
        "        add --param order_id=…",
    ]
    assert "需要 order_id" in noonmark("run", "close_unpaid", "--lang", "zh").err
    assert rows(desk, "close_unpaid") == []
    assert noonmark("run", "close_unpaid", "--param", "order_id=7").out.endswith("asked for: key unpaid:7\n")


@pytest.mark.usefixtures("app")
def test_a_misspelt_one_is_named(noonmark: Noonmark) -> None:
    assert "needs order_id, not oder_id" in noonmark("run", "close_unpaid", "--param", "oder_id=7").err


def test_what_the_function_does_not_take_or_needs_is_seen_in_the_app(app: str, desk: Desk, noonmark: Noonmark) -> None:
    given = ("--param", "order_id=7", "--app", app)
    unknown = noonmark("run", "close_unpaid", "--param", "zz=1", *given)
    assert (unknown.code, unknown.err.splitlines()[1].strip()) == (2, "it takes: note, order_id")
    near = noonmark("run", "close_unpaid", "--param", "noet=1", *given, "--json").plain["error"]
    assert (near["code"], near["do"]) == (
        "param_near",
        "did you mean note? write --param note=… instead of noet",
    )
    needed = noonmark("run", "greet", "--app", app, "--json").plain["error"]
    assert (needed["code"], needed["do"]) == ("param_needed", "add --param name=…")
    assert [rows(desk, name) for name in ("close_unpaid", "greet")] == [[], []]


def test_an_app_that_is_named_has_the_job_and_one_of_the_environment_may_not(
    app: str, desk: Desk, noonmark: Noonmark, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk.register(Job(name="foreign", trigger=Manual(), reason="x"))
    assert noonmark("run", "foreign", "--app", app).code == 5
    monkeypatch.setenv("NOONMARK_APP", app)
    assert noonmark("run", "foreign", "--param", "zz=1").code == 0
    assert noonmark("run", "anything", "--param", "zz=1").err.startswith("noonmark why")


def test_whoever_takes_any_param_gets_any(app: str, noonmark: Noonmark) -> None:
    assert noonmark("run", "anything", "--param", "zz=1", "--app", app).code == 0
    assert "zz" not in noonmark("run", "shell", "--param", "zz=1").err


@pytest.mark.usefixtures("app")
def test_what_cannot_be_checked_here_is_said(noonmark: Noonmark) -> None:
    answer = noonmark("run", "close_unpaid", "--param", "order_id=7", "--param", "zz=1")
    assert answer.code == 0
    assert answer.err.startswith("the rule of close_unpaid names no param zz")
    assert "--app APP" in answer.err


@pytest.mark.usefixtures("app")
def test_a_param_given_twice_is_refused(noonmark: Noonmark) -> None:
    answer = noonmark("run", "close_unpaid", "--param", "order_id=7", "--param", "order_id=8")
    assert (answer.code, "order_id is given twice" in answer.err) == (2, True)


def test_next_of_an_app_without_a_job_is_of_the_app(app: str, noonmark: Noonmark, tmp_path: Path) -> None:
    (tmp_path / "series_app.py").write_text(
        APP + '\nfrom noonmark import every\n@sched.job(every("1h"), reason="x")\ndef hourly() -> None: ...\n',
        encoding="utf-8",
    )
    told = noonmark("next", "-n", "3", "--app", "series_app.py", "--now", "2026-11-27T12:30")
    assert [line.split()[-1] for line in told.out.splitlines()] == ["NOTE", "hourly", "hourly", "hourly"]
    assert "not in the store yet" in told.err
    assert "no job there has a schedule" in noonmark("next", "--app", app).err


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("cancel r1 --job digest", "--job goes with --key"),
        ("flags corpus:2026-11-27 --all", "--all and NAMES exclude each other"),
        ("why --occurrence r1 --at 2026-11-27", "say two different things"),
        ("store migrate sqlite:///a.db --url sqlite:///b.db", "--url and URL exclude each other"),
        ("store copy sqlite:///a.db sqlite:///b.db --url sqlite:///c.db", "--url and FROM TO exclude each other"),
    ],
)
def test_an_option_that_would_be_ignored_is_refused(noonmark: Noonmark, line: str, said: str) -> None:
    answer = noonmark(*line.split())
    assert answer.code == 2
    assert said in answer.err + answer.out


def test_an_occurrence_of_another_job_is_not_explained_as_this_ones(desk: Desk, noonmark: Noonmark) -> None:
    row = rows(desk, "tick")[0]
    assert noonmark("why", "tick", "--occurrence", f"r{row.id}").code == 0
    answer = noonmark("why", "digest", "--occurrence", f"r{row.id}")
    assert (answer.code, f"r{row.id} is of tick, not of digest" in answer.err) == (2, True)


def test_no_word_of_ours_is_taken_for_the_value_of_a_param_called_token() -> None:
    told = words.say("params_unchecked", "en", job="leaky", names="token, api_key")
    assert shown(told) == told
    zh = words.say("params_unchecked", "zh", job="leaky", names="token, api_key")
    assert shown(zh) == zh
    assert shown("write --param token=… instead") == "write --param token=… instead"
