"""What goes wrong is said in words, and says who has to act: the caller by repeating, or a person."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import pytest
from redis import exceptions

from noonmark.core.model import Query
from noonmark.ports import process
from noonmark.ports.store import StoreError, StoreFull, StoreUnreachable, StoreUnusable
from noonmark.stores.redis import RedisStore, errors, open_redis
from noonmark.stores.redis.scripts import script
from noonmark.testing.builders import make_caller_row
from noonmark.testing.servers import Redis, ServerError, free_port, start_redis, start_sentinel

PASSING = [
    exceptions.ConnectionError("Connection refused"),
    exceptions.TimeoutError("Timeout reading from socket"),
    exceptions.BusyLoadingError("Redis is loading the dataset in memory"),
    exceptions.ReadOnlyError("You can't write against a read only replica."),
    exceptions.MasterDownError("Link with MASTER is down and replica-serve-stale-data is set to 'no'."),
    exceptions.ClusterDownError("The cluster is down"),
    exceptions.TryAgainError("Multiple keys request during rehashing of slot"),
    exceptions.MovedError("866 127.0.0.1:7001"),
    exceptions.AskError("866 127.0.0.1:7001"),
    exceptions.ResponseError("BUSY Redis is busy running a script."),
    exceptions.ResponseError("NOREPLICAS Not enough good replicas to write."),
    OSError("Network is unreachable"),
]
FULL = [
    exceptions.OutOfMemoryError("command not allowed when used memory > 'maxmemory'."),
    exceptions.ResponseError("OOM command not allowed when used memory > 'maxmemory'. script: 0"),
    exceptions.ResponseError("MISCONF Redis is configured to save RDB snapshots, but it's unable to persist to disk."),
    exceptions.ResponseError("MISCONF Errors writing to the AOF file: No space left on device"),
]
FOR_A_PERSON = [
    exceptions.AuthenticationError("WRONGPASS invalid username-password pair or user is disabled."),
    exceptions.AuthenticationError("Authentication required."),
    exceptions.NoPermissionError("this user has no permissions to run the 'evalsha' command"),
    exceptions.ResponseError("WRONGTYPE Operation against a key holding the wrong kind of value"),
    exceptions.ResponseError("DB index is out of range"),
    exceptions.ResponseError("unknown command 'EVALSHA', with args beginning with: "),
    exceptions.ResponseError("unknown command 'SENTINEL', with args beginning with: 'MASTERS'"),
    exceptions.ResponseError("This instance has cluster support disabled"),
]


@pytest.mark.parametrize("error", PASSING, ids=lambda error: str(error)[:20])
def test_what_may_pass_by_itself_is_unreachable(error: Exception) -> None:
    assert type(errors.translated("redis://h", error)) is StoreUnreachable


@pytest.mark.parametrize("error", FULL, ids=lambda error: str(error)[:20])
def test_a_server_that_takes_nothing_in_just_now_is_away_and_says_why(error: Exception) -> None:
    told = errors.translated("redis://h", error)
    assert type(told) is StoreFull
    assert "full" in str(told) or "cannot save" in str(told)


@pytest.mark.parametrize("error", FOR_A_PERSON, ids=lambda error: str(error)[:20])
def test_what_only_a_person_can_mend_is_unusable_with_a_remedy(error: Exception) -> None:
    told = errors.translated("redis://h", error)
    assert type(told) is StoreUnusable
    assert str(told).count(". ") >= 1, told


def test_nobody_listening_is_unreachable() -> None:
    with pytest.raises(StoreUnreachable, match=r"redis://127\.0\.0\.1"):
        open_redis(f"redis://127.0.0.1:{free_port()}/0")


def test_a_wrong_password_is_for_a_person_and_shows_no_secret() -> None:
    with start_redis(password="right") as server:
        with pytest.raises(StoreUnusable, match="password") as told:
            open_redis(f"redis://:wrong-secret@127.0.0.1:{server.port}/0")
        assert "wrong-secret" not in str(told.value)
        with pytest.raises(StoreUnusable, match="password"):
            open_redis(f"redis://127.0.0.1:{server.port}/0")
        open_redis(server.url).close()


def test_a_user_with_the_rights_that_are_named_can_do_everything_and_one_without_is_told() -> None:
    users = [
        "user default off",
        "user root on >p ~* &* +@all",
        "user noon on >p ~noonmark:* &noonmark:* +@all -@dangerous +info +config|get",
        "user poor on >p ~other:* +@all",
    ]
    with start_redis(users=users) as server:
        store = open_redis(f"redis://noon:p@127.0.0.1:{server.port}/0")
        store.add("a", [make_caller_row("a", at=store.now())])
        assert [finding.code for finding in store.diagnose() if finding.code == "server_unread"] == []
        store.close()
        with pytest.raises(StoreUnusable, match="right"):
            open_redis(f"redis://poor:p@127.0.0.1:{server.port}/0")


def test_a_database_that_is_not_there_is_for_a_person(server: Redis) -> None:
    with pytest.raises(StoreUnusable, match="database"):
        open_redis(f"redis://127.0.0.1:{server.port}/4000")


def test_a_full_memory_refuses_and_keeps_what_was_there() -> None:
    with start_redis(options={"maxmemory-policy": "noeviction"}) as server:
        store = open_redis(server.url)
        store.add("a", [make_caller_row("a", at=store.now())])
        server.command("CONFIG", "SET", "maxmemory", 1_000)
        with pytest.raises(StoreFull, match="memory is full"):
            store.add("b", [make_caller_row("b", at=store.now())])
        assert [row.identity for row in store.occurrences(Query())] == ["l:a"]
        assert {finding.code: finding.level for finding in store.diagnose()}["memory_full"] == "refuse"
        server.command("CONFIG", "SET", "maxmemory", 0)
        assert store.add("b", [make_caller_row("b", at=store.now())])[0].outcome == "added"
        store.close()


def test_a_server_that_is_mute_is_given_up_within_the_timeout_and_used_again() -> None:
    with start_redis() as server:
        store = open_redis(f"{server.url}?timeout=0.3")
        server.pause()
        try:
            with pytest.raises(StoreUnreachable):
                store.now()
        finally:
            server.resume()
        assert store.now() > 0
        store.close()


def test_a_server_that_was_killed_is_unreachable_and_used_again_when_it_is_back() -> None:
    with start_redis(options={"appendonly": "yes", "appendfsync": "always"}) as server:
        store = open_redis(server.url)
        store.add("a", [make_caller_row("a", at=store.now())])
        server.kill()
        with pytest.raises(StoreUnreachable):
            store.add("b", [make_caller_row("b", at=0)])
        server.start()
        assert store.add("b", [make_caller_row("b", at=store.now())])[0].outcome == "added"
        assert {row.identity for row in store.occurrences(Query())} == {"l:a", "l:b"}
        store.close()


def test_a_connection_that_died_while_idle_costs_no_error(server: Redis, store: RedisStore) -> None:
    store.now()
    server.command("CLIENT", "KILL", "TYPE", "normal")
    assert store.now() > 0


def test_a_server_that_forgot_the_scripts_is_given_them_again(server: Redis, store: RedisStore) -> None:
    store.now()
    server.command("SCRIPT", "FLUSH")
    assert store.now() > 0
    assert store.add("a", [make_caller_row("a", at=store.now())])[0].outcome == "added"


def test_a_replica_is_refused_until_it_is_primary(server: Redis) -> None:
    with start_redis(options={"replicaof": f"127.0.0.1 {server.port}"}) as replica:
        with pytest.raises(StoreUnreachable, match="replica"):
            open_redis(f"{replica.url}?namespace=never")
        replica.command("REPLICAOF", "NO", "ONE")
        open_redis(f"{replica.url}?namespace=never").close()


def test_after_a_fork_the_store_is_refused(store: RedisStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process.owner(), "is_here", False)
    with pytest.raises(StoreUnusable, match="forked"):
        store.now()


def test_after_closing_the_store_is_refused(store: RedisStore) -> None:
    store.close()
    with pytest.raises(StoreUnusable, match="closed"):
        store.now()


def test_a_namespace_of_a_newer_noonmark_is_refused(
    server: Redis, namespace: str, reopen: Callable[..., RedisStore]
) -> None:
    reopen()
    server.command("HSET", f"noonmark:{{{namespace}}}:meta", "shape", 99)
    with pytest.raises(StoreUnusable, match="newer noonmark"):
        reopen()


def test_a_key_of_somebody_else_is_for_a_person(
    server: Redis, namespace: str, reopen: Callable[..., RedisStore]
) -> None:
    server.command("SET", f"noonmark:{{{namespace}}}:meta", "mine")
    with pytest.raises(StoreUnusable, match="another namespace"):
        reopen()


def test_a_script_that_fails_midway_has_written_nothing(server: Redis, store: RedisStore, namespace: str) -> None:
    """The first item is sound, the second is not: nothing of either is kept, whoever sends it."""
    store.add("a", [make_caller_row(name, at=store.now(), gated=True) for name in "ab"])
    first, second = store.take("t", "w1", limit=2, runnable={}, look_lease=5_000_000).rows
    before = store.occurrences(Query()), store.tallies().by_state
    end = '"cancel",null,0,null,"","","{}","[]",true'
    good = f"[{first.id},{first.fence},{end},null,null,null,null,null]"
    bad = f'[{second.id},{second.fence},{end},[["job"]],null,null,null,null]'
    keys = [f"noonmark:{{{namespace}}}:{name}" for name in ("meta", "moving")]
    about = f'["w1",[{good},{bad}]]'
    with pytest.raises(ServerError, match="script"):
        server.command("EVAL", script("settle").text, 2, *keys, "", "settle:x", "PUBLISH me", about)
    assert (store.occurrences(Query()), store.tallies().by_state) == before


@pytest.mark.parametrize("field", ["scheduled_for", "due_at", "not_after", "expires_at"])
def test_an_instant_beyond_exact_doubles_is_refused(store: RedisStore, field: str) -> None:
    with pytest.raises(ValueError, match="2255"):
        store.add("a", [make_caller_row("a", **({"at": store.now()} | {field: 1 << 60}))])
    assert store.occurrences(Query()) == []


def test_an_error_that_nobody_foresaw_is_still_a_store_error() -> None:
    assert type(errors.translated("redis://h", exceptions.ResponseError("something new"))) is StoreError


def test_a_server_that_speaks_tls_is_used_with_its_certificate_and_refused_without() -> None:
    with start_redis(kind="redis", tls=True) as server:
        store = open_redis(server.url)
        heard = threading.Event()
        store.listen(heard.set)
        store.add("a", [make_caller_row("a", at=store.now() - 1)])
        assert heard.wait(5)
        assert "rediss://localhost" in store.url
        store.close()
        with pytest.raises(StoreUnusable, match=r"certificate is not trusted.*ssl_ca_certs=FILE"):
            open_redis(f"rediss://localhost:{server.port}/0")
        with pytest.raises(StoreUnusable, match=r"speaks TLS only.*rediss://"):
            open_redis(f"redis://localhost:{server.port}/0?timeout=1")


@pytest.mark.parametrize("scheme", ["rediss", "valkeys", "rediss+cluster", "rediss+sentinel"])
def test_tls_towards_a_port_without_is_told_within_the_time_that_callers_wait(server: Redis, scheme: str) -> None:
    place = "m" if "sentinel" in scheme else "0" if "cluster" not in scheme else ""
    began = time.monotonic()
    with pytest.raises(StoreUnusable, match=r"speaks without TLS.*redis://"):
        open_redis(f"{scheme}://127.0.0.1:{server.port}/{place}")
    assert time.monotonic() - began < 3


def test_sentinels_that_name_no_primary_are_told_in_one_sentence() -> None:
    with start_sentinel(kind="valkey") as pair:
        with pytest.raises(StoreUnusable, match=r"know no service other \(they know: noonmark\)"):
            open_redis(pair.url.replace("/noonmark/", "/other/"))
        pair.sentinels[0].kill()
        open_redis(pair.url).close()
    with pytest.raises(StoreUnreachable) as told:
        open_redis(pair.url)
    assert str(told.value).count("Connection refused") == 3
    assert "<redis" not in str(told.value)
    assert all(f"127.0.0.1:{sentinel.port}" in str(told.value) for sentinel in pair.sentinels)


def test_sentinels_with_a_password_ask_for_it() -> None:
    with start_redis(password="hidden") as guarded, pytest.raises(StoreUnusable, match="sentinel_password"):
        open_redis(f"redis+sentinel://127.0.0.1:{guarded.port}/main")
