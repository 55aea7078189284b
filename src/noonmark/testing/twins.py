"""Two stores side by side: what one calls row 7 the other may call row 12.

Rule of the file: values are compared by what they stand for.  An id becomes (job, subject, identity); what a store may
choose freely (sequence numbers, the fence of a line that no worker wrote) is left out.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import fields, is_dataclass
from typing import Any, TypeAlias

from noonmark.core.model import Alert, LedgerLine, Occurrence, Query
from noonmark.core.model.rollback import Claim, Receipt
from noonmark.ports.store import Store

Spot: TypeAlias = tuple[str, str, str]
"""Job, subject and identity of a row."""


class Twin:
    """One of the two stores, and what its ids stand for."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.rows: dict[Spot, Occurrence] = {}
        self.spots: dict[int, Spot] = {}

    def read(self) -> None:
        """Read every row anew."""
        rows = self.store.occurrences(Query(after_id=0, limit=100_000))
        self.rows = {(row.job, row.subject, row.identity): row for row in rows}
        self.spots = {row.id: spot for spot, row in self.rows.items()}

    def plain(self, value: Any) -> Any:
        """Return the value with ids replaced and with what stores may choose freely left out."""
        if isinstance(value, Occurrence):
            plain = {
                name: self.plain(getattr(value, name)) for name in _names(value) if name not in ("id", "duplicate_of")
            }
            plain["spot"] = self.spots.get(value.id)
            plain["duplicate_of"] = self.spots.get(value.duplicate_of or 0)
            plain["detail"] = self._detail(value.detail)
            return plain
        if is_dataclass(value):
            free = {"seq"} if not isinstance(value, LedgerLine) or value.worker else {"seq", "fence"}
            return {name: self._field(name, getattr(value, name)) for name in _names(value) if name not in free}
        if isinstance(value, frozenset):
            return {self.spots.get(item, item) for item in value}
        if isinstance(value, (list, tuple)):
            return [self.plain(item) for item in value]
        return value

    def _field(self, name: str, value: Any) -> Any:
        if name in ("id", "occurrence_id", "holder", "duplicate_of") and isinstance(value, int):
            return self.spots.get(value, value)
        if name == "ids":
            return sorted(str(self.spots.get(item)) for item in value)
        if name == "detail":
            return self._detail(value)
        return self.plain(value)

    def _detail(self, text: str) -> Any:
        detail = json.loads(text)
        if isinstance(detail.get("holder"), int):
            detail["holder"] = self.spots.get(detail["holder"])
        return detail


def _names(value: Any) -> list[str]:
    return [field.name for field in fields(value)]


def assert_same(ours: Any, theirs: Any, what: str) -> None:
    """Fail with what differs, and only that."""
    if ours == theirs:
        return
    if isinstance(ours, dict) and isinstance(theirs, dict):
        keys = [key for key in {**ours, **theirs} if ours.get(key) != theirs.get(key)]
        ours, theirs = {key: ours.get(key) for key in keys}, {key: theirs.get(key) for key in keys}
    raise AssertionError(f"{what} differs:\n  model: {ours}\n  other: {theirs}")


def proof_of(twin: Twin, writer: str, worker: str, *, is_lost: bool, epoch: int, now: int) -> Any:
    """Return what two stores must say alike: hashes hold the store's own name, and servers have names of their own."""
    store: Any = twin.store
    head = next((each for each in store.writers() if each.id == writer), None)
    receipt = None
    if head is not None:
        receipt = Receipt(
            store=store.store_id(),
            writer=writer,
            epoch=max(head.epoch - epoch, 0),
            seq=head.seq + is_lost,
            hash="f" * 64 if is_lost else head.hash,
        )
    proof = store.prove(Claim(writer=writer, worker=worker, receipt=receipt), at=now)
    return proof.outcome, proof.receipt.seq, proof.receipt.epoch, proof.epochs, proof.serving.as_of, proof.now


def counts_of(twin: Twin) -> Any:
    """Return what two stores must count alike."""
    tallies = twin.store.tallies(revisions=True)
    by_state = {str(state): count for state, count in tallies.by_state.items() if count}
    alerts = sorted(_alert(twin, alert) for alert in tallies.open_alerts)
    revisions = [(job.name, job.revision, job.digest, job.rule, job.effective_at) for job in tallies.revisions]
    acts = [(line.event, line.job, line.actor, line.detail, line.at, line.revision) for line in tallies.acts]
    return (
        tallies.now, by_state, tallies.due_now, tallies.delayed, tallies.waiting, tallies.earliest_due,
        tallies.stale_refused, tallies.duplicates_refused, alerts, revisions, acts,
    )  # fmt: skip


def _alert(twin: Twin, alert: Alert) -> Any:
    """Return what two stores must say alike of an alert: about which row, and in which words."""
    detail = json.loads(alert.detail)
    if "run" in detail:
        detail["run"] = twin.spots.get(int(detail["run"][1:]))
    about = twin.spots.get(alert.occurrence_id or 0)
    said = (alert.level, alert.count, alert.code, alert.opened_at, alert.updated_at)
    return (alert.job, alert.kind, *said, str(about), str(sorted(detail.items())))


def facts_of(twin: Twin, names: Sequence[str], *, versioned: Sequence[str]) -> Any:
    """Return what two stores must have as facts; only these have versions that no store chooses."""
    found = twin.store.facts(names)
    assert list(found) == list(names)
    plain = {}
    for name, fact in found.items():
        value = fact.value
        if isinstance(value, dict) and "occurrence_id" in value:
            value = {**value, "occurrence_id": twin.spots[value["occurrence_id"]]}
        plain[name] = (value, fact.version if name in versioned else 0)
    return plain
