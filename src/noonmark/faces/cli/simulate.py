"""``noonmark simulate``: days of somebody's own rules in virtual time, with workers that die and a store that goes away.

Rule of the file: it translates; what happens is the simulator's, and no store of anybody is opened.
"""

from __future__ import annotations

import shlex
import sys
import time
from datetime import UTC
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from noonmark.core import phrasing, times
from noonmark.core.durations import parse_duration
from noonmark.core.model import DAY, MINUTE, SECOND, Micros, OnEvent
from noonmark.core.told import Told, joined
from noonmark.explain.outcomes import OUTCOMES
from noonmark.explain.render import stamp, table
from noonmark.faces.cli import problems
from noonmark.faces.cli.declared import declared_jobs, own_clock
from noonmark.faces.cli.numbers import Within
from noonmark.faces.cli.session import Command, Session, session
from noonmark.sim.kinds import COLUMNS, KINDS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from noonmark.core.model import Job
    from noonmark.sim.yours import Foreseen, Lot, Reason, Wish

FAULTS = tuple(KINDS)
SHOWN = 10
"""How many broken promises are told one by one."""
OFTEN = 5.0
"""Seconds between two lines about how far it is, where no terminal shows one that changes."""


@click.command(cls=Command)
@click.argument("app", metavar="APP")
@click.option("--days", default=7.0, show_default=True, type=Within(0.01, 400), help="How long.")
@click.option("--replicas", default=3, show_default=True, type=click.IntRange(1, 20), help="How many workers.")
@click.option(
    "--faults",
    default="crash,pause,outage",
    show_default=True,
    help=f"What goes wrong: none, all, or some of {', '.join(FAULTS)}.",
)
@click.option(
    "--a-day", default=2.0, show_default=True, type=Within(0, 200), help="Faults of each kind a day, among all workers."
)
@click.option("--takes", default="5s", show_default=True, help="How long a run takes.")
@click.option("--fails", default=0.0, show_default=True, type=Within(0, 1), help="Share of attempts that fail.")
@click.option("--data", default="0s", show_default=True, help="When awaited flags come, after their moment; or: never.")
@click.option(
    "--events", default=4, show_default=True, type=click.IntRange(0, 10_000), help="Events of each name a day."
)
@click.option("--seed", default=1, show_default=True, type=int, help="Of everything that is left to chance.")
@click.option("--strict", is_flag=True, help="Exit 1 when anything was missed or failed.")
@click.pass_context
def simulate(ctx: click.Context, /, app: str, strict: bool, **asked: Any) -> int:
    """Live through days of your rules (APP: a rules file or module:sched) and say what would be late or missed."""
    with session(ctx) as here:
        jobs = list(declared_jobs(app))
        if not jobs:
            raise problems.Trouble("nothing_to_simulate", app=app)
        from noonmark.sim.yours import simulate as live

        wish = _wish(here, **asked)
        with Progress(here, wish.length) as progress:
            found = live(jobs, wish, progress.told)
        again = _again(ctx, wish)
        here.emit({**_plain(here, found, wish), "again": again}, lambda: _text(here, jobs, found, wish, again))
        if not any(lot.due for lot in found.lots):
            comes = any(job.is_series or isinstance(job.trigger, OnEvent) for job in jobs)
            here.remark(here.word("simulate_none_due") if comes else here.word("simulate_idle"))
        is_bad = bool(found.violations) or (strict and any(lot.bad for lot in found.lots))
    return problems.NO if is_bad else problems.OK


def _wish(
    here: Session, *, days: float, replicas: int, faults: str, a_day: float, takes: str, fails: float, data: str,
    events: int, seed: int,
) -> Wish:  # fmt: skip
    from noonmark.sim.yours import Wish

    if not here.settings.now:
        here.now = own_clock() // MINUTE * MINUTE  # what is printed is all there is to know of it
    return Wish(
        start=here.now,
        length=round(days * DAY),
        replicas=replicas,
        seed=seed,
        faults=_kinds(faults),
        a_day=a_day,
        takes=_length("--takes", takes),
        fails=fails,
        data=None if data == "never" else _length("--data", data),
        events=events,
    )


