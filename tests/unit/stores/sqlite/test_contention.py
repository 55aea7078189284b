"""Two processes on one file: every row once, and never two of them inside one slot."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path

from noonmark.core.model import Query, State
from noonmark.stores.sqlite import SqliteStore
from noonmark.testing.builders import make_activation, make_caller_row

ROWS = 120

WORKER = textwrap.dedent(
    """
    import sys
    from pathlib import Path
    from noonmark.core.model import SECOND, Event, Gates, Settlement, State
    from noonmark.stores.sqlite import SqliteStore

    path, name, counter = sys.argv[1], sys.argv[2], Path(sys.argv[3])
    store = SqliteStore(path, synchronous="OFF")
    sys.stdin.readline()  # both begin together
    number, runs = 0, 0

    def request():
        global number
        number += 1
        return f"{name}-{number}"

    while store.tallies().by_state.get(State.SUCCESS, 0) < int(sys.argv[4]):
        for row in store.take(request(), name, limit=7, runnable={}, look_lease=30 * SECOND).rows:
            gates = Gates(revision=1, slot="slot:job:")
            start = Settlement(occurrence_id=row.id, fence=row.fence, event=Event.START, lease=30 * SECOND, gates=gates)
            (settled,) = store.settle(request(), name, [start])
            if settled.outcome == "applied":
                counter.write_text(str(int(counter.read_text()) + 1))  # only the slot makes this safe
                runs += 1
                end = Settlement(occurrence_id=row.id, fence=settled.fence, event=Event.SUCCEED)
            else:
                assert settled.changed == ("slot:job:",), settled
                end = Settlement(occurrence_id=row.id, fence=row.fence, event=Event.PARK, due_at=0)
            (ended,) = store.settle(request(), name, [end])
            assert ended.outcome == "applied", ended
    store.close()
    print(runs)
    """
)


def test_two_processes_count_exactly(tmp_path: Path) -> None:
    path, counter = tmp_path / "noonmark.db", tmp_path / "counter"
    counter.write_text("0")
    store = SqliteStore(path, synchronous="OFF")
    store.activate("a", [make_activation(effective_at=0)], actor="ada")
    store.add("b", [make_caller_row(str(n), at=store.now(), gated=True) for n in range(ROWS)])
    workers = [
        subprocess.Popen(
            [sys.executable, "-c", WORKER, str(path), name, str(counter), str(ROWS)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for name in ("w1", "w2")
    ]
    for worker in workers:
        assert worker.stdin is not None
        worker.stdin.write("go\n")
        worker.stdin.flush()
    runs = [int(worker.communicate(timeout=60)[0]) for worker in workers]
    assert [worker.returncode for worker in workers] == [0, 0]
    assert sum(runs) == ROWS
    assert counter.read_text() == str(ROWS)
    rows = store.occurrences(Query())
    assert {row.state for row in rows} == {State.SUCCESS}
    assert {row.attempt for row in rows} == {1}
    assert store.tallies().stale_refused == 0
    store.close()
