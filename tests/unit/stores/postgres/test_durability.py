"""What the settings promise is what a crash leaves."""

from __future__ import annotations

import pytest

from noonmark.ports.store import Capability
from noonmark.stores.postgres import open_postgres
from noonmark.stores.postgres.durability import Durability
from noonmark.testing.builders import make_caller_row
from noonmark.testing.servers import start_postgres

ROWS = 20


@pytest.mark.parametrize(
    ("options", "promised"),
    [
        ({"synchronous_commit": "off"}, False),
        ({"fsync": "off"}, True),
    ],
    ids=["synchronous_commit off", "fsync off"],
)
def test_only_what_survives_a_kill_is_said_to_survive_it(options: dict[str, str], promised: bool) -> None:
    with start_postgres(options={"wal_writer_delay": "10s", **options}) as server:
        store = open_postgres(server.url)
        assert (Capability.DURABLE_PROCESS in store.capabilities) is promised
        assert Capability.DURABLE_HOST not in store.capabilities
        store.add("settled", [make_caller_row("first", at=store.now())])
        server.stop()  # in order: whatever is in memory goes to the log
        server.start()
        for number in range(ROWS):
            store.add(f"row{number}", [make_caller_row(str(number), at=store.now())])
        server.kill()
        store.close()
        server.start()
        store = open_postgres(server.url)
        kept = sum(store.tallies().by_state.values())
        store.close()
    assert (kept == ROWS + 1) is promised


@pytest.mark.parametrize(
    ("commit", "standbys", "replicas", "promises"),
    [
        ("on", "", 0, {Capability.DURABLE_PROCESS, Capability.DURABLE_HOST}),
        ("on", "", 1, {Capability.DURABLE_PROCESS, Capability.DURABLE_HOST, Capability.FAILOVER_LOSS}),
        ("on", "*", 1, {Capability.DURABLE_PROCESS, Capability.DURABLE_HOST, Capability.DURABLE_FAILOVER}),
        ("remote_write", "*", 1, {Capability.DURABLE_PROCESS, Capability.DURABLE_HOST, Capability.FAILOVER_LOSS}),
        ("local", "*", 1, {Capability.DURABLE_PROCESS, Capability.DURABLE_HOST, Capability.FAILOVER_LOSS}),
        ("off", "*", 1, {Capability.FAILOVER_LOSS}),
    ],
)
def test_a_class_is_promised_for_the_settings_that_give_it(
    commit: str, standbys: str, replicas: int, promises: set[Capability]
) -> None:
    settings = Durability(
        synchronous_commit=commit, fsync=True, full_page_writes=True, standby_names=standbys, replicas=replicas
    )
    assert settings.capabilities == promises
