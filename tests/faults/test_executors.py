"""Jobs as coroutines, threads, processes and commands, by a real worker in this process."""

from __future__ import annotations

import json
import os
import queue
import secrets
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from noonmark.core import reasons
from noonmark.core.model import SECOND, Job, Manual, Occurrence, Origin, Query, Retry, State
from noonmark.core.series import row_for_call
from noonmark.engine import groups
from noonmark.engine.activate import declare
from noonmark.engine.context import Context, ContextSync
from noonmark.engine.errors import DoNotRetry
from noonmark.engine.executor import ThreadPool
from noonmark.engine.registry import Registry
from noonmark.engine.signals import Finished, Happening
from noonmark.engine.worker import Worker
from noonmark.explain.fragments import short_error
from noonmark.explain.why import why
from noonmark.stores.memory import MemoryStore
from noonmark.testing.servers import wait_until


class Bench:
    """One worker on a memory store; every wait is for the worker's own word."""

    def __init__(self) -> None:
        self.store = MemoryStore()
        self.registry = Registry()
        self.told: queue.SimpleQueue[Happening] = queue.SimpleQueue()
        self.worker: Worker | None = None

    def run(self, fn: Callable[..., Any] | None, *, at_most: float = 60, **fields: Any) -> Occurrence:
        """Run a function (or the job's own text) once, to its end."""
        params = fields.pop("with_params", {})
        job = Job(**{"name": "work", "trigger": Manual(), "reason": "a test", "retry": Retry(max=0), **fields})
        if fn is None:
            self.registry.declare(job)
        else:
            self.registry.add(job, fn)
        declare(self.store, [job], actor="test")
        now = self.store.now()
        row = row_for_call(
            job, request_id="r", due_at=now, params=params, key=None, revision=1, now=now, origin=Origin.LATER
        )
        id_ = self.store.add(secrets.token_hex(4), [row])[0].id
        self.worker = Worker(self.store, self.registry, observer=self.told.put, grace=SECOND)
        self.worker.start()
        end = time.monotonic() + at_most
        while not isinstance(self.told.get(timeout=max(0.01, end - time.monotonic())), Finished):
            pass
        return self.store.occurrences(Query(ids=(id_,)))[0]

    def close(self) -> None:
        """End the worker."""
        if self.worker is not None:
            self.worker.stop(grace=0)
        self.store.close()


@pytest.fixture
def bench() -> Iterator[Bench]:
    """A bench that is cleared after the test."""
    made = Bench()
    yield made
    made.close()


# --- functions that run here and in a child interpreter ---------------------------------------------


def sync_job(ctx: ContextSync, number: int) -> Any:
    first = ctx.step("double", lambda: number * 2)
    again = ctx.step("double", lambda: 1 / 0)
    receipt = ctx.once("pay", lambda: "receipt")
    ctx.progress(1, 2, "half")
    ctx.signal("done")
    return {"first": first, "again": again, "receipt": receipt, "key": ctx.key, "pid": os.getpid(), "lost": ctx.lost}


async def async_job(number: int, context: Context) -> Any:
    async def double() -> int:
        return number * 2

    first = await context.step("double", double)
    again = await context.step("double", lambda: 1 / 0)
    receipt = await context.once("pay", lambda: "receipt")
    await context.progress(1, 2, "half")
    await context.signal("done")
    return {"first": first, "again": again, "receipt": receipt, "key": context.key, "pid": os.getpid(), "lost": False}


def leaves() -> None:
    os._exit(7)


def raises() -> None:
    raise DoNotRetry("no use")


def hangs() -> None:
    time.sleep(60)


def leaves_a_child() -> int:
    return subprocess.Popen(["sleep", "61"]).pid


def odd() -> object:
    return object()


@pytest.mark.parametrize("fn", [sync_job, async_job])
@pytest.mark.parametrize("isolation", ["", "process"])
def test_the_context_offers_the_same_in_every_kind_of_run(bench: Bench, fn: Any, isolation: str) -> None:
    row = bench.run(fn, isolation=isolation, with_params={"number": 21, "unused": 1})

    assert (row.state, row.error) == (State.SUCCESS, None)
    result = json.loads(row.result or "null")
    assert (result["first"], result["again"], result["receipt"]) == (42, 42, "receipt")
    assert (result["key"], result["lost"]) == (row.key, False)
    assert (result["pid"] != os.getpid()) is (isolation == "process")
    assert bench.store.facts(["flag:done"])["flag:done"].is_set
    notes = {(note.kind, note.name) for note in bench.store.story(row.id).notes}  # type: ignore[union-attr]
    assert notes >= {("step", "double"), ("intent", "pay"), ("done", "pay"), ("progress", "progress")}


def test_a_process_that_exits_the_interpreter_is_a_failed_run_with_its_exit_code(bench: Bench) -> None:
    row = bench.run(leaves, isolation="process")
    assert (row.state, row.code) == (State.FAILED_MANUAL, "failed_final")
    assert "exit code 7" in (row.error or "")


