"""Workers that are killed, stopped, blocked and told to end."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import apsw

from noonmark.core.model import SECOND, State

sys.path.insert(0, str(Path(__file__).parent))
import faultjobs
from fleet import Fleet, wait_for

TTL = faultjobs.LEASE / SECOND


def test_a_killed_worker_s_run_is_taken_over_within_ttl_and_its_steps_are_kept(fleet: Fleet) -> None:
    first = fleet.worker()
    id_ = fleet.later(faultjobs.job("steps"))
    wait_for(lambda: fleet.effects("working"), what="the run")
    second = fleet.worker()
    wait_for(lambda: len(fleet.store.workers()) == 2, what="the second worker")

    first.kill()
    killed = time.monotonic()
    wait_for(lambda: len(fleet.effects("working")) == 2, what="the takeover")
    took = time.monotonic() - killed
    row = wait_for(lambda: (row := fleet.row(id_)).state is State.SUCCESS and row, what="the success")

    assert took <= TTL + 1.5, f"the takeover took {took:.1f} s"
    assert len(fleet.effects("fetch")) == 1, "the step was done twice"
    assert fleet.effects("sent") == [f"sent {second.pid}"]
    assert (row.result, row.attempt, row.takeovers) == ('"token"', 2, 1)


def test_a_worker_stopped_past_its_lease_is_refused_when_it_continues(fleet: Fleet) -> None:
    first = fleet.worker()
    id_ = fleet.later(faultjobs.job("stuck"))
    wait_for(lambda: fleet.effects("begin-1"), what="the run")
    first.send_signal(signal.SIGSTOP)
    fleet.worker()
    row = wait_for(lambda: (row := fleet.row(id_)).state is State.SUCCESS and row, what="the takeover")
    assert row.started_at is not None
    before = fleet.store.tallies().stale_refused

    first.send_signal(signal.SIGCONT)
    wait_for(lambda: fleet.store.tallies().stale_refused > before, what="the refusal")

    assert fleet.effects("end-1"), "the case needs a copy that goes on"
    assert fleet.row(id_).result == '"attempt 2"'
    assert len(fleet.effects("end-2")) == 1


def test_a_job_that_blocks_its_loop_keeps_its_lease_and_others_are_still_run(fleet: Fleet) -> None:
    fleet.worker()
    blocked = fleet.later(faultjobs.job("blocker"))
    wait_for(lambda: fleet.effects("block"), what="the blocking job")
    fleet.worker("--jobs", "blocker")  # somebody who would take it over
    asked = time.monotonic()
    fleet.later(faultjobs.job("quick"))
    wait_for(lambda: fleet.effects("quick"), what="the quick job")
    assert time.monotonic() - asked < 1.0, "the blocked loop delayed a thread job"

    row = wait_for(lambda: (row := fleet.row(blocked)).state is State.SUCCESS and row, what="the blocking job")
    assert (row.attempt, row.lost) == (1, 0), "the lease was lost"
    assert len(fleet.effects("block")) == 1


def test_sigterm_hands_runs_back_and_nothing_is_lost(fleet: Fleet) -> None:
    first = fleet.worker("--grace", "0.3")
    id_ = fleet.later(faultjobs.job("long", lease=60 * SECOND))
    wait_for(lambda: fleet.effects("long"), what="the run")
    second = fleet.worker("--grace", "0.3")
    wait_for(lambda: len(fleet.store.workers()) == 2, what="the second worker")

    first.send_signal(signal.SIGTERM)
    assert first.wait(timeout=10) == 0
    row = wait_for(lambda: (row := fleet.row(id_)).state is State.SUCCESS and row, what="the second start")

    assert (row.attempt, row.takeovers) == (1, 0), "a run handed back costs no attempt"
    assert fleet.effects("long")[-1] == f"long {second.pid}"


def test_a_run_is_stopped_when_its_lease_cannot_be_renewed_and_starts_again_when_the_store_is_back(
    fleet: Fleet,
) -> None:
    worker = fleet.worker()
    id_ = fleet.later(faultjobs.job("attentive"))
    wait_for(lambda: fleet.effects("attentive"), what="the run")
    locker = apsw.Connection(str(fleet.path))
    locker.setbusytimeout(5000)
    locker.execute("BEGIN IMMEDIATE")
    locked = time.monotonic()
    wait_for(lambda: fleet.effects("cancelled"), what="the end of trust")
    assert time.monotonic() - locked <= TTL + 0.3, "the run went on after its lease could lapse"
    locker.execute("ROLLBACK")
    locker.close()

    row = wait_for(lambda: (row := fleet.row(id_)).state is State.SUCCESS and row, what="the second attempt")
    assert (row.attempt, row.takeovers) == (2, 1)
    assert worker.poll() is None, "no worker exits because its store went away"


def test_a_process_job_and_its_children_die_with_the_worker(fleet: Fleet) -> None:
    worker = fleet.worker()
    fleet.later(faultjobs.job("family", isolation="process"))
    line = wait_for(lambda: fleet.effects("child"), what="the grandchild")[0]
    child = int(line.split()[1])

    worker.kill()
    wait_for(lambda: not _lives(child), at_most=60, what="the end of the grandchild")


def _lives(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_a_second_sigterm_does_not_wait_for_the_grace(fleet: Fleet) -> None:
    worker = fleet.worker("--grace", "60")
    id_ = fleet.later(faultjobs.job("long", lease=60 * SECOND))
    wait_for(lambda: fleet.effects("long"), what="the run")

    worker.send_signal(signal.SIGTERM)
    wait_for(lambda: _is_asked_to_stop(worker.pid), what="the first signal to arrive")
    worker.send_signal(signal.SIGTERM)

    assert worker.wait(timeout=8) == 0
    row = fleet.row(id_)
    assert (row.state, row.attempt, row.holder) == (State.PENDING, 0, "")


def _is_asked_to_stop(pid: int) -> bool:
    """A handled signal is no longer pending; two pending ones of the same number would arrive as one."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    pending = [int(line.split()[1], 16) for line in lines if line.startswith(("SigPnd", "ShdPnd"))]
    return not any(mask & (1 << (signal.SIGTERM - 1)) for mask in pending)


DEAF = """
import signal, sys, threading
from noonmark import Scheduler, manual

sched = Scheduler(sys.argv[1], rules=False)

@sched.job(manual(), reason="x")
def quick(): ...

def tell():
    signal.pthread_kill(threading.get_ident(), signal.SIGTERM)

threading.Timer(1.0, tell).start()
sched.run()
sched.close()
"""


def test_a_sigterm_that_the_system_hands_to_another_thread_is_heard_all_the_same(tmp_path: Path) -> None:
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    command = [sys.executable, "-c", DEAF, f"sqlite:///{tmp_path / 'noonmark.db'}"]
    with subprocess.Popen(command, env=env) as worker:
        try:
            assert worker.wait(timeout=15) == 0
        finally:
            worker.kill()
