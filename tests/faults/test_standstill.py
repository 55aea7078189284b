"""A red cell says when the machine stood still, and where a worker was that did not come to its point."""

from __future__ import annotations

import signal
import sys
import time
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
from faults.cells import Stage
from faults.deaths import struck
from faults.nursery import Nursery
from faults.places import Places
from faults.site import COMES
from faults.stillness import NAP, Stillness


def test_a_late_nap_is_told_to_the_cells_that_were_under_way() -> None:
    with Stillness(nap=100.0, long=1.0) as stillness:
        stillness.note(0.0, 100.0)
        stillness.note(100.0, 200.9)
        assert stillness.told(0.0) == []
        stillness.note(300.0, 409.8)
        assert stillness.told(250.0) == [
            "this machine, or this process, stood still for 9.8 s, 50.0 s after the cell began"
        ]
        assert stillness.told(305.0) == [
            "this machine, or this process, stood still for 9.8 s, 0.0 s after the cell began"
        ]
        assert stillness.told(410.0) == [], "it was over before this cell began"


def test_its_own_naps_are_no_standstill() -> None:
    with Stillness(long=0.0) as stillness:
        end = time.monotonic() + 30
        while len(stillness.told(0.0)) < 2 and time.monotonic() < end:
            time.sleep(NAP)
        assert len(stillness.told(0.0)) >= 2, "every nap is a little late, and is seen"


@pytest.mark.skipif(sys.platform != "linux", reason="its workers are forked by Linux")
def test_a_worker_that_does_not_come_to_its_point_says_where_it_stands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    places, nursery = Places(), Nursery()
    stage = Stage(store="sqlite", folder=tmp_path, places=places, nursery=nursery)
    try:
        site = stage.site()
        site.sched.declare()
        worker = site.worker("--no-ticks")
        site.wait(lambda: "runs 9 jobs" in site.said(), "the worker")
        said = site.where(worker)
        assert worker.wait(COMES) == -signal.SIGKILL
        monkeypatch.setattr("faults.deaths.COMES", 0.1)
        assert "exit code" in struck(site, "no such point", "kill", "looked", -signal.SIGKILL)
    finally:
        stage.close()
        nursery.close()
        places.close()
    assert "runs 9 jobs" in said, "the worker's own log"
    assert "Current thread" in said, "the stack of its threads"
    assert "faults/worker.py" in said, "the stack of its threads"
