"""The words of a decorator: triggers, windows, conditions, retries, as people say them.

Rule of the file: every function takes human words ("5m", "18:30", a datetime) and returns a value of ``core.model``;
the same words in ``noonmark.yaml`` give the same value.  What cannot be read is refused at once, at the caller's line.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, TypeVar

from noonmark.core import model
from noonmark.rules import parts
from noonmark.rules.problems import Place, Problem, ProblemList

_Value = TypeVar("_Value")


def _read(word: str, read: Callable[[parts.Say], _Value]) -> _Value:
    """Call a reader and raise what it says, at the line of whoever called noonmark."""
    problems: list[Problem] = []

    def say(path: parts.Path, code: str, /, **detail: Any) -> None:
        spelled = ".".join([word, *(str(part) for part in path)])
        problems.append(Problem(code=code, place=caller(), path=spelled, detail=detail))

    value = read(say)
    if problems:
        raise ProblemList(problems)
    return value


def caller() -> Place:
    """Return the line outside noonmark that is being executed."""
    frame = sys._getframe(1)
    while frame.f_back is not None and str(frame.f_globals.get("__name__", "")).partition(".")[0] == "noonmark":
        frame = frame.f_back
    return Place(file=frame.f_code.co_filename, line=frame.f_lineno, column=1)


if TYPE_CHECKING:

    def cron(expression: str, *, tz: str) -> model.Cron:
        """Due at the times of a cron expression (5 fields: minute hour day month weekday), in the zone ``tz``.

        Args:
            expression: weekday names are preferred (``mon-fri``); 0 and 7 are Sunday.
            tz: IANA name, required: the machine's own zone changes with the machine.
        """
        ...

else:

    def cron(expression, *, tz=""):
        """Due at the times of a cron expression in ``tz``; the decorator refuses a missing zone, with a remedy."""
        return model.Cron(expression=str(expression).strip(), tz=tz)


def every(period: parts.Length, *, anchor: str | datetime | None = None, tz: str = "UTC") -> model.Every:
    """Due on a fixed grid.

    Args:
        period: "5m", "1h30m" or a timedelta, at least one second.
        anchor: a moment on the grid; left out, the grid begins at midnight UTC.
        tz: zone in which dates and windows of the job are read.
    """
    return _read("every", lambda say: parts.every(period, anchor, tz, (), say))


def at(*moments: str | datetime, tz: str = "") -> model.At:
    """Due once at each of these moments.

    Args:
        moments: aware datetimes, ISO texts with an offset, or local ISO texts in ``tz``.
        tz: zone of local moments, and of the job's dates and windows; left out, UTC for the latter.
    """
    return _read("at", lambda say: parts.at(moments, tz, (), say))


def on_event(name: str, *, delay: parts.Length | None = None, tz: str = "UTC") -> model.OnEvent:
    """Due ``delay`` after each event of this name; an event id delivered twice counts once."""
    return _read("on_event", lambda say: parts.on_event(name, delay, tz, (), say))


def manual(*, tz: str = "UTC") -> model.Manual:
    """Due only when somebody asks: ``later``, ``at``, ``run_now``, ``noonmark run``."""
    return model.Manual(tz=tz)


def ready(flag: str, *, date: str | None = None, reason: str = "") -> model.FlagSet:
    """Condition: the flag is set.

    Args:
        flag: its name; a template such as ``daily_etl.finished_{business_date}``.
        date: a date template that is appended after a colon.
        reason: why the job waits for it.
    """
    return model.FlagSet(flag=flag if date is None else f"{flag}:{date}", reason=reason)


def succeeded(job: str, *, date: str | None = None, reason: str = "") -> model.Succeeded:
    """Condition: another job has succeeded, for the same business date unless ``date`` (a template) says otherwise."""
    return (
        model.Succeeded(job=job, reason=reason) if date is None else model.Succeeded(job=job, date=date, reason=reason)
    )


def Window(  # noqa: N802 - reads as the value it makes
    start: str | None = None,
    end: str | None = None,
    *,
    length: parts.Length | None = None,
    crosses_midnight: bool = False,
    reason: str = "",
) -> model.Window:
    """Local span in which a start is allowed: ``start <= t < end``, or a ``length`` after the scheduled time."""
    return _read("Window", lambda say: parts.window(start, end, length, crosses_midnight, reason, (), say))


def Guardrails(*, allow_weekend: bool = True, reason: str = "") -> model.Guardrails:  # noqa: N802
    """Calendar guards: with ``allow_weekend`` False nothing starts on a local Saturday or Sunday."""
    return model.Guardrails(allow_weekend=allow_weekend, reason=reason)


def Retry(  # noqa: N802
    max: int | None = None,  # noqa: A002 - the word of the rules file
    *,
    backoff: str | None = None,
    base: parts.Length | None = None,
    factor: float | None = None,
    jitter: parts.Length | None = None,
    cap: parts.Length | None = None,
) -> model.Retry:
    """Retries: ``max`` counts them, so 4 means five attempts.

    Args:
        max: retries after the first attempt; left out, 4.
        backoff: first and longest wait in one, "30s..10m".
        base: first wait.
        factor: each wait is this much longer.
        jitter: up to this much is added at random.
        cap: longest wait.
    """
    words = {"max": max, "backoff": backoff, "base": base, "factor": factor, "jitter": jitter, "cap": cap}

    def read(say: parts.Say) -> model.Retry:
        for name, value, least, most in (("max", max, 0, 1000), ("factor", factor, 1, 100)):
            if value is not None and not least <= value <= most:
                say((name,), "out_of_range", value=value, error=f"from {least} to {most}")
        return parts.retry(words, (), say)

    return _read("Retry", read)


def CatchUp(  # noqa: N802
    missed: str | None = None,
    *,
    max_delay: parts.Length | None = None,
    recheck: parts.Length | None = None,
    only_if_data_ready: bool = True,
    enabled: bool | None = None,
    reason: str = "",
) -> model.CatchUp:
    """What becomes of missed moments.

    Args:
        missed: ``latest`` (default), ``all`` or ``skip``.
        max_delay: latest first start after the scheduled time.
        recheck: how often unmet conditions are looked at again; left out, 5 minutes.
        only_if_data_ready: conditions are checked for late starts, too.
        enabled: False is the same as ``missed="skip"``.
        reason: why these limits.
    """
    words = {
        "missed": missed, "max_delay": max_delay, "recheck": recheck, "only_if_data_ready": only_if_data_ready,
        "enabled": enabled, "reason": reason,
    }  # fmt: skip

    def read(say: parts.Say) -> model.CatchUp:
        if missed not in (None, "skip", "latest", "all"):
            say(
                ("missed",),
                "bad_choice",
                value=missed,
                choices="skip, latest, all",
                hint="choose one of them",
                hint_zh="请选择其一",
            )
            return model.CatchUp()
        return parts.catch_up(words, (), say)

    return _read("CatchUp", read)


def micros(value: parts.Length, word: str) -> model.Micros:
    """Read one duration, refusing what cannot be read at the caller's line."""
    return _read(word, lambda say: parts.length(value, (), say))


def seconds(value: model.Micros) -> timedelta:
    """Return a duration as people's code knows it."""
    return timedelta(microseconds=value)
