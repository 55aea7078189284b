"""The search index: SQLite FTS5 over the passages of a corpus, replaced as a whole.

Rules of the file: an index file is never written to once readers may see it.  A rebuild reads the whole corpus,
writes a new file beside the old one and renames it over: a reader has the old index or the new one, never half of
one, and a rebuild that dies leaves the old one.  The same corpus gives the same bytes, so running a rebuild twice (or
two at once) changes nothing: that is what makes the lock around it a saving and not a necessity.
"""

from __future__ import annotations

import os
import time
import uuid
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import apsw

from researchcopilot.corpus import Corpus, Passage, Problem, Reading, read
from researchcopilot.text import subject_terms, terms

FILE_NAME = "index.db"
LEFTOVER_AGE = 3600
"""Seconds after which a half-written file of a rebuild that died is removed."""


class IndexUnusableError(Exception):
    """There is no index, or its file cannot be read; the message says what to do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Built:
    """What a rebuild made: counts, the corpus digest, whether it differs from the one before, files left out."""

    documents: int
    passages: int
    digest: str
    changed: bool
    problems: tuple[Problem, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """A passage found, with its rank (higher is better)."""

    passage: Passage
    rank: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """What an index holds."""

    documents: int
    passages: int
    digest: str


def rebuild(corpus: Corpus, folder: Path) -> Built:
    """Read the whole corpus and put a new index into ``folder``, all at once.

    Raises:
        CorpusError: the corpus cannot be read; the index that was there stays.
    """
    folder.mkdir(parents=True, exist_ok=True)
    _remove_leftovers(folder)
    reading = read(corpus)
    try:
        before = summary(folder).digest
    except IndexUnusableError:
        before = ""
    fresh = folder / f"index-{uuid.uuid4().hex}.new"
    try:
        _write(fresh, reading)
        _flush_to_disk(fresh)
        os.replace(fresh, folder / FILE_NAME)
        _flush_to_disk(folder)
    finally:
        fresh.unlink(missing_ok=True)
    return Built(
        documents=reading.documents,
        passages=len(reading.passages),
        digest=reading.digest,
        changed=reading.digest != before,
        problems=tuple(reading.problems),
    )


def ensure(corpus: Corpus, folder: Path) -> None:
    """Build the index if there is none yet, so that the first question need not wait for the first rebuild."""
    try:
        summary(folder)
    except IndexUnusableError:
        rebuild(corpus, folder)


def summary(folder: Path) -> Summary:
    """Say what the index in ``folder`` holds.

    Raises:
        IndexUnusableError: there is none, or it is damaged.
    """
    with _open(folder) as db:
        kept: dict[str, str] = dict(_rows(db, "SELECT name, value FROM meta"))
        return Summary(documents=int(kept["documents"]), passages=int(kept["passages"]), digest=str(kept["digest"]))


def search(folder: Path, question: str, *, limit: int = 6) -> list[Hit]:
    """Return the passages that answer best to the words of the question, best first.

    Raises:
        IndexUnusableError: there is no index, or it is damaged.
    """
    wanted = subject_terms(question)
    if not wanted:
        return []
    match = " OR ".join(f'"{word}"' for word in wanted)  # words hold letters and digits only, see text.terms
    with _open(folder) as db:
        rows = _rows(
            db,
            "SELECT p.file, p.line, p.page, p.heading, p.text, p.aside, bm25(words, 3.0, 1.0) AS badness"
            " FROM words JOIN passages p ON p.id = words.rowid WHERE words MATCH ?"
            " ORDER BY badness, p.id LIMIT ?",
            (match, limit),
        )
    return [
        Hit(
            passage=Passage(file=file, line=line, page=page, heading=heading, text=text, aside=aside),
            rank=-float(badness),
        )
        for file, line, page, heading, text, aside, badness in rows
    ]


def passages_of(folder: Path, file: str) -> list[Passage]:
    """Return every passage of one document, in its order."""
    with _open(folder) as db:
        rows = _rows(
            db, "SELECT file, line, page, heading, text, aside FROM passages WHERE file = ? ORDER BY id", (file,)
        )
    return [
        Passage(file=name, line=line, page=page, heading=heading, text=text, aside=aside)
        for name, line, page, heading, text, aside in rows
    ]


# --- the file --------------------------------------------------------------------------------------

_SCHEMA = """
CREATE TABLE meta(name TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID;
CREATE TABLE passages(
  id INTEGER PRIMARY KEY, file TEXT, line INTEGER, page INTEGER, heading TEXT, text TEXT, aside TEXT);
CREATE INDEX passages_by_file ON passages(file, id);
CREATE VIRTUAL TABLE words USING fts5(heading, body, content='', tokenize='porter unicode61');
"""


def _write(path: Path, reading: Reading) -> None:
    with closing(apsw.Connection(str(path))) as db:
        db.execute("PRAGMA journal_mode=OFF")  # nobody sees this file before it is complete
        with db:
            db.execute(_SCHEMA)
            for number, passage in enumerate(reading.passages, start=1):
                db.execute(
                    "INSERT INTO passages VALUES (?,?,?,?,?,?,?)",
                    (number, passage.file, passage.line, passage.page, passage.heading, passage.text, passage.aside),
                )
                db.execute(
                    "INSERT INTO words(rowid, heading, body) VALUES (?,?,?)",
                    (number, _spaced([passage.heading]), _spaced([passage.text, passage.aside])),
                )
            db.executemany(
                "INSERT INTO meta VALUES (?,?)",
                [
                    ("documents", str(reading.documents)),
                    ("passages", str(len(reading.passages))),
                    ("digest", reading.digest),
                ],
            )


def _spaced(texts: Sequence[str]) -> str:
    return " ".join(word for text in texts for word in terms(text))


def _rows(db: apsw.Connection, sql: str, values: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    return db.execute(sql, values).fetchall()


@contextmanager
def _open(folder: Path) -> Iterator[apsw.Connection]:
    path = folder / FILE_NAME
    if not path.exists():
        raise IndexUnusableError(f"no index in {folder} yet. Build it: researchcopilot index")
    uri = f"file:{_escaped(path.resolve())}?mode=ro&immutable=1"
    try:
        with closing(apsw.Connection(uri, flags=apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI)) as db:
            yield db
    except apsw.Error as trouble:
        raise IndexUnusableError(
            f"the index {path} cannot be read ({trouble}). Build it again: researchcopilot index"
        ) from trouble


def _escaped(path: Path) -> str:
    return str(path).replace("%", "%25").replace("?", "%3f").replace("#", "%23")


def _flush_to_disk(path: Path) -> None:
    """Without it a power cut could leave the new name on an empty file."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    except OSError:
        pass  # folders cannot be flushed on every system; the rename is atomic all the same
    finally:
        os.close(handle)


def _remove_leftovers(folder: Path) -> None:
    horizon = time.time_ns() // 10**9 - LEFTOVER_AGE
    for path in folder.glob("index-*.new"):
        try:
            if path.stat().st_mtime < horizon:
                path.unlink()
        except FileNotFoundError:
            continue  # another rebuild removed it first
