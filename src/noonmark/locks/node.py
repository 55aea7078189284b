"""One of several Redis servers that are asked at the same time.

Promises: asking all costs as long as the slowest that is still waited for, not the sum; a server that cannot be reached
is left alone for a moment instead of being waited for each time.

Rule of the file: a connection whose answer did not come in time is closed, or its next answer would be the wrong one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from noonmark.core.model import SECOND, Micros
from noonmark.locks.redis_link import translated
from noonmark.locks.scripts import script
from noonmark.ports.clock import Clock
from noonmark.ports.lock import LockError

SLOW_TO_FAIL: Micros = 20_000
LEFT_ALONE: Micros = SECOND
"""How long a server is not asked that took its time to fail; one that refuses at once costs nothing and is asked."""


class _Away:
    def __repr__(self) -> str:
        return "AWAY"


AWAY: Final = _Away()
"""Stands for the answer that did not come."""


class Node:
    """One server, its connections, and why it did not answer last time."""

    def __init__(self, host: str, port: int, *, timeout: Micros, tls: bool, clock: Clock, **common: Any) -> None:
        import redis
        from redis.backoff import NoBackoff
        from redis.retry import Retry

        seconds = timeout / SECOND
        self._client = redis.Redis(
            host=host,
            port=port,
            ssl=tls,
            socket_timeout=seconds,
            socket_connect_timeout=seconds,
            retry=Retry(NoBackoff(), 0),
            protocol=2,
            **common,
        )
        self._errors = (redis.RedisError, OSError)
        self._clock = clock
        self._ask_from: Micros = 0
        self.place = f"{host}:{port}"
        self.trouble: LockError | None = None
        self.reason = ""

    def send(self, command: Sequence[str | int]) -> Any:
        """Send a command and return the connection to read from, or None if that was not possible."""
        if self._clock.boot() < self._ask_from:
            return None
        began = self._clock.boot()
        connection: Any = None
        try:
            connection = self._client.connection_pool.get_connection()
            connection.send_command(*command)
        except self._errors as error:
            self._give_up(connection, error)
            if self._clock.boot() - began > SLOW_TO_FAIL:
                self._ask_from = self._clock.boot() + LEFT_ALONE
            return None
        return connection

    def read(self, connection: Any, within: float, name: str, tail: Sequence[str | int]) -> Any:
        """Return the answer, or AWAY if none came within so many seconds."""
        from redis.exceptions import NoScriptError

        try:
            if not connection.can_read(max(0.0, within)):
                raise TimeoutError(f"no answer within {within * 1000:.0f} ms")
            try:
                answer = connection.read_response()
            except NoScriptError:
                connection.send_command("EVAL", script(name).text, *tail)
                answer = connection.read_response()
        except self._errors as error:
            self._give_up(connection, error)
            return AWAY
        except BaseException:
            self.drop(connection)
            raise
        self._client.connection_pool.release(connection)
        self.trouble = None
        return answer

    def _give_up(self, connection: Any, error: Exception) -> None:
        self.trouble, self.reason = translated(self.place, error), str(error) or type(error).__name__
        if connection is not None:
            self.drop(connection)

    def drop(self, connection: Any) -> None:
        """Close a connection whose answer nobody will read."""
        connection.disconnect()
        self._client.connection_pool.release(connection)

    def close(self) -> None:
        """Close the connections."""
        self._client.close()


def ask_all(
    nodes: Sequence[Node], name: str, keys: tuple[str, ...], args: Sequence[str | int], *, within: Micros, clock: Clock
) -> list[Any]:
    """Run one script on every node at the same time and return the answers, AWAY where none came ``within`` that time."""
    tail = (len(keys), *keys, *args)
    command = ("EVALSHA", script(name).sha, *tail)
    answers: list[Any] = [AWAY] * len(nodes)
    open_: dict[int, Any] = {}
    try:
        for place, node in enumerate(nodes):
            connection = node.send(command)
            if connection is not None:
                open_[place] = connection
        until = clock.boot() + within
        for place in list(open_):
            connection = open_.pop(place)
            answers[place] = nodes[place].read(connection, (until - clock.boot()) / SECOND, name, tail)
    finally:
        for place, connection in open_.items():  # only after an interruption
            nodes[place].drop(connection)
    return answers
