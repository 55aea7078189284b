"""Taking a whole namespace away again: for demos and trials, never on the way of a job.

Rule of the file: only keys under the namespace's own prefix are named; what else the server holds is not touched.
"""

from __future__ import annotations

from noonmark.stores.redis.address import parse
from noonmark.stores.redis.connection import Link

AT_ONCE = 500
"""Keys a round: the server serves others in between."""


def erase(url: str) -> int:
    """Remove every key of the namespace that a URL names; return how many there were.

    Raises:
        StoreUrlError: the URL cannot be read.
        StoreUnreachable: nobody answers there.
    """
    address = parse(url)
    link = Link(address, at_once=1)
    removed, cursor = 0, "0"
    try:
        while True:
            cursor, names = link.ask("SCAN", cursor, "MATCH", f"{address.prefix}*", "COUNT", AT_ONCE)
            if names:
                removed += int(link.ask("UNLINK", *names))
            if str(cursor) == "0":
                return removed
    finally:
        link.close()
