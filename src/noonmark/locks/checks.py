"""What every kind accepts as a name, a token and a ttl, so that a lock can be moved by changing one URL.

Rule of the file: what one kind could not keep, all refuse.
"""

from __future__ import annotations

from noonmark.core.model import DAY, Micros

LONGEST_NAME, LONGEST_TOKEN = 400, 200
SHORTEST_TTL: Micros = 10_000
"""Below ten milliseconds a network round trip alone would eat the ttl."""
LONGEST_TTL: Micros = 36_525 * DAY

FENCE_MEMORY: Micros = DAY
"""How much longer than the lock its fences are remembered where they are not kept for good: longer than any clock is set
back, short enough to be bounded."""
DRIFT_PARTS, DRIFT_LEAST = 100, 2_000
"""Two machines' clocks may run apart by one part in a hundred, and servers count in milliseconds (as Redlock assumes)."""


def check(name: str, token: str, ttl: Micros = SHORTEST_TTL) -> None:
    """Refuse what not every kind of lock could keep.

    Raises:
        ValueError, TypeError: with what to write instead.
    """
    if (  # nearly always, and this stands before every round trip
        type(name) is str
        and name in _CHECKED
        and type(token) is str
        and len(token) <= _SHORT_TOKEN
        and token.isalnum()
        and type(ttl) is int
        and SHORTEST_TTL <= ttl <= LONGEST_TTL
    ):
        return
    _check_text("name", name, LONGEST_NAME)
    _check_text("token", token, LONGEST_TOKEN)
    if not isinstance(ttl, int) or isinstance(ttl, bool):
        raise TypeError(f"a ttl is a whole number of microseconds, not {ttl!r}")
    if not SHORTEST_TTL <= ttl <= LONGEST_TTL:
        raise ValueError(f"a ttl of {ttl} µs is not possible: write at least 10 ms, and at most a hundred years")
    if len(_CHECKED) >= _REMEMBERED:
        _CHECKED.clear()
    _CHECKED.add(name)


_CHECKED: set[str] = set()
"""Names that are known to be good."""
_REMEMBERED = 4096
_SHORT_TOKEN = LONGEST_TOKEN // 4
"""So many letters are not too long in UTF-8 whatever they are."""


def _check_text(what: str, text: str, longest: int) -> None:
    if not isinstance(text, str):
        raise TypeError(f"a lock's {what} is text, not {type(text).__name__}")
    if not text:
        raise ValueError(f"a lock's {what} is empty; write what it stands for")
    if "\0" in text:
        raise ValueError(f"a lock's {what} must not contain NUL characters")
    try:
        size = len(text.encode("utf-8"))
    except UnicodeEncodeError:
        raise ValueError(f"a lock's {what} must be text that UTF-8 can write: {text[:40]!r}") from None
    if size > longest:
        raise ValueError(f"a lock's {what} has {size} bytes; at most {longest} are possible")


def drift(ttl: Micros) -> Micros:
    """Return by how much trust must end before the ttl does where the server counts it on a clock of its own."""
    return ttl // DRIFT_PARTS + DRIFT_LEAST
