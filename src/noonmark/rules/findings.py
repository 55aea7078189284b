"""What a person should still look at in rules that load: missing reasons, keys that meet, cron that is often misread.

Rule of the file: a finding never stops a load; ``lint`` prints it and may fail on it.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from itertools import takewhile

from noonmark.core import cron, durations, keys, series, times, zones
from noonmark.core.conditions import upstream_job
from noonmark.core.model import DAY, SECOND, At, Cron, Every, Job, Micros, Succeeded
from noonmark.core.moments import Moment
from noonmark.rules.assemble import Loaded
from noonmark.rules.checks import needs_handler
from noonmark.rules.problems import Problem

_ABBREVIATIONS = {"EST": "America/New_York", "MST": "America/Denver", "HST": "Pacific/Honolulu"}
"""Zones that are one offset all the year round, with what those who write them mostly mean."""


_LOAD: Micros = 10 * SECOND
"""A start that is later by this much is load, and no absence."""


def findings(loaded: Loaded, *, handlers: Collection[str] | None = None, now: Micros | None = None) -> list[Problem]:
    """Return what to look at, in the order of the file.

    Args:
        loaded: the result of a load.
        handlers: names of decorated functions; None = not known, so nothing is said about jobs without one.
        now: UTC microseconds; None = not known, so nothing is said about what is over.
    """
    found: list[Problem] = []
    jobs = {job.name: job for job in loaded.jobs}
    for job in loaded.jobs:
        for path, code, detail in (*_of_job(job, handlers), *_other_zones(job, jobs), *_over(job, now)):
            place, shown = loaded.place(job.name, *path)
            found.append(Problem(code=code, place=place, path=shown, job=job.name, detail=detail))
    return found


def _of_job(job: Job, handlers: Collection[str] | None) -> list[tuple[tuple[str | int, ...], str, dict[str, object]]]:
    found: list[tuple[tuple[str | int, ...], str, dict[str, object]]] = []
    if not job.reason.strip():
        found.append((("reason",), "reason_missing", {}))
    if job.source == "task_rules":
        found.extend((path, "part_reason_missing", {}) for path in _parts_without_reason(job))
        if job.key and isinstance(job.trigger, (Cron, Every)) and not keys.has_time_part(job.key):
            found.append((("key",), "key_without_time", {"value": job.key}))
        # checked as the other dialect would be: a name that nothing binds is rendered as "default"
        strict = replace(job, source="file")
        sound = replace(strict, key=job.key if keys.has_time_part(job.key) else f"{job.key}:{{scheduled_for}}")
        problems = keys.check_template(sound.key, sound) if job.key else []
        found.extend((("key",), "unbound_name", {"error": problem.replace(sound.key, job.key)}) for problem in problems)
    found.extend(_of_time(job))
    found.extend((("schedule", "cron"), "cron_reading", {"error": warning}) for warning in _readings(job))
    found.extend(_never_or_late(job))
    if job.is_series and job.overlap == "skip" and job.catch_up.missed == "all":
        found.append((("overlap",), "rounds_skipped", {}))
    limit = job.catch_up.max_delay
    if limit is not None and limit < _LOAD:
        found.append((("catch_up", "max_delay"), "limit_of_seconds", {"value": durations.format_duration(limit)}))
    if job.retry.max and not job.retry.jitter:
        found.append((("retry", "jitter"), "retry_in_step", {}))
    meeting = _same_key(job)
    if meeting is not None:
        found.append((("key",), "key_same_twice", meeting))
    if handlers is not None and needs_handler(job) and job.name not in handlers:
        found.append(((), "nothing_to_run", {}))
    return found


def _parts_without_reason(job: Job) -> list[tuple[str | int, ...]]:
    parts: list[tuple[str | int, ...]] = []
    for index, condition in enumerate(job.depends_on):
        if not condition.reason:
            parts.append(("depends_on", index))
    if job.window is not None and not job.window.reason:
        parts.append(("window",))
    if not job.guardrails.allow_weekend and not job.guardrails.reason:
        parts.append(("guardrails",))
    if job.catch_up.max_delay is not None and not job.catch_up.reason:
        parts.append(("catch_up",))
    return parts


def _of_time(job: Job) -> Iterator[tuple[tuple[str | int, ...], str, dict[str, object]]]:
    zone, trigger = job.tz, job.trigger
    if zone in _ABBREVIATIONS:
        yield ("schedule", "tz"), "zone_without_summer", {"value": zone, "meant": _ABBREVIATIONS[zone]}
    elif match := re.fullmatch(r"Etc/GMT([+-])(\d+)", zone):
        told = {"side": "-" if match[1] == "+" else "+", "hours": f"{int(match[2]):02d}:00"}
        if int(match[2]):
            yield ("schedule", "tz"), "zone_counts_west", {"value": zone, **told}
    if isinstance(trigger, Every) and trigger.period % DAY == 0 and _has_summer_time(zone):
        days = durations.format_duration(trigger.period)
        yield ("schedule", "every"), "every_day_in_real_time", {"value": days, "zone": zone}
    if isinstance(trigger, At):
        first: dict[Micros, str] = {}
        for index, text in enumerate(trigger.moments):
            other = first.setdefault(times.parse_instant(text, zone), text)
            if other != text:
                yield ("schedule", "at", index), "moments_meet", {"value": text, "other": other}


def _other_zones(job: Job, jobs: Mapping[str, Job]) -> Iterator[tuple[tuple[str | int, ...], str, dict[str, object]]]:
    """A success is waited for by its date, which is the other job's own."""
    for index, condition in enumerate(job.depends_on):
        other = jobs.get(upstream_job(condition)[0]) if isinstance(condition, Succeeded) else None
        if other is not None and other.tz != job.tz and other.is_series and job.is_series:
            yield (
                ("depends_on", index),
                "success_in_another_zone",
                {"other": other.name, "zone": other.tz, "own": job.tz},
            )


