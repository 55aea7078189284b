"""One shape out of many: aliases, flat and nested spellings become the canonical fields.

Rule of the file: values move, they are not judged; each keeps the mark and the path of where it was written, so that
an error about ``catch_up.max_delay`` still points at the ``max_delay_min`` somebody typed.
"""

from __future__ import annotations

from typing import Any, Protocol

from noonmark.rules.source import got, wanted
from noonmark.rules.tree import Map, Mark, Plain, Seq

TRIGGERS = ("cron", "every", "at", "event", "manual")
SCHEDULE_FIELDS = frozenset({*TRIGGERS, "tz", "anchor", "delay"})

JOB_ALIASES = {"timezone": "tz", "dedupe_key": "key", "catchup": "catch_up"}
SCHEDULE_ALIASES = {"timezone": "tz"}
RETRY_ALIASES = {"max_attempts": "max"}
FLAT_WINDOW = {"window_start": "start", "window_end": "end", "execution_window": "length"}


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


LATER_JOB = _names(
    "http agent pool pools budget alerts calendar blackout blackouts rate rate_limit concurrency priority queue tags "
    "sla "
    "expected_by spread approve approval shadow env secrets probe probes locked dst holidays skip_dates tests webhook "
    "on_failure on_success rerun ping"
)
LATER_GUARDRAILS = _names(
    "calendar holidays blackout blackouts pool pools rate rate_limit budget max_concurrency workdays"
)
LATER_CONDITIONS = _names("http probe file sql command check age max_age timeout")
LATER_CATCH_UP = _names("spread blackout max_cost max_runs order pool")
LATER_SCHEDULE = _names("calendar holidays dst jitter until from start end count")
LATER_TOP = _names("pools budgets calendars alerts policies blackouts namespace locks holidays include owners")
LATER_VALUES = {"overlap": ("queue_one", "cancel_previous")}


class Report(Protocol):
    """Takes one problem at a mark."""

    def __call__(self, code: str, mark: Mark, /, **detail: Any) -> None: ...


def normalise_job(job: Map, report: Report) -> Map:
    """Bring one job (or the defaults) into the canonical shape, in place, and return it."""
    rename(job, JOB_ALIASES, report)
    refuse_later(job, LATER_JOB, report)
    _gather_schedule(job, report)
    _gather_window(job, report)
    _move(job, {"allow_weekend": "allow_weekend"}, "guardrails", report)
    _gather_retry(job)
    for name, inside in (("catch_up", _catch_up), ("retry", _retry), ("guardrails", _guardrails), ("window", _window)):
        part = job.get(name)
        if isinstance(part, Map):
            inside(part, report)
    _gather_limit(job, report)
    _conditions(job, report)
    _lock(job, report)
    for name, later in LATER_VALUES.items():
        if job.get(name) in later:
            value, mark = job.drop(name)
            report("later_value", mark, value=value, choices="skip, allow")
    drop_nothings(job, report, keep=frozenset({"window"}))
    return job


def _lock(job: Map, report: Report) -> None:
    """A lock that is text alone is its name."""
    lock = job.get("lock")
    if isinstance(lock, str):
        mark = job.mark_of("lock")
        whole = Map(mark)
        whole.put("name", lock, mark)
        job.put("lock", whole, mark)
    elif isinstance(lock, Map):
        drop_nothings(lock, report)


def rename(fields: Map, aliases: dict[str, str], report: Report) -> None:
    """Move aliases to their canonical names."""
    for alias, name in aliases.items():
        if alias in fields:
            value, mark = fields.drop(alias)
            _put(fields, name, value, mark, report)


def refuse_later(fields: Map, later: frozenset[str], report: Report) -> None:
    """Take out the fields of the later rule language, saying so."""
    for name in [name for name in fields if name in later]:
        _, mark = fields.drop(name)
        report("later_field", at_name(mark))


def drop_nothings(fields: Map, report: Report, *, keep: frozenset[str] = frozenset()) -> None:
    """Take out names without a value: an empty line is a slip, except where none is a value."""
    for name in [name for name, value in fields.items() if value is None and name not in keep]:
        _, mark = fields.drop(name)
        report("no_value", at_name(mark))


def at_name(mark: Mark) -> Mark:
    """Return the mark of the name instead of the value."""
    return Mark(mark.name_line or mark.line, mark.name_column or mark.column, mark.path)


def _put(fields: Map, name: str, value: Any, mark: Mark, report: Report) -> None:
    if name in fields:
        report("said_twice", at_name(mark), other=fields.marks[name].path)
        return
    fields.put(name, value, mark)


def _inner(job: Map, name: str, mark: Mark) -> Map | None:
    """Return the mapping of that name, made if it is not there; None where something else stands in its place."""
    if name not in job:
        job.put(name, Map(mark), mark)
    part = job[name]
    return part if isinstance(part, Map) else None


def _put_inside(job: Map, into: str, name: str, value: Any, mark: Mark, report: Report) -> None:
    part = _inner(job, into, mark)
    if part is not None:
        _put(part, name, value, mark, report)
    elif job[into] is None:  # anything else in its place is of a wrong type, which is said by itself
        report("said_twice", at_name(mark), other=job.mark_of(into).path)


def _move(job: Map, names: dict[str, str], into: str, report: Report) -> None:
    for alias, name in names.items():
        if alias not in job:
            continue
        value, mark = job.drop(alias)
        _put_inside(job, into, name, value, mark, report)


