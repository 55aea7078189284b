"""``noonmark demo --url``: the same play on a server, in a namespace of its own that is gone afterwards."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

import noonmark
from noonmark.core.urls import with_option
from noonmark.testing import servers
from noonmark.wiring import open_store

ENVIRONMENT = {
    **{name: value for name, value in os.environ.items() if not name.startswith(("NOONMARK_", "OPENAI_"))},
    "LANG": "C.UTF-8",
    "PYTHONPATH": str(Path(noonmark.__file__).parents[1]),
}


@pytest.fixture(params=["redis", "postgres"])
def place(request: pytest.FixtureRequest) -> Iterator[tuple[str, servers.Redis | servers.Postgres]]:
    """The URL of somebody's own namespace on a server, and the server."""
    mine = f"mine_{uuid.uuid4().hex[:8]}"
    if request.param == "redis":
        with servers.start_redis(options={"appendonly": "yes"}) as redis:
            yield with_option(redis.url, "namespace", mine), redis
        return
    postgres = request.getfixturevalue("postgres")
    yield with_option(postgres.url, "schema", mine), postgres


def held(url: str) -> set[str]:
    """Everything that a server holds, by name."""
    plain = url.partition("?")[0]
    if plain.startswith("redis"):
        import redis

        with contextlib.closing(redis.Redis.from_url(plain, decode_responses=True)) as client:
            return {re.sub(r"(\}:[a-z]+):.*", r"\1", str(name)) for name in client.scan_iter("*")}
    import psycopg

    with psycopg.connect(plain) as connection:
        rows = connection.execute("SELECT nspname FROM pg_namespace WHERE nspname NOT LIKE 'pg_temp%'").fetchall()
    return {str(row[0]) for row in rows if not str(row[0]).startswith("pg_")}


def demo(folder: Path, url: str, *options: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "noonmark.faces.cli", "demo", "--url", url, "--seconds", "45", "--lang", "en"]
    return subprocess.Popen(
        [*command, *options],
        cwd=folder,
        env=ENVIRONMENT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


@pytest.mark.long(48)
@pytest.mark.timeout(240)
def test_the_demo_plays_on_a_server_and_touches_nothing_else(
    place: tuple[str, servers.Redis | servers.Postgres], tmp_path: Path
) -> None:
    url, _ = place
    with contextlib.closing(open_store(url)) as store:
        store.signal("r", [])
    before = held(url)
    told, _ = demo(tmp_path, url).communicate(timeout=200)
    first, *_, last = told.strip().splitlines()
    assert re.match(r"demo store +\w+://(?:\*{3}@)?127\.0\.0\.1:\d+/\S*=noonmark_demo_[0-9a-f]{8} ", first), told
    assert "taken over" in told
    assert "0 ran twice · 0 missing" in told
    assert "Try next" not in told, "there is nothing left to look into"
    assert last.startswith("Erased "), told
    assert held(url) == before


@pytest.mark.timeout(120)
def test_a_demo_that_is_interrupted_erases_what_it_made_all_the_same(
    place: tuple[str, servers.Redis | servers.Postgres], tmp_path: Path
) -> None:
    url, _ = place
    before = held(url)
    process = demo(tmp_path, url)
    assert process.stdout is not None
    while "3 questions asked" not in process.stdout.readline():
        assert process.poll() is None
    assert held(url) != before
    process.send_signal(signal.SIGINT)
    told, _ = process.communicate(timeout=60)
    assert process.returncode == 130, told
    assert "Erased " in told
    assert held(url) == before


def read_until(process: subprocess.Popen[str], words: str) -> str:
    """What a demo says up to and with the line that holds the words."""
    assert process.stdout is not None
    said = ""
    while words not in said:
        line = process.stdout.readline()
        assert line, f"the demo ended without {words!r}:\n{said}"
        said += line
    return said


@pytest.fixture
def own() -> Iterator[servers.Redis]:
    """A server that this test may stop."""
    with servers.start_redis(options={"appendonly": "yes"}) as redis:
        yield redis


@pytest.fixture
def own_postgres() -> Iterator[servers.Postgres]:
    """A PostgreSQL server that this test may stop."""
    with servers.start_postgres() as postgres:
        yield postgres


@pytest.mark.long(54)
@pytest.mark.timeout(300)
@pytest.mark.parametrize("kind", ["redis", "postgres"])
def test_a_server_that_goes_away_and_comes_back_costs_the_demo_nothing(
    request: pytest.FixtureRequest, kind: str, tmp_path: Path
) -> None:
    own: servers.Redis | servers.Postgres = request.getfixturevalue("own" if kind == "redis" else "own_postgres")
    before = held(own.url)
    process = demo(tmp_path, own.url)
    said = read_until(process, "3 questions asked")
    own.stop()
    said += read_until(process, "does not answer; the demo waits")
    time.sleep(5)  # longer than every timeout of the demo's own calls
    own.start()
    rest, _ = process.communicate(timeout=250)
    told = said + rest
    assert process.returncode == 0, told
    assert re.search(r"the store answers again, after \d+ s", told), told
    assert "0 ran twice · 0 missing" in told
    assert held(own.url) == before


@pytest.mark.timeout(120)
def test_a_demo_that_was_killed_or_lost_its_server_is_erased_by_its_name(own: servers.Redis, tmp_path: Path) -> None:
    before = held(own.url)
    process = demo(tmp_path, own.url)
    said = read_until(process, "3 questions asked")
    process.kill()
    process.communicate(timeout=30)
    assert held(own.url) != before
    name = re.search(r"noonmark_demo_[0-9a-f]{8}", said)
    assert name is not None
    for words, code in (("Erased ", 0), ("There is nothing of a demo in ", 0)):
        again = demo(tmp_path, own.url, "--erase", name[0])
        told, _ = again.communicate(timeout=60)
        assert (again.returncode, words in told) == (code, True), told
    assert held(own.url) == before


@pytest.mark.timeout(120)
def test_what_could_not_be_erased_is_named_with_the_way_to_do_it(own: servers.Redis, tmp_path: Path) -> None:
    process = demo(tmp_path, own.url)
    said = read_until(process, "3 questions asked")
    name = re.search(r"noonmark_demo_[0-9a-f]{8}", said)
    assert name is not None
    own.stop()
    process.send_signal(signal.SIGINT)
    told, _ = process.communicate(timeout=100)
    assert process.returncode == 130, told
    assert "Left behind: everything in redis://" in told
    assert f"demo --url URL --erase {name[0]}" in told


@pytest.mark.parametrize(
    ("url", "code"),
    [("redis://127.0.0.1:1", 4), ("postgresql://127.0.0.1:1/d", 4), ("postgrsql://h/d", 2), ("memory://", 2)],
)
def test_a_server_that_was_never_reached_is_not_said_to_be_erased(tmp_path: Path, url: str, code: int) -> None:
    process = demo(tmp_path, url)
    told, _ = process.communicate(timeout=60)
    assert process.returncode == code, told
    assert told.startswith("noonmark: ")
    assert "rase" not in told.replace("erases it at the end", "")
    assert list(tmp_path.iterdir()) == [], "nothing was written before the server was reached"


@pytest.mark.parametrize("name", ["public", "noonmark_demo_", "noonmark_demo_a;b"])
def test_only_what_a_demo_made_can_be_erased(tmp_path: Path, name: str) -> None:
    process = demo(tmp_path, "redis://127.0.0.1:1", "--erase", name)
    told, _ = process.communicate(timeout=60)
    assert (process.returncode, "is no namespace of a demo" in told) == (2, True), told
