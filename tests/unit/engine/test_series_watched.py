"""That no series has lost its frontier is seen to page by page; and how far a series went by itself."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any, cast

import pytest

from noonmark.core.model import MINUTE, Event, JobRow, State
from noonmark.engine import frontiers
from noonmark.engine.activate import _newest
from noonmark.engine.frontiers import Watchdog
from noonmark.stores.memory import MemoryStore
from noonmark.testing.builders import make_activation, make_end, make_series_row
from noonmark.testing.clock import VirtualClock


def test_page_after_page_of_the_jobs_is_looked_at_until_every_one_was_and_then_they_begin_anew(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(frontiers, "PAGE", 2)
    rows = tuple(SimpleNamespace(name=name) for name in "abcde")
    rules: Any = SimpleNamespace(rows=lambda: rows, own_rows=lambda: ())
    watchdog = Watchdog(*[cast(Any, None)] * 2, rules, cast(Any, None), worker="w1")
    seen: list[str] = []

    async def look(some: Sequence[JobRow]) -> None:
        seen.append("".join(row.name for row in some))

    watchdog._raise = look  # type: ignore[method-assign]
    for _ in range(4):
        asyncio.run(watchdog.check_some())
    pages = [page for page in seen if page]
    assert pages[:3] == ["ab", "cd", "e"]
    assert len(pages) == 4


def test_how_far_a_series_went_is_its_newest_moment_however_many_there_are() -> None:
    store = MemoryStore(VirtualClock())
    begin = store.now()
    store.activate("a", [make_activation("job", effective_at=begin)], actor="ada")
    assert _newest(store, "job", "", 1) is None
    for number in range(45):
        at = begin + number * MINUTE
        store.add(f"add {number}", [make_series_row(str(number), at=at)], at=at)
        (row,) = store.take(f"take {number}", "w1", limit=9, runnable={"job": MINUTE}, look_lease=MINUTE, at=at).rows
        end = make_end(row, Event.SKIP, verdict="skip_guard")
        assert store.settle(f"end {number}", "w1", [end], at=at)[0].state is State.SKIPPED
    assert _newest(store, "job", "", 1) == begin + 44 * MINUTE
