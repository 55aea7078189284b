"""A process that is stopped in the middle of a transaction holds others up for a bounded time, and harms nothing."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import psycopg

from noonmark.core.model import Act
from noonmark.stores.postgres import open_postgres
from noonmark.stores.postgres.link import IDLE_IN_TRANSACTION_MS
from noonmark.testing.builders import make_activation, make_caller_row
from noonmark.testing.servers import Postgres

STOPPED = """
import os, signal, sys
from noonmark.stores.postgres import open_postgres
from noonmark.stores.postgres.settling import LOCK
store = open_postgres(sys.argv[1])

def work(session):
    session.begin((LOCK, ("{%s}" % sys.argv[2],)))
    print("holds it", flush=True)
    os.kill(os.getpid(), signal.SIGSTOP)
    session.commit()

store._pool.run(work)
"""


def test_a_worker_stopped_with_row_locks_stalls_others_for_five_seconds_only(postgres: Postgres) -> None:
    schema = f"stopped_{os.getpid()}"
    url = f"{postgres.url}?schema={schema}"
    store = open_postgres(url)
    try:
        now = store.now()
        store.activate("begin", [make_activation(effective_at=now)], actor="test")
        (row,) = store.add("row", [make_caller_row("a", at=now + 3_600_000_000)])
        child = subprocess.Popen([sys.executable, "-c", STOPPED, url, str(row.id)], stdout=subprocess.PIPE, text=True)
        try:
            assert child.stdout is not None
            assert child.stdout.readline() == "holds it\n"
            began = time.monotonic()
            acted = store.act("cancel", Act(kind="cancel", actor="test", reason="it waits", occurrence_id=row.id))
            waited = time.monotonic() - began
            assert acted.outcome == "done"
            assert 2 < waited < IDLE_IN_TRANSACTION_MS / 1000 + 2
        finally:
            child.send_signal(signal.SIGCONT)
            child.kill()
            child.communicate()
    finally:
        store.close()
        with psycopg.connect(postgres.url, autocommit=True) as admin:
            admin.execute(f'DROP SCHEMA "{schema}" CASCADE'.encode())
