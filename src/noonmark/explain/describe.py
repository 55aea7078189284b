"""A rule in plain words, English and Chinese.

Rule of the file: pure, and honest: an expression that has no short wording is shown as it was written.
"""

from __future__ import annotations

import re

from noonmark.core import phrasing, times
from noonmark.core.cronfields import ALIASES
from noonmark.core.model import At, Cron, Every, FlagSet, Job, Manual, OnEvent, Trigger, Window

_DAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_ZH_DAYS = dict(zip(_DAYS, "日一二三四五六", strict=True))


def trigger_text(trigger: Trigger, lang: str = "en") -> str:
    """Say when a job is due, with its zone where the zone matters."""
    words = rule_text(trigger, lang)
    if not isinstance(trigger, (Cron, At)):
        return words
    return f"{words}，{trigger.tz}" if lang == "zh" else f"{words} {trigger.tz}"


def rule_text(trigger: Trigger, lang: str = "en") -> str:
    """Say when a job is due, without its zone."""
    zh = lang == "zh"
    match trigger:
        case Cron():
            return cron_text(trigger.expression, lang)
        case Every():
            period = phrasing.length(trigger.period, lang)
            return f"每 {period}" if zh else f"every {period}"
        case At():
            shown = ", ".join(_moment(text, trigger.tz) for text in trigger.moments[:3])
            shown += " …" if len(trigger.moments) > 3 else ""
            return f"于 {shown}" if zh else f"at {shown}"
        case OnEvent():
            delay = phrasing.length(trigger.delay, lang) if trigger.delay else ""
            if zh:
                return f"事件 {trigger.name}" + (f" 之后 {delay}" if delay else "")
            return f"{delay} after event {trigger.name}" if delay else f"on event {trigger.name}"
        case Manual():
            return "由人或程序发起" if zh else "when asked"


def _moment(text: str, tz: str) -> str:
    """Return a listed moment as the local time it is."""
    us = times.parse_instant(text, tz)
    return f"{times.local_date(us, tz)} {times.clock_text(us, tz)}"


def trigger_source(trigger: Trigger, lang: str = "en") -> str:
    """Return the rule as written where it was written (a cron expression), else in words."""
    return trigger.expression if isinstance(trigger, Cron) else trigger_text(trigger, lang)


def cron_text(expression: str, lang: str = "en") -> str:
    """Say a cron expression in words if it has a short wording, else return it."""
    zh = lang == "zh"
    text = expression.strip()
    fields = ["*" if field == "?" else field for field in ALIASES.get(text.upper(), text).split()]
    if len(fields) == 6 and fields[0] == "0":
        fields = fields[1:]
    if len(fields) != 5:
        return expression
    minute, hour, day, month, weekday = (field.lower() for field in fields)
    if (day, month) != ("*", "*"):
        return expression
    if hour == "*" and weekday == "*":
        return _within_hour(minute, zh) or expression
    if not (re.fullmatch(r"\d{1,2}", minute) and re.fullmatch(r"\d{1,2}", hour)):
        return expression
    clock = f"{int(hour):02d}:{int(minute):02d}"
    if weekday == "*":
        return f"每天 {clock}" if zh else f"{clock} daily"
    days = _days_text(weekday, zh)
    if days is None:
        return expression
    return f"{days} {clock}" if zh else f"{clock} {days}"


def window_text(window: Window | None, lang: str = "en") -> str:
    """Say in which span of local time a start is allowed."""
    zh = lang == "zh"
    if window is None:
        return "不限" if zh else "always"
    if window.length is not None:
        length = phrasing.length(window.length, lang)
        return f"到期后 {length}内" if zh else f"{length} after the scheduled time"
    across = ("（跨午夜）" if zh else " (across midnight)") if window.crosses_midnight else ""
    return f"{window.start}-{window.end}{across}"


def conditions_text(job: Job, lang: str = "en") -> str:
    """Say what a job waits for."""
    zh = lang == "zh"
    if not job.depends_on:
        return "无" if zh else "nothing"
    words = []
    for condition in job.depends_on:
        if isinstance(condition, FlagSet):
            words.append(f"标志 {condition.flag}" if zh else f"flag {condition.flag}")
        else:
            words.append(
                f"{condition.job} 在 {condition.date} 成功"
                if zh
                else f"success of {condition.job} for {condition.date}"
            )
    return ", ".join(words)


def _within_hour(minute: str, zh: bool) -> str | None:
    if minute == "*":
        return "每分钟" if zh else "every minute"
    if step := re.fullmatch(r"(?:\*|0)/(\d{1,2})", minute):
        return f"每 {step[1]} 分钟" if zh else f"every {step[1]} min"
    if re.fullmatch(r"\d{1,2}", minute):
        return f"每小时 :{int(minute):02d}" if zh else f"hourly at :{int(minute):02d}"
    return None


def _days_text(field: str, zh: bool) -> str | None:
    parts = []
    for part in field.split(","):
        ends = [_day(end) for end in part.split("-")]
        if len(ends) > 2 or None in ends:
            return None
        names = [(_ZH_DAYS[day] if zh else day.capitalize()) for day in ends if day is not None]
        parts.append(("至" if zh else "–").join(f"周{name}" if zh else name for name in names))
    return ("、" if zh else ", ").join(parts)


def _day(text: str) -> str | None:
    if text in _DAYS:
        return text
    return _DAYS[int(text) % 7] if re.fullmatch(r"[0-7]", text) else None
