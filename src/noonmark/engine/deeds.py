"""What people did to a store, as the machine on which they did it remembers it: what is lost can be typed again.

Promise: a deed that the store acknowledged is one line, with the command that does it again, in ``ROOT/STORE/deeds.jsonl``
of the state folder (the older half is ``deeds.1.jsonl``), for its owner's eyes only.  A folder that cannot be written costs
the deed nothing: the answer says why nothing is remembered.

Rule of the file: no error leaves it.  A row is named by what it is (job, subject, identity), never by its number alone: a
store that went back in time gives numbers out anew.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from noonmark.core.model import Act, Acted, Fact, JobRow, Micros, Occurrence, Query
from noonmark.engine import lines
from noonmark.engine.testimony import sealed, unsealed
from noonmark.ports.store import Store

try:
    import fcntl
except ImportError:  # another kind of system
    fcntl = None  # type: ignore[assignment]

FILE, OLDER = "deeds.jsonl", "deeds.1.jsonl"
HALF = 10 * 1024 * 1024
"""Bytes after which the file is turned over; two halves are kept."""
LONGEST_VALUE = 16 * 1024
"""Characters of a param or of a flag's value beyond which it is left out of the command, and a sign stands for it."""
FLAGS_AT_ONCE = 1000
LEFT_OUT = "…"
ROW = "{row}"
"""Stands in a command for the row's number, which is looked up when the command is told."""
_VOICE = "deeds"
"""Whose lines they are, where a worker's journal has its writer."""
_MARKS = {"mark_done": "done", "mark_handled": "handled", "mark_skip": "skip"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Deed:
    """One deed.

    ``kind`` is that of the act, or ``flag``, ``run``, ``rule``; ``words`` is the command that does it again, without
    ``noonmark``; ``name`` is the flag's, ``value`` its value or the digest of the rule; the rest names the row.
    """

    kind: str
    by: str
    words: tuple[str, ...]
    at: Micros = 0
    job: str = ""
    subject: str = ""
    identity: str = ""
    key: str = ""
    scheduled_for: Micros = 0
    row: int = 0
    name: str = ""
    value: Any = None

    @property
    def about(self) -> tuple[str, ...]:
        """What it is done to: of several deeds to one thing the last one counts."""
        if self.kind in ("pause", "resume"):
            return ("pause", self.job)
        if self.kind in ("end_job", "rule"):
            return ("rule", self.job)
        if self.kind == "flag":
            return ("flag", self.name)
        if self.identity:
            return ("row", self.job, self.subject, self.identity)
        return ("key", self.job, self.key)


# -- what is remembered ----------------------------------------------------------------------------------


def of_act(act: Act, answer: Acted, row: Occurrence | None) -> Deed | None:
    """Return the deed that an act was, None where nothing was done or nothing could be typed again.

    Args:
        act: what was asked for.
        answer: the store's.
        row: the row that the act names, where it names one.
    """
    words = _words(act)
    if answer.outcome not in ("done", "requested") or not words or (act.occurrence_id is not None and row is None):
        return None
    deed = Deed(kind=act.kind, by=act.actor, words=words, job=act.job or "", key=act.key or "")
    return deed if row is None else of_row(deed, row)


def of_row(deed: Deed, row: Occurrence) -> Deed:
    """Return a deed that is done to this row."""
    return replace(
        deed, job=row.job, subject=row.subject, identity=row.identity, key=row.key, row=row.id,
        scheduled_for=row.scheduled_for,
    )  # fmt: skip


def _words(act: Act) -> tuple[str, ...]:
    reason = ("--reason", act.reason) if act.reason else ()
    if act.kind in ("pause", "resume") and act.job:
        return (act.kind, act.job, *reason)
    if act.kind == "end_job" and act.job:
        return ("end", act.job, *reason)
    if act.kind == "cancel" and act.key is not None:
        return ("cancel", "--key", act.key, *(("--job", act.job) if act.job else ()), *reason)
    if act.kind in ("cancel", "retry"):
        return (act.kind, ROW, *reason)
    if act.kind in _MARKS:
        return ("mark", ROW, _MARKS[act.kind], *reason)
    return ()


def of_flag(fact: Fact) -> Deed:
    """Return the deed of setting a flag, or of clearing it."""
    name = fact.name.removeprefix("flag:")
    how: tuple[str, ...] = ("--clear",) if fact.value is None else ()
    if fact.value is not None and fact.value is not True:
        how = ("--value", _shown(fact.value))
    value = fact.value if _shown(fact.value) != LEFT_OUT else LEFT_OUT
    return Deed(kind="flag", by=fact.actor, words=("signal", name, *how), name=name, value=value)


def of_run(
    row: Occurrence,
    params: Mapping[str, Any],
    *,
    when: str,
    by: str,
    reason: str = "",
    again: bool = False,
    overrides: Sequence[str] = (),
) -> Deed:
    """Return the deed of asking for a run by hand; ``when`` is what a person writes after ``--for``, "" = nothing."""
    words = ["run", row.job]
    words += ["--for", when] if when else []
    for name, value in params.items():
        words += ["--param", f"{name}={value if _is_plain(value) else _shown(value)}"]
    words += ["--again"] if again else []
    for what in overrides:
        words += ["--override", what]
    words += ["--reason", reason] if reason else []
    return of_row(Deed(kind="run", by=by, words=tuple(words)), row)


def of_rule(row: JobRow, file: str, *, by: str) -> Deed:
    """Return the deed of putting a rule of a file in force."""
    words = ("rules", "apply", os.path.abspath(file))
    return Deed(kind="rule", by=by, words=words, job=row.name, value=row.digest)


def _is_plain(value: object) -> bool:
    """True for a text that is read as that text again, and not as JSON."""
    if not isinstance(value, str) or len(value) > LONGEST_VALUE:
        return False
    try:
        json.loads(value)
    except (ValueError, RecursionError):
        return True
    return False


def _shown(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= LONGEST_VALUE else LEFT_OUT


# -- writing and reading -----------------------------------------------------------------------------------


def remember(root: Path | None, store: Store, deeds: Callable[[], Sequence[Deed]]) -> str:
    """Write down what was done; return why it could not be, "" where it was or where nothing is to be remembered.

    Args:
        root: the state folder; None: remember nothing.
        store: which acknowledged it, so that its clock says when.
        deeds: says what; it may read the store.
    """
    named: Any = store
    if root is None or not hasattr(named, "store_id"):
        return ""
    try:
        done = deeds()
        if not done:
            return ""
        place, now = root / str(named.store_id()), store.now()
        texts = [json.dumps({**asdict(deed), "at": now}) for deed in done]
        place.mkdir(mode=0o700, parents=True, exist_ok=True)
        _append(place, [f"{sealed(place / _VOICE, text)}\n".encode("ascii") for text in texts])
    except OSError as error:
        return f"{root}: {error.strerror or error}"
    except Exception as error:  # the store went away behind its answer: what was done stays done
        return f"{root}: {error}"
    return ""


def _append(place: Path, texts: Sequence[bytes]) -> None:
    with _alone(place) as handle:
        for text in texts:
            lines.append(handle, text)
        if os.fstat(handle).st_size > HALF:
            os.replace(place / FILE, place / OLDER)


@contextlib.contextmanager
def _alone(place: Path) -> Iterator[int]:
    """Open the file that lies there, while no other process writes it or turns it over."""
    while True:
        handle = os.open(place / FILE, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
        try:
            if fcntl is not None:
                fcntl.flock(handle, fcntl.LOCK_EX)
            with contextlib.suppress(FileNotFoundError):
                if os.path.samestat(os.fstat(handle), os.stat(place / FILE)):
                    yield handle
                    return
        finally:
            os.close(handle)


def read(
    root: Path, store: str, ranges: Collection[tuple[Micros, Micros]], on_damage: Callable[[str], object]
) -> Iterator[Deed]:
    """Yield what was done in one of these ranges, oldest first.

    Args:
        root: the state folder.
        store: the store's id.
        ranges: store times, UTC microseconds, the first excluded.
        on_damage: is told each line that is not as it was written, as FILE:LINE.
    """
    for name in (OLDER, FILE):
        path = root / store / name
        with contextlib.suppress(FileNotFoundError), path.open("rb") as file:
            for number, text in enumerate(file, 1):
                try:
                    told = unsealed(root / store / _VOICE, text.decode("utf-8", "replace"))
                    deed = Deed(**{**told, "words": tuple(told["words"])})
                except (ValueError, KeyError, TypeError, RecursionError):
                    on_damage(f"{path}:{number}")
                    continue
                if any(after < deed.at <= until for after, until in ranges):
                    yield deed


# -- what is gone -------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Gone:
    """A deed that the store does not know of any more; ``words`` is the command, None where its row is not there now."""

    deed: Deed
    words: tuple[str, ...] | None


def gone(store: Store, deeds: Sequence[Deed]) -> list[Gone]:
    """Return of each thing the last deed that was done to it, where the store shows nothing of it, by time."""
    last: dict[tuple[str, ...], Deed] = {}
    for deed in sorted(deeds, key=lambda each: each.at):
        last[deed.about] = deed
    wanted = sorted({deed.job for deed in last.values() if deed.about[0] in ("pause", "rule")})
    jobs = {row.name: row for row in store.jobs(wanted)} if wanted else {}
    names = [f"flag:{deed.name}" for deed in last.values() if deed.about[0] == "flag"]
    flags: dict[str, Fact] = {}  # programs set them by the thousand
    for first in range(0, len(names), FLAGS_AT_ONCE):
        flags |= store.facts(names[first : first + FLAGS_AT_ONCE])
    found = [each for deed in last.values() if (each := _gone(store, jobs, flags, deed)) is not None]
    return sorted(found, key=lambda each: each.deed.at)


def _gone(store: Store, jobs: Mapping[str, JobRow], flags: Mapping[str, Fact], deed: Deed) -> Gone | None:
    job = jobs.get(deed.job)
    match deed.about[0]:
        case "pause":
            is_there = (job is not None and job.paused) is (deed.kind == "pause")
        case "rule":
            is_there = (job is None or not job.rule) if deed.kind == "end_job" else _has(job, deed.value)
        case "flag":
            fact = flags[f"flag:{deed.name}"]
            is_there = fact.is_set if deed.value == LEFT_OUT else fact.value == deed.value
        case "key":
            is_there = _is_cancelled(store, deed)
        case _:
            return _gone_of_row(store, deed)
    return None if is_there else Gone(deed=deed, words=deed.words)


def _has(job: JobRow | None, digest: object) -> bool:
    return job is not None and job.digest == digest


def _is_cancelled(store: Store, deed: Deed) -> bool:
    rows = store.occurrences(Query(key=deed.key, job=deed.job or None, limit=100))
    return any(row.state == "CANCELLED" or row.cancel_requested for row in rows)


def _gone_of_row(store: Store, deed: Deed) -> Gone | None:
    row = _row_now(store, deed)
    if deed.kind == "run":
        is_asked = row is not None or (deed.key and store.occurrences(Query(job=deed.job, key=deed.key, limit=1)))
        return None if is_asked else Gone(deed=deed, words=deed.words)
    if deed.kind == "cancel" and row is None and deed.key:
        if _is_cancelled(store, deed):
            return None
        words = ("cancel", "--key", deed.key, "--job", deed.job, *deed.words[2:])
        return Gone(deed=deed, words=words)
    if row is None:
        return None if deed.kind == "retry" else Gone(deed=deed, words=None)
    if _shows(row, deed):
        return None
    return Gone(deed=deed, words=tuple(f"r{row.id}" if word == ROW else word for word in deed.words))


def _shows(row: Occurrence, deed: Deed) -> bool:
    """True where a row is as the deed left it, or has come further."""
    if deed.kind == "retry":
        return row.state != "FAILED_MANUAL"
    if deed.kind == "cancel":
        return row.cancel_requested or row.state in ("CANCELLED", "SUCCESS", "SKIPPED")
    return row.state in ("CANCELLED", "SUCCESS", "SKIPPED")


def _row_now(store: Store, deed: Deed) -> Occurrence | None:
    """Return the row that the store has for what the deed was done to, whatever its number."""
    at = deed.scheduled_for
    query = Query(job=deed.job, subject=deed.subject, scheduled_from=at, scheduled_until=at + 1, limit=1000)
    rows = store.occurrences(query)
    return next((row for row in rows if row.identity == deed.identity), None)