def test_an_exception_travels_home_from_a_process(bench: Bench) -> None:
    row = bench.run(raises, isolation="process")
    assert (row.state, row.code) == (State.FAILED_MANUAL, "not_retryable")
    assert "no use" in (row.error or "")


def test_an_unserialisable_result_of_a_process_is_a_success_that_says_so(bench: Bench) -> None:
    row = bench.run(odd, isolation="process")
    assert (row.state, row.code, row.result) == (State.SUCCESS, "result_not_stored", None)


def test_a_hanging_process_is_killed_at_its_timeout(bench: Bench) -> None:
    row = bench.run(hangs, isolation="process", timeout=SECOND)
    assert (row.state, row.code) == (State.FAILED_MANUAL, "timed_out")


def test_a_hanging_thread_is_told_and_given_up_at_its_timeout(bench: Bench) -> None:
    told = threading.Event()

    def hang(ctx: ContextSync) -> None:
        while not ctx.lost:
            time.sleep(0.01)
        told.set()

    row = bench.run(hang, timeout=SECOND)
    assert (row.state, row.code) == (State.FAILED_MANUAL, "timed_out")
    assert told.wait(5), "the thread was not told"


def test_a_thread_that_does_not_stop_is_told_to_be_running_still(bench: Bench) -> None:
    end = threading.Event()
    try:
        row = bench.run(lambda: end.wait(30), timeout=SECOND)
    finally:
        end.set()
    assert (row.state, row.code) == (State.FAILED_MANUAL, "timed_out_running")
    said = reasons.sentence(row.code, json.loads(row.detail))
    assert said.startswith(
        "It took longer than its timeout of 1 s and did not stop when told to: it may still be running"
    )


def test_a_command_knows_its_run_and_its_output_is_kept(bench: Bench) -> None:
    script = "import os; print(os.environ['NOONMARK_JOB'], os.environ['NOONMARK_KEY'], os.environ['NOONMARK_PARAMS'])"
    row = bench.run(None, command=(sys.executable, "-c", script), with_params={"城市": "上海"})
    assert row.state is State.SUCCESS, row.error
    assert f"work {row.key}" in (row.result or "")
    assert "上海" in (row.result or "")


def test_a_command_fails_by_its_exit_code_and_its_last_output_is_kept(bench: Bench) -> None:
    script = "import sys; print('x' * 100_000); print('what went wrong', file=sys.stderr); sys.exit(3)"
    row = bench.run(None, command=(sys.executable, "-c", script))
    assert row.state is State.FAILED_MANUAL
    assert (row.error or "").rstrip().endswith("what went wrong")
    assert len(row.error or "") < 10_000
    assert (row.error or "").startswith("exit code 3: what went wrong\n"), "however much it printed"
    assert short_error(row.error) == "exit code 3: what went wrong"
    assert json.loads(row.detail)["error"] == "exit code 3: what went wrong"


def test_a_command_that_said_nothing_fails_by_its_number_alone(bench: Bench) -> None:
    row = bench.run(None, command=(sys.executable, "-c", "print('done'); raise SystemExit(4)"))
    assert row.error == "exit code 4\ndone\n"
    assert json.loads(row.detail)["error"] == "exit code 4"


def test_a_command_that_does_not_exist_fails_with_a_reason(bench: Bench) -> None:
    row = bench.run(None, command=("no-such-program-anywhere",))
    assert (row.state, row.code) == (State.FAILED_MANUAL, "start_failed")


def test_a_hanging_command_and_its_children_are_killed_even_if_they_ignore_sigterm(
    bench: Bench, tmp_path: Path
) -> None:
    pids = tmp_path / "pids"
    command = ("sh", "-c", f"trap '' TERM; sleep 61 & echo $! $$ > {pids}; wait; wait; sleep 61")
    row = bench.run(None, command=command, timeout=SECOND)
    assert (row.state, row.code) == (State.FAILED_MANUAL, "timed_out")
    for pid in pids.read_text().split():
        end = time.monotonic() + 3
        while _lives(int(pid)):
            assert time.monotonic() < end, "something outlived the kill"
            time.sleep(0.01)


@pytest.mark.parametrize("trap", ["", "trap '' TERM; "])
@pytest.mark.parametrize("code", [0, 3])
def test_what_a_command_leaves_behind_is_ended_with_it_and_said(
    bench: Bench, tmp_path: Path, caplog: pytest.LogCaptureFixture, trap: str, code: int
) -> None:
    pids = tmp_path / "pids"
    script = f"{trap}sleep 61 & echo $! > {pids}; exit {code}"
    row = bench.run(None, command=("sh", "-c", script))
    assert row.state is (State.FAILED_MANUAL if code else State.SUCCESS)
    assert not _lives(int(pids.read_text()))
    assert json.loads(row.detail)["left_behind"] == 1
    assert "left 1 of its processes behind; they were ended" in caplog.text
    told = why(bench.store, occurrence_id=row.id)
    assert any("left 1 behind" in line for line in told.lines)


