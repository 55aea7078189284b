"""What docs/stores.md gives people to paste works on real servers, and its tables name what the code knows."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from noonmark.core.model import SECOND
from noonmark.locks import open_locks
from noonmark.ports.lock import LockUnusable
from noonmark.ports.store import Capability, StoreUnusable
from noonmark.stores.redis import address, open_redis
from noonmark.stores.redis.errors import FOR_A_PERSON
from noonmark.testing.archives import make_busy
from noonmark.testing.conformance import Harness, cases
from noonmark.testing.servers import Postgres, Redis, second, start_redis
from noonmark.wiring import _CHOICES, _SERVERS

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs/stores.md").read_text(encoding="utf-8")
CHINESE = (ROOT / "docs/zh/stores.md").read_text(encoding="utf-8")
ROOTS_PASSWORD = "root's"


def example(name: str, page: str = PAGE) -> str:
    """Return the block that stands behind ``<!-- example: name -->``."""
    found = re.search(rf"<!-- example: {re.escape(name)} -->\n```\w*\n(.*?)\n```", page, re.DOTALL)
    assert found, f"the page has no example {name!r}"
    return found[1]


@pytest.fixture(params=["valkey", pytest.param("redis", marks=pytest.mark.server("redis", "second"))])
def guarded(request: pytest.FixtureRequest) -> Iterator[Redis]:
    """A server as the page says, which knows root and nobody else."""
    settings = dict(line.split(" ", 1) for line in example("redis.conf").splitlines())
    version = second("redis") if request.param == "redis" else None
    with start_redis(
        version.version if version else None,
        kind=request.param,
        options=settings,
        users=[f"user default on >{ROOTS_PASSWORD} ~* &* +@all"],
    ) as server:
        yield server


def _as_root(server: Redis, *words: str) -> object:
    return server.command(*words, user="default", password=ROOTS_PASSWORD)


def test_the_user_of_the_page_can_do_all_that_noonmark_does_and_nothing_else(guarded: Redis) -> None:
    _as_root(guarded, *example("acl").split())
    url = f"redis://noonmark:secret@127.0.0.1:{guarded.port}/0?namespace="
    for number, case in enumerate(cases()):
        if number % 8 == 0:  # every verb comes by often enough
            store = open_redis(f"{url}case{number}")
            try:
                case.run(Harness(store))
            finally:
                store.close()
    store = open_redis(f"{url}busy")
    try:
        _use_locks(url.removesuffix("?namespace="))
        make_busy(store)
        store.listen(lambda: None)()
        told = {finding.code for finding in store.diagnose() if finding.level != "ok"}
        assert told == {"aof_everysec"}, "that a power cut costs the last second is all there is to know"
        assert store.export_page("", 50).records
    finally:
        store.close()
    assert _as_root(guarded, "ACL", "LOG") == [], "something was refused on the way"
    for forbidden in (("GET", "other"), ("FLUSHALL",), ("KEYS", "*"), ("CONFIG", "SET", "save", "")):
        with pytest.raises(Exception, match="NOPERM"):
            guarded.command(*forbidden, user="noonmark", password="secret")


def _use_locks(*urls: str) -> None:
    """Take, renew and give back a lock at each place, and have another one refused."""
    for url in urls:
        with contextlib.closing(open_locks(url)) as locks:
            grant = locks.acquire("docs", 5 * SECOND, token="mine")
            assert grant is not None
            assert locks.acquire("docs", 5 * SECOND, token="other") is None
            assert locks.renew("docs", 5 * SECOND, token="mine")
            assert locks.release("docs", "mine")


def test_without_the_keys_of_locks_only_locks_are_refused(guarded: Redis) -> None:
    narrow = example("acl").replace(" ~lock:* ~fence:*", "")
    assert narrow != example("acl")
    _as_root(guarded, *narrow.split())
    url = f"redis://noonmark:secret@127.0.0.1:{guarded.port}/0"
    with contextlib.closing(open_redis(url)) as store:
        make_busy(store)
    with pytest.raises(LockUnusable, match=r"lock:\* and fence:\*"):
        _use_locks(url)


def test_a_user_may_be_bound_to_one_namespace(guarded: Redis) -> None:
    narrow = example("acl").replace("~noonmark:* &noonmark:*", "~noonmark:{shop}:* &noonmark:{shop}:*")
    assert "{shop}" in narrow
    assert re.search(r"`~noonmark:\{shop\}:\* &noonmark:\{shop\}:\*`", PAGE)
    _as_root(guarded, *narrow.split())
    url = f"redis://noonmark:secret@127.0.0.1:{guarded.port}/0?namespace="
    store = open_redis(f"{url}shop")
    try:
        make_busy(store)
    finally:
        store.close()
    with pytest.raises(StoreUnusable, match="lacks a right"):
        open_redis(f"{url}other")


def test_without_info_and_config_the_doctor_says_what_it_could_not_read(guarded: Redis) -> None:
    _as_root(guarded, *example("acl").replace(" +info +config|get", "").split())
    store = open_redis(f"redis://noonmark:secret@127.0.0.1:{guarded.port}/0")
    try:
        make_busy(store)
        assert "server_unread" in {finding.code for finding in store.diagnose()}
    finally:
        store.close()


def test_the_remedy_for_a_missing_right_is_the_line_of_the_page() -> None:
    rights = example("acl").partition("~")[2]
    assert rights in FOR_A_PERSON["NOPERM"][1]


@pytest.mark.parametrize("page", [PAGE, CHINESE], ids=["en", "zh"])
def test_every_option_scheme_and_capability_stands_on_the_page(page: str) -> None:
    told = set(re.findall(r"`([^`\n]+)`", re.sub(r"```.*?```", "", page, flags=re.DOTALL)))
    words = {word for text in told for word in re.split(r"[ ,?&=]", text)}
    wanted = {*address.OPTIONS, *address.TLS_OPTIONS, *_CHOICES, *map(str, Capability)}
    assert wanted - words == set()
    schemes = {f"{scheme}://" for scheme in (*_SERVERS, "sqlite", "memory")} - {"postgres://"}
    assert {scheme for scheme in schemes if f"`{scheme}" not in page} == set()


@pytest.mark.parametrize("name", ["acl", "redis.conf", "grants", "lock grants"])
def test_both_languages_give_the_same_lines_to_paste(name: str) -> None:
    def lines(page: str) -> list[str]:
        return [line for line in example(name, page).splitlines() if not line.startswith("--")]

    assert lines(PAGE) == lines(CHINESE)


def test_a_role_with_the_rights_of_the_page_can_work_in_a_schema_that_its_owner_made(postgres: Postgres) -> None:
    import psycopg

    from noonmark.stores.postgres import migrate, open_postgres

    role = "docs_worker"
    server = f"127.0.0.1:{postgres.port}/postgres"
    with psycopg.connect(postgres.url, autocommit=True) as owner:
        owner.execute(f"CREATE ROLE {role} LOGIN")
        try:
            for number, case in enumerate([None, *cases()[::40]]):
                schema = f"docs_{number}"
                migrate(f"{postgres.url}?schema={schema}")
                lines = f"{example('grants')}\n{example('lock grants')}"
                lines = lines.replace("noonmark", schema).replace("TO worker", f"TO {role}")
                owner.execute(re.sub(r"--.*", "", lines).encode())
                mine = f"postgresql://{role}@{server}?schema={schema}&migrate=no"
                store = open_postgres(mine)
                try:
                    _use_locks(mine, f"{mine}&kind=advisory")
                    make_busy(store) if case is None else case.run(Harness(store))
                finally:
                    store.close()
            with pytest.raises(StoreUnusable, match="lacks a right"):
                open_postgres(f"postgresql://{role}@{server}?schema=docs_of_its_own").close()
        finally:
            for number in range(len(cases()[::40]) + 1):
                for schema in (f"docs_{number}", f"docs_{number}_locks"):
                    owner.execute(f"DROP SCHEMA IF EXISTS {schema} CASCADE".encode())
            owner.execute(f"DROP OWNED BY {role}".encode())
            owner.execute(f"DROP ROLE {role}".encode())


def test_a_role_that_may_not_move_sequences_can_prove_a_rollback_all_the_same(postgres: Postgres) -> None:
    import psycopg

    from noonmark.stores.postgres import migrate, open_postgres
    from noonmark.testing.conformance import proving

    role, schema = "docs_older_worker", "docs_older"
    with psycopg.connect(postgres.url, autocommit=True) as owner:
        owner.execute(f"CREATE ROLE {role} LOGIN".encode())
        try:
            migrate(f"{postgres.url}?schema={schema}")
            lines = example("grants").replace("SELECT, UPDATE ON", "SELECT ON")
            lines = lines.replace("noonmark", schema).replace("TO worker", f"TO {role}")
            owner.execute(re.sub(r"--.*", "", lines).encode())
            store = open_postgres(f"postgresql://{role}@127.0.0.1:{postgres.port}/postgres?schema={schema}&migrate=no")
            try:
                proving.an_acknowledged_write_that_is_gone_is_a_rollback(Harness(store))
            finally:
                store.close()
        finally:
            owner.execute(f"DROP SCHEMA IF EXISTS {schema} CASCADE".encode())
            owner.execute(f"DROP OWNED BY {role}".encode())
            owner.execute(f"DROP ROLE {role}".encode())
