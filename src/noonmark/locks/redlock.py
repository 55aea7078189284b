"""Redlock: one lock over three or five independent Redis servers, of which a majority must agree.

Promises: one holder at a time while a majority of the servers keeps its data and all clocks run evenly; the lock
survives the loss of a minority.  The fence of a grant is one that a majority handed out, so the next majority, which
meets that one, hands out a greater.  We propose it, a little ahead of the servers' clocks, and as a rule they all agree:
one round trip.  Where they do not, the greatest that was handed out is written back to a majority first.

What it cannot promise: a server that restarts empty within a ttl forgets what it granted, and then two may hold the
lock (keep a restarted server away for one ttl, or let it write every change: appendfsync always); neither can it
promise anything about a holder that is paused past its trust.  For that there is the fence, checked by what the lock
protects.

Rule of the file: all servers are asked at once, and whoever does not answer within a small part of the ttl has not
granted; the time all this took is taken off the trust.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from typing import Any
from urllib.parse import unquote

from noonmark.core.durations import parse_duration
from noonmark.core.model import SECOND, Micros
from noonmark.core.urls import without_secrets
from noonmark.locks.checks import FENCE_MEMORY, check, drift
from noonmark.locks.errors import LockUrlError
from noonmark.locks.node import AWAY, Node, ask_all
from noonmark.locks.urls import hosts, options, place, split
from noonmark.ports.clock import Clock, SystemClock
from noonmark.ports.lock import Grant, LockError, LockUnusable
from noonmark.ports.process import opened_elsewhere, owner

ANSWER_WITHIN: Micros = 250_000
"""For so long a server is waited for, unless the URL says ``timeout`` or a tenth of the ttl is less."""
_REMEMBERED = 10_000
"""How many grants are remembered; for the others the servers' memory has to do."""
LEAD: Micros = 20_000
"""How far ahead of the servers' clocks a fence is proposed: it has to be ahead still when the last of them reads it, on a
busy machine too, or another round is needed; and no server restarts in so short a time with an older idea of the fence."""


