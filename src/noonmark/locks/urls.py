"""Reading lock URLs: one way to say for every kind what is wrong with one.

Promise: what a URL says and nobody understands is refused, with what to write; never passed over, never said in a
driver's own words.

Rule of the file: text in, text out; nothing is opened here.
"""

from __future__ import annotations

import difflib
import math
from collections.abc import Collection
from pathlib import Path
from urllib.parse import SplitResult, parse_qsl, urlsplit

from noonmark.core.urls import LONGEST_URL, place_shown, stands_twice, without_secrets
from noonmark.locks.errors import LockUrlError


def split(url: str) -> SplitResult:
    """Return the parts of a URL of a server.

    Raises:
        LockUrlError: it cannot be read.
    """
    check_visible(url)
    try:
        parts = urlsplit(url)
    except ValueError as problem:  # says at most "Invalid IPv6 URL"
        raise LockUrlError(f"{without_secrets(url)} cannot be read: {problem}") from None
    if parts.fragment or url.endswith("#"):
        raise LockUrlError(f'{without_secrets(url)} has a "#", which begins nothing here; write it as %23')
    return parts


def check_visible(url: str) -> None:
    """Refuse characters that nobody can see, as a line end that came along.

    Raises:
        LockUrlError: there is one, or the URL is longer than any.
    """
    check_length(url)
    if not url.isprintable():
        raise LockUrlError("the lock URL has a character that cannot be seen; write it anew, or as %XX")


def check_length(url: str) -> None:
    """Refuse what is longer than any URL: reading it, and saying what is wrong with it, would have no bound.

    Raises:
        LockUrlError: it is.
    """
    if len(url) > LONGEST_URL:
        raise LockUrlError(f"the lock URL has {len(url)} characters, more than {LONGEST_URL}; a URL names one place")


def hosts(parts: SplitResult, port: int, *, several: bool = True) -> list[tuple[str, int]]:
    """Return the hosts of ``h:p,h:p,[::1]:p``, each with its port or the usual one.

    Raises:
        LockUrlError: none, or one that cannot be read.
    """
    example = f"{parts.scheme}://host:{port}" + (f",host:{port}" if several else "")
    if not parts.netloc.rpartition("@")[2]:
        raise LockUrlError(f"the URL names no host; write {example}")
    found = []
    for text in parts.netloc.rpartition("@")[2].split(","):
        host, separator, number = text.rpartition(":")
        if not separator or number.endswith("]"):
            host, number = text, str(port)
        if not host or not number.isdecimal() or not 0 < int(number) < 65536:
            raise LockUrlError(f'"{place_shown(text)}" is no host; write {example}')
        found.append((host.strip("[]"), int(number)))
    return found


def place(host: str, port: int) -> str:
    """Return a host as it stands in a URL."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def options(
    url: str, known: Collection[str], *, passed_over: Collection[str] = (), of_libpq: Collection[str] = ()
) -> dict[str, str]:
    """Return what stands behind the ``?``.

    Args:
        known: what this kind of lock understands.
        passed_over: what means something to a store at the same URL, and nothing to a lock.
        of_libpq: what PostgreSQL's own library understands as well; too many to be told.

    Raises:
        LockUrlError: an unknown option, one without a value, or one that stands there twice.
    """
    scheme, rest = url.partition("://")[0].lower(), url.partition("://")[2]
    found: dict[str, str] = {}
    for name, value in parse_qsl(rest.partition("?")[2], keep_blank_values=True):
        if name in passed_over:
            continue
        if name not in known and name not in of_libpq:
            close = difflib.get_close_matches(name, (*known, *of_libpq), n=1)
            meant = f"did you mean {close[0]}? " if close else ""
            told = (", ".join(sorted(known)) or "none") + (", and libpq's own" if of_libpq else "")
            raise LockUrlError(f'{scheme} has no option "{name}"; {meant}known: {told}')
        if not value:
            raise LockUrlError(f'the option "{name}" has no value; write {name}=…, or leave it out')
        found[name] = value
    if why := stands_twice(rest.partition("?")[2]):
        raise LockUrlError(why)
    return found


def values_of(url: str, name: str) -> list[str]:
    """Return what a URL says about one option."""
    return [value for option, value in parse_qsl(url.partition("?")[2], keep_blank_values=True) if option == name]


def seconds(value: str, least: float, most: float) -> float:
    """Return a timeout.

    Raises:
        LockUrlError: no number of seconds between the two.
    """
    try:
        found = float(value)
    except ValueError:
        found = math.nan
    if not least <= found <= most:
        raise LockUrlError(f"timeout={value} is not possible; write seconds between {least:g} and {most:g}")
    return found


def files(found: dict[str, str], names: Collection[str]) -> dict[str, str]:
    """Return those of the options that name files.

    Raises:
        LockUrlError: there is no such file.
    """
    named = {name: found[name] for name in names if name in found}
    for name, path in named.items():
        if not Path(path).is_file():
            raise LockUrlError(f"the URL names the file {path} as {name}, and there is none")
    return named
