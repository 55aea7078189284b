"""Filling a sentence: values of a detail become words of a language.

Promise: nothing raises, and a sentence reads naturally whatever is missing: a part in [brackets] is left out unless all
of its values are known, and ``[a]|[b]`` takes the first part that is complete.  Rule of the file: local times come from
``core/times.py``, in the zone that is asked for.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

from noonmark.core import times
from noonmark.core.conditions import fact_subject
from noonmark.core.model import DAY, HOUR, MINUTE, SECOND
from noonmark.core.shown import Told, printable, redacted, written_out
from noonmark.core.told import NAMES

TEXT_LIMIT = 300

_PIECES = re.compile(r"(\[[^\[\]]*\](?:\|\[[^\[\]]*\])*)")
_FIELD = re.compile(r"\{(\w+)(?::(\w+))?\}")


def fill(template: str, detail: Mapping[str, Any], *, lang: str, zone: str, with_offset: bool = False) -> Told:
    """Return the sentence; ``zone`` is where instants are told, each ``with_offset`` if asked for, ``lang`` "en" or "zh"."""
    said: list[str] = []
    for choices in _split(template):
        for choice, optional in choices:
            text, complete = _filled(choice, detail, lang, zone, with_offset)
            if complete or not optional:
                said.append(text)
                break
    return Told("".join(said))


@lru_cache(maxsize=512)
def _split(template: str) -> tuple[tuple[tuple[str, bool], ...], ...]:
    """Split into pieces, each a row of alternatives and whether it may be left out."""
    pieces: list[tuple[tuple[str, bool], ...]] = []
    for piece in _PIECES.split(template):
        if piece.startswith("["):
            pieces.append(tuple((choice, True) for choice in piece[1:-1].split("]|[")))
        elif piece:
            pieces.append(((piece, False),))
    return tuple(pieces)


def _filled(text: str, detail: Mapping[str, Any], lang: str, zone: str, with_offset: bool) -> tuple[str, bool]:
    complete = True

    def word(match: re.Match[str]) -> str:
        nonlocal complete
        try:
            value = detail.get(match[1])
            if match[1] in NAMES and isinstance(value, str):
                value = Told(value)
            said = KINDS[match[2] or "text"](value, lang, zone)
            if with_offset and match[2] == "moment":
                said = f"{said} {times.offset_text(_micros(value), zone)}"
        except (ValueError, TypeError, OverflowError, ArithmeticError, LookupError, AttributeError):
            said = ""
        complete = complete and said != ""
        return said or "?"

    return _FIELD.sub(word, text), complete


# --- values as words -------------------------------------------------------------------------------


def _text(value: Any, _lang: str, _zone: str) -> str:
    # a job's text must not drive the terminal of whoever reads it: written out, it still tells what was there
    text = value if isinstance(value, str) else str(value)
    line = " ".join(printable(redacted(text)).split()) if value is not None else ""
    if not line.isprintable():
        line = "".join(sign if sign.isprintable() else written_out(sign) for sign in line)
    line = line if len(line) <= TEXT_LIMIT else f"{line[:TEXT_LIMIT]}…"
    return line.rstrip(".。")


def _moment(value: Any, lang: str, zone: str) -> str:
    us = _micros(value)
    if lang == "zh":
        return f"{times.local_date(us, zone)} {times.clock_text(us, zone)}"
    return times.stamp_text(us, zone).removesuffix(":00")


def length(us: int, lang: str) -> str:
    """Return a length of time (microseconds) in words of ``lang``, two units at most."""
    if lang != "zh":
        return times.length_text(us)
    if us < 0:
        return f"-{length(-us, lang)}"
    if us < SECOND:
        return f"{us // 1000} 毫秒"
    for size, unit, small, part in (
        (DAY, "天", HOUR, "小时"),
        (HOUR, "小时", MINUTE, "分钟"),
        (MINUTE, "分钟", SECOND, "秒"),
    ):
        if us >= size:
            rest = us % size // small
            return f"{us // size} {unit} {rest} {part}" if rest else f"{us // size} {unit}"
    return f"{us / SECOND:.1f} 秒" if us % SECOND >= SECOND // 10 else f"{us // SECOND} 秒"


def _length(value: Any, lang: str, _zone: str) -> str:
    return length(_micros(value), lang)


def _late(value: Any, lang: str, zone: str) -> str:
    """Less than a second is on time, and not worth a word."""
    return _length(value, lang, zone) if _micros(value) >= SECOND else ""


def _facts(value: Any, lang: str, _zone: str) -> str:
    names = [value] if isinstance(value, str) else list(value)
    told = [_fact(str(name), lang) for name in names[:5]]
    more = len(names) - len(told)
    if more:
        told.append(f"另 {more} 项" if lang == "zh" else f"{more} more")
    if lang == "zh":
        return "、".join(told)
    return " and ".join(told) if len(told) < 3 else f"{', '.join(told[:-1])} and {told[-1]}"


def _fact(name: str, lang: str) -> str:
    kind, subject, date = map(redacted, fact_subject(name))
    if kind == "success":
        return f"{subject} 在 {date} 的成功" if lang == "zh" else f"the success of {subject} for {date}"
    return f"标志 {subject}" if lang == "zh" else f"flag {subject}"


def _run(value: Any, _lang: str, _zone: str) -> str:
    return f"r{value}" if isinstance(value, int) and not isinstance(value, bool) else redacted(str(value or ""))


_DAYS = {
    "Mon": ("Monday", "周一"),
    "Tue": ("Tuesday", "周二"),
    "Wed": ("Wednesday", "周三"),
    "Thu": ("Thursday", "周四"),
    "Fri": ("Friday", "周五"),
    "Sat": ("Saturday", "周六"),
    "Sun": ("Sunday", "周日"),
}


def day(name: str, lang: str) -> str:
    """Return a day of the week in full; ``name`` is its English short form."""
    return _DAYS[name][lang == "zh"]


def _day(value: Any, lang: str, _zone: str) -> str:
    return day(value, lang)


STATES = {
    "PENDING": ("still waiting", "等待中"),
    "RUNNING": ("running", "运行中"),
    "SUCCESS": ("done", "已成功"),
    "FAILED_RETRYING": ("being retried", "重试中"),
    "FAILED_MANUAL": ("waiting for a person", "待人工处理"),
    "SKIPPED": ("skipped", "已跳过"),
    "CANCELLED": ("cancelled", "已取消"),
}


def state(value: object, lang: str) -> str:
    """Return a state in a word or two; one of a newer version by its name."""
    return STATES.get(str(value), (str(value), str(value)))[lang == "zh"]


def _state(value: Any, lang: str, _zone: str) -> str:
    return STATES[str(value)][lang == "zh"]


BECAUSE = {
    "flag_missing": ("data that it needs was not ready", "所需数据一直未就绪"),
    "dependency_missing": ("a job that it depends on had not succeeded", "所依赖的任务一直未成功"),
    "waiting_for_resume": ("the job was paused", "任务处于暂停"),
    "weekend_wait": ("it had to wait for a weekday", "须等到工作日"),
    "slot_wait": ("another round was in progress", "另一轮正在进行"),
    "lock_wait": ("somebody else held its lock", "其锁被他人持有"),
    "lock_away": ("its lock could not be asked for", "无法申请其锁"),
    "window_not_open": ("it had waited for the window to open", "此前在等窗口开放"),
    "failed_retry": ("it had failed and was waiting for its next try", "此前失败，正等待重试"),
    "lost": ("its worker had been lost", "运行它的 worker 已丢失"),
    "holder_alive": ("its worker had lost the lease", "运行它的 worker 失去了租约"),
    "held_rollback": ("it was held because the store had lost data", "因存储丢失数据而被扣住"),
    "handed_back": ("its worker had stopped", "运行它的 worker 已停止"),
    "handler_missing": ("no worker had the code for it", "没有 worker 有它的代码"),
    "job_ended": ("the job had been ended", "任务已终止"),
    "rule_unreadable": ("its rule could not be applied", "其规则无法应用"),
    "start_failed": ("it could not be started", "一直无法启动"),
}


def _because(value: Any, lang: str, _zone: str) -> str:
    return BECAUSE[value][lang == "zh"]


def _count(value: Any, lang: str, _zone: str) -> str:
    if int(value) < 0:
        return "超过 10,000" if lang == "zh" else "more than 10,000"
    return f"{int(value):,}"


def _times(value: Any, lang: str, _zone: str) -> str:
    count = int(value)
    if lang == "zh":
        return f"{count} 次"
    return {1: "once", 2: "twice"}.get(count, f"{count} times")


def _tries(value: Any, lang: str, _zone: str) -> str:
    count = int(value)
    return f"{count} 次" if lang == "zh" else f"{count} {'try' if count == 1 else 'tries'}"


def _bytes(value: Any, _lang: str, _zone: str) -> str:
    return f"{int(value) / 1024:,.1f} KiB"


def _micros(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise TypeError("an instant is a number of microseconds")
    return int(value)


KINDS: dict[str, Callable[[Any, str, str], str]] = {
    "text": _text,
    "moment": _moment,
    "length": _length,
    "late": _late,
    "facts": _facts,
    "run": _run,
    "day": _day,
    "state": _state,
    "because": _because,
    "count": _count,
    "times": _times,
    "tries": _tries,
    "bytes": _bytes,
}
