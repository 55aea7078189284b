"""``note_if_held``: what a run wrote down, and whose writing counts."""

from __future__ import annotations

from noonmark.core.model import SECOND, Event, Note, Occurrence, State
from noonmark.testing.builders import LEASE
from noonmark.testing.conformance.harness import Harness


def _note(
    harness: Harness, row: Occurrence, kind: str = "step", name: str = "fetch", value: str = "1", *,
    worker: str = "w1", at: float = 1, fence: int | None = None,
) -> bool:  # fmt: skip
    note = Note(kind=kind, name=name, value=value)
    return harness.store.note_if_held(worker, row.id, row.fence if fence is None else fence, note, at=harness.at(at))


def _notes(harness: Harness, row: Occurrence) -> dict[tuple[str, str], str]:
    return {(note.kind, note.name): note.value for note in harness.story(row.id).notes}


def a_step_is_kept_with_its_fence_and_time(harness: Harness) -> None:
    harness.activate()
    run = harness.running()
    assert _note(harness, run, value='{"文": 1}', at=4)
    (note,) = harness.story(run.id).notes
    assert (note.kind, note.name, note.value, note.fence, note.at) == (
        "step",
        "fetch",
        '{"文": 1}',
        run.fence,
        harness.at(4),
    )


def of_a_step_the_first_write_wins(harness: Harness) -> None:
    harness.activate()
    run = harness.running()
    assert _note(harness, run, value="1")
    assert _note(harness, run, value="2")
    assert _notes(harness, run) == {("step", "fetch"): "1"}


def intent_and_done_of_an_effect_are_two_remarks(harness: Harness) -> None:
    harness.activate()
    run = harness.running()
    for kind, value in (("intent", "1"), ("done", "2"), ("intent", "3"), ("done", "4")):
        assert _note(harness, run, kind, "pay", value)
    assert _notes(harness, run) == {("intent", "pay"): "1", ("done", "pay"): "2"}


def progress_is_overwritten(harness: Harness) -> None:
    harness.activate()
    run = harness.running()
    _note(harness, run, "progress", "", "0.1")
    _note(harness, run, "progress", "", "0.7")
    assert _notes(harness, run) == {("progress", ""): "0.7"}


def that_effects_started_is_kept(harness: Harness) -> None:
    harness.activate()
    run = harness.running()
    assert _note(harness, run, "effects", "", "true")
    assert _notes(harness, run) == {("effects", ""): "true"}


def names_do_not_touch_each_other(harness: Harness) -> None:
    harness.activate()
    run, other = harness.running("a"), harness.running("b")
    _note(harness, run, name="fetch", value="1")
    _note(harness, run, name="Fetch", value="2")
    _note(harness, other, name="fetch", value="3")
    assert _notes(harness, run) == {("step", "fetch"): "1", ("step", "Fetch"): "2"}
    assert _notes(harness, other) == {("step", "fetch"): "3"}


def steps_survive_a_retry(harness: Harness) -> None:
    harness.activate()
    run = harness.running()
    _note(harness, run)
    harness.end(run, Event.FAIL_RETRY, at=2, due_at=harness.at(3))
    again = harness.take_one("w2", at=3)
    assert _note(harness, again, value="2", worker="w2", at=4)
    assert _notes(harness, run) == {("step", "fetch"): "1"}


def steps_survive_a_takeover(harness: Harness) -> None:
    harness.activate()
    run = harness.running()
    _note(harness, run)
    look = harness.take_one("w2", at=31)
    harness.start(look, worker="w2", at=31, event=Event.TAKEOVER)
    assert _notes(harness, run) == {("step", "fetch"): "1"}
    assert _note(harness, harness.row(run.id), name="next", worker="w2", at=32)


def a_holder_that_lost_its_lease_is_refused_and_counted(harness: Harness) -> None:
    harness.activate()
    run = harness.running()
    harness.take_one("w2", at=31)
    before = harness.store.tallies().stale_refused
    assert not _note(harness, run, at=32)
    assert harness.store.tallies().stale_refused == before + 1
    assert _notes(harness, run) == {}


def a_holder_whose_lease_lapsed_unseen_may_still_write(harness: Harness) -> None:
    harness.activate()
    run = harness.running()
    assert _note(harness, run, at=100)


def a_look_writes_no_remarks(harness: Harness) -> None:
    harness.activate()
    look = harness.looked_at()
    assert not _note(harness, look)


def after_the_end_nothing_is_written(harness: Harness) -> None:
    harness.activate()
    run = harness.running()
    harness.end(run, at=1)
    assert not _note(harness, run, at=2)
    assert _notes(harness, run) == {}


def a_fence_that_was_never_given_writes_nothing(harness: Harness) -> None:
    harness.activate()
    run = harness.running()
    assert not _note(harness, run, fence=run.fence + 1)
    assert not _note(harness, run, fence=run.fence - 1)


def an_occurrence_that_never_was_takes_no_remark(harness: Harness) -> None:
    assert not harness.store.note_if_held("w1", 9999, 1, Note(kind="step", name="x", value="1"), at=harness.at(0))


def a_run_that_was_asked_to_cancel_may_still_write(harness: Harness) -> None:
    harness.activate()
    run = harness.running()
    harness.act("cancel", occurrence_id=run.id)
    assert _note(harness, run)


def who_only_looks_at_a_run_that_lapsed_writes_nothing_down_for_it(harness: Harness) -> None:
    harness.activate()
    run = harness.running()
    look = harness.take_one("w2", at=LEASE / SECOND)
    assert (look.id, look.state, look.looking) == (run.id, State.RUNNING, True)
    assert not _note(harness, look, worker="w2", at=LEASE / SECOND)
    assert _notes(harness, run) == {}
