"""``noonmark store``: bring a store up to date, or copy a namespace with its ledger and keys to another one.

Rule of the file: a copy changes nothing until it is told to go; what it calls the same was read from both stores.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, cast

import click

from noonmark.core.model import SECOND
from noonmark.core.told import joined
from noonmark.faces.cli import problems
from noonmark.faces.cli.session import Command, Session, open_at, settings_of, sqlite_path

if TYPE_CHECKING:
    from noonmark.engine.moving import Difference, Movable, Plan

TOLD_EVERY = 1.0
"""Seconds between two lines of progress."""


@click.command(cls=Command, acts=True)
@click.argument("words", nargs=-1, required=True, metavar="[migrate [URL] | copy FROM TO]")
@click.option("--sql", is_flag=True, help="migrate: print the SQL instead of running it.")
@click.option("--go", is_flag=True, help="copy: do it; without it you see what would be done.")
@click.option(
    "--while-workers-run",
    is_flag=True,
    help="copy: although workers live in FROM; what they do meanwhile may be missing.",
)
@click.pass_context
def store(ctx: click.Context, words: tuple[str, ...], sql: bool, go: bool, while_workers_run: bool) -> int:
    """Bring a store up to date (migrate), or copy everything that FROM holds into the empty store TO (copy).

    copy shows what it would do and makes nothing; with --go it copies, goes on where an earlier call was cut, reads both
    stores again and compares them; until they are the same nobody can work with TO.  Exit codes: 1 they are not the same,
    3 refused (workers live, or TO holds something else), 4 FROM is not there or one of them does not answer.
    """
    here = Session(settings_of(ctx))
    action, *rest = words
    if rest and "url" in here.settings.typed:
        raise problems.Trouble("option_without", option="--url", other="FROM TO" if action == "copy" else "URL")
    if action == "migrate" and len(rest) <= 1 and not go and not while_workers_run:
        return _migrate(here, rest[0] if rest else here.settings.store_url, sql=sql)
    if action == "copy" and len(rest) == 2 and not sql:
        return _copy(here, *rest, go=go, while_workers_run=while_workers_run)
    raise problems.Trouble("store_which")


# -- migrate ------------------------------------------------------------------------------------------


def _migrate(here: Session, url: str, *, sql: bool) -> int:
    from noonmark import wiring

    name = wiring.shown(url)
    if url.startswith("memory:"):
        raise problems.Trouble("memory_store", code=problems.UNREACHABLE)
    with _url_told(url):
        if sql:
            text = wiring.migration_sql(url)
            told = text.rstrip("\n") if text is not None else here.word("migrate_none", store=name)
            here.emit({"v": 1, "store": name, "sql": text}, lambda: told)
            return problems.OK
        path = sqlite_path(url)
        if path is not None and not path.exists():
            raise problems.Trouble("no_store", path=str(path), code=problems.UNREACHABLE)
        applied = wiring.migrate(url)
    plain = {"v": 1, "store": name, "applied": applied or []}
    word = "migrate_by_itself" if applied is None else "migrate_done" if applied else "migrate_current"
    here.emit(plain, lambda: here.word(word, store=name, names=", ".join(applied or [])))
    return problems.OK


@contextmanager
def _url_told(url: str) -> Iterator[None]:
    from noonmark.wiring import shown

    try:
        yield
    except ValueError as error:
        raise problems.not_opened(shown(url), error) from None


# -- copy ---------------------------------------------------------------------------------------------


def _copy(here: Session, start: str, end: str, *, go: bool, while_workers_run: bool) -> int:
    from noonmark.wiring import shown

    names = {"start": shown(start), "end": shown(end)}
    source = _archived(open_at(start), start)
    try:
        target = _target(end, create=False)
        if target is None:
            told = _before_it_is_made(here, source, names, go=go, while_workers_run=while_workers_run)
            if told is not None:
                return told
            target = _target(end, create=True)
        assert target is not None, "what may be made is there"
        try:
            return _between(here, source, target, names, go=go, while_workers_run=while_workers_run)
        finally:
            target.close()
    finally:
        source.close()


def _target(url: str, *, create: bool) -> Movable | None:
    """Open where to; None where there is nothing yet and nothing is to be made."""
    from noonmark.ports.doctor import StoreAbsent

    path = sqlite_path(url)
    if path is not None and not path.exists() and not create:
        return None
    try:
        return _archived(open_at(url, create=create, unfinished=True), url)
    except StoreAbsent:
        return None


def _archived(store: Any, url: str) -> Movable:
    """Refuse a store (a plugin's) that cannot be read out or written into."""
    from noonmark.wiring import shown

    if not hasattr(store, "import_page"):
        store.close()
        raise problems.Trouble("no_archive", url=shown(url))
    return cast("Movable", store)


def _before_it_is_made(
    here: Session, source: Movable, names: dict[str, str], *, go: bool, while_workers_run: bool
) -> int | None:
    """Say what would be done, or why not, while the target is not there; None: make it."""
    from noonmark.engine.copied import counts_of
    from noonmark.engine.moving import awake

    living = () if while_workers_run else awake(source)
    if go and not living:
        return None
    counts = counts_of(source, source.count_records())
    refused = [here.word("copy_awake", workers=", ".join(living))] if living else []
    plain = {"v": 1, **names, "done": False, "records": counts, "to_copy": sum(counts.values()), "refused": refused}
    told = [here.word("copy_refused", why=why) for why in refused] or [here.word("copy_new")]
    here.emit(plain, lambda: _counts_text(here, names, counts, *told))
    if refused:
        return problems.REFUSED
    here.remark(here.word("copy_dry"))
    return problems.OK


def _between(
    here: Session, source: Movable, target: Movable, names: dict[str, str], *, go: bool, while_workers_run: bool
) -> int:
    from noonmark.engine.moving import plan

    found = plan(source, target)
    refused = _refusals(here, found, while_workers_run=while_workers_run)
    plain: dict[str, Any] = {
        "v": 1,
        **names,
        "done": False,
        "records": dict(found.counts),
        "to_copy": sum(found.counts.values()),
        "refused": refused,
        "clock_offset_us": found.offset,
    }
    if refused or not go or (found.is_complete and not found.untouched):
        state = "copy_complete" if found.is_complete else "copy_goes_on" if found.goes_on else "copy_empty"
        told = [here.word("copy_refused", why=why) for why in refused] or [here.word(state)]
        here.emit(plain, lambda: _counts_text(here, names, found.counts, *told))
        if refused:
            return problems.REFUSED
        if not found.is_complete:  # what is there has moved on since, so there is nothing to compare
            here.remark(here.word("copy_dry"))
        return problems.OK
    return _go(here, source, target, found, plain, as_it_is=while_workers_run)


def _refusals(here: Session, found: Plan, *, while_workers_run: bool) -> list[str]:
    refused: list[str] = []
    if found.is_complete:
        return refused
    if found.is_same:
        refused.append(here.word("copy_same"))
    elif found.is_foreign:
        refused.append(here.word("copy_foreign"))
    if found.awake and not while_workers_run:
        refused.append(here.word("copy_awake", workers=", ".join(found.awake)))
    if found.awake_there and not found.is_same:
        refused.append(here.word("copy_awake_there", workers=", ".join(found.awake_there)))
    return refused


def _go(here: Session, source: Movable, target: Movable, found: Plan, plain: dict[str, Any], *, as_it_is: bool) -> int:
    """Copy, compare, and only then let anybody work there, unless the copy is wanted as it is."""
    from noonmark.engine.copied import CLEAR, mark
    from noonmark.engine.moving import copy, differences, finish

    total = sum(found.counts.values())
    if abs(found.offset) > SECOND:
        here.remark(here.word("copy_clocks", seconds=f"{found.offset / SECOND:+.1f}"))
    if found.goes_on:
        here.remark(here.word("copy_goes_on"))
    try:
        copied = copy(source, target, progress=_progress(here, None if found.goes_on else total))
    except ValueError as error:  # a NUL character for PostgreSQL, the year 9999 for Redis: no fault of ours
        raise problems.Trouble("copy_value", url=plain["end"], error=str(error), code=problems.REFUSED) from None
    here.remark(here.word("copy_compares"))
    other = differences(source, target)
    is_to_be_opened = not found.is_complete and (as_it_is or not other)
    only_looks = getattr(source, "only_looks", False)
    if (is_to_be_opened or not other) and not only_looks:  # before anybody can work there
        mark(source, plain["end"], here.request_id(), actor=here.actor)
    if is_to_be_opened:
        finish(source, target)
    done = found.is_complete or as_it_is or not other
    plain |= {"done": done, "copied": copied, "same": not other, "differences": [_plain(each) for each in other]}
    here.emit(plain, lambda: _end_text(here, plain, found, other))
    if done:
        here.remark(here.word("copy_unmarked") if only_looks else here.word("copy_marked", clear=CLEAR))
        here.remark(here.word("copy_no_workers"))
    if other:
        return problems.NO
    here.remark(here.word("copy_next", end=plain["end"]))
    return problems.OK


def _progress(here: Session, total: int | None) -> Callable[[int], None]:
    """Tell now and then how far a copy has come; how much of it is left is known only of one that began here."""
    last = time.monotonic()

    def tell(done: int) -> None:
        nonlocal last
        if time.monotonic() >= last + TOLD_EVERY:
            last = time.monotonic()
            if total is None:
                here.remark(here.word("copy_progress_on", done=f"{done:,}"))
            else:
                here.remark(here.word("copy_progress", done=f"{done:,}", total=f"{total:,}"))

    return tell


def _counts_text(here: Session, names: dict[str, str], counts: Any, *more: str) -> str:
    held = "  ".join(f"{kind} {count:,}" for kind, count in counts.items() if count)
    nothing = here.word("copy_nothing")
    return joined([here.word("copy_head", **names), f"  {held or nothing}", *more])


def _end_text(here: Session, plain: dict[str, Any], found: Plan, other: list[Difference]) -> str:
    names = {"start": plain["start"], "end": plain["end"]}
    if not other:
        done = here.word("copy_same_now", copied=f"{plain['copied']:,}", total=f"{sum(found.counts.values()):,}")
        return _counts_text(here, names, found.counts, done)
    lines = [
        here.word("copy_differs", kind=each.kind, source=f"{each.source:,}", target=f"{each.target:,}")
        for each in other
    ]
    end = "copy_moved_on" if found.is_complete else "copy_as_it_is" if plain["done"] else "copy_failed"
    return _counts_text(here, names, found.counts, *lines, here.word(end))


def _plain(each: Difference) -> dict[str, Any]:
    return {"kind": each.kind, "source": each.source, "target": each.target}
