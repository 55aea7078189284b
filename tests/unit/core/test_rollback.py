"""Rollbacks as pure judgements: what a receipt proves, which rows may have run, what holds them and lets them go."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from noonmark.core import lapsed, receipts, releasing, rollback
from noonmark.core.decide import decide
from noonmark.core.model import (
    HOUR,
    MINUTE,
    SECOND,
    Act,
    Decision,
    Event,
    Fact,
    Gates,
    JobRow,
    Manual,
    Micros,
    Origin,
    State,
    Verdict,
    WorkerInfo,
)
from noonmark.core.model import Job as Rule
from noonmark.core.model.rollback import Claim, Epoch, Receipt, Serving, Writer
from noonmark.engine import aside
from noonmark.testing.builders import make_row

T0: Micros = 1_795_867_200_000_000
JOB = Rule(name="job", trigger=Manual(tz="UTC"), reason="test")


def known(**fields: Any) -> receipts.Known:
    base: dict[str, Any] = {
        "store": "s", "head": None, "link": None, "beat": None, "as_of": T0, "rollbacks": None, "serving": None,
    }  # fmt: skip
    return receipts.Known(**(base | fields))


def head(seq: int = 5, hash_: str = "h5", **fields: Any) -> Writer:
    return Writer(id="p", worker="w", seq=seq, hash=hash_, at=T0, **fields)


def receipt(seq: int = 5, hash_: str = "h5", **fields: Any) -> Receipt:
    return Receipt(store="s", writer="p", seq=seq, hash=hash_, at=T0, **fields)


def judge(said: Receipt | None, have: receipts.Known, at: Micros = T0 + HOUR) -> receipts.Judged:
    return receipts.judge(Claim(writer="p", worker="w", receipt=said), have, "server", at)


def lost_fact(**fields: Any) -> Fact:
    base: dict[str, Any] = {"number": 1, "lost_from": T0 - HOUR, "lost_until": T0, "detected_at": T0, "writers": ("p",)}
    return Fact(name=rollback.FACT, version=3, value=rollback.to_plain([Epoch(**(base | fields))]))


@pytest.mark.parametrize(
    ("said", "have", "outcome"),
    [
        (None, known(), "new"),
        (receipt(), known(head=head()), "present"),
        (receipt(4, "h4"), known(head=head(), link="h4"), "present"),
        (receipt(4, "h4"), known(head=head(), link=None), "present"),
        (receipt(4, "other"), known(head=head(), link="h4"), "lost"),
        (receipt(6, "h6"), known(head=head()), "lost"),
        (receipt(5, "other"), known(head=head()), "lost"),
        (receipt(), known(), "lost"),
        (replace(receipt(), store="another"), known(head=head()), "other"),
        (receipt(worker="w", beat=T0 + 31 * SECOND), known(head=head(), beat=T0), "lost"),
        (receipt(worker="w", beat=T0 + 29 * SECOND), known(head=head(), beat=T0), "present"),
        (receipt(worker="w", beat=T0), known(head=head(), beat=None), "lost"),
    ],
)
def test_only_what_was_acknowledged_and_is_gone_is_a_rollback(
    said: Receipt | None, have: receipts.Known, outcome: str
) -> None:
    judged = judge(said, have)
    assert judged.outcome == outcome
    assert (judged.opened is not None) is (outcome == "lost")
    assert (judged.hold_before is not None) is (outcome == "lost")


def test_a_chain_goes_on_above_every_number_that_was_used() -> None:
    judged = judge(receipt(9, "h9"), known(head=head(5)))
    assert (judged.writer.seq, judged.writer.epoch) == (9, 1)
    again = judge(receipt(9, "h9"), known(head=judged.writer, rollbacks=judged.rollbacks))
    assert (again.outcome, again.writer.hash, again.rollbacks) == ("lost", judged.writer.hash, None)


def test_the_lost_range_reaches_from_what_survived_to_the_detection() -> None:
    (epoch,) = judge(receipt(9), known(head=head(5)), T0 + HOUR).epochs
    assert (epoch.lost_from, epoch.lost_until) == (T0, T0 + HOUR)
    (epoch,) = judge(receipt(9), known(head=head(5, proved_at=T0 + 7)), T0 + HOUR).epochs
    assert epoch.lost_from == T0 + 7, "an idle writer proves itself as well"
    (epoch,) = judge(receipt(9), known(earlier=T0 - 7), T0 + HOUR).epochs
    assert epoch.lost_from == T0 - 7, "nothing of the writer is left, so the last that was heard of anybody counts"


@pytest.mark.parametrize("left", [head(5, proved_at=T0), None], ids=["the writer is left", "it is gone"])
def test_what_was_written_since_the_store_came_back_has_not_survived(left: Writer | None) -> None:
    since = T0 + 40 * SECOND
    said = receipt(9, worker="w", beat=since)
    (epoch,) = judge(said, known(head=left, beat=since, as_of=since, earlier=T0), T0 + MINUTE).epochs
    assert (epoch.lost_from, epoch.lost_until) == (T0, T0 + MINUTE)


def test_of_what_others_wrote_only_what_lies_before_the_lost_word_has_survived() -> None:
    card = {"name": "w", "host": "h", "pid": 1, "process_started": "1", "boot_id": "b"}
    worker = WorkerInfo(id="w", started_at=T0 - 9, seen_at=T0 + 5, **card)  # type: ignore[arg-type]
    writer = replace(head(), at=T0 - 8, proved_at=T0 + 6)
    job = JobRow(name="job", rule="", digest="", revision=1, effective_at=T0)
    assert receipts.latest_before(T0, [worker], [writer], [job]) == T0 - 8
    assert receipts.latest_before(T0 + 1, [worker], [writer], [job]) == T0
    assert receipts.latest_before(T0 - 9, [worker], [writer], [job]) == 0


def test_who_was_alive_by_the_datas_own_clock_is_waited_for() -> None:
    serving = Serving(identity="new", since=T0 + HOUR, as_of=T0)
    card = {"name": "w", "host": "h", "pid": 1, "process_started": "1", "boot_id": "b"}
    workers = [
        WorkerInfo(id="alive", until=T0 + 1, **card),  # type: ignore[arg-type]
        WorkerInfo(id="gone", until=T0 - 1, **card),  # type: ignore[arg-type]
        WorkerInfo(id="ended", until=T0 + 1, ended_at=T0, **card),  # type: ignore[arg-type]
        WorkerInfo(id="proved", until=T0 + 1, **card),  # type: ignore[arg-type]
    ]
    writers = [replace(head(), id=f"p-{info.id}", worker=info.id, proved_for="old") for info in workers]
    writers[3] = replace(writers[3], proved_for="new")
    early, late = serving.since + 1, serving.since + receipts.COMING_BACK
    assert receipts.unproved(writers, workers, serving, early) == ("p-alive",)
    assert receipts.unproved(writers, workers, serving, late) == (), "it did not come back"
    workers[0] = replace(workers[0], seen_at=serving.since)
    assert receipts.unproved(writers, workers, serving, late) == ("p-alive",), "it came back"


# -- what may have run ---------------------------------------------------------------------------------------


def decided(fact: Fact | None, job: Rule = JOB, **fields: Any) -> tuple[Event, str]:
    row = make_row(**({"at": T0 - SECOND, "claimed": True, "created_at": T0 - HOUR} | fields))
    facts = {"pause:job": Fact(name="pause:job")} | ({} if fact is None else {fact.name: fact})
    decision = decide(job, row, facts, T0 + SECOND)
    return decision.event, decision.code


def test_a_row_whose_moment_lies_in_a_lost_range_is_held() -> None:
    assert decided(None) == (Event.START, "ready")
    assert decided(lost_fact()) == (Event.PARK, "held_rollback")


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"scheduled_for": T0}, "ready"),  # its moment had not come
        ({"created_at": T0, "origin": Origin.LATER}, "ready"),  # asked for since
        ({"created_at": T0, "origin": Origin.SCHEDULE}, "held_rollback"),  # only now derived by catch-up
        ({"code": "released"}, "restored_epoch"),
        ({"code": "retried", "first_started_at": T0 - HOUR}, "restored_epoch"),  # a person's word as well
        ({"expires_at": T0}, "held_rollback"),  # neither limit nor window ends what may have run in time
        ({"not_after": T0}, "held_rollback"),
        ({"state": State.FAILED_RETRYING, "first_started_at": T0 - HOUR}, "held_rollback"),
    ],
)
def test_only_what_may_have_run_is_held(fields: dict[str, Any], code: str) -> None:
    assert decided(lost_fact(), **fields)[1] == code


def test_a_job_whose_repeat_does_no_harm_starts_and_says_that_it_may_be_one() -> None:
    assert decided(lost_fact(), replace(JOB, on_rollback="run")) == (Event.START, "restored_epoch")


def test_whatever_a_row_of_a_lost_range_waits_for_it_is_looked_at_again_before_it_starts() -> None:
    fact, row = lost_fact(), make_row(at=T0 - SECOND, created_at=T0 - HOUR)
    waits = Decision(verdict=Verdict.SKIP_PAUSED, event=Event.PARK, code="waiting_for_resume", seen={"pause:job": 2})
    seen = aside.seen_by(waits, row, fact)
    assert seen == {"pause:job": 2, rollback.FACT: 3}
    assert rollback.needs_look("waiting_for_resume", Gates(revision=1, facts=seen))
    for other in (make_row(at=T0 + SECOND, created_at=T0), replace(row, origin=Origin.LATER, created_at=T0)):
        assert aside.seen_by(waits, other, fact) == {"pause:job": 2}
    assert aside.seen_by(waits, row, None) == {"pause:job": 2}
    assert aside.seen_by(replace(waits, event=Event.START), row, fact) == {"pause:job": 2}, "a start says so itself"
    assert not rollback.needs_look("waiting_for_resume", Gates(revision=1, facts={"pause:job": 2}))


def test_a_release_of_one_job_lets_only_that_job_go() -> None:
    for job, code in (("job", "restored_epoch"), ("other", "held_rollback"), ("", "restored_epoch")):
        wish = Act(kind="release", actor="ada", reason="why", job=job, epochs=((1, T0),))
        value = releasing.let_go(lost_fact().value, wish, T0).value
        assert decided(Fact(name=rollback.FACT, version=4, value=value))[1] == code


@pytest.mark.parametrize("on_lost", ["takeover", "wait"])
def test_a_lapsed_run_in_a_lost_range_is_held_whatever_its_rule_says_of_losses(on_lost: str) -> None:
    row = make_row(scheduled_for=T0 - SECOND, created_at=T0 - HOUR, state=State.RUNNING, takeovers=1, started_at=T0)
    job, fact = replace(JOB, on_lost=on_lost), lost_fact()
    for now in (T0 + SECOND, T0 + 10 * HOUR):
        judged = lapsed.judge(job, row, lapsed.Holder(), {fact.name: fact}, now)
        assert (judged.event, judged.code) == (Event.PARK, "held_rollback")


def test_a_run_that_a_clock_ahead_of_ours_began_before_the_loss_is_held_like_any_other() -> None:
    row = make_row(scheduled_for=T0 - SECOND, created_at=T0 - HOUR, state=State.RUNNING, started_at=T0 + SECOND)
    (epoch,) = rollback.epochs_of(lost_fact(lost_until=T0 + HOUR).value)
    assert rollback.is_let_run(row, epoch) is False
    assert rollback.is_let_run(replace(row, started_at=epoch.lost_until + 1), epoch)


def test_a_lapsed_run_in_a_lost_range_is_held_and_taken_over_only_after_its_release() -> None:
    row = make_row(at=T0 - SECOND, state=State.RUNNING, created_at=T0 - HOUR, takeovers=1)
    fact = lost_fact()
    judged = lapsed.judge(JOB, row, lapsed.Holder(), {fact.name: fact}, T0 + SECOND)
    assert (judged.event, judged.code, dict(judged.seen)) == (Event.PARK, "held_rollback", {rollback.FACT: 3})
    freed = lost_fact(released_at=T0)
    judged = lapsed.judge(JOB, row, lapsed.Holder(), {freed.name: freed}, T0 + SECOND)
    assert (judged.event, judged.code) == (Event.TAKEOVER, "restored_epoch")


def test_the_fact_forgets_only_rollbacks_that_hold_nothing() -> None:
    epochs = [
        Epoch(number=n, lost_from=T0, lost_until=T0, detected_at=T0, released_at=T0 if n % 2 else None)
        for n in range(1, rollback.EPOCHS_KEPT + 6)
    ]
    kept = rollback.epochs_of(rollback.to_plain(epochs))
    assert len(kept) == rollback.EPOCHS_KEPT
    assert {epoch.number for epoch in epochs if epoch.released_at is None} <= {epoch.number for epoch in kept}
    assert kept[-1].number == epochs[-1].number


# -- who joins, and who does not ---------------------------------------------------------------------------


def found(**fields: Any) -> Any:
    """Return the fact's value with one rollback, which was found at T0 + 60 s and proved by somebody else."""
    at = T0 + 60 * SECOND
    return lost_fact(**({"lost_until": at, "detected_at": at, "writers": ("other",)} | fields)).value


