"""``prove``: judge what a writer remembers, and hold what may have run when it is gone; and the links of its chain.

Rule of the file: a link is compared before anything of its verb is done, and appended after it, in the same transaction.
Links are a ring per writer, so nothing is ever to be pruned but the rings of writers that were not heard of for a week.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, astuple
from typing import TypeVar

from noonmark.core import former, receipts, rollback
from noonmark.core.model import DAY, AlertWrite, Micros
from noonmark.core.model.rollback import ChainLink, Claim, Epoch, Proof, Serving, Writer
from noonmark.ports.rollback import ChainBroken
from noonmark.stores.sqlite import alerts, facts, ledger
from noonmark.stores.sqlite.transaction import Reads, Transaction

Answer = TypeVar("Answer")
RINGS_KEPT: Micros = 7 * DAY
_APPEND = "UPDATE writer SET seq = ?, hash = ?, at = ? WHERE id = ? AND hash = ?"
_HEAD = "SELECT id, worker, seq, hash, at, epoch, blind, proved_at, proved_for FROM writer"
_PRUNE = "DELETE FROM link WHERE writer IN (SELECT id FROM writer WHERE at < ?)"
_GATE = (
    "UPDATE occurrence SET gated = 1, detail = iif(code IN ('released', 'retried'), '{}', detail),"
    " code = iif(code IN ('released', 'retried'), '', code) WHERE id IN (SELECT id FROM occurrence WHERE due_at IS NOT NULL"
    " AND scheduled_for < ?)"
)
_EARLIER = (
    "SELECT coalesce(max(at), 0) FROM (SELECT seen_at AS at FROM worker UNION ALL SELECT started_at FROM worker"
    " UNION ALL SELECT at FROM writer UNION ALL SELECT proved_at FROM writer UNION ALL SELECT effective_at FROM job)"
    " WHERE at < ?"
)
_SKIP = "UPDATE sqlite_sequence SET seq = seq + ? WHERE name = 'occurrence' RETURNING 1"
_PAUSES = "UPDATE job SET pause_version = max(pause_version + 1, ?)"


def check(connection: Reads, link: ChainLink | None) -> None:
    """Refuse a link that does not follow the head of its writer."""
    if link is None:
        return
    row = connection.execute("SELECT hash FROM writer WHERE id = ?", (link.writer,)).fetchone()
    if row is None or row[0] not in (link.before, link.hash):
        raise ChainBroken(link.writer)


def append(tx: Transaction, link: ChainLink | None) -> None:
    """Make the link the head of its writer; one that is the head already was appended by a request since forgotten."""
    if link is None:
        return
    before = tx.connection.total_changes()
    tx.execute(_APPEND, (link.seq, link.hash, tx.now, link.writer, link.before))
    if tx.connection.total_changes() != before:
        slot = link.seq % receipts.LINKS_KEPT
        tx.execute("INSERT OR REPLACE INTO link VALUES (?, ?, ?, ?)", (link.writer, slot, link.seq, link.hash))


def linked(tx: Transaction, link: ChainLink | None, work: Callable[[], Answer]) -> Answer:
    """Do the work between the comparison of the link and its appending."""
    check(tx.connection, link)
    answer = work()
    append(tx, link)
    return answer


def prove(tx: Transaction, store: str, identity: str, claim: Claim) -> Proof:
    """Judge a claim and act on it."""
    judged = receipts.judge(claim, _known(tx.connection, store, identity, claim), identity, tx.now)
    tx.execute("INSERT OR REPLACE INTO writer VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", astuple(judged.writer))
    tx.execute("INSERT OR REPLACE INTO meta VALUES ('serving', ?)", (json.dumps(asdict(judged.serving)),))
    tx.execute(_PRUNE, (tx.now - RINGS_KEPT,))
    if judged.rollbacks is not None:
        facts.write(tx, rollback.FACT, judged.rollbacks, claim.worker)
    if judged.hold_before is not None:
        _hold(tx, judged.hold_before)
    if judged.opened is not None:
        _skip_numbers(tx, rollback.NUMBERS_LEFT_OUT)
        _say(tx, judged.opened, claim.worker)
    _say_former(tx, judged, claim.worker)
    return Proof(
        outcome=judged.outcome,
        receipt=receipts.receipt_of(judged, store),
        serving=judged.serving,
        epochs=judged.epochs,
        now=tx.now,
    )


def _known(connection: Reads, store: str, identity: str, claim: Claim) -> receipts.Known:
    receipt = claim.receipt
    head = connection.execute(f"{_HEAD} WHERE id = ?", (claim.writer,)).fetchone()
    link = beat = None
    earlier = 0
    if receipt is not None:
        if head is None:
            earlier = connection.execute(_EARLIER, (receipt.at,)).fetchone()[0]
        wanted = (claim.writer, receipt.seq % receipts.LINKS_KEPT, receipt.seq)
        link = connection.execute("SELECT hash FROM link WHERE writer = ? AND slot = ? AND seq = ?", wanted).fetchone()
        beat = connection.execute("SELECT seen_at FROM worker WHERE id = ?", (receipt.worker,)).fetchone()
    told = connection.execute("SELECT value FROM meta WHERE name = 'serving'").fetchone()
    serving, as_of = None if told is None else Serving(**json.loads(told[0])), 0
    if (
        serving is None or serving.identity != identity
    ):  # only then it counts; there is a row of every process ever started
        as_of = connection.execute("SELECT coalesce(max(seen_at), 0) FROM worker").fetchone()[0]
    return receipts.Known(
        store=store,
        head=None if head is None else _writer(head),
        link=None if link is None else link[0],
        beat=None if beat is None else beat[0],
        as_of=as_of,
        rollbacks=facts.read(connection, rollback.FACT).value,
        serving=serving,
        former=former.is_told(facts.read(connection, former.FACT)),
        earlier=earlier,
    )


def writers(connection: Reads) -> list[Writer]:
    """Read every writer, the one that proved itself last first."""
    return [_writer(row) for row in connection.execute(f"{_HEAD} ORDER BY proved_at DESC, id").fetchall()]


def _writer(row: tuple[object, ...]) -> Writer:
    names = ("id", "worker", "seq", "hash", "at", "epoch", "blind", "proved_at", "proved_for")
    values = dict(zip(names, row, strict=True))
    return Writer(**{**values, "blind": values["blind"] == 1})  # type: ignore[arg-type]  # as the table says


def _hold(tx: Transaction, before: Micros) -> None:
    """Let nothing that may have run start by itself, nor by a decision that knows of no rollback, nor by an old word."""
    tx.execute(_GATE, (before,))
    tx.execute(_PAUSES, (tx.now,))
    for (name,) in tx.execute("SELECT name FROM job").fetchall():
        facts.wake(tx, f"pause:{name}")
    version = tx.execute("SELECT coalesce(sum(value), 0) FROM counter WHERE name = 'rules_version'").fetchone()[0]
    tx.count("rules_version", rollback.unseen(version, tx.now) - version)


def _skip_numbers(tx: Transaction, count: int) -> None:
    if tx.execute(_SKIP, (count,)).fetchone() is None:  # no row was ever made
        tx.execute("INSERT INTO sqlite_sequence VALUES ('occurrence', ?)", (count,))


def _say(tx: Transaction, epoch: Epoch, worker: str) -> None:
    detail = rollback.alert_detail(epoch)
    alerts.write(tx, AlertWrite(job="", kind=rollback.ALERT, level=3, code="store_rolled_back", detail=detail))
    ledger.append(
        tx, 0, "", "rollback", code="store_rolled_back", detail=rollback.detail_text(detail), worker=worker,
        revision=epoch.number,
    )  # fmt: skip


def _say_former(tx: Transaction, judged: receipts.Judged, worker: str) -> None:
    """Say once that another store lay here, or that nobody need know it any more."""
    if judged.former:
        facts.write(tx, former.FACT, judged.former, worker)
        detail = rollback.detail_text(former.detail(judged.former))
        ledger.append(tx, 0, "", former.CODE, code=former.CODE, detail=detail, worker=worker)
    if judged.alert is not None:
        alerts.write(tx, judged.alert)
