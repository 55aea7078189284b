"""From checked fields of a file to a Job, with every problem at its place.

Rule of the file: types and names are pydantic's, meanings are ``parts.py`` and ``checks.py``; this file only carries
values over and turns field paths into places.
"""

from __future__ import annotations

import json
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from noonmark.core.model import Condition, Cron, Guardrails, Job, Manual, Trigger, Window
from noonmark.rules import checks, guesses, parts, schema, shapes
from noonmark.rules.problems import Place, Problem
from noonmark.rules.source import got, wanted
from noonmark.rules.tree import Map, Mark, find_mark, nearest, plain

_Model = TypeVar("_Model", bound=BaseModel)
_DURATIONS = frozenset(
    {"timeout", "lease", "delay", "every", "max_delay", "recheck", "base", "jitter", "cap", "length", "ttl"}
)
_TYPES = {
    "string_type": "text",
    "bool_type": "boolean",
    "int_type": "whole number",
    "int_from_float": "whole number",
    "float_type": "number",
    "list_type": "list",
    "dict_type": "mapping",
    "model_type": "mapping",
    "model_attributes_type": "mapping",
}


class Reporter:
    """Collects the problems of one file; remembers which job each belongs to."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.problems: list[Problem] = []

    def at(self, job: str, code: str, mark: Mark, detail: dict[str, Any]) -> None:
        place = Place(file=self.name, line=mark.line, column=mark.column)
        self.problems.append(Problem(code=code, place=place, path=mark.path, job=job, detail=detail))

    def in_order(self) -> list[Problem]:
        """Return the problems as a reader meets them, each once."""
        seen: dict[tuple[Place, str, str], Problem] = {}
        for problem in self.problems:
            seen.setdefault((problem.place, problem.path, problem.code), problem)
        return sorted(seen.values(), key=lambda problem: (problem.place.line, problem.place.column))


def build_job(name: str, fields: Map, defaults: Map | None, source: str, reporter: Reporter) -> Job | None:
    """Build one job from its written fields, as well as it can be read; the reporter knows what is wrong with it.

    None when nothing can be made of it.
    """

    def report(code: str, mark: Mark, /, **detail: Any) -> None:
        reporter.at(name, code, mark, detail)

    def say(path: parts.Path, code: str, /, **detail: Any) -> None:
        report(code, find_mark(fields, path), **detail)

    checks.check_name(name, say)
    shapes.normalise_job(fields, report)
    if defaults is not None:
        shapes.merge_defaults(fields, defaults)
    spec, skipped = _best_reading(fields, report)
    if spec is None:
        return None

    def say_unless_skipped(path: parts.Path, code: str, /, **detail: Any) -> None:
        if not path or path[0] not in skipped:  # what is missing because it was wrong is no second mistake
            say(path, code, **detail)

    job = _to_job(name, spec, source, say_unless_skipped)
    checks.check_job(job, say_unless_skipped)
    return job


_WHOLE = frozenset({"schedule", "window", "params", "each", "command", "lock"})
"""Parts that say nothing when one of their fields is missing; in others only the wrong field is left out."""


def _best_reading(fields: Map, report: shapes.Report) -> tuple[schema.JobIn | None, frozenset[str]]:
    """Return the job without what has a wrong type or name, so that its other mistakes are found as well.

    The second value names the parts that were left out.
    """
    try:
        return schema.JobIn.model_validate(plain(fields)), frozenset()
    except ValidationError as errors:
        found = errors.errors(include_url=False)
    rest = plain(fields)
    skipped: set[str] = set()
    for error in sorted(found, key=lambda error: _index(error["loc"]), reverse=True):  # later items of a list first
        _report_error(error, fields, "job", report)
        loc = error["loc"]
        if loc[0] in _WHOLE:
            skipped.add(str(loc[0]))
        _cut(rest, loc[:1] if loc[0] in _WHOLE else loc)
    try:
        return schema.JobIn.model_validate(rest), frozenset(skipped)
    except ValidationError:
        return None, frozenset(skipped)


def _index(loc: tuple[str | int, ...]) -> int:
    return next((part for part in loc if isinstance(part, int)), -1)


def _cut(rest: Any, loc: tuple[str | int, ...]) -> None:
    """Take out the value at ``loc``; of a list the whole item, because half a condition is none."""
    for index, part in enumerate(loc):
        last = index == len(loc) - 1 or isinstance(part, int)
        if isinstance(rest, dict) and last:
            rest.pop(part, None)
        elif isinstance(rest, list) and isinstance(part, int):
            if part < len(rest):
                del rest[part]
            return
        if last or not isinstance(rest, (dict, list)):
            return
        rest = rest.get(part) if isinstance(rest, dict) else None


def validate(model: type[_Model], fields: Map, part: str, report: shapes.Report) -> _Model | None:
    """Check types and names; report every error pydantic finds."""
    try:
        return model.model_validate(plain(fields))
    except ValidationError as errors:
        for error in errors.errors(include_url=False):
            _report_error(error, fields, part, report)
        return None


def _report_error(error: Any, fields: Map, part: str, report: shapes.Report) -> None:
    loc: tuple[str | int, ...] = error["loc"]
    kind, value = error["type"], error.get("input")
    mark = find_mark(fields, loc)
    last = next((str(item) for item in reversed(loc) if isinstance(item, str)), "")
    if kind == "extra_forbidden":
        inside = str(loc[-2]) if len(loc) > 1 and isinstance(loc[-2], str) else str(loc[-3]) if len(loc) > 2 else part
        hint, hint_zh = suggestion(last, inside if inside in schema.KNOWN else part)
        report("unknown_field", shapes.at_name(mark), hint=hint, hint_zh=hint_zh)
    elif kind == "missing":
        report("field_missing", mark)
    elif (
        kind == "string_type" and last in _DURATIONS and isinstance(value, (int, float)) and not isinstance(value, bool)
    ):
        report("duration_not_text", mark, value=value)
    elif kind in _TYPES:
        hint, hint_zh = _type_hint(kind, value, last)
        report("wrong_type", mark, **wanted(_TYPES[kind]), **got(value), hint=hint, hint_zh=hint_zh)
    elif kind == "literal_error":
        named = str(error["ctx"]["expected"]).replace("'", "").replace(" or ", ", ").replace("True", "true")
        choices = ", ".join(choice for choice in named.split(", ") if choice.strip())
        close = guesses.of_choice(last, value) or nearest(str(value), choices.split(", "))
        hint, hint_zh = (
            (f'did you mean "{close}"?', f"是否想写“{close}”？") if close else ("choose one of them", "请选择其一")
        )
        report("bad_choice", mark, value=value, choices=choices, hint=hint, hint_zh=hint_zh)
    elif kind.startswith(("greater_than", "less_than", "finite_number")):
        report("out_of_range", mark, value=value, error=str(error["msg"]))
    else:
        report("bad_value", mark, error=str(error["msg"]))


def suggestion(name: str, part: str) -> tuple[str, str]:
    """Return what somebody may have meant by an unknown field of that part of a rule."""
    foreign = guesses.of_field(name)
    if foreign is not None and part in ("job", "schedule", "defaults", "catch_up", "retry"):
        return foreign
    known = schema.KNOWN[part]
    close = nearest(name, known)
    if close:
        return f'did you mean "{close}"?', f"是否想写“{close}”？"
    names = ", ".join(sorted(known))
    return f"known here: {names}", f"这里可用：{names}"


def _type_hint(kind: str, value: Any, field: str) -> tuple[str, str]:
    guess = guesses.of_value(field, value)
    if guess is not None:
        return guess
    if kind == "bool_type" and isinstance(value, str):
        meant = {"yes": "true", "on": "true", "y": "true", "true": "true"}.get(value.lower(), "false")
        return f"write {meant} without quotes", f"请写 {meant}，不加引号"
    if kind == "string_type" and isinstance(value, (bool, int, float)):
        return f'quote it: "{str(value).lower()}"', f'请加引号："{str(value).lower()}"'
    if kind == "list_type" and isinstance(value, str):
        listed = json.dumps([value[:60]], ensure_ascii=False)
        return f"write {listed}", f"请写 {listed}"
    return "correct it", "请改正"


def _to_job(name: str, spec: schema.JobIn, source: str, say: parts.Say) -> Job:
    trigger = _to_trigger(spec.schedule, say)
    conditions: list[Condition] = []
    for index, item in enumerate(spec.depends_on):
        condition = parts.condition(item.model_dump(), ("depends_on", index), say)
        if condition is not None:
            conditions.append(condition)
    usual = Job(name=name, trigger=Manual(), reason="")
    if spec.command is not None and not spec.command:
        say(("command",), "bad_command")
    timeout = usual.timeout if spec.timeout is None else parts.length(spec.timeout, ("timeout",), say)
    lease = usual.lease if spec.lease is None else parts.length(spec.lease, ("lease",), say)
    job = Job(
        name=name,
        trigger=trigger or Manual(),
        reason=spec.reason,
        key=spec.key or "",
        owner=spec.owner,
        run=spec.run or "",
        command=tuple(spec.command or ()),
        params=spec.params,
        each={subject: tuple(values) for subject, values in spec.each.items()},
        window=_to_window(spec, say),
        guardrails=Guardrails(allow_weekend=spec.guardrails.allow_weekend, reason=spec.guardrails.reason),
        depends_on=tuple(conditions),
        catch_up=parts.catch_up(spec.catch_up.model_dump(), ("catch_up",), say),
        retry=parts.retry(spec.retry.model_dump(), ("retry",), say),
        timeout=timeout,
        lease=lease,
        overlap=spec.overlap,
        lock=None if spec.lock is None else parts.lock(spec.lock.model_dump(), ("lock",), say),
        on_lost=spec.on_lost,
        max_takeovers=spec.max_takeovers,
        on_rollback=spec.on_rollback,
        business_date=spec.business_date,
        scope=spec.scope,
        isolation=spec.isolation,
        source=source,
    )
    has_clocks = job.window is not None and job.window.start is not None
    if has_clocks and spec.schedule is not None and not spec.schedule.tz and not isinstance(trigger, Cron):
        say(("window",), "window_without_tz")
    return job


def _to_window(spec: schema.JobIn, say: parts.Say) -> Window | None:
    window = spec.window
    if window is None:
        return None
    return parts.window(
        window.start, window.end, window.length, window.crosses_midnight, window.reason, ("window",), say
    )


def _to_trigger(schedule: schema.ScheduleIn | None, say: parts.Say) -> Trigger | None:
    path: parts.Path = ("schedule",)
    names = [] if schedule is None else [name for name in shapes.TRIGGERS if getattr(schedule, name) is not None]
    if schedule is None or not names:
        say(path, "no_trigger")
        return None
    if len(names) > 1:
        say((*path, names[1]), "many_triggers", names=", ".join(names))
        return None
    for name, owner in (("anchor", "every"), ("delay", "event")):
        if getattr(schedule, name) is not None and owner not in names:
            say((*path, name), "stray_trigger_field", owner=owner)
    tz = schedule.tz or ""
    if schedule.cron is not None:
        return Cron(expression=schedule.cron.strip(), tz=tz)
    if schedule.every is not None:
        return parts.every(schedule.every, schedule.anchor, tz, path, say)
    if schedule.at is not None:
        if not schedule.at:
            say(path, "no_trigger")
        return parts.at(schedule.at, tz, path, say)
    if schedule.event is not None:
        return parts.on_event(schedule.event, schedule.delay, tz, path, say)
    return Manual(tz=tz or "UTC")
