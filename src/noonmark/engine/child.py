"""The interpreter of a job with ``isolation="process"``: imports the function, runs it, says how it ended.

Promise: the job's context works here as anywhere else; everything durable is asked of the parent, which holds the
lease.

Rule of the file: one conversation over one socket, JSON, one object a line; the store is never opened here.
"""

from __future__ import annotations

import asyncio
import importlib
import inspect
import json
import runpy
import socket
import sys
import threading
import traceback
from collections.abc import Awaitable, Callable, Mapping
from datetime import timedelta
from typing import Any

from noonmark.core.model import PAYLOAD_LIMIT
from noonmark.engine.carried import through, through_async
from noonmark.engine.context import Context, ContextSync, RunFacts
from noonmark.engine.errors import DoNotRetry, EffectUnknown, LeaseLost, Retry, said_by
from noonmark.engine.registry import plain
from noonmark.ports.clock import SystemClock


class Line:
    """The conversation with the parent; calls from several threads take turns."""

    def __init__(self, theirs: socket.socket) -> None:
        self._socket = theirs
        self._file = theirs.makefile("rb")
        self._lock = threading.Lock()
        self.lost = False

    def read(self) -> Any:
        """Read one object."""
        line = self._file.readline()
        if not line:
            raise LeaseLost("the worker of this run is gone")
        return json.loads(line)

    def say(self, message: Mapping[str, Any]) -> None:
        """Send one object."""
        self._socket.sendall(json.dumps(message).encode() + b"\n")

    def ask(self, op: str, args: tuple[Any, ...]) -> Any:
        """Ask the parent's journal."""
        with self._lock:
            self.say({"op": op, "args": list(args)})
            reply = self.read()
        if "error" in reply:
            raise RuntimeError(reply["error"])
        if reply["answer"] in (None, False):  # every refusal means the same: the run is no longer ours
            self.lost = True
        return reply["answer"]

    def close(self) -> None:
        """Close both ends of ours."""
        self._file.close()
        self._socket.close()


def find(greeting: Mapping[str, Any]) -> Callable[..., Any]:
    """Return the job's function; one that lives in a script is found by running the script under another name."""
    if greeting["main"] is not None:
        found: Any = runpy.run_path(greeting["main"], run_name="__noonmark_main__")
        first, *rest = greeting["function"].split(".")
        found = found[first]
    else:
        found = importlib.import_module(greeting["module"])
        rest = greeting["function"].split(".")
    for part in rest:
        found = getattr(found, part)
    assert callable(found)
    return plain(found)


def call(fn: Callable[..., Any], greeting: Mapping[str, Any], line: Line) -> Any:
    """Call the function with its parameters and its context."""
    facts = RunFacts(**greeting["facts"])
    accepts = greeting["accepts"]
    chosen = {name: value for name, value in facts.params.items() if accepts is None or name in accepts}
    boot = SystemClock().boot
    if not inspect.iscoroutinefunction(fn):
        if greeting["context_param"] is not None:
            chosen[greeting["context_param"]] = ContextSync(facts, ask=line.ask, is_lost=lambda: line.lost, boot=boot)
        return through(fn(**chosen))

    async def ask(op: str, args: tuple[Any, ...]) -> Any:
        return await asyncio.to_thread(line.ask, op, args)

    if greeting["context_param"] is not None:
        chosen[greeting["context_param"]] = Context(facts, ask=ask, is_lost=lambda: line.lost, boot=boot)
    return asyncio.run(_to_its_end(fn(**chosen)))


async def _to_its_end(begun: Awaitable[Any]) -> Any:
    return await through_async(await begun)


def ending(fn: Callable[[], Any]) -> dict[str, Any]:
    """Run the job and describe how it ended."""
    try:
        value = fn()
    except BaseException as error:
        text = "".join(traceback.format_exception(error))
        kinds = ((Retry, "retry"), (DoNotRetry, "do_not_retry"), (EffectUnknown, "effect_unknown"), (LeaseLost, "lost"))
        kind = next((kind for type_, kind in kinds if isinstance(error, type_)), "error")
        wait = error.after if isinstance(error, Retry) else None
        after = wait // timedelta(microseconds=1) if isinstance(wait, timedelta) else None
        return {"op": "end", "kind": kind, "value": text[-PAYLOAD_LIMIT:], "after": after}
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False)
    except Exception as error:  # whatever a value of the job's own raises when it is read: the work was done
        return {"op": "end", "kind": "not_stored", "value": said_by(error)[:200]}
    if len(text) > PAYLOAD_LIMIT:
        return {"op": "end", "kind": "not_stored", "value": f"{len(text)} characters, more than {PAYLOAD_LIMIT}"}
    return {"op": "end", "kind": "ok", "value": text}


def main() -> None:
    """Run the one job this interpreter was made for."""
    line = Line(socket.socket(fileno=int(sys.argv[1])))
    try:
        greeting = line.read()
        line.say(ending(lambda: call(find(greeting), greeting, line)))
    finally:
        line.close()


if __name__ == "__main__":
    main()
