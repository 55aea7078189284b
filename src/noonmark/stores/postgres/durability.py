"""What the server promises for what was acknowledged: read from its settings, never assumed."""

from __future__ import annotations

from dataclasses import dataclass

from noonmark.ports.store import Capability
from noonmark.stores.postgres.link import Session

_ASK = (
    "SELECT current_setting('synchronous_commit'), current_setting('fsync'), current_setting('full_page_writes'),"
    " current_setting('synchronous_standby_names'), (SELECT count(*) FROM pg_stat_get_wal_senders())"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Durability:
    """The settings that decide it."""

    synchronous_commit: str
    fsync: bool
    full_page_writes: bool
    standby_names: str
    replicas: int

    @property
    def capabilities(self) -> frozenset[Capability]:
        """What these settings promise."""
        promises: set[Capability] = set()
        is_logged = (
            self.synchronous_commit != "off"
        )  # else it is in the server's memory for some 600 ms, and dies with it
        waits_for_disk = self.fsync and is_logged
        if is_logged:
            promises.add(Capability.DURABLE_PROCESS)
        if waits_for_disk:
            promises.add(Capability.DURABLE_HOST)
        waits_for_standby = bool(self.standby_names.strip()) and self.synchronous_commit in ("on", "remote_apply")
        if waits_for_disk and waits_for_standby:
            promises.add(Capability.DURABLE_FAILOVER)
        elif self.replicas:
            promises.add(Capability.FAILOVER_LOSS)
        return frozenset(promises)


def read(session: Session) -> Durability:
    """Read the settings in force for our connections."""
    [[(commit, fsync, pages, standbys, replicas)]] = session.ask((_ASK, ()))
    return Durability(
        synchronous_commit=commit,
        fsync=fsync == "on",
        full_page_writes=pages == "on",
        standby_names=standbys,
        replicas=replicas,
    )