def _kinds(text: str) -> tuple[str, ...]:
    if text.strip() in ("none", "all"):
        return FAULTS if text.strip() == "all" else ()
    names = [name.strip() for name in text.split(",") if name.strip()]
    if not names:
        raise problems.Trouble("faults_none_named", text=text, names=", ".join(FAULTS))
    for name in names:
        if name in ("none", "all"):
            raise problems.Trouble("faults_mixed", name=name, names=", ".join(FAULTS))
        if name not in FAULTS:
            raise problems.Trouble("no_such_fault", name=name, names=", ".join(FAULTS))
    return tuple(dict.fromkeys(names))


def _length(option: str, text: str) -> Micros:
    try:
        return parse_duration(text)
    except ValueError as error:
        raise problems.Trouble("bad_length", option=option, error=str(error)) from None


class Progress:
    """Says on stderr how far it is: on a terminal in one line that changes, else in a line now and then."""

    def __init__(self, here: Session, length: Micros) -> None:
        self._here = here
        self._length = length
        self._changes = sys.stderr.isatty()
        self._is_shown = False
        self._began = time.monotonic()
        self._next = self._began + (0.5 if self._changes else OFTEN)

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *_: object) -> None:
        if self._is_shown and self._changes:
            click.echo("\r\x1b[K", nl=False, err=True)

    def told(self, share: float) -> None:
        """Hear which share is over, 0 to 1."""
        if self._here.settings.quiet or time.monotonic() < self._next:
            return
        days = phrasing.length(self._length, self._here.lang)
        spent = time.monotonic() - self._began
        left = phrasing.length(round(spent * (1 - share) / max(share, 0.001)) * SECOND, self._here.lang)
        text = self._here.word("simulate_progress", share=f"{share:.0%}", days=days, left=left)
        if self._changes:
            click.echo(f"\r\x1b[K{text}", nl=False, err=True)
        else:
            self._here.remark(text)
        self._is_shown = True
        self._next = time.monotonic() + (0.2 if self._changes else OFTEN)


def _again(ctx: click.Context, wish: Wish) -> str:
    """Return the command that gives the same future."""
    words = ["noonmark", "simulate", ctx.params["app"], "--now", _exact(wish.start), "--seed", str(wish.seed)]
    for param in ctx.command.params:
        name = param.name or ""
        is_chosen = ctx.get_parameter_source(name) not in (None, ParameterSource.DEFAULT)
        if name in ctx.params and name not in ("app", "seed") and is_chosen:
            is_flag = getattr(param, "is_flag", False)
            words += [param.opts[0], *([] if is_flag else [str(ctx.params[name]).removesuffix(".0")])]
    return shlex.join(words)


def _exact(us: Micros) -> str:
    at = times.to_datetime(us).astimezone(UTC)
    return f"{at:%Y-%m-%dT%H:%M}{f':{at:%S}' if us % MINUTE else ''}{f'.{at:%f}' if us % 1_000_000 else ''}Z"


