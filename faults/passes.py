"""A pass: every cell on every store, some at once, because most of the time they wait.

Rule of the file: a cell that fails or breaks says so in its outcome; the others go on.
"""

from __future__ import annotations

import contextlib
import shutil
import tempfile
import time
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from faults import clocks, crowds, deaths, outages, restores
from faults.cells import CELLS, Stage
from faults.figures import Outcome
from faults.nursery import Nursery
from faults.places import Places, missing
from faults.stillness import Stillness
from noonmark.sim.asking import in_turn, unbroken

MODULES = (clocks, crowds, deaths, outages, restores)
"""Where the cells are; importing them enters them into the table."""
PREFIX = "noonmark-faults-"
"""How the name of a pass's folder begins, under the system's folder for such."""
_IN_THE_WAY: list[Path] = []
"""Files of this process that have the names of folders that are gone."""


def wanted(stores: Iterable[str], cells: Iterable[str]) -> list[tuple[str, str]]:
    """Return every (cell, store) that there is among these, long ones first."""
    chosen, known = set(stores), [name for name in cells if name in CELLS]
    pairs = [(name, store) for name in known for store in CELLS[name].stores if store in chosen]
    return sorted(pairs, key=lambda pair: -CELLS[pair[0]].seconds)


def one_pass(
    pairs: Sequence[tuple[str, str]],
    *,
    at_once: int,
    repeat: int = 0,
    tell: Callable[[Outcome], None] = lambda _: None,
    keep: Path | None = None,
) -> list[Outcome]:
    """Run these cells and return what came of each.

    Args:
        pairs: (cell, store).
        at_once: how many cells at the same time.
        repeat: which pass this is.
        tell: is told each outcome as it comes.
        keep: where the folders of red cells are kept.
    """
    with ground() as folder, Stillness() as stillness:
        places, nursery, pool = Places(), Nursery(), ThreadPoolExecutor(at_once)

        def run(pair: tuple[str, str]) -> Outcome:
            began = time.monotonic()
            outcome = run_cell(
                *pair, places=places, nursery=nursery, repeat=repeat, keep=keep, folder=folder / "-".join(pair)
            )
            outcome.notes += [] if outcome.is_green else stillness.told(began)
            tell(outcome)
            return outcome

        is_stopped = False
        try:
            with unbroken:
                begun = [pool.submit(run, pair) for pair in pairs]
            return [ended.result() for ended in in_turn(begun)]
        except KeyboardInterrupt:
            is_stopped = True
            raise
        finally:
            pool.shutdown(wait=not is_stopped, cancel_futures=is_stopped)
            if is_stopped:  # cells are not waited for; the guard of the servers ends those with us
                nursery.kill()
            else:
                nursery.close()
                places.close()


@contextlib.contextmanager
def ground() -> Iterator[Path]:
    """Yield a folder that is gone afterwards, though cells that nobody waits for still make files in it.

    The folder is renamed, and a file takes its name: nobody can open or make anything by the name that was handed out, so
    removing comes to an end.  After an interruption the file stays in the way until ``clear``, the last act of the process.
    """
    made = Path(tempfile.mkdtemp(prefix=PREFIX))
    made.chmod(0o711)  # servers run as another user, who has to pass here
    is_stopped = True
    try:
        yield made
        is_stopped = False
    finally:
        _IN_THE_WAY.append(made)
        gone: list[Path] = []
        while made.is_dir():  # who makes a file by its whole path may make the folder anew, before ours is there
            gone.append(made.rename(made.with_name(f"{made.name}-gone-{len(gone)}")))
            with contextlib.suppress(FileExistsError):
                made.touch(exist_ok=False)
        end = time.monotonic() + 5  # a server that is being ended writes by the folder it stands in, not by the name
        while any(folder.exists() for folder in gone) and time.monotonic() < end:
            for folder in gone:
                shutil.rmtree(folder, ignore_errors=True)
        if not is_stopped:
            clear()


def clear() -> None:
    """Remove the files that stand in the way of cells that nobody waits for."""
    while _IN_THE_WAY:
        _IN_THE_WAY.pop().unlink(missing_ok=True)


def run_cell(
    name: str,
    store: str,
    *,
    places: Places,
    nursery: Nursery,
    folder: Path,
    repeat: int = 0,
    keep: Path | None = None,
) -> Outcome:
    """Run one cell; whatever happens in it is told in its outcome."""
    outcome = Outcome(cell=name, store=store, repeat=repeat)
    outcome.not_tried = missing(store)
    if outcome.not_tried:
        return outcome
    folder.mkdir(0o700)
    stage = Stage(store=store, folder=folder, places=places, nursery=nursery)
    began = time.monotonic()
    try:
        CELLS[name].run(stage, outcome)
    except Exception as error:
        outcome.error = f"{type(error).__name__}: {error}"
        if not isinstance(error, AssertionError):
            outcome.error += f"\n{traceback.format_exc()}"
    outcome.seconds = time.monotonic() - began
    try:
        if not outcome.is_green and not outcome.not_tried:
            outcome.notes += [site.said() for site in stage.sites]
        stage.close()
    except Exception as error:
        outcome.error = outcome.error or f"clearing up: {type(error).__name__}: {error}"
    if keep is not None and not outcome.is_green:
        shutil.copytree(folder, keep / f"{folder.name}-{repeat}", dirs_exist_ok=True, ignore_dangling_symlinks=True)
    shutil.rmtree(folder, ignore_errors=True)
    return outcome
