"""What goes wrong at the command line, as one line for what, one for why, one for what to do, and an exit code.

Rule of the file: exit codes are a contract (see ``noonmark --help``): 0 yes, 1 the answer is no, 2 usage, 3 would not
run or refused, 4 store out of reach, 5 not found, 130 interrupted, 141 unread.
"""

from __future__ import annotations

OK = 0
NO = 1
USAGE = 2
REFUSED = 3
UNREACHABLE = 4
NOT_FOUND = 5
INTERRUPTED = 130
UNREAD = 141
"""As SIGPIPE says it: neither yes nor no, for the answer was not read."""


class Trouble(Exception):
    """A mistake or an obstacle that a person can act on; never shown as a traceback.

    ``key`` names its words in ``trouble_words.py``; ``args`` fill them in.
    """

    def __init__(self, key: str, /, *, code: int = USAGE, **args: object) -> None:
        super().__init__(key)
        self.key = key
        self.code = code
        self.args_told = args

    def __str__(self) -> str:
        return self.text()

    def text(self, lang: str = "en") -> str:
        """Return it as shown on stderr, in ``lang`` ("en" or "zh")."""
        from noonmark.core.shown import shown
        from noonmark.faces.cli.trouble_words import TROUBLES

        args = self.args_told
        if lang == "zh":
            from noonmark.core.errors_zh import in_chinese

            args = {name: in_chinese(value) if isinstance(value, str) else value for name, value in args.items()}
        what, *more = (part.format(**args).rstrip() for part in TROUBLES[self.key][lang == "zh"])
        lines = [line for part in more for line in part.splitlines() if line]
        return shown("\n".join([f"noonmark: {what}", *(f"        {line}" for line in lines)]))
