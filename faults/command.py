"""``make faults``: the fault suite, one table and one verdict.

Rule of the file: arguments in, a table out.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import time
from collections.abc import Iterable, Sequence
from pathlib import Path

from faults import figures
from faults.cells import CELLS
from faults.figures import Outcome
from faults.passes import clear, one_pass, wanted
from faults.places import STORES
from noonmark.sim.asking import stoppable, whole
from noonmark.sim.loading import STOPPED

ABOUT = """The fault suite: one table and one verdict.  Every cell stages one kind of fault under three real workers and
measures against the pass line.  Exit code 1 when a cell is red or nothing was tried.  Cells: F1-F8 as the peers were
measured, P network, D disks, M memory, C clocks, R restarts and restores, X crowds and poison."""


@stoppable
def main(argv: Sequence[str] | None = None) -> int:
    """Run the passes asked for, print the table, return 1 when something is red or nothing was tried."""
    parser = argparse.ArgumentParser(prog="python -m faults", description=ABOUT)
    parser.add_argument("--stores", type=_names, help=f"comma-separated (default: all: {', '.join(STORES)})")
    parser.add_argument("--cells", type=_names, help="comma-separated (default: all)")
    parser.add_argument("--repeat", type=whole(most=10_000), default=1, help="passes (default 1)")
    parser.add_argument("--at-once", type=whole(most=100), default=10, help="cells at the same time (default 10)")
    parser.add_argument("--out", type=Path, help="write every outcome there, as JSON")
    parser.add_argument("--keep", type=Path, help="keep the folders of red cells here")
    options = parser.parse_args(argv)
    pairs = _pairs(parser, options)
    if options.out and (options.out.is_dir() or not options.out.resolve().parent.is_dir()):
        parser.error(f"--out: {options.out} cannot be a file: there is no such folder, or it is one")
    began = time.monotonic()
    print(f"# {len(pairs)} cells, {options.repeat} times; {_machine()}", flush=True)
    outcomes: list[Outcome] = []
    for repeat in range(options.repeat):
        outcomes += one_pass(pairs, at_once=options.at_once, repeat=repeat, tell=_tell, keep=options.keep)
    took = time.monotonic() - began
    print(table(outcomes))
    if options.out:
        said = {"machine": _machine(), "seconds": round(took, 1), "outcomes": [one.plain() for one in outcomes]}
        options.out.write_text(json.dumps(said, ensure_ascii=False, indent=1), encoding="utf-8")
    line, code = verdict(outcomes, seconds=took)
    print(f"\n{line}")
    return code


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",")]


def _pairs(parser: argparse.ArgumentParser, options: argparse.Namespace) -> list[tuple[str, str]]:
    """Return every (cell, store) that was asked for; whatever was named is among them, or the program ends."""
    stores, cells = options.stores or list(STORES), options.cells or list(CELLS)
    unknown = sorted({*stores, *cells} - {*STORES, *CELLS})
    if unknown:
        parser.error(f"unknown: {', '.join(unknown)}; stores: {', '.join(STORES)}; cells: {', '.join(CELLS)}")
    pairs = wanted(stores, cells)
    for cell in options.cells or ():
        if cell not in CELLS:
            parser.error(f"--cells: {cell} is a store; cells: {', '.join(CELLS)}")
        if cell not in {name for name, _ in pairs}:
            parser.error(
                f"--cells: {cell} is not staged on {', '.join(stores)}, only on {', '.join(CELLS[cell].stores)}"
            )
    for store in options.stores or ():
        if store not in STORES:
            parser.error(f"--stores: {store} is a cell; stores: {', '.join(STORES)}")
        if store not in {its for _, its in pairs}:
            parser.error(f"--stores: none of {', '.join(cells)} is staged on {store}")
    return pairs


def verdict(outcomes: Sequence[Outcome], *, seconds: float) -> tuple[str, int]:
    """Return the last line and the exit code; a suite that has tried nothing is not green."""
    red = [one for one in outcomes if not one.is_green and not one.not_tried]
    idle = [one for one in outcomes if one.not_tried]
    line = f"{len(outcomes) - len(idle)} runs, {len(red)} red, {seconds:.0f} s"
    if len(idle) == len(outcomes):
        return f"{line}: nothing was tried", 1
    stores = ", ".join(sorted({one.store for one in idle}))
    return line + (f"; not tried: {len(idle)}, for want of {stores}" if idle else ""), 1 if red else 0


def _machine() -> str:
    python = f"{platform.python_implementation()} {platform.python_version()}"
    return f"{python}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}"


def _tell(outcome: Outcome) -> None:
    print(f"{_word(outcome):9} {outcome.cell:4} {outcome.store:9} {outcome.seconds:5.1f} s", flush=True)
    if not outcome.is_green and not outcome.not_tried:
        broken = [str(figure) for figure in outcome.figures if not figure.holds]
        print("\n".join(f"    {line}" for line in [*broken, *outcome.error.splitlines(), *outcome.notes]), flush=True)


def _word(outcome: Outcome) -> str:
    if outcome.not_tried:
        return "not tried"
    return "green" if outcome.is_green else "RED"


COLUMNS = {
    "due": "due",
    "ran": "ran",
    "doubled": "doubled<=0",
    "undecided": "undecided<=0",
    "early": "early<=0",
    "stale writes accepted": "stale<=0",
    "stale writes tried": "(tried)>0",
    "takeover": "takeover",
    "back": f"back<={figures.BACK:g}s",
    "alert": f"alert<={figures.ALERT:g}s",
    "exits": "exits<=0",
    "off policy": "policy<=0",
}
"""Figure -> head of its column, the bound in it; the takeover's bound differs by lease and stands beside each value."""


