"""Locks behind PgBouncer in transaction mode: a row works as ever, a session lock is refused.

PgBouncer comes from the system's packages.  Where there is none these tests are skipped with the remedy, and with
NOONMARK_SERVERS=all they fail.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import subprocess
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from noonmark.core.model import SECOND
from noonmark.locks import LockUnusable, open_locks
from noonmark.testing.locking import LockHarness, lock_cases
from noonmark.testing.servers import free_port, wait_until

PROGRAM = shutil.which("pgbouncer", path=f"{os.environ.get('PATH', '')}:/usr/sbin")
SETTINGS = """
[databases]
postgres = host=127.0.0.1 port={server} dbname=postgres user=postgres
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {port}
unix_socket_dir =
auth_type = any
auth_file = {folder}/users.txt
pool_mode = transaction
default_pool_size = 3
"""


@pytest.fixture(scope="module")
def pooler(postgres: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Where a few sessions serve everybody."""
    if PROGRAM is None:
        if os.environ.get("NOONMARK_SERVERS") == "all":
            pytest.fail("pgbouncer is not installed; to get it: apt-get install pgbouncer")
        pytest.skip("pgbouncer is not installed; to get it: apt-get install pgbouncer")
    folder, port = tmp_path_factory.mktemp("pooler"), free_port()
    (folder / "users.txt").write_text('"postgres" ""\n', encoding="utf-8")
    settings = SETTINGS.format(server=postgres.port, port=port, folder=folder)
    (folder / "pgbouncer.ini").write_text(settings, encoding="utf-8")
    is_root = os.geteuid() == 0  # PgBouncer refuses to be
    if is_root:
        for place in (folder, *folder.iterdir()):
            shutil.chown(place, "nobody")
        for above in folder.parents[:4]:  # pytest's own folders, one more of them under xdist
            if above.stat().st_mode & 0o011 != 0o011:
                above.chmod(above.stat().st_mode | 0o011)
    process = subprocess.Popen(
        [PROGRAM, "-q", str(folder / "pgbouncer.ini")], user="nobody" if is_root else None, stderr=subprocess.DEVNULL
    )

    def answers() -> bool:
        with contextlib.suppress(OSError):
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return True
        return False

    try:
        wait_until(answers, 10, "pgbouncer")
        yield f"postgresql://postgres@127.0.0.1:{port}/postgres"
    finally:
        process.terminate()
        process.wait(10)


def test_a_row_keeps_every_promise_behind_a_pooler(pooler: str, postgres: Any) -> None:
    def expire(name: str) -> None:
        with psycopg.connect(postgres.url, autocommit=True) as connection:
            connection.execute("UPDATE noonmark_locks.lease SET until_us = 1 WHERE name = %s", (name,))

    for case in lock_cases():
        with LockHarness(open_=lambda: open_locks(pooler), expire=expire) as harness:
            case.run(harness)


def test_a_session_lock_is_refused_behind_a_pooler_and_leaves_nothing_behind(pooler: str, postgres: Any) -> None:
    with contextlib.closing(open_locks(f"{pooler}?kind=advisory")) as locks:
        for _ in range(5):
            with pytest.raises(LockUnusable, match="pooler"):
                locks.acquire("a", 30 * SECOND, "t")
    with psycopg.connect(postgres.url, autocommit=True) as connection:
        held = connection.execute("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'").fetchone()
        assert held == (0,)
    with contextlib.closing(psycopg.connect(pooler, autocommit=True)) as pooled:
        limits = {pooled.execute("SHOW idle_session_timeout").fetchone() for _ in range(10)}
        assert limits == {("0",)}, "the pooler's sessions are not told to end"