def _over(job: Job, now: Micros | None) -> Iterator[tuple[tuple[str | int, ...], str, dict[str, object]]]:
    trigger = job.trigger
    if now is None or not isinstance(trigger, At) or not trigger.moments:
        return
    last = max(times.parse_instant(text, trigger.tz) for text in trigger.moments)
    if last < now:
        yield ("schedule", "at"), "moments_over", {"ago": times.length_text(now - last)}


def _has_summer_time(zone: str) -> bool:
    start = zones.year_start(int(times.tzdata_version()[:4]))
    end = zones.year_start(int(times.tzdata_version()[:4]) + 2)
    stretches = takewhile(lambda stretch: stretch.start < end, zones.stretches_from(start, zone))
    return any(stretch.offset != stretch.before for stretch in stretches)


def _readings(job: Job) -> tuple[str, ...]:
    trigger = job.trigger
    return cron.parse_cron(trigger.expression, trigger.tz).warnings if isinstance(trigger, Cron) else ()


_LOOKED_AT = 25
"""Moments of a series that are looked at: keys that meet do so from the first day."""


def _some_moments(job: Job) -> list[Moment]:
    """Return moments of a series, of a year like any other, the same on every machine."""
    year = int(times.tzdata_version()[:4])
    start, end = zones.year_start(year) - DAY, zones.year_start(year + 10)
    return series.moments_between(job, start, end, limit=_LOOKED_AT)


def _never_or_late(job: Job) -> Iterator[tuple[tuple[str | int, ...], str, dict[str, object]]]:
    """Moments that the calendar excludes altogether, and such as always have to wait for their window."""
    has_clocks = job.window is not None and job.window.start is not None
    moments = _some_moments(job) if job.is_series and (has_clocks or not job.guardrails.allow_weekend) else []
    if not moments:
        return
    if not job.guardrails.allow_weekend and all(times.is_weekend(moment.at, job.tz) for moment in moments):
        yield ("guardrails", "allow_weekend"), "weekends_only", {}
    window = job.window
    if window is None or window.start is None:
        return
    opened = [times.window_bounds(window, moment.at, job.tz, meant=moment.meant)[0] or 0 for moment in moments]
    waits = [opens - moment.at for opens, moment in zip(opened, moments, strict=True)]
    if min(waits) > 0:
        told: dict[str, object] = {"first": moments[0].nominal, "length": times.length_text(waits[0])}
        yield ("window", "start"), "always_before_window", told


def _same_key(job: Job) -> dict[str, object] | None:
    """Return two moments of a series that share a key; a key without any time part is told by itself."""
    template = job.key
    if not job.is_series or "{scheduled_for}" in template or not template or not keys.has_time_part(template):
        return None
    subject, params = series.subjects(job)[0]
    seen: dict[str, str] = {}
    for moment in _some_moments(job):
        key = series.row_for_moment(job, moment, revision=1, subject=subject, params=params, worker="w").key
        if key in seen:
            return {"first": seen[key], "second": moment.nominal, "key": key}
        seen[key] = moment.nominal
    return None
