"""``prove``: judge what a writer remembers, and hold what may have run when it is gone; and the links of its chain.

Rule of the file: a link is compared before anything of its verb is done, and appended after it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from noonmark.core import former, receipts, rollback
from noonmark.core.model import AlertWrite, FactWrite, LedgerLine, Micros, changed
from noonmark.core.model.rollback import LET_RUN, ChainLink, Claim, Epoch, Proof
from noonmark.ports.rollback import ChainBroken
from noonmark.stores.memory import alerts
from noonmark.stores.memory.tables import Tables

SERVING = "memory"
"""This process's memory is never served by anybody else."""


def check(tables: Tables, link: ChainLink | None, serving: str) -> None:
    """Refuse a link that does not follow the head of its writer, or that was made for another server."""
    if link is None:
        return
    if link.serving not in ("", serving):
        raise ChainBroken(link.writer)
    head = tables.writers.get(link.writer)
    if head is None or head.hash not in (link.before, link.hash):
        raise ChainBroken(link.writer)


def append(tables: Tables, link: ChainLink | None, now: Micros) -> None:
    """Make the link the head of its writer."""
    if link is None:
        return
    head = tables.writers[link.writer]
    if head.hash != link.before:
        return  # it was appended, and the answer to its request is forgotten by now
    tables.writers[link.writer] = changed(head, seq=link.seq, hash=link.hash, at=now)
    kept = tables.links.setdefault(link.writer, {})
    kept[link.seq] = link.hash
    kept.pop(link.seq - receipts.LINKS_KEPT, None)


def prove(tables: Tables, store: str, claim: Claim, now: Micros, serving: str) -> Proof:
    """Judge a claim and act on it."""
    receipt = claim.receipt
    beat = tables.workers.get(receipt.worker) if receipt is not None else None
    judged = receipts.judge(
        claim,
        receipts.Known(
            store=store,
            head=tables.writers.get(claim.writer),
            link=tables.links.get(claim.writer, {}).get(receipt.seq) if receipt is not None else None,
            beat=beat.seen_at if beat is not None else None,
            as_of=max((info.seen_at for info in tables.workers.values()), default=0),
            rollbacks=tables.facts[rollback.FACT].value if rollback.FACT in tables.facts else None,
            serving=tables.serving,
            former=former.is_told(tables.facts.get(former.FACT)),
            earlier=_earlier(tables, claim),
        ),
        serving,
        now,
    )
    tables.writers[claim.writer] = judged.writer
    tables.serving = judged.serving
    if judged.rollbacks is not None:
        tables.set_fact(FactWrite(name=rollback.FACT, value=judged.rollbacks, actor=claim.worker), now)
    if judged.hold_before is not None:
        _hold(tables, judged.hold_before, now)
    if judged.opened is not None:
        tables.last_id += rollback.NUMBERS_LEFT_OUT
        _say(tables, judged.opened, claim.worker, now)
    _say_former(tables, judged, claim.worker, now)
    return Proof(
        outcome=judged.outcome,
        receipt=receipts.receipt_of(judged, store),
        serving=judged.serving,
        epochs=judged.epochs,
        now=now,
    )


def _earlier(tables: Tables, claim: Claim) -> Micros:
    if claim.receipt is None or claim.writer in tables.writers:
        return 0
    words = tables.workers.values(), tables.writers.values(), tables.jobs.values()
    return receipts.latest_before(claim.receipt.at, *words)


def _hold(tables: Tables, before: Micros, now: Micros) -> None:
    """Let nothing that may have run start by itself, nor by a decision that knows of no rollback, nor by an old word."""
    for row in tables.open_rows():
        if row.scheduled_for < before:
            tables.change(row.id, gated=True)
            if row.code in LET_RUN:  # what a person let run before may have run since
                tables.change(row.id, code="", detail="{}")
    for name, job in tables.jobs.items():
        tables.jobs[name] = changed(job, pause_version=rollback.unseen(job.pause_version, now))
        tables.wakes[f"pause:{name}"] = None
    tables.rules_version = rollback.unseen(tables.rules_version, now)


def _say(tables: Tables, epoch: Epoch, worker: str, now: Micros) -> None:
    detail = rollback.alert_detail(epoch)
    alerts.write(tables, AlertWrite(job="", kind=rollback.ALERT, level=3, code="store_rolled_back", detail=detail), now)
    _log(tables, "rollback", "store_rolled_back", detail, worker, now, revision=epoch.number)


def _say_former(tables: Tables, judged: receipts.Judged, worker: str, now: Micros) -> None:
    """Say once that another store lay here, or that nobody need know it any more."""
    if judged.former:
        tables.set_fact(FactWrite(name=former.FACT, value=judged.former, actor=worker), now)
        _log(tables, former.CODE, former.CODE, former.detail(judged.former), worker, now)
    if judged.alert is not None:
        alerts.write(tables, judged.alert, now)


def _log(
    tables: Tables, event: str, code: str, detail: Mapping[str, Any], worker: str, now: Micros, *, revision: int = 0
) -> None:
    tables.last_seq += 1
    line = LedgerLine(
        seq=tables.last_seq, occurrence_id=0, job="", at=now, last_at=now, count=1, event=event, verdict="", code=code,
        detail=rollback.detail_text(detail), checks="[]", worker=worker, fence=0, revision=revision,
    )  # fmt: skip
    tables.ledger.setdefault(0, []).append(line)
