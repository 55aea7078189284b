"""One bad job must not stop the others where somebody wants it so, and is told loudly; elsewhere it refuses all."""

from __future__ import annotations

from pathlib import Path

import pytest

from noonmark import ProblemList, Scheduler, every

RULES = """\
version: 1
jobs:
  bad: {reason: a test, cron: "99 * * * *", tz: UTC, command: [x]}
  zone: {reason: a test, cron: "0 9 * * *", tz: Mars/Olympus, command: [x]}
  nothing: {reason: a test, every: 1h}
  both: {reason: a test, every: 1h, timeot: 5m}
  waits: {reason: a test, every: 1h, depends_on: [{success: bad}], command: [x]}
  good: {reason: a test, every: 1h, command: [x]}
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "noonmark.yaml"
    path.write_text(RULES, encoding="utf-8")
    return path


def test_one_mistake_refuses_all_unless_told_otherwise(file: Path) -> None:
    with Scheduler("memory://", rules=file) as sched, pytest.raises(ProblemList, match="minute"):
        sched.declare()


def test_with_keep_good_the_others_work_and_each_mistake_is_an_error_at_its_place(
    file: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with Scheduler("memory://", rules=file, keep_good=True) as sched:

        @sched.job(every("5m"), reason="the file has the last word, and it is wrong")
        def both() -> None: ...

        @sched.job(every("5m"), reason="of the code alone")
        def own() -> None: ...

        assert [row.name for row in sched.declare()] == ["own", "waits", "good"]
    told = [record.getMessage() for record in caplog.records if record.levelname == "ERROR"]
    assert [text.split("noonmark.yaml:")[1].split("  ")[0] for text in told] == ["5:3", "3:31", "4:49", "6:37"]
    assert "Mars/Olympus" in told[2]


def test_a_file_that_cannot_be_read_at_all_refuses_all_the_same(tmp_path: Path) -> None:
    path = tmp_path / "noonmark.yaml"
    path.write_text("version: 1\njobs: [", encoding="utf-8")
    with Scheduler("memory://", rules=path, keep_good=True) as sched, pytest.raises(ProblemList, match="YAML"):
        sched.declare()
