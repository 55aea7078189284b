"""Rows and values: the cheap way to a value gives the very same value."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, fields

import pytest

from noonmark.core.model import Occurrence, Origin, State
from noonmark.stores.sqlite.rows import FIELDS, make


def _columns() -> dict[str, object]:
    columns: dict[str, object] = {name: index for index, name in enumerate(FIELDS)}
    columns |= {"state": "RUNNING", "origin": "later", "claimed": 1, "frontier": 0, "gated": 1, "looking": 0}
    return columns | {"cancel_requested": 0}


def test_a_made_occurrence_equals_a_constructed_one() -> None:
    columns = _columns()
    made = make(*columns.values())
    values = columns | {"state": State.RUNNING, "origin": Origin.LATER}
    values |= {"claimed": True, "frontier": False, "gated": True, "looking": False, "cancel_requested": False}
    assert made == Occurrence(**values)  # type: ignore[arg-type]
    assert type(made) is Occurrence
    assert all(type(getattr(made, name)) is bool for name in ("claimed", "frontier", "gated", "looking"))


def test_a_made_occurrence_is_frozen() -> None:
    made = make(*_columns().values())
    with pytest.raises(FrozenInstanceError):
        made.state = State.SUCCESS  # type: ignore[misc]


def test_the_columns_are_the_fields() -> None:
    assert tuple(field.name for field in fields(Occurrence)) == FIELDS
