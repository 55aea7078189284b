"""Behind PgBouncer in transaction mode, with fewer sessions than clients: everything but NOTIFY.

PgBouncer comes from the system's packages.  Where there is none these tests are skipped with the remedy, and with
NOONMARK_SERVERS=all they fail.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from noonmark.ports.store import Capability, StoreUnusable
from noonmark.stores.postgres import open_postgres
from noonmark.testing.conformance import Harness, cases
from noonmark.testing.contention import contend
from noonmark.testing.servers import Postgres, free_port, wait_until

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
default_pool_size = 2
max_client_conn = 200
logfile = {folder}/log
"""


@pytest.fixture(scope="module")
def pooler(postgres: Postgres) -> Iterator[str]:
    """Where two sessions serve everybody."""
    if PROGRAM is None:
        if os.environ.get("NOONMARK_SERVERS") == "all":
            pytest.fail("pgbouncer is not installed; to get it: apt-get install pgbouncer")
        pytest.skip("pgbouncer is not installed; to get it: apt-get install pgbouncer")
    with tempfile.TemporaryDirectory(prefix="noonmark-pooler-") as place:
        folder, port = Path(place), free_port()
        (folder / "users.txt").write_text('"postgres" ""\n', encoding="utf-8")
        settings = SETTINGS.format(server=postgres.port, port=port, folder=folder)
        (folder / "pgbouncer.ini").write_text(settings, encoding="utf-8")
        user = "nobody" if os.geteuid() == 0 else None  # PgBouncer refuses to be root
        if user is not None:
            for each in (folder, *folder.iterdir()):
                shutil.chown(each, user)
        process = subprocess.Popen([PROGRAM, "-q", str(folder / "pgbouncer.ini")], user=user, stderr=subprocess.DEVNULL)
        try:
            wait_until(lambda: _answers(port), 10, "pgbouncer", lambda: (folder / "log").read_text(encoding="utf-8"))
            yield f"postgresql://postgres@127.0.0.1:{port}/postgres"
        finally:
            process.terminate()
            process.wait(10)


def _answers(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
    except OSError:
        return False
    return True


def test_every_verb_works_through_it(pooler: str, schema: str, admin: object) -> None:
    for number, case in enumerate(cases()[::12]):
        name = f"{schema}_{number}"
        store = open_postgres(f"{pooler}?pooler=transaction&schema={name}")
        try:
            case.run(Harness(store))
        finally:
            store.close()
            admin.execute(f'DROP SCHEMA "{name}" CASCADE')  # type: ignore[attr-defined]


def test_workers_that_fight_for_rows_through_it_run_each_once(pooler: str, schema: str, tmp_path: Path) -> None:
    url = f"{pooler}?pooler=transaction&schema={schema}"
    store = open_postgres(url)
    try:
        contend(store, tmp_path, url=url, workers=3, rounds=30).check()
    finally:
        store.close()


def test_what_is_lost_is_said(pooler: str, schema: str) -> None:
    store = open_postgres(f"{pooler}?pooler=transaction&schema={schema}")
    try:
        assert Capability.NOTIFY not in store.capabilities
        before = set(threading.enumerate())
        store.listen(lambda: None)()
        assert set(threading.enumerate()) <= before, "nobody listens where nothing can be heard"
    finally:
        store.close()


def test_whoever_does_not_know_of_it_is_told(pooler: str, schema: str) -> None:
    def open_often() -> None:
        for _ in range(3):  # as soon as two clients are given one session
            open_postgres(f"{pooler}?schema={schema}").close()

    with pytest.raises(StoreUnusable, match="pooler=transaction"):
        open_often()
