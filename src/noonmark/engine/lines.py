"""A file of lines: each is written whole and on a line of its own, and found again without reading all of them.

Rule of the file: what stands in a line is its owner's matter; only where it begins and ends is decided here.
"""

from __future__ import annotations

import mmap
import os
import re
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

FEW = 16
"""So many texts at most are searched for one by one; more are cheaper to find line by line."""


def append(handle: int, line: bytes) -> int:
    """Append a line to a file that is open for appending and reading; return how many bytes were written.

    Whatever was cut off at the end of the file (a power cut, a full disk) stays a line of its own and swallows nothing.

    Raises:
        OSError: it cannot be written; a part of it may stand there, as a line that is no whole one.
    """
    size = os.fstat(handle).st_size
    if size and os.pread(handle, 1, size - 1) != b"\n":
        line = b"\n" + line
    rest = memoryview(line)
    while rest:
        rest = rest[os.write(handle, rest) :]
    return len(line)


def overwrite(handle: int, text: bytes) -> None:
    """Write a text of a fixed length over what stands at the beginning of a file."""
    done = 0
    while done < len(text):
        done += os.pwrite(handle, text[done:], done)


def holding(path: Path, texts: Collection[bytes]) -> Iterator[tuple[int, bytes]]:
    """Yield each line that holds one of the texts, with its number; nothing else of the file is looked at.

    Args:
        path: the file.
        texts: ``FEW`` at most.
    """
    with path.open("rb") as file:
        if not os.fstat(file.fileno()).st_size:
            return
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as whole:
            number, counted = 1, 0
            for start, end in _places(whole, texts):
                number, counted = number + whole[counted:start].count(b"\n"), start
                yield number, whole[start:end]


def _places(whole: mmap.mmap, texts: Collection[bytes]) -> Sequence[tuple[int, int]]:
    found: dict[int, int] = {}
    for text in texts:
        at = whole.find(text)
        while at != -1:
            start, end = whole.rfind(b"\n", 0, at) + 1, whole.find(b"\n", at)
            found[start] = end if end != -1 else len(whole)
            at = whole.find(text, found[start])
    return sorted(found.items())


def matching(path: Path, head: re.Pattern[bytes]) -> Iterator[tuple[int, bytes, re.Match[bytes] | None]]:
    """Yield each line with its number and how its head matches."""
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            yield number, line, head.match(line)
