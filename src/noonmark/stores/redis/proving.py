"""``prove``: judge what a writer remembers, and hold what may have run when it is gone.

Rule of the file: Lua judges nothing.  A claim is read, judged here, and written down only if what it was judged by is
still so; else it is judged again.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

from noonmark.core import receipts, releasing, rollback
from noonmark.core.model import Act, Acted, Fact, Micros
from noonmark.core.model.rollback import ChainLink, Claim, Proof, Serving, Writer
from noonmark.ports.rollback import ChainBroken
from noonmark.stores.redis import errors, wire

JUDGED_AGAIN = 50
"""How often a claim is judged anew because something moved in between."""
BROKEN = "broken"
MOVED = "moved"


def plain(link: ChainLink | None) -> Any:
    """Return a link as scripts read it."""
    return None if link is None else [link.writer, link.seq, link.before, link.hash, link.serving]


def check(link: ChainLink | None, reply: list[Any]) -> None:
    """Refuse a link that the script found not to follow."""
    if link is not None and reply[1] == BROKEN:
        raise ChainBroken(link.writer)


def prove(
    read: Callable[[object], Any],
    write: Callable[[object, str], Any],
    name: Callable[[str], Any],
    claim: Claim,
    url: str,
) -> Proof:
    """Judge a claim and act on it.

    Args:
        read, write: run the scripts of the two halves.
        name: gives a namespace that has lost everything, its name too, a new one.
        claim: the writer's.
        url: for what is said when it does not succeed.
    """
    receipt = claim.receipt
    about = [claim.writer, -1, "", 0] if receipt is None else [claim.writer, receipt.seq, receipt.worker, receipt.at]
    for _ in range(JUDGED_AGAIN):
        now, store, identity, head, link, beat, as_of, value, version, serving, told, earlier = read(about)
        if not store:
            name(uuid.uuid4().hex)
            continue
        known = receipts.Known(
            store=str(store),
            head=_writer([claim.writer, *head]) if head else None,
            link=link or None,
            beat=beat or None,
            as_of=as_of,
            rollbacks=json.loads(value) if value else None,
            serving=Serving(**json.loads(serving)) if serving else None,
            former=None if told == "" else told == "set",
            earlier=earlier,
        )
        judged = receipts.judge(claim, known, identity, now)
        opened = judged.opened
        written = [
            claim.writer, known.head.hash if known.head is not None else "", version, identity, _plain(judged.writer),
            wire.fact_text(judged.rollbacks), judged.hold_before,
            None if opened is None else rollback.detail_text(rollback.alert_detail(opened)),
            0 if opened is None else opened.number, claim.worker,
            None if judged.alert is None else wire.alert_write(judged.alert), wire.fact_text(judged.former or None),
            0 if opened is None else rollback.NUMBERS_LEFT_OUT,
        ]  # fmt: skip
        if write(written, json.dumps(asdict(judged.serving)))[1] == "done":
            return Proof(
                outcome=judged.outcome,
                receipt=receipts.receipt_of(judged, known.store),
                serving=judged.serving,
                epochs=judged.epochs,
                now=now,
            )
    raise errors.unreachable(url, "other transactions kept coming in between")


def let_go(read: Callable[[], Fact], write: Callable[[list[Any]], Acted], wish: Act, now: Micros, url: str) -> Acted:
    """Let rollbacks go; judged anew when one was proved in between.

    Args:
        read: reads the fact.
        write: runs the act's script with what becomes of the rollbacks.
        wish: a release that names no row.
        now: the store's time.
        url: for what is said when it does not succeed.
    """
    for _ in range(JUDGED_AGAIN):
        fact = read()
        gone = releasing.let_go(fact.value, wish, now)
        acted = write(wire.act("", wish, [], [fact.version, gone.outcome, wire.fact_text(gone.value), gone.is_over]))
        if acted.outcome != MOVED:
            return acted
    raise errors.unreachable(url, "other transactions kept coming in between")


def _plain(writer: Writer) -> list[Any]:
    return [
        writer.worker, writer.seq, writer.hash, writer.at, writer.epoch, int(writer.blind), writer.proved_at,
        writer.proved_for,
    ]  # fmt: skip


def writers(answers: list[list[Any]]) -> list[Writer]:
    """Return the writers of a reply, the one that proved itself last first."""
    return sorted(map(_writer, answers), key=lambda writer: (-writer.proved_at, writer.id))


def _writer(answer: list[Any]) -> Writer:
    name, worker, seq, hash_, at, epoch, blind, proved_at, proved_for = answer
    return Writer(
        id=name, worker=worker, seq=seq, hash=hash_, at=at, epoch=epoch, blind=blind == 1, proved_at=proved_at,
        proved_for=proved_for,
    )  # fmt: skip
