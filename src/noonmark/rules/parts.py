"""Human words become values: lengths, moments, triggers, windows, retries.

Rule of the file: nothing raises.  What cannot be read is told to ``say`` and stands in as a harmless value, so that all
mistakes of a rule are found in one go.  Files and decorators both come through here, which is why they agree.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Protocol, TypeAlias

from noonmark.core import durations, times
from noonmark.core.model import (
    MINUTE,
    SECOND,
    At,
    CatchUp,
    Condition,
    Every,
    FlagSet,
    LockRule,
    Micros,
    OnEvent,
    Retry,
    Succeeded,
    Window,
)

Path: TypeAlias = tuple[str | int, ...]
Length: TypeAlias = str | timedelta


class Say(Protocol):
    """Takes one problem of the field at ``path``."""

    def __call__(self, path: Path, code: str, /, **detail: Any) -> None: ...


def length(value: Length, path: Path, say: Say, *, instead: Micros = MINUTE) -> Micros:
    """Read a duration ("5m", "1h30m", "1800s", timedelta), in microseconds."""
    try:
        return durations.parse_duration(value)
    except (ValueError, TypeError) as error:
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            say(path, "duration_not_text", value=value)
        else:
            say(path, "bad_duration", value=str(value)[:60], error=str(error))
        return instead


def moment(value: str | datetime, tz: str, path: Path, say: Say) -> str:
    """Read a moment and write it the one way rules carry it: local ISO text in ``tz``, or ISO text with its offset.

    A local time keeps its zone instead of becoming an instant here: the zone's rules may change before it comes.
    """
    try:
        if not isinstance(value, (str, datetime)):
            raise ValueError("it is neither a text nor a datetime")
        if isinstance(value, str) and len(value.strip()) <= 10:
            raise ValueError("it has no time of day")
        if isinstance(value, str) and (zone := _zone_behind(value)):
            raise ValueError(f"the zone goes into its own field, tz: {zone}")
        when = datetime.fromisoformat(value.strip()) if isinstance(value, str) else value
    except (ValueError, OverflowError) as error:
        say(path, "bad_moment", value=str(value)[:60], error=str(error))
        return ""
    if when.tzinfo is not None:
        return when.astimezone(UTC).isoformat().replace("+00:00", "Z")
    if not tz:
        say(path, "at_without_tz", value=str(value))
        return ""
    return when.isoformat()


def _zone_behind(text: str) -> str:
    """Return the zone that stands behind a moment, empty where none does: it may be AM or PM."""
    match = re.search(r"\d\s+([A-Za-z_]+(?:/[A-Za-z0-9_+\-]+)*)\s*$", text)
    if match is None:
        return ""
    try:
        times.zone(match[1])
    except ValueError:
        from noonmark.core import zonenames  # rare, and it costs start-up time

        return zonenames.meant(match[1])
    return match[1]


def every(period: Length, anchor: str | datetime | None, tz: str, path: Path, say: Say) -> Every:
    """Read an interval; its grid begins at ``anchor`` (UTC midnight of 1970 if there is none)."""
    micros = length(period, (*path, "every"), say, instead=MINUTE)
    if not SECOND <= micros <= 366 * 86_400 * SECOND:
        say((*path, "every"), "bad_period", value=str(period), error="too short" if micros < SECOND else "too long")
        micros = MINUTE
    start = 0
    if anchor is not None:
        text = moment(anchor, tz, (*path, "anchor"), say)
        if text and _zone_is_known(tz):
            start = times.parse_instant(text, tz or None)
    return Every(period=micros, anchor=start, tz=tz or "UTC")


def at(moments: Iterable[str | datetime], tz: str, path: Path, say: Say) -> At:
    """Read a list of moments, in the order of the rule."""
    read: list[str] = []
    for index, value in enumerate(moments):
        text = moment(value, tz, (*path, "at", index), say)
        if text and text in read:
            say((*path, "at", index), "moment_twice", value=str(value))
        elif text:
            read.append(text)
    return At(moments=tuple(read), tz=tz or "UTC")


def on_event(name: str, delay: Length | None, tz: str, path: Path, say: Say) -> OnEvent:
    """Read an event trigger."""
    wait = 0 if delay is None else length(delay, (*path, "delay"), say, instead=0)
    return OnEvent(name=name, delay=wait, tz=tz or "UTC")


def _zone_is_known(tz: str) -> bool:
    try:
        times.zone(tz or "UTC")
    except ValueError:
        return False
    return True


def window(
    start: str | None, end: str | None, span: Length | None, crosses_midnight: bool, reason: str, path: Path, say: Say
) -> Window:
    """Read a window; what its times mean together is judged by ``checks.check_job``."""
    micros = None if span is None else length(span, (*path, "length"), say)
    return Window(start=start, end=end, length=micros, crosses_midnight=crosses_midnight, reason=reason)


def retry(fields: Mapping[str, Any], path: Path, say: Say) -> Retry:
    """Read retry words: max, base, factor, jitter, cap, and backoff for base..cap."""
    usual = Retry()
    base, cap = usual.base, usual.cap
    backoff = fields.get("backoff")
    if backoff is not None:
        for name in ("base", "cap"):
            if fields.get(name) is not None:
                say((*path, name), "said_twice", other="backoff")
        low, dots, high = str(backoff).partition("..")
        if not dots or not low.strip() or not high.strip():
            say((*path, "backoff"), "bad_backoff", value=str(backoff)[:60])
        else:
            base = length(low.strip(), (*path, "backoff"), say, instead=base)
            cap = length(high.strip(), (*path, "backoff"), say, instead=max(base, cap))
    elif fields.get("base") is not None:
        base = length(fields["base"], (*path, "base"), say, instead=base)
    if backoff is None:
        cap = max(cap, base) if fields.get("cap") is None else length(fields["cap"], (*path, "cap"), say, instead=cap)
    if cap < base:
        where = "backoff" if backoff is not None else "cap"
        words = {"cap": durations.format_duration(cap), "base": durations.format_duration(base)}
        say((*path, where), "cap_below_base", **words)
    factor = fields.get("factor")
    jitter = fields.get("jitter")
    return Retry(
        max=usual.max if fields.get("max") is None else int(fields["max"]),
        base=base,
        factor=usual.factor if factor is None or not math.isfinite(factor) else float(factor),
        jitter=usual.jitter if jitter is None else length(jitter, (*path, "jitter"), say, instead=0),
        cap=cap,
    )


def catch_up(fields: Mapping[str, Any], path: Path, say: Say) -> CatchUp:
    """Read catch-up words: missed, max_delay, recheck, only_if_data_ready, enabled, reason."""
    usual = CatchUp()
    missed, enabled = fields.get("missed"), fields.get("enabled")
    if enabled is False:
        if missed not in (None, "skip"):
            say((*path, "missed"), "missed_contradiction", value=missed)
        missed = "skip"
    max_delay, recheck = fields.get("max_delay"), fields.get("recheck")
    often = usual.recheck if recheck is None else length(recheck, (*path, "recheck"), say, instead=usual.recheck)
    if often < SECOND:
        say((*path, "recheck"), "too_short", value=str(recheck), error="it would keep the store busy", least="1s")
    limit = None if max_delay is None else length(max_delay, (*path, "max_delay"), say)
    if limit is not None and limit < SECOND:
        error = "every start would be too late; missed: skip runs nothing late"
        say((*path, "max_delay"), "too_short", value=str(max_delay), error=error, least="1s")
    return CatchUp(
        missed=missed or usual.missed,
        max_delay=limit,
        only_if_data_ready=bool(fields.get("only_if_data_ready", usual.only_if_data_ready)),
        recheck=often,
        reason=str(fields.get("reason") or ""),
    )


def lock(fields: Mapping[str, Any], path: Path, say: Say) -> LockRule:
    """Read lock words: name, kind, at, busy, ttl, reason; what they mean together is judged by ``checks.check_job``."""
    ttl = fields.get("ttl")
    usual = LockRule(name="")
    return LockRule(
        name=str(fields.get("name") or ""),
        kind=str(fields.get("kind") or ""),
        at=str(fields.get("at") or ""),
        busy=fields.get("busy"),
        ttl=usual.ttl if ttl is None else length(ttl, (*path, "ttl"), say, instead=usual.ttl),
        reason=str(fields.get("reason") or ""),
    )


def condition(fields: Mapping[str, Any], path: Path, say: Say) -> Condition | None:
    """Read one condition: {flag, date, reason} or {success, date, reason}."""
    flag, job, date = fields.get("flag"), fields.get("success"), fields.get("date")
    reason = str(fields.get("reason") or "")
    if (flag is None) == (job is None):
        say(path, "bad_condition", count=0 if flag is None else 2)
        return None
    if job is not None:
        return Succeeded(job=str(job), reason=reason, **({} if date is None else {"date": str(date)}))
    return FlagSet(flag=str(flag) if date is None else f"{flag}:{date}", reason=reason)
