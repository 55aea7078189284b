"""``--state DIR``: which workers' state folders a command reads, as ``noonmark worker`` finds its own.

Promise: without the option it is the folder that a worker of this user would use; a folder that was named and remembers
nothing of the store is told, not passed over.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from noonmark.faces.cli import problems
from noonmark.faces.cli.settings import Settings

if TYPE_CHECKING:
    from noonmark.ports.store import Store

SHOWN = 20
"""Most stores of a folder that are named."""


def _keep(ctx: click.Context, _param: click.Parameter, value: tuple[str, ...]) -> None:
    ctx.ensure_object(Settings).state = value


state_option = click.option(
    "--state",
    multiple=True,
    metavar="DIR",
    expose_value=False,
    callback=_keep,
    help="Workers' state folder to read, may be repeated; none: no journals.  [env var: NOONMARK_STATE]",
)
"""The option of every command that asks what workers remember."""


def memories(settings: Settings, store: Store) -> tuple[Path, ...]:
    """Return the state folders whose journals and receipts are asked.

    Raises:
        Trouble: one that was named has nothing of this store.
    """
    from noonmark.engine import statefolder

    if not settings.state:
        root = None if settings.store_url.startswith("memory:") else statefolder.root_of(None)
        return () if root is None else (root,)
    return tuple(folder_of(named, store_id(store)) for named in settings.state if named != statefolder.NONE)


def from_state(settings: Settings) -> str:
    """Return what stands behind ``--from-state`` where these settings' folder is to be exported."""
    named = [folder for folder in settings.state if folder != "none"]
    return f" {named[0]}" if len(named) == 1 else " DIR" if named else ""


def store_id(store: Store) -> str:
    """Return the store's own name, by which journals and exports know it."""
    named: Any = store
    if not hasattr(named, "store_id"):
        raise problems.Trouble("ledger_no_guard")
    return str(named.store_id())


def folder_of(named: str | None, store: str) -> Path:
    """Return a state folder that remembers something of a store.

    Args:
        named: the folder; None: where a worker would remember.
        store: the store's id.
    """
    from noonmark.engine import statefolder, testimony

    root = statefolder.root_of(named)
    stores = [] if root is None else testimony.stores(root)
    if root is not None and store in stores:  # so no name of a stranger becomes a path
        return root
    if not stores:
        raise problems.Trouble("ledger_no_state", folder=str(root), code=problems.NOT_FOUND)
    raise problems.Trouble(
        "ledger_other_state", folder=str(root), store=store, stores=", ".join(stores[:SHOWN]), newest=stores[0],
        named="--from-state" if named is None else f"--from-state {named}", code=problems.NOT_FOUND,
    )  # fmt: skip
