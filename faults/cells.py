"""What a cell is, and which there are.

Rule of the file: a cell is one function of (stage, outcome); it stages one kind of fault and measures.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from faults.figures import Outcome
from faults.nursery import Nursery
from faults.places import STORES, Place, Places
from faults.site import Site

SERVERS = ("postgres", "valkey", "redis")


@dataclass(slots=True, kw_only=True)
class Stage:
    """What a cell is given to stage itself with; sites and places it makes are ended for it."""

    store: str
    folder: Path
    places: Places
    nursery: Nursery
    sites: list[Site] = field(default_factory=list)
    ends: list[Callable[[], object]] = field(default_factory=list)

    def place(self, *, own: bool = False, **options: object) -> Place:
        """Make a place that is closed with the cell."""
        made = self.places.place(self.store, self.folder, own=own, **options)  # type: ignore[arg-type]
        self.ends.append(made.close)
        return made

    def site(self, place: Place | None = None, *, workers_url: str = "", lease: float = 3.0, size: int = 0) -> Site:
        """Make a site, on a fresh place unless one is given."""
        made = Site(place or self.place(), self.nursery, self.folder, workers_url=workers_url, lease=lease, size=size)
        self.sites.append(made)
        return made

    def close(self) -> None:
        """End everything, newest first."""
        for site in self.sites:
            site.close()
        for end in reversed(self.ends):
            end()


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One kind of fault.  ``least`` is about how long it takes, in seconds, so that long ones begin first."""

    name: str
    title: str
    run: Callable[[Stage, Outcome], None]
    stores: tuple[str, ...] = STORES
    seconds: float = 20.0


CELLS: dict[str, Cell] = {}


def cell(
    name: str, title: str, *, stores: tuple[str, ...] = STORES, seconds: float = 20.0
) -> Callable[[Callable[[Stage, Outcome], None]], Callable[[Stage, Outcome], None]]:
    """Enter a function into the table of cells."""

    def enter(run: Callable[[Stage, Outcome], None]) -> Callable[[Stage, Outcome], None]:
        CELLS[name] = Cell(name=name, title=title, run=run, stores=stores, seconds=seconds)
        return run

    return enter
