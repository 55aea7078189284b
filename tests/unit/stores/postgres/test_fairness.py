"""A change of a rule is not kept waiting by those who only read the rule, however many they are."""

from __future__ import annotations

import threading
import time

from noonmark.core.model import Act
from noonmark.stores.postgres import PostgresStore
from noonmark.stores.postgres.address import parse
from noonmark.stores.postgres.link import Session
from noonmark.stores.postgres.transaction import Transaction
from noonmark.testing.conformance import Harness

HELD = 0.4


def test_a_pause_gets_through_between_verbs_that_never_all_rest(store: PostgresStore, url: str) -> None:
    Harness(store).activate()
    stop = threading.Event()
    failed: list[BaseException] = []

    def share(delay: float) -> None:
        session = Session(parse(url), {}, patience=30)

        def hold(session: Session) -> None:
            Transaction.begin(
                session, "", None, ("SELECT name FROM ~job WHERE name = $1::text FOR SHARE", ("job",)), kept=0
            )
            time.sleep(HELD)
            session.drop_transaction()

        try:
            time.sleep(delay)
            while not stop.is_set():
                session.run(hold)
        except BaseException as error:
            failed.append(error)
        finally:
            session.close()

    threads = [threading.Thread(target=share, args=(HELD * n / 3,)) for n in range(3)]
    for thread in threads:
        thread.start()
    time.sleep(2 * HELD)
    began = time.monotonic()
    try:
        assert store.act("r1", Act(kind="pause", actor="ada", job="job")).outcome == "done"
    finally:
        took = time.monotonic() - began
        stop.set()
        for thread in threads:
            thread.join(30)
    assert not failed
    assert took < 8, "a second in a hurry, then as long as those under way need"
    assert store.jobs(["job"])[0].paused