def _gather_schedule(job: Map, report: Report) -> None:
    schedule = job.get("schedule")
    if isinstance(schedule, str) and schedule == "manual":
        mark = job.mark_of("schedule")
        whole = Map(mark)
        whole.put("manual", True, mark)
        job.put("schedule", whole, mark)
    if isinstance(schedule, Map):
        rename(schedule, SCHEDULE_ALIASES, report)
        refuse_later(schedule, LATER_SCHEDULE, report)
        drop_nothings(schedule, report)
    _move(job, {name: name for name in (*TRIGGERS, "tz", "anchor", "delay")}, "schedule", report)
    chosen = job.get("schedule")
    if isinstance(chosen, Map) and isinstance(chosen.get("at"), str):
        value, mark = chosen.drop("at")
        moments = Seq(mark)
        moments.put(value, mark)
        chosen.put("at", moments, mark)


def _gather_retry(job: Map) -> None:
    """``retry: 5`` is ``retry: {max: 5}``, as in code."""
    count = job.get("retry")
    if isinstance(count, int) and not isinstance(count, bool):
        mark = job.marks["retry"]
        part = Map(mark)
        part.put("max", count, mark)
        job.put("retry", part, mark)


def _gather_window(job: Map, report: Report) -> None:
    _move(job, FLAT_WINDOW, "window", report)
    guardrails = job.get("guardrails")
    if isinstance(guardrails, Map):
        for alias, name in FLAT_WINDOW.items():
            if alias in guardrails:
                value, mark = guardrails.drop(alias)
                _put_inside(job, "window", name, value, mark, report)


def _gather_limit(job: Map, report: Report) -> None:
    for name in ("max_delay_min", "max_delay"):
        if name in job:
            value, mark = job.drop(name)
            delay = _minutes(value, mark, report) if name == "max_delay_min" else value
            _put_inside(job, "catch_up", "max_delay", delay, mark, report)


def _window(part: Map, report: Report) -> None:
    drop_nothings(part, report)
    for name in ("start", "end"):
        value = part.get(name)
        if isinstance(value, Plain) and value[:1].isdigit():
            report("time_not_quoted", part.marks[name], value=value, suggestion=_clock(value))
        elif isinstance(value, (int, float)) and not isinstance(value, bool):
            _, mark = part.drop(name)
            report("time_not_quoted", mark, value=value, suggestion=_clock(value))
            part.put(name, _clock(value), mark)  # judged no further: one mistake, one message


def _clock(value: str | float) -> str:
    """Guess the time somebody meant: 1110 is what YAML 1.1 makes of 18:30, 1830 is what people type."""
    if isinstance(value, str):
        return value
    if isinstance(value, float) or value < 0:
        return "18:30"
    hour, minute = divmod(value, 60) if 24 <= value < 1440 else (value, 0) if value < 24 else divmod(value, 100)
    return f"{hour:02d}:{minute:02d}" if hour < 24 and minute < 60 else "18:30"


def _catch_up(part: Map, report: Report) -> None:
    refuse_later(part, LATER_CATCH_UP, report)
    if "max_delay_min" in part:
        value, mark = part.drop("max_delay_min")
        _put(part, "max_delay", _minutes(value, mark, report), mark, report)
    drop_nothings(part, report)


def _minutes(value: Any, mark: Mark, report: Report) -> str:
    """``max_delay_min: 120`` carries its unit in its name, so here a bare number is right."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value < 10_000_000:
        hint = "write the minutes as a number: 120"
        report("wrong_type", mark, **wanted("number"), **got(value), hint=hint, hint_zh="请写分钟数，例如 120")
        return "1m"
    return f"{value}m" if isinstance(value, int) else f"{round(value * 60)}s"


def _retry(part: Map, report: Report) -> None:
    rename(part, RETRY_ALIASES, report)
    drop_nothings(part, report)


def _guardrails(part: Map, report: Report) -> None:
    refuse_later(part, LATER_GUARDRAILS, report)
    drop_nothings(part, report)


def _conditions(job: Map, report: Report) -> None:
    """A bare text is a flag; a single condition may stand without its list."""
    value = job.get("depends_on")
    if isinstance(value, (str, Map)):
        mark = job.marks["depends_on"]
        alone = Seq(mark)
        alone.put(value, mark)
        job.put("depends_on", alone, mark)
    conditions = job.get("depends_on")
    if not isinstance(conditions, Seq):
        return
    for index in reversed(range(len(conditions))):
        item, mark = conditions[index], conditions.marks[index]
        if isinstance(item, str):
            flag = Map(mark)
            flag.put("flag", item, mark)
            conditions[index] = flag
        elif isinstance(item, Map):
            written = bool(item)
            refuse_later(item, LATER_CONDITIONS, report)
            drop_nothings(item, report)
            if written and not item:  # said already; that nothing is left of it is no second mistake
                del conditions[index], conditions.marks[index]


def merge_defaults(job: Map, defaults: Map) -> None:
    """Give the job what it does not say itself; retry, catch_up and the zone are filled in field by field."""
    for name, value in defaults.items():
        mark = defaults.marks[name]
        if name == "schedule":
            part = job.get("schedule")
            if isinstance(part, Map) and isinstance(value, Map) and "tz" in value and "tz" not in part:
                part.put("tz", value["tz"], value.marks["tz"])
        elif name not in job:
            job.put(name, value, mark)
        elif name in ("retry", "catch_up") and isinstance(job[name], Map) and isinstance(value, Map):
            for inner, inner_value in value.items():
                if inner not in job[name] and not _excluded(inner, job[name]):
                    job[name].put(inner, inner_value, value.marks[inner])


_EXCLUDES: dict[str, tuple[str, ...]] = {
    "backoff": ("base", "cap"),
    "base": ("backoff",),
    "cap": ("backoff",),
    "enabled": ("missed",),
    "missed": ("enabled",),
}


def _excluded(name: str, part: Map) -> bool:
    """True when the job says the same in other words, so that the default must not contradict it."""
    return any(other in part for other in _EXCLUDES.get(name, ()))
