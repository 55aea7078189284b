"""Reading lock URLs.

Rule of the file: text in, text out; nothing is opened here.
"""

from __future__ import annotations

from urllib.parse import SplitResult, urlsplit

from noonmark.core.urls import CUT_PASSWORD, count, unfit
from noonmark.locks.errors import LockUrlError


def split(url: str) -> SplitResult:
    """Return the parts of a URL.

    Raises:
        LockUrlError: it has none; nothing of it is quoted, for what cannot be read may be a password.
    """
    if why := unfit(url):
        raise LockUrlError(f"the URL cannot be read: {why}")
    try:
        return urlsplit(url)
    except ValueError:
        if "@" in url:
            raise LockUrlError(CUT_PASSWORD) from None
        scheme = url.partition("://")[0]
        raise LockUrlError(
            f"the URL cannot be read: it has signs that no host has, or [ without ]; write {scheme}://host:port, and"
            " brackets around IPv6 addresses only"
        ) from None


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
        there = count(number, 65535)
        if not host or not there:
            raise LockUrlError(f'"{place}" is no host; write {parts.scheme}://host:{port},host:{port}')
        found.append((host.strip("[]"), there))
    return found
