"""A class that is quick differs from a plain frozen dataclass in nothing but what it costs."""

from __future__ import annotations

import copy
import inspect
import pickle
from dataclasses import FrozenInstanceError, asdict, dataclass, field, replace
from typing import Any

import pytest

from noonmark.core.model import Query, Settled, WorkerInfo, changed, quick


@quick
@dataclass(frozen=True, slots=True, kw_only=True)
class Thing:
    name: str
    size: int = 3
    parts: dict[str, int] = field(default_factory=dict)


def test_it_takes_the_same_arguments() -> None:
    assert Thing(name="a") == Thing(name="a", size=3, parts={})
    assert Thing(name="a", size=4, parts={"x": 1}).parts == {"x": 1}
    assert list(inspect.signature(Thing).parameters) == ["name", "size", "parts"]
    wrong: Any = Thing
    for call in (lambda: wrong(), lambda: wrong("a"), lambda: wrong(name="a", colour="red")):
        with pytest.raises(TypeError):
            call()


def test_every_value_gets_a_default_of_its_own() -> None:
    assert Thing(name="a").parts is not Thing(name="b").parts


def test_it_is_frozen_and_has_no_other_fields() -> None:
    thing: Any = Thing(name="a")
    with pytest.raises(FrozenInstanceError):
        thing.size = 4
    with pytest.raises((FrozenInstanceError, TypeError, AttributeError)):
        thing.colour = "red"


def test_equality_hash_words_and_copies_are_those_of_a_dataclass() -> None:
    thing, query = Thing(name="a"), Query(job="a")
    assert thing == Thing(name="a") != Thing(name="b")
    assert hash(query) == hash(Query(job="a"))
    assert repr(thing) == "Thing(name='a', size=3, parts={})"
    assert asdict(thing) == {"name": "a", "size": 3, "parts": {}}
    assert copy.deepcopy(thing) == thing == pickle.loads(pickle.dumps(thing))
    assert type(thing) is type(changed(thing, size=4)) is Thing


def test_a_change_gives_what_replace_gives_and_leaves_the_old_value() -> None:
    thing = Thing(name="a", size=1, parts={"x": 1})
    assert changed(thing, size=2) == replace(thing, size=2)
    assert thing.size == 1
    with pytest.raises(AttributeError):
        changed(thing, colour="red")


def test_a_class_that_is_not_quick_is_changed_too() -> None:
    @dataclass(frozen=True, slots=True, kw_only=True)
    class Slow:
        size: int

    assert changed(Slow(size=1), size=2) == Slow(size=2)


def test_a_class_that_does_something_after_its_construction_cannot_be_quick() -> None:
    @dataclass(frozen=True, slots=True, kw_only=True)
    class Checked:
        size: int

        def __post_init__(self) -> None:
            raise ValueError

    @dataclass(frozen=True, slots=True)
    class ByPlace:
        size: int

    for cls in (Checked, ByPlace):
        with pytest.raises(TypeError, match="cannot be made quickly"):
            quick(cls)


def test_the_wide_values_of_the_core_are_quick() -> None:
    for cls in (Query, Settled, WorkerInfo):
        assert cls.__init__.__code__.co_filename == "<string>"
        assert "become" in cls.__init__.__code__.co_names
