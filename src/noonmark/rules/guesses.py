"""What somebody means who writes a rule as another scheduler has it: the words that say it here.

Rule of the file: hints only, in English and Chinese; nothing that is guessed here is ever put into force.
"""

from __future__ import annotations

import json
import re
import shlex
from typing import Any

from noonmark.core import cron, durations, times

Hint = tuple[str, str]

_PAUSE = ("pause it while it is in force: noonmark pause JOB", "请在生效后暂停：noonmark pause 任务")
_LATER = ("not in this version; end it with noonmark end JOB", "此版本没有；到时请用 noonmark end 任务")
_SKIP = ("write overlap: skip, which is the default of schedules", "请写 overlap: skip（周期任务的默认值）")
_DELAY = ("write catch_up: {max_delay: ..}, for example 10m", "请写 catch_up: {max_delay: ..}，例如 10m")
_EVERY = ("write every: 5m", "请写 every: 5m")
_CRON = ('write cron: "0 9 * * MON" with tz:', '请写 cron: "0 9 * * MON" 和 tz:')
_EITHER = (
    'write cron: "0 9 * * MON" with tz:, or every: 5m; of several schedules each is a rule of its own',
    '请写 cron: "0 9 * * MON" 和 tz:，或 every: 5m；多个周期各写一条规则',
)
_FIELDS: dict[str, Hint] = {
    "concurrencypolicy": _SKIP,
    "maxinstances": _SKIP,
    "maxactiveruns": _SKIP,
    "coalesce": ("write catch_up: {missed: latest}, which is the default", "请写 catch_up: {missed: latest}（默认值）"),
    "misfiregracetime": _DELAY,
    "startingdeadlineseconds": _DELAY,
    "misfirepolicy": ("write catch_up: {missed: skip | latest | all}", "请写 catch_up: {missed: skip | latest | all}"),
    "backofflimit": ("write retry: {max: ..}", "请写 retry: {max: ..}"),
    "retries": ("write retry: {max: ..}", "请写 retry: {max: ..}"),
    "maxretries": ("write retry: {max: ..}", "请写 retry: {max: ..}"),
    "retrydelay": ("write retry: {base: ..}", "请写 retry: {base: ..}"),
    "activedeadlineseconds": ("write timeout: 10m", "请写 timeout: 10m"),
    "executiontimeout": ("write timeout: 10m", "请写 timeout: 10m"),
    "timelimit": ("write timeout: 10m", "请写 timeout: 10m"),
    "timeoutseconds": ("write timeout: 10m", "请写 timeout: 10m"),
    "fixedrate": _EVERY,
    "repeatevery": _EVERY,
    "everyms": _EVERY,
    "interval": _EVERY,
    "seconds": _EVERY,
    "minutes": _EVERY,
    "hours": _EVERY,
    "trigger": _EITHER,
    "triggers": _EITHER,
    "schedules": _EITHER,
    "scheduleinterval": _EITHER,
    "scheduleexpression": _EITHER,
    "oncalendar": _CRON,
    "cronschedule": _CRON,
    "cronexpression": _CRON,
    "rrule": _CRON,
    "crontab": _CRON,
    "minute": _CRON,
    "hour": _CRON,
    "dayofweek": _CRON,
    "dayofmonth": _CRON,
    "rundate": ('write at: "2026-12-01T09:00" with tz:', '请写 at: "2026-12-01T09:00" 和 tz:'),
    "until": _LATER,
    "enddate": _LATER,
    "startdate": ("not needed: a rule never runs its past", "不需要：规则从不补跑生效之前的时刻"),
    "enabled": _PAUSE,
    "disabled": _PAUSE,
    "suspend": _PAUSE,
    "paused": _PAUSE,
    "persistent": (
        "write catch_up: {missed: latest}, which is the default",
        "请写 catch_up: {missed: latest}（默认值）",
    ),
    "cwd": ("write it into the command, or run: module:function", "请写进命令，或用 run: 模块:函数"),
}
_VALUES: dict[tuple[str, str], str] = {
    ("overlap", "forbid"): "skip",
    ("overlap", "false"): "skip",
    ("overlap", "no"): "skip",
    ("overlap", "queue"): "queue_all",
    ("overlap", "wait"): "queue_all",
    ("overlap", "true"): "allow",
    ("overlap", "yes"): "allow",
    ("missed", "none"): "skip",
    ("missed", "false"): "skip",
    ("missed", "last"): "latest",
    ("missed", "true"): "latest",
    ("business_date", "today"): "same",
    ("business_date", "yesterday"): "previous_day",
}


