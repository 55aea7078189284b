"""``noonmark schema``: the JSON Schema of rules files, for editors."""

from __future__ import annotations

import json
import sys

import click

from noonmark.faces.cli import problems
from noonmark.faces.cli.lazy import Command
from noonmark.faces.cli.settings import writes_unicode


@click.command(cls=Command)
def schema() -> int:
    """Print the JSON Schema of rules files (noonmark schema > noonmark.schema.json)."""
    from noonmark.rules.schema import schema as rules_schema

    click.echo(json.dumps(rules_schema(), indent=2, ensure_ascii=not writes_unicode(sys.stdout)))
    return problems.OK
