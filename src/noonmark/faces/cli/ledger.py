"""``noonmark ledger``: what the store lost, what is held for it, letting it go, and outcomes as a file.

Rule of the file: words in, words out; what is done stands in ``engine/``: ``mending.py``, ``exports.py``, ``importing.py``
and ``statefolder.py``.
"""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import click

from noonmark.core.told import Told, joined, key_told
from noonmark.explain.render import stamp, table
from noonmark.faces.cli import problems
from noonmark.faces.cli.acts import reason_given
from noonmark.faces.cli.session import Command, Session, session

if TYPE_CHECKING:
    from noonmark.core.model.rollback import Epoch, Writer
    from noonmark.engine.mending import Overview
    from noonmark.engine.witnessing import Untold

SHOWN = 20
"""Most held rows and writers that are listed."""
ACTIONS = {"show": 0, "release": 0, "export": 1, "import": 1}
"""What can be done, and how many names may follow."""
TAKEN_BY = {"--job": "release", "--as": "release", "--reason": "release", "--from-state": "export", "--go": "import"}
"""Which option says something with which of them."""

STEPS = {
    "mark": "ledger_mark",
    "make": "ledger_make",
    "there": "ledger_there",
    "twice": "ledger_twice",
    "kept": "ledger_kept",
    "no_success": "ledger_no_success",
}
"""What an import does with an outcome, and the words for how many."""


@click.command(cls=Command)
@click.argument("words", nargs=-1, required=True, metavar="[show | release | export [FILE] | import FILE]")
@click.option("--job", default="", metavar="JOB", help="release: only this job's rows.")
@click.option("--as", "as_", type=click.Choice(["run", "done"]), help="release: let them run, or mark them as done.")
@click.option("--reason", default=None, metavar="TEXT", help="release: why; kept in the ledger.")
@click.option("--from-state", is_flag=False, flag_value="", default=None, metavar="[DIR]",
              help="export: from the workers' state folder of this host.")  # fmt: skip
@click.option("--of", default="", metavar="STORE",
              help="export --from-state, import: the outcomes of another store, by its id.")  # fmt: skip
@click.option("--go", is_flag=True, help="import: do it; without it you see what would be done.")
@click.pass_context
def ledger(
    ctx: click.Context,
    words: tuple[str, ...],
    job: str,
    as_: str | None,
    reason: str | None,
    from_state: str | None,
    of: str,
    go: bool,
) -> int:
    """Mend what a store lost: see it (show), bring back outcomes (export, import), let the rest go (release).

    An export is read into the store that it comes from; into another one only with --of, the id that the file names.
    A store that went back in time is noticed by the workers; what may have run in the range that it lost is held.
    Exit code 3: refused (no rollback is left to release; a ledger that was changed or is another store's; rows that a
    worker has to look at first; rows of which a journal here knows that they ran; a rollback that was proved meanwhile).
    """
    action, *rest = words
    if action not in ACTIONS or len(rest) > ACTIONS[action]:
        raise problems.Trouble("ledger_which")
    given = {"--job": job, "--as": as_, "--reason": reason, "--from-state": from_state is not None, "--go": go}
    for option, value in given.items():
        if value and TAKEN_BY[option] != action:
            raise problems.Trouble("ledger_option", option=option, action=action, taken_by=TAKEN_BY[option])
    if action == "import" and not rest:
        raise problems.Trouble("ledger_no_file")
    if of and action != "import" and from_state is None:
        raise problems.Trouble("ledger_of")
    with session(ctx) as here:
        if action == "show":
            return _show(here)
        if action == "release":
            return _release(here, job, as_, reason)
        if action == "export":
            return _export(here, rest[0] if rest else "-", from_state, of)
        return _import(here, rest[0], of, go=go)


# -- show -----------------------------------------------------------------------------------------------


def _show(here: Session) -> int:
    from noonmark.engine.mending import overview
    from noonmark.engine.witnessing import untold

    found, more = overview(here.store), untold(here.memory, here.store)
    here.emit(_plain(here, found, more), lambda: _text(here, found, more))
    return problems.OK


