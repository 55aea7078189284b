"""``python -m noonmark.sim``: live through many seeds and say what came of it.

Rule of the file: arguments and processes only.
"""

from __future__ import annotations

import argparse
import multiprocessing
import sys
import time
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

from noonmark.core.model import HOUR, Micros
from noonmark.sim.asking import HOURS, Numbers, Team, as_they_end, hours, jobs, numbers, processes, stoppable, whole
from noonmark.sim.plan import draw
from noonmark.sim.report import Report, story
from noonmark.sim.run import Outcome, run_seed
from noonmark.sim.seedbook import check, commit, new_seeds, write
from noonmark.sim.shrink import shrink

SEEDS = "0-499"
"""A whole run: in these every named point is meant to be struck in every way."""
REPLAYED = 100
"""One seed of so many is lived through twice."""
TOLD = 50
"""After so many seeds a line says how far we are."""
PORTION = 1_000
"""Scheduler-hours of new seeds after which a line is in the ledger: a few minutes' work."""
SHOWN = 5
"""How many failing seeds are cut down and told."""


@stoppable
def main(arguments: Sequence[str] | None = None) -> int:
    """Run; returns 0 when nothing was found wrong, 1 when something was."""
    parser = _parser()
    asked = parser.parse_args(arguments)
    length = int(asked.hours * HOUR)
    if asked.replay is not None:
        return _replay(parser, asked, length)
    if asked.keep is not None:
        parser.error("--keep: only with --replay SEED")
    if asked.more is not None:
        return _night(parser, asked, length)
    if asked.ledger is not None:
        _check_where(parser, asked.ledger)
    return _run(asked, *_chosen(parser, asked, asked.seeds, length), length)


def _night(parser: argparse.ArgumentParser, asked: argparse.Namespace, length: Micros) -> int:
    """Live through new seeds, portion by portion: each is in the ledger when it is over, so a night may be cut short."""
    if asked.ledger is None:
        parser.error("--more needs --ledger FILE: the seeds after its last are taken")
    _check_where(parser, asked.ledger)
    came, left = 0, asked.more
    while left > 0:
        portion = min(left, PORTION)
        left -= portion
        found = new_seeds(asked.ledger, scheduler_hours=portion, length=length)
        said = f"{found[0]}-{found[-1]}"
        print(f"seeds {said}: {portion:,} scheduler-hours" + (f", {left:,} to come" if left else ""), flush=True)
        came = max(came, _run(asked, *_chosen(parser, asked, Numbers(said, tuple(found)), length), length))
    return came


def _run(asked: argparse.Namespace, said: str, seeds: Sequence[int], length: Micros) -> int:
    """Live through these seeds and tell what came of them; return 1 when something was found wrong."""
    began = time.monotonic()
    report = Report()
    for outcome, is_second in _outcomes(seeds, length, asked.jobs):
        if is_second:
            report.replayed += 1
            if f"{outcome.seed}:{outcome.digest}" not in report.digests:
                report.unlike.append(outcome.seed)
            continue
        report.add(outcome)
        if not outcome.is_good:
            print(f"seed {outcome.seed}: {_first_of(outcome)}", flush=True)
        if report.seeds % TOLD == 0:
            print(f"{report.seeds} of {len(seeds)} seeds, {report.hours:,.0f} h", file=sys.stderr, flush=True)
    for line in report.lines(seconds=time.monotonic() - began, is_whole=asked.cover):
        print(line, flush=True)
    if asked.ledger:
        write(asked.ledger, report, seeds=said, hours=asked.hours)
    for outcome in sorted(report.bad, key=lambda bad: bad.seed)[:SHOWN]:
        kept, least = shrink(outcome, length=length)
        plan = draw(outcome.seed, length=length)
        print("\n".join(story(least, plan, kept, commit=commit(), hours=asked.hours)))
    for seed in report.unlike:
        print(f"seed {seed} gave another digest when lived through again: something here is left to chance")
    failed = list(report.failures(is_whole=asked.cover))
    if failed:
        print(f"failed: {'; '.join(failed)}")
    return 1 if failed else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m noonmark.sim", description="Live through many seeds and say what came of it."
    )
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--seeds", type=numbers, default=numbers(SEEDS), help=f"A-B or A,B,C (default {SEEDS})")
    which.add_argument(
        "--more",
        type=whole(most=1_000_000),
        metavar="N",
        help="the seeds after the last in the ledger, as many as give N scheduler-hours",
    )
    which.add_argument(
        "--replay", type=whole(least=0), metavar="SEED", help="live through one seed and tell everything found"
    )
    parser.add_argument("--hours", type=hours, default=HOURS, help=f"length of each world (default {HOURS})")
    parser.add_argument("--lossy", action="store_true", help="of these seeds only those whose store loses writes")
    parser.add_argument("--jobs", type=jobs, default=multiprocessing.cpu_count(), help="processes (default: all cores)")
    parser.add_argument("--cover", action="store_true", help="fail too when a named point was not struck in every way")
    parser.add_argument("--ledger", metavar="FILE", type=Path, help="append the figures, one JSON object a line")
    parser.add_argument("--keep", metavar="PLACES", help="with --replay: only these faults, by their places, or none")
    return parser