def test_who_lost_its_last_word_before_the_detection_joins_the_rollback() -> None:
    judged = judge(receipt(6, "h6"), known(head=head(), rollbacks=found()))
    assert (judged.outcome, judged.writer.epoch, judged.opened, judged.hold_before) == ("joined", 1, None, None)
    assert judged.epochs[0].writers == ("other", "p")


@pytest.mark.parametrize(
    "fields",
    [{"released_at": T0 + HOUR, "released_by": "ada"}, {"released_jobs": {"job": {"by": "ada"}}}],
    ids=["all of it", "one job"],
)
def test_what_a_person_let_go_is_joined_by_nobody(fields: dict[str, Any]) -> None:
    judged = judge(receipt(6, "h6"), known(head=head(), rollbacks=found(**fields)), T0 + 2 * HOUR)
    assert (judged.outcome, judged.writer.epoch, judged.hold_before) == ("lost", 2, T0 + 2 * HOUR)
    assert judged.opened is not None, "it is held and told"
    assert [(epoch.number, epoch.writers) for epoch in judged.epochs] == [(1, ("other",)), (2, ("p",))]


def test_what_was_acknowledged_after_a_detection_was_lost_in_another_rollback() -> None:
    late = replace(receipt(6, "h6"), at=T0 + 61 * SECOND)
    assert judge(late, known(head=head(), rollbacks=found())).writer.epoch == 2
    late = receipt(6, "h6", worker="w", beat=T0 + 61 * SECOND)
    assert judge(late, known(head=head(), rollbacks=found())).writer.epoch == 2


