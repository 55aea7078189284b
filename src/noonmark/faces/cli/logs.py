"""Log lines of a worker on stderr: plain text, or JSON lines for machines.

Rule of the file: one line per record, whatever is in it; a record's own fields (job, occurrence, key, …) are kept in
JSON.  Secrets are hidden in both forms.
"""

from __future__ import annotations

import logging
import sys
from datetime import UTC, datetime
from typing import Any

from noonmark.core import times
from noonmark.core.model import SECOND
from noonmark.core.shown import json_text, shown, shown_line
from noonmark.faces.cli.settings import writes_unicode

_PLAIN = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}

LEVELS = {"debug": logging.DEBUG, "info": logging.INFO, "warning": logging.WARNING, "error": logging.ERROR}


class JsonLines(logging.Formatter):
    """A record as one JSON object."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line."""
        plain = {
            "v": 1,
            "at": datetime.fromtimestamp(record.created, UTC).isoformat(),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        plain |= {name: value for name, value in vars(record).items() if name not in _PLAIN}
        if record.exc_info:
            plain["traceback"] = self.formatException(record.exc_info)
        return json_text(plain, ascii_only=not writes_unicode(sys.stderr))


class Plain(logging.Formatter):
    """A record as one line; a traceback follows on lines of its own, indented, so that none passes for a record."""

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)-7s %(message)s", "%H:%M:%S")

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - the name is logging's
        """Return the line."""
        return shown_line(super().formatMessage(record))

    def formatException(self, ei: Any) -> str:  # noqa: N802 - the name is logging's
        """Return the traceback."""
        return "\n".join(f"  {line}" for line in shown(super().formatException(ei)).split("\n"))


def set_up(*, form: str, level: str, zone: str = "") -> None:
    """Send log records to stderr.

    Args:
        form: "text" or "json".
        level: debug, info, warning or error.
        zone: in which the times of text are told, "" = this machine's; JSON tells UTC.
    """
    handler = logging.StreamHandler(sys.stderr)
    text = Plain()
    if zone:
        text.converter = lambda at: times.local(round((at or 0) * SECOND), zone).timetuple()
    handler.setFormatter(JsonLines() if form == "json" else text)
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(LEVELS.get(level.lower(), logging.INFO))
