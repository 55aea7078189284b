"""The SQLite store: one file, several processes, every promise of ``ports/store.py``."""

from noonmark.stores.sqlite.store import SqliteStore

__all__ = ["SqliteStore"]
