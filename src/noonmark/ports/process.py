"""Which process this is, told without asking the system: a lock is asked far too often for a system call each.

Promise: what was opened before a fork says so in the child, whose copy of a connection is not the child's to use.

Rule of the file: one object stands for one process, and a fork leaves it behind.
"""

from __future__ import annotations

import os


class Owner:
    """A process, to be kept by what it opens."""

    __slots__ = ("is_here",)

    def __init__(self) -> None:
        self.is_here = True
        """False in a process that was forked from it."""


def owner() -> Owner:
    """Return the object that stands for this process."""
    return _this


def opened_elsewhere(what: str) -> str:
    """Return the sentence for who uses in a child what its parent has opened."""
    return f"{what} was opened before this process was forked; open it again in the new process"


def _leave_behind() -> None:
    global _this
    _this.is_here = False  # in the child's memory only
    _this = Owner()


_this = Owner()
os.register_at_fork(after_in_child=_leave_behind)
