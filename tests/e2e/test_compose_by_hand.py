"""What docker-compose.yml says, done by hand: its server, its three workers, its commands; only containers are missing."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from noonmark.testing import servers

ROOT = Path(__file__).resolve().parents[2]
COMPOSE: Any = YAML(typ="safe").load((ROOT / "docker-compose.yml").read_text(encoding="utf-8"))


@pytest.fixture(params=["redis", "postgres"])
def service(request: pytest.FixtureRequest) -> Iterator[tuple[str, str]]:
    """A store's profile, and its worker's NOONMARK_URL with the server's real place in it."""
    url = re.sub(
        r"\$\{\w+:-(\w+)\}", r"\1", COMPOSE["services"][f"worker-{request.param}"]["environment"]["NOONMARK_URL"]
    )
    if request.param == "redis":
        command = COMPOSE["services"]["redis"]["command"]
        options = {name.removeprefix("--"): value for name, value in zip(command[1::2], command[2::2], strict=True)}
        with servers.start_redis(kind="valkey", options=options) as server:
            yield "redis", url.replace("redis:6379", f"127.0.0.1:{server.port}")
        return
    settings = {
        name: re.sub(r"\$\{\w+:-(\w+)\}", r"\1", value)
        for name, value in COMPOSE["services"]["postgres"]["environment"].items()
    }
    with servers.start_postgres(options=servers.FORGETFUL) as postgres:
        make_owner(postgres.url, settings)
        yield "postgres", url.replace("@postgres:5432", f"@127.0.0.1:{postgres.port}")


def make_owner(url: str, settings: dict[str, str]) -> None:
    """Make the user and the database that PostgreSQL's image makes of its environment."""
    from psycopg import connect, sql

    name, database = sql.Identifier(settings["POSTGRES_USER"]), sql.Identifier(settings["POSTGRES_DB"])
    with connect(url, autocommit=True) as connection:
        connection.execute(sql.SQL("CREATE ROLE {} LOGIN PASSWORD {}").format(name, settings["POSTGRES_PASSWORD"]))
        connection.execute(sql.SQL("CREATE DATABASE {} OWNER {}").format(database, name))


def ask(environment: dict[str, str], *args: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "noonmark.faces.cli", *args, "--json"]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=False)


def awake(environment: dict[str, str]) -> int:
    """Count the workers that are awake; there is no store yet before the first of them has made it (exit code 4)."""
    done = ask(environment, "leases")
    assert done.returncode in (0, 4), done.stdout + done.stderr
    return sum(worker["awake"] for worker in json.loads(done.stdout).get("workers", ()))


def call(environment: dict[str, str], *args: str) -> dict[str, Any]:
    done = ask(environment, *args)
    assert done.returncode == 0, done.stdout + done.stderr
    return dict(json.loads(done.stdout))


@pytest.mark.timeout(120)
def test_three_workers_of_the_compose_file_share_the_work_and_survive_a_kill(
    service: tuple[str, str], tmp_path: Path
) -> None:
    store, url = service
    sources = [ROOT / "src", ROOT / "apps/researchcopilot/src"]
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith("NOONMARK_")},
        "NOONMARK_URL": url,
        "RESEARCHCOPILOT_DATA": str(tmp_path),
        "RESEARCHCOPILOT_CORPUS": str(ROOT / "docs"),
        "PYTHONPATH": os.pathsep.join(map(str, sources)),
        "LANG": "C.UTF-8",
    }
    worker = COMPOSE["services"][f"worker-{store}"]
    command = [sys.executable, "-m", "noonmark.faces.cli", *worker["command"]]
    processes = [
        subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for _ in range(worker["deploy"]["replicas"])
    ]
    try:
        deadline = time.monotonic() + 60
        while awake(environment) < len(processes):
            assert time.monotonic() < deadline
            assert all(process.poll() is None for process in processes)
        processes[0].kill()
        call(environment, "run", "patrol_dead_letters", "--reason", "to see it run")
        while call(environment, "history", "patrol_dead_letters")["occurrences"][0]["state"] != "SUCCESS":
            assert time.monotonic() < deadline
        found = {finding["code"]: finding["level"] for finding in call(environment, "doctor")["findings"]}
        assert "refuse" not in found.values()
        assert call(environment, "verify", "--since", "10m")["ok"] is True
        for process in processes[1:]:
            process.send_signal(signal.SIGTERM)
        assert [process.wait(30) for process in processes[1:]] == [0, 0]
    finally:
        for process in processes:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            process.wait()
