"""Clients for Redis and Valkey, from a URL, and their errors in words a person can use.

Rule of the file: one attempt per call; whatever is worth repeating or waiting for is repeated above.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import SplitResult, unquote

from noonmark.core.urls import without_secrets
from noonmark.locks.errors import LockUrlError, no_answer, refusal
from noonmark.locks.scripts import script
from noonmark.locks.urls import files, hosts, options, seconds, split
from noonmark.ports.lock import LockError

if TYPE_CHECKING:
    import redis

TIMEOUT = 5.0
"""Seconds for connecting and for one answer, unless the URL says ``timeout``; the end of trust is watched apart."""
_OF_THE_STORE = {"namespace", "durability", "replicas"}
"""Options that mean something to the store at the same URL and nothing to a lock."""
_TLS = {
    "ssl_ca_certs", "ssl_ca_path", "ssl_certfile", "ssl_keyfile", "ssl_password", "ssl_cert_reqs", "ssl_check_hostname",
}  # fmt: skip
_OF_SENTINELS = {"sentinel_username", "sentinel_password"}
_KNOWN = {"timeout", "client_name"}


def connect(url: str) -> Any:
    """Return a client for the URL; only a cluster is asked for something at once, its nodes.

    Args:
        url: ``redis:// rediss:// valkey:// valkeys://`` host and database, ``redis+cluster://h:p,h:p``, or
            ``redis+sentinel://h:p,h:p/service/db`` (rediss for TLS); ``?timeout=5`` seconds for each answer.

    Raises:
        LockUrlError: with what to write instead.
    """
    from redis.backoff import NoBackoff
    from redis.retry import Retry

    parts = split(url)
    scheme, _, transport = parts.scheme.partition("+")
    tls = scheme in ("rediss", "valkeys")
    known = _KNOWN | (_OF_SENTINELS if transport == "sentinel" else set()) | (_TLS if tls else set())
    given = options(url, known, passed_over=_OF_THE_STORE)
    timeout = seconds(given.pop("timeout", str(TIMEOUT)), 0.1, 300)
    _check_tls(given)
    common: dict[str, Any] = {
        "retry": Retry(NoBackoff(), 0),
        "socket_timeout": timeout,
        "socket_connect_timeout": timeout,
        "health_check_interval": 0,
        "username": unquote(parts.username) if parts.username else None,
        "password": unquote(parts.password) if parts.password else None,
        "client_name": given.pop("client_name", None),
    }
    if tls:
        common |= {"ssl": True} | {key: _plain(given.pop(key)) for key in sorted(_TLS & given.keys())}
    try:
        if transport == "cluster":
            return _cluster(parts, common)
        if transport == "sentinel":
            return _sentinel(parts, given, common)
        return _one(parts, common)
    except (ValueError, KeyError, TypeError) as problem:
        if isinstance(problem, LockUrlError):
            raise
        said = f" ({problem})" if "@" not in url else ""  # it may quote a part of a password
        raise LockUrlError(f"{without_secrets(url)} cannot be read{said}; write redis://host:6379/0") from None


def _one(parts: SplitResult, common: dict[str, Any]) -> Any:
    import redis

    places = hosts(parts, 6379, several=False)
    if len(places) > 1:
        raise LockUrlError(
            f"{parts.scheme}:// takes one host; several are redis+sentinel://, redis+cluster:// or redlock://"
        )
    host, port = places[0]
    client = redis.Redis(host=host, port=port, db=_database(parts.path), **common)
    client.connection_pool.make_connection()  # what redis-py does not understand is refused here, not at the first call
    return client


def _cluster(parts: SplitResult, common: dict[str, Any]) -> Any:
    from redis import cluster

    if parts.path.strip("/0"):
        raise LockUrlError("a cluster has one database only; leave the number out")
    untyped: Any = cluster
    nodes = [untyped.ClusterNode(host, port) for host, port in hosts(parts, 6379)]
    return untyped.RedisCluster(startup_nodes=nodes, **common)


def _sentinel(parts: SplitResult, given: dict[str, str], common: dict[str, Any]) -> Any:
    from redis import sentinel

    untyped: Any = sentinel
    service, _, database = parts.path.strip("/").partition("/")
    if not service:
        raise LockUrlError("redis+sentinel:// names no service; write redis+sentinel://host:26379,host:26379/mymaster")
    its_own = ("retry", "health_check_interval", "username", "password")
    asked = {key: value for key, value in common.items() if key not in its_own}
    asked |= {key.removeprefix("sentinel_"): value for key, value in given.items()}
    watched = untyped.Sentinel(hosts(parts, 26379), sentinel_kwargs=asked)
    return watched.master_for(unquote(service), db=_database(database), **common)


def _database(path: str) -> int:
    number = path.strip("/")
    if number and not number.isdecimal():
        raise LockUrlError(f'"{path}" is no database number; write redis://host:6379/0')
    return int(number or 0)


def _check_tls(given: dict[str, str]) -> None:
    files(given, ("ssl_ca_certs", "ssl_certfile", "ssl_keyfile"))
    wanted = given.get("ssl_cert_reqs", "required")
    if wanted not in ("none", "optional", "required"):
        raise LockUrlError(f"ssl_cert_reqs={wanted} means nothing; write none, optional or required")


def _plain(value: str) -> Any:
    return value.lower() in ("1", "true", "yes") if value.lower() in ("0", "1", "true", "false", "yes", "no") else value


def run_script(client: redis.Redis, name: str, keys: tuple[str, ...], *args: str | int | bytes) -> Any:
    """Run one script by its digest, or by its text where the server does not know it (any more)."""
    found = script(name)
    try:
        return client.evalsha(found.sha, len(keys), *keys, *args)
    except Exception as error:
        if not _is_unknown(error):
            raise
        return client.eval(found.text, len(keys), *keys, *args)


def run_on_pool(pool: Any, name: str, keys: tuple[str, ...], *args: str | int | bytes) -> Any:
    """Do what ``run_script`` does with a connection of the client's pool, without its wrappings.

    Between two commands of a lock the client's retries, callbacks and instruments are a third of the time.
    """
    found = script(name)
    connection = pool.get_connection()
    try:
        connection.send_command("EVALSHA", found.sha, len(keys), *keys, *args)
        answer = connection.read_response()
    except Exception as error:
        if not _is_unknown(error):
            connection.disconnect()
            raise
        connection.send_command("EVAL", found.text, len(keys), *keys, *args)
        answer = connection.read_response()
    except BaseException:
        connection.disconnect()  # interrupted: its next answer would be somebody else's
        raise
    finally:
        pool.release(connection)
    return answer


def _is_unknown(error: Exception) -> bool:
    from redis.exceptions import NoScriptError

    return isinstance(error, NoScriptError)


def translated(where: str, error: Exception) -> LockError:
    """Return the lock error that says what this client error means to a person."""
    said = str(error) or type(error).__name__
    remedy = _remedy(error, said)
    if remedy:
        return refusal(where, said, remedy)
    return no_answer(where, said)


def _remedy(error: Exception, said: str) -> str:
    """Return what a person has to do, or nothing where waiting may help."""
    from redis import exceptions

    if isinstance(error, (exceptions.AuthenticationError, exceptions.AuthorizationError)) or said.startswith("NOAUTH"):
        return "Check user and password in the URL."
    # Inside a script, older servers give their refusals no class of its own.
    if isinstance(error, exceptions.NoPermissionError) or "can't run this command" in said or "ACL failure" in said:
        return (
            "Allow this user the keys lock:* and fence:* and the commands"
            " eval evalsha get set del pexpire hmget hget hset time."
        )
    if isinstance(error, exceptions.OutOfMemoryError):
        return "Give it more memory (maxmemory)."
    if said.startswith("MISCONF"):
        return "Mend its persistence: see its log, often the disk is full."
    if said.startswith("WRONGTYPE"):
        return "The key holds something that is no lock; choose another name."
    if said.startswith("DB index"):
        return "Choose another database number in the URL."
    return ""
