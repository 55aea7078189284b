"""The fields of a rules file: names, types, choices, and the JSON Schema that editors read.

Rule of the file: strict types and no unknown names; what fields mean together is judged in ``build.py`` and
``checks.py``, which decorators share.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue

from noonmark.rules import shapes

Duration = Annotated[str, Field(json_schema_extra={"examples": ["30s", "5m", "1h30m"]})]
Clock = Annotated[str, Field(json_schema_extra={"examples": ["18:30", "09:00:30"]})]


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class ScheduleIn(_Part):
    """What makes the job due: exactly one of cron, every, at, event, manual."""

    cron: str | None = Field(
        default=None,
        description="Five fields: minute hour day month weekday; a sixth in front is seconds."
        " Weekday names are preferred; 0 and 7 are Sunday.",
    )
    every: Duration | None = Field(default=None, description="A fixed grid, for example 5m.")
    at: list[str] | None = Field(
        default=None, description='One moment or a list: "2026-12-01T09:00" in tz, or with an offset.'
    )
    event: str | None = Field(default=None, min_length=1, description="Due when this event is emitted.")
    manual: Literal[True] | None = Field(default=None, description="Due only when somebody asks.")
    tz: str | None = Field(default=None, description="IANA timezone; required with cron.")
    anchor: str | None = Field(default=None, description="With every: a moment on the grid.")
    delay: Duration | None = Field(default=None, description="With event: due this long after it.")


class WindowIn(_Part):
    """Local span in which a start is allowed: start and end, or a length after the scheduled time."""

    start: Clock | None = Field(default=None, description='First moment, quoted: "18:30".')
    end: Clock | None = Field(default=None, description='First moment that is too late, quoted: "20:00".')
    length: Duration | None = Field(default=None, description="That long after the scheduled time.")
    crosses_midnight: bool = Field(default=False, description="Must be true for an end before the start.")
    reason: str = Field(default="", description="Why this window.")


class GuardrailsIn(_Part):
    """Calendar guards."""

    allow_weekend: bool = Field(default=True, description="False: nothing starts on a local Saturday or Sunday.")
    reason: str = Field(default="", description="Why this guard.")


class ConditionIn(_Part):
    """A condition: a flag that is set, or another job's success for the same date."""

    flag: str | None = Field(
        default=None, min_length=1, description="Flag name; a template such as daily_etl.finished_{business_date}."
    )
    success: str | None = Field(
        default=None,
        min_length=1,
        description="Name of a job that must have succeeded; behind one with `each` its subject: `digest[channel=ops]`, "
        "or `digest[{subject}]` for the same one.",
    )
    date: str | None = Field(
        default=None, min_length=1, description="Date template; with flag it is appended after a colon."
    )
    reason: str = Field(default="", description="Why this condition.")


class CatchUpIn(_Part):
    """What becomes of missed moments."""

    enabled: bool | None = Field(default=None, description="False is the same as missed: skip.")
    missed: Literal["skip", "latest", "all"] | None = Field(
        default=None, description="Which missed moments are run late."
    )
    max_delay: Duration | None = Field(default=None, description="Latest first start after the scheduled time.")
    only_if_data_ready: bool = Field(default=True, description="Conditions are checked for late starts, too.")
    recheck: Duration | None = Field(default=None, description="How often unmet conditions are looked at (5m).")
    reason: str = Field(default="", description="Why these limits.")


class RetryIn(_Part):
    """Retries: max counts retries, so 4 means five attempts."""

    max: int | None = Field(default=None, ge=0, le=1000, description="Retries after the first attempt.")
    base: Duration | None = Field(default=None, description="First wait (1s).")
    factor: float | None = Field(
        default=None, ge=1, le=100, allow_inf_nan=False, description="Each wait is this much longer (2)."
    )
    jitter: Duration | None = Field(default=None, description="Up to this much is added at random (500ms).")
    cap: Duration | None = Field(default=None, description="Longest wait (1h).")
    backoff: str | None = Field(default=None, description="First and longest wait in one: 30s..10m.")


