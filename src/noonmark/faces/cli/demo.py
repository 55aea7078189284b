"""``noonmark demo``: three workers, ResearchCopilot's jobs, one worker killed, and the proof that nothing was lost.

Rule of the file: it is a play with a real cast.  The store, the workers, the jobs and the kill are real; the demo
only asks questions, kills, and reads.  Whatever happens, no process is left behind.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, redirect_stdout
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import click

from noonmark.core import times
from noonmark.core.model import SECOND, Micros, Occurrence, Query, State
from noonmark.core.shown import json_text
from noonmark.explain.render import cut
from noonmark.explain.report import report_counts, report_json, report_line, report_text
from noonmark.explain.verify import Report, verify
from noonmark.explain.voice import Voice
from noonmark.faces.cli import problems
from noonmark.faces.cli.demo_lines import Watcher
from noonmark.faces.cli.demo_place import erase_left, file_url, played_at, server_url
from noonmark.faces.cli.demo_reach import PATIENCE, Patience, patient
from noonmark.faces.cli.demo_stage import WORKERS, Troupe, command_name, find_app, load, prepare, termination_raises
from noonmark.faces.cli.demo_words import LONG_QUESTION, QUESTIONS, say
from noonmark.faces.cli.session import Command, Session, settings_of, sqlite_path
from noonmark.faces.cli.settings import Settings, writes_unicode
from noonmark.ports.clock import SystemClock
from noonmark.ports.store import Store, StoreError
from noonmark.wiring import shown

ZONE = "Asia/Shanghai"
"""The zone of ResearchCopilot's jobs, and so of every time the demo tells unless ``--tz`` says otherwise."""
START_PATIENCE = 30
"""Seconds within which the workers must have come up."""
LEAD: Micros = 2 * SECOND
"""Between the launch and the moment the demo counts from, so that the workers are up by then."""
REPORT_AFTER: Micros = 15 * SECOND
LONG_AFTER: Micros = 18 * SECOND
KILL_DELAY = 1.0
"""Seconds between the first step of the long run and the kill: in the middle, and not at the edge."""
OVERTIME: Micros = 45 * SECOND
"""How much longer a slow machine may take."""
TICK = 0.25
INDENT = " " * 14
ANSWER_COLUMNS = 104


@click.command(cls=Command, acts=True)
@click.option("--no-kill", is_flag=True, help="Kill no worker, but say how to do it yourself.")
@click.option(
    "--keep", is_flag=True, help="Keep what an earlier demo left; take the next free folder. With --url: erase nothing."
)
@click.option("--dir", "folder", default="noonmark-demo", show_default=True, metavar="FOLDER", help="Where to write.")
@click.option(
    "--seconds", default=60, show_default=True, type=click.IntRange(45, 3600), help="How long it takes, about."
)
@click.option("--erase", "left", metavar="NAME", help="Take away what a demo left at --url, and play nothing.")
@click.pass_context
def demo(ctx: click.Context, *, no_kill: bool, keep: bool, folder: str, seconds: int, left: str | None) -> int:
    """Watch three workers share jobs, one of them die, and nothing get lost or done twice.

    It plays on a SQLite file in --dir, or with --url on a server: in a schema or namespace of its own, which is erased
    at the end (NOONMARK_URL is not looked at).  Exit code 1 if the proof at the end does not hold.  With --json the lines
    go to stderr, and the proof is one object on stdout.
    """
    settings = settings_of(ctx)
    if not settings.json:
        return _play(settings, no_kill=no_kill, keep=keep, folder=folder, seconds=seconds, left=left)[0]
    with redirect_stdout(sys.stderr):
        code, told = _play(settings, no_kill=no_kill, keep=keep, folder=folder, seconds=seconds, left=left)
    if code == problems.INTERRUPTED:
        raise problems.Trouble("interrupted", code=code)
    settings.answered = True
    click.echo(json_text({"v": 1, **told}, ascii_only=not writes_unicode(sys.stdout)))
    return code


