"""Many statements in one round trip, with as little Python per statement as possible.

Rule of the file: parameters are text, results are binary, and a statement is prepared when it is first sent on a
connection.  Whatever goes wrong, the answers are read to their end, so the connection can go on; the first error is
raised.  This is psycopg's pipeline mode one floor below its cursors, which would cost more than the server's work.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

import psycopg
from psycopg.adapt import Transformer
from psycopg.errors import error_from_result
from psycopg.generators import fetch_many, pipeline_communicate
from psycopg.pq import ConnStatus, ExecStatus, Format

if TYPE_CHECKING:
    from noonmark.stores.postgres.link import Wire

Row: TypeAlias = tuple[Any, ...]
Sent: TypeAlias = "tuple[bytes, list[bytes | None]]"
_SYNC, _ROWS = ExecStatus.PIPELINE_SYNC, ExecStatus.TUPLES_OK
_FAILED = (ExecStatus.FATAL_ERROR, ExecStatus.BAD_RESPONSE)
_ABORTED = ExecStatus.PIPELINE_ABORTED


class Conversation:
    """What one connection remembers between exchanges."""

    def __init__(self, wire: Wire, *, prepares: bool) -> None:
        self._wire = wire
        self._link = wire.pgconn
        self._prepares = prepares
        self._names: dict[bytes, bytes] = {}
        self._reader = Transformer(wire)

    def hold(self, statements: Sequence[Sent]) -> list[list[Row]]:
        """Send the statements and return the rows of each.

        Raises:
            psycopg.Error: the first thing that went wrong; the statements after it were not carried out.
        """
        commands: deque[Callable[[], None]] = deque()
        made: list[bytes | None] = []  # of each answer: the statement it prepares, None for one that is carried out
        for text, params in statements:
            if not self._prepares:
                commands.append(partial(self._link.send_query_params, text, params, result_format=Format.BINARY))
            else:
                name = self._names.get(text)
                if name is None:
                    name = self._names[text] = b"n%d" % len(self._names)
                    commands.append(partial(self._link.send_prepare, name, text))
                    made.append(text)
                commands.append(partial(self._link.send_query_prepared, name, params, result_format=Format.BINARY))
            made.append(None)
        commands.append(self._link.pipeline_sync)
        self._link.enter_pipeline_mode()
        try:
            found = self._wire.wait(self._talk(commands))
        except BaseException:
            self._names.clear()  # whoever goes on after this has lost the connection anyway
            raise
        finally:
            if self._link.status == ConnStatus.OK and not self._link.is_busy():
                self._link.exit_pipeline_mode()
        return self._read(found, made)

    def _talk(self, commands: deque[Callable[[], None]]) -> Generator[Any, Any, list[Any]]:
        found: list[Any] = yield from pipeline_communicate(self._link, commands)
        while not (found and found[-1] and found[-1][0].status == _SYNC):
            results = yield from fetch_many(self._link)
            if not results:
                raise psycopg.OperationalError("the connection was lost in the middle of an answer")
            found.append(results)
        return found

    def _read(self, found: list[Any], made: list[bytes | None]) -> list[list[Row]]:
        failed: Any = None
        answers: list[list[Row]] = []
        for results, prepared in zip(found, made, strict=False):
            result = results[0]
            if result.status in _FAILED and failed is None:
                failed = result
            if prepared is not None:
                if result.status in _FAILED or result.status == _ABORTED:
                    del self._names[prepared]
            elif result.status == _ROWS and failed is None:
                self._reader.set_pgresult(result, set_loaders=True, format=Format.BINARY)
                answers.append(self._reader.load_rows(0, result.ntuples, tuple))
            else:
                answers.append([])
        if failed is not None:
            raise error_from_result(failed)
        return answers
