"""The archive of the memory store: its records as the page of ``ports/archive.py`` has them.

Rule of the file: the whole list is made anew for every page, because this is the model: easy to read, and nothing kept
that could be out of date.  A cursor is a position in that list.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, fields
from typing import Any

from noonmark.core.model import (
    Alert,
    Attempt,
    Fact,
    JobRow,
    LedgerLine,
    Micros,
    Note,
    Occurrence,
    Origin,
    State,
    WorkerInfo,
)
from noonmark.ports.archive import KINDS, Import, Page, Record, highest_id
from noonmark.ports.store import StoreUnusable
from noonmark.stores.memory.tables import Tables

OWN_WORD = frozenset({"success", "failed", "handed_back"})
"""Ends of an attempt that its own holder reported, so that repeating the report is answered as applied."""
TOLD_BY_THE_ROW = frozenset({"running", "success"})
_NO_PAUSE = ("name", "rule", "digest", "revision", "effective_at", "event")


# -- out ------------------------------------------------------------------------------------------


def export_page(tables: Tables, cursor: str, limit: int) -> Page:
    """Read at most ``limit`` records from the cursor on."""
    records = list(every_record(tables))
    if cursor in KINDS:
        before = KINDS[: KINDS.index(cursor)]
        start = sum(record.kind in before for record in records)
    else:
        start = int(cursor) if cursor else 0
    end = start + limit
    return Page(records=tuple(records[start:end]), cursor=str(end) if end < len(records) else None)


def count_records(tables: Tables) -> Mapping[str, int]:
    """Count the records of each kind."""
    counts = dict.fromkeys(KINDS, 0)
    for record in every_record(tables):
        counts[record.kind] += 1
    return counts


def every_record(tables: Tables) -> Iterator[Record]:
    """Yield all that is held, kind after kind."""
    for kind in KINDS:
        for plain in _READERS[kind](tables):
            # an enum's member is text to whoever reads it, and has to be no more than that in a record
            yield Record(kind=kind, fields={n: str(v) if isinstance(v, str) else v for n, v in plain.items()})


def _jobs(tables: Tables) -> Iterator[dict[str, Any]]:
    for name in sorted(tables.jobs):
        plain = asdict(tables.jobs[name])
        del plain["by"]  # told of revisions, where the record has it
        yield plain


def _revisions(tables: Tables) -> Iterator[dict[str, Any]]:
    for job, (actor, at) in zip(tables.revisions, tables.revised, strict=True):
        yield {**{name: getattr(job, name) for name in _NO_PAUSE}, "actor": actor, "at": at}


def _occurrences(tables: Tables) -> Iterator[dict[str, Any]]:
    slots = {held[0]: name for name, held in tables.slots.items()}
    for row in sorted(tables.rows.values(), key=lambda each: each.id):
        run = _told_by_the_row(tables, row)
        yield {
            **{part.name: getattr(row, part.name) for part in fields(row)},
            "slot": slots.get(row.id, ""),
            "run_fence": run.fence if run is not None else 0,
            "run_worker": run.worker if run is not None else "",
            "answered": max(tables.answered.get(row.id, ()), default=0),
        }


def _told_by_the_row(tables: Tables, row: Occurrence) -> Attempt | None:
    tries = tables.attempts.get(row.id)
    return tries[-1] if tries and tries[-1].outcome in TOLD_BY_THE_ROW else None


def _claims(tables: Tables) -> Iterator[dict[str, Any]]:
    for key in sorted(tables.claims):
        holder = tables.holder(key)
        if holder is not None:
            yield {"key": key, "generation": holder.generation, "occurrence_id": holder.id}


def _slots(tables: Tables) -> Iterator[dict[str, Any]]:
    for name, (occurrence_id, since) in sorted(tables.slots.items()):
        yield {"name": name, "occurrence_id": occurrence_id, "since": since}


def _facts(tables: Tables) -> Iterator[dict[str, Any]]:
    for name in sorted(tables.facts):
        yield asdict(tables.facts[name])


def _waiters(tables: Tables) -> Iterator[dict[str, Any]]:
    for name, waiting in sorted(tables.waits.items()):
        for occurrence_id, version in sorted(waiting.items()):
            yield {"fact": name, "version": version, "occurrence_id": occurrence_id}


def _attempts(tables: Tables) -> Iterator[dict[str, Any]]:
    for _, tries in sorted(tables.attempts.items()):
        yield from (asdict(attempt) for attempt in tries if attempt.outcome not in TOLD_BY_THE_ROW)


def _outcomes(tables: Tables) -> Iterator[dict[str, Any]]:
    for occurrence_id, fences in sorted(tables.looked.items()):
        yield from ({"occurrence_id": occurrence_id, "fence": fence} for fence in sorted(fences))


def _notes(tables: Tables) -> Iterator[dict[str, Any]]:
    for occurrence_id, notes in sorted(tables.notes.items()):
        yield from ({**asdict(note), "occurrence_id": occurrence_id} for note in notes.values())


def _alerts(tables: Tables) -> Iterator[dict[str, Any]]:
    yield from (asdict(alert) for alert in tables.alerts)


def _ledger(tables: Tables) -> Iterator[dict[str, Any]]:
    lines = (line for lines in tables.ledger.values() for line in lines)
    yield from (asdict(line) for line in sorted(lines, key=lambda each: each.seq))


def _counters(tables: Tables) -> Iterator[dict[str, Any]]:
    for name in ("duplicates_refused", "stale_refused"):
        if getattr(tables, name):
            yield {"name": name, "value": getattr(tables, name)}


_READERS: dict[str, Callable[[Tables], Iterator[dict[str, Any]]]] = {
    "job": _jobs,
    "revision": _revisions,
    "occurrence": _occurrences,
    "claim": _claims,
    "slot": _slots,
    "fact": _facts,
    "waiter": _waiters,
    "attempt": _attempts,
    "outcome": _outcomes,
    "note": _notes,
    "alert": _alerts,
    "ledger": _ledger,
    "counter": _counters,
}


# -- in -------------------------------------------------------------------------------------------


def import_page(tables: Tables, source: str, page: Page, now: Micros) -> None:
    """Write a page and remember its cursor."""
    state = tables.imported
    if state is None and any(count_records(tables).values()):
        raise StoreUnusable("nothing can be copied into this memory store: it holds records already. Take a new one.")
    if state is not None and state.source != source:
        raise StoreUnusable(f"this memory store holds a copy of another store ({state.source}). Take a new one.")
    if state is not None and state.cursor is None:
        return  # complete: whoever sends the last page again missed the answer
    for record in page.records:
        _WRITERS[record.kind](tables, dict(record.fields))
    tables.last_id = max(tables.last_id, highest_id(page))
    if page.cursor is None:
        _complete(tables, now)
    tables.imported = Import(source=source, cursor=page.cursor)


def _put_job(tables: Tables, plain: dict[str, Any]) -> None:
    if plain["name"] not in tables.jobs:
        tables.jobs[plain["name"]] = JobRow(**plain)
        tables.rules_version += 1


def _put_revision(tables: Tables, plain: dict[str, Any]) -> None:
    actor, at = plain.pop("actor"), plain.pop("at")
    job = JobRow(**plain)
    if job not in tables.revisions:
        tables.revisions.append(job)
        tables.revised.append((actor, at))


def _put_occurrence(tables: Tables, plain: dict[str, Any]) -> None:
    if plain["id"] in tables.rows:
        return
    run_fence, run_worker, answered = plain.pop("run_fence"), plain.pop("run_worker"), plain.pop("answered")
    plain.pop("slot")  # the slot says itself who has it
    row = Occurrence(**{**plain, "state": State(plain["state"]), "origin": Origin(plain["origin"])})
    tables.put(row)
    tables.by_identity[(row.job, row.subject, row.identity)] = row.id
    if row.claimed:
        claimants = tables.claims.setdefault(row.key, [])
        claimants.append(row.id)
        claimants.sort(key=lambda each: (tables.rows[each].generation, each))
    if answered:
        tables.answered.setdefault(row.id, set()).add(answered)
    if run_fence:
        done = row.state is State.SUCCESS
        attempt = Attempt(
            occurrence_id=row.id,
            fence=run_fence,
            number=row.attempt,
            worker=run_worker,
            started_at=row.started_at or 0,
            ended_at=row.ended_at,
            outcome="success" if done else "running",
            error=row.error if done else None,
        )
        tables.attempts[row.id] = [attempt]


def _put_claim(tables: Tables, plain: dict[str, Any]) -> None:
    claimants = tables.claims.setdefault(plain["key"], [])
    if plain["occurrence_id"] in claimants:
        claimants.remove(plain["occurrence_id"])
    claimants.append(plain["occurrence_id"])


def _put_slot(tables: Tables, plain: dict[str, Any]) -> None:
    tables.slots[plain["name"]] = (plain["occurrence_id"], plain["since"])


def _put_fact(tables: Tables, plain: dict[str, Any]) -> None:
    tables.facts[plain["name"]] = Fact(**plain)


def _put_waiter(tables: Tables, plain: dict[str, Any]) -> None:
    row_id = plain["occurrence_id"]
    if row_id not in tables.rows:
        return  # written to the source after its page was read: the comparison will tell, no take must stumble
    tables.waits.setdefault(plain["fact"], {})[row_id] = plain["version"]
    tables.waits_of[row_id] = tuple(dict.fromkeys((*tables.waits_of.get(row_id, ()), plain["fact"])))


def _put_attempt(tables: Tables, plain: dict[str, Any]) -> None:
    attempt = Attempt(**plain)
    tries = tables.attempts.setdefault(attempt.occurrence_id, [])
    if attempt.fence not in {each.fence for each in tries}:
        tries.append(attempt)
        tries.sort(key=lambda each: (each.outcome in TOLD_BY_THE_ROW, each.started_at, each.fence))
    if attempt.outcome in OWN_WORD:
        tables.answered.setdefault(attempt.occurrence_id, set()).add(attempt.fence)


def _put_outcome(tables: Tables, plain: dict[str, Any]) -> None:
    tables.answered.setdefault(plain["occurrence_id"], set()).add(plain["fence"])
    tables.looked.setdefault(plain["occurrence_id"], set()).add(plain["fence"])


def _put_note(tables: Tables, plain: dict[str, Any]) -> None:
    notes = tables.notes.setdefault(plain.pop("occurrence_id"), {})
    note = Note(**plain)
    notes.setdefault((note.kind, note.name), note)


def _put_alert(tables: Tables, plain: dict[str, Any]) -> None:
    if plain["id"] not in {alert.id for alert in tables.alerts}:
        tables.alerts.append(Alert(**plain))


def _put_line(tables: Tables, plain: dict[str, Any]) -> None:
    line = LedgerLine(**plain)
    lines = tables.ledger.setdefault(line.occurrence_id, [])
    if line.seq not in {each.seq for each in lines}:
        lines.append(line)
    tables.last_seq = max(tables.last_seq, line.seq)


def _put_counter(tables: Tables, plain: dict[str, Any]) -> None:
    setattr(tables, plain["name"], plain["value"])


_WRITERS: dict[str, Callable[[Tables, dict[str, Any]], None]] = {
    "job": _put_job,
    "revision": _put_revision,
    "occurrence": _put_occurrence,
    "claim": _put_claim,
    "slot": _put_slot,
    "fact": _put_fact,
    "waiter": _put_waiter,
    "attempt": _put_attempt,
    "outcome": _put_outcome,
    "note": _put_note,
    "alert": _put_alert,
    "ledger": _put_line,
    "counter": _put_counter,
}


def _complete(tables: Tables, now: Micros) -> None:
    """Wake what waits for facts that moved, and let the rows of workers that did not come along end."""
    for name, waiting in tables.waits.items():
        if not name.startswith("slot:") and any(version != tables.version(name) for version in waiting.values()):
            tables.wakes[name] = None
    for row in tables.open_rows():
        if row.worker and row.worker not in tables.workers:
            tables.workers[row.worker] = WorkerInfo(
                id=row.worker, name=row.worker, host="", pid=0, process_started="", boot_id="",
                started_at=now, seen_at=now, until=now, ended_at=now,
            )  # fmt: skip
