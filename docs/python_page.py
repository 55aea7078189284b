"""The reference of the Python side, from signatures and docstrings: what ``import noonmark`` offers, and templates.

Rule of the file: every word about a name is that name's own docstring; only the headings are written here.
"""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator
from typing import Any

import noonmark
from noonmark.core import templates
from noonmark.door.declared import JobWords

GROUPS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("Jobs and workers", ("Scheduler", "JobHandle")),
    ("When: triggers", ("cron", "every", "at", "on_event", "manual")),
    ("On which ground: conditions and rules", ("ready", "succeeded", "Window", "Guardrails", "CatchUp", "Retry")),
    ("Inside a job", ("Context", "ContextSync", "RetryLater", "DoNotRetry", "EffectUnknown", "LeaseLost")),
    ("Answers", ("Enqueued", "Emitted", "Evaluation", "Verdict", "State")),
    ("Errors", (
        "ProblemList", "NoSuchJobError", "MissingParamError", "UnknownParamError",
        "StoreError", "StoreUnreachable", "StoreUnusable",
    )),
    ("The store itself", ("open_store",)),
)  # fmt: skip

HEAD = """\
# Python

What `from noonmark import …` offers. Lengths are texts such as `"90s"`, `"1h30m"`, or timedeltas; moments are aware
datetimes. [The tutorial](../tutorial.md) shows them at work; [the rules file](rules.md) says the same as YAML.
"""


def python_page() -> str:
    """Return the page."""
    missing = set(noonmark.__all__) - {name for _, names in GROUPS for name in names}
    if missing:
        raise LookupError(f"no group of the Python reference has {', '.join(sorted(missing))}")
    lines = [HEAD]
    for title, names in GROUPS:
        lines.append(f"## {title}\n")
        for name in names:
            lines += _entry(name)
    return "\n".join([*lines, *_names_of_templates()]).rstrip() + "\n"


def _entry(name: str) -> Iterator[str]:
    thing = getattr(noonmark, name)
    is_error = inspect.isclass(thing) and issubclass(thing, BaseException)
    is_choice = inspect.isclass(thing) and not is_error and hasattr(thing, "__members__")
    yield f"### `{name}`\n"
    if not is_choice:
        yield f"```python\n{name}{_signature(thing)}\n```\n"
    yield _prose(thing)
    if is_choice:
        yield "One of " + ", ".join(f"`{value}`" for value in thing) + ".\n"
    if not inspect.isclass(thing) or is_error or is_choice:
        return
    for member, value in vars(thing).items():
        if member.startswith("_") or not (callable(value) or isinstance(value, property)) or not inspect.getdoc(value):
            continue
        shown = f"{name}.{member}" if isinstance(value, property) else f"{name}.{member}{_signature(value)}"
        yield f"#### `.{member}`\n"
        yield f"```python\n{shown}\n```\n"
        yield _prose(value)
        if member == "job":
            yield from _words()


def _words() -> Iterator[str]:
    yield "The words, beside `trigger`:\n"
    yield "\n".join(f"- `{name}: {_short(str(of))}`" for name, of in _plain(JobWords.__annotations__)) + "\n"


def _plain(annotations: dict[str, Any]) -> Iterator[tuple[str, str]]:
    for name, of in annotations.items():
        yield name, getattr(of, "__forward_arg__", str(of))


def _signature(thing: Any) -> str:
    """Return the arguments as the source has them; those of overloads are the most general ones."""
    try:
        signature = inspect.signature(thing)
    except ValueError:  # an error that takes its message and nothing else
        return "(message)"
    parameters = [one for one in signature.parameters.values() if one.name not in ("self", "cls", "_self")]
    text = str(signature.replace(parameters=parameters))
    text = re.sub(r"'([^']*)'", lambda match: _short(match[1]), text)
    return text.removesuffix(" -> None") if inspect.isclass(thing) else text


def _short(annotation: str) -> str:
    """Return an annotation without the modules in it; a text that is no annotation stays a text."""
    try:
        ast.parse(annotation, mode="eval")
    except SyntaxError:
        return repr(annotation)
    return re.sub(r"\b(?:parts|model|datetime)\.(?=[A-Z])", "", annotation)


def _prose(thing: Any) -> str:
    """Return a docstring as Markdown: its arguments, returns and errors become lists."""
    lines: list[str] = []
    for block in (inspect.getdoc(thing) or "").replace("``", "`").split("\n\n"):
        head, _, rest = block.partition("\n")
        if head in ("Args:", "Raises:", "Returns:"):
            joined = re.sub(r"\n {8,}", " ", rest)
            entries = [line.strip().partition(": ") for line in joined.splitlines()]
            said = [f"- `{name}`: {what}" if what else f"- {name}" for name, _, what in entries]
            lines.append(
                "\n".join([{"Args:": "Arguments:", "Raises:": "Errors:", "Returns:": "Returns:"}[head], "", *said])
            )
        else:
            lines.append(" ".join(block.split("\n")))
    return "\n\n".join(lines) + "\n"


def _names_of_templates() -> Iterator[str]:
    """Yield which names a template may use, in keys, flags, dates and names of locks."""
    yield "## Names in templates\n"
    yield "A key, a flag, a date or a lock's name is a template. It may use\n"
    yield "\n".join(f"- `{{{name}}}`" for name in templates.CORE_NAMES)
    spaces = ", ".join(f"`{{{space}.NAME}}`" for space in templates.NAMESPACES)
    yield f"- {spaces}; a bare `{{NAME}}` is looked for in these, in this order\n"
    yield (
        "and nothing else. Dates and moments take a format of fixed-width numbers, `{business_date:%Y%m}`. "
        + " ".join(f"`{{{old}}}` is `{{{new}}}`." for old, new in templates.ALIASES.items())
        + "\n"
    )