def _text(here: Session, jobs: Sequence[Job], found: Foreseen, wish: Wish, again: str) -> str:
    faults = ("、" if here.lang == "zh" else ", ").join(f"{name} {count}" for name, count in found.faults.items())
    many = "simulate_worker" if wish.replicas == 1 else "simulate_workers"
    at = times.local(wish.start, here.zone("UTC"))
    lines: list[str] = [
        here.word(
            "simulate_head",
            days=phrasing.length(wish.length, here.lang),
            start=at.strftime("%Y-%m-%d %H:%M:%S %Z" if wish.start % MINUTE else "%Y-%m-%d %H:%M %Z"),
            replicas=here.word(many, count=wish.replicas),
            seed=wish.seed,
            faults=faults or _no_faults(here, wish),
        ),
        "",
        table(here.header("simulate_header"), [_row(here, lot) for lot in found.lots if lot.due]),
        "",
    ]
    reasons = [_told(here, lot, reason) for lot in found.lots for reason in lot.reasons.values()]
    if reasons:
        lines += [here.word("simulate_reasons"), table(here.header("simulate_reasons_header"), reasons), ""]
    lines.append(
        here.word(
            "simulate_assumed",
            takes=phrasing.length(wish.takes, here.lang),
            fails=f"{wish.fails:.0%}",
            data=_when_data_comes(here, wish),
        )
    )
    if any(isinstance(job.trigger, OnEvent) for job in jobs):
        lines.append(here.word("simulate_events", count=wish.events))
    broken = len(found.violations)
    lines.append(here.word("simulate_broken", count=broken) if broken else here.word("simulate_kept"))
    lines += [f"  {violation}" for violation in found.violations[:SHOWN]]
    lines.append(here.word("simulate_again", command=again))
    return joined(lines)


def _no_faults(here: Session, wish: Wish) -> str:
    """Say that there were no faults, and why where some were asked for."""
    if not wish.faults:
        return here.word("simulate_no_faults")
    return here.word("simulate_few_faults", a_day=f"{wish.a_day:g}")


def _when_data_comes(here: Session, wish: Wish) -> str:
    if not wish.data:
        return here.word("simulate_data_never" if wish.data is None else "simulate_data_at_once")
    return here.word("simulate_data_after", length=phrasing.length(wish.data, here.lang))


def _row(here: Session, lot: Lot) -> list[str]:
    worst = phrasing.length(lot.worst, here.lang) if lot.worst else "-"
    cells = (lot.due, lot.on_time, lot.late, worst, *(lot.count(column) for column in COLUMNS))
    return [Told(lot.job), *map(str, cells)]


def _told(here: Session, lot: Lot, reason: Reason) -> list[str]:
    outcome = None if reason.said else OUTCOMES[reason.outcome]
    words = here.word("simulate_late") if outcome is None else outcome.zh if here.lang == "zh" else outcome.en
    return [
        Told(lot.job),
        words,
        str(reason.count),
        stamp(reason.first.scheduled_for, here.zone(lot.tz)) or "",
        _sentence(here, lot, reason),
    ]


def _sentence(here: Session, lot: Lot, reason: Reason) -> str:
    if reason.said:
        return reason.said[here.lang]
    said = here.voice(lot.tz).reason(reason.first.code, reason.first.detail)
    if not reason.lacked:
        return said
    facts = phrasing.KINDS["facts"](list(reason.lacked), here.lang, here.zone(lot.tz))
    return here.word("simulate_waited", sentence=said, facts=facts)


def _plain(here: Session, found: Foreseen, wish: Wish) -> dict[str, Any]:
    return {
        "v": 1,
        "start": stamp(wish.start, "UTC"),
        "until": stamp(found.until, "UTC"),
        "seed": wish.seed,
        "faults": dict(found.faults),
        "jobs": [
            {
                "job": lot.job,
                "due": lot.due,
                "on_time": lot.on_time,
                "late": lot.late,
                **{column: lot.count(column) for column in COLUMNS},
                "worst_s": lot.worst / 1e6,
                "outcomes": dict(lot.outcomes),
                "reasons": [
                    {
                        "outcome": reason.outcome,
                        "code": reason.first.code,
                        "count": reason.count,
                        "first": stamp(reason.first.scheduled_for, here.zone(lot.tz)),
                        "sentence": _sentence(here, lot, reason),
                    }
                    for reason in lot.reasons.values()
                ],
            }
            for lot in found.lots
        ],
        "broken": [str(violation) for violation in found.violations],
    }
