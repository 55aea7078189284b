"""A person's own rules in the simulator: the figures are those of the rules, and what would go wrong is named."""

from __future__ import annotations

import json
import random
import shlex
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from noonmark.core.model import (
    DAY,
    HOUR,
    MINUTE,
    SECOND,
    Cron,
    Every,
    FlagSet,
    Guardrails,
    Job,
    OnEvent,
    Query,
    Succeeded,
    Window,
)
from noonmark.engine.pace import SPACING
from noonmark.explain.outcomes import OUTCOMES, lateness
from noonmark.faces.cli import simulate as command
from noonmark.faces.cli.__main__ import main
from noonmark.faces.cli.session import Session
from noonmark.faces.cli.settings import Settings
from noonmark.sim.bodies import body_of
from noonmark.sim.kinds import COLUMNS, KINDS, RAN
from noonmark.sim.own import OwnWorld
from noonmark.sim.store import Cluster
from noonmark.sim.yours import LATE, WITH_A_REASON, Foreseen, Lot, Wish, _deeds, _plan, simulate

START = 1_795_910_400_000_000
"""2026-11-29T00:00:00Z."""
REPORT = Job(
    name="report",
    trigger=Cron(expression="0 9 * * *", tz="UTC"),
    reason="people read it",
    depends_on=(FlagSet(flag="etl:{business_date}"),),
    window=Window(start="09:00", end="11:00"),
)
INDEX = Job(name="index", trigger=Every(period=15 * MINUTE), reason="fresh search")


def lot(found: Foreseen, name: str) -> Lot:
    return next(lot for lot in found.lots if lot.job == name)


