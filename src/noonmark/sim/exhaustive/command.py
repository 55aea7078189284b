"""``python -m noonmark.sim.exhaustive``: search the small worlds and print what was visited.

Rule of the file: arguments in, lines out.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from noonmark.sim.asking import stoppable, whole
from noonmark.sim.exhaustive.scenes import SCENES, Scene, scene
from noonmark.sim.exhaustive.search import Found, search
from noonmark.sim.exhaustive.story import story

SMALL = -1
"""The depth of each scene in the test of every change."""


@stoppable
def main(arguments: Sequence[str] | None = None) -> int:
    """Search; 1 when a law was broken."""
    parser = argparse.ArgumentParser(
        prog="python -m noonmark.sim.exhaustive", description="Try every order of the steps of a small world."
    )
    parser.add_argument("scenes", nargs="*", help=f"which worlds (default all): {', '.join(s.name for s in SCENES)}")
    how_deep = parser.add_mutually_exclusive_group()
    how_deep.add_argument(
        "--depth", type=_depth, metavar="N", help="steps from the beginning, or small (default: each scene's own)"
    )
    how_deep.add_argument("--small", action="store_true", help="only as deep as the test of every change")
    parser.add_argument(
        "--calm-every",
        type=whole(least=0),
        default=1,
        metavar="N",
        help="try the way to the end from each Nth of the last states; 0 = only where nothing else can happen",
    )
    chosen = parser.parse_args(arguments)
    try:
        wanted = [scene(name) for name in chosen.scenes] or list(SCENES)
    except LookupError as error:
        parser.error(str(error.args[0]))
    is_broken = False
    for each in wanted:
        is_small = chosen.small or chosen.depth == SMALL
        depth = each.small if is_small else (chosen.depth or each.depth)
        found = search(each, depth=depth, say=_progress, calm_every=chosen.calm_every)
        _report(each, found)
        is_broken = is_broken or found.breach is not None
    return int(is_broken)


def _depth(text: str) -> int:
    return SMALL if text == "small" else whole(most=1_000)(text)


def _progress(found: Found) -> None:
    _say(
        f"  {found.scene} depth {found.depth}: {found.by_depth[-1]} new, {found.states} states, "
        f"{found.transitions} transitions, {found.seconds:.1f} s"
    )


def _report(each: Scene, found: Found) -> None:
    is_all = " (every state there is)" if found.is_whole else ""
    ways = f"{found.calms} ways to the end, the longest {found.longest_calm / 1e6:g} s"
    _say(
        f"{each.name}: depth {found.depth}{is_all}, {found.states} states, {found.transitions} transitions, "
        f"{found.seconds:.1f} s, peak {found.peak_mib:.0f} MiB, "
        f"{ways if found.calms else 'no way to the end was tried'}: "
        f"{'BROKEN' if found.breach else 'no law broken'}"
    )
    if found.breach is not None:
        _say(found.breach.said)
        for line in story(each, found.breach.moves):
            _say(line)


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()
