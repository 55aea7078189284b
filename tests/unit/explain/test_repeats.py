"""After the store went back in time: which runs are, or may be, repeats; said by ``why`` and by ``verify``."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from desk import LEASE, Desk

from noonmark.core import rollback
from noonmark.core.model import HOUR, MINUTE, SECOND, Act, Event, Job, Manual, Occurrence, State
from noonmark.core.model.rollback import Claim, Epoch
from noonmark.engine import mending
from noonmark.engine.statefolder import StateFolder
from noonmark.engine.witnessing import Known, Witnessed, witness
from noonmark.explain import repeats
from noonmark.explain.explanation import Explanation
from noonmark.explain.outcomes import outcome_of
from noonmark.explain.report import report_json, report_text
from noonmark.explain.verify import verify
from noonmark.explain.voice import Voice
from noonmark.explain.why import why
from noonmark.testing.builders import make_caller_row, make_end, make_row

MAIL = Job(name="mail", trigger=Manual(), key="mail:{order_id}", reason="Customers wait for it.")


class Shop:
    """A desk with the job ``mail`` whose store lost its last minute, and what a journal of this machine has of that."""

    def __init__(self, folder: Path, job: Job = MAIL) -> None:
        self.desk, self.folder = Desk(), folder
        self.desk.register(job)
        self.desk.beat()
        self.desk.later(HOUR)
        self.store: Any = self.desk.store
        claim = Claim(writer="w-1", worker="w1", receipt=None)
        receipt = self.store.prove(claim).receipt
        self.desk.later(MINUTE)
        self.lost_at = self.desk.now - 30 * SECOND
        self._lost = replace(claim, receipt=replace(receipt, seq=receipt.seq + 1, hash="f" * 64, at=self.lost_at))

    def remember(self, key: str, *, store: str = "", at: int = 0, outcome: str = "success", fence: int = 9) -> None:
        memory = StateFolder(self.folder).open(store or self.store.store_id(), "w1")
        row = (7, "mail", "", "l:1", key, self.lost_at, "2026-11-27", "event", outcome, fence)
        memory.record(2, "f" * 64, at or self.lost_at, [row])
        memory.close()
        self.writer = memory.writer

    def prove(self) -> None:
        self.store.prove(self._lost)
        self.desk.later(SECOND)

    def run(self, key: str) -> Occurrence:
        (added,) = self.store.add(self.desk.request(), [make_caller_row(key, at=self.desk.now, job="mail", key=key)])
        return self.finish(added.id)

    def finish(self, row_id: int) -> Occurrence:
        self.desk.beat()
        (row,) = (row for row in self.desk.take() if row.id == row_id)
        self.store.settle(self.desk.request(), "w1", [make_end(row, Event.SUCCEED)])
        self.desk.later(SECOND)
        return self.desk.row(row_id)

    def release(self) -> None:
        assert mending.release(self.store, self.desk.request, actor="ada", reason="looked") is not None

    def witness(self, epochs: Sequence[Epoch], keys: Collection[str] | None = None, /) -> Known:
        return witness([self.folder], self.store.store_id())(epochs, keys)

    def why(self, row: Occurrence, lang: str = "en") -> Explanation:
        return why(self.store, occurrence_id=row.id, lang=lang, tz="UTC", witness=self.witness)

    def text(self, lang: str = "en") -> str:
        report = verify(self.store, self.desk.now - 2 * HOUR, witness=self.witness)
        assert report_json(report, "UTC")["may_repeat"] == report.may_repeat
        return report_text(report, Voice(lang=lang, zone="UTC", now=self.desk.now))


@pytest.fixture
def shop(tmp_path: Path) -> Shop:
    return Shop(tmp_path)


def test_a_key_that_is_asked_for_after_the_rollback_may_be_a_repeat(shop: Shop) -> None:
    shop.prove()
    row = shop.run("mail:3")
    assert any(line.startswith("This may be a repeat: its key was asked for") for line in shop.why(row).lines)
    assert any(line.startswith("这可能是重复") for line in shop.why(row, "zh").lines)
    assert "may repeat what the store lost when it went back in time: 1 runs" in shop.text()
    assert "可能重复了存储回退时丢失的运行：1 次" in shop.text("zh")
    assert shop.text().endswith("\nNOT OK"), "the rollback is open"
    shop.release()
    assert shop.text().endswith("\nOK"), "nobody knows"


def test_who_asks_again_soon_after_the_release_may_be_a_late_retry(shop: Shop) -> None:
    shop.prove()
    shop.release()
    shop.desk.later(HOUR - MINUTE)
    row = shop.run("mail:2")
    assert any(line.startswith("This may be a repeat: its key was asked for") for line in shop.why(row).lines)
    assert "1 runs" in shop.text()


def test_what_was_asked_for_long_after_the_release_is_no_repeat(shop: Shop) -> None:
    shop.prove()
    shop.release()
    shop.desk.later(HOUR)
    row = shop.run("mail:2")
    assert [line for line in shop.why(row).lines if "repeat" in line] == []
    assert "repeat" not in shop.text()


def test_what_no_worker_has_looked_at_since_the_rollback_is_said_to_be_held_by_the_next_look(shop: Shop) -> None:
    row = make_caller_row("mail:3", at=shop.desk.now, job="mail", key="mail:3")
    (added,) = shop.store.add(shop.desk.request(), [row])
    shop.desk.beat()
    (run,) = shop.desk.take()
    shop.desk.later(10 * MINUTE)
    (lapsed,) = shop.desk.take("w2")
    park = make_end(lapsed, Event.PARK, due_at=shop.desk.now + HOUR, code="lost", verdict="skip_lease")
    shop.store.settle(shop.desk.request(), "w2", [park])
    assert "held" not in str(shop.why(shop.desk.row(added.id)).lines)
    shop.prove()
    waiting = shop.desk.row(added.id)
    assert (waiting.code, run.id) == ("lost", added.id)
    assert any(line.endswith("may have run in it: the next look holds it.") for line in shop.why(waiting).lines)
    assert any(line.endswith("worker 下次查看时即扣住。") for line in shop.why(waiting, "zh").lines)
    shop.release()
    assert "holds it" not in str(shop.why(shop.desk.row(added.id)).lines)


def test_what_ended_without_a_run_since_the_rollback_may_have_run_all_the_same(shop: Shop) -> None:
    row = make_caller_row("mail:3", at=shop.desk.now, job="mail", key="mail:3")
    (added,) = shop.store.add(shop.desk.request(), [row])
    shop.desk.later(SECOND)
    shop.desk.act("cancel", occurrence_id=added.id, reason="not wanted")  # by somebody who did not know of it yet
    shop.desk.later(SECOND)
    shop.prove()
    ended = shop.desk.row(added.id)
    assert any(line.startswith("It may have run all the same: ") for line in shop.why(ended).lines)
    assert any(line.startswith("它仍可能运行过：") for line in shop.why(ended, "zh").lines)
    epochs = rollback.epochs_of(shop.store.facts([rollback.FACT])[rollback.FACT].value)
    assert repeats.untold(epochs, MAIL, ended) == ("line_may_have_run", epochs[0])
    assert repeats.untold(epochs, MAIL, replace(ended, ended_at=epochs[0].lost_from)) is None, "it had ended before"
    assert repeats.untold(epochs, MAIL, replace(ended, state=State.SUCCESS)) is None


def test_a_key_without_a_name_is_no_repeat(shop: Shop) -> None:
    shop.prove()
    assert [line for line in shop.why(shop.run("")).lines if "repeat" in line] == []


def test_a_success_that_a_journal_of_this_machine_has_is_said_for_certain_and_counts_as_twice(shop: Shop) -> None:
    shop.remember("mail:3")
    shop.prove()
    row = shop.run("mail:3")
    (line,) = (line for line in shop.why(row).lines if "repeat" in line)
    assert line.startswith("This is a repeat: the store lost a success of this key (r7, ")
    assert shop.writer in line
    text = shop.text()
    assert "1 ran twice" in text
    assert f"r7, lost by the store, as {shop.writer} remembers, and r{row.id}" in text
    assert text.endswith("NOT OK")
    assert "已被存储丢失" in shop.text("zh")


def test_what_is_held_because_a_journal_knows_that_it_ran_says_so(shop: Shop) -> None:
    shop.remember("mail:3")
    shop.prove()
    row = make_caller_row("mail:3", at=shop.desk.now, job="mail", key="mail:3", gated=True)
    (added,) = shop.store.add(shop.desk.request(), [row])
    (line,) = (line for line in shop.why(shop.desk.row(added.id)).lines if "lost" in line)
    assert line.startswith(f"It ran: the journal of {shop.writer} has a success of this key (r7, ")
    assert any(line.startswith("它运行过：") for line in shop.why(shop.desk.row(added.id), "zh").lines)
    shop.desk.act("mark_done", occurrence_id=added.id, reason="they have it")
    assert "It ran" not in str(shop.why(shop.desk.row(added.id)).lines)


def test_a_run_that_the_store_has_did_not_run_twice_because_a_journal_has_it_too(shop: Shop) -> None:
    """Who comes back first works on, and what it does lies in the lost range that a later proof finds."""
    row = shop.run("mail:3")
    assert row.started_at is not None
    shop.remember("mail:3", at=row.started_at - 1, fence=row.fence)  # the worker's reckoning is behind the store's
    shop.prove()
    assert "This is a repeat" not in str(shop.why(row).lines)
    assert "0 ran twice" in shop.text()


def test_it_stays_said_when_it_ran_after_the_release(shop: Shop) -> None:
    shop.remember("mail:3")
    shop.prove()
    shop.release()
    assert any(line.startswith("This is a repeat") for line in shop.why(shop.run("mail:3")).lines)
    assert "1 ran twice" in shop.text()


def test_a_rule_that_wants_its_repeats_is_not_broken_by_one(tmp_path: Path) -> None:
    shop = Shop(tmp_path, replace(MAIL, on_rollback="run"))
    shop.remember("mail:3")
    shop.prove()
    assert any(line.startswith("This is a repeat") for line in shop.why(shop.run("mail:3")).lines)
    assert "0 ran twice" in shop.text()
    assert "went back in time: 1 runs" in shop.text()


@pytest.mark.parametrize(
    "other", [{"key": "mail:4"}, {"store": "another"}, {"outcome": "failed"}, {"at": 1}, {"at": 2**52}]
)
def test_another_key_another_store_a_failure_or_what_was_not_lost_is_no_certainty(
    shop: Shop, other: dict[str, Any]
) -> None:
    shop.remember(**({"key": "mail:3"} | other))
    shop.prove()
    (line,) = (line for line in shop.why(shop.run("mail:3")).lines if "repeat" in line)
    assert line.startswith("This may be a repeat")


def test_a_release_of_the_job_alone_ends_it_for_that_job(shop: Shop) -> None:
    shop.prove()
    assert mending.release(shop.store, shop.desk.request, actor="ada", reason="looked", job="mail") is not None
    shop.desk.later(HOUR + SECOND)
    assert [line for line in shop.why(shop.run("mail:3")).lines if "repeat" in line] == []


def test_a_run_that_was_held_was_late_because_it_was_held(shop: Shop) -> None:
    row = make_caller_row("mail:3", at=shop.desk.now, job="mail", key="mail:3", gated=True)
    (added,) = shop.store.add(shop.desk.request(), [row])
    (look,) = shop.desk.take()
    fact = shop.store.facts([rollback.FACT])[rollback.FACT]
    park = make_end(
        look, Event.PARK, due_at=shop.desk.now + 24 * HOUR, code="held_rollback", verdict="skip_lease",
    )  # fmt: skip
    assert fact.value is None
    shop.store.settle(shop.desk.request(), "w1", [park])
    shop.desk.later(HOUR)  # meanwhile nobody is awake
    act = Act(kind="release", actor="ada", reason="looked", occurrence_id=added.id)
    assert shop.store.act(shop.desk.request(), act).outcome == "done"
    shop.desk.beat("w2")
    shop.desk.look("w2", lease=LEASE)
    told = shop.why(shop.desk.row(added.id))
    assert json.dumps(told.sentence).count("awake") == 0
    shop.desk.finish(shop.desk.row(added.id), worker="w2")
    told = shop.why(shop.desk.row(added.id))
    assert told.sentence.endswith(
        "after waiting for a person to release what was held because the store had lost data."
    )


@pytest.mark.parametrize(("lang", "free"), [("en", "free"), ("zh", "空闲")])
def test_a_run_that_lapsed_and_is_held_waits_for_a_person_and_nobody_has_its_lease(
    shop: Shop, lang: str, free: str
) -> None:
    row = make_caller_row("mail:3", at=shop.desk.now, job="mail", key="mail:3")
    (added,) = shop.store.add(shop.desk.request(), [row])
    shop.desk.beat()
    assert [each.looking for each in shop.desk.take()] == [False]
    assert outcome_of(shop.desk.row(added.id), shop.desk.now) == "running"
    shop.desk.later(HOUR)
    shop.desk.beat("w2")
    (lapsed,) = shop.desk.take("w2")
    park = make_end(lapsed, Event.PARK, due_at=shop.desk.now + 240 * HOUR, code="held_rollback", verdict="skip_lease")
    assert shop.store.settle(shop.desk.request(), "w2", [park])[0].outcome == "applied"
    held = shop.desk.row(added.id)
    assert (held.state, outcome_of(held, shop.desk.now)) == (State.RUNNING, "waiting")
    told = shop.why(held, lang)
    assert told.outcome == "waiting"
    assert [(check.ok, check.seen) for check in told.checks if check.name == "lease"] == [(None, free)]
    assert ("nobody runs it now" if lang == "en" else "目前无人运行它") in told.sentence


def test_what_is_to_be_tried_again_and_is_held_waits_for_a_person(shop: Shop) -> None:
    failed = make_row(at=shop.desk.now, state=State.FAILED_RETRYING, code="attempt_failed", holder="")
    assert outcome_of(failed, shop.desk.now) == "retrying"
    assert outcome_of(replace(failed, code="held_rollback"), shop.desk.now) == "waiting"


def test_a_success_that_ended_over_a_rollback_is_known_to_a_repeat_that_began_before_it_ended(shop: Shop) -> None:
    shop.prove()
    row = shop.run("mail:3")
    lost = Witnessed(writer="w-1", occurrence=7, fence=9, at=(row.started_at or 0) + SECOND)
    for begun, is_known in ((None, False), ((row.started_at or 0) - HOUR, True)):
        known = {("mail", "mail:3"): replace(lost, begun=begun)}
        assert (repeats.known_of(known, row, row.started_at or 0) is not None) is is_known
