"""What goes wrong at the command line, as one line for what, one for why, one for what to do, and an exit code.

Rule of the file: exit codes are a contract (see ``noonmark --help``): 0 yes, 1 the answer is no, 2 usage, 3 would not
run or refused, 4 store out of reach, 5 not found, 130 interrupted.
"""

from __future__ import annotations

OK = 0
NO = 1
USAGE = 2
REFUSED = 3
UNREACHABLE = 4
NOT_FOUND = 5
INTERRUPTED = 130


class Trouble(Exception):
    """A mistake or an obstacle that a person can act on; never shown as a traceback."""

    def __init__(self, what: str, *, why: str = "", do: str = "", code: int = USAGE) -> None:
        super().__init__(what)
        self.what = what
        self.why = why
        self.do = do
        self.code = code

    def text(self) -> str:
        """Return it as shown on stderr."""
        more = [line for part in (self.why, self.do) for line in part.splitlines() if line]
        return "\n".join([f"noonmark: {self.what}", *(f"        {line}" for line in more)])
