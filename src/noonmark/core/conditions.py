"""Conditions as facts: which stored fact answers a condition, and how it reads.

Promise: the name that a condition waits for and the name that a success or a signal raises are made here and nowhere
else, so they cannot drift apart.  Rule of the file: names in, names out; whether a fact holds is asked in ``decide``.

A success is a fact of (job, subject, business date).  ``Succeeded(job="index")`` means the run without a subject;
``Succeeded(job="digest[channel=ops]")`` means that of one subject, and the brackets may hold a template.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from itertools import product

from noonmark.core import keys
from noonmark.core.model import FACT_LIMIT, KEY_LIMIT, NAME_LIMIT, Condition, FlagSet, Job, Occurrence, OnEvent
from noonmark.core.weight import weight

_FLAG = "flag:"
_SUCCESS = "success:"
_LOCK = "lock:"
_SHOWN = 100


def fact_name(condition: Condition, job: Job, row: Occurrence) -> str:
    """Return the name of the fact that answers ``condition`` for this occurrence.

    Raises:
        TemplateProblem: the condition's template uses a name that this occurrence does not bind, or gives a longer name
            than any fact can have.
    """
    if isinstance(condition, FlagSet):
        return _kept(_FLAG + _rendered(condition.flag, job, row), condition.flag)
    name, subject = _upstream(condition.job)
    return _kept(_success(name, _rendered(subject, job, row), _rendered(condition.date, job, row)), condition.job)


def lock_fact(job: Job, row: Occurrence) -> str:
    """Return the name of the fact that stands for the job's outside lock, "" when it has none.

    Raises:
        TemplateProblem: the lock's name uses a name that this occurrence does not bind, or is empty or too long for it.
    """
    if job.lock is None:
        return ""
    name = _rendered(job.lock.name, job, row)
    if not name:
        raise keys.TemplateProblem(
            f'template "{job.lock.name}" gives no name for a lock here; write some text beside it'
        )
    return _kept(_LOCK + name, job.lock.name)


def freed_fact(lock: str) -> str:
    """Return the name of the stored fact that a run raises when it is about to give a lock back."""
    return _LOCK + lock


def lock_name(fact: str) -> str:
    """Return which lock a fact of ``lock_fact`` is about, "" for any other fact."""
    return fact.removeprefix(_LOCK) if fact.startswith(_LOCK) else ""


def success_fact(job: Job, row: Occurrence) -> str:
    """Return the name of the fact that a SUCCESS of this occurrence raises."""
    return _success(job.name, row.subject, row.business_date)


def wanted_text(name: str) -> str:
    """Return a fact's name as a person reads it: ``flag etl.done:2026-11-28``, ``index succeeded for 2026-11-28``."""
    kind, subject, date = fact_subject(name)
    if kind == "success":
        return f"{subject} succeeded for {date}"
    return f"flag {subject}" if kind == "flag" else name


def fact_subject(name: str) -> tuple[str, str, str]:
    """Split a fact's name: ``("flag", NAME, "")``, ``("success", JOB[SUBJECT], DATE)``, else ``("", name, "")``."""
    if name.startswith(_FLAG):
        return "flag", name.removeprefix(_FLAG), ""
    if name.startswith(_SUCCESS):
        job, _, rest = name.removeprefix(_SUCCESS).partition(":")
        subject, _, date = rest.rpartition(":")
        return "success", f"{job}[{subject}]" if subject else job, date
    return "", name, ""


def missing_code(condition: Condition) -> str:
    """Return the reason code for a condition that does not hold."""
    return "flag_missing" if isinstance(condition, FlagSet) else "dependency_missing"


def upstream_job(condition: Condition) -> tuple[str, str]:
    """Return (job name, subject template) of a condition on another job, ("", "") for a flag."""
    return ("", "") if isinstance(condition, FlagSet) else _upstream(condition.job)


def _success(job: str, subject: str, date: str) -> str:
    # Neither a job's name nor a date holds a colon, so the subject in the middle may.
    return f"{_SUCCESS}{job}:{subject}:{date}"


def _kept(name: str, template: str) -> str:
    """Let a name through that a store can keep; one that is too long would take the whole batch of looks along."""
    if len(name) * 4 <= FACT_LIMIT:  # a character has four bytes at most
        return name
    size = weight(name)
    if size > FACT_LIMIT:
        raise keys.TemplateProblem(_too_long(template, f"{size} bytes, more than {FACT_LIMIT}"))
    if name.startswith(_FLAG) and len(name) > NAME_LIMIT:  # nobody could set it
        raise keys.TemplateProblem(_too_long(template, f"{len(name)} characters, more than {NAME_LIMIT}"))
    return name


def _too_long(template: str, size: str) -> str:
    shown = template if len(template) <= _SHOWN else template[:_SHOWN] + "…"
    return f'template "{shown}" gives a name of {size}; use an id or a digest of the long value'


def _upstream(text: str) -> tuple[str, str]:
    if text.endswith("]") and "[" in text:
        name, _, subject = text[:-1].partition("[")
        return name, subject
    return text, ""


def _rendered(template: str, job: Job, row: Occurrence) -> str:
    if "{" not in template and "}" not in template:
        return template
    params = _object(row.params)
    names = keys.names_of(
        job,
        business_date=row.business_date,
        scheduled_for=row.scheduled_for,
        subject=row.subject,
        subject_params=_subject_values(row.subject, tuple((name, tuple(values)) for name, values in job.each.items())),
        params=params,
        event=params if isinstance(job.trigger, OnEvent) else None,
        worker=row.worker,
    )
    return keys.render(template, names, default=keys.unbound_text(job), escape=False)


def _object(text: str) -> Mapping[str, object]:
    try:
        value = json.loads(text)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


@lru_cache(maxsize=4096)
def _subject_values(text: str, each: tuple[tuple[str, tuple[str, ...]], ...]) -> Mapping[str, object]:
    """Return the values behind a subject's text; empty for a subject that the rule no longer has."""
    if not text or not each:
        return {}
    if len(each) == 1:
        return {each[0][0]: text.removeprefix(f"{each[0][0]}=")}
    names = tuple(name for name, _ in each)
    for values in product(*(values for _, values in each)):
        if ",".join(f"{name}={value}" for name, value in zip(names, values, strict=True)) == text:
            return dict(zip(names, values, strict=True))
    return {}


def check_flag_name(name: str) -> None:
    """Refuse a name under which nobody could find a flag again.

    Raises:
        ValueError: it is empty, too long, or has signs that no terminal shows.
    """
    if not name.strip():
        raise ValueError("a flag needs a name, for example daily_etl.finished:2026-11-28")
    if len(name) > KEY_LIMIT:
        raise ValueError(
            f"the name of the flag has {len(name)} characters, more than {KEY_LIMIT}; give it a shorter one"
        )
    if not name.isprintable():
        raise ValueError(f"the name of the flag has signs that cannot be shown: {name!r}")
