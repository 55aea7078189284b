"""``@dataclass`` for frozen values that cost little to declare.

Promise: a class declared with it is a frozen dataclass with slots in every respect: the same arguments, fields, words,
equality, copies and refusals.  To a type checker it is ``dataclasses.dataclass`` itself.

Rule of the file: the library compiles six functions for every class, which for a command that is over at once is a
third of its time, although it makes values of a handful of them.  Here what can be shared is shared, and a constructor
is compiled when the first value is made.  The code is made of the names of the fields and of nothing else.
"""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable
from dataclasses import MISSING, Field, FrozenInstanceError, fields
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

T = TypeVar("T")

if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass
else:

    def dataclass(*, frozen: bool, slots: bool, kw_only: bool = False) -> Callable[[type[T]], type[T]]:
        """Declare a value: frozen, with slots; everything else is the library's business.

        Raises:
            TypeError: it is not frozen, or has no slots, or its values need something done after their construction.
        """
        if not frozen or not slots:
            raise TypeError("a value is frozen and has slots; for anything else take dataclasses.dataclass")

        def declare(cls: type[T]) -> type[T]:
            own = frozenset(vars(cls))
            if "__post_init__" in own:
                raise TypeError(f"{cls.__name__} has something done after its construction; take dataclasses.dataclass")
            bare = dataclasses.dataclass(init=False, repr=False, eq=False, slots=True, kw_only=kw_only)
            return _completed(bare(cls), own)

        return declare


_put = object.__setattr__


class _Factory:
    """Stands for a default that a function makes anew; shown as the library shows its own."""

    def __repr__(self) -> str:
        return "<factory>"


_FRESH = _Factory()


def _completed(cls: type[T], own: frozenset[str]) -> type[T]:
    """Add what the library would have compiled, except what the class says by itself."""
    its = fields(cls)  # type: ignore[arg-type]
    whole = _taker([field.name for field in its])
    compared = _taker([field.name for field in its if field.compare])
    hashed = _taker([field.name for field in its if (field.compare if field.hash is None else field.hash)])
    shown = tuple(field.name for field in its if field.repr)

    def said(self: Any) -> str:
        return f"{type(self).__qualname__}({', '.join(f'{name}={getattr(self, name)!r}' for name in shown)})"

    def same(self: Any, other: object) -> bool:
        return compared(self) == compared(other) if other.__class__ is self.__class__ else NotImplemented

    def hash_of(self: Any) -> int:
        return hash(hashed(self))

    def taken_out(self: Any) -> tuple[Any, ...]:
        return whole(self)

    def put_back(self: Any, values: tuple[Any, ...]) -> None:
        for field, value in zip(its, values, strict=True):
            _put(self, field.name, value)

    made = {
        "__init__": OnDemand(cls, _constructor),
        "__repr__": said,
        "__eq__": same,
        "__hash__": hash_of,
        "__setattr__": _refuse_to_assign,
        "__delattr__": _refuse_to_delete,
        "__getstate__": taken_out,
        "__setstate__": put_back,
    }
    for name, what in made.items():
        if name not in own:
            setattr(cls, name, what)
    says: Any = vars(cls)["__dataclass_params__"]
    says.init = says.repr = says.eq = says.frozen = True
    return cls


def _taker(names: list[str]) -> Callable[[Any], tuple[Any, ...]]:
    """Return what takes these fields of a value, always as a tuple."""
    if len(names) > 1:
        return attrgetter(*names)
    return lambda value: tuple(getattr(value, name) for name in names)


def _refuse_to_assign(self: object, name: str, value: object) -> NoReturn:  # noqa: ARG001 - as it is called
    raise FrozenInstanceError(f"cannot assign to field {name!r}")


def _refuse_to_delete(self: object, name: str) -> NoReturn:  # noqa: ARG001 - as it is called
    raise FrozenInstanceError(f"cannot delete field {name!r}")


class OnDemand:
    """Stands where ``__init__`` will be, and puts there what ``compiled`` makes of the class when somebody asks for it."""

    __slots__ = ("_cls", "_compiled")

    def __init__(self, cls: type, compiled: Callable[[Any], Any]) -> None:
        self._cls, self._compiled = cls, compiled

    def __get__(self, value: object | None, owner: type | None = None) -> Any:
        made = self._compiled(self._cls)
        made.__qualname__ = f"{self._cls.__qualname__}.__init__"
        made.__annotations__ = {**{field.name: field.type for field in fields(self._cls)}, "return": None}
        self._cls.__init__ = made  # type: ignore[misc]
        return made if value is None else made.__get__(value, owner)


def _constructor(cls: Any) -> Any:
    """Compile ``__init__``: each field assigned once, a default made anew where it is made by a function."""
    its = [field for field in fields(cls) if field.init]
    first = [_parameter(field) for field in its if not field.kw_only]
    by_name = [_parameter(field) for field in its if field.kw_only]
    given = ", ".join(["self", *first, *(["*", *by_name] if by_name else [])])
    lines = [f"  def __init__({given}):"]
    lines += [f"    put(self, {field.name!r}, {_given(field)})" for field in its] or ["    pass"]
    scope: dict[str, Any] = {f"default_{field.name}": field.default for field in its}
    scope.update((f"fresh_{field.name}", field.default_factory) for field in its)
    scope.update(put=_put, FRESH=_FRESH)
    where = getattr(sys.modules.get(cls.__module__), "__dict__", {})
    made: dict[str, Any] = {}
    exec("\n".join([f"def make({', '.join(scope)}):", *lines, "  return __init__"]), where, made)
    return made["make"](**scope)


def _parameter(field: Field[Any]) -> str:
    if field.default is not MISSING:
        return f"{field.name}=default_{field.name}"
    return field.name if field.default_factory is MISSING else f"{field.name}=FRESH"


def _given(field: Field[Any]) -> str:
    name = field.name
    return name if field.default_factory is MISSING else f"fresh_{name}() if {name} is FRESH else {name}"
