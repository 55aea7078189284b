"""Our own sentences around the words of others: what was put in is looked over, what we wrote is not.

Promise: no word of ours is taken for a secret because the name before it reads like one (a job may be called ``token``),
and a secret in what somebody else wrote is hidden.  Rule of the file: a text that is no ``Told`` is searched as a whole
where it is shown, so that what is forgotten here hides too much, never too little.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from noonmark.core.shown import Told, redacted

__all__ = ["NAMES", "Told", "job_told", "joined", "key_told", "told"]

NAMES = frozenset({"job", "jobs", "other", "template"})
"""Values of a sentence that are the names of jobs, or a template of a key as the rules have it: told as they are."""


def told(template: str, /, **args: object) -> Told:
    """Return a sentence of ours filled in: what is not a name, a number or a text of ours loses its secrets."""
    return Told(template.format(**{name: value if name in NAMES else _outside(value) for name, value in args.items()}))


def _outside(value: Any) -> Any:
    if value is None or isinstance(value, (int, float, Told)):
        return value
    return redacted(value if isinstance(value, str) else str(value))


def joined(parts: Iterable[str], by: str = "\n") -> Told:
    """Return texts as one; those that are not ours lose their secrets."""
    return Told(by.join(map(redacted, parts)))


def job_told(job: str, subject: str = "") -> Told:
    """Return the name of a job as it is, and which of its subjects is meant."""
    return Told(f"{job}[{redacted(subject)}]" if subject else job)


def key_told(job: str, key: str) -> Told:
    """Return a key of a job: its name, which a key begins with unless told otherwise, as it is; the rest without secrets."""
    begins = job if key.startswith((f"{job}:", f"{job}[")) else ""
    return Told(begins + redacted(key.removeprefix(begins)))
