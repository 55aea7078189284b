"""Every example of docs/outbox.md runs as it stands, and order and job are there, or neither is."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from noonmark.testing.servers import Postgres

ROOT = Path(__file__).resolve().parents[2]
PAGES = {name: (ROOT / name).read_text(encoding="utf-8") for name in ("docs/outbox.md", "docs/zh/outbox.md")}
CHECK = """
found = [each.key for each in sched.occurrences()]
print("jobs", sorted(found))
sched.close()
"""


def example(name: str, page: str = "docs/outbox.md") -> str:
    found = re.search(rf"<!-- example: {name} -->\n```python\n(.*?)\n```", PAGES[page], re.DOTALL)
    assert found, f"{page} has no example {name!r}"
    return found[1]


def run(code: str, folder: Path, **env: str) -> str:
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code],
        cwd=folder,
        env=env,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("name", ["apsw", "sqlite3"])
def test_the_example_for_sqlite_adds_the_job_with_the_order(name: str, tmp_path: Path) -> None:
    assert run(example(name) + CHECK, tmp_path) == "jobs ['confirm:17']\n"


@pytest.mark.parametrize("name", ["apsw", "sqlite3"])
def test_what_fails_before_the_commit_leaves_neither(name: str, tmp_path: Path) -> None:
    code = example(name)
    start = code.partition('    conn.execute("INSERT' if name == "sqlite3" else 'conn.execute("INSERT')[0]
    broken = {
        "sqlite3": start.rpartition("with conn:")[0]
        + "try:\n    with conn:\n        conn.execute(\"INSERT INTO orders VALUES (17, 'tea')\")\n"
        + "        confirm.later('0s', conn=conn)(order_id=17)\n        1 / 0\nexcept ZeroDivisionError:\n    pass\n",
        "apsw": start
        + "conn.execute(\"INSERT INTO orders VALUES (17, 'tea')\")\n"
        + "confirm.later('0s', conn=conn)(order_id=17)\nconn.execute('ROLLBACK')\n",
    }[name]
    count = "print('orders', conn.execute('SELECT count(*) FROM orders').fetchone()[0])\nconn.close()\n"
    assert run(broken + count + CHECK, tmp_path) == "orders 0\njobs []\n"


@pytest.fixture
def shop(postgres: Postgres) -> Iterator[str]:
    """A database of the shop's own."""
    name = f"shop_{os.getpid()}"
    with psycopg.connect(postgres.url, autocommit=True) as admin:
        admin.execute(f"CREATE DATABASE {name}".encode())
        yield postgres.url.rpartition("/")[0] + f"/{name}"
        admin.execute(f"DROP DATABASE {name} WITH (FORCE)".encode())


def _orders(url: str) -> list[int]:
    with psycopg.connect(url) as connection:
        return [row[0] for row in connection.execute("SELECT id FROM orders ORDER BY id").fetchall()]


@pytest.mark.parametrize(("name", "ids"), [("psycopg", [17]), ("sqlalchemy", [17, 18])])
def test_the_example_for_postgresql_adds_the_job_with_the_order(
    name: str, ids: list[int], tmp_path: Path, shop: str
) -> None:
    told = run(example(name) + CHECK, tmp_path, SHOP_URL=shop)
    assert told == f"jobs {[f'confirm:{number}' for number in ids]}\n"
    assert _orders(shop) == ids


@pytest.mark.parametrize("name", ["psycopg", "sqlalchemy"])
def test_what_fails_on_postgresql_before_the_commit_leaves_neither(name: str, tmp_path: Path, shop: str) -> None:
    with psycopg.connect(shop) as connection:
        connection.execute("CREATE TABLE IF NOT EXISTS orders (id int PRIMARY KEY, item text)")
    code = example(name)
    begun, call, _ = code.partition('confirm.later("0s", conn=conn)(order_id=17)')
    assert call
    indent = begun.rpartition("\n")[2]
    run(f"{begun}{call}\n{indent}raise SystemExit(0)\n", tmp_path, SHOP_URL=shop)
    assert _orders(shop) == []
    beginning = code.partition("with psycopg" if name == "psycopg" else "with engine")[0]
    assert run(beginning + CHECK, tmp_path, SHOP_URL=shop) == "jobs []\n"


@pytest.mark.parametrize("name", ["psycopg", "sqlalchemy", "apsw", "sqlite3"])
def test_both_languages_show_the_same_code(name: str) -> None:
    def code(page: str) -> list[str]:
        return [line.partition("  #")[0] for line in example(name, page).splitlines()]

    assert code("docs/outbox.md") == code("docs/zh/outbox.md")
