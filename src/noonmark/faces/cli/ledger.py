"""``noonmark ledger``: what the store lost, what is held for it, letting it go, and outcomes as a file.

Rule of the file: words in, words out; what is done stands in ``engine/``: ``mending.py``, ``exports.py``, ``importing.py``
and ``testimony.py``.
"""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import click

from noonmark.core.told import Told, joined, key_told
from noonmark.explain.render import stamp, table
from noonmark.faces.cli import problems
from noonmark.faces.cli.acts import reason_given
from noonmark.faces.cli.memories import folder_of, from_state, state_option, store_id
from noonmark.faces.cli.session import Command, Session, session, settings_of

if TYPE_CHECKING:
    from noonmark.core.model import Occurrence
    from noonmark.core.model.rollback import Epoch, Writer
    from noonmark.engine.deeds import Gone
    from noonmark.engine.mending import Overview, Released
    from noonmark.engine.witnessing import Untold

SHOWN = 20
"""Most held rows and writers that are listed."""
ACTIONS = {"show": 0, "release": 0, "export": 1, "import": 1}
"""What can be done, and how many names may follow."""
TAKEN_BY = {
    "--job": ("release",),
    "--as": ("release",),
    "--reason": ("release",),
    "--from-state": ("export",),
    "--go": ("import",),
    "--state": ("show", "release"),
}
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
@state_option
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
    worker has to look at first; rows of which a worker's journal knows that they ran; a rollback that was proved meanwhile).
    """
    action, *rest = words
    if action not in ACTIONS or len(rest) > ACTIONS[action]:
        raise problems.Trouble("ledger_which")
    given = {
        "--job": job, "--as": as_, "--reason": reason, "--from-state": from_state is not None, "--go": go,
        "--state": settings_of(ctx).state,
    }  # fmt: skip
    for option, value in given.items():
        if value and option == "--state" and action == "export":
            raise problems.Trouble("ledger_state_export")
        if value and action not in TAKEN_BY[option]:
            raise problems.Trouble("ledger_option", option=option, action=action, taken_by=" | ".join(TAKEN_BY[option]))
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
    from noonmark.engine.witnessing import cancelled_again_open, untold
    from noonmark.faces.cli import ledger_deeds

    found, more = overview(here.store), untold(here.memories, here.store)
    again = cancelled_again_open(here.memories, here.store, found.epochs, here.tell_damage)
    here.remark_absent(found.epochs)
    gone = ledger_deeds.lost_deeds(here, [*found.epochs, *([more.epoch] if more.epoch is not None else [])])
    plain = _plain(here, found, more) | {
        "cancelled_before": [_row(row, here.zone()) for row in again],
        "deeds": [ledger_deeds.plain(here, each) for each in gone],
    }
    here.emit(plain, lambda: _text(here, found, more, again, gone))
    if here.told_former is not None and here.told_former.store not in here.former:
        here.remark_former(here.one_zone or "UTC")  # nobody of this machine remembers it
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
        "held": [_row(row, zone) for row in found.held],
        "not_yet_looked_at": [_row(row, zone) for row in found.unseen],
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
        "rules_since": [{"job": row.name, "revision": row.revision, "ended": not row.rule} for row in found.rules],
        "not_yet_told": {"lost": list(more.lost), "unreadable": list(more.unreadable)},
        "former_stores": list(here.former),
    }


def _row(row: Occurrence, zone: str) -> dict[str, Any]:
    due = stamp(row.scheduled_for, zone)
    return {"id": row.id, "job": row.job, "subject": row.subject, "key": key_told(row.job, row.key), "due": due}


def _text(here: Session, found: Overview, more: Untold, again: Sequence[Occurrence], gone: Sequence[Gone]) -> str:
    from noonmark.faces.cli import ledger_deeds

    parts: list[str] = [] if more.lost or here.former else [here.word("ledger_no_rollback")]
    if found.epochs:
        parts = [_epoch(here, epoch) for epoch in found.epochs]
        counts = Counter(row.job for row in found.held)
        rows = [[Told(job), str(count)] for job, count in counts.most_common(SHOWN)]
        parts.append(table(here.header("held_header"), rows) if rows else here.word("ledger_nothing_held"))
        if found.unseen:
            jobs = Counter(row.job for row in found.unseen).most_common(SHOWN)
            jobs_said = ", ".join(f"{job} ({count})" for job, count in jobs)
            parts.append(here.word("ledger_not_looked_at", jobs=jobs_said))
        if any(epoch.released_at is None for epoch in found.epochs):  # one that holds nothing wants an end, too
            parts.append(here.word("ledger_to_do"))
            parts.append(here.word("ledger_acts"))
            if again:
                rows_said = ", ".join(f"r{row.id} ({row.job})" for row in again[:SHOWN])
                parts.append(here.word("ledger_cancelled", rows=rows_said, first=f"r{again[0].id}"))
        if found.rules:
            jobs_said = ", ".join(f"{Told(row.name)} ({row.revision})" for row in found.rules[:SHOWN])
            parts.append(here.word("ledger_rules", jobs=jobs_said, first=Told(found.rules[0].name)))
    if more.lost:
        parts.append(here.word("ledger_untold", writers=", ".join(more.lost[:SHOWN])))
    if here.former:
        parts.append(here.word("ledger_former", former=", ".join(here.former[:SHOWN]), first=here.former[0]))
    if more.unreadable:
        folder, writers = ", ".join(map(str, here.memories)), ", ".join(more.unreadable[:SHOWN])
        parts.append(here.word("ledger_unreadable", writers=writers, folder=folder))
    if gone:
        parts.append(ledger_deeds.text(here, gone))
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
    from noonmark.engine.mending import epochs, release

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
        is_open = any(epoch.released_at is None for epoch in epochs(here.store))
        lists = ("left", "behind", "skipped", "added", "rollbacks", "over")
        nothing: dict[str, Any] = {**{name: [] for name in lists}, "all_over": not is_open}
        word = "ledger_nothing_of_job" if is_open else "ledger_nothing_to_release"
        here.emit({"v": 1, "outcome": "already_done", "rows": 0, **nothing}, lambda: here.word(word, job=job))
        return problems.REFUSED
    is_done = not answer.left and not answer.added
    plain = {
        "v": 1, "outcome": "done" if is_done else "refused", "rows": answer.rows, "left": list(answer.left),
        "behind": [{"id": row, "key_of": other} for row, other in answer.behind], "skipped": list(answer.skipped),
        "added": list(answer.added), "rollbacks": list(answer.rollbacks), "over": list(answer.over),
        "all_over": answer.is_all_over,
    }  # fmt: skip
    here.emit(plain, lambda: _released(here, answer, job, as_))
    return problems.OK if is_done else problems.REFUSED


def _released(here: Session, answer: Released, job: str, as_: str) -> str:
    several, one = ("ledger_let_run", "ledger_let_run_one") if as_ == "run" else ("ledger_marked", "ledger_marked_one")
    said = [here.word(several if answer.rows != 1 else one, rows=answer.rows)]
    if not (answer.rows or answer.left or answer.added):
        said = [here.word("ledger_released_none")]
    if still := [number for number in answer.rollbacks if number not in answer.over]:
        said.append(here.word("ledger_not_over", numbers=", ".join(map(str, still)), job=job))
    if answer.over:
        word = "ledger_all_over" if answer.is_all_over else "ledger_over"
        said.append(here.word(word, numbers=", ".join(map(str, answer.over))))
    if answer.skipped:
        said.append(here.word("ledger_skipped", rows=_numbers(answer.skipped)))
    behind = dict(answer.behind)
    if unseen := [number for number in answer.left if number not in behind]:
        said.append(here.word("ledger_left", left=_numbers(unseen)))
    for row, other in answer.behind[:SHOWN]:
        said.append(here.word("ledger_behind", row=row, other=other))
    if answer.added:
        said.append(here.word("ledger_added", numbers=", ".join(map(str, answer.added))))
    return joined(said)


def _numbers(rows: Iterable[int]) -> str:
    return ", ".join(f"r{number}" for number in list(rows)[:SHOWN])


def _refuse_known(here: Session, job: str) -> None:
    """Let nothing run again of which a worker's journal knows that it ran."""
    from noonmark.engine.mending import epochs, known_rows

    witness = here.witness
    found = epochs(here.store)
    here.remark_absent(found)
    known = witness(found) if witness is not None else {}
    if known and (rows := known_rows(here.store, known, job)):
        shown = _numbers(row.id for row in rows)
        state = from_state(here.settings)
        raise problems.Trouble("ledger_known", count=len(rows), rows=shown, state=state, code=problems.REFUSED)


# -- export and import ------------------------------------------------------------------------------------


def _export(here: Session, file: str, from_state: str | None, of: str) -> int:
    from noonmark.engine import exports, importing, testimony

    store = store_id(here.store)
    outcomes: Iterable[Any] = importing.of_store(here.store)
    if from_state is not None:
        store = of or store
        outcomes = testimony.outcomes(folder_of(from_state or None, store), store, here.tell_damage)
    lines = 0
    with _writing(file) as out:
        for line in exports.exported(store, outcomes):
            out.write(line + "\n")
            lines += 1
    if file != "-":
        count = lines - 2  # the head and the end are no outcomes
        plain = {"v": 1, "file": file, "store": store, "outcomes": count, "damaged": here.damaged}
        here.emit(plain, lambda: here.word("ledger_exported", count=count, file=file, store=store))
    return problems.OK


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

    own = store_id(here.store)
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
        return joined([*lines, here.word("ledger_nothing_in")])
    lines += [here.word(word, count=counts[name]) for name, word in STEPS.items() if counts[name]]
    return joined([*lines, here.word("ledger_done" if go else "ledger_dry")])
