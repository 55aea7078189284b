"""A person's own rules in the simulator: the figures are those of the rules, and what would go wrong is named."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from noonmark.core.model import DAY, HOUR, MINUTE, Cron, Every, FlagSet, Job, OnEvent, Window
from noonmark.explain.outcomes import OUTCOMES
from noonmark.sim.kinds import COLUMNS, RAN
from noonmark.sim.yours import Foreseen, Lot, Wish, simulate

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


@pytest.mark.parametrize(("data", "outcome"), [(HOUR, "caught_up"), (3 * HOUR, "missed"), (None, "missed")])
def test_data_that_comes_late_or_never_shows_what_the_window_makes_of_it(data: int | None, outcome: str) -> None:
    found = simulate([REPORT], Wish(start=START, length=DAY // 2, data=data, replicas=1))
    assert lot(found, "report").outcomes == {outcome: 1}
    assert len(lot(found, "report").bad) == (outcome == "missed")


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

    assert late(1) == late(1)
    assert len({late(seed) for seed in range(1, 5)}) > 1


def test_events_come_so_many_a_day() -> None:
    digest = Job(name="digest", trigger=OnEvent(name="run.done", delay=MINUTE), reason="told afterwards")
    found = simulate([digest], Wish(start=START, length=DAY // 2, events=10, replicas=1))
    assert lot(found, "digest").due == 5


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
    command = [sys.executable, "-m", "noonmark.faces.cli", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=100, check=False)


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
    [(("--faults", "earthquake"), "earthquake"), (("--takes", "soon"), "--takes"), (("--days", "0"), "--days")],
)
def test_a_wish_that_cannot_be_is_refused_with_the_way_out(tmp_path: Path, option: tuple[str, ...], says: str) -> None:
    (tmp_path / "noonmark.yaml").write_text(RULES, encoding="utf-8")
    told = call(tmp_path, "simulate", "noonmark.yaml", *option)
    assert told.returncode == 2
    assert says in told.stderr
    assert "Traceback" not in told.stderr
