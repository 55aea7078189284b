"""Clients for Redis and Valkey, from a URL, and their errors in words a person can use.

Rule of the file: one attempt per call; whatever is worth repeating or waiting for is repeated above.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Any
from urllib.parse import SplitResult, parse_qsl, unquote, urlencode, urlsplit

from noonmark.core.urls import without_secrets
from noonmark.locks.errors import LockUrlError
from noonmark.locks.scripts import script
from noonmark.locks.urls import hosts
from noonmark.ports.lock import LockError, LockUnusable

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

    try:
        parts = urlsplit(url)
        scheme, _, transport = parts.scheme.partition("+")
        options = {k: v for k, v in parse_qsl(parts.query, keep_blank_values=True) if k not in _OF_THE_STORE}
        timeout = _seconds(options.pop("timeout", str(TIMEOUT)))
        common: dict[str, Any] = {
            "retry": Retry(NoBackoff(), 0),
            "socket_timeout": timeout,
            "socket_connect_timeout": timeout,
            "health_check_interval": 0,
        }
        if scheme in ("rediss", "valkeys") and transport:
            common |= {"ssl": True} | {key: _plain(options.pop(key)) for key in sorted(_TLS & options.keys())}
        if transport == "cluster":
            return _cluster(parts, options, common)
        if transport == "sentinel":
            return _sentinel(parts, options, common)
        return _one(parts, options, common)
    except LockUrlError:
        raise
    except (ValueError, KeyError, TypeError) as problem:
        said = f" ({problem})" if "@" not in url else ""  # it may quote a part of a password
        raise LockUrlError(f"{without_secrets(url)} cannot be read{said}; write redis://host:6379/0") from None


def _one(parts: SplitResult, options: dict[str, str], common: dict[str, Any]) -> Any:
    import redis

    database = parts.path.strip("/")
    if database and not database.isdecimal():
        raise LockUrlError(f'"{parts.path}" is no database number; write redis://host:6379/0')
    scheme = "rediss" if parts.scheme in ("rediss", "valkeys") else "redis"
    plain = f"{scheme}://{parts.netloc}{parts.path}?{urlencode(options)}"
    client = redis.Redis.from_url(plain, **common)
    client.connection_pool.make_connection()  # an option that nobody knows is refused here, not at the first call
    return client


def _cluster(parts: SplitResult, options: dict[str, str], common: dict[str, Any]) -> Any:
    from redis import cluster

    _refuse(options, "redis+cluster", ())
    untyped: Any = cluster
    nodes = [untyped.ClusterNode(host, port) for host, port in hosts(parts, 6379)]
    return untyped.RedisCluster(startup_nodes=nodes, username=_user(parts), password=_password(parts), **common)


def _sentinel(parts: SplitResult, options: dict[str, str], common: dict[str, Any]) -> Any:
    from redis import sentinel

    _refuse(options, "redis+sentinel", _OF_SENTINELS)
    untyped: Any = sentinel
    service, _, database = parts.path.strip("/").partition("/")
    if not service:
        raise LockUrlError("redis+sentinel:// names no service; write redis+sentinel://host:26379,host:26379/mymaster")
    asked = {key.removeprefix("sentinel_"): value for key, value in options.items()}
    asked |= {key: value for key, value in common.items() if key not in ("retry", "health_check_interval")}
    watched = untyped.Sentinel(hosts(parts, 26379), sentinel_kwargs=asked)
    return watched.master_for(
        unquote(service), db=int(database or 0), username=_user(parts), password=_password(parts), **common
    )


def _refuse(options: dict[str, str], scheme: str, known: Collection[str]) -> None:
    if unknown := sorted(options.keys() - set(known)):
        names = ", ".join(sorted({"timeout", *known}))
        raise LockUrlError(f'{scheme} has no option "{unknown[0]}"; known: {names}, and with rediss those for TLS')


def _plain(value: str) -> Any:
    return value.lower() in ("1", "true", "yes") if value.lower() in ("0", "1", "true", "false", "yes", "no") else value


def _seconds(value: str) -> float:
    try:
        seconds = float(value)
    except ValueError:
        seconds = 0.0
    if not 0.1 <= seconds <= 300:
        raise LockUrlError(f"timeout={value} is not possible; write seconds between 0.1 and 300")
    return seconds


def _user(parts: SplitResult) -> str | None:
    return unquote(parts.username) if parts.username else None


def _password(parts: SplitResult) -> str | None:
    return unquote(parts.password) if parts.password else None


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
    said = (str(error) or type(error).__name__).rstrip(".")
    remedy = _remedy(error, said)
    if remedy:
        return LockUnusable(f"{where} refuses to serve locks: {said}. {remedy}")
    return LockError(f"{where} does not answer: {said}. Whether the lock was taken is unknown; it frees itself.")


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