def of_field(name: str) -> Hint | None:
    """Return how a field of another scheduler is written here; None when it is none that is known."""
    return _FIELDS.get(re.sub(r"[^a-z]", "", name.lower()))


def of_choice(field: str, value: object) -> str | None:
    """Return which of a field's choices a word of another scheduler is; None when it is none that is known."""
    return _VALUES.get((field, str(value).lower()))


def of_value(field: str, value: Any) -> Hint | None:
    """Return how a value of a wrong type is written in this field; None when nothing is known of it."""
    if field in ("tz", "timezone") and isinstance(value, int) and not isinstance(value, bool):
        from noonmark.core import zonenames  # rare, and it costs start-up time

        near = zonenames.meant(f"{value:+d}") or "UTC"
        return (
            f"write {near}, or the name of a city such as Asia/Shanghai",
            f"请写 {near}，或城市名称，如 Asia/Shanghai",
        )
    if field == "schedule" and isinstance(value, str):
        words, words_zh = _schedule(value)
        return f"write {words}", f"请写 {words_zh}"
    written = _written(field, value)
    return None if written is None else (f"write {written}", f"请写 {written}")


def _written(field: str, value: Any) -> str | None:
    if field == "schedule" and isinstance(value, (int, float)):
        return f"{{every: {value}s}} or {{every: {value}m}}"
    if field in ("schedule", "cron") and isinstance(value, list):
        return "one rule for each, under names of their own"
    if field in ("catch_up", "catchup") and isinstance(value, bool):
        return "{enabled: true}" if value else "{enabled: false}"
    if field == "retry" and isinstance(value, bool):
        return "{max: 0}" if not value else "{max: 4}"
    if field == "at" and isinstance(value, (int, float)):
        return '"2026-12-01T09:00", with tz:'
    if field == "command" and isinstance(value, str):
        return _command(value)
    if field == "window":
        return _window(value)
    return None


def _command(text: str) -> str:
    try:
        words = shlex.split(text)
    except ValueError:
        words = []
    signs = {"|", "&", ";", "<", ">", "$", "`", "\n", "*"}
    listed = ["sh", "-c", text] if not words or signs & set(text) else words
    shown = json.dumps(listed, ensure_ascii=False)
    return shown if len(shown) <= 120 else '["program", "argument"]'


def _window(value: Any) -> str | None:
    ends = (
        value
        if isinstance(value, list)
        else re.split(r"\s*(?:-|\.\.|to|,)\s*", value)
        if isinstance(value, str)
        else []
    )
    if len(ends) == 2 and all(re.fullmatch(r"\d{1,2}:\d\d", str(end)) for end in ends):
        start, end = (f"{end!s:0>5}" for end in ends)
        return f'{{start: "{start}", end: "{end}"{", crosses_midnight: true" if end < start else ""}}}'
    if isinstance(value, str) and _length(value):
        return f"{{length: {_length(value)}}}"
    return None


def _length(text: str) -> str:
    """Return a length of time as it is written here, empty when the text is none."""
    length = durations.length_meant(text)
    return durations.format_duration(durations.parse_duration(length)) if length else ""


def _schedule(text: str) -> Hint:
    """The words of a schedule that was written as one text."""
    if length := _length(text):
        again = f"{{every: {length}}}"
        if "every" in text.lower():
            return again, again
        return f'{again}; for once, ask in code: later("{length}")', f'{again}；只跑一次请在代码里用 later("{length}")'
    try:
        times.parse_instant(text, "UTC")
    except ValueError:
        pass
    else:
        return (f'{{at: "{text}", tz: ..}}',) * 2
    try:
        cron.parse_cron(text, "UTC")
    except ValueError:
        from noonmark.core import cronborrowed, crondialects  # rare, and it costs start-up time

        found = cronborrowed.meant(text)
        if found is not None and found.every:
            return (f"{{every: {found.every.replace(' with anchor:', ', anchor:')}}}",) * 2
        if found is not None and (written := crondialects.writable(found.cron)):
            return (f'{{cron: "{written}", tz: {found.tz or ".."}}}',) * 2
        usual = '{cron: "0 9 * * MON-FRI", tz: ..}, {every: 5m}, {at: "2026-12-01T09:00", tz: ..}'
        return f"{usual} or manual", f"{usual} 或 manual"
    return (f'{{cron: "{text}", tz: ..}}',) * 2
