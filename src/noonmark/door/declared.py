"""What is declared: decorated functions and rules files, brought together.

Rule of the file: the file wins over the code, job by job and whole; the code then only lends its function.  Names are
matched with ``-`` and ``_`` taken for the same, because a file says ``daily-digest`` where Python must say
``daily_digest``.
"""

from __future__ import annotations

import dataclasses
import inspect
import os
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, Required, TypeAlias, TypedDict

from noonmark.core import model
from noonmark.core.params import Signature
from noonmark.core.urls import LOCK_KINDS
from noonmark.core.values import dataclass
from noonmark.rules import checks, parts
from noonmark.rules.problems import Place, Problem, ProblemList
from noonmark.rules.tree import nearest


class NoSuchJobError(LookupError):
    """There is no job of this name; the message names the nearest."""


class JobWords(TypedDict, total=False):
    """The words of ``@sched.job``; the fields of a rules file have the same names."""

    reason: Required[str]
    name: str
    key: str
    window: model.Window | None
    guardrails: model.Guardrails
    allow_weekend: bool
    depends_on: Sequence[model.Condition | str]
    retry: model.Retry | int
    catch_up: model.CatchUp
    each: Mapping[str, Sequence[str]]
    params: Mapping[str, Any]
    lease: parts.Length
    timeout: parts.Length
    overlap: Literal["skip", "queue_all", "allow"]
    lock: str | Mapping[str, Any]
    on_lost: Literal["takeover", "wait", "manual"]
    max_takeovers: int
    on_rollback: Literal["hold", "run"]
    scope: Literal["cluster", "each_worker"]
    isolation: Literal["", "process"]
    business_date: Literal["same", "previous_day"]
    owner: str


