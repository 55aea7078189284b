"""What a person writes as ``--param``: read, and held against the rule and the job's function.

Rule of the file: nothing is stored that the run could not be called with; what cannot be known here is said, not guessed.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from noonmark.core import keys
from noonmark.core.codec import check_payload
from noonmark.core.model import FlagSet, Job
from noonmark.core.params import MissingParamError, UnknownParamError, nearest, refuse_unfit
from noonmark.explain.find import NotFound
from noonmark.faces.cli import problems
from noonmark.faces.cli.session import Session

if TYPE_CHECKING:
    from noonmark.door.declared import Rules

_PARTS = {
    "key": "part_key",
    "flag": "part_flag",
    "date": "part_date",
    "subject": "part_subject",
    "lock": "part_lock",
}
"""What a template is a part of -> its word."""


def read_params(texts: tuple[str, ...]) -> dict[str, Any]:
    """Return the params of ``--param K=V``, values read as JSON where they are JSON."""
    found: dict[str, Any] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name:
            raise problems.Trouble("bad_param", text=text)
        if name in found:
            raise problems.Trouble("param_twice", param=name)
        found[name] = read_value("--param", value)
    try:
        check_payload("--param", found)
    except (TypeError, ValueError) as error:
        raise problems.Trouble("bad_payload", error=str(error)) from None
    return found


def read_json(option: str, text: str) -> Any:
    """Return what an option for JSON was given; a bare word is a text, but what begins as JSON must be it.

    A mistyped object must not become a text that somebody waits for in vain.
    """
    if text.lstrip()[:1] in ("{", "[", '"'):
        try:
            json.loads(text)
        except RecursionError:
            raise problems.Trouble("too_deep", option=option) from None
        except ValueError as error:
            raise problems.Trouble("bad_json", option=option, text=text[:100], error=str(error)) from None
    return read_value(option, text)


def read_value(option: str, text: str) -> Any:
    """Return what an option was given: JSON where it is JSON, else the text as it stands."""
    try:
        return json.loads(text)
    except ValueError:
        return text
    except RecursionError:
        raise problems.Trouble("too_deep", option=option) from None


def check_params(here: Session, rule: Job, given: dict[str, Any], app: str | None, rules: Rules | None) -> bool:
    """Refuse params that the job's function does not take, or lacks, as it stands in ``app``; a command takes any.

    Returns:
        False where nobody could say: there is no app, or it does not have the job and its ``rules`` are not given.
    """
    if rule.command or app is None:
        return rule.command != ()
    from noonmark.faces.cli.apps import signature_of

    try:
        with missing_told(here, given):
            refuse_unfit(rule, signature_of(app, rule.name, rules), given)
    except NotFound:
        if rules is not None:
            raise
        return False
    except UnknownParamError as error:
        names = ", ".join(error.names)
        known = ", ".join(error.known) or here.word("no_params")
        if error.near:
            told: dict[str, Any] = {"name": error.names[0], "near": error.near}
            raise problems.Trouble("param_near", job=rule.name, names=names, known=known, **told) from None
        raise problems.Trouble("param_unknown", job=rule.name, names=names, known=known) from None
    return True


def remark_unchecked(here: Session, rule: Job, given: dict[str, Any]) -> None:
    """Remark on params that the rule does not name: only its function could say whether it takes them."""
    unknown = [name for name in given if name not in _named(rule)]
    if unknown:
        here.remark(here.word("params_unchecked", job=rule.name, names=", ".join(unknown)))


@contextmanager
def missing_told(here: Session, given: dict[str, Any]) -> Iterator[None]:
    """Say which param is missing, what is made of it, and how it is given."""
    try:
        yield
    except MissingParamError as error:
        job, names = error.job, ", ".join(error.names)
        add = " ".join(f"--param {name}=…" for name in error.names)
        if error.what == "function":
            raise problems.Trouble("param_needed", job=job, names=names, add=add) from None
        part = here.word(_PARTS[error.what])
        told: dict[str, Any] = {"job": job, "names": names, "part": part, "template": error.template, "add": add}
        close = nearest(error.names[0], given)
        if close and close not in _names(error.template):
            raise problems.Trouble("param_misspelt", **told, given=close) from None
        raise problems.Trouble("param_missing", **told) from None


def _named(rule: Job) -> set[str]:
    """Return every param that the rule itself names: its own, its subjects', those of its templates."""
    texts = [keys.template_of(rule), *(item.flag for item in rule.depends_on if isinstance(item, FlagSet))]
    if rule.lock is not None:
        texts.append(rule.lock.name)
    return {*rule.params, *rule.each, *(name for text in texts for name in _names(text))}


def _names(template: str) -> set[str]:
    return {name.rpartition(".")[2] for name in keys.names_in(template) if name not in keys.CORE_NAMES}