def _play(
    settings: Settings, *, no_kill: bool, keep: bool, folder: str, seconds: int, left: str | None
) -> tuple[int, dict[str, Any]]:
    """Play it, or take away what is left; return the exit code and what a program wants to know of it."""
    lang, is_served = settings.language, "url" in settings.typed
    if left is not None:
        if not is_served:
            raise problems.Trouble("option_goes_with", option="--erase", other="--url")
        url = server_url(settings.url, left)
        return problems.OK, {"url": shown(url), "erased": erase_left(url, lang)}
    app, url, zone = find_app(), server_url(settings.url) if is_served else "", Session(settings).zone(ZONE)
    with ExitStack() as stack:
        store = stack.enter_context(played_at(url, lang, erase=not keep)) if url else None  # reached before all else
        place = prepare(Path(folder), keep=keep)
        stack.callback(place.leave)
        if store is None:
            url = file_url(place.folder)
            store = stack.enter_context(played_at(url, lang, erase=False))
        play = stack.enter_context(_stage(place.folder, app, lang, store, url=url, zone=zone, seconds=seconds))
        play.erased = is_served and not keep
        if place.emptied:
            click.echo(say(lang, "replaced", path=place.folder))
        try:
            with termination_raises():
                return play.perform(kill=not no_kill), play.told
        except KeyboardInterrupt:
            play.troupe.stop()
            click.echo(say(lang, "interrupted"), err=True)
            return problems.INTERRUPTED, {}
        except StoreError as trouble:
            waited = f"{PATIENCE:g}"
            raise problems.Trouble("demo_away", error=str(trouble), seconds=waited, code=problems.UNREACHABLE) from None