def test_a_heartbeat_that_came_since_is_no_word_that_was_lost() -> None:
    late = receipt(6, "h6", worker="w", beat=T0 + 61 * SECOND)
    judged = judge(late, known(head=head(), beat=late.beat, rollbacks=found()))
    assert (judged.outcome, judged.epochs[0].lost_until) == ("joined", T0 + 60 * SECOND)


def test_what_a_server_acknowledged_whose_clock_was_ahead_is_held_to_the_end() -> None:
    judged = judge(replace(receipt(6, "h6"), at=T0 + HOUR + 7), known(head=head()), T0 + HOUR)
    assert (judged.epochs[0].detected_at, judged.epochs[0].lost_until) == (T0 + HOUR, T0 + HOUR + 7)
    assert judged.hold_before == T0 + HOUR + 7


def test_a_claim_whose_answer_was_lost_is_the_same_after_another_rollback() -> None:
    first = judge(receipt(6, "h6"), known(head=head()))
    epochs = (*first.epochs, Epoch(number=2, lost_from=T0, lost_until=T0, detected_at=T0 + HOUR, writers=("other",)))
    again = first
    for _ in range(2):
        have = known(head=again.writer, rollbacks=rollback.to_plain(epochs))
        again = judge(receipt(6, "h6"), have, T0 + 2 * HOUR)
        assert (again.outcome, again.writer.hash, again.writer.epoch) == ("lost", first.writer.hash, 1)
        assert (again.rollbacks, again.hold_before) == (None, None)


