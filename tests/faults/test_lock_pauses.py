"""Holders that stand still (SIGSTOP): with the fence from the first read on nothing is lost, without it updates are.

The short form of ``make lock-pauses``; docs/locks.md has the long one's table.
"""

from __future__ import annotations

import pytest
from lockpauses import available, run_all, table

PAUSES = 10


@pytest.mark.long(30)
@pytest.mark.timeout(150)
def test_fenced_updates_survive_pauses_of_their_holders_whatever_the_kind_of_lock() -> None:
    kinds = available()
    rows = run_all(kinds, pauses=PAUSES, counts=(4, 2, 10), seed="short", at_once=len(kinds), patience=90)
    shown = table(rows)
    fenced = [row for row in rows if row.mode == "both"]
    assert len(fenced) == len(kinds) >= 6
    for row in fenced:
        assert row.broken == 0, f"{row.kind} stopped serving\n{shown}"
        assert row.pauses >= PAUSES, f"{row.kind} was hardly paused\n{shown}"
        assert row.lost == 0, f"{row.kind} lost updates in spite of its fences\n{shown}"
    assert sum(row.refused for row in fenced) > 0, f"nobody was late, so nothing was tested\n{shown}"
    assert sum(row.lost for row in rows if row.mode == "none") > 0, f"no pause did harm, so nothing was tested\n{shown}"