def _chosen(
    parser: argparse.ArgumentParser, asked: argparse.Namespace, seeds: Numbers, length: Micros
) -> tuple[str, list[int]]:
    """Return these seeds, or the lossy ones of them, in words and one by one; ends the program when there are none."""
    chosen = list(seeds.all)
    if asked.lossy:
        chosen = [seed for seed in chosen if draw(seed, length=length).is_lossy]
        if not chosen:
            parser.error(f"--lossy: of the seeds {seeds.text} none has a store that loses writes; ask for more")
    return seeds.text + (" lossy" if asked.lossy else ""), chosen


def _check_where(parser: argparse.ArgumentParser, ledger: Path) -> None:
    """End the program when a line could not be written there, or what is there is no ledger."""
    if not ledger.resolve().parent.is_dir():
        parser.error(f"--ledger: there is no folder {ledger.parent}")
    if ledger.is_dir():
        parser.error(f"--ledger: {ledger} is a folder, not a file")
    try:
        check(ledger)
    except ValueError as error:
        parser.error(f"--ledger: {error}")


def _replay(parser: argparse.ArgumentParser, asked: argparse.Namespace, length: Micros) -> int:
    plan = draw(asked.replay, length=length)
    kept = None if asked.keep is None else _places(parser, asked.keep, len(plan.faults))
    outcome = run_seed(asked.replay, length=length, kept=kept)
    places = tuple(sorted(kept if kept is not None else range(len(plan.faults))))
    print("\n".join(story(outcome, plan, places, commit=commit(), hours=asked.hours)))
    print(
        f"  digest {outcome.digest} · {outcome.runs} runs · {outcome.occurrences} occurrences · {outcome.cpu:.1f} s of CPU"
    )
    return 0 if outcome.is_good else 1


def _places(parser: argparse.ArgumentParser, text: str, faults: int) -> frozenset[int]:
    if text == "none":
        return frozenset()
    try:
        found = frozenset(numbers(text).all)
    except argparse.ArgumentTypeError as error:
        parser.error(f"--keep: {error}, nor none")
    beyond = sorted(place for place in found if place >= faults)
    if beyond:
        parser.error(f"--keep: no fault is at {beyond[0]}: a world of this length has {faults}, the first at 0")
    return found


def _outcomes(seeds: Sequence[int], length: Micros, most: int) -> Iterator[tuple[Outcome, bool]]:
    """Yield the outcome of every seed, and of some a second time, from other processes with other hash seeds."""
    live = partial(run_seed, length=length)
    again = [seed for seed in seeds if seed % REPLAYED == 7 % REPLAYED] or list(seeds[:1])
    for batch, is_second in ((seeds, False), (again, True)):
        with Team(processes(most, len(batch))) as team:
            for future in as_they_end([team.submit(live, seed) for seed in batch]):
                yield future.result(), is_second


def _first_of(outcome: Outcome) -> str:
    return outcome.error or str(outcome.violations[0])