def test_a_proof_keeps_who_was_heard_of_and_drops_a_heartbeat_that_is_gone() -> None:
    said = receipt(worker="w-before", beat=T0)
    kept = receipts.receipt_of(judge(said, known(head=head(), beat=T0)), "s")
    assert (kept.worker, kept.beat) == ("w-before", T0)
    kept = receipts.receipt_of(judge(said, known(head=head())), "s")
    assert (kept.worker, kept.beat) == ("w-before", 0), "else it were proved gone again and again"
    kept = receipts.receipt_of(judge(replace(said, store="another"), known(head=head())), "s")
    assert (kept.worker, kept.beat) == ("", 0)


# -- letting go ----------------------------------------------------------------------------------------------


def wish(*epochs: tuple[int, Micros], job: str | None = None) -> Act:
    return Act(kind="release", actor="ada", reason="why", job=job, epochs=epochs)


def test_only_what_was_shown_is_let_go() -> None:
    first, second = rollback.epochs_of(found())[0], rollback.epochs_of(found(number=2))[0]
    both = rollback.to_plain([first, second])
    gone = releasing.let_go(both, wish((1, first.lost_until)), T0 + HOUR)
    assert (gone.outcome, gone.is_over) == ("done", False)
    assert [epoch.released_at for epoch in rollback.epochs_of(gone.value)] == [T0 + HOUR, None]
    gone = releasing.let_go(both, wish(*releasing.shown([first, second])), T0 + HOUR)
    assert (gone.outcome, gone.is_over) == ("done", True)


