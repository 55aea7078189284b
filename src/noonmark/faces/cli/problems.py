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

QUOTE_LIMIT = 4_000
"""Characters of one text that are told of it."""


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

    def parts(self, lang: str = "en") -> tuple[str, str, str]:
        """Return what is wrong, why, and what to do, in ``lang`` ("en" or "zh"); "" goes without saying."""
        from noonmark.core.told import Told, told
        from noonmark.faces.cli.trouble_words import TROUBLES

        args = {name: _cut(value) for name, value in self.args_told.items()}
        if lang == "zh":
            from noonmark.core.errors_zh import in_chinese

            args = {
                name: in_chinese(value) if isinstance(value, str) and not isinstance(value, Told) else value
                for name, value in args.items()
            }
        what, why, do = (Told(told(part, **args).rstrip()) for part in TROUBLES[self.key][lang == "zh"])
        return what, why, do

    def text(self, lang: str = "en") -> str:
        """Return it as shown on stderr, in ``lang`` ("en" or "zh")."""
        what, *more = self.parts(lang)
        lines = [line for part in more for line in part.splitlines() if line]
        from noonmark.core.shown import printable

        return printable("\n".join([f"noonmark: {what}", *(f"        {line}" for line in lines)]))

    def plain(self, lang: str = "en") -> dict[str, object]:
        """Return it as ``--json`` prints it, see ``docs/reference/cli.md``."""
        what, why, do = self.parts(lang)
        name = self.args_told.get("name") if self.key == "not_found" else None
        return {"code": str(name or self.key), "what": what, "why": why, "do": do, "exit": self.code}


def _cut(value: object) -> object:
    """What is quoted back is for a person to recognise, not to read through."""
    from noonmark.core.told import Told

    if not isinstance(value, str) or len(value) <= QUOTE_LIMIT:
        return value
    short = f"{value[:QUOTE_LIMIT]}…"
    return Told(short) if isinstance(value, Told) else short


def not_opened(url: str, error: ValueError) -> Trouble:
    """Return what is said about a store that cannot be opened as its URL stands: usage, or a driver is missing here.

    ``url`` is "" where only the store knows which it was.
    """
    from noonmark.ports.store import StoreDriverMissing

    if isinstance(error, StoreDriverMissing):
        needs, _, how = str(error).partition("; install it with: ")
        return Trouble("driver_missing", needs=needs, how=how, code=UNREACHABLE)
    return Trouble("no_open", url=url, error=str(error)) if url else Trouble("store_url", error=str(error))
