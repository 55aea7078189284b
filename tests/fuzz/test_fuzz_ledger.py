"""Anything at all as a ledger that is read in: refused with its line, or entered into a store without a fault."""

from __future__ import annotations

import io
import itertools
from typing import Any

from bounds import fuzzing, read_or_refused
from hypothesis import example, given
from hypothesis import strategies as st

from noonmark.core.model import SECOND, Query, State
from noonmark.engine.exports import Export, LedgerBroken, checked, exported, outcomes
from noonmark.engine.importing import Importer
from noonmark.stores.memory import MemoryStore

GOOD: dict[str, Any] = {
    "occurrence": 7, "job": "mail", "subject": "", "identity": "l:1", "key": "mail:1", "scheduled_for": SECOND,
    "business_date": "2026-11-29", "origin": "later", "outcome": "success", "fence": 9, "at": 5, "writer": "",
}  # fmt: skip
numbers = st.one_of(st.integers(), st.integers(-(2**53), 2**53))
scalars = st.one_of(
    st.none(), st.booleans(), numbers, st.floats(), st.text(max_size=20), st.text("é\x00\ud800", max_size=3)
)
values = st.recursive(scalars, lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(), inner)))
changes = st.dictionaries(
    st.one_of(st.sampled_from((*GOOD, "end", "hash", "noonmark")), st.text(max_size=5)), values, max_size=3
)
lines = st.lists(st.builds(lambda change: {**GOOD, **change}, changes), max_size=6)


def entered(file: str) -> None:
    """Read a file as the command does, and what is read may be entered, twice, as the trial run says."""
    export, _ = read_or_refused(200_000, lambda: checked(io.StringIO(file)), LedgerBroken)
    if export is None:
        return
    store: Any = MemoryStore()
    requests = itertools.count()
    said = Importer(store, export.store).plan(outcomes(io.StringIO(file)))
    assert sum(said.values()) == export.count
    for expected in (said["mark"] + said["make"], 0):
        importer = Importer(store, export.store)
        done = importer.carry_out(outcomes(io.StringIO(file)), lambda: f"r{next(requests)}", actor="ann")
        assert done["mark"] + done["make"] == expected
    assert {row.state for row in store.occurrences(Query(limit=100))} <= {State.SUCCESS}


@fuzzing(150)
@given(st.text(max_size=200))
@example("[" * 100_000)
@example('{"hash":' * 5_000)
@example("9" * 10_000)
@example('{"a": 1e999, "hash": NaN}')
@example("\n" * 1_000)
def test_any_text_is_read_as_a_ledger_or_refused(text: str) -> None:
    entered(text)


@fuzzing(150)
@given(lines, st.text(max_size=10))
@example([{**GOOD, "job": "x" * 1024, "key": "x" * 512}], "s")
@example([GOOD, GOOD], "s")
def test_lines_whose_hashes_fit_are_entered_or_refused_whatever_they_say(
    plain: list[dict[str, Any]], store: str
) -> None:
    entered("".join(f"{line}\n" for line in exported(store, plain)))


@fuzzing(100)
@given(st.integers(0, 5_000), st.text(max_size=4), st.integers(0, 60))
def test_an_export_that_is_changed_anywhere_is_refused_or_says_the_same(at: int, text: str, cut: int) -> None:
    whole = "".join(f"{line}\n" for line in exported("s", [GOOD, {**GOOD, "identity": "l:2", "key": "mail:2"}]))
    spoiled = whole[:at] + text + whole[at + cut :]
    export, _ = read_or_refused(200_000, lambda: checked(io.StringIO(spoiled)), LedgerBroken)
    if export is not None:
        assert export == Export(store="s", count=2)
        assert list(outcomes(io.StringIO(spoiled))) == list(outcomes(io.StringIO(whole)))
