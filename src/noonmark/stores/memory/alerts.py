"""Alerts of the memory store.

Rule of the file: the caller holds the store's lock.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from noonmark.core import escalate
from noonmark.core.model import Alert, AlertWrite, Micros, State, changed

if TYPE_CHECKING:
    from noonmark.stores.memory.tables import Tables


def close(tables: Tables, row_id: int, now: Micros) -> None:
    """Close what is open about a row that a person has dealt with."""
    tables.alerts = [
        _closed(tables, alert, now) if alert.occurrence_id == row_id and alert.closed_at is None else alert
        for alert in tables.alerts
    ]


def _closed(tables: Tables, alert: Alert, now: Micros) -> Alert:
    """Return the alert closed; an urgent one goes on to the newest other row of its job that needs a person."""
    waiting = [
        row
        for row in (tables.rows.values() if alert.level >= escalate.URGENT else ())
        if (row.job, row.state) == (alert.job, State.FAILED_MANUAL)
        and row.id != alert.occurrence_id
        and escalate.kind_of(row.verdict, row.code) == alert.kind
    ]
    if not waiting:
        return changed(alert, updated_at=now, closed_at=now)
    row = max(waiting, key=lambda row: (row.scheduled_for, row.id))
    detail = escalate.detail_of_next(row, alert.detail)
    return changed(alert, code=row.code, detail=detail, occurrence_id=row.id, updated_at=now)


def write(tables: Tables, asked: AlertWrite, now: Micros) -> None:
    """Open, update or close the one open alert of (job, kind); an open one never becomes milder.

    An urgent one is about the occurrence that needs a person: no other closes it, and milder news only count.
    """
    index = next(
        (
            at
            for at, alert in enumerate(tables.alerts)
            if alert.job == asked.job and alert.kind == asked.kind and alert.closed_at is None
        ),
        None,
    )
    if asked.clear:
        if index is not None and not escalate.is_kept(tables.alerts[index], asked):
            tables.alerts[index] = _closed(tables, tables.alerts[index], now)
        return
    detail = json.dumps(dict(asked.detail), ensure_ascii=False)
    if index is None:
        tables.alerts.append(
            Alert(
                id=max((alert.id for alert in tables.alerts), default=0) + 1,
                job=asked.job,
                kind=asked.kind,
                level=asked.level,
                code=asked.code,
                detail=detail,
                occurrence_id=asked.occurrence_id,
                opened_at=now,
                updated_at=now,
                count=1,
            )
        )
        return
    old = tables.alerts[index]
    if escalate.is_kept(old, asked):
        tables.alerts[index] = changed(old, updated_at=now, count=old.count + 1)
        return
    tables.alerts[index] = changed(
        old,
        level=max(old.level, asked.level),
        code=asked.code,
        detail=detail,
        occurrence_id=asked.occurrence_id,
        updated_at=now,
        count=old.count + 1,
    )
