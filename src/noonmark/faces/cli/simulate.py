"""``noonmark simulate``: days of somebody's own rules in virtual time, with workers that die and a store that goes away.

Rule of the file: it translates; what happens is the simulator's, and no store of anybody is opened.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from noonmark.core import times
from noonmark.core.durations import parse_duration
from noonmark.core.model import DAY, Micros, Occurrence
from noonmark.explain.render import stamp, table
from noonmark.faces.cli import problems
from noonmark.faces.cli.declared import declared_jobs, own_clock
from noonmark.faces.cli.session import Command, Session, session
from noonmark.sim.kinds import COLUMNS, KINDS

if TYPE_CHECKING:
    from noonmark.sim.yours import Foreseen, Lot, Wish

FAULTS = tuple(KINDS)
SHOWN = 10
"""How many bad moments are told one by one."""


@click.command(cls=Command)
@click.argument("app", metavar="APP")
@click.option("--days", default=7.0, show_default=True, type=click.FloatRange(0.01, 400), help="How long.")
@click.option("--replicas", default=3, show_default=True, type=click.IntRange(1, 20), help="How many workers.")
@click.option(
    "--faults",
    default="crash,pause,outage",
    show_default=True,
    help=f"What goes wrong: none, all, or some of {', '.join(FAULTS)}.",
)
@click.option(
    "--a-day", default=2.0, show_default=True, type=click.FloatRange(0, 200), help="Faults of each kind a day."
)
@click.option("--takes", default="5s", show_default=True, help="How long a run takes.")
@click.option(
    "--fails", default=0.0, show_default=True, type=click.FloatRange(0, 1), help="Share of attempts that fail."
)
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
        from noonmark.sim.yours import simulate as live

        wish = _wish(here, **asked)
        found = live(jobs, wish)
        here.emit(_plain(found, wish), lambda: _text(here, found, wish))
        if not any(lot.due for lot in found.lots):
            here.remark(here.word("simulate_idle"))
        is_bad = bool(found.violations) or (strict and any(lot.bad for lot in found.lots))
    return problems.NO if is_bad else problems.OK


def _wish(
    here: Session, *, days: float, replicas: int, faults: str, a_day: float, takes: str, fails: float, data: str,
    events: int, seed: int,
) -> Wish:  # fmt: skip
    from noonmark.sim.yours import Wish

    if not here.settings.now:
        here.now = own_clock()
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
    if text in ("none", "all"):
        return FAULTS if text == "all" else ()
    names = [name.strip() for name in text.split(",") if name.strip()]
    for name in names:
        if name not in FAULTS:
            raise problems.Trouble("no_such_fault", name=name, names=", ".join(FAULTS))
    return tuple(dict.fromkeys(names))


def _length(option: str, text: str) -> Micros:
    try:
        return parse_duration(text)
    except ValueError as error:
        raise problems.Trouble("bad_length", option=option, error=str(error)) from None


def _text(here: Session, found: Foreseen, wish: Wish) -> str:
    zone = here.zone("UTC")
    faults = ", ".join(f"{name} {count}" for name, count in sorted(found.faults.items()))
    lines = [
        here.word(
            "simulate_head",
            days=times.length_text(wish.length),
            start=times.local(wish.start, zone).strftime("%Y-%m-%d %H:%M %Z"),
            replicas=wish.replicas,
            seed=wish.seed,
            faults=faults or here.word("simulate_no_faults"),
        ),
        "",
        table(here.header("simulate_header"), [_row(lot) for lot in found.lots if lot.due]),
        "",
    ]
    bad = [(lot, row) for lot in found.lots for row in lot.bad]
    if bad:
        lines.append(here.word("simulate_bad", count=min(SHOWN, len(bad)), all=len(bad)))
        lines += [_told(here, lot, row) for lot, row in sorted(bad, key=lambda pair: pair[1].scheduled_for)[:SHOWN]]
        lines.append("")
    lines.append(
        here.word(
            "simulate_assumed",
            takes=times.length_text(wish.takes),
            fails=f"{wish.fails:.0%}",
            data=_when_data_comes(here, wish),
        )
    )
    broken = len(found.violations)
    lines.append(here.word("simulate_broken", count=broken) if broken else here.word("simulate_kept"))
    lines += [f"  {violation}" for violation in found.violations[:SHOWN]]
    return "\n".join(lines)


def _when_data_comes(here: Session, wish: Wish) -> str:
    if not wish.data:
        return here.word("simulate_data_never" if wish.data is None else "simulate_data_at_once")
    return here.word("simulate_data_after", length=times.length_text(wish.data))


def _row(lot: Lot) -> list[str]:
    worst = times.length_text(lot.worst) if lot.worst else "-"
    cells = (lot.due, lot.on_time, lot.late, worst, *(lot.count(column) for column in COLUMNS))
    return [lot.job, *map(str, cells)]


def _told(here: Session, lot: Lot, row: Occurrence) -> str:
    voice = here.voice(lot.tz)
    return f"  {lot.job}  {stamp(row.scheduled_for, here.zone(lot.tz))}  {voice.reason(row.code, row.detail)}"


def _plain(found: Foreseen, wish: Wish) -> dict[str, Any]:
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
            }
            for lot in found.lots
        ],
        "broken": [str(violation) for violation in found.violations],
    }
