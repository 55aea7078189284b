"""Which process this is, told without asking the system: locks are asked far too often for a system call each.

Rule of the file: ``generation`` is another number in a forked child than in its parent, and nothing more.
"""

from __future__ import annotations

import os

generation = 0
"""How many forks lie between this process and the one that imported the package first."""


def _count() -> None:
    global generation
    generation += 1


os.register_at_fork(after_in_child=_count)
