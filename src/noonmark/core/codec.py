"""Jobs as JSON and back, and the digest by which two declarations are known to be the same rule.

Promise: ``job_from_plain(job_to_plain(job)) == job`` for every job whose parameters are JSON, and equal jobs have equal
digests whoever declared them.  Rule of the file: what is written carries a version, and what a newer version wrote is
refused with a sentence, never read as if the unknown part were not there.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Mapping
from dataclasses import MISSING, fields
from functools import lru_cache
from math import isfinite
from typing import Any

from noonmark.core.model import (
    PAYLOAD_LIMIT,
    At,
    CatchUp,
    Check,
    Condition,
    Cron,
    Every,
    FlagSet,
    Guardrails,
    Job,
    LockRule,
    Manual,
    Micros,
    OnEvent,
    Retry,
    Succeeded,
    Trigger,
    Window,
)
from noonmark.core.stored import RuleUnreadable, check_types, checks_of
from noonmark.core.templates import instant_text

RULE_VERSION = 1
"""Version of the stored form of a rule; it grows when an older reader would misread a newer text."""

_TRIGGERS: dict[str, type[Trigger]] = {"cron": Cron, "every": Every, "at": At, "on_event": OnEvent, "manual": Manual}
_CONDITIONS: dict[str, type[Condition]] = {"flag": FlagSet, "succeeded": Succeeded}
_TRIGGER_KINDS = {kind: name for name, kind in _TRIGGERS.items()}
_CONDITION_KINDS = {kind: name for name, kind in _CONDITIONS.items()}
_VALUES: dict[str, type[Any]] = {"guardrails": Guardrails, "catch_up": CatchUp, "retry": Retry}
_NAMES: dict[type[Any], tuple[str, ...]] = {}
_JOB_FIELDS = {part.name: part for part in fields(Job)}


def storable(text: str) -> str:
    """Return a text that UTF-8 can carry: half of a surrogate pair (as file names of other encodings have it) is escaped.

    JSON stays JSON with the same value, for a half can only stand inside a string there.
    """
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "backslashreplace").decode("utf-8")
    return text


def check_payload(what: str, value: object) -> None:
    """Refuse what no store can keep.

    Raises:
        TypeError: JSON does not know it; the text says what to pass instead.
        ValueError: it has more than 256 KiB.
    """
    try:
        size = len(json.dumps(value, ensure_ascii=False, allow_nan=False).encode())
    except (TypeError, ValueError, RecursionError) as error:
        raise TypeError(
            f"{what} cannot be stored as JSON ({error}); "
            "pass text, numbers, lists or dicts, or the id of something stored elsewhere"
        ) from None
    if size > PAYLOAD_LIMIT:
        raise ValueError(f"{what}: {size} bytes, more than {PAYLOAD_LIMIT}; store it elsewhere and pass its id")


def canonical(value: object) -> str:
    """Return the one JSON text of a value: sorted names, no spaces, no NaN.

    Raises:
        ValueError: the value is not JSON (says where).
    """
    return json.dumps(_json(value, "value"), sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def _text(plain: dict[str, Any]) -> str:
    """Return the canonical text of a rule that is plain already; only what went wrong is looked at closely."""
    try:
        return json.dumps(plain, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    except TypeError:
        return canonical(plain)


def digest(job: Job) -> str:
    """Return the SHA-256 of the rule's canonical text, hexadecimal.

    Who declared it (``source``) is left out, so that code and file agree; only TASK_RULES stays, because there an
    unbound name in a template means ``default``.
    """
    plain = job_to_plain(job)
    if plain["source"] != "task_rules":
        del plain["source"]
    return hashlib.sha256(_text(plain).encode()).hexdigest()


def rule_text(job: Job) -> str:
    """Return the canonical text of the rule, as a store keeps it.

    Raises:
        ValueError: a parameter is not JSON (says which).
    """
    return _text(job_to_plain(job))


def job_to_plain(job: Job) -> dict[str, Any]:
    """Return the job as JSON-safe values, every field spelt out, durations in microseconds.

    Raises:
        ValueError: a parameter is not JSON (says which).
    """
    plain: dict[str, Any] = {"v": RULE_VERSION}
    for name in _JOB_FIELDS:
        plain[name] = getattr(job, name)
    plain["trigger"] = {"kind": _TRIGGER_KINDS[type(job.trigger)], **_plain(job.trigger)}
    plain["depends_on"] = [{"kind": _CONDITION_KINDS[type(item)], **_plain(item)} for item in job.depends_on]
    plain["window"] = None if job.window is None else _plain(job.window)
    # Rules that use neither word keep the text and the digest that they had before there were these words.
    if job.on_rollback == _JOB_FIELDS["on_rollback"].default:
        del plain["on_rollback"]
    if job.lock is None:
        del plain["lock"]
    else:
        plain["lock"] = _plain(job.lock)
    for name in _VALUES:
        plain[name] = _plain(getattr(job, name))
    plain["command"] = list(job.command)
    plain["params"] = _json(job.params, f"params of {job.name}")
    plain["retry"]["factor"] = float(job.retry.factor)
    # Pairs, because the order of the names decides the subject's text and canonical JSON sorts objects.
    plain["each"] = [[name, list(values)] for name, values in job.each.items()]
    return plain


def job_from_plain(plain: Mapping[str, Any]) -> Job:
    """Return the job that ``job_to_plain`` wrote.

    Fields that were added to the rule since get their defaults.

    Raises:
        RuleUnreadable: written by a newer version, or not a rule at all.
    """
    if not isinstance(plain, Mapping):
        raise RuleUnreadable(f"a stored rule must be a JSON object, this is {type(plain).__name__}")
    name = plain.get("name", "?")
    version = plain.get("v")
    if not isinstance(version, int) or version < 1:
        raise RuleUnreadable(f"the stored rule of {name} has no version, so it was not written by noonmark")
    if version > RULE_VERSION:
        raise RuleUnreadable(
            f"the stored rule of {name} has version {version}, this noonmark reads up to {RULE_VERSION}; "
            "upgrade this process"
        )
    values = {key: value for key, value in plain.items() if key != "v"}
    _refuse_unknown(values, _JOB_FIELDS, f"the stored rule of {name}")
    try:
        return _job(values, str(name))
    except RuleUnreadable:
        raise
    except (TypeError, ValueError, KeyError, AttributeError, RecursionError) as error:
        raise RuleUnreadable(f"the stored rule of {name} cannot be read: {error}") from None


@lru_cache(maxsize=256)
def job_from_text(text: str) -> Job:
    """Return the job of a stored rule's JSON text; a job never changes, so the same text need not be read twice.

    Raises:
        RuleUnreadable: not JSON, or see ``job_from_plain``.
    """
    try:
        plain = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise RuleUnreadable(f"the stored rule is not JSON: {error}") from None
    return job_from_plain(plain)


def checks_to_json(checks: tuple[Check, ...]) -> str:
    """Return the checks of a decision as the ledger keeps them."""
    rows = [[check.name, check.passed, check.wanted, check.seen] for check in checks]
    return json.dumps(rows, separators=(",", ":"), ensure_ascii=False)


def checks_from_json(text: str) -> tuple[Check, ...]:
    """Return the checks of a ledger line; cells that a newer version added, and what is no check, are left out."""
    return checks_of(text)


def job_to_yaml_dict(job: Job) -> dict[str, Any]:
    """Return the job as a person would write it: what has its default is left out, durations are words."""
    written: dict[str, Any] = {"schedule": _schedule(job.trigger)}
    written |= {name: getattr(job, name) for name in ("run", "key", "owner") if getattr(job, name)}
    if job.command:
        written["command"] = list(job.command)
    if job.params:
        written["params"] = _json(job.params, f"params of {job.name}")
    if job.each:
        written["each"] = {name: list(values) for name, values in job.each.items()}
    if job.window is not None:
        written["window"] = _changed(job.window, Window())
    if job.depends_on:
        written["depends_on"] = [_condition(item) for item in job.depends_on]
    for name, usual in (("guardrails", Guardrails()), ("catch_up", CatchUp()), ("retry", Retry())):
        if getattr(job, name) != usual:
            written[name] = _changed(getattr(job, name), usual)
    for name in ("timeout", "lease"):
        if getattr(job, name) != _JOB_FIELDS[name].default:
            written[name] = _words(getattr(job, name))
    for name in ("overlap", "on_lost", "max_takeovers", "on_rollback", "business_date", "scope", "isolation"):
        if getattr(job, name) != _JOB_FIELDS[name].default:
            written[name] = getattr(job, name)
    if job.lock is not None:
        written["lock"] = _changed(job.lock, LockRule(name=""))
    written["reason"] = job.reason
    return written


# --- between values and words ----------------------------------------------------------------------

_DURATIONS = frozenset({"length", "max_delay", "recheck", "base", "jitter", "cap", "ttl"})


def _schedule(trigger: Trigger) -> dict[str, Any]:
    match trigger:
        case Cron():
            return {"cron": trigger.expression, "tz": trigger.tz}
        case Every():
            anchor = {"anchor": instant_text(trigger.anchor)} if trigger.anchor else {}
            return {"every": _words(trigger.period), **anchor, "tz": trigger.tz}
        case At():
            return {"at": list(trigger.moments), "tz": trigger.tz}
        case OnEvent():
            delay = {"delay": _words(trigger.delay)} if trigger.delay else {}
            return {"event": trigger.name, **delay, "tz": trigger.tz}
        case Manual():
            return {"manual": True, "tz": trigger.tz}


def _condition(condition: Condition) -> dict[str, Any]:
    reason = {"reason": condition.reason} if condition.reason else {}
    if isinstance(condition, FlagSet):
        return {"flag": condition.flag, **reason}
    date = {"date": condition.date} if condition.date != Succeeded(job="").date else {}
    return {"success": condition.job, **date, **reason}


def _words(us: Micros) -> str:
    from noonmark.core.durations import format_duration  # its parser is dear to import, and workers never write rules

    return format_duration(us)


def _changed(value: Any, usual: Any) -> dict[str, Any]:
    changed = {name: item for name, item in _plain(value).items() if item != getattr(usual, name)}
    return {name: _words(item) if name in _DURATIONS else item for name, item in changed.items()}


# --- between values and JSON -----------------------------------------------------------------------


def _plain(value: Any) -> dict[str, Any]:
    plain = {}
    for name in _names(type(value)):
        item = getattr(value, name)
        plain[name] = list(item) if isinstance(item, tuple) else item
    return plain


def _names(kind: type[Any]) -> tuple[str, ...]:
    """Return the fields of a value, looked up once: a hundred thousand rules are written with the same few."""
    names = _NAMES.get(kind)
    if names is None:
        names = _NAMES[kind] = tuple(part.name for part in fields(kind))
    return names


def _job(values: dict[str, Any], name: str) -> Job:
    trigger = dict(values["trigger"])
    values["trigger"] = _value(_kind(_TRIGGERS, trigger, f"trigger of {name}"), trigger, f"trigger of {name}")
    values["depends_on"] = tuple(
        _value(_kind(_CONDITIONS, item, f"condition of {name}"), item, f"condition of {name}")
        for item in map(dict, values.get("depends_on", ()))
    )
    if values.get("window") is not None:
        values["window"] = _value(Window, values["window"], f"window of {name}")
    if values.get("lock") is not None:
        values["lock"] = _value(LockRule, values["lock"], f"lock of {name}")
    for field_name, kind in _VALUES.items():
        if field_name in values:
            values[field_name] = _value(kind, values[field_name], f"{field_name} of {name}")
    values["command"] = tuple(values.get("command", ()))
    values["each"] = {each: tuple(items) for each, items in values.get("each", ())}
    values["params"] = dict(values.get("params", {}))
    missing = [
        part.name
        for part in _JOB_FIELDS.values()
        if part.name not in values and part.default is MISSING and part.default_factory is MISSING
    ]
    if missing:
        raise RuleUnreadable(f"the stored rule of {name} lacks {', '.join(missing)}")
    job = Job(**values)
    for part in (job, job.trigger, job.window, job.lock, job.guardrails, job.catch_up, job.retry, *job.depends_on):
        if part is not None:
            check_types(part, f"the stored rule of {name}")
    return job


def _kind(kinds: Mapping[str, type[Any]], values: dict[str, Any], where: str) -> type[Any]:
    name = values.pop("kind", "")
    kind = kinds.get(name)
    if kind is None:
        raise RuleUnreadable(
            f"{where}: this noonmark knows no kind {name!r} (it knows {', '.join(kinds)}); upgrade this process"
        )
    return kind


def _value(kind: type[Any], values: Mapping[str, Any], where: str) -> Any:
    _refuse_unknown(values, _names(kind), where)
    return kind(**{name: tuple(item) if isinstance(item, list) else item for name, item in values.items()})


def _refuse_unknown(values: Mapping[str, Any], known: Collection[str], where: str) -> None:
    unknown = sorted(name for name in values if name not in known)
    if unknown:
        raise RuleUnreadable(
            f"{where}: this noonmark does not know {', '.join(unknown)}; a newer version wrote it; upgrade this process"
        )


def _json(value: object, where: str) -> Any:
    """Return the value as JSON gives it back (tuples are lists), refusing what would come back changed."""
    if value is None or isinstance(value, (str, bool, int)):
        return value
    if isinstance(value, float):
        if not isfinite(value):
            raise ValueError(f"{where}: {value} is not JSON")
        return value
    if isinstance(value, (list, tuple)):
        return [_json(item, f"{where}[{index}]") for index, item in enumerate(value)]
    if isinstance(value, Mapping):
        for name in value:
            if not isinstance(name, str):
                raise ValueError(f"{where}: the name {name!r} is not text, which JSON needs")
        return {name: _json(item, f"{where}.{name}") for name, item in value.items()}
    raise ValueError(f"{where}: a {type(value).__name__} is not JSON; use text, numbers, true/false, lists or objects")
