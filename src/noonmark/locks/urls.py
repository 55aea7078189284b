"""Reading lock URLs.

Rule of the file: text in, text out; nothing is opened here.
"""

from __future__ import annotations

from urllib.parse import SplitResult

from noonmark.locks.errors import LockUrlError


def hosts(parts: SplitResult, port: int) -> list[tuple[str, int]]:
    """Return the hosts of ``h:p,h:p,[::1]:p``, each with its port or the usual one.

    Raises:
        LockUrlError: none, or one that cannot be read.
    """
    found = []
    for place in parts.netloc.rpartition("@")[2].split(","):
        host, separator, number = place.rpartition(":")
        if not separator or number.endswith("]"):
            host, number = place, str(port)
        if not host or not number.isdecimal() or not 0 < int(number) < 65536:
            raise LockUrlError(f'"{place}" is no host; write {parts.scheme}://host:{port},host:{port}')
        found.append((host.strip("[]"), int(number)))
    return found
