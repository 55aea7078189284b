"""Which function runs which job, and how it is called."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import pytest

from noonmark.engine import context as contexts
from noonmark.engine.context import Context, ContextSync
from noonmark.engine.errors import NoSuchJob
from noonmark.engine.registry import Registry, handler_for, resolve
from noonmark.testing.builders import make_job


def plain(first: int, second: int = 2) -> None:
    """Nothing."""


async def with_context(first: int, anything: Context) -> None:
    """Nothing."""


def with_rest(ctx: ContextSync, **rest: int) -> None:
    """Nothing."""


def with_module_name(c: contexts.Context) -> None:
    """Nothing."""


class Wrapper:
    """An object around a function, as a declared job is."""

    def __init__(self, fn: Callable[..., Any]) -> None:
        functools.update_wrapper(self, fn)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.__wrapped__(*args, **kwargs)  # type: ignore[attr-defined]


wrapped = Wrapper(with_context)


def test_the_signature_says_how_a_function_is_called() -> None:
    job = make_job("j")
    one, two = handler_for(job, plain), handler_for(job, with_context)
    three, four = handler_for(job, with_rest), handler_for(job, with_module_name)
    assert (one.kind, one.context_param, one.accepts) == ("sync", None, frozenset({"first", "second"}))
    assert (two.kind, two.context_param, two.accepts) == ("async", "anything", frozenset({"first"}))
    assert (three.kind, three.context_param, three.accepts) == ("sync", "ctx", None)
    assert (four.context_param, four.accepts) == ("c", frozenset())


def test_an_object_around_a_coroutine_function_is_run_as_the_coroutine_it_is() -> None:
    assert handler_for(make_job("j"), wrapped).kind == "async"
    assert resolve(f"{__name__}:wrapped") is with_context


def test_isolation_and_command_decide_where_it_runs() -> None:
    assert handler_for(make_job("j", isolation="process"), plain).kind == "process"
    registry = Registry([make_job("c", command=("true",))])
    assert registry.handler("c").kind == "command"


def test_text_is_imported_only_when_the_job_first_runs() -> None:
    registry = Registry([make_job("j", run="no_such_module:fn")])
    assert "j" in registry
    with pytest.raises(ImportError):
        registry.handler("j")


def test_a_name_belongs_to_one_function() -> None:
    registry = Registry()
    registry.add(make_job("j"), plain)
    with pytest.raises(ValueError, match="registered twice"):
        registry.add(make_job("j"), with_rest)
    with pytest.raises(NoSuchJob, match="'other'"):
        registry.handler("other")


def test_what_cannot_be_run_is_refused_when_it_is_declared() -> None:
    with pytest.raises(ValueError, match="nothing to run"):
        Registry([make_job("j")])
    with pytest.raises(ValueError, match="module:function"):
        resolve("just_a_name")
    with pytest.raises(ValueError, match="cannot be called"):
        resolve("noonmark.core.model:SECOND")

    def by_position(first: int, /) -> None:
        """Nothing."""

    with pytest.raises(ValueError, match="by name"):
        handler_for(make_job("j"), by_position)