def test_without_faults_every_moment_of_the_rules_is_on_time() -> None:
    found = simulate([REPORT, INDEX], Wish(start=START, length=DAY // 2))
    assert lot(found, "index").due == 48
    assert not lot(found, "index").outcomes.keys() - {"on_time", "running", "due"}
    assert lot(found, "report").outcomes == {"on_time": 1}
    assert not found.faults
    assert not found.violations


@pytest.mark.parametrize("period", [SECOND, 3 * SECOND, 7 * SECOND])
def test_a_job_of_every_few_seconds_breaks_no_promise(period: int) -> None:
    quick = Job(name="quick", trigger=Every(period=period), reason="keep it fresh", overlap="allow")
    found = simulate([quick], Wish(start=START + SECOND // 2, length=2 * MINUTE))
    assert lot(found, "quick").due >= 2 * MINUTE // period - 1
    assert not found.violations


@pytest.mark.parametrize(("data", "outcome"), [(HOUR, "caught_up"), (3 * HOUR, "missed"), (None, "missed")])
def test_data_that_comes_late_or_never_shows_what_the_window_makes_of_it(data: int | None, outcome: str) -> None:
    found = simulate([REPORT], Wish(start=START, length=DAY // 2, data=data, replicas=1))
    assert lot(found, "report").outcomes == {outcome: 1}
    assert lot(found, "report").bad == (outcome == "missed")


def test_what_was_late_says_why() -> None:
    wish = Wish(start=START, length=2 * DAY, faults=("crash",), a_day=40, replicas=1)
    found = lot(simulate([INDEX], wish), "index")
    assert found.late > 0
    reason = found.reasons["late", ""]
    assert reason.count == found.late
    assert lateness(reason.first) >= LATE
    assert "late" in reason.said["en"]
    assert "no worker was awake" in reason.said["en"]
    assert "没有任何 worker 在线" in reason.said["zh"]


def test_faults_come_and_cost_lateness_but_no_moment() -> None:
    wish = Wish(start=START, length=DAY // 4, faults=("crash", "outage", "pause"), a_day=60)
    found = simulate([INDEX], wish)
    assert found.faults["crash"] > 5
    index = lot(found, "index")
    assert index.due == 24
    assert not found.violations


def test_one_seed_is_one_future_and_another_is_another() -> None:
    def late(seed: int) -> int:
        wish = Wish(start=START, length=DAY // 8, faults=("crash", "outage"), a_day=200, seed=seed)
        return lot(simulate([INDEX], wish), "index").worst

    first = late(1)
    assert late(1) == first
    assert any(late(seed) != first for seed in range(2, 5))


def test_events_come_so_many_a_day() -> None:
    digest = Job(name="digest", trigger=OnEvent(name="run.done", delay=MINUTE), reason="told afterwards")
    found = simulate([digest], Wish(start=START, length=DAY // 2, events=10, replicas=1))
    assert lot(found, "digest").due == 5


@pytest.mark.parametrize(
    ("key", "each"),
    [
        ("unpaid:{order_id}", {}),
        ("w:{event.user_id}", {}),
        ("w:{params.user_id}:{event.id}", {}),
        ("w:{channel}:{order_id}", {"channel": ("ops", "dev")}),
    ],
)
def test_an_event_brings_whatever_the_rule_is_made_of(key: str, each: dict[str, tuple[str, ...]]) -> None:
    job = Job(name="unpaid", trigger=OnEvent(name="order.created"), reason="free the stock", key=key, each=each)
    found = simulate([job], Wish(start=START, length=DAY // 2, events=10, replicas=1))
    assert lot(found, "unpaid").outcomes == {"on_time": 5 * max(1, len(each.get("channel", ())))}


def test_flags_and_locks_that_are_made_of_an_events_fields_are_known() -> None:
    job = Job(
        name="unpaid",
        trigger=OnEvent(name="order.created"),
        reason="free the stock",
        depends_on=(FlagSet(flag="paid:{event.order_id}"),),
        window=Window(length=HOUR),
    )
    found = simulate([job], Wish(start=START, length=DAY // 4, events=4, replicas=1))
    assert lot(found, "unpaid").due == 1


def test_faults_are_so_many_a_day_among_all_workers_under_the_names_that_can_be_chosen() -> None:
    wish = Wish(start=START, length=DAY // 2, faults=tuple(KINDS), a_day=8, replicas=5)
    found = simulate([INDEX], wish)
    assert found.faults == dict.fromkeys(KINDS, 4)


def test_a_time_in_which_nothing_happens_is_passed_in_one_step(monkeypatch: pytest.MonkeyPatch) -> None:
    passed: list[int] = []
    whole = OwnWorld._pass

    def counted(world: OwnWorld, length: int) -> None:
        passed.append(length)
        whole(world, length)

    monkeypatch.setattr(OwnWorld, "_pass", counted)
    wish = Wish(start=START, length=DAY // 2, faults=("crash", "pause", "outage"), a_day=6, takes=MINUTE)
    quick = simulate([REPORT, INDEX], wish)
    assert sum(passed) > wish.length * 2 // 3
    monkeypatch.setattr(OwnWorld, "_pass", lambda *_: None)
    slow = simulate([REPORT, INDEX], wish)
    assert [lot.outcomes for lot in quick.lots] == [lot.outcomes for lot in slow.lots]
    assert not quick.violations


def test_whoever_asks_hears_how_far_it_is() -> None:
    heard: list[float] = []
    simulate([INDEX], Wish(start=START, length=DAY, faults=("crash",)), heard.append)
    assert len(heard) > 1
    assert heard == sorted(heard)
    assert 0 < heard[0] < heard[-1] <= 1


def test_each_reason_is_told_once_with_how_many_there_were_and_what_was_lacking() -> None:
    etl = Job(name="etl", trigger=Cron(expression="0 1 * * *", tz="UTC"), reason="data")
    sums = replace(REPORT, name="sums", depends_on=(Succeeded(job="etl"),))
    weekdays = Job(name="weekdays", trigger=REPORT.trigger, reason="work", guardrails=Guardrails(allow_weekend=False))
    overlong = Job(name="overlong", trigger=Every(period=10 * MINUTE), reason="slow", overlap="skip")
    wish = Wish(start=START, length=DAY + DAY // 2, replicas=1, fails=1.0, takes=25 * MINUTE)
    found = simulate([etl, sums, weekdays, overlong], wish)
    (reason,) = (each for each in lot(found, "sums").reasons.values() if each.outcome == "missed")
    assert reason.count == 2
    assert reason.lacked == ("success:etl::2026-11-29",)
    for each in found.lots:
        told = Counter(dict.fromkeys(each.outcomes, 0))
        for reason in each.reasons.values():
            told[reason.outcome] += reason.count
        assert not {name for name in WITH_A_REASON if told[name] != each.outcomes[name]}
    assert lot(found, "weekdays").count("skipped") + lot(found, "overlong").count("skipped") > 1


def test_every_outcome_of_a_row_stands_in_one_column() -> None:
    counted = [*RAN, *(name for names in COLUMNS.values() for name in names)]
    assert len(counted) == len(set(counted))
    assert set(counted) == OUTCOMES.keys() - {"doubled", "unknown"}, "those two no single row can be"


OWN = Job(name="own", trigger=Every(period=MINUTE), reason="of each worker", scope="each_worker")


@pytest.mark.parametrize(
    ("jobs", "fields", "seen"),
    [
        # the data is late, and what is tried then fails: a late start that is neither done nor on time
        ([REPORT], {"data": HOUR, "fails": 1.0}, "failed"),
        ([REPORT], {"data": HOUR, "fails": 0.0}, "late"),
        # a worker that is gone takes its own moments with it
        ([OWN], {"length": DAY // 16, "faults": ("crash",), "a_day": 200.0}, "cancelled"),
        ([OWN], {"length": DAY // 16, "faults": tuple(KINDS), "a_day": 100.0}, "cancelled"),
        ([OWN], {"length": DAY // 16, "faults": ("pause", "outage"), "a_day": 100.0, "takes": 3 * MINUTE}, "on_time"),
    ],
)
def test_the_columns_of_a_job_add_up_to_its_moments(jobs: list[Job], fields: dict[str, Any], seen: str) -> None:
    found = simulate(jobs, Wish(**{"start": START, "length": DAY // 2, "replicas": 2, **fields}))
    for lot in found.lots:
        figures = {"on_time": lot.on_time, "late": lot.late, **{name: lot.count(name) for name in COLUMNS}}
        assert sum(figures.values()) == lot.due > 0
        assert min(figures.values()) >= 0, figures
        assert figures[seen] > 0, figures


RULES = """
version: 1
jobs:
  report:
    schedule: {cron: "0 9 * * *", tz: UTC}
    depends_on: [{flag: "etl:{business_date}"}]
    window: {start: "09:00", end: "11:00"}
    command: ["true"]
    reason: people read it
"""


def call(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    line = [sys.executable, "-m", "noonmark.faces.cli", *arguments]
    return subprocess.run(line, cwd=folder, capture_output=True, text=True, timeout=100, check=False)


def test_the_command_tells_it_in_both_languages_and_opens_no_store(tmp_path: Path) -> None:
    (tmp_path / "noonmark.yaml").write_text(RULES, encoding="utf-8")
    asked = (
        "simulate",
        "noonmark.yaml",
        "--days",
        "1",
        "--faults",
        "none",
        "--data",
        "never",
        "--now",
        "2026-11-29T00:00",
    )
    told = call(tmp_path, *asked, "--strict")
    assert told.returncode == 1, told.stderr
    assert "Its window closed at" in told.stdout
    assert "window" not in call(tmp_path, *asked, "--lang", "zh").stdout
    (job,) = json.loads(call(tmp_path, *asked, "--json").stdout)["jobs"]
    assert job["outcomes"] == {"missed": 1}
    assert [job[name] for name in ("due", "on_time", "late", "missed", "open")] == [1, 0, 0, 1, 0]
    heading, row = (line.split() for line in told.stdout.splitlines()[2:4])
    assert heading[-6:] == ["WORST", "SKIPPED", "MISSED", "FAILED", "CANCELLED", "OPEN"]
    assert row == ["report", "1", "0", "0", "-", "0", "1", "0", "0", "0"]
    assert [path.name for path in tmp_path.iterdir()] == ["noonmark.yaml"]


@pytest.mark.parametrize(
    ("option", "says"),
    [
        (("--faults", "earthquake"), "earthquake"),
        (("--takes", "soon"), "--takes"),
        (("--data", "-1h"), "--data"),
        (("--days", "0"), "--days"),
        (("--days", "nan"), "--days"),
        (("--days", "inf"), "--days"),
        (("--fails", "nan"), "--fails"),
        (("--a-day", "nan"), "--a-day"),
        (("--replicas", "nan"), "--replicas"),
        (("--events", "-1"), "--events"),
    ],
)
def test_a_wish_that_cannot_be_is_refused_with_the_way_out(tmp_path: Path, option: tuple[str, ...], says: str) -> None:
    (tmp_path / "noonmark.yaml").write_text(RULES, encoding="utf-8")
    told = call(tmp_path, "simulate", "noonmark.yaml", *option)
    assert told.returncode == 2
    assert says in told.stderr
    assert "Traceback" not in told.stderr


def test_what_declares_no_job_is_refused_at_once(tmp_path: Path) -> None:
    (tmp_path / "noonmark.yaml").write_text("version: 1\njobs: {}\n", encoding="utf-8")
    told = call(tmp_path, "simulate", "noonmark.yaml", "--days", "400")
    assert (told.returncode, told.stdout) == (2, "")
    assert "declares no job" in told.stderr


def test_the_command_that_is_printed_gives_the_same_future(tmp_path: Path) -> None:
    (tmp_path / "noonmark.yaml").write_text(RULES, encoding="utf-8")
    asked = ("simulate", "noonmark.yaml", "--days", "1", "--seed", "7", "--a-day", "20", "--data", "never", "--strict")
    first = call(tmp_path, *asked)
    (line,) = (line for line in first.stdout.splitlines() if line.startswith("The same future again: noonmark "))
    words = shlex.split(line.removeprefix("The same future again: noonmark "))
    again = call(tmp_path, *words)
    assert (again.returncode, again.stdout) == (first.returncode, first.stdout)
    assert json.loads(call(tmp_path, *words, "--json").stdout)["start"].endswith(":00+00:00")


def test_reasons_stand_in_the_json_too_and_the_text_reads_well(tmp_path: Path) -> None:
    (tmp_path / "noonmark.yaml").write_text(RULES, encoding="utf-8")
    asked = ("simulate", "noonmark.yaml", "--days", "2", "--data", "never", "--now", "2026-11-29T00:00")
    plain = json.loads(call(tmp_path, *asked, "--json").stdout)
    (reason,) = plain["jobs"][0]["reasons"]
    assert (reason["outcome"], reason["code"], reason["count"]) == ("missed", "window_closed", 2)
    assert reason["first"] == "2026-11-29T09:00:00+00:00"
    assert "flag etl:2026-11-29" in reason["sentence"]
    told = call(tmp_path, *asked, "--replicas", "1", "--faults", "crash,outage")
    assert "1 worker," in told.stdout
    assert "and data never came." in told.stdout
    zh = call(tmp_path, *asked, "--lang", "zh").stdout
    assert "2 天" in zh
    assert "等待 5 秒" in zh
    assert "crash 4、pause 4、outage 4" in zh


@pytest.mark.parametrize(("quiet", "said"), [(False, "50% of 7 d lived through, about 6 s to go\n"), (True, "")])
def test_how_far_it_is_stands_on_stderr_unless_asked_to_be_quiet(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], quiet: bool, said: str
) -> None:
    ticks = iter([100.0, *[106.0] * 9])
    monkeypatch.setattr(command, "time", SimpleNamespace(monotonic=lambda: next(ticks)))
    with command.Progress(Session(Settings(quiet=quiet, lang="en")), 7 * DAY) as progress:
        progress.told(0.5)
    assert capsys.readouterr() == ("", said)


@pytest.mark.parametrize(
    "condition",
    [
        FlagSet(flag="{business_date}" + "x" * 2000),
        Succeeded(job="up", date="{business_date:%A}" + "y" * 2000),
        FlagSet(flag="etl:{params.nobody}"),
    ],
)
def test_what_waits_for_a_name_that_cannot_be_is_told_like_other_rules(condition: FlagSet | Succeeded) -> None:
    up = Job(name="up", trigger=Cron(expression="0 1 * * *", tz="UTC"), reason="others need it")
    found = simulate([replace(REPORT, depends_on=(condition,)), up], Wish(start=START, length=DAY // 2, replicas=1))
    assert lot(found, "report").due == 1
    assert lot(found, "report").bad == 1, "it never becomes ready"
    assert not found.violations


def test_the_rows_of_a_key_are_found_as_by_looking_at_all_of_them() -> None:
    world = OwnWorld(_plan([INDEX], Wish(start=START, length=DAY // 8, replicas=1), (), ()), body_of)
    try:
        world.live(quiet=0)
        rows = Cluster.occurrences(world.own, Query(limit=1_000))
        assert len(rows) > 5
        for row in rows:
            for query in (Query(key=row.key), Query(key=row.key, job="other"), Query(key=row.key, oldest_first=True)):
                assert world.own.occurrences(query) == Cluster.occurrences(world.own, query)
        assert world.own.occurrences(Query(key="no such key")) == []
    finally:
        world.close()


@pytest.mark.parametrize(
    ("schedule", "says"),
    [
        ('{cron: "0 9 * * *", tz: UTC}', "Nothing of it was due in that time."),
        ("{manual: true}", "No job here has a schedule or an event"),
    ],
)
def test_where_nothing_came_it_is_said_whether_anything_could_have(
    schedule: str, says: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rules = tmp_path / "noonmark.yaml"
    job = f"  tidy:\n    command: [echo, hello]\n    schedule: {schedule}\n    reason: r\n"
    rules.write_text(f"version: 1\njobs:\n{job}", encoding="utf-8")
    main(["simulate", str(rules), "--days", "0.05", "--now", "2026-11-29T00:00:00Z"])
    assert says in capsys.readouterr().err


EVERY_MINUTE = Job(name="minutely", trigger=Cron(expression="* * * * *", tz="UTC"), reason="a figure")


def _lived(jobs: list[Job], wish: Wish) -> OwnWorld:
    world = OwnWorld(_plan(jobs, wish, _deeds(jobs, wish, random.Random(1)), ()), body_of)
    try:
        world.live(quiet=0)
    finally:
        world.close()
    return world


def test_where_a_moment_is_due_one_worker_looks_and_the_others_when_they_would_anyway() -> None:
    world = _lived([EVERY_MINUTE], Wish(start=START, length=2 * HOUR))
    starts = [effect for effect in world.history.effects if effect.phase == "start"]
    assert len(starts) == 120
    assert world.history.calls["take"] < 6 * len(starts), "three a moment would look for the next one and find nothing"
    assert len({effect.who for effect in starts}) == 3, "who is first is left to chance"


def test_what_one_worker_cannot_take_the_others_take_at_the_same_moment() -> None:
    many = [replace(EVERY_MINUTE, name=f"job-{number}") for number in range(50)]
    found = simulate(many, Wish(start=START, length=10 * MINUTE))
    assert {(lot.on_time, lot.due) for lot in found.lots} == {(9, 10)}, "the last ones run when the time is over"
    assert max(lot.worst for lot in found.lots) <= SPACING


def test_each_worker_is_there_for_what_only_it_may_take() -> None:
    found = simulate([OWN], Wish(start=START, length=HOUR))
    assert lot(found, "own").outcomes.keys() <= {"on_time", "running"}
    assert lot(found, "own").due == 180
    assert lot(found, "own").worst <= SPACING


def test_flags_that_are_announced_disturb_no_calm(monkeypatch: pytest.MonkeyPatch) -> None:
    passed: list[int] = []
    whole = OwnWorld._pass

    def counted(world: OwnWorld, length: int) -> None:
        passed.append(length)
        whole(world, length)

    monkeypatch.setattr(OwnWorld, "_pass", counted)
    waits = replace(EVERY_MINUTE, depends_on=(FlagSet(flag="data:{scheduled_for}"),), key="m:{scheduled_for}")
    found = simulate([waits], Wish(start=START, length=HOUR, data=20 * SECOND))
    assert sum(passed) > HOUR // 2
    assert (lot(found, "minutely").due, lot(found, "minutely").on_time) == (60, 59), "the last one waits"
    assert 20 * SECOND <= lot(found, "minutely").worst < 21 * SECOND
