"""The memory store: the executable model of ``ports/store.py``.

It promises the port's semantics to the letter and nothing more: it lives in one process and forgets everything when
that process ends.  Rule of the package: readable before fast, because the other stores are compared with it operation
by operation.
"""

from __future__ import annotations

from noonmark.stores.memory.store import MemoryStore

__all__ = ["MemoryStore"]
