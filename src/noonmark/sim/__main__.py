"""``python -m noonmark.sim``: live through many seeds and say what came of it.

Rule of the file: arguments and processes only.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from functools import partial
from pathlib import Path

from noonmark.core.model import HOUR
from noonmark.sim.plan import draw
from noonmark.sim.report import Report, story
from noonmark.sim.run import Outcome, run_seed
from noonmark.sim.shrink import shrink

HOURS = 1.25
"""How long a world lasts unless told otherwise."""
REPLAYED = 100
"""One seed of so many is lived through twice."""
TOLD = 50
"""After so many seeds a line says how far we are."""
SHOWN = 5
"""How many failing seeds are cut down and told."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run; returns 0 when nothing was found wrong, 1 when something was."""
    asked = _parser().parse_args(arguments)
    if asked.replay is not None:
        return _replay(asked)
    began = time.monotonic()
    seeds = list(_seeds(asked.seeds))
    if asked.lossy:
        seeds = [seed for seed in seeds if draw(seed, length=int(asked.hours * HOUR)).is_lossy]
    report = Report()
    for outcome, is_second in _outcomes(seeds, asked.hours, asked.jobs):
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
    for line in report.lines(seconds=time.monotonic() - began):
        print(line)
    for outcome in sorted(report.bad, key=lambda bad: bad.seed)[:SHOWN]:
        kept, least = shrink(outcome, length=int(asked.hours * HOUR))
        plan = draw(outcome.seed, length=int(asked.hours * HOUR))
        print("\n".join(story(least, plan, kept, commit=commit(), hours=asked.hours)))
    for seed in report.unlike:
        print(f"seed {seed} gave another digest when lived through again: something here is left to chance")
    if asked.ledger:
        _write(Path(asked.ledger), report, asked)
    uncovered = asked.cover and (report.unpassed() or report.unstruck())
    return 0 if report.is_good and not uncovered else 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m noonmark.sim", description=__doc__)
    parser.add_argument("--seeds", default="0-499", help="A-B, or a list A,B,C (default 0-499)")
    parser.add_argument("--hours", type=float, default=HOURS, help=f"length of each world (default {HOURS})")
    parser.add_argument("--lossy", action="store_true", help="of these seeds only those whose store loses writes")
    parser.add_argument("--jobs", type=int, default=multiprocessing.cpu_count(), help="processes (default: all cores)")
    parser.add_argument("--cover", action="store_true", help="fail too when a named point was not struck in every way")
    parser.add_argument("--ledger", metavar="FILE", help="append the figures to a file, one JSON object a line")
    parser.add_argument("--replay", type=int, metavar="SEED", help="live through one seed and tell everything found")
    parser.add_argument("--keep", metavar="PLACES", help="with --replay: only these faults, by their places")
    return parser


def _replay(asked: argparse.Namespace) -> int:
    length = int(asked.hours * HOUR)
    kept = None if asked.keep is None else frozenset(_seeds("" if asked.keep == "none" else asked.keep))
    outcome = run_seed(asked.replay, length=length, kept=kept)
    plan = draw(asked.replay, length=length)
    places = tuple(sorted(kept if kept is not None else range(len(plan.faults))))
    print("\n".join(story(outcome, plan, places, commit=commit(), hours=asked.hours)))
    print(
        f"  digest {outcome.digest} · {outcome.runs} runs · {outcome.occurrences} occurrences · {outcome.cpu:.1f} s of CPU"
    )
    return 0 if outcome.is_good else 1


def _seeds(text: str) -> Iterator[int]:
    """Yield the numbers of ``3-7,9``."""
    for part in filter(None, text.split(",")):
        first, _, last = part.partition("-")
        yield from range(int(first), int(last or first) + 1)


def _outcomes(seeds: Sequence[int], hours: float, jobs: int) -> Iterator[tuple[Outcome, bool]]:
    """Yield the outcome of every seed, and of some a second time, from other processes with other hash seeds."""
    live = partial(run_seed, length=int(hours * HOUR))
    context = multiprocessing.get_context("spawn")
    again = [seed for seed in seeds if seed % REPLAYED == 7 % REPLAYED] or list(seeds[:1])
    for batch, is_second in ((seeds, False), (again, True)):
        with ProcessPoolExecutor(max_workers=jobs, mp_context=context) as pool:
            for future in as_completed([pool.submit(live, seed) for seed in batch]):
                yield future.result(), is_second


def _first_of(outcome: Outcome) -> str:
    return outcome.error or str(outcome.violations[0])


def commit() -> str:
    """Return the commit that this is, where it is known."""
    try:
        asked = ["git", "rev-parse", "--short", "HEAD"]
        found = subprocess.run(asked, cwd=Path(__file__).parent, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return "an unknown commit"
    return found.stdout.strip()


def _is_changed(ledger: Path) -> bool:
    """Return True when the program that ran is not the commit's; the ledger itself and what is made of it are no program."""
    asked = ["git", "status", "--porcelain", "--", "src", "pyproject.toml"]
    try:
        found = subprocess.run(asked, cwd=ledger.resolve().parent.parent, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return True
    return bool(found.stdout.strip())


def _write(path: Path, report: Report, asked: argparse.Namespace) -> None:
    which = asked.seeds + (" lossy" if asked.lossy else "")
    made_of = commit() + ("+" if _is_changed(path) else "")
    line = {"commit": made_of, "asked": which, "world_hours": asked.hours, **report.as_json()}
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(line, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    sys.exit(main())