def table(outcomes: Iterable[Outcome]) -> str:
    """Return store x cell: how often it was green, the worst of every figure, and what else it measured."""
    rows: dict[tuple[str, str], list[Outcome]] = {}
    for outcome in outcomes:
        rows.setdefault((outcome.cell, outcome.store), []).append(outcome)
    order = {name: number for number, name in enumerate(sorted(CELLS))}
    lines = ["", " ".join([f"{'cell':4} {'store':8} {'verdict':>9}", *(f"{head:>12}" for head in COLUMNS.values())])]
    for (name, store), several in sorted(rows.items(), key=lambda item: (order[item[0][0]], item[0][1])):
        words = [_word(one) for one in several]
        verdict = words[0] if len(several) == 1 else f"{words.count('green')}/{len(words)}"
        cells = [f"{_worst(several, figure):>12}" for figure in COLUMNS]
        lines.append(" ".join([f"{name:4} {store:8} {verdict:>9}", *cells, _rest(several)]).rstrip())
    lines += ["", *(f"{name:4} {CELLS[name].title}" for name in order if any(name == row[0] for row in rows))]
    return "\n".join(lines)


def _worst(several: Sequence[Outcome], name: str) -> str:
    figures = [figure for one in several for figure in one.figures if figure.name == name]
    if not figures:
        return ""
    worst = max(figures, key=lambda figure: (figure.share, figure.value))
    if name in ("due", "ran"):
        worst = min(figures, key=lambda figure: figure.value)
    said = f"{worst.value:.2f}" if worst.unit else f"{worst.value:g}"
    bound = f"<={worst.most:g}s" if name == "takeover" else ""
    return f"{said}{bound}{'' if worst.holds else ' !'}"


def _rest(several: Sequence[Outcome]) -> str:
    told = {figure.name: figure for one in several for figure in one.figures if figure.name not in (*COLUMNS, "silent")}
    words = [str(figure) for figure in told.values() if figure.value or figure.most]
    return "  " + "; ".join([*words, *{one.not_tried for one in several} - {""}])


def end(code: int) -> None:
    """End this process; one that was stopped does not wait for its cells, whose threads may yet wait for a minute."""
    if code == STOPPED:
        sys.stdout.flush()
        clear()
        os._exit(code)
    sys.exit(code)
