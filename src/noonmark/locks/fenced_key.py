"""A fenced value as a key of Redis or Valkey.

Rule of the file: one script compares, registers and answers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from noonmark.locks.fenced import stale
from noonmark.locks.redis_link import run_script

if TYPE_CHECKING:
    import redis


class FencedKey:
    """One value in a hash ``{fence, value}``.

    Args:
        client: any redis client; with ``decode_responses`` values are read as text.
        key: the key.
    """

    def __init__(self, client: redis.Redis, key: str) -> None:
        self._client, self._key = client, key

    def read(self, fence: int) -> bytes | str | None:
        """Register the fence and return the value; None if there is none yet.

        Raises:
            StaleFence: a greater one is registered.
        """
        return self._run(fence, "read", "")

    def write(self, fence: int, value: bytes | str) -> None:
        """Register the fence and set the value.

        Raises:
            StaleFence: a greater one is registered; nothing changed.
        """
        self._run(fence, "write", value)

    def _run(self, fence: int, how: str, value: bytes | str) -> bytes | str | None:
        answer = run_script(self._client, "fenced", (self._key,), str(fence), how, value)
        if not answer[0]:
            raise stale(f'"{self._key}"', fence, int(answer[1]))
        before: bytes | str | None = answer[1] if len(answer) > 1 else None
        return before
