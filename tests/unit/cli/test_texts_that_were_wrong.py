"""Answers at odd moments: while a lapsed lease is looked at, of one row, of a job without a worker or without a future."""

from __future__ import annotations

from pathlib import Path

import pytest
from calling import Noonmark
from desk import DIGEST, Desk
from machine import Machine

from noonmark.core.model import HOUR, Event, Job, Manual, Occurrence
from noonmark.core.run_errors_zh import IMPORTED
from noonmark.engine import importing, roster


@pytest.fixture
def lapsed(desk: Desk) -> Occurrence:
    """A run of w1 whose lease is over, and which w2 looks at."""
    desk.act("end_job", job="tick")
    desk.signal("corpus:2026-11-27")
    desk.until("2026-11-27T18:30:00")
    desk.beat("w1")
    desk.look("w1")
    desk.until("2026-11-27T18:30:31")
    desk.beat("w2")
    (row,) = desk.take("w2")
    return row


def test_leases_and_backlog_say_who_looks_at_a_run_whose_lease_is_over(lapsed: Occurrence, noonmark: Noonmark) -> None:
    assert noonmark("leases").out.splitlines()[1].startswith("w2 (looks)  digest  ")
    assert noonmark("leases", "--lang", "zh").out.splitlines()[1].startswith("w2（查看）  digest  ")
    assert "its lease is over, w2 looks at it" in noonmark("backlog").out
    assert f"r{lapsed.id}" in noonmark("leases").out


def test_leases_and_backlog_say_that_nobody_runs_what_waits_for_the_next_look(
    desk: Desk, lapsed: Occurrence, noonmark: Noonmark
) -> None:
    row = desk.finish(lapsed, Event.PARK, "w2", due_at=desk.now + 20_000_000, code="start_failed")
    assert (row.state, row.holder) == ("RUNNING", ""), "it waits, and nobody has it"
    assert noonmark("leases").out.splitlines()[1].startswith("nobody  digest  ")
    assert "its lease is over, nobody runs it now" in noonmark("backlog").out
    assert "租约已到期，目前无人运行" in noonmark("backlog", "--lang", "zh").out


def test_a_release_of_one_row_is_told_in_the_singular(noonmark: Noonmark, machine: Machine) -> None:
    machine.desk.register(Job(name="mail", trigger=Manual(), key="mail:{n}", reason="Customers wait."))
    machine.hold("mail:3")
    machine.prove()
    told = noonmark("ledger", "release", "--as", "run", "--reason", "looked").out.splitlines()
    assert told[0] == "1 held row may run now; its start says that it may be a repeat."


def test_what_the_engine_wrote_of_a_run_is_told_in_chinese(desk: Desk, lapsed: Occurrence, noonmark: Noonmark) -> None:
    desk.finish(lapsed, Event.FAIL_MANUAL, "w2", code="failed_final", error="stopped before it began")
    told = noonmark("why", "digest", "--lang", "zh").out
    assert "开始之前就被停止" in told
    assert "stopped before" not in told


@pytest.mark.parametrize("reason", ["too long", "lost", "cancelled"])
def test_what_a_person_wrote_is_told_as_it_is(desk: Desk, noonmark: Noonmark, reason: str) -> None:
    desk.register(Job(name="mail", trigger=Manual(), key="mail:{n}", reason="Customers wait."))
    noonmark("run", "mail", "--param", "n=1")
    noonmark("cancel", "--key", "mail:1", "--reason", reason)
    assert f"取消：{reason}。" in noonmark("why", "mail", "--lang", "zh").out


def test_the_reason_of_an_import_is_told_in_chinese(desk: Desk, noonmark: Noonmark) -> None:
    desk.register(Job(name="mail", trigger=Manual(), key="mail:{n}", reason="Customers wait."))
    row = noonmark("run", "mail", "--param", "n=1", "--json").plain["runs"][0]["id"]
    reason = f"{IMPORTED}187 at fence 17, as the journal of w-1 of store 0af has it"
    desk.act("mark_done", occurrence_id=row, reason=reason)
    told = noonmark("why", "mail", "--lang", "zh").out
    assert "导入：据存储 0af 的 w-1 的日志，已作为 r187（fence 17）完成。" in told
    assert "imported" not in told


def test_the_patterns_follow_the_texts_in_the_engine() -> None:
    written = Path(importing.__file__).read_text(encoding="utf-8")
    assert 'f"{IMPORTED}{outcome.occurrence} at fence {outcome.fence}, as {self._source(outcome)} has it"' in written
    assert 'f"the journal of {outcome.writer}" if outcome.writer else "the ledger"' in written
    written = Path(roster.__file__).read_text(encoding="utf-8")
    assert 's and did not stop when told to"' in written
    assert 'f"did not stop when told to ({run.stop_reason})"' in written
    assert "Tell runs to stop: ``lost``, ``lock_lost``, ``timed_out``, ``cancelled`` or ``handed_back``." in written


