"""A value that is declared cheaply differs from a frozen dataclass of the library in nothing but what it costs."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import pickle
import subprocess
import sys
from dataclasses import FrozenInstanceError, field
from typing import Any

import pytest

from noonmark.core.model import Occurrence, changed
from noonmark.core.values import dataclass

KINDS = (dataclass, dataclasses.dataclass)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ours:
    """With documentation, as every value has."""

    name: str
    size: int = 3
    parts: dict[str, int] = field(default_factory=dict)
    note: str = field(default="", compare=False, repr=False)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Theirs:
    """With documentation, as every value has."""

    name: str
    size: int = 3
    parts: dict[str, int] = field(default_factory=dict)
    note: str = field(default="", compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Pair:
    """By position."""

    left: int
    right: int = 2


@dataclass(frozen=True, slots=True)
class Alone:
    """One field."""

    value: float


@dataclass(frozen=True, slots=True)
class Nothing:
    """No field."""


def test_it_takes_the_same_arguments() -> None:
    ours, theirs = inspect.signature(Ours), inspect.signature(Theirs)
    assert str(ours) == str(theirs)
    assert list(inspect.signature(Pair).parameters) == ["left", "right"]
    assert Pair(1) == Pair(1, 2) == Pair(left=1, right=2) != Pair(1, 3)
    assert Nothing() == Nothing()
    wrong: Any = Ours
    for call in (
        lambda: wrong(),
        lambda: wrong("a"),
        lambda: wrong(name="a", colour="red"),
        lambda: wrong(name=1, n=2),
    ):
        with pytest.raises(TypeError):
            call()


def test_it_is_shown_compared_and_copied_alike() -> None:
    for cls in (Ours, Theirs):
        value = cls(name="a", note="x")
        assert repr(value) == f"{cls.__name__}(name='a', size=3, parts={{}})"
        assert value == cls(name="a", note="y"), "a field that is not compared was compared"
        assert value not in (cls(name="b"), "a")
        assert copy.copy(value) == copy.deepcopy(value) == pickle.loads(pickle.dumps(value)) == value
        assert pickle.loads(pickle.dumps(value)).note == "x"
        assert dataclasses.replace(value, size=4) == cls(name="a", size=4)
        assert dataclasses.asdict(value) == {"name": "a", "size": 3, "parts": {}, "note": "x"}
        assert not hasattr(value, "__dict__")
        with pytest.raises(TypeError):
            hash(value)  # because of the dict in it
    assert Ours(name="a") != Theirs(name="a")
    assert {Pair(1), Pair(1), Pair(2)} == {Pair(1), Pair(2)}
    assert (Alone(float("nan")) == Alone(float("nan"))) is False
    same = float("nan")
    assert Alone(same) == Alone(same), "values are compared as tuples are"


def test_it_says_of_itself_what_a_frozen_dataclass_says() -> None:
    def told(cls: Any) -> tuple[object, ...]:
        params = cls.__dataclass_params__
        kinds = [(each.name, each.type, each.kw_only, each.compare) for each in dataclasses.fields(cls)]
        return params.frozen, params.eq, params.init, params.repr, kinds, cls.__match_args__, cls.__slots__

    assert told(Ours) == told(Theirs)
    assert Ours.__init__.__qualname__ == "Ours.__init__"
    assert Ours.__init__.__annotations__ == Theirs.__init__.__annotations__


def test_no_field_can_be_set_or_taken_away() -> None:
    value: Any = Ours(name="a")
    with pytest.raises(FrozenInstanceError, match="cannot assign to field 'size'"):
        value.size = 4
    with pytest.raises(FrozenInstanceError, match="cannot delete field 'size'"):
        del value.size
    with pytest.raises((FrozenInstanceError, AttributeError)):
        value.colour = "red"


def test_every_value_gets_a_default_of_its_own() -> None:
    assert Ours(name="a").parts is not Ours(name="b").parts


def test_what_a_class_says_by_itself_stays() -> None:
    @dataclass(frozen=True, slots=True)
    class Secret:
        """Not to be shown."""

        value: str

        def __repr__(self) -> str:
            return "Secret(…)"

    assert repr(Secret("x")) == "Secret(…)"


def test_what_it_cannot_do_is_refused() -> None:
    declare: Any = dataclass
    with pytest.raises(TypeError, match="frozen"):
        declare(frozen=False, slots=True)
    with pytest.raises(TypeError, match="after its construction"):

        @dataclass(frozen=True, slots=True)
        class Late:
            value: int

            def __post_init__(self) -> None: ...


def test_a_constructor_is_compiled_when_the_first_value_is_made() -> None:
    program = (
        "from noonmark.core.model import Occurrence, Story;"
        "print({type(vars(each)['__init__']).__name__ for each in (Occurrence, Story)})"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False)
    assert done.stdout == "{'OnDemand'}\n", done.stderr


def test_a_quick_value_that_was_copied_before_any_was_made_can_be_changed() -> None:
    names = [each.name for each in dataclasses.fields(Occurrence)]
    program = (
        "import copyreg; from noonmark.core.model import Occurrence, changed;"
        "row = object.__new__(Occurrence);"
        f"row.__setstate__(tuple(range({len(names)})));"
        "print(changed(row, job='x').job, row.job)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False)
    assert done.stdout == f"x {names.index('job')}\n", done.stderr
    assert changed is not dataclasses.replace
