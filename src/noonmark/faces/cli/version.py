"""``noonmark version``: what is in use here."""

from __future__ import annotations

import click

from noonmark.faces.cli import problems
from noonmark.faces.cli.lazy import Command
from noonmark.faces.cli.session import Session, settings_of


@click.command(cls=Command)
@click.pass_context
def version(ctx: click.Context) -> int:
    """Print the versions in use."""
    import platform

    from noonmark.core.times import tzdata_version

    here = Session(settings_of(ctx))
    own = _version("noonmark")
    plain = {"v": 1, "noonmark": own, "python": platform.python_version(), "tzdata": tzdata_version()}
    plain |= {name: _version(name) for name in ("apsw", "cronsim", "click")}
    here.emit(plain, lambda: "\n".join(f"{name} {text}" for name, text in plain.items() if name != "v"))
    return problems.OK


def _version(name: str) -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(name)
    except PackageNotFoundError:
        return "unpackaged"
