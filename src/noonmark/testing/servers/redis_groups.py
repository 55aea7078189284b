"""Several Redis or Valkey servers as one: a cluster of primaries, and a primary with its replica under three sentinels.

Rule of the file: ``start`` also heals.  Whatever was killed comes back in the part that the others gave it meanwhile.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from noonmark.testing.servers.redis import Redis
from noonmark.testing.servers.server import ServerError, free_port, wait_until, with_options


class ClusterNode(Redis):
    """One node; the port on which nodes talk to each other (``options["cluster-port"]``) is chosen with the other one."""

    def settings(self) -> dict[str, str]:
        if not self._served:
            self.options["cluster-port"] = str(free_port())
        return super().settings()


class RedisCluster:
    """A cluster of primaries, each with an equal part of the slots.

    Args:
        size: how many nodes, at least 3.
        version, kind, options: as for ``Redis``.
    """

    def __init__(
        self,
        size: int = 3,
        *,
        version: str | None = None,
        kind: str | None = None,
        options: Mapping[str, str] | None = None,
    ) -> None:
        settings = {"cluster-enabled": "yes", "cluster-node-timeout": "2000", **(options or {})}
        self.nodes = [ClusterNode(version, kind=kind, options=settings) for _ in range(size)]
        self._joined = False

    @property
    def url(self) -> str:
        """``redis+cluster://127.0.0.1:PORT,127.0.0.1:PORT,…/0``"""
        return f"redis+cluster://{','.join(f'127.0.0.1:{node.port}' for node in self.nodes)}/0"

    def url_with(self, **options: str) -> str:
        """Return the URL with options in its query."""
        return with_options(self.url, options)

    def start(self) -> RedisCluster:
        """Start every node that does not run, join them the first time, and wait until all slots are served."""
        for node in self.nodes:
            node.start()
        if not self._joined:
            self._join()
            self._joined = True
        wait_until(lambda: all(self._is_whole(node) for node in self.nodes), 60, "the cluster to serve every slot")
        return self

    def _join(self) -> None:
        slots = 16384
        bounds = [slots * n // len(self.nodes) for n in range(len(self.nodes) + 1)]
        for number, node in enumerate(self.nodes):
            node.command("CLUSTER", "ADDSLOTSRANGE", bounds[number], bounds[number + 1] - 1)
            node.command("CLUSTER", "SET-CONFIG-EPOCH", number + 1)
        first = self.nodes[0]
        for node in self.nodes[1:]:
            node.command("CLUSTER", "MEET", "127.0.0.1", first.port, first.options["cluster-port"])

    def _is_whole(self, node: Redis) -> bool:
        said = node.command("CLUSTER", "INFO")
        return "cluster_state:ok" in said and f"cluster_known_nodes:{len(self.nodes)}" in said

    def stop(self) -> None:
        """Stop every node; ``start`` brings the same cluster back."""
        for node in self.nodes:
            node.stop()

    def close(self) -> None:
        """Stop every node and remove their folders."""
        for node in self.nodes:
            node.close()

    def __enter__(self) -> RedisCluster:
        try:
            return self.start()
        except BaseException:
            self.close()
            raise

    def __exit__(self, *_: object) -> None:
        self.close()

    def __str__(self) -> str:
        return f"cluster of {len(self.nodes)} x {self.nodes[0].installation}"


class Sentinel:
    """A primary and its replica, watched by three sentinels of whom two must agree.

    Args:
        version, kind, options: as for ``Redis``; for the two data servers.
        down_after: milliseconds of silence after which a server counts as down.
    """

    name = "noonmark"
    """Of the watched pair."""

    def __init__(
        self,
        *,
        version: str | None = None,
        kind: str | None = None,
        options: Mapping[str, str] | None = None,
        down_after: int = 1500,
    ) -> None:
        settings = {"repl-diskless-sync-delay": "0", **(options or {})}
        self.servers = [Redis(version, kind=kind, options=settings) for _ in range(2)]
        self.sentinels = [SentinelProcess(version, kind=kind) for _ in range(3)]
        for sentinel in self.sentinels:
            sentinel.name, sentinel.down_after = self.name, down_after
        self._last_primary: Redis | None = None

    @property
    def url(self) -> str:
        """``redis+sentinel://127.0.0.1:PORT,127.0.0.1:PORT,127.0.0.1:PORT/noonmark/0``"""
        hosts = ",".join(f"127.0.0.1:{sentinel.port}" for sentinel in self.sentinels)
        return f"redis+sentinel://{hosts}/{self.name}/0"

    def url_with(self, **options: str) -> str:
        """Return the URL with options in its query."""
        return with_options(self.url, options)

    def start(self) -> Sentinel:
        """Start everything that does not run and wait until the sentinels know each other and the replica."""
        primary = self.servers[0]
        if any(sentinel.is_running for sentinel in self.sentinels):
            primary = self.primary
        elif self._last_primary is not None:
            primary = self._last_primary
        primary.options.pop("replicaof", None)
        primary.start()
        for server in self.servers:
            if server is not primary:  # told at once: sentinels take ten seconds to tell one that comes back as primary
                server.options["replicaof"] = f"127.0.0.1 {primary.port}"
                server.start()
        for sentinel in self.sentinels:
            sentinel.watched = sentinel.watched or primary.port
            sentinel.start()
        wait_until(self._is_whole, 60, "the sentinels to know the pair and each other")
        return self

    def _is_whole(self) -> bool:
        for sentinel in self.sentinels:
            told = _pairs(sentinel.command("SENTINEL", "MASTER", self.name))
            if (told["num-slaves"], told["num-other-sentinels"], told["flags"]) != ("1", "2", "master"):
                return False
        said = self.replica.command("INFO", "replication")
        return f"master_port:{self.primary.port}" in said and "master_link_status:up" in said

    @property
    def primary(self) -> Redis:
        """The server that the sentinels name."""
        port = int(self._asked_sentinel().command("SENTINEL", "GET-MASTER-ADDR-BY-NAME", self.name)[1])
        return next(server for server in self.servers if server.port == port)

    @property
    def replica(self) -> Redis:
        """The other one."""
        primary = self.primary
        return next(server for server in self.servers if server is not primary)

    def _asked_sentinel(self) -> Redis:
        return next(sentinel for sentinel in self.sentinels if sentinel.is_running)

    def fail_over(self, *, gracefully: bool = False, at_once: bool = False, patience: float = 60.0) -> Redis:
        """Make the replica the primary and return it.

        Args:
            gracefully: ask the sentinels; otherwise the primary is killed (start it again with ``start``, as a replica).
            at_once: tell a sentinel that it is dead instead of letting them find out.
            patience: seconds to wait until every sentinel names the new primary and it accepts writes.
        """
        old = self.primary
        new = self.replica
        if not gracefully:
            old.kill()
        if gracefully or at_once:
            wait_until(self._begins_to_fail_over, patience, "the sentinels to find the replica good enough")
        wait_until(lambda: self._all_name(new), patience, "the sentinels to agree on the new primary")
        return new

    def _begins_to_fail_over(self) -> bool:
        try:
            return bool(self._asked_sentinel().command("SENTINEL", "FAILOVER", self.name) == "OK")
        except ServerError as refusal:
            if "NOGOODSLAVE" in str(refusal) or "INPROG" in str(refusal):
                return False
            raise

    def _all_name(self, server: Redis) -> bool:
        for sentinel in self.sentinels:
            if sentinel.is_running:
                told = sentinel.command("SENTINEL", "GET-MASTER-ADDR-BY-NAME", self.name)
                if int(told[1]) != server.port:
                    return False
        role: str = server.command("ROLE")[0]
        return role == "master"

    def stop(self) -> None:
        """Stop everything; ``start`` brings the same pair back."""
        if any(sentinel.is_running for sentinel in self.sentinels):
            self._last_primary = self.primary
        for server in (*self.sentinels, *self.servers):
            server.stop()

    def close(self) -> None:
        """Stop everything and remove the folders."""
        for server in (*self.sentinels, *self.servers):
            server.close()

    def __enter__(self) -> Sentinel:
        try:
            return self.start()
        except BaseException:
            self.close()
            raise

    def __exit__(self, *_: object) -> None:
        self.close()

    def __str__(self) -> str:
        return f"sentinel pair of {self.servers[0].installation}"


def _pairs(flat: list[str]) -> dict[str, str]:
    return dict(zip(flat[::2], flat[1::2], strict=True))


class SentinelProcess(Redis):
    """One process that watches a primary; it keeps what it knows in its settings file."""

    watched = 0
    down_after = 0
    name = ""

    def settings(self) -> dict[str, str]:
        return {
            "bind": "127.0.0.1",
            "port": str(self.port),
            "dir": str(self.folder),
            "sentinel monitor": f"{self.name} 127.0.0.1 {self.watched} 2",
            f"sentinel down-after-milliseconds {self.name}": str(self.down_after),
            f"sentinel failover-timeout {self.name}": str(max(3_000, self.down_after * 3)),
        }

    def _command(self) -> list[str | Path]:
        return [*super()._command(), "--sentinel"]

    def _rewrites_its_settings(self) -> bool:
        return self._served

    def _is_ready(self, said: str) -> bool:
        return "+monitor" in said
