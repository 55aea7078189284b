"""Asking sentinels for the primary, and saying in one sentence why none was named.

Rule of the file: every sentinel is asked until one names a primary; what each of the others said is kept in a few words.
"""

from __future__ import annotations

import re
from typing import Any

from redis import exceptions
from redis.sentinel import Sentinel

_WHERE = re.compile(r"^Error -?\d+ connecting to \S+?\. ")
_CREDENTIALS = ("NOAUTH", "WRONGPASS", "NOPERM", "Authentication", "invalid username-password")


class NoPrimary(exceptions.ConnectionError):
    """No sentinel named a primary.

    ``known``: the services that sentinels do know, where one answered and did not know ours; ``refused``: those that
    answered wanted other credentials.
    """

    def __init__(self, service: str, said: str, *, known: tuple[str, ...] | None, refused: bool) -> None:
        super().__init__(f"no sentinel names a primary of {service} ({said})")
        self.service, self.said, self.known, self.refused = service, said, known, refused


class Sentinels(Sentinel):
    """Sentinels that say what went wrong."""

    def discover_master(self, service_name: str) -> tuple[str, int]:
        """Return address and port of the primary.

        Raises:
            NoPrimary: nobody names one.
        """
        said: list[str] = []
        known: set[str] = set()
        strangers = refused = 0
        for place, sentinel in enumerate(self.sentinels):
            try:
                masters: Any = sentinel.sentinel_masters()
            except (exceptions.ConnectionError, exceptions.TimeoutError, exceptions.ResponseError) as error:
                words = " ".join(str(error).split())
                if not isinstance(error, exceptions.ConnectionError) and "unknown command" in words:
                    raise  # no sentinel at all
                refused += any(word in words for word in _CREDENTIALS)
                said.append(f"{_name(sentinel)}: {_WHERE.sub('', words).rstrip('.')}")
                continue
            state = masters.get(service_name)
            if state is None:
                known |= set(masters)
                strangers += 1
                said.append(f"{_name(sentinel)}: not known here")
            elif not (state["is_sdown"] or state["is_odown"] or not state["is_master"]):
                self.sentinels[0], self.sentinels[place] = sentinel, self.sentinels[0]  # asked first from now on
                return state["ip"], state["port"]
            else:
                strangers = -len(self.sentinels)
                said.append(f"{_name(sentinel)}: it counts as down")
        raise NoPrimary(
            service_name,
            "; ".join(said),
            known=tuple(sorted(known)) if strangers > 0 else None,
            refused=0 < refused == len(said),
        )


def _name(sentinel: Any) -> str:
    place = sentinel.connection_pool.connection_kwargs
    return f"{place['host']}:{place['port']}"
