"""A connection that a person has to mend is told as such, in whatever language the server speaks, and never waited for."""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from noonmark.ports.store import StoreError, StoreFull, StoreUnreachable, StoreUnusable
from noonmark.stores.postgres import open_postgres
from noonmark.stores.postgres.errors import translated
from noonmark.stores.postgres.refusals import cause
from noonmark.testing.servers import FORGETFUL, Postgres, Redis, free_port, second, start_postgres
from noonmark.testing.servers.redis import _make_certificate


@pytest.fixture(scope="module")
def guarded() -> Iterator[Postgres]:
    """A server that asks for a password, and lets one role in from nowhere."""
    with start_postgres(options=FORGETFUL, password="Secret7") as server:
        with psycopg.connect(server.url, autocommit=True) as admin:
            admin.execute("CREATE ROLE worker LOGIN PASSWORD 'Secret7'")
            admin.execute("CREATE DATABASE closed")
            admin.execute("REVOKE CONNECT ON DATABASE closed FROM PUBLIC")
        rules = server.data / "pg_hba.conf"
        lines = ["host postgres outsider 10.9.8.7/32 scram-sha-256", "host all outsider all reject"]
        rules.write_text("\n".join([*lines, rules.read_text(encoding="utf-8")]), encoding="utf-8")
        server.stop()
        server.start()
        yield server


def refusal(url: str) -> str:
    with pytest.raises(StoreUnusable) as refused:
        open_postgres(url).close()
    assert type(refused.value) is StoreUnusable
    assert "Secret7" not in str(refused.value)
    return str(refused.value)


@pytest.mark.parametrize(
    ("login", "database", "said"),
    [
        ("postgres", "postgres", "refuses the credentials"),
        ("postgres:wrong", "postgres", "refuses the credentials"),
        ("nobody:x", "postgres", "refuses the credentials"),
        ("postgres:Secret7", "nothing", "no such database"),
        ("worker:Secret7", "closed", "lacks a right"),
        ("outsider:x", "postgres", "pg_hba.conf"),
        ("postgres:Secret7", "postgres?sslmode=require", "speaks no TLS"),
        ("postgres:Secret7", "postgres?sslmode=perhaps", "value that is not possible"),
        ("postgres:Secret7", "postgres?connect_timeout=soon", "value that is not possible"),
        ("worker:Secret7", "postgres", "migrate=no"),
    ],
)
def test_what_a_person_has_to_mend_is_never_waited_for(guarded: Postgres, login: str, database: str, said: str) -> None:
    assert said in refusal(f"postgresql://{login}@127.0.0.1:{guarded.port}/{database}")


LANGUAGES = ("de", "fr", "ru", "ja")


@pytest.mark.server("postgres", "second")
@pytest.mark.parametrize("language", LANGUAGES)
def test_a_server_that_speaks_another_language_is_understood(language: str, monkeypatch: pytest.MonkeyPatch) -> None:
    version = second("postgres")
    assert version is not None
    spoken = {"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C.UTF-8", "LANGUAGE": language, "TZ": "UTC"}
    monkeypatch.setattr(Postgres, "_environment", lambda _: spoken)
    with start_postgres(version.version, options=FORGETFUL, password="Secret7") as server:
        place = f"127.0.0.1:{server.port}"
        with psycopg.connect(server.url, autocommit=True) as admin:
            admin.execute("ALTER SYSTEM SET lc_messages = 'C.UTF-8'")  # now, for the launcher reads English
            admin.execute("SELECT pg_reload_conf()")
            admin.execute("SET lc_messages = 'C.UTF-8'")
            with pytest.raises(psycopg.Error) as told:
                admin.execute("SELECT 1/0")
        if "division by zero" in str(told.value):
            pytest.skip(f"no {language} messages here")
        refusal(f"postgresql://postgres:wrong@{place}/postgres")
        refusal(f"postgresql://ada:wrong@{place}/postgres")
        refusal(f"postgresql://postgres:Secret7@{place}/nothing")


