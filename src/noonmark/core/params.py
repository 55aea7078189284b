"""What a call must give, and what it may: the params of a run against the templates and the function of its job.

Promise: a call that lacks what a template of the rule is made of, or gives what the job's function does not take, is
refused before anything is stored, and the error names the param, the template and the nearest name.  Rule of the file:
names are compared, and a template is rendered only where nothing may be left of it: an empty key would protect nothing.
TASK_RULES lack no name, because an unbound one means ``default`` there.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from noonmark.core import keys, templates
from noonmark.core.model import FlagSet, Job, OnEvent
from noonmark.core.values import dataclass


class MissingParamError(templates.TemplateProblem, TypeError):
    """A call or an event lacks a param.

    ``job`` is the job's name, ``names`` are the params, ``what`` is what needs them: ``key``, ``flag``, ``date``,
    ``subject``, ``lock`` (then ``template`` is its text) or ``function``.
    """

    def __init__(self, message: str, *, job: str, names: tuple[str, ...], what: str, template: str = "") -> None:
        super().__init__(message, name=names[0])
        self.job, self.names, self.what, self.template = job, names, what, template


class UnknownParamError(TypeError):
    """A call gives params that the job's function does not take.

    ``job`` is the job's name, ``names`` are the params, ``known`` are those that it takes, ``near`` is the one that was
    probably meant, or "".
    """

    def __init__(self, *, job: str, names: tuple[str, ...], known: tuple[str, ...]) -> None:
        self.job, self.names, self.known, self.near = job, names, known, nearest(names[0], known)
        takes = ", ".join(known) or "no params"
        meant = f"did you mean {self.near}?" if self.near else f"it takes {takes}"
        super().__init__(f"{job} does not take {', '.join(names)}; {meant}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Signature:
    """What a job's function takes: ``names`` of its parameters (None: any), ``needs`` those without a default."""

    names: frozenset[str] | None = None
    needs: tuple[str, ...] = ()


def refuse_missing(
    job: Job,
    names: Mapping[str, object],
    *,
    key: str | None,
    event: bool = False,
) -> None:
    """Refuse an occurrence whose templates could not be rendered.

    Args:
        names: what it binds, as ``keys.names_of`` returns it.
        key: the template of its key, None where the caller gave the key itself.
        event: the params are an event's fields; says how they are given.

    Raises:
        MissingParamError: names the first template that lacks something, and everything that it lacks; a template of
            which nothing is left lacks all that it is made of.
    """
    default = keys.unbound_text(job)
    for what, template in _templates(job, key):
        used = templates.names_in(template)
        lacking = tuple(name for name in used if default is None and not templates.binds(name, names))
        if not lacking and used and template[0] == "{":
            rendered = templates.render(template, names, default=default, escape=what == "key")
            lacking = () if rendered else used
        if lacking:
            bare = tuple(dict.fromkeys(name.rpartition(".")[2] for name in lacking))
            raise MissingParamError(
                _said(job, bare, what, template, event=event), job=job.name, names=bare, what=what, template=template
            )


def text_given(what: str, text: object) -> str:
    """Return a name that a caller gives a thing himself (``key``, ``id``), if it can tell two things apart.

    Raises:
        TypeError: it is no text.
        ValueError: it is empty, so that the same thing would be done twice, or no store can keep it.
    """
    if not isinstance(text, str):
        raise TypeError(f"{what} is {text!r}, which is no text; write {what}={str(text)!r}")
    if not text:
        raise ValueError(f"{what} is empty, so the same thing would be done twice; give one, or leave {what} out")
    return storable_text(what, text)


def storable_text(what: str, text: str) -> str:
    """Return a text if every store can keep it.

    Raises:
        ValueError: it has half a sign in it, as a file's name that is no UTF-8 has.
    """
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise ValueError(f"{what} {text[:100]!r} is no UTF-8 text: {error.reason}; decode it properly first") from None
    return text


def wanted_fields(job: Job) -> tuple[str, ...]:
    """Return the fields that every event of a job has to bring, because a template of the rule is made of them."""
    known = {*templates.CORE_NAMES, *job.each, *job.params, "id", "name"}
    found: dict[str, None] = {}
    for _, template in _templates(job, keys.template_of(job)):
        for name in templates.names_in(template):
            head, _, field = name.rpartition(".")
            # A param of the rule does not stand in for a field that is asked of the event by name.
            if field not in (("id", "name") if head == "event" else known) and head != "subject":
                found[field] = None
    return tuple(found)


def refuse_unfit(job: Job, signature: Signature, given: Collection[str]) -> None:
    """Refuse params that the job's function cannot be called with.

    Args:
        given: names of the call's params; those of the rule need not be said again.

    Raises:
        UnknownParamError: the function does not take one of them.
        MissingParamError: it needs one that nobody gives.
    """
    if signature.names is not None:
        known = signature.names | job.each.keys() | job.params.keys()
        unknown = tuple(name for name in given if name not in known)
        if unknown:
            raise UnknownParamError(job=job.name, names=unknown, known=tuple(sorted(known)))
    refuse_lacking(job, signature, given)


def refuse_lacking(job: Job, signature: Signature, given: Collection[str], *, event: bool = False) -> None:
    """Refuse params, or with ``event`` an event's fields, without which the job's function cannot be called.

    An event may tell more than the function takes, which gets what it names.

    Raises:
        MissingParamError: the function needs one that nobody gives.
    """
    lacking = tuple(name for name in signature.needs if name not in {*given, *job.params, *job.each})
    if not lacking:
        return
    why = "its function has no default for it"
    how = f"emit {job.trigger.name} with" if event and isinstance(job.trigger, OnEvent) else "pass"
    message = f"{job.name} needs {', '.join(lacking)}: {why}; {how} {_pass(lacking)}"
    raise MissingParamError(message, job=job.name, names=lacking, what="function")


def nearest(name: str, known: Collection[str]) -> str:
    """Return the known name that was probably meant, or ""."""
    from difflib import get_close_matches  # only on the way out: its import is not free

    return next(iter(get_close_matches(name, sorted(known), n=1, cutoff=0.6)), "")


def _templates(job: Job, key: str | None) -> Iterator[tuple[str, str]]:
    if key is not None:
        yield "key", key
    for condition in job.depends_on:
        if isinstance(condition, FlagSet):
            yield "flag", condition.flag
        else:
            yield "date", condition.date
            yield "subject", condition.job
    if job.lock is not None:
        yield "lock", job.lock.name


def _said(job: Job, names: tuple[str, ...], what: str, template: str, *, event: bool) -> str:
    why = f'its {what} "{template}" is made of it'
    if event and isinstance(job.trigger, OnEvent):
        return f"{job.name} needs {', '.join(names)}: {why}; emit {job.trigger.name} with {_pass(names)}"
    return f"{job.name} needs {', '.join(names)}: {why}; pass {_pass(names)}"


def _pass(names: tuple[str, ...]) -> str:
    return ", ".join(f"{name}=…" for name in names)
