"""Jobs written back as a rules file that a person would have written, and that loads as the same jobs.

Rule of the file: every text that another YAML reader could take for a number, a time or a truth value is quoted.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeAlias

from noonmark.core.codec import job_to_yaml_dict
from noonmark.core.model import Job

HEAD = """\
# yaml-language-server: $schema=noonmark.schema.json     (noonmark schema > noonmark.schema.json)
# Weekdays in cron: names are preferred (mon-fri); as numbers 0 and 7 are Sunday, 6 is Saturday.
"""
_TRICKY = frozenset({"yes", "no", "on", "off", "y", "n", "true", "false", "null", "inf", "nan"})


Look: TypeAlias = Callable[[Job, dict[str, Any]], dict[str, Any]]


def to_yaml(jobs: Iterable[Job], *, look: Look = lambda _, rule: rule) -> str:
    """Return the jobs as the text of a rules file; what goes without saying is left out.

    Args:
        jobs: what is written.
        look: goes over each rule before it is written, such as to hide secrets in it.
    """
    from ruamel.yaml import YAML

    document: dict[str, Any] = {"version": 1, "jobs": {job.name: look(job, job_to_yaml_dict(job)) for job in jobs}}
    yaml = YAML(typ="rt")
    yaml.width, yaml.allow_unicode = 120, True
    yaml.indent(mapping=2, sequence=4, offset=2)
    out = io.StringIO()
    yaml.dump(_quoted(document), out)
    return HEAD + out.getvalue()


def _quoted(value: Any) -> Any:
    """Quote every text that is not plainly a word."""
    from ruamel.yaml.scalarstring import DoubleQuotedScalarString

    if isinstance(value, Mapping):
        return {_quoted(str(name)): _quoted(item) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_quoted(item) for item in value]
    if isinstance(value, str) and (not value.replace("_", "a").replace("-", "a").isalpha() or value.lower() in _TRICKY):
        return DoubleQuotedScalarString(value)
    return value