class LockIn(_Part):
    """A lock outside noonmark that a run holds from its start to its end."""

    name: str = Field(min_length=1, description="Name of the lock; a template such as reindex:{subject}.")
    kind: Literal["redis", "redlock", "postgres", "sqlite", "etcd", "zookeeper", "memory"] | None = Field(
        default=None, description="What keeps it; refused if at names something else."
    )
    at: str | None = Field(
        default=None,
        min_length=1,
        description="Lock URL, or env:NAME for one that stays out of the file; left out: NOONMARK_LOCK_URL, else the"
        " store's server.",
    )
    busy: Literal["skip", "wait"] | None = Field(
        default=None, description="When somebody else holds it: skip (schedules) or wait (events, manual)."
    )
    ttl: Duration | None = Field(default=None, description="It outlives a worker that is gone by this much (30s).")
    reason: str = Field(default="", description="Who else contends for it.")


Texts = list[str]


class _Common(_Part):
    window: WindowIn | None = Field(default=None, description="When a start is allowed; null for always.")
    catch_up: CatchUpIn = Field(default_factory=CatchUpIn, description="What becomes of missed moments.")
    retry: RetryIn = Field(default_factory=RetryIn, description="What happens after a failure.")
    timeout: Duration | None = Field(default=None, description="Longest attempt (30m).")
    lease: Duration | None = Field(default=None, description="How long a silent worker keeps the run (30s).")
    owner: str = Field(default="", description="Who gets the alerts and decides the window.")


class JobIn(_Common):
    """One job: when it is due, under which conditions, and what it runs."""

    reason: str = Field(default="", description="Required: why the job exists and why it is set up like this.")
    schedule: ScheduleIn | None = Field(default=None, description="What makes the job due.")
    run: str | None = Field(
        default=None, description="module:function; left out, a decorated function of this name is bound."
    )
    command: list[str] | None = Field(
        default=None,
        description="A program and its arguments instead of a function. What it leaves running is ended with it.",
    )
    key: str | None = Field(
        default=None, min_length=1, description="Dedupe key template, for example report:{business_date}:{channel}."
    )
    params: dict[str, JsonValue] = Field(default_factory=dict, description="Arguments of every run.")
    each: dict[str, Texts] = Field(
        default_factory=dict, description="One occurrence per value: {channel: [ops, sales]}."
    )
    guardrails: GuardrailsIn = Field(default_factory=GuardrailsIn, description="Calendar guards.")
    depends_on: list[ConditionIn] = Field(default_factory=list, description="Conditions that must hold before a start.")
    overlap: Literal["skip", "queue_all", "allow"] | None = Field(
        default=None,
        description="What happens while another is in progress: skip, queue_all (wait, oldest first) or allow.",
    )
    lock: LockIn | None = Field(default=None, description="A lock that others outside noonmark contend for, too.")
    on_lost: Literal["takeover", "wait", "manual"] = Field(
        default="takeover", description="What happens when the worker is gone."
    )
    max_takeovers: int = Field(default=3, ge=0, le=100, description="How often a lost run is started again.")
    on_rollback: Literal["hold", "run"] = Field(
        default="hold", description="What happens to rounds that may have run in a range that the store lost."
    )
    business_date: Literal["same", "previous_day"] = Field(default="same", description="Which date the work is about.")
    scope: Literal["cluster", "each_worker"] = Field(
        default="cluster", description="Once per cluster, or on each worker."
    )
    isolation: Literal["", "process"] = Field(default="", description="process: a child process that can be killed.")


class DefaultsIn(_Common):
    """What jobs that do not say it themselves get."""

    schedule: ScheduleIn | None = None


class RulesFile(_Part):
    """A noonmark rules file."""

    version: Literal[1] = Field(description="Version of this format.")
    defaults: DefaultsIn = Field(default_factory=DefaultsIn)
    jobs: dict[str, JobIn] = Field(description="Jobs by name.")


