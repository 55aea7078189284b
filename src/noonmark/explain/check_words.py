"""What a check wanted and saw, in people's words of a language.

Promise: the ledger and the JSON keep what ``decide`` wrote; only what is shown is worded here, so that checks recorded
by any version can be read in any language.  Rule of the file: a text without a pattern is shown as it stands.
"""

from __future__ import annotations

import re

from noonmark.core import phrasing

CHECKED: dict[tuple[str, str], tuple[str, str]] = {
    ("paused", "not paused"): ("not paused", "未暂停"),
    ("paused", "paused"): ("paused", "已暂停"),
    ("guard", "any day"): ("any day", "任何一天"),
    ("guard", "a weekday"): ("a weekday", "工作日"),
    ("window", "always"): ("always", "不限"),
    ("limit", "no limit"): ("no limit", "不限"),
    ("limit", "on time"): ("on time", "准时"),
    ("duplicate", "ours"): ("claimed by this one", "由本次占有"),
    ("duplicate", "free"): ("free", "空闲"),
    ("dependency", "nothing"): ("nothing", "无"),
    ("dependency", "all hold"): ("all hold", "全部满足"),
    ("dependency", "catch-up without data check"): ("not asked: a late start need not wait", "不检查：补跑不等数据"),
    ("rollback", "not run in what the store lost"): ("not run in what the store lost", "不在存储丢失的数据之中"),
    ("overlap", "any number at once"): ("any number at once", "不限"),
    ("overlap", "nobody in progress"): ("no other in progress", "没有其他在进行"),
    ("overlap", "nobody"): ("none", "没有"),
    ("lock", "asked at the start"): ("asked for when it starts", "开始时申请"),
    ("lock", "taken"): ("held by somebody else", "被他人持有"),
    ("lock", "no answer"): ("no answer", "无应答"),
}
_DAYS = frozenset(("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"))
_UNITS = {"ms": "毫秒", "s": "秒", "min": "分钟", "h": "小时", "d": "天"}


def zone_of(name: str, zone: str, readers: str) -> str:
    """Return the zone of a check's times of day, which are the job's; "" where it has none or they are the reader's."""
    return zone if name == "window" and zone != readers else ""


def placed(text: str, zone: str) -> str:
    """Return what was seen with the zone that its time of day is of, if it is one."""
    return f"{text} {zone}" if zone and re.fullmatch(r"\d\d:\d\d(:\d\d)?", text) else text


def told(name: str, text: str, lang: str) -> str:
    """Return what the check ``name`` wanted or saw, in ``lang`` ("en" or "zh")."""
    zh = lang == "zh"
    known = CHECKED.get((name, text))
    if known is not None:
        return known[zh]
    match name:
        case "guard" if text in _DAYS:
            return phrasing.day(text, lang)
        case "limit":
            return _limit(text, zh)
        case "rollback" if match_ := re.fullmatch(r"may have run before: rollback (\d+)", text):
            return f"可能已运行过（第 {match_[1]} 次回退）" if zh else text
        case "duplicate":
            return _duplicate(text, lang)
        case "lock":
            return _lock(text, zh)
        case "dependency":
            return ("、" if zh else ", ").join(_condition(part, zh) for part in text.split(", ")) if text else ""
    return text


def _lock(text: str, zh: bool) -> str:
    if match := re.fullmatch(r"ours, fence (\d+)", text):
        return f"已持有，fence {match[1]}" if zh else text
    name = text.removesuffix(" ours")
    return (f"持有 {name}" if zh else f"{name} held by us") if name != text else text


def _limit(text: str, zh: bool) -> str:
    match = re.fullmatch(r"(at most )?(.+) late", text)
    if match is None:
        return text
    length = re.sub(r"([\d.]+) (ms|s|min|h|d)\b", lambda m: f"{m[1]} {_UNITS[m[2]]}" if zh else m[0], match[2])
    if zh:
        return f"最多晚 {length}" if match[1] else f"晚 {length}"
    return text


def _duplicate(text: str, lang: str) -> str:
    zh = lang == "zh"
    if held := re.fullmatch(r"([A-Z_]+) by (r\d+)", text):
        state = phrasing.state(held[1], lang)
        return f"由 {held[2]} 占有（{state}）" if zh else f"held by {held[2]} ({state})"
    if wanted := re.fullmatch(r"(.*) (ours|free)", text):
        return f"键 {wanted[1]}" if zh else f"key {wanted[1]}"
    return text


def _condition(text: str, zh: bool) -> str:
    """One condition, or one that is not met."""
    unmet = text.endswith(" not set")
    text = text.removesuffix(" not set")
    if succeeded := re.fullmatch(r"(\S+) succeeded for (.+)", text):
        if zh:
            return f"{succeeded[1]} 在 {succeeded[2]} {'尚未成功' if unmet else '成功'}"
        return f"{succeeded[1]} has not succeeded for {succeeded[2]}" if unmet else text
    if zh:
        text = re.sub(r"^flag ", "标志 ", text)
        return f"{text} 未设置" if unmet else text
    return f"{text} not set" if unmet else text