@dataclass(kw_only=True)
class Play:
    """One performance."""

    folder: Path
    url: str
    lang: str
    zone: str
    seconds: int
    begin: Micros
    store: Store
    troupe: Troupe
    data: Any  # researchcopilot.data.Data
    desk: Any  # researchcopilot.desk.Desk
    watcher: Watcher
    names: dict[int, str]
    patience: Patience
    away: type[Exception]  # researchcopilot.desk.UnavailableError
    long_key: str = ""
    seen_load_at: float | None = None
    broke_it: bool = False
    killed: list[str] = field(default_factory=list)
    erased: bool = False  # nothing will be left to look into
    told: dict[str, Any] = field(default_factory=dict)  # what came of it, for programs

    def perform(self, *, kill: bool) -> int:
        """Play it from the first line to the proof; return the exit code."""
        self.troupe.start()
        self._wait_for_workers()
        self._opening()
        self.watcher.on_end = self._tell_answer
        self._ask_questions()
        end = self.begin + self.seconds * SECOND
        while (now := self.store.now() - int(self.patience.away * SECOND)) < end or (
            self._in_the_middle() and now < end + OVERTIME
        ):
            self._turn(kill=kill)
            time.sleep(TICK)
        report = verify(self.store, self.begin - LEAD)
        self.watcher.poll()  # whatever the proof has counted has its line above
        self.troupe.stop()
        return self._closing(report, kill=kill)

    # -- the acts -----------------------------------------------------------------------------------

    def _turn(self, *, kill: bool) -> None:
        self.watcher.poll()
        for name, code in self.troupe.newly_gone():
            if code >= 0:
                self._own_end(name, code)
            self.killed.append(name)
            self.watcher.tell_gone(name, self.troupe.processes[name].pid)
        if not self.long_key and self.store.now() >= self.begin + LONG_AFTER:
            run = self._ask(LONG_QUESTION[self.lang], deep=True).run
            self.long_key = f"answer:{run.id}"
            self.watcher.note(say(self.lang, "long", key=self.long_key))
        elif self.long_key and not self.broke_it:
            self._break_it(kill=kill)

    def _break_it(self, *, kill: bool) -> None:
        """When the long run has its first step behind it, kill who runs it, or say how."""
        rows = self.store.occurrences(Query(key=self.long_key, states=frozenset({State.RUNNING})))
        story = self.store.story(rows[0].id) if rows else None
        if story is None or not any(note.kind == "step" for note in story.notes):
            return
        if self.seen_load_at is None:
            self.seen_load_at = time.monotonic()
        if time.monotonic() < self.seen_load_at + KILL_DELAY:
            return
        name = self.watcher.name(story.occurrence.holder)
        pid = self.troupe.processes[name].pid
        self.broke_it = True
        if kill:
            self.watcher.note(say(self.lang, "killing", worker=name, pid=pid))
            self.troupe.kill(name)
        else:
            self.watcher.note(say(self.lang, "break_it", worker=name, pid=pid, job=story.occurrence.job))

    def _in_the_middle(self) -> bool:
        """True while the long run is not at its end: a proof before that would prove too little."""
        if not self.long_key:
            return True
        return bool(self.store.occurrences(Query(key=self.long_key, open_only=True)))

    # -- the frame ----------------------------------------------------------------------------------

    def _opening(self) -> None:
        pids = "   ".join(f"{name} pid {self.troupe.processes[name].pid}" for name in WORKERS)
        place = self.folder / "noonmark.db" if sqlite_path(self.url) is not None else shown(self.url)
        click.echo(say(self.lang, "store", path=place, zone=self.zone))
        click.echo(say(self.lang, "workers", workers=pids))
        click.echo(say(self.lang, "app"))
        click.echo("")

    def _ask_questions(self) -> None:
        for question in QUESTIONS[self.lang]:
            self._ask(question)
        report = times.local(self.begin + REPORT_AFTER, self.zone).strftime("%H:%M:%S")
        self.watcher.note(say(self.lang, "asked"))
        self.watcher.note(say(self.lang, "promised", report=report))

    def _ask(self, question: str, **more: Any) -> Any:
        """Ask until the store has taken it; by its name a question that is asked twice counts once."""
        name = f"{self.begin}:{question}"
        return self.patience.ask(self.desk.ask, question, name=name, passing=(self.away,), **more)

    def _tell_answer(self, row: Occurrence) -> None:
        run = self.data.run(row.key.removeprefix("answer:")) if row.job == "answer_run" else None
        if run is None or run.answer is None:
            return
        for text in (f"“{run.question}”", " ".join(run.answer.text.split())):
            click.echo(INDENT + cut(text, ANSWER_COLUMNS))

    def _closing(self, report: Report, *, kill: bool) -> int:
        click.echo("")
        self.watcher.headed(report.until, say(self.lang, "verify"), report_line(report, self.lang))
        for key, ended in (("counts", True), ("under_way", False)):
            counts = [f"{count} {word}" for count, word in report_counts(report, self.lang, ended=ended)]
            if counts:
                self.watcher.below(say(self.lang, key, counts=say(self.lang, "comma").join(counts)))
        if not report.ok:
            click.echo(report_text(report, Voice(lang=self.lang, zone=self.zone, now=report.until)))
        if self.killed and not self.watcher.takeovers:
            click.echo(say(self.lang, "no_takeover", path=self.folder))
        elif not self.killed:
            click.echo(say(self.lang, "nobody_killed"))
        proved = report.ok and (bool(self.watcher.takeovers) or not kill)
        if not self.erased:
            self._what_to_try()
        self.told = {
            "url": shown(self.url),
            "proved": proved,
            "killed": self.killed,
            "takeovers": self.watcher.takeovers,
            "verify": report_json(report, self.zone),
            "next": [] if self.erased else [command for command, _ in self._tries()],
        }
        return problems.OK if proved else problems.NO

    def _what_to_try(self) -> None:
        click.echo("\n" + say(self.lang, "next"))
        for command, words in self._tries():
            click.echo(f"  # {say(self.lang, words)}\n  {command}")

    def _tries(self) -> list[tuple[str, str]]:
        tries = [
            (f"why answer_run --key {self.long_key}", "why_long"),
            ("why daily_report", "why_report"),
            ("run daily_report", "why_refused"),
            ("verify", "proof"),
        ]
        url = f"'{shown(self.url)}'" if "?" in self.url else self.url
        return [(f"{command_name()} --url {url} {command}", words) for command, words in tries]

    # -- the cast -----------------------------------------------------------------------------------

    def _wait_for_workers(self) -> None:
        deadline = time.monotonic() + START_PATIENCE
        pids = {process.pid: name for name, process in self.troupe.processes.items()}
        self.names.update(pids)
        while not {worker.pid for worker in self.store.workers()} >= set(pids):
            for name, code in self.troupe.newly_gone():
                self._own_end(name, code)
            if time.monotonic() > deadline:
                where = {"seconds": START_PATIENCE, "folder": str(self.folder)}
                raise problems.Trouble("demo_slow", **where, code=problems.NO)
            time.sleep(TICK)

    def _own_end(self, name: str, code: int) -> None:
        """A worker that ends by itself is a fault of ours: show its last words."""
        log = self.troupe.log_of(name)
        last = "\n".join(log.read_text("utf-8", "replace").splitlines()[-8:])
        ended = {"worker": name, "ended": code, "path": str(log), "last": last}
        raise problems.Trouble("demo_worker_ended", **ended, code=problems.NO)