class Redlock:
    """A lock service over several servers.

    Args:
        url: ``redlock://[user:password@]h:p,h:p,h:p[/db]``, three, five or more (odd); ``?timeout=250ms`` per server,
            ``?tls=true``.
        clock: replaces the machine's clocks, for tests.
    """

    kind = "redlock"

    def __init__(self, url: str, *, clock: Clock | None = None) -> None:
        self._clock = clock or SystemClock()
        self._owner = owner()
        self.url = without_secrets(url)
        self._patience, self._nodes = _read(url, self._clock)
        self._remembered: dict[tuple[str, str], int] = {}
        self._servers_ahead: Micros = 0  # of our boot-time clock; 0 = not known yet
        self._quorum = len(self._nodes) // 2 + 1

    def acquire(self, name: str, ttl: Micros, token: str) -> Grant | None:
        """Take the lock if a majority grants it; None when somebody holds it."""
        check(name, token, ttl)
        asked_at, ahead = self._clock.boot(), self._servers_ahead
        answers = self._hold("acquire", name, ttl, token, asked_at + ahead + LEAD if ahead else 0)
        granted = [answer for answer in answers if type(answer) is list]
        fence = None
        if granted:
            self._servers_ahead = max([now for _, _, now in granted]) - asked_at
        if len(granted) >= self._quorum:
            fence = self._agreed(name, ttl, token, granted)
        validity = ttl - drift(ttl)
        if fence is not None and self._clock.boot() - asked_at < validity:
            self._remember(name, token, fence)
            return Grant(fence=fence, validity=validity)
        # Everywhere, also where no answer came: the grant may have been made all the same.
        self._ask("release", keys_of(name)[:1], token, ttl=ttl)
        if fence is not None:
            raise LockError(f"{self.url} answered so slowly that nothing of the ttl was left; ask for a longer one")
        self._demand_majority(answers)
        return None

    def _agreed(self, name: str, ttl: Micros, token: str, granted: Sequence[Any]) -> int | None:
        """Return the fence that a majority keeps, or None if there is no such majority (any more)."""
        fences = [int(fence) for fence, _, _ in granted]
        if fences.count(fences[0]) == len(fences):
            return fences[0]
        kept = Counter(int(answer[0]) for answer in granted if not answer[1]).most_common(1)
        if kept and kept[0][1] >= self._quorum:
            return kept[0][0]  # asked again by its holder
        fence = max(fences)
        raised = self._ask("raise", keys_of(name), token, str(fence), ttl=ttl)
        return fence if raised.count(1) >= self._quorum else None

    def renew(self, name: str, ttl: Micros, token: str) -> Grant | None:
        """Count the ttl anew where ``token`` holds the lock; None when that is no majority any more."""
        check(name, token, ttl)
        asked_at = self._clock.boot()
        answers = self._hold("renew", name, ttl, token)
        granted = [answer for answer in answers if isinstance(answer, list)]
        if len(granted) < self._quorum:
            self._demand_majority(answers)
            return None
        if self._clock.boot() - asked_at >= ttl - drift(ttl):
            raise LockError(f"{self.url} answered so slowly that nothing of the ttl was left; ask for a longer one")
        return Grant(fence=self._fence_of(name, token, granted), validity=ttl - drift(ttl))

    def _fence_of(self, name: str, token: str, granted: Sequence[Any]) -> int:
        """Return the fence of a grant, also where one server has another: a grant it made too late to be counted."""
        counted = Counter(int(answer[0]) for answer in granted)
        known = self._remembered.get((name, token), 0)
        if known in counted:  # else the token was granted anew, through another client
            return known
        fence, count = counted.most_common(1)[0]
        return fence if count >= self._quorum else max(counted)

    def _remember(self, name: str, token: str, fence: int) -> None:
        self._remembered[name, token] = fence
        if len(self._remembered) > _REMEMBERED:
            self._remembered.pop(next(iter(self._remembered)), None)

    def release(self, name: str, token: str) -> bool:
        """Free the lock on every server; False if ``token`` did not hold a majority."""
        check(name, token)
        self._remembered.pop((name, token), None)
        answers = self._ask("release", keys_of(name)[:1], token, ttl=self._patience * 10)
        if answers.count(1) >= self._quorum:
            return True
        self._demand_majority(answers)
        return False

    def _hold(self, how: str, name: str, ttl: Micros, token: str, proposed: int = 0) -> list[Any]:
        milliseconds = -(-ttl // 1000)
        memory = milliseconds + FENCE_MEMORY // 1000
        return self._ask("hold", keys_of(name), token, milliseconds, memory, how, proposed, ttl=ttl)

    def _ask(self, script: str, keys: tuple[str, ...], *args: str | int, ttl: Micros) -> list[Any]:
        if not self._owner.is_here:
            raise LockUnusable(opened_elsewhere(self.url))
        return ask_all(self._nodes, script, keys, args, within=min(self._patience, ttl // 10), clock=self._clock)

    def _demand_majority(self, answers: Sequence[Any]) -> None:
        """A majority that answered has decided; less than that knows nothing."""
        away = [node for node, answer in zip(self._nodes, answers, strict=True) if answer is AWAY]
        if len(self._nodes) - len(away) >= self._quorum:
            return
        for node in away:
            if isinstance(node.trouble, LockUnusable):
                raise node.trouble
        reasons = "; ".join(f"{node.place}: {node.reason.rstrip('. ')}" for node in away)
        raise LockError(
            f"{self.url}: only {len(self._nodes) - len(away)} of {len(self._nodes)} servers answered in time,"
            f" {self._quorum} are needed ({reasons})."
        )

    def close(self) -> None:
        """Close the connections."""
        if self._owner.is_here:
            for node in self._nodes:
                node.close()


@lru_cache(maxsize=4096)
def keys_of(name: str) -> tuple[str, str]:
    """Return the key of a lock and that of its fence memory."""
    return f"lock:{name}", f"fence:{{lock:{name}}}"


_WORDS = {"1": True, "true": True, "yes": True, "0": False, "false": False, "no": False}


def _check_number(places: Sequence[tuple[str, int]]) -> None:
    if len(places) == 1:
        raise LockUrlError(
            f"redlock:// needs three or five independent servers, and this URL names one; for one write redis://{place(*places[0])}"
        )
    if len(set(places)) != len(places):
        twice = next(each for each in places if places.count(each) > 1)
        raise LockUrlError(f"redlock:// needs different, independent servers, and {place(*twice)} stands there twice")
    if len(places) % 2 == 0:
        raise LockUrlError(
            f"redlock:// needs three or five servers, and this URL names {len(places)}; an even number survives the loss of"
            " no more servers than one less would: leave one away, or add one"
        )


def _read(url: str, clock: Clock) -> tuple[Micros, list[Node]]:
    parts = split(url)
    places = hosts(parts, 6379)
    _check_number(places)
    given = options(url, ("timeout", "tls"))
    patience, tls = ANSWER_WITHIN, _WORDS.get(given.get("tls", "false").lower())
    if tls is None:
        raise LockUrlError(f"tls={given['tls']} is not possible; write tls=true or tls=false")
    if "timeout" in given:
        try:
            patience = parse_duration(given["timeout"])
        except ValueError as problem:
            raise LockUrlError(f"redlock's timeout: {problem}") from None
        if not 1000 <= patience <= 60 * SECOND:
            raise LockUrlError("redlock's timeout is 1ms to 60s; a small part of the shortest ttl is right")
    database = parts.path.strip("/")
    if database and not database.isdecimal():
        raise LockUrlError(f'"{database}" is no database number; write redlock://a:6379,b:6379,c:6379/0')
    user, password = (unquote(text) if text else None for text in (parts.username, parts.password))
    common = {"db": int(database or 0), "username": user, "password": password}
    return patience, [Node(host, port, timeout=patience, tls=tls, clock=clock, **common) for host, port in places]