def test_what_a_process_of_python_leaves_behind_is_ended_with_it(bench: Bench) -> None:
    row = bench.run(leaves_a_child, isolation="process")
    assert row.state is State.SUCCESS, row.error
    assert not _lives(json.loads(row.result or "0"))
    assert json.loads(row.detail)["left_behind"] == 1


def test_a_run_that_failed_and_has_tries_left_is_told_to_have_left_no_process_behind(bench: Bench) -> None:
    row = bench.run(None, command=("sh", "-c", "exit 3"), retry=Retry(max=2, base=600 * SECOND))
    assert (row.state, json.loads(row.detail)["left"]) == (State.FAILED_RETRYING, 2)
    told = why(bench.store, occurrence_id=row.id)
    assert not any("behind" in line for line in told.lines), told.lines


def test_what_a_command_leaves_behind_is_told_beside_how_many_tries_are_left(bench: Bench) -> None:
    row = bench.run(None, command=("sh", "-c", "sleep 61 & exit 3"), retry=Retry(max=2, base=600 * SECOND))
    detail = json.loads(row.detail)
    assert (row.state, detail["left"], detail["left_behind"]) == (State.FAILED_RETRYING, 2, 1)


def test_what_another_user_runs_is_told_to_go_on(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("noonmark.engine.process.end_group", lambda *_: (3, 2))
    row = bench.run(None, command=("true",))
    detail = json.loads(row.detail)
    assert (detail["left_behind"], detail["left_running"]) == (1, 2)
    told = "\n".join(why(bench.store, occurrence_id=row.id).lines)
    assert "left 1 behind" in told
    assert "left 2 behind that could not be ended" in told


def test_what_ends_by_itself_right_after_its_command_was_not_left_behind(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(groups, "BY_ITSELF", 20.0)  # a busy machine is slow to end anything
    row = bench.run(None, command=("sh", "-c", "sleep 0.03 & exit 0"))
    assert (row.state, row.detail) == (State.SUCCESS, "{}")


def test_what_has_a_session_of_its_own_lives_on(bench: Bench) -> None:
    script = "import subprocess; print(subprocess.Popen(['sleep', '61'], start_new_session=True).pid)"
    row = bench.run(None, command=(sys.executable, "-W", "ignore", "-c", script))
    pid = int(json.loads(row.result or "{}")["stdout"])
    try:
        assert (row.detail, _lives(pid)) == ("{}", True)
    finally:
        os.kill(pid, signal.SIGKILL)


def test_a_process_that_only_waits_to_be_heard_of_is_not_left_in_its_group() -> None:
    with subprocess.Popen(["true"], start_new_session=True) as process:
        end = time.monotonic() + 10
        while groups.left_in(process.pid):
            assert time.monotonic() < end, "a dead process counts as one that lives"
            time.sleep(0.01)
        assert process.returncode is None, "nobody has heard of its end yet"


def test_a_job_that_ends_the_interpreter_in_a_thread_ends_its_run_only(bench: Bench) -> None:
    row = bench.run(lambda: sys.exit(3))
    assert row.state is State.FAILED_MANUAL
    assert bench.worker is not None
    assert bench.worker.is_running


def test_a_worker_can_be_stopped_before_it_began_and_after_it_ended() -> None:
    store = MemoryStore()
    worker = Worker(store, Registry())
    worker.start()
    worker.stop()
    worker.stop()
    assert not worker.is_running
    assert store.workers()[0].ended_at is not None
    store.close()


def _lives(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.skipif(sys.platform != "linux", reason="it is Linux that has signals without a name of their own")
@pytest.mark.parametrize(("number", "name"), [(9, "SIGKILL"), (36, "signal 36")])
def test_a_command_that_a_signal_ended_says_which_one(bench: Bench, number: int, name: str) -> None:
    row = bench.run(None, command=(sys.executable, "-c", f"import os; os.kill(os.getpid(), {number})"))
    assert (row.state, row.code) == (State.FAILED_MANUAL, "failed_final")
    assert row.error == f"killed by {name}"


def test_of_threads_that_were_needed_at_once_no_more_than_the_limit_stay_when_they_are_idle() -> None:
    pool, threads = ThreadPool(idle_limit=1), list[threading.Thread]()
    together = threading.Barrier(5)

    def work() -> None:
        threads.append(threading.current_thread())
        together.wait(10)

    for _ in range(4):
        pool.run(work)
    together.wait(10)
    wait_until(lambda: sum(thread.is_alive() for thread in threads) == 1, 10, "three surplus threads end")
    again = threading.Event()
    pool.run(again.set)
    assert again.wait(10), "the one that is left goes on working"
    pool.close()
    wait_until(lambda: not any(thread.is_alive() for thread in threads), 10, "the last one ends, too")
