"""What ResearchCopilot keeps in its own folder: runs, digests, reports, memories, metric parts, patrols.

Rules of the file: every write may be repeated and changes nothing the second time, because a job may run more often
than once (a takeover, a retry, a person): rows are keyed by what they are about and written whole.  When jobs run is
noonmark's business and lies in noonmark's store, not here.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import apsw

from researchcopilot.answer import Answer

ZONE = ZoneInfo("Asia/Shanghai")
"""The business's zone: a run belongs to the date it has there."""
FILE_NAME = "copilot.db"
PATIENCE_MS = 5000


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One question and what became of it: ``asked``, ``answered`` or ``failed``."""

    id: str
    question: str
    deep: bool
    state: str
    asked_at: datetime
    asked_on: str
    answered_at: datetime | None
    answer: Answer | None
    worker: str
    error: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """A digest, a report or a patrol: its name, when it was made, and its text."""

    name: str
    made_at: datetime
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One worker's figures for one date, counted up to ``until`` (at most the date's end)."""

    name: str
    date: str
    until: datetime
    answered: int
    failed: int
    seconds: float


class Data:
    """The folder and its database; any number of threads and processes may use it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self._path = str(folder / FILE_NAME)
        with self._write() as db:
            db.execute(_SCHEMA)

    # -- runs -------------------------------------------------------------------------------------

    def add_run(self, run_id: str, question: str, asked_at: datetime, *, deep: bool = False) -> bool:
        """Store a question; False when this run is there already (then nothing changes)."""
        with self._write() as db:
            db.execute(
                "INSERT INTO runs(id, question, deep, state, asked_at, asked_on) VALUES (?,?,?,'asked',?,?)"
                " ON CONFLICT(id) DO NOTHING",
                (run_id, question, int(deep), _us(asked_at), asked_at.astimezone(ZONE).date().isoformat()),
            )
            return bool(db.changes())

    def finish_run(self, run_id: str, answer: Answer, answered_at: datetime, *, worker: str, seconds: float) -> None:
        """Store the answer; one that is there already stays."""
        with self._write() as db:
            db.execute(
                "UPDATE runs SET state='answered', answered_at=?, answer=?, worker=?, seconds=?, error=''"
                " WHERE id=? AND state<>'answered'",
                (_us(answered_at), json.dumps(answer.to_plain(), ensure_ascii=False), worker, seconds, run_id),
            )

    def fail_run(self, run_id: str, error: str, failed_at: datetime, *, worker: str) -> None:
        """Store why there is no answer; a run that has one keeps it."""
        with self._write() as db:
            db.execute(
                "UPDATE runs SET state='failed', answered_at=?, error=?, worker=? WHERE id=? AND state<>'answered'",
                (_us(failed_at), error, worker, run_id),
            )

    def run(self, run_id: str) -> Run | None:
        """Return one run."""
        found = self._runs("WHERE id=?", (run_id,))
        return found[0] if found else None

    def runs(self, *, limit: int = 20) -> list[Run]:
        """Return the newest runs, newest first."""
        return self._runs("ORDER BY asked_at DESC, id LIMIT ?", (limit,))

    def runs_of(self, day: str) -> list[Run]:
        """Return the runs asked on a business date, oldest first."""
        return self._runs("WHERE asked_on=? ORDER BY asked_at, id", (day,))

    def _runs(self, rest: str, values: Sequence[Any]) -> list[Run]:
        rows = self._read(
            "SELECT id, question, deep, state, asked_at, asked_on, answered_at, answer, worker, error FROM runs "
            + rest,
            values,
        )
        return [
            Run(
                id=row[0], question=row[1], deep=bool(row[2]), state=row[3], asked_at=_moment(row[4]), asked_on=row[5],
                answered_at=None if row[6] is None else _moment(row[6]),
                answer=None if row[7] is None else Answer.from_plain(json.loads(row[7])), worker=row[8], error=row[9],
            )
            for row in rows
        ]  # fmt: skip

    # -- digests, reports, patrols ------------------------------------------------------------------

    def put_digest(self, run_id: str, text: str, made_at: datetime) -> None:
        """Store the digest of a run, in place of the one before."""
        self._put("digest", run_id, text, made_at)

    def put_report(self, day: str, channel: str, text: str, made_at: datetime) -> None:
        """Store the report of a date for a channel, in place of the one before."""
        self._put("report", f"{day}:{channel}", text, made_at)

    def put_patrol(self, name: str, text: str, made_at: datetime) -> None:
        """Store what a patrol found."""
        self._put("patrol", name, text, made_at)

    def digests(self, *, limit: int = 20) -> list[Page]:
        """Return the newest digests, by the id of their run."""
        return self._pages("digest", limit)

    def reports(self, *, limit: int = 20) -> list[Page]:
        """Return the newest reports, named ``date:channel``."""
        return self._pages("report", limit)

    def patrols(self, *, limit: int = 20) -> list[Page]:
        """Return what the newest patrols found."""
        return self._pages("patrol", limit)

    def _put(self, kind: str, name: str, text: str, made_at: datetime) -> None:
        with self._write() as db:
            db.execute(
                "INSERT INTO pages(kind, name, made_at, text) VALUES (?,?,?,?)"
                " ON CONFLICT(kind, name) DO UPDATE SET made_at=excluded.made_at, text=excluded.text",
                (kind, name, _us(made_at), text),
            )

    def _pages(self, kind: str, limit: int) -> list[Page]:
        rows = self._read(
            "SELECT name, made_at, text FROM pages WHERE kind=? ORDER BY made_at DESC, name LIMIT ?", (kind, limit)
        )
        return [Page(name=name, made_at=_moment(made_at), text=text) for name, made_at, text in rows]

    # -- memories -----------------------------------------------------------------------------------

    def remember(self, run_id: str, question: str, gist: str, *, until: datetime) -> None:
        """Keep the gist of a run for a while."""
        with self._write() as db:
            db.execute(
                "INSERT INTO memories(run_id, question, gist, until) VALUES (?,?,?,?)"
                " ON CONFLICT(run_id) DO UPDATE SET gist=excluded.gist, until=excluded.until",
                (run_id, question, gist, _us(until)),
            )

    def memories(self, now: datetime) -> list[tuple[str, str, str]]:
        """Return (run, question, gist) of every memory still kept."""
        return [
            (run_id, question, gist)
            for run_id, question, gist in self._read(
                "SELECT run_id, question, gist FROM memories WHERE until>? ORDER BY run_id", (_us(now),)
            )
        ]

    def expire_memories(self, now: datetime) -> int:
        """Delete the memories whose time is over; return how many."""
        with self._write() as db:
            db.execute("DELETE FROM memories WHERE until<=?", (_us(now),))
            return db.changes()

    # -- metrics ------------------------------------------------------------------------------------

    def put_parts(self, name: str, minute: datetime, *, worker: str) -> list[Part]:
        """Count what a worker process did up to ``minute`` and store it, as its own part of each date it concerns.

        Args:
            name: the part's name, a worker incarnation as the scheduler knows it.
            minute: the end of the last minute counted.
            worker: the process, as it signs its answers.

        Counted from the runs, not added up: counting twice gives the same row, and a minute that was missed is made up
        for by the next one, the last minutes of yesterday included.
        """
        with self._write() as db:
            last = _rows(db, "SELECT max(until) FROM parts WHERE name=?", (name,))[0][0]
            day = _day_before(minute)
            first = day if last is None else min(day, _day_before(_moment(last)))
            parts = []
            while first <= day:
                parts.append(self._put_part(db, name, worker, first, min(minute, end_of(first))))
                first = _next_day(first)
            return parts

    def _put_part(self, db: apsw.Connection, name: str, worker: str, day: str, until: datetime) -> Part:
        answered, failed, seconds = _rows(
            db,
            "SELECT count(*) FILTER (WHERE state='answered'), count(*) FILTER (WHERE state='failed'),"
            " coalesce(sum(seconds), 0.0) FROM runs WHERE worker=? AND answered_at>=? AND answered_at<?",
            (worker, _us(end_of(_previous_day(day))), _us(until)),
        )[0]
        db.execute(
            "INSERT INTO parts(name, date, until, answered, failed, seconds) VALUES (?,?,?,?,?,?)"
            " ON CONFLICT(name, date) DO UPDATE SET until=excluded.until, answered=excluded.answered,"
            " failed=excluded.failed, seconds=excluded.seconds",
            (name, day, _us(until), answered, failed, seconds),
        )
        return Part(name=name, date=day, until=until, answered=answered, failed=failed, seconds=seconds)

    def parts(self, day: str) -> list[Part]:
        """Return the parts of a date, by name."""
        rows = self._read(
            "SELECT name, date, until, answered, failed, seconds FROM parts WHERE date=? ORDER BY name", (day,)
        )
        return [
            Part(name=row[0], date=row[1], until=_moment(row[2]), answered=row[3], failed=row[4], seconds=row[5])
            for row in rows
        ]

    # -- the database -------------------------------------------------------------------------------

    @contextmanager
    def _write(self) -> Iterator[apsw.Connection]:
        with closing(self._connect()) as db:
            db.execute("BEGIN IMMEDIATE")
            try:
                yield db
            except BaseException:
                db.execute("ROLLBACK")
                raise
            db.execute("COMMIT")

    def _read(self, sql: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        with closing(self._connect()) as db:
            return _rows(db, sql, values)

    def _connect(self) -> apsw.Connection:
        db = apsw.Connection(self._path)
        db.set_busy_timeout(PATIENCE_MS)
        _use_wal(db)
        return db


def _use_wal(db: apsw.Connection) -> None:
    """Turn a new file into WAL mode: for this change SQLite does not wait for others, whatever the busy timeout says."""
    give_up = time.monotonic() + PATIENCE_MS / 1000
    while db.pragma("journal_mode") != "wal":
        try:
            db.pragma("journal_mode", "wal")
        except apsw.BusyError:
            if time.monotonic() >= give_up:
                raise
            time.sleep(0.002)


def _rows(db: apsw.Connection, sql: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
    return db.execute(sql, values).fetchall()


def end_of(day: str) -> datetime:
    """Return the moment at which a business date is over, in UTC.

    Raises:
        ValueError: the text is no ISO date.
    """
    following = date.fromisoformat(day) + timedelta(days=1)
    return datetime(following.year, following.month, following.day, tzinfo=ZONE).astimezone(ZoneInfo("UTC"))


def _day_before(moment: datetime) -> str:
    """Return the date of the last instant before ``moment``: midnight still belongs to the day that ends with it."""
    return (moment - timedelta(microseconds=1)).astimezone(ZONE).date().isoformat()


def _next_day(day: str) -> str:
    return (date.fromisoformat(day) + timedelta(days=1)).isoformat()


def _previous_day(day: str) -> str:
    return (date.fromisoformat(day) - timedelta(days=1)).isoformat()


def _us(moment: datetime) -> int:
    return int(moment.timestamp() * 1_000_000)


def _moment(micros: int) -> datetime:
    return datetime.fromtimestamp(micros / 1_000_000, tz=ZoneInfo("UTC"))


_SCHEMA = """
CREATE TABLE IF NOT EXISTS runs(
  id TEXT PRIMARY KEY, question TEXT NOT NULL, deep INTEGER NOT NULL, state TEXT NOT NULL, asked_at INTEGER NOT NULL,
  asked_on TEXT NOT NULL, answered_at INTEGER, answer TEXT, worker TEXT NOT NULL DEFAULT '', seconds REAL,
  error TEXT NOT NULL DEFAULT '');
CREATE INDEX IF NOT EXISTS runs_by_time ON runs(asked_at);
CREATE INDEX IF NOT EXISTS runs_by_date ON runs(asked_on, asked_at);
CREATE INDEX IF NOT EXISTS runs_by_worker ON runs(worker, answered_at);
CREATE TABLE IF NOT EXISTS pages(
  kind TEXT NOT NULL, name TEXT NOT NULL, made_at INTEGER NOT NULL, text TEXT NOT NULL,
  PRIMARY KEY(kind, name)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS memories(
  run_id TEXT PRIMARY KEY, question TEXT NOT NULL, gist TEXT NOT NULL, until INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS parts(
  name TEXT NOT NULL, date TEXT NOT NULL, until INTEGER NOT NULL, answered INTEGER NOT NULL, failed INTEGER NOT NULL,
  seconds REAL NOT NULL, PRIMARY KEY(name, date)) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS parts_by_date ON parts(date);
"""
