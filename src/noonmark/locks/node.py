"""One of several Redis servers that are asked at the same time.

Promises: asking all costs as long as the slowest that is still waited for, not the sum; a server that cannot be reached
is left alone for a moment instead of being waited for each time.

Rule of the file: a connection whose answer did not come in time is closed, or its next answer would be the wrong one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, TypeAlias

from noonmark.core.model import SECOND, Micros
from noonmark.locks.redis_link import translated
from noonmark.locks.scripts import script
from noonmark.ports.clock import Clock
from noonmark.ports.lock import LockError

LEFT_ALONE: Micros = SECOND
"""How long a server is not asked that was waited for in vain; one that refuses at once costs nothing and is asked."""


class _Away:
    def __repr__(self) -> str:
        return "AWAY"


AWAY: Final = _Away()
"""Stands for the answer that did not come."""


class Command:
    """One script with its arguments, packed once for all nodes."""

    __slots__ = ("name", "packed", "tail", "until")

    def __init__(self, name: str, tail: tuple[str | int, ...], until: Micros) -> None:
        self.name, self.tail, self.until = name, tail, until
        self.packed: Any = None

    def packed_by(self, connection: Any) -> Any:
        """Return the bytes to send."""
        self.packed = connection.pack_command("EVALSHA", script(self.name).sha, *self.tail)
        return self.packed


Line: TypeAlias = tuple[Any, bool]
"""A connection on which a command was sent; True if it has answered before, so that the server may have hung up."""


class Node:
    """One server, its connections, and why it did not answer last time.

    Args:
        timeout: how long to wait for a connection, and for an answer.
    """

    def __init__(self, host: str, port: int, *, timeout: Micros, tls: bool, clock: Clock, **common: Any) -> None:
        import redis
        from redis.backoff import NoBackoff
        from redis.retry import Retry

        seconds = timeout / SECOND
        self._nearly = round(0.9 * timeout)
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
        self._timeout = timeout
        self._errors = (redis.RedisError, OSError)
        self._unknown = redis.exceptions.NoScriptError
        self._hung_up, self._too_slow = (redis.ConnectionError, OSError), (redis.TimeoutError, TimeoutError)
        self._clock = clock
        self._ask_from: Micros = 0
        self._idle: list[Any] = []
        self.place = f"{host}:{port}"
        self.trouble: LockError | None = None
        self.reason = ""

    def send(self, command: Command, began: Micros, *, anew: bool = False) -> Line | None:
        """Send a command, on a new connection if ``anew``; None if that was not possible."""
        if began < self._ask_from:
            return None
        try:
            connection = None if anew else self._idle.pop()
        except IndexError:
            connection = None
        is_used = connection is not None
        try:
            if connection is None:
                connection = self._client.connection_pool.make_connection()
            connection.send_packed_command(command.packed or command.packed_by(connection))  # connects if need be
        except self._errors as error:
            self._give_up(connection, error)
            if is_used and isinstance(error, self._hung_up) and not isinstance(error, self._too_slow):
                return self.send(command, self._clock.boot(), anew=True)
            now = self._clock.boot()
            if now - began > self._timeout / 2:
                self._ask_from = now + LEFT_ALONE
            return None
        return connection, is_used

    def read(self, line: Line, command: Command) -> Any:
        """Return the answer, or AWAY if none came in time."""
        connection, is_used = line
        left = command.until - self._clock.boot()
        try:
            # The connection's own timeout is nearly what is left, as a rule; then one system call less is needed.
            if left < self._nearly and not connection.can_read(max(0, left) / SECOND):
                raise TimeoutError(f"no answer within {max(0, left) // 1000} ms")
            try:
                answer = connection.read_response()
            except self._unknown:
                connection.send_command("EVAL", script(command.name).text, *command.tail)
                answer = connection.read_response()
        except self._errors as error:
            self._give_up(connection, error)
            if is_used and isinstance(error, self._hung_up) and not isinstance(error, self._too_slow):
                return self._read_anew(command)
            return AWAY
        except BaseException:
            connection.disconnect()
            raise
        self._idle.append(connection)
        self.trouble = None
        return answer

    def _read_anew(self, command: Command) -> Any:
        """Ask again on a new connection: the old one had died while it was idle, or after the command was carried out."""
        line = self.send(command, self._clock.boot(), anew=True)
        answer = AWAY if line is None else self.read(line, command)
        # Whether nothing was freed now because it was freed then, nobody knows.
        return AWAY if command.name == "release" and answer == 0 else answer

    def _give_up(self, connection: Any, error: Exception) -> None:
        self.trouble, self.reason = translated(self.place, error), str(error) or type(error).__name__
        if connection is not None:
            connection.disconnect()

    def close(self) -> None:
        """Close the connections."""
        while self._idle:
            self._idle.pop().disconnect()
        self._client.close()


def ask_all(
    nodes: Sequence[Node], name: str, keys: tuple[str, ...], args: Sequence[str | int], *, within: Micros, clock: Clock
) -> list[Any]:
    """Run one script on every node at the same time and return the answers, AWAY where none came ``within`` that time."""
    began = clock.boot()
    command = Command(name, (len(keys), *keys, *args), began + within)
    lines: list[Line | None] = []
    read = 0
    try:
        lines = [node.send(command, began) for node in nodes]
        command.until = clock.boot() + within
        answers = []
        for node, line in zip(nodes, lines, strict=True):
            read += 1
            answers.append(AWAY if line is None else node.read(line, command))
        return answers
    finally:
        for line in lines[read:]:  # only after an interruption: nobody will read these answers
            if line is not None:
                line[0].disconnect()
