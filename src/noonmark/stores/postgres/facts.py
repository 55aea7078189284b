"""Facts, their versions, and who waits for them.

Rule of the file: one kind of versioned fact stands for flags, successes and pauses; claims, slots and workers are read
under fact names too.  Whoever parks on versions that moved meanwhile is due at once; whoever parked before is woken by
the next take, a thousand rows at a time.  A fact that is compared has a row, so that it can be locked, before it is set.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from noonmark.core.lifecycle import waits_under
from noonmark.core.model import Fact
from noonmark.stores.postgres.arrays import texts, unescaped
from noonmark.stores.postgres.desk import Desk, is_stored
from noonmark.stores.postgres.exchange import Row
from noonmark.stores.postgres.link import Session, Statement
from noonmark.stores.postgres.rows import Line

_STORED = "SELECT name, version, value, set_at, actor FROM ~fact WHERE name = ANY($1::text[]) AND version > 0"
_PAUSE = (
    "SELECT name, pause_version, paused, paused_at, resumed_at, pause_reason FROM ~job WHERE name = ANY($1::text[])"
)
_CLAIM_NAMES = ("occurrence_id", "state", "generation", "origin", "job", "ended_at")
_CLAIM = (
    "SELECT c.key, c.occurrence_id, o.state, c.generation, o.origin, o.job, o.ended_at FROM ~claim AS c"
    " CROSS JOIN LATERAL (SELECT * FROM ~occurrence WHERE id = c.occurrence_id OFFSET 0) AS o WHERE c.key = ANY($1::text[])"
)
_SLOT_NAMES = ("occurrence_id", "since")
_SLOT = "SELECT name, occurrence_id, since FROM ~slot WHERE name = ANY($1::text[]) AND occurrence_id <> 0"
_WORKER_NAMES = ("host", "pid", "process_started", "boot_id", "until", "ended_at")
_WORKER = f"SELECT id, {', '.join(_WORKER_NAMES)} FROM ~worker WHERE id = ANY($1::text[])"


def write(desk: Desk, name: str, value: object, actor: str) -> int:
    """Set or clear a fact and return its version; a value it already has changes nothing."""
    text = None if value is None else json.dumps(value, ensure_ascii=False, sort_keys=True)
    fact = desk.facts[name]
    if fact.value == text:
        return fact.version
    fact.version, fact.value, fact.set_at, fact.actor = fact.version + 1, text, desk.now, actor
    desk.changed_facts.add(name)
    desk.wakes.add(name)
    return fact.version


def moved(desk: Desk, seen: Mapping[str, int]) -> tuple[str, ...]:
    """Return the names whose version is another one now."""
    return tuple(name for name, version in seen.items() if _version(desk, name) != version)


def _version(desk: Desk, name: str) -> int:
    kind, _, rest = name.partition(":")
    if kind == "pause":
        job = desk.job(rest)
        return 0 if job is None else job.pause_version
    if kind == "key":
        claim = desk.claims.get(rest)
        return 0 if claim is None or not desk.state_of(claim.occurrence_id) else claim.generation + 1
    if kind == "slot":
        return int(name in desk.slots)
    if kind == "worker":
        [rows] = desk.tx.ask((_WORKER, (texts([rest]),)))
        return len(rows)
    return desk.facts[name].version


def wait_for(desk: Desk, line: Line, seen: Mapping[str, int]) -> None:
    """Let the row be woken when one of the facts leaves the version that was seen."""
    desk.waiting += [(name, waits_under(name, version, line.row), line.row.id) for name, version in seen.items()]
    line.waits = True


def names_of(names: Iterable[str], kind: str) -> list[str]:
    """Return what follows the kind in those of the names that have it."""
    return [name.partition(":")[2] for name in names if name.partition(":")[0] == kind]


def read(session: Session, names: Collection[str]) -> dict[str, Fact]:
    """Return a fact for every name, in one round trip; version 0 where there is none."""
    by_kind: list[tuple[str, str, list[str]]] = [
        ("", _STORED, sorted(is_stored(names))),
        ("pause", _PAUSE, names_of(names, "pause")),
        ("key", _CLAIM, names_of(names, "key")),
        ("slot", _SLOT, [name for name in names if name.startswith("slot:")]),
        ("worker", _WORKER, names_of(names, "worker")),
    ]
    wanted = [(kind, sql, asked) for kind, sql, asked in by_kind if asked]
    statements: list[Statement] = [(sql, (texts(asked),)) for _, sql, asked in wanted]
    found: dict[str, Fact] = {}
    for (kind, _, _), rows in zip(wanted, session.ask(*statements) if statements else [], strict=True):
        for row in rows:
            fact = _fact(kind, tuple(unescaped(part) if isinstance(part, str) else part for part in row))
            found[fact.name] = fact
    return {name: found.get(name) or Fact(name=name) for name in names}


def _fact(kind: str, row: Row) -> Fact:
    name, *rest = row
    if kind == "pause":
        version, paused, paused_at, resumed_at, reason = rest
        value = {"paused": paused, "paused_at": paused_at, "resumed_at": resumed_at, "reason": reason}
        return Fact(name=f"pause:{name}", version=version, value=value)
    if kind == "key":
        held = _named(_CLAIM_NAMES, rest)
        return Fact(name=f"key:{name}", version=held["generation"] + 1, value=held)
    if kind == "slot":
        return Fact(name=name, version=1, value=_named(_SLOT_NAMES, rest))
    if kind == "worker":
        return Fact(name=f"worker:{name}", version=1, value=_named(_WORKER_NAMES, rest))
    version, text, set_at, actor = rest
    return Fact(
        name=name, version=version, value=None if text is None else json.loads(text), set_at=set_at, actor=actor
    )


def _named(names: tuple[str, ...], values: list[Any]) -> dict[str, Any]:
    return dict(zip(names, values, strict=True))