def _plain(here: Session, found: Overview, more: Untold) -> dict[str, Any]:
    zone = here.zone()
    return {
        "v": 1,
        "rollbacks": [
            {
                "number": epoch.number,
                "lost_from": stamp(epoch.lost_from, zone),
                "lost_until": stamp(epoch.lost_until, zone),
                "detected": stamp(epoch.detected_at, zone),
                "writers": list(epoch.writers),
                "released": stamp(epoch.released_at, zone),
                "released_by": epoch.released_by,
                "reason": epoch.reason,
                "released_jobs": sorted(epoch.released_jobs or {}),
            }
            for epoch in found.epochs
        ],
        "held": [
            {
                "id": row.id,
                "job": row.job,
                "subject": row.subject,
                "key": key_told(row.job, row.key),
                "due": stamp(row.scheduled_for, zone),
            }
            for row in found.held
        ],
        "writers": [
            {
                "id": writer.id,
                "worker": writer.worker,
                "blind": writer.blind,
                "links": writer.seq,
                "at": stamp(writer.at, zone),
                "proved": stamp(writer.proved_at, zone),
            }
            for writer in found.writers
        ],
        "not_yet_told": {"lost": list(more.lost), "unreadable": list(more.unreadable)},
    }


def _text(here: Session, found: Overview, more: Untold) -> str:
    parts: list[str] = [] if more.lost else [here.word("ledger_no_rollback")]
    if found.epochs:
        parts = [_epoch(here, epoch) for epoch in found.epochs]
        counts = Counter(row.job for row in found.held)
        rows = [[Told(job), str(count)] for job, count in counts.most_common(SHOWN)]
        if rows:
            parts += [table(here.header("held_header"), rows), here.word("ledger_to_do")]
        else:
            parts.append(here.word("ledger_nothing_held"))
    if more.lost:
        parts.append(here.word("ledger_untold", writers=", ".join(more.lost[:SHOWN])))
    if more.unreadable:
        parts.append(here.word("ledger_unreadable", writers=", ".join(more.unreadable[:SHOWN]), folder=here.memory))
    if found.writers:
        rows = [_writer(here, writer) for writer in found.writers[:SHOWN]]
        parts.append(table(here.header("writers_header"), rows))
    return joined(parts, "\n\n")


def _epoch(here: Session, epoch: Epoch) -> str:
    voice = here.voice(here.one_zone or "UTC")
    said = here.word(
        "ledger_rollback",
        number=epoch.number,
        since=voice.moment(epoch.lost_from),
        until=voice.moment(epoch.lost_until),
        zone=voice.zone,
        writers=", ".join(epoch.writers),
    )
    if epoch.released_at is not None:
        at = voice.moment(epoch.released_at)
        said = joined([said, here.word("ledger_released_by", by=epoch.released_by, at=at, reason=epoch.reason)])
    elif epoch.released_jobs:
        said = joined([said, here.word("ledger_released_jobs", jobs=", ".join(sorted(epoch.released_jobs)))])
    return said


def _writer(here: Session, writer: Writer) -> list[str]:
    voice = here.voice(here.one_zone or "UTC")
    state = here.word("writer_blind" if writer.blind else "writer_remembers")
    proved = voice.say("ago", length=voice.length(voice.now - writer.proved_at))
    return [writer.id, writer.worker, state, str(writer.seq), voice.moment(writer.at), proved]


# -- release --------------------------------------------------------------------------------------------


def _release(here: Session, job: str, as_: str | None, reason: str | None) -> int:
    from noonmark.engine.mending import release

    if as_ is None or reason is None:
        raise problems.Trouble("ledger_release_how")
    if job and not here.store.jobs([job]):
        raise problems.Trouble("ledger_no_job", job=job, code=problems.NOT_FOUND)
    if as_ == "run":
        _refuse_known(here, job)
    answer = release(
        here.store, here.request_id, actor=here.actor, reason=reason_given(reason), job=job, as_done=as_ == "done"
    )
    if answer is None:
        here.emit(
            {"v": 1, "outcome": "already_done", "rows": 0, "left": [], "added": []},
            lambda: here.word("ledger_nothing_to_release"),
        )
        return problems.REFUSED
    is_over = not answer.left and not answer.added
    outcome = "done" if is_over else "refused"
    plain = {"v": 1, "outcome": outcome, "rows": answer.rows, "left": list(answer.left), "added": list(answer.added)}
    said = [here.word("ledger_let_run" if as_ == "run" else "ledger_marked", rows=answer.rows)]
    if is_over and not answer.rows:
        said = [here.word("ledger_released_none")]
    if answer.left:
        said.append(here.word("ledger_left", left=", ".join(f"r{number}" for number in answer.left[:SHOWN])))
    if answer.added:
        said.append(here.word("ledger_added", numbers=", ".join(map(str, answer.added))))
    here.emit(plain, lambda: joined(said))
    return problems.OK if is_over else problems.REFUSED