KNOWN: dict[str, tuple[str, ...]] = {
    "": ("version", "defaults", "jobs"),
    "job": (
        *(name for name in JobIn.model_fields),
        *shapes.JOB_ALIASES,
        *shapes.FLAT_WINDOW,
        *shapes.SCHEDULE_FIELDS,
        "max_delay_min",
        "allow_weekend",
    ),
    "defaults": (*(name for name in DefaultsIn.model_fields if name != "schedule"), "tz", "timezone", "catchup"),
    "schedule": (*ScheduleIn.model_fields, "timezone"),
    "window": tuple(WindowIn.model_fields),
    "guardrails": (*GuardrailsIn.model_fields, "execution_window"),
    "depends_on": tuple(ConditionIn.model_fields),
    "catch_up": (*CatchUpIn.model_fields, "max_delay_min"),
    "lock": tuple(LockIn.model_fields),
    "retry": (*RetryIn.model_fields, "max_attempts"),
}
"""Names somebody may have meant, by the part of the rule."""


def schema() -> dict[str, Any]:
    """Return the JSON Schema of a rules file, for editors; accepted aliases and short shapes are part of it."""
    whole = RulesFile.model_json_schema()
    whole["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    whole["title"] = "noonmark rules"
    parts = whole["$defs"]
    for model in (JobIn, DefaultsIn, RulesFile):  # beside a reference pydantic leaves descriptions out
        properties = whole["properties"] if model is RulesFile else parts[model.__name__]["properties"]
        for name, info in model.model_fields.items():
            properties[name].setdefault("description", info.description or "")
    for part in parts.values():  # None is how the models say "not written"; in the file it would be an error
        for field in part.get("properties", {}).values():
            _without_null(field)
    window = parts["JobIn"]["properties"]["window"]
    window["anyOf"] = [{"$ref": "#/$defs/WindowIn"}, {"type": "null"}]
    window.pop("$ref", None)
    parts["DefaultsIn"]["properties"].pop("schedule", None)
    parts["DefaultsIn"]["properties"]["tz"] = {"type": "string", "description": "Timezone of jobs that name none."}
    parts["JobIn"]["required"] = ["reason"]
    whole["patternProperties"] = {"^x-": {"description": "A home for YAML anchors; not read."}}
    _short_shapes(parts)
    return whole


def _without_null(field: dict[str, Any]) -> None:
    options = [option for option in field.get("anyOf", []) if option.get("type") != "null"]
    if "anyOf" in field and len(options) == 1:
        del field["anyOf"]
        field.update(options[0])
        if field.get("default") is None:
            field.pop("default", None)


def _short_shapes(parts: dict[str, Any]) -> None:
    job, schedule, catch_up, retry = (
        parts[name]["properties"] for name in ("JobIn", "ScheduleIn", "CatchUpIn", "RetryIn")
    )
    one_or_many = {"anyOf": [{"type": "string"}, schedule["at"]], "description": schedule["at"].pop("description", "")}
    schedule["at"] = one_or_many
    condition = parts["JobIn"]["properties"]["depends_on"]
    item = {"anyOf": [{"type": "string"}, condition["items"]]}
    described = {"description": condition.pop("description", "")}
    job["depends_on"] = {"anyOf": [{"type": "string"}, {"type": "array", "items": item}], **described}
    for name in sorted(shapes.SCHEDULE_FIELDS):
        job[name] = {**schedule[name], "description": f"Short for schedule.{name}."}
    for alias, name in shapes.JOB_ALIASES.items():
        job[alias] = {**job[name], "description": f"Same as {name}."}
    for alias, name in shapes.FLAT_WINDOW.items():
        job[alias] = {"type": "string", "description": f"Same as window.{name}."}
    minutes = {"type": "number", "minimum": 0, "description": "Same as max_delay, in minutes."}
    job["max_delay_min"] = catch_up["max_delay_min"] = minutes
    schedule["timezone"] = {"type": "string", "description": "Same as tz."}
    retry["max_attempts"] = {**retry["max"], "description": "Same as max (it counts retries)."}
    count = {"type": "integer", "minimum": 0}
    job["retry"] = {"anyOf": [count, {"$ref": "#/$defs/RetryIn"}], "description": job["retry"]["description"]}
    job["lock"] = {"anyOf": [{"type": "string"}, {"$ref": "#/$defs/LockIn"}], "description": job["lock"]["description"]}
    guardrails = parts["GuardrailsIn"]["properties"]
    job["allow_weekend"] = {**guardrails["allow_weekend"], "description": "Short for guardrails.allow_weekend."}
    guardrails["execution_window"] = {"type": "string", "description": "Same as window.length."}
