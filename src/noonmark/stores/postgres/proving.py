"""``prove``: judge what a writer remembers, and hold what may have run when it is gone; and the links of its chain.

Rule of the file: a link is compared in the round trip that begins its verb and appended in the one that ends it, so it
costs no trip of its own.  Which server answers is asked along with it, because behind a pooler nothing else would tell.
Whoever has to hold rows does so alone, when no other verb is under way.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

from noonmark.core import former, receipts, rollback
from noonmark.core.lifecycle import KEPT
from noonmark.core.model import DAY, AlertWrite, Micros
from noonmark.core.model.rollback import ChainLink, Claim, Proof, Serving, Writer
from noonmark.ports.rollback import ChainBroken
from noonmark.stores.postgres import alerts, ending, facts, writing
from noonmark.stores.postgres.arrays import unescaped
from noonmark.stores.postgres.desk import Desk, Wanted, lay
from noonmark.stores.postgres.exchange import Row
from noonmark.stores.postgres.link import Session, Statement
from noonmark.stores.postgres.transaction import Transaction

RINGS_KEPT: Micros = 7 * DAY
_IDENTITY = "'postgres ' || (extract(epoch FROM pg_postmaster_start_time()) * 1000000)::bigint"
_CHECK = f"SELECT hash, {_IDENTITY} FROM ~writer WHERE id = $1::text"
_APPEND = (
    "WITH moved AS (UPDATE ~writer SET seq = $2::bigint, hash = $3::text, at = $4::bigint"
    " WHERE id = $1::text AND hash = $5::text RETURNING id)"
    " INSERT INTO ~link SELECT id, $6::integer, $2::bigint, $3::text FROM moved"
    " ON CONFLICT (writer, slot) DO UPDATE SET seq = excluded.seq, hash = excluded.hash"
)
_COLUMNS = "id, worker, seq, hash, at, epoch, blind, proved_at, proved_for"
_HEAD = f"SELECT {_COLUMNS} FROM ~writer WHERE id = $1::text FOR UPDATE"
_LINK = "SELECT hash FROM ~link WHERE writer = $1::text AND slot = $2::integer AND seq = $3::bigint"
_BEAT = "SELECT seen_at FROM ~worker WHERE id = $1::text"
# Who was heard of last counts only where another server serves; there is a row of every process ever started.
_REST = (
    f"SELECT {_IDENTITY}, CASE WHEN (SELECT value::json ->> 'identity' FROM ~meta WHERE name = 'serving') = {_IDENTITY}"
    " THEN 0 ELSE (SELECT coalesce(max(seen_at), 0) FROM ~worker) END::bigint,"
    " (SELECT value FROM ~meta WHERE name = 'serving'), (SELECT value FROM ~meta WHERE name = 'store_id')"
)
_EARLIER = (
    "SELECT coalesce(max(at), 0)::bigint FROM (SELECT seen_at AS at FROM ~worker UNION ALL SELECT started_at FROM ~worker"
    " UNION ALL SELECT at FROM ~writer UNION ALL SELECT proved_at FROM ~writer"
    " UNION ALL SELECT effective_at FROM ~job) AS told"
    " WHERE at < $2::bigint AND NOT EXISTS (SELECT FROM ~writer WHERE id = $1::text)"
)
_SKIP = (  # a proof must not fail for want of a right that older roles were not given
    "SELECT CASE WHEN has_sequence_privilege('~occurrence_id_seq', 'UPDATE') THEN"
    " setval('~occurrence_id_seq', coalesce(pg_sequence_last_value('~occurrence_id_seq'::regclass), 0) + $1::bigint) END"
)
_FACT = "SELECT value FROM ~fact WHERE name = $1::text"
_FORMER = (
    "SELECT value IS NOT NULL OR NOT EXISTS (SELECT FROM ~alert WHERE job = '' AND kind = $2::text AND closed_at IS NULL)"
    " FROM ~fact WHERE name = $1::text"
)
_KEEP = (
    f"INSERT INTO ~writer ({_COLUMNS}) VALUES ($1::text, $2::text, $3::bigint, $4::text, $5::bigint, $6::bigint,"
    " $7::boolean, $8::bigint, $9::text) ON CONFLICT (id) DO UPDATE SET worker = excluded.worker, seq = excluded.seq,"
    " hash = excluded.hash, at = excluded.at, epoch = excluded.epoch, blind = excluded.blind,"
    " proved_at = excluded.proved_at, proved_for = excluded.proved_for"
)
_SERVING = (
    "INSERT INTO ~meta VALUES ('serving', $1::text) ON CONFLICT (name) DO UPDATE SET value = excluded.value"
    " WHERE meta.value <> excluded.value"
)
_PRUNE = "DELETE FROM ~link WHERE writer = ANY(ARRAY(SELECT id FROM ~writer WHERE at < $1::bigint))"
_UNHURRIED = "SET LOCAL statement_timeout = 0"
_GATE = (
    "UPDATE ~occurrence SET gated = true,"
    " detail = CASE WHEN code IN ('released', 'retried') THEN '{}' ELSE detail END,"
    " code = CASE WHEN code IN ('released', 'retried') THEN '' ELSE code END"
    " WHERE id = ANY(ARRAY(SELECT occurrence_id FROM ~agenda))"
    " AND scheduled_for < $1::bigint"
)
_PAUSES = "UPDATE ~job SET pause_version = greatest(pause_version + 1, $1::bigint)"
_RULES_VERSION = "SELECT coalesce(sum(value), 0)::bigint FROM ~counter WHERE name = 'rules_version'"
_WAKE = (
    "INSERT INTO ~wake SELECT DISTINCT fact FROM ~waiter WHERE fact LIKE 'pause:%'"
    " ON CONFLICT (fact) DO UPDATE SET fact = excluded.fact"
)
_WRITERS = f"SELECT {_COLUMNS} FROM ~writer ORDER BY proved_at DESC, id"


class _Alone(Exception):
    """Rows are to be held: begin anew when nobody else is at work."""


def checking(link: ChainLink | None) -> list[Statement]:
    """Return what is to be asked, last of all, when a verb with this link begins."""
    return [] if link is None else [(_CHECK, (link.writer,))]


def check(link: ChainLink | None, answer: list[Row]) -> None:
    """Refuse a link that does not follow the head of its writer, or that was made for another server."""
    if link is None:
        return
    hash_, identity = answer[0] if answer else ("", "")
    if hash_ not in (link.before, link.hash) or link.serving not in ("", identity):
        raise ChainBroken(link.writer)


def append(tx: Transaction, link: ChainLink | None) -> None:
    """Make the link the head of its writer; one that is the head already was appended by a request since forgotten."""
    if link is not None:
        slot = link.seq % receipts.LINKS_KEPT
        tx.later(_APPEND, link.writer, link.seq, link.hash, tx.now, link.before, slot)


def prove(session: Session, claim: Claim, fixed: Micros | None) -> Proof:
    """Judge a claim and act on it."""
    try:
        return _prove(session, claim, fixed, alone=False)
    except _Alone:
        session.drop_transaction()
        return _prove(session, claim, fixed, alone=True)


def _prove(session: Session, claim: Claim, fixed: Micros | None, *, alone: bool) -> Proof:
    receipt = claim.receipt
    seq, worker, at = (receipt.seq, receipt.worker, receipt.at) if receipt is not None else (-1, "", 0)
    tx, found = Transaction.begin(
        session,
        "",
        fixed,
        (_HEAD, (claim.writer,)),
        (_LINK, (claim.writer, seq % receipts.LINKS_KEPT, seq)),
        (_BEAT, (worker,)),
        (_REST, ()),
        (_FACT, (rollback.FACT,)),
        (_FORMER, (former.FACT, former.CODE)),
        (_EARLIER, (claim.writer, at)),
        kept=KEPT,
        alone=alone,
    )
    known, identity = _known(found)
    judged = receipts.judge(claim, known, identity, tx.now)
    acts = judged.rollbacks is not None or judged.former or judged.alert is not None
    if acts and not alone:
        raise _Alone
    head = judged.writer
    tx.later(
        _KEEP, head.id, head.worker, head.seq, head.hash, head.at, head.epoch, head.blind, head.proved_at,
        head.proved_for,
    )  # fmt: skip
    tx.later(_SERVING, json.dumps(asdict(judged.serving)))
    tx.later(_PRUNE, tx.now - RINGS_KEPT)
    if acts:
        _act(tx, judged, claim.worker)
    tx.finish()
    return Proof(
        outcome=judged.outcome,
        receipt=receipts.receipt_of(judged, known.store),
        serving=judged.serving,
        epochs=judged.epochs,
        now=tx.now,
    )


def _known(found: list[list[Row]]) -> tuple[receipts.Known, str]:
    head, link, beat, [(identity, as_of, serving, store)], fact, told, [(earlier,)] = found
    value = unescaped(fact[0][0]) if fact and fact[0][0] is not None else None
    known = receipts.Known(
        store=str(store),  # it may have been made anew since we opened it
        head=_writer(head[0]) if head else None,
        link=str(link[0][0]) if link else None,
        beat=int(beat[0][0]) if beat else None,
        as_of=as_of,
        rollbacks=None if value is None else json.loads(value),
        serving=None if serving is None else Serving(**json.loads(serving)),
        former=bool(told[0][0]) if told else None,
        earlier=earlier,
    )
    return known, str(identity)


def _act(tx: Transaction, judged: receipts.Judged, worker: str) -> None:
    """Write the rollback down; let nothing that may have run start by itself, nor by a decision or a release from before."""
    desk = Desk(tx)
    written = {rollback.FACT: judged.rollbacks, former.FACT: judged.former or None}
    written = {name: value for name, value in written.items() if value is not None}
    lay(desk, Wanted(written_facts=set(written)))
    for name, value in written.items():
        facts.write(desk, name, value, worker)
    if judged.hold_before is not None:
        tx.later(_UNHURRIED)
        tx.later(_GATE, judged.hold_before)
        tx.later(_PAUSES, tx.now)
        tx.later(_WAKE)
        tx.wakes()
        [[(version,)]] = tx.ask((_RULES_VERSION, ()))
        tx.count("rules_version", rollback.unseen(version, tx.now) - version)
    if judged.opened is not None:
        tx.later(_SKIP, rollback.NUMBERS_LEFT_OUT)
        detail: dict[str, Any] = rollback.alert_detail(judged.opened)
        alerts.write(tx, AlertWrite(job="", kind=rollback.ALERT, level=3, code="store_rolled_back", detail=detail))
        ending.log(
            desk, 0, "", "rollback", code="store_rolled_back", detail=rollback.detail_text(detail), worker=worker,
            revision=judged.opened.number,
        )  # fmt: skip
    if judged.former:
        said = rollback.detail_text(former.detail(judged.former))
        ending.log(desk, 0, "", former.CODE, code=former.CODE, detail=said, worker=worker)
    if judged.alert is not None:
        alerts.write(tx, judged.alert)
    writing.write(desk)


def writers(session: Session) -> list[Writer]:
    """Read every writer, the one that proved itself last first."""
    [rows] = session.ask((_WRITERS, ()))
    return [_writer(row) for row in rows]


def _writer(row: Row) -> Writer:
    names = _COLUMNS.split(", ")
    texts = (unescaped(part) if isinstance(part, str) else part for part in row)
    values: dict[str, Any] = dict(zip(names, texts, strict=True))
    return Writer(**values)
