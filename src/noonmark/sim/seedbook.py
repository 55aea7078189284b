"""The file in which every run of many seeds leaves a line, and which seeds come next.

Rule of the file: a line names no machine and no path.
"""

from __future__ import annotations

import argparse
import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

from noonmark.core.model import HOUR, Micros
from noonmark.sim.asking import numbers
from noonmark.sim.plan import draw
from noonmark.sim.report import Report

FIRST_NEW = 500
"""The seeds below are those of ``make sim``."""


def commit() -> str:
    """Return the commit that this is, where it is known."""
    try:
        asked = ["git", "rev-parse", "--short", "HEAD"]
        found = subprocess.run(asked, cwd=Path(__file__).parent, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return "an unknown commit"
    return found.stdout.strip()


def write(book: Path, report: Report, *, seeds: str, hours: float) -> None:
    """Append a line.

    Args:
        seeds: which were asked for, in words.
        hours: how long each world was.
    """
    made_of = commit() + ("+" if _is_changed(book) else "")
    line = {"commit": made_of, "asked": seeds, "world_hours": hours, **report.as_json()}
    with book.open("a", encoding="utf-8") as file:
        if book.stat().st_size and not book.read_bytes().endswith(b"\n"):
            file.write("\n")
        file.write(json.dumps(line, ensure_ascii=False) + "\n")


def new_seeds(book: Path, *, scheduler_hours: float, length: Micros) -> list[int]:
    """Return the seeds after the last that the file speaks of, as many as give so many scheduler-hours."""
    first = max([FIRST_NEW, *(last + 1 for last in _last_of_each(book))])
    found: list[int] = []
    left = scheduler_hours * HOUR
    while left > 0:
        found.append(first + len(found))
        left -= draw(found[-1], length=length).replicas * length
    return found


def check(book: Path) -> None:
    """Read a ledger through, if there is one.

    Raises:
        ValueError: it cannot be read, or a line of it is none of ours; the message begins with FILE:LINE.
    """
    for _ in _last_of_each(book):
        pass


def _last_of_each(book: Path) -> Iterator[int]:
    try:
        lines = book.read_bytes().splitlines()
    except FileNotFoundError:
        return
    except OSError as error:
        raise ValueError(f"{book} cannot be read: {error.strerror}") from error
    for number, line in enumerate(lines, 1):
        try:
            last = max(numbers(json.loads(line)["asked"].removesuffix(" lossy")).all)
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError, argparse.ArgumentTypeError) as error:
            raise ValueError(
                f"{book}:{number} is no line of a ledger of seeds; mend the line, or name another file"
            ) from error
        yield last


def _is_changed(book: Path) -> bool:
    """Return True when the program that ran is not the commit's; this file and what is made of it are no program."""
    asked = ["git", "status", "--porcelain", "--", "src", "pyproject.toml"]
    try:
        found = subprocess.run(asked, cwd=book.resolve().parent.parent, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return True
    return bool(found.stdout.strip())
