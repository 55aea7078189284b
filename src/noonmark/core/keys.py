"""The key of an occurrence: one business outcome, rendered from the rule's template and frozen at creation.

Promise: which names a job's templates may use is decided here once, for the rules that are declared and for the rows
that are made.  Rule of the file: what a template is, and how values are kept apart, is said in ``core/templates.py``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Required, TypedDict, Unpack

from noonmark.core.model import At, Job, Micros, OnEvent
from noonmark.core.templates import (
    CORE_NAMES,
    TemplateProblem,
    escaped,
    has_time_part,
    instant_text,
    names_in,
    render,
    unescaped,
    unknown_name,
)

__all__ = [
    "CORE_NAMES",
    "TemplateProblem",
    "check_names",
    "check_template",
    "default_template",
    "escaped",
    "has_time_part",
    "instant_text",
    "lint_template",
    "names_in",
    "names_of",
    "render",
    "row_key",
    "template_of",
    "unbound_text",
    "unescaped",
]


def default_template(job: Job) -> str:
    """Return the template of a job that names none (docs/semantics.md 2)."""
    return "{job}:{subject}:{event.id}" if isinstance(job.trigger, OnEvent) else "{job}:{subject}:{scheduled_for}"


def template_of(job: Job) -> str:
    """Return the template in force for a job: its own, or the default one."""
    return job.key or default_template(job)


def check_template(template: str, job: Job) -> list[str]:
    """Return why this key template must be refused for this job; an empty list means it is sound.

    Rules of TASK_RULES load with unbound names and without a time part (``lint_template`` names both).
    """
    try:
        names_in(template)
    except TemplateProblem as problem:
        return [str(problem)]
    return [] if job.source == "task_rules" else lint_template(template, job)


def check_names(template: str, job: Job) -> list[str]:
    """Return why a template of names (a flag, a date) cannot be rendered for every occurrence of the job."""
    try:
        used = names_in(template)
    except TemplateProblem as problem:
        return [str(problem)]
    if job.source == "task_rules":
        return []
    problems = [str(unknown_name(template, name, _declared(job))) for name in used if not _can_bind(name, job)]
    if empty := _empty_names(template, job, escape=False):
        problems.append(f'template "{template}" gives nothing, for {_are_empty(empty)}; write some text beside it')
    return problems


def lint_template(template: str, job: Job) -> list[str]:
    """Return every finding about a readable template: unbound names, nothing in it, no time part, subjects that collide."""
    used = set(names_in(template))
    problems = [
        str(unknown_name(template, name, _declared(job))) for name in names_in(template) if not _can_bind(name, job)
    ]
    if empty := _empty_names(template, job):
        problems.append(f'key "{template}" is empty, for {_are_empty(empty)}: the same thing would be done twice')
    many = job.is_series and not (isinstance(job.trigger, At) and len(job.trigger.moments) < 2)
    if many and not has_time_part(template):
        problems.append(
            f'key "{template}" has no time part: the second moment would be a duplicate of the first for ever; '
            "add {business_date} or {scheduled_for}"
        )
    if "subject" not in used:
        for name, values in job.each.items():
            covered = f"subject.{name}" in used or (name in used and name not in CORE_NAMES)
            if len(set(values)) > 1 and not covered:
                problems.append(
                    f'key "{template}" has no {{{name}}}, but the job runs for each {name}: '
                    f"{len(set(values)) - 1} of {len(set(values))} would be refused as duplicates; add {{{name}}}"
                )
        if job.scope == "each_worker" and "worker" not in used:
            problems.append(
                f'key "{template}" has no {{worker}}, but the job runs on each worker: '
                "all but one would be refused as duplicates; add {worker}"
            )
    return problems


class Bound(TypedDict, total=False):
    """What one occurrence binds.

    ``business_date`` is the ISO date the work is about, ``scheduled_for`` UTC microseconds; ``subject`` and
    ``subject_params`` are the subject's text and values (``channel=ops``, ``{"channel": "ops"}``); ``params`` are the
    occurrence's own, the job's are known as well; ``event`` holds the event's fields, ``id`` included, of an occurrence
    that an event made; ``worker`` is the incarnation, for jobs of scope each_worker.
    """

    business_date: Required[str]
    scheduled_for: Required[Micros]
    subject: str
    subject_params: Mapping[str, object] | None
    params: Mapping[str, object] | None
    event: Mapping[str, object] | None
    worker: str


def row_key(job: Job, **bound: Unpack[Bound]) -> str:
    """Render the key of one occurrence of ``job``.

    Raises:
        TemplateProblem: the template uses a name that this occurrence does not bind.
    """
    return render(template_of(job), names_of(job, **bound), default=unbound_text(job))


def names_of(job: Job, **bound: Unpack[Bound]) -> dict[str, object]:
    """Return the flat mapping that ``render`` looks names up in."""
    params = {**job.params, **(bound.get("params") or {})}
    names: dict[str, object] = {f"event.{name}": value for name, value in (bound.get("event") or {}).items()}
    names |= {f"params.{name}": value for name, value in params.items()}
    names |= {f"subject.{name}": value for name, value in (bound.get("subject_params") or {}).items()}
    names |= {
        "job": job.name,
        "business_date": bound["business_date"],
        "scheduled_for": bound["scheduled_for"],
        "occurrence": bound["scheduled_for"],
        "subject": bound.get("subject", ""),
        "worker": bound.get("worker", ""),
    }
    return names


def unbound_text(job: Job) -> str | None:
    """Return what an unbound name renders as: ``default`` in TASK_RULES, elsewhere None (refused)."""
    return "default" if job.source == "task_rules" else None


# --- what a job can bind ---------------------------------------------------------------------------


def _can_bind(name: str, job: Job) -> bool:
    """Say whether every occurrence of the job can know this name; events and calls bring names of their own."""
    head, dot, field = name.partition(".")
    if name == "worker":
        return job.scope == "each_worker"
    if name in CORE_NAMES:
        return True
    if not dot:
        return name in job.each or name in job.params or not job.is_series
    if head == "subject":
        return field in job.each
    if head == "params":
        return field in job.params or not job.is_series
    return isinstance(job.trigger, OnEvent)


def _empty_names(template: str, job: Job, *, escape: bool = True) -> tuple[str, ...]:
    """Return the names of which nothing is left in a row that the rule itself makes, () where something always is.

    A call and an event bring params of their own, so what the rule says is certain for the rows of a series alone.
    """
    names: dict[str, object] = {"subject": "x" if job.each else ""}
    names |= {f"subject.{name}": "" if "" in values else "x" for name, values in job.each.items()}
    if job.is_series:
        names |= {f"params.{name}": value for name, value in job.params.items()}
    try:
        is_empty = not render(template, names, default="x", escape=escape)
    except TemplateProblem:  # a value that no template takes, which is said elsewhere
        return ()
    return names_in(template) if is_empty else ()


def _are_empty(names: tuple[str, ...]) -> str:
    if names == ("subject",):
        return "the job has no each"
    return f"{' and '.join(names)} {'is' if len(names) == 1 else 'are'} empty"


def _declared(job: Job) -> dict[str, object]:
    names: dict[str, object] = dict.fromkeys(
        name for name in CORE_NAMES if name != "worker" or job.scope == "each_worker"
    )
    names |= {f"params.{name}": None for name in job.params}
    names |= {f"subject.{name}": None for name in job.each}
    return names
