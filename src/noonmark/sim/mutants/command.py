"""``python -m noonmark.sim.mutants``: plant one bug after the other, and see who finds it.

Rule of the file: arguments, processes and a table.
"""

from __future__ import annotations

import argparse
import multiprocessing
from collections.abc import Sequence
from functools import partial

from noonmark.sim.asking import Team, in_turn, jobs, processes, stoppable, whole
from noonmark.sim.mutants.hunt import DRAWN, MUTANTS, SEEDS, Hunt, hunt_at


@stoppable
def main(arguments: Sequence[str] | None = None) -> int:
    """Run; returns 0 when every bug was found."""
    parser = argparse.ArgumentParser(
        prog="python -m noonmark.sim.mutants", description="Plant one bug after the other, and see who finds it."
    )
    parser.add_argument("words", nargs="*", help="only bugs whose name holds one of these words")
    parser.add_argument(
        "--seeds", type=whole(most=DRAWN), default=SEEDS, help=f"worlds for each bug at most (default {SEEDS})"
    )
    parser.add_argument("--jobs", type=jobs, default=multiprocessing.cpu_count(), help="processes (default: all cores)")
    asked = parser.parse_args(arguments)
    for word in asked.words:
        if not any(word in mutant.name for mutant in MUTANTS):
            parser.error(f"no bug's name holds {word!r}; there are:\n  " + "\n  ".join(m.name for m in MUTANTS))
    chosen = [
        place
        for place, mutant in enumerate(MUTANTS)
        if not asked.words or any(word in mutant.name for word in asked.words)
    ]
    width = max(len(MUTANTS[place].name) for place in chosen)
    print(f"{'bug':{width}}  found by       in world  breaks", flush=True)
    missed = 0
    with Team(processes(asked.jobs, len(chosen))) as team:
        for future in in_turn([team.submit(partial(hunt_at, seeds=asked.seeds), place) for place in chosen]):
            result: Hunt = future.result()
            missed += not result.checker
            who = result.checker or "NOBODY"
            print(
                f"{result.name:{width}}  {who:13}  {result.worlds:8}  {result.invariant:4} {result.what[:90]}",
                flush=True,
            )
    print(f"{len(chosen) - missed} of {len(chosen)} bugs were found")
    return 1 if missed else 0
