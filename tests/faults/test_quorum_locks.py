"""etcd and ZooKeeper locks when servers, connections and sessions go away: real servers, real signals."""

from __future__ import annotations

import gc
import os
import socket
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from noonmark.core.model import SECOND
from noonmark.locks.errors import LockUrlError
from noonmark.locks.etcd import EtcdLocks
from noonmark.locks.zookeeper import ZooKeeperLocks
from noonmark.ports import process
from noonmark.ports.lock import Grant, LockError, Locks, LockUnusable
from noonmark.testing.servers import Etcd, MissingServer, Server, free_port, start_etcd, start_zookeeper
from noonmark.testing.servers.redis import _make_certificate as make_certificate

TTL = 5 * SECOND
Open = Callable[..., Any]


def start(kind: str) -> Server:
    """Start a server whose leases are as short as it can make them."""
    if kind == "etcd":
        return start_etcd(options={"heartbeat-interval": "20", "election-timeout": "200"})
    return start_zookeeper(options={"tickTime": "100", "maxSessionTimeout": "60000"})


KINDS = ["etcd", pytest.param("zookeeper", marks=pytest.mark.server("zookeeper", "second"))]


@pytest.fixture(scope="module", params=KINDS)
def server(request: pytest.FixtureRequest) -> Iterator[Server]:
    """One server of each kind for the whole file; a test that hurts it heals it."""
    with start(request.param) as running:
        yield running


@pytest.fixture
def opened(server: Server) -> Iterator[Open]:
    """Open lock services that are closed, and leave no thread, after the test."""
    before = set(threading.enumerate())
    made: list[Locks] = []

    def open_(url: str | None = None, **options: str) -> Locks:
        address = url or (server.url_with(**options) if options else server.url)
        made.append(EtcdLocks(address) if address.startswith("etcd") else ZooKeeperLocks(address))
        return made[-1]

    yield open_
    for locks in made:
        locks.close()
        locks.close()
    made.clear()
    gc.collect()  # gRPC keeps one poller for the process, until the last channel is collected
    deadline = time.monotonic() + 5
    while (left := set(threading.enumerate()) - before) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not left, f"threads were left: {left}"


def eventually(ask: Callable[[], Any], patience: float = 10.0) -> Any:
    """Ask until there is an answer that is true; a service that does not answer yet is asked again."""
    deadline = time.monotonic() + patience
    while time.monotonic() < deadline:
        try:
            if found := ask():
                return found
        except LockUnusable:
            raise
        except LockError:
            pass
        time.sleep(0.02)
    raise AssertionError("it never came")


def held(locks: Locks, name: str, token: str = "t1", ttl: int = TTL) -> Grant:
    """Take a lock that must be free; a short timeout may not be enough for the first connection on a busy machine."""
    grant: Grant = eventually(lambda: locks.acquire(name, ttl, token))
    return grant


@pytest.mark.parametrize("name", ["x/y", "..", ".", "%2E%2E", "名字 ä", "a" * 400, "{tag}", "-", "/", "\n", "😀" * 50])
def test_any_name_is_a_lock_of_its_own(opened: Open, name: str) -> None:
    one, other = opened(), opened()
    grant = held(one, name)
    assert other.acquire(name, TTL, "t2") is None
    assert other.acquire(name + "x", TTL, "t2") is not None if len(name) < 400 else True
    assert one.renew(name, TTL, "t1") == grant
    assert one.release(name, "t1")
    again = held(other, name, "t2")
    assert again.fence > grant.fence
    assert other.release(name, "t2")


def test_a_service_that_is_away_is_an_error_at_once_and_is_found_again_when_it_is_back(
    server: Server, opened: Open
) -> None:
    locks = opened(timeout="2")
    grant = held(locks, "away", ttl=30 * SECOND)
    server.kill()
    for call in (
        lambda: locks.acquire("other", SECOND, "t1"),
        lambda: locks.renew("away", 30 * SECOND, "t1"),
        lambda: locks.release("other", "t1"),
    ):
        began = time.monotonic()
        with pytest.raises(LockError, match="does not answer"):
            call()
        assert time.monotonic() - began < 4
    server.start()
    back = time.monotonic()
    renewed = eventually(lambda: locks.renew("away", 30 * SECOND, "t1"))
    assert time.monotonic() - back < 3
    assert renewed.fence == grant.fence, "a server's restart is no reason to lose what it has written down"
    assert locks.release("away", "t1")