@pytest.mark.server("postgres", "second")
def test_a_server_with_the_wrong_certificate_is_for_a_person(tmp_path: Path) -> None:
    version = second("postgres")  # the wheel's is built without TLS
    assert version is not None
    _make_certificate(tmp_path)
    other = tmp_path / "other"
    other.mkdir()
    _make_certificate(other)
    with start_postgres(version.version, options=FORGETFUL) as server:
        for name in ("tls.crt", "tls.key"):
            file = server.data / name
            file.write_bytes((tmp_path / name).read_bytes())
            file.chmod(0o600)
            if server.user is not None:
                shutil.chown(file, server.user)
        server.stop()
        server.options |= {"ssl": "on", "ssl_cert_file": "tls.crt", "ssl_key_file": "tls.key"}
        server.start()
        url = f"postgresql://postgres@localhost:{server.port}/postgres?sslmode=verify-full&sslrootcert="
        open_postgres(f"{url}{tmp_path}/tls.crt").close()
        assert "certificates do not fit" in refusal(f"{url}{other}/tls.crt")
        assert "certificates do not fit" in refusal(f"{url}/nothing.crt")


@contextlib.contextmanager
def answering(text: bytes) -> Iterator[int]:
    """A server that says one thing to whoever speaks, and hangs up."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            with contextlib.suppress(OSError):
                while True:
                    link, _ = listener.accept()
                    with link:
                        link.recv(100)
                        link.sendall(text)

        threading.Thread(target=serve, daemon=True).start()
        yield listener.getsockname()[1]
        listener.shutdown(socket.SHUT_RDWR)


@pytest.mark.parametrize("text", [b"HTTP/1.1 400 Bad Request\r\n\r\n", b"-ERR unknown command\r\n", b"SSH-2.0-x\r\n"])
def test_a_port_on_which_something_else_listens_is_for_a_person(text: bytes) -> None:
    with answering(text) as port:
        assert "no PostgreSQL server" in refusal(f"postgresql://u@127.0.0.1:{port}/d")


def test_what_may_pass_by_itself_is_waited_for(postgres: Postgres, valkey: Redis) -> None:
    away = [f"postgresql://u@127.0.0.1:{free_port()}/d", "postgresql://u@no-such-host.invalid/d"]
    away.append(f"postgresql://u@127.0.0.1:{valkey.port}/d?connect_timeout=2")  # it waits for more of the line
    for url in away:
        with pytest.raises(StoreUnreachable):
            open_postgres(url).close()
    assert postgres.is_running


BEGINNING = 'connection to server at "h", port 5432 failed: '


@pytest.mark.parametrize(
    ("said", "found"),
    [
        ("FATAL:  sorry, too many clients already", ""),
        ('FATAL:  too many connections for role "ada"', ""),
        ("FATAL:  remaining connection slots are reserved for roles with the SUPERUSER attribute", ""),
        ("FATAL:  the database system is starting up", ""),
        ("FATAL:  das Datenbanksystem startet", ""),
        ("server closed the connection unexpectedly", ""),
        ("Connection refused", ""),
        ("致命错误:  用户 \"ada\" Password 认证失败", "credentials"),
        ('致命错误:  数据库 "jobs" 不存在', "database"),
        ("FATAL:  aucune entrée dans pg_hba.conf pour l'hôte « ::1 »", "hba"),
        ("FATAL:  no such database: jobs", "database"),
        ("SSL error: certificate verify failed", "certificate"),
        ("SSL error: tlsv1 alert unknown ca", "certificate"),
        ('server certificate for "a" does not match host name "b"', "certificate"),
        ("FATAL:  connection requires a valid client certificate", "certificate"),
        ('authentication method requirement "none" failed: server requested SASL authentication', "credentials"),
        ("SSL error: wrong version number", "no_postgres"),
    ],
)  # fmt: skip
def test_what_libpq_says_is_sorted_by_who_can_mend_it(said: str, found: str) -> None:
    class Told(psycopg.OperationalError):
        pgconn = type("Wire", (), {"needs_password": False, "user": b"ada", "db": b"jobs"})()  # type: ignore[assignment]

    error = Told(BEGINNING + said)
    assert cause(error) == found
    told = translated("postgresql://h", error)
    assert isinstance(told, StoreError)
    assert isinstance(told, StoreUnusable) == bool(found)


def test_a_missing_password_is_seen_without_reading_the_sentence() -> None:
    class Told(psycopg.OperationalError):
        pgconn = type("Wire", (), {"needs_password": True})()  # type: ignore[assignment]

    assert cause(Told("connexion impossible")) == "credentials"


def test_a_full_disk_of_the_server_is_waited_for_and_called_what_it_is() -> None:
    error = psycopg.errors.DiskFull("could not extend file: No space left on device")
    assert error.sqlstate == "53100"
    told = translated("postgresql://h", error)
    assert type(told) is StoreFull
    assert "its disk is full" in str(told)