@contextmanager
def _stage(folder: Path, app: Path, lang: str, store: Store, *, url: str, zone: str, seconds: int) -> Iterator[Play]:
    """Set everything up, and take everything down again whatever happens."""
    begin = (SystemClock().wall() + LEAD) // SECOND * SECOND  # whole seconds read better
    start = times.to_datetime(begin)
    data_folder = folder / "researchcopilot"
    scheduler_module = load(app, "researchcopilot.scheduler")
    patience = Patience(lambda word, lasted: _tell_outage(lang, zone, word, lasted))
    store = patient(store, patience)
    troupe = Troupe(
        folder,
        {
            "NOONMARK_URL": url,
            "NOONMARK_LANG": lang,
            "RESEARCHCOPILOT_DATA": str(data_folder),
            "RESEARCHCOPILOT_CORPUS": "",
            "RESEARCHCOPILOT_LANG": lang,
            "RESEARCHCOPILOT_DEMO_START": start.isoformat(),
        },
        app,
    )
    sched = None
    try:
        try:
            sched = scheduler_module.build(url, data_folder, None, profile="demo", lang=lang, demo_start=start)
        except load(app, "researchcopilot.corpus").CorpusError as trouble:
            raise problems.Trouble("demo_corpus", error=str(trouble)) from None
        data = load(app, "researchcopilot.data").Data(data_folder)
        ascii_only = not writes_unicode(sys.stdout)
        names: dict[int, str] = {}
        yield Play(
            folder=folder,
            url=url,
            lang=lang,
            zone=zone,
            seconds=seconds,
            begin=begin,
            store=store,
            troupe=troupe,
            data=data,
            desk=scheduler_module.desk(sched, data),
            watcher=Watcher(store, zone, lang, names, click.echo, ascii_only=ascii_only),
            names=names,
            patience=patience,
            away=load(app, "researchcopilot.desk").UnavailableError,
        )
    finally:
        troupe.stop()
        if sched is not None:
            sched.close()


def _tell_outage(lang: str, zone: str, word: str, lasted: float) -> None:
    """By this machine's clock: the store's cannot be read just now."""
    at = times.local(SystemClock().wall(), zone).strftime("%H:%M:%S")
    click.echo(f"{at}  --  {say(lang, word, seconds=f'{lasted:.0f}')}")
