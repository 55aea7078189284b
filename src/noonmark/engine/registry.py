"""Which function runs which job.

Promise: a handler knows, before the first run, how it is called: on a loop, in a thread, in a process or as a command;
whether it wants a context; which parameters it names.

Rule of the file: nothing is global.  ``module:function`` text is imported when the job first runs, so that a rules file
can be read by a process that has none of the code.
"""

from __future__ import annotations

import importlib
import inspect
import typing
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Literal, TypeAlias

from noonmark.core.model import Job
from noonmark.core.values import dataclass
from noonmark.engine.context import Context, ContextSync
from noonmark.engine.errors import NoSuchJob

Kind: TypeAlias = Literal["async", "sync", "process", "command"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Handler:
    """How one job is run.  ``accepts`` None: every parameter is passed (the function has ``**kwargs``)."""

    job: Job
    fn: Callable[..., Any] | None
    kind: Kind
    context_param: str | None = None
    accepts: frozenset[str] | None = frozenset()


class Registry:
    """Handlers by job name."""

    def __init__(self, jobs: Iterable[Job] = ()) -> None:
        self._handlers: dict[str, Handler] = {}
        self._texts: dict[str, Job] = {}
        for job in jobs:
            self.declare(job)

    def add(self, job: Job, fn: Callable[..., Any]) -> Handler:
        """Bind a function to a job.

        Returns:
            The handler, with the way of calling read from the function's signature.

        Raises:
            ValueError: the name is taken by another function, or the function cannot be called by name.
        """
        self._refuse_twice(job.name)
        handler = handler_for(job, fn)
        self._handlers[job.name] = handler
        return handler

    def declare(self, job: Job) -> None:
        """Bind a job to its own text: a command, or ``module:function`` that is imported at the first run."""
        self._refuse_twice(job.name)
        if job.command:
            self._handlers[job.name] = Handler(job=job, fn=None, kind="command", accepts=None)
        elif job.run:
            self._texts[job.name] = job
        else:
            raise ValueError(f"job {job.name!r} has nothing to run: give it a function, run: or command:")

    def handler(self, name: str) -> Handler:
        """Return the handler of a job, importing it where it is still text.

        Raises:
            NoSuchJob: nothing is registered under the name.
            ImportError, AttributeError, ValueError: the text leads nowhere.
        """
        found = self._handlers.get(name)
        if found is not None:
            return found
        job = self._texts.get(name)
        if job is None:
            raise NoSuchJob(f"no function is registered for job {name!r}")
        handler = handler_for(job, resolve(job.run))
        self._handlers[name] = handler
        return handler

    def command(self, name: str) -> tuple[str, ...]:
        """Return the command that this process itself declares for a job, () where it declares none."""
        found = self._handlers.get(name)
        return found.job.command if found is not None else ()

    def jobs(self) -> Iterator[Job]:
        """Yield every declared job."""
        yield from (handler.job for handler in self._handlers.values())
        yield from (job for name, job in self._texts.items() if name not in self._handlers)

    def __contains__(self, name: object) -> bool:
        return name in self._handlers or name in self._texts

    def _refuse_twice(self, name: str) -> None:
        if name in self:
            raise ValueError(f"job {name!r} is registered twice: a name belongs to one function")


def resolve(text: str) -> Callable[..., Any]:
    """Import ``module:function`` (dots allowed in both) and return the function.

    Raises:
        ValueError: the text has not this form, or names something that cannot be called.
    """
    module_name, _, path = text.partition(":")
    if not module_name or not path:
        raise ValueError(f"run: {text!r} is not of the form module:function")
    found: Any = importlib.import_module(module_name)
    for part in path.split("."):
        found = getattr(found, part)
    if not callable(found):
        raise ValueError(f"run: {text!r} names something that cannot be called")
    return plain(found)


def plain(found: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function behind an object that wraps one, such as a declared job; functions stay as they are.

    A decorator's function is what its author wants run, but an object's call hides whether it must be awaited.
    """
    while not inspect.isroutine(found) and hasattr(found, "__wrapped__"):
        found = found.__wrapped__
    return found


def handler_for(job: Job, fn: Callable[..., Any]) -> Handler:
    """Read from a function's signature how it wants to be called."""
    fn = plain(fn)
    context_param, names, takes_all = None, set(), False
    hints = _hints(fn)
    for name, parameter in inspect.signature(fn).parameters.items():
        if parameter.kind is parameter.VAR_KEYWORD:
            takes_all = True
        elif _is_context(hints.get(name, parameter.annotation)):
            context_param = name
        elif parameter.kind is parameter.POSITIONAL_ONLY and parameter.default is parameter.empty:
            raise ValueError(f"job {job.name!r}: parameters come by name, but {name!r} can only be passed by position")
        elif parameter.kind in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
            names.add(name)
    is_async = inspect.iscoroutinefunction(fn) or inspect.iscoroutinefunction(type(fn).__call__)
    kind: Kind = "async" if is_async else "sync"
    if job.isolation == "process":
        kind = "process"
    return Handler(
        job=job, fn=fn, kind=kind, context_param=context_param, accepts=None if takes_all else frozenset(names)
    )


def _hints(fn: Callable[..., Any]) -> dict[str, Any]:
    try:
        return typing.get_type_hints(fn)
    except Exception:  # a name that exists only under TYPE_CHECKING must not make the job unusable
        return {}


def _is_context(annotation: Any) -> bool:
    if isinstance(annotation, str):
        return annotation.split(".")[-1] in ("Context", "ContextSync")
    return inspect.isclass(annotation) and issubclass(annotation, (Context, ContextSync))