def test_a_service_that_is_mute_is_an_error_within_the_timeout(server: Server, opened: Open) -> None:
    locks = opened(timeout="0.5")
    held(locks, "mute")
    server.pause()
    try:
        began = time.monotonic()
        with pytest.raises(LockError):
            locks.renew("mute", TTL, "t1")
        assert time.monotonic() - began < 2
    finally:
        server.resume()
    assert eventually(lambda: locks.acquire("mute too", TTL, "t1"))
    locks.release("mute too", "t1")
    locks.release("mute", "t1")


def test_of_many_calls_under_way_each_gets_an_error_that_it_can_handle(server: Server, opened: Open) -> None:
    locks = opened(timeout="0.6")
    held(locks, "crowded")
    errors: list[BaseException] = []

    def ask(number: int) -> None:
        time.sleep(number * 0.05)  # so that the first gives the connection up while the others wait for it
        try:
            locks.acquire(f"crowded {number}", TTL, "t1")
        except BaseException as error:
            errors.append(error)

    server.pause()
    try:
        threads = [threading.Thread(target=ask, args=(number,)) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        server.resume()
    assert [type(error) for error in errors] == [LockError] * 8
    assert eventually(lambda: locks.acquire("crowd gone", TTL, "t1"))
    assert locks.release("crowd gone", "t1")


def test_closing_while_a_call_is_under_way_ends_the_call_with_an_error(server: Server, opened: Open) -> None:
    locks = opened(timeout="2")
    held(locks, "closing")
    errors: list[BaseException] = []

    def ask() -> None:
        try:
            locks.acquire("closing too", TTL, "t1")
        except BaseException as error:
            errors.append(error)

    server.pause()
    try:
        thread = threading.Thread(target=ask)
        thread.start()
        time.sleep(0.1)
        locks.close()
        thread.join(10)
        assert not thread.is_alive()
    finally:
        server.resume()
    assert len(errors) == 1
    assert isinstance(errors[0], LockError)


def test_an_acquire_whose_answer_was_lost_costs_nothing_when_it_is_asked_again(server: Server, opened: Open) -> None:
    locks, other = opened(timeout="0.3"), opened()
    held(locks, "warm")
    server.pause()
    try:
        with pytest.raises(LockError):
            locks.acquire("lost reply", TTL, "t1")
    finally:
        server.resume()
    grant = eventually(lambda: locks.acquire("lost reply", TTL, "t1"), patience=3)
    assert other.acquire("lost reply", TTL, "t2") is None
    assert held(locks, "lost reply") == grant
    assert locks.release("lost reply", "t1")
    assert eventually(lambda: other.acquire("lost reply", TTL, "t2"), patience=2)


def test_an_acquire_whose_answer_was_lost_and_that_nobody_repeats_frees_itself(server: Server, opened: Open) -> None:
    locks, other = opened(timeout="0.3"), opened()
    held(locks, "warm")
    server.pause()
    try:
        with pytest.raises(LockError):
            locks.acquire("orphan", SECOND, "t1")
    finally:
        server.resume()
    assert eventually(lambda: other.acquire("orphan", SECOND, "t2"), patience=8)


def test_what_was_not_renewed_is_free_and_the_late_holder_is_told(opened: Open) -> None:
    locks, other = opened(), opened()
    first = held(locks, "late", ttl=SECOND)
    assert first.validity <= SECOND
    second = eventually(lambda: other.acquire("late", TTL, "t2"), patience=5)
    assert second.fence > first.fence
    assert locks.renew("late", SECOND, "t1") is None
    assert not locks.release("late", "t1")
    assert other.renew("late", TTL, "t2") == second


def test_a_token_can_be_released_from_elsewhere_but_only_the_right_one(opened: Open) -> None:
    locks, other = opened(), opened()
    held(locks, "elsewhere")
    assert not other.release("elsewhere", "t2")
    assert other.release("elsewhere", "t1")
    assert locks.renew("elsewhere", TTL, "t1") is None
    assert not locks.release("elsewhere", "t1")


def test_a_longer_and_a_shorter_ttl_both_count(opened: Open) -> None:
    locks, other = opened(), opened()
    grant = held(locks, "stretch", ttl=SECOND)
    longer = locks.renew("stretch", 8 * SECOND, "t1")
    assert longer is not None
    assert longer.fence == grant.fence
    deadline = time.monotonic() + 2.5
    while time.monotonic() < deadline:
        assert other.acquire("stretch", TTL, "t2") is None
        time.sleep(0.05)
    assert locks.renew("stretch", SECOND, "t1") is not None
    assert eventually(lambda: other.acquire("stretch", TTL, "t2"), patience=5)


def test_many_threads_of_one_service_get_one_holder_each_time(opened: Open) -> None:
    locks = opened()
    inside, most, fences, guard = 0, 0, [], threading.Lock()

    def contend(me: int) -> None:
        nonlocal inside, most
        for round_number in range(5):
            token = f"{me}-{round_number}"
            grant = eventually(lambda token=token: locks.acquire("crowd", TTL, token), patience=30)
            with guard:
                inside += 1
                most = max(most, inside)
                fences.append(grant.fence)
            with guard:
                inside -= 1
            assert locks.release("crowd", token)

    threads = [threading.Thread(target=contend, args=(me,)) for me in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == 1
    assert len(fences) == 30
    assert fences == sorted(set(fences))


def test_a_forked_process_is_refused(opened: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    locks = opened()
    held(locks, "fork")
    with monkeypatch.context() as forked:
        # as a forked child sees it: forking here for real would take gRPC's threads along
        forked.setattr(process.owner(), "is_here", False)
        with pytest.raises(LockUnusable, match="forked"):
            locks.renew("fork", TTL, "t1")
    assert locks.release("fork", "t1")


def test_a_process_that_was_really_forked_is_told_what_to_do_at_once(server: Server, opened: Open) -> None:
    locks = opened()
    held(locks, "really forked")
    fresh = "etcd" if server.kind == "etcd" else ""
    read, write = os.pipe()
    child = os.fork()
    if not child:
        with os.fdopen(write, "w") as said:
            try:
                locks.renew("really forked", TTL, "t1")
            except LockUnusable:
                said.write("refused ")
            other = EtcdLocks(server.url) if fresh else ZooKeeperLocks(server.url)
            try:
                said.write("taken" if other.acquire("really forked", TTL, "t2") is None else "granted")
            except LockUnusable as error:
                said.write("unusable" if "forked" in str(error) else "?")
        os._exit(0)
    os.close(write)
    with os.fdopen(read) as heard:
        assert heard.read() == ("refused unusable" if fresh else "refused taken")
    os.waitpid(child, 0)
    assert locks.renew("really forked", TTL, "t1") is not None, "the parent's lock is untouched"
    assert locks.release("really forked", "t1")


def test_a_closed_service_says_so(opened: Open) -> None:
    locks = opened()
    held(locks, "closed")
    locks.close()
    with pytest.raises(LockUnusable, match="closed"):
        locks.acquire("closed", TTL, "t1")


def test_a_dead_member_is_passed_over(server: Server, opened: Open) -> None:
    scheme, _, place = server.url.partition("://")
    locks = opened(f"{scheme}://127.0.0.1:{free_port()},{place}?timeout=2")
    assert eventually(lambda: locks.acquire("second member", TTL, "t1"), patience=5)
    assert locks.release("second member", "t1")


def test_a_member_that_accepts_and_says_nothing_is_passed_over(server: Server, opened: Open) -> None:
    scheme, _, place = server.url.partition("://")
    with socket.create_server(("127.0.0.1", 0), backlog=16) as mute:
        for attempt in range(3):  # kazoo begins with any of them
            locks = opened(f"{scheme}://127.0.0.1:{mute.getsockname()[1]},{place}?timeout=2")
            began = time.monotonic()
            grant = eventually(lambda locks=locks: locks.acquire("beside a mute one", 60 * SECOND, "t1"), patience=12)
            assert time.monotonic() - began < 12, attempt
            assert locks.renew("beside a mute one", 60 * SECOND, "t1") == grant
            assert locks.release("beside a mute one", "t1")


@pytest.mark.parametrize(
    "url",
    [
        "etcd://",
        "etcd://h:0",
        "etcd://h:2379?tls=yes",
        "etcd://u@h:2379",
        "etcd://h?ca=/no/such/file",
        "etcd://h?timeout=soon",
        "zookeeper://h:x",
        "zookeeper://h?session=0s",
        "zookeeper://h?session=soon",
        "zookeeper://u@h",
    ],
)
def test_a_url_that_cannot_be_meant_is_refused_with_what_to_write(url: str) -> None:
    with pytest.raises(LockUrlError, match=r"write|known: |needs both|there is none"):
        (EtcdLocks if url.startswith("etcd") else ZooKeeperLocks)(url)


def test_secrets_stay_out_of_messages() -> None:
    for locks in (EtcdLocks("etcd://u:hush@127.0.0.1:1"), ZooKeeperLocks("zookeeper://u:hush@127.0.0.1:1?timeout=0.2")):
        assert "hush" not in locks.url
        with pytest.raises(LockError) as error:
            locks.acquire("n", SECOND, "t")
        assert "hush" not in str(error.value)
        locks.close()


def test_an_expired_session_loses_its_locks_and_the_next_one_works(opened: Open, server: Server) -> None:
    if server.kind != "zookeeper":
        return
    locks, other = opened(), opened()
    grant = held(locks, "session", ttl=SECOND)
    entry = locks._sweeper.get("session", "t1")
    client = entry.session.client
    number = client.client_id[0]
    from kazoo.protocol.connection import _SESSION_EXPIRED

    client._call(_SESSION_EXPIRED, client.handler.async_result())
    eventually(lambda: client.client_id is not None and client.client_id[0] != number)
    assert locks.renew("session", SECOND, "t1") is None, "what a lost session held must not be believed in"
    fresh = eventually(lambda: other.acquire("session", TTL, "t2"), patience=5)
    assert fresh.fence > grant.fence


def test_users_and_their_rights(opened: Open, server: Server) -> None:
    if server.kind == "zookeeper":
        owner = opened(server.url.replace("://", "://owner:secret@"))
        held(owner, "private")
        stranger = opened()
        with pytest.raises(LockUnusable, match="does not let us"):
            stranger.release("private", "t1")
        assert owner.release("private", "t1")
        held(stranger, "of a stranger")
        assert stranger.release("of a stranger", "t1")
        with start("zookeeper") as fresh:  # where the one with the password comes first
            held(opened(fresh.url.replace("://", "://owner:secret@")), "private")
            held(opened(fresh.url), "of a stranger")
        return
    with start("etcd") as guarded:
        _users(guarded)
        locks = opened(guarded.url.replace("://", "://keeper:secret@"))
        grant = held(locks, "guarded")
        assert locks.renew("guarded", TTL, "t1") == grant
        for wrong in ("keeper:wrong@", "nobody:x@", "outsider:secret@", ""):
            with pytest.raises(LockUnusable):
                opened(guarded.url.replace("://", f"://{wrong}")).acquire("guarded", TTL, "t2")
        guarded.restart()  # it forgets the tokens it gave out
        assert eventually(lambda: locks.renew("guarded", TTL, "t1")).fence == grant.fence


def _users(server: Server) -> None:
    import subprocess

    control = server.installation.path.with_name("etcdctl")
    if not control.exists():
        raise MissingServer("etcdctl is not beside etcd")
    environment = {"ETCDCTL_API": "3", "PATH": os.environ["PATH"]}

    def run(*words: str) -> None:
        address = server.url.removeprefix("etcd://")
        done = subprocess.run(
            [control, f"--endpoints={address}", *words], env=environment, capture_output=True, text=True, timeout=20
        )
        assert done.returncode == 0, done.stderr

    run("user", "add", "root:secret")
    run("user", "add", "keeper:secret")
    run("user", "add", "outsider:secret")
    run("role", "add", "locks")
    run("role", "grant-permission", "locks", "--prefix=true", "readwrite", "noonmark/locks/")
    run("user", "grant-role", "keeper", "locks")
    run("user", "grant-role", "root", "root")
    run("auth", "enable")


class TlsEtcd(Etcd):
    """An etcd that speaks TLS only and wants a client's certificate."""

    def _command(self) -> list[str | Path]:
        make_certificate(self.folder)
        here = f"https://127.0.0.1:{self.port}"
        cert, key = str(self.folder / "tls.crt"), str(self.folder / "tls.key")
        self.options = {
            "listen-client-urls": here,
            "advertise-client-urls": here,
            "cert-file": cert,
            "key-file": key,
            "trusted-ca-file": cert,
            "client-cert-auth": "true",
        }
        return super()._command()

    def _is_ready(self, said: str) -> bool:
        return "serving client traffic securely" in said


def test_etcd_over_tls_with_a_clients_certificate(opened: Open, server: Server) -> None:
    if server.kind != "etcd":
        return
    with TlsEtcd() as secure:
        cert, key = secure.folder / "tls.crt", secure.folder / "tls.key"
        base = f"etcd://localhost:{secure.port}?timeout=3"
        locks = opened(f"{base}&ca={cert}&cert={cert}&key={key}")
        grant = held(locks, "secret")
        assert locks.renew("secret", TTL, "t1") == grant
        assert locks.release("secret", "t1")
        for wrong in ("", f"&ca={cert}"):  # no TLS at all; no certificate of our own
            with pytest.raises(LockError):
                opened(base + wrong).acquire("secret", SECOND, "t2")
