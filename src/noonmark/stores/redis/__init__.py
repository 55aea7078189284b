"""The Redis store: one namespace in Redis or Valkey, every promise of ``ports/store.py``."""

from __future__ import annotations

from noonmark.stores.redis.opening import open_redis
from noonmark.stores.redis.store import RedisStore

__all__ = ["RedisStore", "open_redis"]
