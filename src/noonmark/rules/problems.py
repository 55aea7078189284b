"""What is wrong with a rule, where, why it matters and what to do about it.

Rule of the file: a problem is a code with arguments; its sentences are in ``messages.py``, in English and Chinese.
Files and decorators report through the same values, so the same mistake reads the same wherever it was made.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field, replace
from typing import Any

from noonmark.core.shown import Told, is_secret_name, redacted, redacted_value
from noonmark.core.values import dataclass
from noonmark.rules.messages import MESSAGES

SHOWN_AT_ONCE = 50
"""A generated file may be wrong in thousands of places; more than this many lines help nobody."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where it is written: file (or another name of the source), line and column counted from 1, 0 = the whole file."""

    file: str = ""
    line: int = 0
    column: int = 0

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}" if self.line else self.file


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """One thing that is wrong, or (from ``findings``) that a person should look at."""

    code: str
    place: Place = Place()
    path: str = ""  # "jobs.daily-digest.window.end", as the writer spelled it
    job: str = ""
    detail: Mapping[str, Any] = field(default_factory=dict)

    def what(self, lang: str = "en") -> str:
        """Return what is wrong, in ``lang`` (en or zh)."""
        return self._say("what", lang)

    def why(self, lang: str = "en") -> str:
        """Return why that is refused; empty where it goes without saying."""
        return self._say("why", lang)

    def remedy(self, lang: str = "en") -> str:
        """Return what to do."""
        return self._say("remedy", lang)

    def text(self, lang: str = "en") -> str:
        """Return the whole problem on one line: place, field path, what, why, what to do."""
        head = f"{self.place}  " if str(self.place) else ""
        path = f"{self.path}: " if self.path else ""
        end, between = ("。", "；") if lang == "zh" else (".", "; ")
        parts = [part for part in (self.what(lang), self.why(lang), self.remedy(lang)) if part]
        sentence = between.join(parts)
        return f"{head}{path}{sentence}{'' if sentence.endswith(('?', '？', '.', '。')) else end}"

    def shown(self, lang: str = "en") -> str:
        """Return the whole problem on one line for people, where what it quotes gives away no secret."""
        if any(map(is_secret_name, self.path.split(".")[2:])):  # what is quoted is the value of that name
            return redacted(self.text(lang))
        return Told(replace(self, detail=redacted_value(dict(self.detail))).text(lang))

    def __str__(self) -> str:
        return self.text()

    def _say(self, part: str, lang: str) -> str:
        template: str = getattr(MESSAGES[self.code], f"{part}_{'zh' if lang == 'zh' else 'en'}")
        detail = dict(self.detail)
        if lang == "zh":
            from noonmark.core.errors_zh import in_chinese  # only on the way to an error

            detail |= {name: in_chinese(said) for name in _SAID if isinstance(said := detail.get(name), str)}
        return template.format_map(_Words(detail))


_SAID = ("error", "ago", "length")
"""Arguments that are said in words, where others are names and values."""


class _Words(dict[str, Any]):
    """Arguments of a sentence; a missing one must not turn one user error into two."""

    def __missing__(self, name: str) -> str:
        return f"({name})"


class ProblemList(ValueError):
    """Rules were refused; carries every problem found, in the order in which they are written."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__(self.text())

    def text(self, lang: str = "en") -> str:
        """Return one line per problem, at most ``SHOWN_AT_ONCE`` of them."""
        return self._lines([problem.text(lang) for problem in self.problems[:SHOWN_AT_ONCE]], lang)

    def shown(self, lang: str = "en") -> str:
        """Return the same for people, where what is quoted gives away no secret."""
        return Told(self._lines([problem.shown(lang) for problem in self.problems[:SHOWN_AT_ONCE]], lang))

    def _lines(self, lines: list[str], lang: str) -> str:
        more = len(self.problems) - SHOWN_AT_ONCE
        if more > 0:
            lines.append(f"……另有 {more} 处" if lang == "zh" else f"... and {more} more")
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.text()

    def __reduce__(self) -> tuple[type[ProblemList], tuple[tuple[Problem, ...]]]:
        return (ProblemList, (self.problems,))
