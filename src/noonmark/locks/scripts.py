"""The Lua scripts, each known by the digest under which a server remembers it.

Rule of the file: a script is sent by digest; a server that does not know it (restarted, failed over) is sent the text.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cache
from importlib import resources


@dataclass(frozen=True, slots=True)
class Script:
    """One script file."""

    text: str
    sha: str


@cache
def script(name: str) -> Script:
    """Return the script ``lua/NAME.lua``."""
    text = (resources.files("noonmark.locks") / "lua" / f"{name}.lua").read_text(encoding="utf-8")
    return Script(text=text, sha=hashlib.sha1(text.encode("utf-8"), usedforsecurity=False).hexdigest())