@pytest.mark.parametrize("named", [(), ((1, T0),)], ids=["none", "a smaller range"])
def test_what_is_not_as_it_was_shown_is_not_let_go(named: tuple[tuple[int, Micros], ...]) -> None:
    assert releasing.let_go(found(), wish(*named), T0) == releasing.LetGo(outcome="refused")


def test_who_lets_go_a_second_time_changes_nothing() -> None:
    over = found(released_at=T0)
    gone = releasing.let_go(over, wish((1, T0 + 60 * SECOND)), T0 + HOUR)
    assert (gone.outcome, gone.value, gone.is_over) == ("already_done", None, True)
    assert releasing.let_go(None, wish(), T0).is_over


def test_a_job_that_is_let_go_closes_nothing() -> None:
    gone = releasing.let_go(found(), wish((1, T0 + 60 * SECOND), job="job"), T0)
    assert (gone.outcome, gone.is_over) == ("done", False)
    assert rollback.epochs_of(gone.value)[0].is_released("job")


def test_a_row_goes_only_by_the_rollbacks_that_hold_it() -> None:
    row = make_row(at=T0 - SECOND, created_at=T0 - HOUR)
    until = T0 + 60 * SECOND
    assert releasing.may_go(row, found(), wish((1, until)))
    assert not releasing.may_go(row, found(), wish((1, until - 1)))
    assert not releasing.may_go(row, found(), wish())
    assert releasing.may_go(row, found(), replace(wish(), epochs=None)), "whatever holds it"
    assert releasing.may_go(row, found(released_at=T0), wish())
    assert releasing.may_go(replace(row, scheduled_for=until), found(), wish()), "no rollback holds it"


def test_a_persons_mark_ends_a_run_or_a_frontier_only_where_a_rollback_holds_it_and_nobody_has_it() -> None:
    held = make_row(at=T0, state=State.RUNNING, code="held_rollback", holder="")
    assert releasing.marked(held, Event.MARK_DONE) is State.SUCCESS
    assert releasing.marked(held, Event.MARK_SKIP) is None
    assert releasing.marked(replace(held, holder="w1"), Event.MARK_DONE) is None
    assert releasing.marked(replace(held, code="on_lost_wait"), Event.MARK_DONE) is None
    last = replace(held, state=State.PENDING, frontier=True)
    assert releasing.marked(last, Event.MARK_DONE) is State.SUCCESS, "it was looked at, so nothing comes after it"
    assert releasing.marked(replace(last, holder="w1"), Event.MARK_DONE) is None
    assert releasing.marked(replace(last, code=""), Event.MARK_DONE) is None


def test_who_asked_about_another_store_is_not_waited_for_when_the_server_changes() -> None:
    workers = [
        WorkerInfo(id="w", name="w", host="h", pid=1, process_started="1", boot_id="b", until=T0 + HOUR, seen_at=T0)
    ]
    serving = Serving(identity="after", since=T0, as_of=T0)
    strange = judge(replace(receipt(), store="another"), known()).writer
    ours = judge(receipt(), known(head=head())).writer
    assert unproved_of([ours], workers, serving) == ("p",)
    assert unproved_of([strange], workers, serving) == ()


def unproved_of(writers: list[Writer], workers: list[WorkerInfo], serving: Serving) -> tuple[str, ...]:
    return receipts.unproved(writers, workers, serving, serving.since + 1)


def test_what_waits_by_a_persons_word_keeps_the_number_of_the_newest_rollback_that_was_known() -> None:
    """Else the older one would be its word, and the newer one, of which the person knew, would hold it again."""
    epochs = [
        Epoch(number=number, lost_from=T0 - HOUR, lost_until=T0, detected_at=T0 + number, writers=("p",))
        for number in (1, 2)
    ]
    fact = Fact(name=rollback.FACT, version=3, value=rollback.to_plain(epochs))
    row = make_row(at=T0 - SECOND, created_at=T0 - HOUR, code="released")
    parked = Decision(verdict=Verdict.SKIP_DEP, event=Event.PARK, code="not_ready", detail={"flag": "x"})
    waiting = replace(row, code="not_ready", detail=json.dumps(dict(rollback.detail_of(parked, row, fact))))
    assert [rollback.is_let_run(waiting, epoch) for epoch in epochs] == [True, True]
    assert not rollback.is_let_run(waiting, replace(epochs[1], number=3))
    assert rollback.detail_of(parked, waiting, fact) == rollback.detail_of(parked, row, fact), "from look to look"