def _refuse_known(here: Session, job: str) -> None:
    """Let nothing run again of which a journal of this machine knows that it ran."""
    from noonmark.core import rollback
    from noonmark.engine.mending import held_rows

    epochs = rollback.epochs_of(here.store.facts([rollback.FACT])[rollback.FACT].value)
    known = here.witness(epochs) if here.witness is not None and epochs else {}
    if not known:
        return
    rows = [row for row in held_rows(here.store, job or None) if row.key and (row.job, row.key) in known]
    if rows:
        shown = ", ".join(f"r{row.id}" for row in rows[:SHOWN])
        raise problems.Trouble("ledger_known", count=len(rows), rows=shown, code=problems.REFUSED)


# -- export and import ------------------------------------------------------------------------------------


def _export(here: Session, file: str, from_state: str | None, of: str) -> int:
    from noonmark.engine import exports, importing

    store_id = _store_id(here)
    outcomes: Iterable[Any] = importing.of_store(here.store)
    if from_state is not None:
        store_id = of or store_id
        outcomes = _journals(from_state, store_id)
    lines = 0
    with _writing(file) as out:
        for line in exports.exported(store_id, outcomes):
            out.write(line + "\n")
            lines += 1
    if file != "-":
        count = lines - 2  # the head and the end are no outcomes
        plain = {"v": 1, "file": file, "store": store_id, "outcomes": count}
        here.emit(plain, lambda: here.word("ledger_exported", count=count, file=file, store=store_id))
    return problems.OK


def _journals(from_state: str, store_id: str) -> Iterable[Any]:
    from noonmark.engine import statefolder

    root = statefolder.root_of(from_state or None)
    stores = [] if root is None else statefolder.stores(root)
    if root is None or store_id not in stores:  # so no name of a stranger becomes a path
        if not stores:
            raise problems.Trouble("ledger_no_state", folder=str(root), code=problems.NOT_FOUND)
        raise problems.Trouble(
            "ledger_other_state", folder=str(root), store=store_id, stores=", ".join(stores[:SHOWN]), newest=stores[0],
            code=problems.NOT_FOUND,
        )  # fmt: skip
    return statefolder.outcomes(root, store_id)


def _store_id(here: Session) -> str:
    store: Any = here.store
    if not hasattr(store, "store_id"):
        raise problems.Trouble("ledger_no_guard")
    return str(store.store_id())


@contextmanager
def _writing(file: str) -> Iterator[TextIO]:
    """Open a file that is not there yet, for its owner alone, and take it away again if it does not become whole."""
    if file == "-":
        yield sys.stdout
        return
    try:
        handle = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            with open(handle, "w", encoding="utf-8", errors="backslashreplace") as out:
                yield out
        except BaseException:
            Path(file).unlink(missing_ok=True)
            raise
    except FileExistsError:
        raise problems.Trouble("ledger_there", file=file) from None
    except OSError as error:
        raise problems.Trouble("ledger_file", file=file, error=str(error.strerror)) from None


def _import(here: Session, file: str, of: str, *, go: bool) -> int:
    from noonmark.engine import exports, importing

    own = _store_id(here)
    try:
        # Read twice, so that no line is entered before the last one was seen to fit, and none of them is kept.
        with open(file, encoding="utf-8", errors="surrogateescape") as lines:
            export = exports.checked(lines)
            if export.store != (of or own):
                raise problems.Trouble(
                    "ledger_not_of" if of else "ledger_other_store", file=file, store=export.store, own=own, of=of,
                    code=problems.REFUSED,
                )  # fmt: skip
            lines.seek(0)
            outcomes = exports.outcomes(lines)
            importer = importing.Importer(here.store, export.store)
            counts = importer.carry_out(outcomes, here.request_id, actor=here.actor) if go else importer.plan(outcomes)
    except exports.LedgerBroken as broken:
        raise problems.Trouble(
            "ledger_broken", place=f"{file}:{broken.line}", error=str(broken), code=problems.REFUSED
        ) from None
    except OSError as error:
        raise problems.Trouble("ledger_file", file=file, error=error.strerror or str(error)) from None
    plain = {"v": 1, "done": go, "store": export.store, "own": export.store == own}
    here.emit(plain | {name: counts[name] for name in STEPS}, lambda: _imported(here, export.store, own, counts, go=go))
    return problems.OK


def _imported(here: Session, store: str, own: str, counts: Counter[str], *, go: bool) -> str:
    lines = [here.word("ledger_from_own" if store == own else "ledger_from", store=store)]
    if not counts:
        return "\n".join([*lines, here.word("ledger_nothing_in")])
    lines += [here.word(word, count=counts[name]) for name, word in STEPS.items() if counts[name]]
    return "\n".join([*lines, here.word("ledger_done" if go else "ledger_dry")])
