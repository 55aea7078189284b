"""The pass line: every figure of a cell with the bound beside it, and whether the cell is green.

Rule of the file: what may be more than nothing has its bound here, once, and nowhere else.  The least of a figure, which
shows that a cell has tested anything, stands in the cell.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from faults.checker import Findings

BACK = 1.0
"""Seconds from the store's return to the first run."""
START = 3.0
"""Seconds from the start of workers to the first run."""
TAKEOVER = 1.5
"""Seconds beyond the lease within which somebody else runs what a dead worker held."""
ALERT = 5.0
"""Seconds within which an outsider sees the urgent alert."""
DEATHS = 4
"""Workers that one occurrence may kill: as often as it may be taken over out of the box, and once before."""
SET_BACK = 6.0
"""Seconds within which work goes on after the store's clock was set back: it stands still for five, then is believed."""


def takeover(lease: float, *, is_alive: bool = False) -> float:
    """Return within how many seconds another worker goes on; a holder that is seen to be alive is waited for twice."""
    return lease * (2 if is_alive else 1) + TAKEOVER


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One measured value; ``most`` and ``least`` are its bounds, None = it is only told."""

    name: str
    value: float
    most: float | None = None
    least: float | None = None
    unit: str = ""

    @property
    def holds(self) -> bool:
        """True when the value is within its bounds."""
        return (self.most is None or self.value <= self.most) and (self.least is None or self.value >= self.least)

    @property
    def share(self) -> float:
        """How much of its bound a value used up: above 1 it is broken."""
        if self.least is not None and self.value < self.least:
            return 9.0
        if self.most is None:
            return -1.0
        return self.value / self.most if self.most else (9.0 if self.value > 0 else 0.0)

    def __str__(self) -> str:
        value = f"{self.value:.2f}" if self.unit == "s" else f"{self.value:g}"
        bound = ""
        if self.most is not None:
            bound = f" <= {self.most:g}"
        elif self.least is not None:
            bound = f" >= {self.least:g}"
        return f"{self.name} {value}{self.unit and ' ' + self.unit}{bound}"


@dataclass(slots=True, kw_only=True)
class Outcome:
    """What came of one cell on one store.  ``not_tried`` says why there is nothing to say."""

    cell: str
    store: str
    repeat: int = 0
    figures: list[Figure] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    error: str = ""
    not_tried: str = ""
    seconds: float = 0.0

    def add(
        self, name: str, value: float, *, most: float | None = None, least: float | None = None, unit: str = ""
    ) -> None:
        """Add a figure."""
        self.figures.append(Figure(name=name, value=value, most=most, least=least, unit=unit))

    def within(self, name: str, seconds: float, most: float) -> None:
        """Add a length of time that has a bound, in seconds."""
        self.add(name, round(seconds, 3), most=most, unit="s")

    def judge(self, found: Findings, *, repeats: bool = False) -> None:
        """Add what the judge found; with ``repeats`` starts that a lost attempt explains are expected."""
        self.add("due", found.due, least=1)
        self.add("ran", found.ran)
        self.add("doubled", len(found.doubled), most=0)
        self.add("undecided", len(found.lost), most=0)
        self.add("early", len(found.early), most=0)
        self.add("why asked", found.told, least=1)
        self.add("silent", len(found.silent), most=0)
        self.add("explained repeats", len(found.explained), most=None if repeats else 0)
        for name, keys in (
            ("doubled", found.doubled),
            ("undecided", found.lost),
            ("early", found.early),
            ("silent", found.silent),
            ("stale accepted", found.stale_accepted),
            ("off policy", found.off_policy),
            ("repeats", [] if repeats else found.explained),
        ):
            if keys:
                self.notes.append(f"{name}: {', '.join(keys[:5])}{' …' if len(keys) > 5 else ''}")

    @property
    def is_green(self) -> bool:
        """True when the cell ran to its end and every figure holds."""
        return not self.error and not self.not_tried and all(figure.holds for figure in self.figures)

    @property
    def worst(self) -> Figure | None:
        """The figure that came nearest to its bound, or broke it."""
        bounded = [figure for figure in self.figures if figure.share >= 0 and (figure.share > 0 or figure.most == 0)]
        return max(bounded, key=lambda figure: figure.share, default=None)

    def plain(self) -> Mapping[str, object]:
        """Return it for JSON."""
        return {
            "cell": self.cell,
            "store": self.store,
            "repeat": self.repeat,
            "green": self.is_green,
            "seconds": round(self.seconds, 1),
            "figures": {
                one.name: {"value": one.value, "most": one.most, "least": one.least, "holds": one.holds}
                for one in self.figures
            },
            "notes": self.notes,
            "error": self.error,
            "not_tried": self.not_tried,
        }
