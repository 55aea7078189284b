"""What a verb makes of rows does not grow with what waits."""

from __future__ import annotations

from typing import Any

import pytest

from noonmark.core.model import Occurrence
from noonmark.stores.sqlite import SqliteStore, alerts
from noonmark.testing.conformance.harness import Harness


def test_an_alert_that_closes_makes_no_row_of_what_waits_for_another_kind(
    store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    harness = Harness(store)
    about = harness.urgent_among_others(300).id
    made: list[int] = []

    def counted(*columns: Any) -> Occurrence:
        made.append(columns[0])
        return make(*columns)

    make = alerts.make
    monkeypatch.setattr(alerts, "make", counted)
    harness.act("mark_done", occurrence_id=about)
    assert harness.story(about).alerts[0].closed_at is not None
    assert made == []
