"""Jobs written back as a rules file that a person would have written, and that loads as the same jobs.

Rule of the file: only what differs from the defaults is written; every text that another YAML reader could take for a
number, a time or a truth value is quoted.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Mapping
from datetime import datetime, timezone
from typing import Any

from noonmark.core.durations import format_duration
from noonmark.core.model import At, CatchUp, Cron, Every, FlagSet, Guardrails, Job, Manual, Micros, OnEvent, Retry, Window
from noonmark.rules.loader import SCHEMA_COMMENT

HEAD = f"""{SCHEMA_COMMENT}
# Weekdays in cron: names are preferred (mon-fri); as numbers 0 and 7 are Sunday, 6 is Saturday.
"""
_USUAL = Job(name="", trigger=Manual(), reason="")
_PLAIN = ("timeout", "lease")
_AS_IS = ("overlap", "on_lost", "max_takeovers", "business_date", "scope", "isolation")


def to_yaml(jobs: Iterable[Job]) -> str:
    """Return the jobs as the text of a rules file."""
    from ruamel.yaml import YAML

    document: dict[str, Any] = {"version": 1, "jobs": {job.name: to_fields(job) for job in jobs}}
    yaml = YAML(typ="rt")
    yaml.width, yaml.allow_unicode = 120, True
    yaml.indent(mapping=2, sequence=4, offset=2)
    out = io.StringIO()
    yaml.dump(_quoted(document), out)
    return HEAD + out.getvalue()


def to_fields(job: Job) -> dict[str, Any]:
    """Return one job as the fields of a rules file, canonical names, nothing that goes without saying."""
    fields: dict[str, Any] = {}
    if job.run:
        fields["run"] = job.run
    if job.command:
        fields["command"] = list(job.command)
    fields["schedule"] = _schedule(job)
    for name, value in (("key", job.key), ("params", dict(job.params)), ("owner", job.owner)):
        if value:
            fields[name] = value
    if job.each:
        fields["each"] = {name: list(values) for name, values in job.each.items()}
    if job.window is not None:
        fields["window"] = _window(job.window)
    if job.guardrails != Guardrails():
        fields["guardrails"] = _differing(job.guardrails, Guardrails(), ("allow_weekend", "reason"))
    if job.depends_on:
        fields["depends_on"] = [_condition(condition) for condition in job.depends_on]
    for name, part in (("catch_up", _catch_up(job.catch_up)), ("retry", _retry(job.retry))):
        if part:
            fields[name] = part
    for name in _PLAIN:
        if getattr(job, name) != getattr(_USUAL, name):
            fields[name] = format_duration(getattr(job, name))
    fields |= _differing(job, _USUAL, _AS_IS)
    fields["reason"] = job.reason
    return fields


def _schedule(job: Job) -> dict[str, Any]:
    trigger = job.trigger
    zone = {"tz": trigger.tz}
    if isinstance(trigger, Cron):
        return {"cron": trigger.expression, **zone}
    if isinstance(trigger, Every):
        anchor = {"anchor": _instant(trigger.anchor)} if trigger.anchor else {}
        return {"every": format_duration(trigger.period), **anchor, **zone}
    if isinstance(trigger, At):
        return {"at": list(trigger.moments), **zone}
    if isinstance(trigger, OnEvent):
        delay = {"delay": format_duration(trigger.delay)} if trigger.delay else {}
        return {"event": trigger.name, **delay, **zone}
    return {"manual": True, **zone}


def _instant(us: Micros) -> str:
    seconds, rest = divmod(us, 1_000_000)
    return datetime.fromtimestamp(seconds, timezone.utc).replace(microsecond=rest).isoformat().replace("+00:00", "Z")


def _window(window: Window) -> dict[str, Any]:
    length = {} if window.length is None else {"length": format_duration(window.length)}
    return length | _differing(window, Window(), ("start", "end", "crosses_midnight", "reason"))


def _condition(condition: Any) -> dict[str, Any]:
    said = {"reason": condition.reason} if condition.reason else {}
    if isinstance(condition, FlagSet):
        return {"flag": condition.flag, **said}
    return {"success": condition.job, "date": condition.date, **said}


def _catch_up(part: CatchUp) -> dict[str, Any]:
    limit = {} if part.max_delay is None else {"max_delay": format_duration(part.max_delay)}
    often = {} if part.recheck == CatchUp().recheck else {"recheck": format_duration(part.recheck)}
    return _differing(part, CatchUp(), ("missed",)) | limit | often | _differing(part, CatchUp(), ("only_if_data_ready", "reason"))


def _retry(part: Retry) -> dict[str, Any]:
    usual = Retry()
    lengths = {name: format_duration(getattr(part, name)) for name in ("base", "jitter", "cap") if getattr(part, name) != getattr(usual, name)}
    return _differing(part, usual, ("max", "factor")) | lengths


def _differing(value: Any, usual: Any, names: Iterable[str]) -> dict[str, Any]:
    return {name: getattr(value, name) for name in names if getattr(value, name) != getattr(usual, name)}


def _quoted(value: Any) -> Any:
    """Quote every text that is not plainly a word."""
    from ruamel.yaml.scalarstring import DoubleQuotedScalarString

    if isinstance(value, Mapping):
        return {str(name): _quoted(item) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_quoted(item) for item in value]
    if isinstance(value, str) and not (value.replace("_", "a").replace("-", "a").isalpha() and value.lower() not in _TRICKY):
        return DoubleQuotedScalarString(value)
    return value


_TRICKY = frozenset({"yes", "no", "on", "off", "y", "n", "true", "false", "null", "inf", "nan"})
