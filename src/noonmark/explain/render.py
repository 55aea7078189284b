"""Explanations and reports as text for people and as JSON for programs.

Rule of the file: formatting only.  The JSON is versioned: within ``v`` 1 a field is added, never renamed or retyped.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence
from typing import Any

from noonmark.core import times
from noonmark.core.model import Micros
from noonmark.core.shown import one_line, redacted, shown_line
from noonmark.core.told import Told, joined, key_told
from noonmark.explain import check_words, ended
from noonmark.explain.explanation import Explanation, Shown
from noonmark.explain.messages import message

JSON_VERSION = 1

MARKS: dict[bool | None, str] = {True: "✔", False: "✖", None: "-"}
ASCII_MARKS: dict[bool | None, str] = {True: "ok", False: "no", None: "- "}
_NAMES_ZH = {
    "schedule": "时间表",
    "paused": "暂停",
    "guard": "日历",
    "window": "时间窗",
    "limit": "补跑期限",
    "duplicate": "去重",
    "dependency": "依赖",
    "overlap": "重叠",
    "lock": "外部锁",
    "rollback": "存储回退",
    "lease": "租约",
}
_SILENT = frozenset({"limit", "dependency", "overlap", "guard", "paused"})
"""Checks that are left out of the text when the rule does not ask for them; the JSON has them all."""


def explanation_text(told: Explanation, *, unicode: bool = True) -> Told:
    """Return an explanation as text: the sentence, the checks, the attempts, what to do."""
    lines: list[str] = [shown_line(told.sentence)]
    head = _headline(told)
    shown = [check for check in told.checks if not _is_silent(check)]
    marks = MARKS if unicode else ASCII_MARKS
    lines += check_lines(
        [(c.name, c.ok, c.wanted, check_words.placed(c.seen, c.zone)) for c in shown], told.lang, marks
    )
    lines.extend(Told(f"    {shown_line(line)}") for line in told.run_lines)
    lines.extend(Told(f"  {shown_line(line)}") for line in told.lines)
    lines.append(Told(f"  {one_line(head)}"))
    if told.remedy:
        lines.append(message("what_to_do", told.lang, remedy=told.remedy))
    lines.extend(Told(f"  {redacted(command)}") for command in told.commands)
    return joined(lines)


def check_lines(
    checks: Sequence[tuple[str, bool | None, str, str]], lang: str, marks: Mapping[bool | None, str]
) -> list[Told]:
    """Return checks (name, passed, wanted, seen) as aligned lines in people's words."""
    rows = [
        (
            one_line(_name(name, lang)),
            shown_line(check_words.told(name, wanted, lang)),
            shown_line(check_words.told(name, seen, lang)),
        )
        for name, _, wanted, seen in checks
    ]
    widths = [max((width(row[column]) for row in rows if width(row[column]) <= 40), default=0) for column in (0, 1)]
    return [
        Told(f"  {marks[passed]} {pad(row[0], widths[0])}  {pad(row[1], widths[1])}  {row[2]}".rstrip())
        for (_, passed, _, _), row in zip(checks, rows, strict=True)
    ]


def explanation_json(told: Explanation) -> dict[str, Any]:
    """Return an explanation as a versioned, JSON-safe object."""
    return {
        "v": JSON_VERSION,
        "job": told.job,
        "id": told.occurrence_id,
        "occurrence": stamp(told.scheduled_for, told.zone),
        "subject": told.subject,
        "business_date": told.business_date,
        "key": key_told(told.job, told.key),
        "outcome": told.outcome,
        "state": told.state,
        "decision": told.verdict,
        "final": told.final,
        "code": told.code,
        "sentence": told.sentence,
        "rule_version": told.revision,
        "revision": told.revision,
        "looks": None
        if told.looks is None
        else {
            "count": told.looks.count,
            "first": stamp(told.looks.first, told.zone),
            "last": stamp(told.looks.last, told.zone),
        },
        "decided_by": told.decided_by,
        "clock": "store",
        "now": stamp(told.now, told.zone),
        "checks": [
            {"name": check.name, "ok": check.ok, "wanted": check.wanted, "seen": check.seen} for check in told.checks
        ],
        "runs": [
            {
                "attempt": run.number,
                "worker": run.worker,
                "fence": run.fence,
                "started": stamp(run.started_at, told.zone),
                "ended": stamp(run.ended_at, told.zone),
                "outcome": run.outcome,
                "error": run.error,
            }
            for run in told.runs
        ],
        "lines": list(told.lines),
        "remedy": told.remedy,
        "commands": list(told.commands),
        "job_ended": ended.plain(told.job_ended, stamp(told.job_ended.at if told.job_ended else None, told.zone)),
    }


def stamp(us: Micros | None, zone: str) -> str | None:
    """Return an instant as ISO 8601 with its offset in ``zone``."""
    return times.local(times.told(us), zone).isoformat() if us is not None else None


def width(text: str) -> int:
    """Return how many terminal columns a text takes: Chinese characters take two."""
    return len(text) if text.isascii() else sum(map(_columns, text))


def _columns(char: str) -> int:
    if unicodedata.combining(char):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


def pad(text: str, columns: int) -> str:
    """Fill a text up with spaces to a number of terminal columns."""
    return text + " " * max(0, columns - width(text))


def cut(text: str, columns: int) -> str:
    """Return at most so many terminal columns of a text, ending in an ellipsis where something was left out.

    No more of it is read than is shown: a key may be millions of characters long.
    """
    fits = taken = 0
    for place, char in enumerate(text):
        taken += _columns(char)
        if taken < columns:
            fits = place + 1
        elif taken > columns:
            short = text[:fits].rstrip() + "…"
            return Told(short) if isinstance(text, Told) else short
    return text


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> Told:
    """Return aligned columns; the last one is not padded."""
    everything = [list(header), *[[shown_line(cell) for cell in row] for row in rows]]
    widths = [max(width(row[column]) for row in everything) for column in range(len(header))]
    return Told(
        "\n".join(
            "  ".join(
                cell if column == len(row) - 1 else pad(cell, widths[column]) for column, cell in enumerate(row)
            ).rstrip()
            for row in everything
        )
    )


def _headline(told: Explanation) -> Told:
    parts: list[str] = []
    if told.occurrence_id is not None:
        parts.append(Told(f"{told.job} r{told.occurrence_id}".lstrip()))
    if told.key:
        parts.append(message("head_key", told.lang, key=key_told(told.job, told.key)))
    if told.verdict:
        parts.append(told.verdict)
    if told.looks is not None:
        first, last = (times.clock_text(times.told(us), told.zone) for us in (told.looks.first, told.looks.last))
        key = "looks_many" if told.looks.count > 1 else "looks_one"
        looks = message(key, told.lang, count=told.looks.count, first=first, last=last)
        parts.append(message("head_looks", told.lang, looks=looks))
    if told.revision:
        parts.append(message("head_revision", told.lang, revision=told.revision))
    parts.append(message("head_zone", told.lang, zone=told.zone))
    return joined(parts, " · ")


def _name(name: str, lang: str) -> str:
    return _NAMES_ZH.get(name, name) if lang == "zh" else name


def _is_silent(check: Shown) -> bool:
    return check.ok is True and check.name in _SILENT and (not check.seen or check.name == "paused")