_CHOICES: dict[str, tuple[str, ...]] = {
    "overlap": ("skip", "queue_all", "allow"),
    "on_lost": ("takeover", "wait", "manual"),
    "on_rollback": ("hold", "run"),
    "scope": ("cluster", "each_worker"),
    "isolation": ("", "process"),
    "business_date": ("same", "previous_day"),
}
_LATER_CHOICES = {"overlap": ("queue_one", "cancel_previous")}
_KINDS: dict[str, tuple[type, ...]] = {
    "reason": (str,), "name": (str,), "key": (str,), "owner": (str,), "window": (model.Window, type(None)),
    "guardrails": (model.Guardrails,), "allow_weekend": (bool,), "retry": (model.Retry, int),
    "catch_up": (model.CatchUp,),
    "each": (Mapping,), "params": (Mapping,), "depends_on": (list, tuple), "max_takeovers": (int,),
    "lock": (str, Mapping),
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeJob:
    """A decorated function; ``job`` None: its rule is in a file."""

    name: str
    function: Callable[..., Any]
    place: Place
    job: model.Job | None


def place_of(function: Callable[..., Any]) -> Place:
    """Return where a function is written."""
    code = getattr(inspect.unwrap(function), "__code__", None)
    return Place(file=code.co_filename, line=code.co_firstlineno, column=1) if code else Place(file=repr(function))


def job_from_words(trigger: Any, function: Callable[..., Any], words: Mapping[str, Any]) -> model.Job:
    """Build the job of a decorated function.

    Raises:
        ProblemList: everything that is wrong with it, in the words of the rules file.
    """
    name = str(words.get("name") or getattr(function, "__name__", ""))
    place, problems = place_of(function), list[Problem]()

    def say(path: parts.Path, code: str, /, **detail: Any) -> None:
        spelled = ".".join(["jobs", name, *(str(part) for part in path)])
        problems.append(Problem(code=code, place=place, path=spelled, job=name, detail=detail))

    known = _sound_words(words, say)
    if not isinstance(trigger, (model.Cron, model.Every, model.At, model.OnEvent, model.Manual)):
        say(("schedule",), "no_trigger")
        trigger = model.Manual()
    if isinstance(trigger, model.At) and not trigger.moments:
        say(("schedule",), "no_trigger")
    checks.check_name(name, say)
    job = _assemble(name, trigger, known, say)
    checks.check_job(job, say)
    _check_function(job, function, say)
    if problems:
        raise ProblemList(problems)
    return job


def _sound_words(words: Mapping[str, Any], say: parts.Say) -> dict[str, Any]:
    """Return the words that are known and of the right kind; say the others."""
    sound: dict[str, Any] = {}
    for name, value in words.items():
        if name not in JobWords.__annotations__:
            close = nearest(name, JobWords.__annotations__)
            hint = f'did you mean "{close}"?' if close else f"known here: {', '.join(sorted(JobWords.__annotations__))}"
            say(
                (name,),
                "unknown_field",
                hint=hint,
                hint_zh=hint.replace("did you mean", "是否想写").replace("known here", "可用"),
            )
        elif name in _CHOICES and value not in _CHOICES[name]:
            choices = ", ".join(choice for choice in _CHOICES[name] if choice)
            if value in _LATER_CHOICES.get(name, ()):
                say((name,), "later_value", value=value, choices=choices)
            else:
                say(
                    (name,), "bad_choice", value=value, choices=choices, hint="choose one of them", hint_zh="请选择其一"
                )
        elif name in _KINDS and (
            not isinstance(value, _KINDS[name]) or (isinstance(value, bool) and bool not in _KINDS[name])
        ):
            kinds = " or ".join(kind.__name__ for kind in _KINDS[name])
            shown = {"wanted": kinds, "wanted_zh": kinds, "got": repr(value)[:60], "got_zh": repr(value)[:60]}
            say((name,), "wrong_type", **shown, hint="correct it", hint_zh="请改正")
        else:
            sound[name] = value
    return sound


def _assemble(name: str, trigger: model.Trigger, words: Mapping[str, Any], say: parts.Say) -> model.Job:
    usual = model.Job(name=name, trigger=trigger, reason=str(words.get("reason", "")))
    retry = words.get("retry", usual.retry)
    guardrails = words.get("guardrails", usual.guardrails)
    if "allow_weekend" in words:
        if "guardrails" in words:
            say(("allow_weekend",), "said_twice", other="guardrails")
        guardrails = model.Guardrails(allow_weekend=words["allow_weekend"])
    as_is = (
        "key",
        "owner",
        "window",
        "catch_up",
        "overlap",
        "on_lost",
        "max_takeovers",
        "on_rollback",
        "scope",
        "isolation",
        "business_date",
    )
    chosen: dict[str, Any] = {word: words[word] for word in as_is if word in words}
    for word in ("timeout", "lease"):
        if word in words:
            chosen[word] = parts.length(words[word], (word,), say)
    return dataclasses.replace(
        usual,
        **chosen,
        params=dict(words.get("params", {})),
        each={subject: _texts(subject, values, say) for subject, values in words.get("each", {}).items()},
        guardrails=guardrails,
        depends_on=_conditions(words.get("depends_on", ()), say),
        lock=_lock(words["lock"], say) if "lock" in words else None,
        retry=model.Retry(max=retry) if isinstance(retry, int) else retry,
    )


def _texts(subject: str, values: Any, say: parts.Say) -> tuple[str, ...]:
    if (
        isinstance(values, str)
        or not isinstance(values, Iterable)
        or not all(isinstance(value, str) for value in values)
    ):
        say(("each", subject), "bad_each", error=f'"{subject}" is no list of text')
        return ("",)
    return tuple(values)


_LOCK_WORDS: dict[str, tuple[str, ...]] = {
    "name": (),
    "kind": LOCK_KINDS,
    "at": (),
    "busy": ("skip", "wait"),
    "ttl": (),
    "reason": (),
}
"""The words of a lock, with what may be chosen."""


def _lock(value: str | Mapping[str, Any], say: parts.Say) -> model.LockRule:
    words = {"name": value} if isinstance(value, str) else dict(value)
    for name in list(words):
        if name not in _LOCK_WORDS:
            close = nearest(name, _LOCK_WORDS)
            known = ", ".join(_LOCK_WORDS)
            hint, hint_zh = (
                (f'did you mean "{close}"?', f"是否想写“{close}”？")
                if close
                else (f"known here: {known}", f"这里可用：{known}")
            )
            say(("lock", name), "unknown_field", hint=hint, hint_zh=hint_zh)
            del words[name]
        elif _LOCK_WORDS[name] and words[name] not in _LOCK_WORDS[name]:
            detail = {"value": words[name], "choices": ", ".join(_LOCK_WORDS[name])}
            say(("lock", name), "bad_choice", **detail, hint="choose one of them", hint_zh="请选择其一")
            del words[name]
    return parts.lock(words, ("lock",), say)


def _conditions(values: Iterable[Any], say: parts.Say) -> tuple[model.Condition, ...]:
    read: list[model.Condition] = []
    for index, value in enumerate(values):
        if isinstance(value, str):
            read.append(model.FlagSet(flag=value))
        elif isinstance(value, (model.FlagSet, model.Succeeded)):
            read.append(value)
        else:
            say(("depends_on", index), "bad_condition", count=0)
    return tuple(read)


def _check_function(job: model.Job, function: Callable[..., Any], say: parts.Say) -> None:
    """A series job whose function needs more than the rule gives would fail at every run."""
    if job.isolation == "process" and "<locals>" in getattr(function, "__qualname__", ""):
        say(("isolation",), "process_needs_module")
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        say((), "function_yields", function=job.name)
    if not job.is_series:
        return
    for name in takes_of(function).needs:
        if name not in job.params and name not in job.each:
            say(("params",), "handler_needs", function=job.name, value=name)


def context_parameter(function: Callable[..., Any]) -> str | None:
    """Return the name of the parameter that wants the run's context, by its annotation."""
    for parameter in inspect.signature(function).parameters.values():
        annotation = parameter.annotation
        text = annotation if isinstance(annotation, str) else getattr(annotation, "__name__", "")
        if text.rpartition(".")[2] in ("Context", "ContextSync"):
            return parameter.name
    return None


def takes_of(function: Callable[..., Any]) -> Signature:
    """Return which params a job's function takes, and which it needs; the run's context is none of them."""
    context = context_parameter(function)
    parameters = [each for each in inspect.signature(function).parameters.values() if each.name != context]
    named = [each for each in parameters if each.kind in (each.POSITIONAL_OR_KEYWORD, each.KEYWORD_ONLY)]
    takes_all = any(each.kind is each.VAR_KEYWORD for each in parameters)
    return Signature(
        names=None if takes_all else frozenset(each.name for each in named),
        needs=tuple(each.name for each in named if each.default is each.empty),
    )


def fold(name: str) -> str:
    """Return the name as files and code agree on it."""
    return name.replace("-", "_")


def named(jobs: Mapping[str, model.Job], name: str) -> model.Job:
    """Return the job of this name.

    Raises:
        NoSuchJobError: there is none; the message names the nearest.
    """
    job = jobs.get(name) or next((job for known, job in jobs.items() if fold(known) == fold(name)), None)
    if job is None:
        close = nearest(name, jobs)
        raise NoSuchJobError(f"there is no job {name!r}" + (f"; did you mean {close!r}?" if close else ""))
    return job


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """Every job in force in this process: its rule, and the function that the code lends it."""

    jobs: Mapping[str, model.Job]
    functions: Mapping[str, Callable[..., Any]]


def bring_together(
    code: Iterable[CodeJob], loads: Sequence[Any], *, tell: Callable[[Problem], None] | None = None
) -> Rules:
    """Merge decorated functions with loaded files.

    Args:
        code: decorated functions.
        loads: what was read of files.
        tell: is told of each bad job, which is left out; None refuses all of them for one.

    Raises:
        ProblemList: a job declared by two files, or nothing that could run a job, where nobody is told.
    """
    functions = {fold(each.name): each for each in code}
    jobs: dict[str, model.Job] = {each.name: each.job for each in functions.values() if each.job is not None}
    bound = {each.name: each.function for each in functions.values() if each.job is not None}
    problems: list[Problem] = []
    from_file: dict[str, Place] = {}
    for loaded in loads:
        for job in loaded.jobs:
            place, path = loaded.place(job.name)
            if fold(job.name) in from_file:
                detail = {"value": job.name, "first": str(from_file[fold(job.name)])}
                problems.append(Problem(code="declared_twice", place=place, path=path, job=job.name, detail=detail))
                continue
            from_file[fold(job.name)] = place
            lender = functions.get(fold(job.name))
            if lender is not None:
                jobs.pop(lender.name, None)
                bound.pop(lender.name, None)
                bound[job.name] = lender.function
            elif checks.needs_handler(job):
                problems.append(Problem(code="nothing_to_run", place=place, path=path, job=job.name))
            jobs[job.name] = job
    problems.extend(
        Problem(code="no_trigger", place=each.place, path=f"jobs.{each.name}", job=each.name)
        for each in functions.values()
        if each.job is None and fold(each.name) not in from_file
    )
    left_out = [problem for loaded in loads for problem in loaded.problems]
    problems.extend(_together(jobs, functions, {problem.job for problem in left_out}))
    if problems and tell is None:
        raise ProblemList(problems)
    if tell is not None:
        problems.extend(left_out)
        for problem in problems:
            tell(problem)
        # Of a job whose file is wrong the code's rule must not come into force in its place.
        bad = {fold(problem.job) for problem in problems}
        jobs = {name: job for name, job in jobs.items() if fold(name) not in bad}
    return Rules(jobs=jobs, functions={name: bound[name] for name in bound if name in jobs})


def _together(jobs: Mapping[str, model.Job], functions: Mapping[str, CodeJob], known: Collection[str]) -> list[Problem]:
    problems: list[Problem] = []

    def say(name: str, path: parts.Path, code: str, /, **detail: Any) -> None:
        lender = functions.get(fold(name))
        place = lender.place if lender else Place()
        spelled = ".".join(["jobs", name, *(str(part) for part in path)])
        problems.append(Problem(code=code, place=place, path=spelled, job=name, detail=detail))

    checks.check_together(jobs, known, say)
    return problems


RULES_FILE = "noonmark.yaml"
Files: TypeAlias = str | Path | Sequence[str | Path] | Literal[False] | None


def rule_files(rules: Files, beside: Path) -> tuple[Path, ...]:
    """Return the rules files of a scheduler: those named, else NOONMARK_RULES, else a noonmark.yaml that is there."""
    if rules is False:
        return ()
    if rules is None:
        named = os.environ.get("NOONMARK_RULES", "").strip()
        if named:
            return tuple(Path(part) for part in named.split(os.pathsep) if part)
        here = Path(RULES_FILE)
        found = next((place for place in (beside / RULES_FILE, here) if place.is_file()), None)
        return (found,) if found else ()
    if isinstance(rules, (str, Path)):
        return (Path(rules),)
    return tuple(Path(rule) for rule in rules)
