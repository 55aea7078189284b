"""Alerts as rows: at most one open per job and kind.

Rule of the file: an open alert's level only rises; one all-clear closes it.  An urgent one is about the occurrence that
needs a person: no other closes it, and milder news of others only count (``core.escalate.is_kept``).  When that one is
dealt with, it goes on to the next of its kind.
"""

from __future__ import annotations

import json

from noonmark.core.escalate import POISON, RAN, URGENT
from noonmark.core.model import AlertWrite
from noonmark.stores.postgres.transaction import Transaction


def _unless_kept(column: str) -> str:
    kept = (
        f"a.level >= {URGENT} AND excluded.level < {URGENT} AND a.occurrence_id IS DISTINCT FROM excluded.occurrence_id"
    )
    return f"CASE WHEN {kept} AND a.occurrence_id IS NOT NULL THEN a.{column} ELSE excluded.{column} END"


_OPEN = (
    "INSERT INTO ~alert AS a (job, kind, level, code, detail, occurrence_id, opened_at, updated_at, count)"
    " VALUES ($1::text, $2::text, $3::integer, $4::text, $5::text, $6::bigint, $7::bigint, $7::bigint, 1)"
    " ON CONFLICT (job, kind) WHERE closed_at IS NULL DO UPDATE SET level = greatest(a.level, excluded.level),"
    f" code = {_unless_kept('code')}, detail = {_unless_kept('detail')}, occurrence_id = {_unless_kept('occurrence_id')},"
    " updated_at = excluded.updated_at, count = a.count + 1"
)
_RAN = ", ".join(f"'{verdict}'" for verdict in sorted(RAN))
_KIND = f"CASE WHEN o.code = '{POISON}' THEN 'poison' WHEN o.verdict IN ({_RAN}) THEN 'failing' ELSE 'missed' END"
# Texts, and no values of type json: those would refuse what a text of ours may hold.
_DETAIL = (
    """'{"run": "r' || o.id || '", "key": ' || to_json(o.key) || ', "attempt": ' || o.attempt || ', "owner": '"""
    """ || coalesce(substring(c.detail FROM '"owner": ("(?:[^"\\\\]|\\\\.)*")'), '""')"""
    """ || CASE WHEN o.detail LIKE '{"%}' THEN ', ' || substr(o.detail, 2) ELSE '}' END AS detail"""
)
# From what failed to its rows, one by one and the newest first: a job may have millions of rows that went well.  The job
# is compared as an expression that no index has, or a plan that is made in empty tables would go by it.
# Whoever deals with the next one at this moment holds its row: the alert would never hear of it, so it is waited for.
_NEXT = (
    f"SELECT o.* FROM (SELECT occurrence_id FROM ~failed WHERE c.level >= {URGENT}"
    " ORDER BY scheduled_for DESC, occurrence_id DESC) AS f CROSS JOIN LATERAL ("
    f"SELECT o.id, o.code, {_DETAIL} FROM ~occurrence AS o WHERE o.id = f.occurrence_id AND o.state = 'FAILED_MANUAL'"
    f" AND '' || o.job = c.job AND {_KIND} = c.kind AND o.id IS DISTINCT FROM c.occurrence_id"
    " AND o.id <> ALL({unknown}::bigint[]) FOR SHARE) AS o LIMIT 1"
)
_CLOSE = (
    "WITH closing AS (SELECT id, job, kind, level, detail, occurrence_id FROM ~alert WHERE closed_at IS NULL AND {which}"
    f" FOR UPDATE), next AS (SELECT c.id AS alert, n.* FROM closing AS c CROSS JOIN LATERAL ({_NEXT}) AS n)"
    " UPDATE ~alert AS a SET closed_at = CASE WHEN next.id IS NULL THEN $1::bigint END, updated_at = $1::bigint,"
    " code = coalesce(next.code, a.code), detail = coalesce(next.detail, a.detail),"
    " occurrence_id = coalesce(next.id, a.occurrence_id)"
    " FROM closing LEFT JOIN next ON next.alert = closing.id WHERE a.id = closing.id"
)
_CLEAR = _CLOSE.replace(
    "{which}",
    f"job = $2::text AND kind = $3::text AND (level < {URGENT} OR occurrence_id IS NULL OR occurrence_id = $4::bigint)",
).replace("{unknown}", "$5")
_CLOSE_FOR = _CLOSE.replace("{which}", "occurrence_id = $2::bigint").replace("{unknown}", "$3")


def write(tx: Transaction, alert: AlertWrite) -> None:
    """Open, update or close the one alert of its job and kind."""
    if alert.clear:
        tx.at_last(_CLEAR, tx.now, alert.job, alert.kind, alert.occurrence_id, as_now=True)
        return
    detail = json.dumps(dict(alert.detail), ensure_ascii=False)
    tx.at_last(_OPEN, alert.job, alert.kind, alert.level, alert.code, detail, alert.occurrence_id, tx.now)


def close_for(tx: Transaction, occurrence_id: int) -> None:
    """Close what is open about an occurrence that a person has dealt with."""
    tx.at_last(_CLOSE_FOR, tx.now, occurrence_id, as_now=True)
