"""``noonmark flags``: the flags that jobs depend on, and whether they are set.

A store answers for facts by name, so the names are those that the rules yield for open and recent occurrences; ``--all``
reads every flag that was ever set out of the store's archive.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import click

from noonmark.core import conditions
from noonmark.core.keys import TemplateProblem
from noonmark.core.model import Fact, FlagSet, Query, State
from noonmark.core.told import Told, joined
from noonmark.explain.find import read_rule
from noonmark.explain.render import stamp, table
from noonmark.faces.cli import problems
from noonmark.faces.cli.session import Command, Session, session

_PAGE = 1000


@click.command(cls=Command)
@click.argument("names", nargs=-1)
@click.option("--all", "every", is_flag=True, help="Also flags that no rule names.")
@click.option("--limit", default=1000, show_default=True, type=click.IntRange(1, 100_000), help="At most so many.")
@click.pass_context
def flags(ctx: click.Context, names: tuple[str, ...], every: bool, limit: int) -> int:
    """Show the flags that jobs depend on (or those NAMED), whether they are set, and how many wait for them."""
    if names and every:
        raise problems.Trouble("option_without", option="--all", other="NAMES")
    with session(ctx) as here:
        waiting = _waiting(here)
        wanted = {f"flag:{name.removeprefix('flag:')}": [] for name in names} if names else dict(waiting)
        if every:
            wanted |= {name: [] for name in _stored(here) if name not in wanted}
        left, wanted = len(wanted) - limit, dict(sorted(wanted.items())[:limit])
        facts = here.store.facts(list(wanted))
        rows = [(facts.get(name, Fact(name=name)), waiting.get(name, [])) for name in sorted(wanted)]
        here.emit({"v": 1, "flags": [_plain(here, fact, who) for fact, who in rows]}, lambda: _text(here, rows))
        if not rows:
            here.remark(here.word("no_flags"))
        elif any(fact.set_at is not None for fact, _ in rows):
            here.say_zone()
        if left > 0:
            here.remark(here.word("more_rows", count=left))
    return problems.OK


def _stored(here: Session) -> Iterator[str]:
    """Yield the name of every flag that the store holds."""
    read: Any = getattr(here.store, "export_page", None)  # a plugin's store may have no archive
    cursor: str | None = "fact" if read is not None else None
    while cursor is not None:
        page = read(cursor, _PAGE)
        facts = [record.fields["name"] for record in page.records if record.kind == "fact"]
        yield from (name for name in facts if name.startswith("flag:"))
        cursor = page.cursor if len(facts) == len(page.records) else None


def _waiting(here: Session) -> dict[str, list[str]]:
    """Flag fact -> open occurrences that depend on it; recent ones contribute names only."""
    found: dict[str, list[str]] = {}
    for job_row in here.store.jobs():
        job = read_rule(job_row)
        wanted = (
            [condition for condition in job.depends_on if isinstance(condition, FlagSet)] if job is not None else []
        )
        if job is None or not wanted:
            continue
        open_rows = here.store.occurrences(Query(job=job.name, open_only=True, limit=200))
        recent = here.store.occurrences(Query(job=job.name, scheduled_until=here.now + 1, limit=5))
        for row in {row.id: row for row in (*open_rows, *recent)}.values():
            for condition in wanted:
                try:
                    who = found.setdefault(conditions.fact_name(condition, job, row), [])
                except TemplateProblem:  # it waits for no flag that there could be, and its row says so
                    continue
                if row.state is State.PENDING and row.code == "flag_missing":
                    who.append(Told(f"{job.name} r{row.id}"))
    return found


def _text(here: Session, rows: list[tuple[Fact, list[str]]]) -> str:
    voice = here.voice(here.one_zone or "UTC")
    states = {True: here.word("flag_set"), False: here.word("flag_not_set")}
    lines = [
        [
            fact.name.removeprefix("flag:"),
            states[fact.is_set],
            str(fact.version) if fact.version else "-",
            voice.moment(fact.set_at) if fact.set_at is not None else "-",
            fact.actor or "-",
            Told(joined(who[:3], ", ") + (f" +{len(who) - 3}" if len(who) > 3 else "")) or "-",
        ]
        for fact, who in rows
    ]
    return table(here.header("flags_header"), lines)


def _plain(here: Session, fact: Fact, who: list[str]) -> dict[str, Any]:
    return {
        "flag": fact.name.removeprefix("flag:"),
        "set": fact.is_set,
        "value": fact.value,
        "version": fact.version,
        "since": stamp(fact.set_at, here.zone()),
        "actor": fact.actor,
        "waiting": who,
    }
