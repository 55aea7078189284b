"""``noonmark schema``: the JSON Schema of rules files, for editors."""

from __future__ import annotations

import json

import click

from noonmark.faces.cli import problems
from noonmark.faces.cli.lazy import Command


@click.command(cls=Command)
def schema() -> int:
    """Print the JSON Schema of rules files (noonmark schema > noonmark.schema.json)."""
    from noonmark.rules.schema import schema as rules_schema

    click.echo(json.dumps(rules_schema(), indent=2, ensure_ascii=False))
    return problems.OK
