"""Outcomes as a file that one store writes and another one reads.

Promises: an export is a chain, so a line that was changed, left out or lost at the end is noticed before anything is
read in; whatever is in the file, it is read or refused with the number of the line, in bounded memory.

The hash has no key: it tells damage, not a liar.  Who can write the file can compute the chain anew (docs/security.md).

Rule of the file: lines in and out; no store is touched.
"""

from __future__ import annotations

import hashlib
import itertools
import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TextIO

from noonmark.core.model import INDEX_LIMIT, KEY_LIMIT, NAME_LIMIT, Micros, Origin
from noonmark.core.values import dataclass

VERSION = 1
LINE_LIMIT = 64 * 1024
"""Longest line, in characters: more than the longest names make, every sign of them escaped."""
OUTCOMES_LIMIT = 10_000_000
"""Most outcomes in one file."""
NUMBER_LIMIT = 2**53
"""Instants and fences are smaller, in every store."""
SUCCESS = "success"
_NO_LEDGER = {
    "SQLite format 3\x00": "this is a SQLite file: a store itself, or a copy of one, and no ledger out of it",
    **dict.fromkeys(
        ("\ufeff", "\udcff\udcfe", "\udcfe\udcff"), "it begins with a byte order mark: an editor has saved it anew"
    ),
}
"""How files begin that people take for a ledger, and what they are."""
ORIGINS = frozenset(origin.value for origin in Origin)
_TEXTS = {
    "job": (1, NAME_LIMIT),
    "subject": (0, NAME_LIMIT),
    "identity": (1, NAME_LIMIT),
    "key": (0, KEY_LIMIT),
    "business_date": (0, NAME_LIMIT),
    "writer": (0, NAME_LIMIT),
    "outcome": (1, NAME_LIMIT),
}
_NUMBERS = {"occurrence": 0, "scheduled_for": 1 - NUMBER_LIMIT, "fence": 0}


class LedgerBroken(ValueError):
    """The file is no export, or not as it was written: why, and in which line (from 1)."""

    def __init__(self, line: int, why: str) -> None:
        super().__init__(why)
        self.line = line


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """How an occurrence ended, as a store or a worker's journal (then ``writer``) has it; ``scheduled_for`` in UTC µs."""

    occurrence: int
    job: str
    subject: str
    identity: str
    key: str
    scheduled_for: Micros
    business_date: str
    origin: Origin
    outcome: str
    fence: int
    writer: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Export:
    """What an export says of itself: whose outcomes, and how many."""

    store: str
    count: int


# -- out -----------------------------------------------------------------------------------------------------


def exported(store: str, outcomes: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """Yield the lines of an export: a head, the outcomes, an end; each with a hash over all before it."""
    before = ""
    for plain in _framed(store, outcomes):
        before = _hash(before, plain)
        yield json.dumps({**plain, "hash": before}, ensure_ascii=False, sort_keys=True)


def _framed(store: str, outcomes: Iterable[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    yield {"noonmark": "ledger", "v": VERSION, "store": store}
    count = 0
    for outcome in outcomes:
        yield dict(outcome)
        count += 1
    yield {"end": count}


def _hash(before: str, plain: Mapping[str, Any]) -> str:
    text = json.dumps(plain, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(f"{before}\n{text}".encode("utf-8", "backslashreplace")).hexdigest()


# -- in ------------------------------------------------------------------------------------------------------


def checked(lines: TextIO) -> Export:
    """Read an export from its first line to its end, without keeping it.

    Raises:
        LedgerBroken: a line is missing, changed, too long or no line of an export.
    """
    store, count = "", 0
    for read in _read(lines):
        if isinstance(read, str):
            store = read
        else:
            count += 1
    return Export(store=store, count=count)


def outcomes(lines: TextIO) -> Iterator[Outcome]:
    """Yield the outcomes of an export; whoever writes down what is read asks ``checked`` first.

    Raises:
        LedgerBroken: as ``checked``; what was before the line has been yielded by then.
    """
    return (read for read in _read(lines) if isinstance(read, Outcome))


def _read(lines: TextIO) -> Iterator[str | Outcome]:
    """Yield the name of the store, then the outcomes."""
    count, number, ended = 0, 0, False
    for number, plain in _chain(lines):
        if ended:
            raise LedgerBroken(number, "something follows the end")
        if number == 1:
            if (plain.get("noonmark"), plain.get("v")) != ("ledger", VERSION):
                raise LedgerBroken(number, "it does not begin as a ledger of this version does")
            yield _text(number, plain, "store", 1, NAME_LIMIT)
        elif "end" in plain:
            ended = plain["end"] == count
        else:
            count += 1
            if count > OUTCOMES_LIMIT:
                raise LedgerBroken(number, f"there are more than {OUTCOMES_LIMIT} outcomes")
            yield _outcome(number, plain)
    if not ended:
        raise LedgerBroken(max(number, 1), "the end is missing")


def _chain(lines: TextIO) -> Iterator[tuple[int, dict[str, Any]]]:
    before = ""
    for number in itertools.count(1):
        text = lines.readline(LINE_LIMIT + 1)
        if not text:
            return
        if number == 1 and (why := next((why for sign, why in _NO_LEDGER.items() if text.startswith(sign)), "")):
            raise LedgerBroken(number, why)
        if len(text) > LINE_LIMIT:
            raise LedgerBroken(number, f"this line has more than {LINE_LIMIT} characters")
        try:
            plain = json.loads(text)
            said = plain.pop("hash")
            before = _hash(before, plain)
        except (ValueError, KeyError, AttributeError, TypeError, RecursionError):
            raise LedgerBroken(number, "this is no line of a ledger") from None
        if said != before:
            raise LedgerBroken(number, "this line is not as it was written, or one before it is missing")
        yield number, plain


def _outcome(number: int, plain: Mapping[str, Any]) -> Outcome:
    plain = {"writer": "", **plain}
    found: dict[str, Any] = {name: _text(number, plain, name, *bounds) for name, bounds in _TEXTS.items()}
    found |= {name: _number(number, plain, name, least) for name, least in _NUMBERS.items()}
    origin = _text(number, plain, "origin", 1, NAME_LIMIT)
    if origin not in ORIGINS:
        raise LedgerBroken(number, f'"origin" is none of {", ".join(sorted(ORIGINS))}')
    for last in ("identity", "business_date"):
        if sum(len(found[name].encode()) for name in ("job", "subject", last)) > INDEX_LIMIT:
            raise LedgerBroken(number, f'"job", "subject" and "{last}" have more than {INDEX_LIMIT} bytes together')
    return Outcome(origin=Origin(origin), **found)


def _text(number: int, plain: Mapping[str, Any], name: str, least: int, most: int) -> str:
    value = _there(number, plain, name)
    # half a sign cannot be stored anywhere
    if not isinstance(value, str) or not least <= len(value) <= most or _is_cut(value):
        raise LedgerBroken(number, f'"{name}" is no text of {least} to {most} characters')
    return value


def _is_cut(text: str) -> bool:
    return not text.isascii() and any("\ud800" <= sign <= "\udfff" for sign in text)


def _number(number: int, plain: Mapping[str, Any], name: str, least: int) -> int:
    value = _there(number, plain, name)
    if type(value) is not int or not least <= value < NUMBER_LIMIT:
        raise LedgerBroken(number, f'"{name}" is no whole number from {least} to {NUMBER_LIMIT - 1}')
    return value


def _there(number: int, plain: Mapping[str, Any], name: str) -> Any:
    if name not in plain:
        raise LedgerBroken(number, f'"{name}" is missing')
    return plain[name]
