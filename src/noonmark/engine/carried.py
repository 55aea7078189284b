"""A run is over when what its function returned is: what was only begun is waited for, what never began is no success.

Rule of the file: values of jobs in, values or errors out; nothing is known here of stores or threads.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import inspect
from collections.abc import Awaitable
from typing import Any

from noonmark.engine.errors import DoNotRetry


def through(value: Any) -> Any:
    """Wait, where no loop runs, for what a plain function handed out instead of doing it, and return what that gave.

    Raises:
        DoNotRetry: a generator, of which no line has run.
    """
    while True:
        if isinstance(value, concurrent.futures.Future):
            value = value.result()
        elif inspect.isawaitable(value):
            value = asyncio.run(_await(value))
        else:
            return _begun(value)


async def through_async(value: Any) -> Any:
    """Do the same within a loop, for what a coroutine returned without waiting for it.

    Raises:
        DoNotRetry: a generator, of which no line has run.
    """
    while True:
        if isinstance(value, concurrent.futures.Future):
            value = await asyncio.wrap_future(value)
        elif inspect.isawaitable(value):
            value = await value
        else:
            return _begun(value)


async def _await(value: Awaitable[Any]) -> Any:
    return await value


def _begun(value: Any) -> Any:
    is_new = inspect.isgenerator(value) and inspect.getgeneratorstate(value) == inspect.GEN_CREATED
    code = value.gi_code if is_new else value.ag_code if inspect.isasyncgen(value) else None
    # A generator expression is a result; a function that yields is the work, and none of it was done.
    if code is not None and code.co_name != "<genexpr>":
        raise DoNotRetry(
            f"{code.co_name} is a generator, so calling it ran no line of it; return a value instead of yielding, "
            "or go through it in a function of its own"
        )
    return value