def test_a_job_without_code_is_not_said_to_be_kept_for_ever_and_can_be_ended(desk: Desk, noonmark: Noonmark) -> None:
    desk.act("end_job", job="tick")
    desk.until("2026-11-27T18:30:00")
    desk.jobs = {}
    desk.beat()
    (row,) = desk.take()
    desk.finish(row, Event.PARK, due_at=desk.now + 5_000_000, verdict="skip_lease", code="handler_missing",
                detail='{"job": "digest"}')  # fmt: skip
    told = noonmark("why", "digest").out
    assert "it waits for one as long as its window and its catch-up limit allow" in told
    assert "noonmark end digest --reason WHY" in told
    assert f"noonmark cancel r{row.id}" in told


RULES = """version: 1
jobs:
  past:
    at: "2020-01-01T00:00"
    tz: UTC
    command: [echo, hi]
    reason: The year was mistyped.
"""


def test_a_job_of_which_nothing_is_to_come_is_told_by_every_command(
    desk: Desk, noonmark: Noonmark, tmp_path: Path
) -> None:
    file = tmp_path / "noonmark.yaml"
    file.write_text(RULES, encoding="utf-8")
    assert (
        "nothing of past is to come: its last moment was 2020-01-01 00:00 UTC"
        in noonmark("rules", "apply", str(file)).err
    )
    why = noonmark("why", "past")
    assert why.code == 5
    assert "its last moment, 2020-01-01 00:00 UTC, was before its rule took effect" in why.err
    assert "noonmark next past" not in why.err
    assert "noonmark run past" in why.err
    assert "nothing is coming: the last moment was 2020-01-01 00:00 UTC" in noonmark("next", "past").out
    assert "最后的时刻 2020-01-01 00:00 UTC 早于规则生效" in noonmark("why", "past", "--lang", "zh").err
    desk.register(DIGEST)
    assert "the last moment was" not in noonmark("next", "digest").out


def test_rules_that_declare_nothing_are_applied_with_a_word(noonmark: Noonmark, tmp_path: Path) -> None:
    file = tmp_path / "noonmark.yaml"
    file.write_text("version: 1\njobs: {}\n", encoding="utf-8")
    answer = noonmark("rules", "apply", str(file))
    assert (answer.code, answer.out) == (0, f"{file} declares no jobs, nothing was changed\n")
    file.write_text("", encoding="utf-8")
    refused = noonmark("rules", "apply", str(file))
    assert refused.code == 1
    assert "end every job" not in refused.err


def test_what_could_not_be_started_and_needs_a_person_does_not_go_on_by_itself(
    desk: Desk, lapsed: Occurrence, noonmark: Noonmark
) -> None:
    row = desk.finish(lapsed, Event.FAIL_MANUAL, "w2", code="start_failed", detail='{"error": "no such program"}')
    told = noonmark("why", f"r{row.id}").out
    assert "It could not be started: no such program." in told
    assert f"What to do: Mend the cause, then: noonmark retry r{row.id}, or noonmark mark r{row.id} handled" in told
    assert "怎么办：修好原因后" in noonmark("--lang", "zh", "why", f"r{row.id}").out


def test_the_time_of_day_of_a_window_is_told_with_its_zone_to_a_reader_of_another(
    desk: Desk, noonmark: Noonmark
) -> None:
    desk.later(9 * HOUR)
    desk.beat()
    missed = desk.row(noonmark("run", "digest", "--json").plain["runs"][0]["id"])
    for words in (("why", f"r{missed.id}"), ("run", "digest", "--dry-run")):
        (window,) = (line for line in noonmark("--tz", "UTC", *words).out.splitlines() if "18:30-20:00" in line)
        assert window.endswith("21:00 Asia/Shanghai")
        (window,) = (line for line in noonmark(*words).out.splitlines() if "18:30-20:00" in line)
        assert window.endswith(" 21:00")
    checks = noonmark("--tz", "UTC", "why", f"r{missed.id}", "--json").plain["checks"]
    assert next(check["seen"] for check in checks if check["name"] == "window") == "21:00"


def test_a_time_that_cannot_be_read_is_told_as_it_was_typed(desk: Desk, noonmark: Noonmark) -> None:
    del desk
    told = noonmark("history", "--since", "foo").err
    assert '"foo" is no ISO time' in told
    assert "fooT00" not in told
    assert noonmark("history", "--since", "2026-11-26").code == 0
    assert "--at takes a date, too" in noonmark("--now", "2026-11-26", "jobs").err
